"""The log of assembled prompts: one JSON record per line, from which a prompt can be reconstructed and replayed.

Several processes may append at once. A crash or a full disk in the middle of a write loses no earlier record and
breaks no later one: a half-written record is removed, or stands on a line of its own that readers skip.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from deepprompt.arguments import expect
from deepprompt.errors import AuditError, FileRefusedError, PromptAssemblyError
from deepprompt.prompt import Pace, Part, Prompt, sha256_hex
from deepprompt.sources.files import open_named, read_below, reason_of
from deepprompt.sources.project import working_project
from deepprompt.systems import log_file
from deepprompt.systems.template import AssembledPrompt, PromptAssembler, is_token
from deepprompt.text.hygiene import scrub

FORMAT = 1
_MOST_TEXT = 1 << 31
_OWN_FOLDER = "texts are stored in a folder of your own, not through a link, and nobody else may write to it"


def record_of(assembled: AssembledPrompt) -> dict[str, Any]:
    """Return the record of an assembled prompt, with everything that replay needs."""
    return {
        "task_ref": assembled.task_ref,
        "includes_resolved": assembled.includes_resolved,
        "assembled_prompt": assembled.content,
        "assembled_prompt_hash": assembled.content_hash,
        "assembly_timestamp": assembled.assembled_at.isoformat().replace("+00:00", "Z"),
        "correlation_id": assembled.correlation_id,
        "format": FORMAT,
        "template_root": assembled.template_root,
        "minify_json": assembled.minify_json,
        "spans": [
            {"name": span.name, "path": span.path, "start": span.start, "end": span.end, "file_hash": span.file_hash}
            for span in assembled.spans
        ],
    }


def prompt_of(record: dict[str, Any]) -> Prompt:
    """Return the prompt in a record, with a part for each file that it was assembled from."""
    text = record.get("assembled_prompt")
    if not isinstance(text, str):
        raise AuditError("its text is stored neither in it nor beside it")
    parts = []
    try:
        for span in record.get("spans") or []:
            piece = text[span["start"] : span["end"]]
            parts.append(Part(str(span["name"]), piece, Pace.RELEASE, f"file:{span['path']}"))
    except (KeyError, TypeError):
        raise AuditError("its spans do not say what its text was made of") from None
    if "".join(part.text for part in parts) != text:  # a log from before there were spans, or a damaged one
        parts = [Part(str(record.get("task_ref") or "text"), text, Pace.RELEASE, "")]
    return Prompt(tuple(parts))


class AuditLog:
    """A log file that only its owner can read.

    It may not lie in the `workspace`, whose content could then rewrite it, unless you pass `inside_workspace=True`. If
    you name no workspace, it is the project that this process works in. With `prompts="by-hash"` each text is stored
    once, in a folder beside the log. Raises `AuditError` for a path that it may not or cannot use.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        workspace: str | os.PathLike[str] | None = None,
        prompts: str = "inline",
        inside_workspace: bool = False,
    ) -> None:
        if prompts not in ("inline", "by-hash"):
            raise AuditError(f"prompts is 'inline' or 'by-hash', not {prompts!r}")
        self.prompts = prompts
        try:
            self.path = os.path.abspath(path)
            # Where the log is now. If a link takes the place of this folder later, nothing is written.
            self._folder = os.path.realpath(os.path.dirname(self.path))
            real = os.path.join(self._folder, os.path.basename(self.path))
            place = workspace or working_project()
            inside = bool(place) and real.startswith(os.path.realpath(place).rstrip(os.sep) + os.sep)
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            raise AuditError(f"{path!r} is no path for a log: {reason}") from None
        if inside and not inside_workspace:
            raise AuditError(
                f"{path}: the log would lie in the workspace {place}, which could rewrite it; choose another folder, "
                "or allow it with inside_workspace=True (--log-in-root on the command line)"
            )

    def append(self, assembled: AssembledPrompt) -> str:
        """Add a record, completely or not at all, and return its hash.

        Keep the hash somewhere else: `read_log(path, last=...)` then notices if records were removed from the end.
        Raises `AuditError` if the record cannot be written; then the log is as it was.
        """
        takes = "the AssembledPrompt itself, as PromptAssembler.assemble() returns it"
        expect(assembled, AssembledPrompt, "AuditLog.append: assembled", takes, AuditError)
        record = record_of(assembled)
        try:
            with log_file.entered(self._folder) as folder:
                if self.prompts == "by-hash":
                    record["assembled_prompt"] = None
                    self._store(assembled, folder)
                name = self._place(os.path.basename(self.path), folder)
                with log_file.opened(name, folder, self.path) as descriptor, log_file.locked(descriptor):
                    return log_file.append(descriptor, record)
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            raise AuditError(f"{self.path}: {reason}; the prompt was not logged") from None

    def _place(self, name: str, folder: int | None) -> str:
        """Return the name of a file in the log's folder, or its path where folders have no descriptors."""
        return name if folder is not None else os.path.join(self._folder, name)

    def _store(self, assembled: AssembledPrompt, folder: int | None) -> None:
        """Store a text under its hash, completely or not at all, unless it is stored already."""
        store = self._place(prompts_folder(os.path.basename(self.path)), folder)
        try:
            os.mkdir(store, 0o700, dir_fd=folder)
        except FileExistsError:
            if stat.S_ISREG(os.lstat(store, dir_fd=folder).st_mode):
                raise
        if not log_file.is_private(os.lstat(store, dir_fd=folder)):
            raise AuditError(f"{prompts_folder(self.path)}: {_OWN_FOLDER}")
        digest = assembled.content_hash
        if _stored(os.path.join(self._folder, os.path.basename(self.path)), digest)[0] is not None:
            return
        path = os.path.join(store, f"{digest}.txt")
        beside = f"{path}.{os.urandom(6).hex()}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            descriptor = os.open(beside, flags, 0o600, dir_fd=folder)
            with open(descriptor, "wb") as file:
                file.write(assembled.content.encode())
            os.replace(beside, path, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise


def prompts_folder(log: str) -> str:
    """Return the folder beside a log where texts are stored by hash."""
    return f"{log}.prompts"


@dataclass(frozen=True, slots=True)
class LogContents:
    """The records of a log by line number, the lines that are not records, and the lines that were changed."""

    records: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    altered: list[tuple[int, str]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list, compare=False)
    """The hash of each record, as `AuditLog.append` returned it; "" for a record of an earlier version."""


def read_log(path: str | os.PathLike[str], *, last: str = "") -> LogContents:
    """Return the contents of a log, with the texts that are stored by hash if they match it.

    `altered` says which records were edited, or follow one that was removed. Records removed from the end leave no
    trace in a log: to notice that, pass as `last` the hash of the last record that you know of. A link is refused.
    Raises `AuditError` if the log cannot be read.
    """
    contents = LogContents()
    before, chained, number = b"", False, 0
    try:
        if os.path.islink(path):
            raise AuditError(f"{path}: it is a link, and a log is never written through one; read the log itself")
        with open_named(path) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                record = log_file.parse_record(line) if line.endswith(b"\n") else None
                if record is None:
                    contents.damaged.append(number)
                    continue
                has_hashes = log_file.PREVIOUS in record
                contents.hashes.append(str(record.get(log_file.OWN) or ""))
                wrong = log_file.check_line(record, line, before, chained)
                before, chained = line, chained or has_hashes
                if record.get("assembled_prompt") is None:
                    digest = str(record.get("assembled_prompt_hash"))
                    record["assembled_prompt"], refused = _stored(os.fspath(path), digest)
                    wrong = wrong or refused
                if wrong:
                    contents.altered.append((number, wrong))
                contents.records.append((number, record))
    except (OSError, ValueError) as error:
        raise AuditError(f"{path}: {reason_of(error)}") from None
    if last and last not in contents.hashes:
        contents.altered.append((number, f"no record has the hash {last[:80]}: records were removed from the end"))
    return contents


def _stored(log: str, digest: str) -> tuple[str | None, str]:
    """Return the text that is stored under a hash, None without one; and why it is refused, "" if it is not."""
    folder = prompts_folder(log)
    if not digest.isalnum() or not os.path.lexists(folder):
        return None, ""
    if not log_file.is_private(os.lstat(folder)):
        raise AuditError(f"{folder}: {_OWN_FOLDER}")
    name = f"{digest}.txt"
    if os.path.islink(os.path.join(folder, name)):
        return None, "its stored text is a link, which is not followed"
    try:
        text = read_below(folder, name, _MOST_TEXT, lambda _: None, whole=True).data.decode()
    except FileRefusedError as error:
        return None, "" if error.kind == "missing" else f"its stored text: {error}"
    except UnicodeDecodeError:
        return None, "its stored text is not UTF-8"
    return (text, "") if sha256_hex(text) == digest else (None, "its stored text does not match its hash")


@dataclass(frozen=True, slots=True)
class Drift:
    """A record that differs from a new assembly: the files that changed, and both texts."""

    reason: str
    moved: tuple[str, ...] = ()
    before: str = ""
    after: str = ""


def replay(record: dict[str, Any], assembler_for: dict[tuple[str, bool], PromptAssembler], root: str) -> Drift | None:
    """Assemble a record again; None if it gives the same bytes. Assemblers are kept in `assembler_for`."""
    try:
        key = (str(record["template_root"]), bool(record["minify_json"]))
        names: dict[str, str] = {**record["includes_resolved"]}
        task_ref, digest = str(record["task_ref"]), record["assembled_prompt_hash"]
        recorded = {(str(span["name"]), str(span["path"])): span["file_hash"] for span in record["spans"]}
        old = str(record["assembled_prompt"] or "")
    except (KeyError, TypeError) as error:
        return Drift(f"the record is incomplete: {error}")
    # `$$include CTX` and `$$CTX` share a key; the spans have both.
    names |= {name: path for name, path in recorded if name != path}
    assembler = assembler_for.setdefault(key, PromptAssembler(root, *key))
    try:
        now = assembler.assemble(task_ref, {name: path for name, path in names.items() if is_token(name)})
    except PromptAssemblyError as error:
        return Drift(f"it can no longer be assembled: {error}")
    if old and sha256_hex(scrub(old)) != digest:
        return Drift("the recorded text is not the one that its hash was made of", (), old, now.content)
    if now.content_hash == digest:
        return None
    current = {(span.name, span.path): span for span in now.spans}
    moved = [place for place in recorded if place not in current or current[place].file_hash != recorded[place]]
    moved += [place for place in current if place not in recorded]
    paths = tuple(dict.fromkeys(path for _, path in moved))
    return Drift(f"{', '.join(paths) or 'the way it is put together'} moved", paths, old, now.content)
