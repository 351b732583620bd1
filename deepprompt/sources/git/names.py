"""The names of a repository's files, and how long ago each was changed, as git tells them.

Names are data from outside: one that leads out of the folder, is not UTF-8 or has a control character is left out, with
a note. Nothing here reads a file of the work tree.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.sources.files import shown_path
from deepprompt.sources.git.objects import find_borrowed, find_linked
from deepprompt.sources.git.repository import find_repository, read_state
from deepprompt.sources.git.run import open_git

_MOST_OUTPUT = 1 << 28
_MOST_COMMITS = 1_000
_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_LOG = (
    "log", "-z", f"--max-count={_MOST_COMMITS}", "--format=%x01", "--name-only", "--relative", "--no-renames",
    "--no-ext-diff", "--no-textconv", "--no-show-signature", "--diff-merges=off", "--ignore-submodules=all",
)  # fmt: skip
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def list_names(folder: str, timeout: float, *, ages: bool = False) -> tuple[list[str], dict[str, int], list[Note]]:
    """Return the tracked and the untracked names below a folder, sorted; the age of each, if asked for; and notes.

    An age is the number of commits since the file was changed. A file that the last thousand did not touch has none.
    """
    deadline = time.monotonic() + timeout
    try:
        repository = find_repository(folder)
        if repository is None:
            raise SourceError("it is not in a git repository, which is asked for the names of its files")
        state = read_state(repository, deadline)
        commands = [_LIST, *([_LOG] if ages and repository.commit else [])]
        objects = os.path.join(repository.common_dir, "objects")
        borrowed = ages and bool(find_borrowed(objects) or find_linked(objects, deadline))
        place = os.path.realpath(folder)
        with open_git(repository, state, place, deadline, own_only=borrowed, most=_MOST_OUTPUT) as (run, _):
            outputs = run(*commands)
    except (SourceError, OSError, ValueError) as error:
        raise SourceError(f"{shown_path(folder)}: {error}") from None
    if outputs[0] is None:
        raise SourceError(f"{shown_path(folder)}: git could not list the files within {timeout:g} seconds")
    notes: list[Note] = []
    names = _usable(outputs[0].split(b"\0"), notes)
    if len(outputs) > 1 and outputs[1] is None:
        notes.append(Note("skipped", "git", "no ages of files: git failed or was not done in time"))
    found = _ages(outputs[1] or b"") if len(outputs) > 1 else {}
    return names, {name: found[name] for name in names if name in found}, notes


def _usable(raw: Sequence[bytes], notes: list[Note]) -> list[str]:
    """Return the names that can be shown and stay below the folder, sorted, each once."""
    names: set[str] = set()
    refused: list[str] = []
    if plain := _plain_names(raw):
        return plain
    for data in raw:
        try:
            name = data.decode()
        except UnicodeDecodeError:
            refused.append(data.decode("utf-8", "replace"))
            continue
        parts = name.split("/")
        if _CONTROLS.search(name) or name.startswith("/") or ".." in parts:
            refused.append(name)
        elif name and ".git" not in parts:
            names.add(name)
    if refused:
        detail = "a name that is not UTF-8, has a control character, or leads out of the folder"
        notes.append(Note("refused", shown_path(min(refused)), detail, count=len(refused)))
    return sorted(names)


def _plain_names(raw: Sequence[bytes]) -> list[str]:
    """Return all names if one look shows that each can be used, as in most repositories; else none."""
    try:
        whole = b"\n".join(raw).decode()
    except UnicodeDecodeError:
        return []
    if whole.count("\n") != len(raw) - 1 or _CONTROLS.search(whole.replace("\n", "")) or "../" in whole:
        return []
    if "/.git/" in f"/{whole}" or "\n.git/" in whole or "\n/" in whole or whole.startswith("/") or "/..\n" in whole:
        return []
    return sorted(set(filter(None, whole.split("\n"))))


def _ages(output: bytes) -> dict[str, int]:
    """Return how many commits are newer than the last change of each name."""
    ages: dict[str, int] = {}
    commit = -1
    for piece in output.split(b"\0"):
        piece = piece.lstrip(b"\n")
        while piece.startswith(b"\x01"):
            commit += 1
            piece = piece[1:].lstrip(b"\n")
        if piece:
            ages.setdefault(piece.decode("utf-8", "replace"), commit)
    return ages
