"""The log of assembled prompts: one JSON record per line, from which a prompt can be reconstructed and replayed.

Several processes may append at once. A crash or a full disk in the middle of a write loses no earlier record and
breaks no later one: a half-written record is removed, or stands on a line of its own that readers skip.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from deepprompt.arguments import expect
from deepprompt.errors import AuditError, PromptAssemblyError
from deepprompt.prompt import Pace, Part, Prompt, sha256_hex
from deepprompt.sources.files import open_named, reason_of
from deepprompt.systems.template import AssembledPrompt, PromptAssembler, is_token
from deepprompt.text.hygiene import scrub

FORMAT = 1


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

    It may not lie in the `workspace`, whose content could then rewrite it, unless `inside_workspace` says so. With
    `prompts="by-hash"` each text is stored once, in a folder beside the log.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        workspace: str | os.PathLike[str] = "",
        prompts: str = "inline",
        inside_workspace: bool = False,
    ) -> None:
        if prompts not in ("inline", "by-hash"):
            raise AuditError(f"prompts is 'inline' or 'by-hash', not {prompts!r}")
        self.prompts = prompts
        try:
            self.path = os.path.abspath(path)
            real = os.path.join(os.path.realpath(os.path.dirname(self.path)), os.path.basename(self.path))
            inside = bool(workspace) and real.startswith(os.path.realpath(workspace).rstrip(os.sep) + os.sep)
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            raise AuditError(f"{path!r} is no path for a log: {reason}") from None
        if inside and not inside_workspace:
            raise AuditError(f"{path}: the log would lie in the workspace {workspace}; say so if that is meant")

    def append(self, assembled: AssembledPrompt) -> None:
        """Add a record, completely or not at all."""
        takes = "the AssembledPrompt itself, as PromptAssembler.assemble() returns it"
        expect(assembled, AssembledPrompt, "AuditLog.append: assembled", takes, AuditError)
        record = record_of(assembled)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            if self.prompts == "by-hash":
                record["assembled_prompt"] = None
                self._store(assembled)
            line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
            with _opened(self.path) as descriptor, _locked(descriptor):
                _append(descriptor, line)
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            raise AuditError(f"{self.path}: {reason}; the prompt was not logged") from None

    def _store(self, assembled: AssembledPrompt) -> None:
        """Store a text under its hash, completely or not at all."""
        folder = prompts_folder(self.path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
        if stat.S_ISLNK(status.st_mode) or not _is_ours(status):
            raise AuditError(f"{folder}: texts are stored in a folder of your own, not through a link")
        path = os.path.join(folder, f"{assembled.content_hash}.txt")
        if os.path.exists(path):
            return
        beside = f"{path}.{os.urandom(6).hex()}"
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with open(descriptor, "wb") as file:
                file.write(assembled.content.encode())
            os.replace(beside, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(beside)
            raise


def prompts_folder(log: str) -> str:
    """Return the folder beside a log where texts are stored by hash."""
    return f"{log}.prompts"


@contextmanager
def _opened(path: str) -> Iterator[int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or not _is_ours(status):
            raise AuditError(f"{path}: a log is a regular file of your own, with one name")
        if hasattr(os, "fchmod") and stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(descriptor, 0o600)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Lock out other writers."""
    try:
        from fcntl import LOCK_EX, LOCK_UN, flock
    except ImportError:  # Windows
        yield
        return
    flock(descriptor, LOCK_EX)
    try:
        yield
    finally:
        flock(descriptor, LOCK_UN)


def _append(descriptor: int, line: bytes) -> None:
    size = os.fstat(descriptor).st_size
    if size and _last_byte(descriptor) != b"\n":
        line = b"\n" + line  # somebody was killed in the middle of a line
    view = memoryview(line)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BaseException:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _last_byte(descriptor: int) -> bytes:
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1)


@dataclass(frozen=True, slots=True)
class LogContents:
    """The records of a log by line number, and the lines that are not records."""

    records: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)


def read_log(path: str | os.PathLike[str]) -> LogContents:
    """Return the contents of a log, with the texts that are stored by hash."""
    contents = LogContents()
    try:
        with open_named(path) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                    if not isinstance(record, dict) or not line.endswith(b"\n"):
                        raise ValueError
                except (ValueError, RecursionError):
                    contents.damaged.append(number)
                    continue
                if record.get("assembled_prompt") is None:
                    record["assembled_prompt"] = _stored(os.fspath(path), str(record.get("assembled_prompt_hash")))
                contents.records.append((number, record))
    except (OSError, ValueError) as error:
        raise AuditError(f"{path}: {reason_of(error)}") from None
    return contents


def _stored(log: str, digest: str) -> str | None:
    if not digest.isalnum():
        return None
    try:
        with open_named(os.path.join(prompts_folder(log), f"{digest}.txt")) as file:
            return file.read().decode()
    except (OSError, UnicodeDecodeError):
        return None


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
