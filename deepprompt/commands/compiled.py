"""The list of the prompts that `deepprompt compile` wrote into a folder, and the removal of those whose node is gone.

The list lies in that folder. A file is removed only if it is on the list and still has the bytes that were written:
files that somebody changed or added stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from deepprompt.commands.output import refuse_links, write, write_json
from deepprompt.errors import SourceError
from deepprompt.sources.files import read_named
from deepprompt.text.parse import parse_json

LIST = "compiled.json"
_MOST = 1 << 26
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A prompt that was written: its hash, and the path of its workflow as seen from the folder."""

    sha256: str
    workflow: str


def read_list(folder: str) -> dict[str, Compiled]:
    """Return the prompts that are on the list of a folder, by `WORKFLOW/NODE`. Raise if `compile` did not write it."""
    path = os.path.join(folder, LIST)
    try:
        found = parse_json(read_named(path, _MOST).decode("utf-8"), path, SourceError)
        if not isinstance(found, dict):
            raise ValueError
        listed = {name: Compiled(str(fields["sha256"]), str(fields["workflow"])) for name, fields in found.items()}
        if not all(map(_NAME.fullmatch, listed)):
            raise ValueError
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError):
        raise SourceError(f"{path}: not a list that compile wrote; remove it, or write to another folder") from None
    return listed


def write_prompt(folder: str, name: str, content: str, content_hash: str, workflow: str) -> Compiled:
    """Write a prompt and its hash as `WORKFLOW/NODE.txt` and `.sha256` below a folder, never through a link."""
    path = os.path.join(folder, *name.split("/"))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise SourceError(f"{os.path.dirname(path)}: {error.strerror}") from None
    for end, text in ((".txt", content), (".sha256", f"{content_hash}\n")):
        refuse_links(folder, f"{name}{end}")
        write(text, f"{path}{end}")
    return Compiled(content_hash, _as_seen_from(folder, workflow))


def finish(
    folder: str, old: dict[str, Compiled], new: dict[str, Compiled], workflows: Container[str]
) -> tuple[list[str], list[str]]:
    """Remove the old prompts whose node is gone, and write the list. Return the removed ones and those that stayed.

    A node is gone if its workflow is one of those that were compiled now, without it, or is no longer there. A prompt
    stays if it was changed.
    """
    removed, stayed = [], []
    kept: dict[str, Compiled] = {}
    for name, each in sorted(old.items()):
        if name in new:
            continue
        if name.partition("/")[0] not in workflows and os.path.exists(os.path.join(folder, each.workflow)):
            kept[name] = each
        elif _remove(folder, name, each.sha256):
            removed.append(name)
        else:
            kept[name] = each
            stayed.append(name)
    listed = {
        name: {"sha256": each.sha256, "workflow": each.workflow} for name, each in sorted({**kept, **new}.items())
    }
    refuse_links(folder, LIST)
    write_json(listed, os.path.join(folder, LIST))
    return removed, stayed


def _remove(folder: str, name: str, digest: str) -> bool:
    """Remove a prompt and its hash if both are as they were written or not there; return whether they are gone."""
    path = os.path.join(folder, *name.split("/"))
    written = {f"{path}.txt": digest, f"{path}.sha256": sha256(f"{digest}\n".encode()).hexdigest()}
    try:
        for end in (".txt", ".sha256"):
            refuse_links(folder, f"{name}{end}")
        there = {file: sha256(read_named(file, _MOST)).hexdigest() for file in written if os.path.lexists(file)}
        if any(written[file] != found for file, found in there.items()):
            return False
        for file in there:
            os.unlink(file)
    except (OSError, SourceError):
        return False
    with suppress(OSError):  # somebody's files are in it
        os.rmdir(os.path.dirname(path))
    return True


def _as_seen_from(folder: str, path: str) -> str:
    """Return a path relative to a folder, so that the list holds wherever the project lies."""
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive of Windows
        return os.path.abspath(path)
