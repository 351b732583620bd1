"""The file of a log and the folders around it: reached without a link, appended to whole, each record tied to the last.

A record ends with the hash of the record before it and with its own hash, so `check_line` notices edits and deletions.
Whoever may write the file can also compute new hashes for all of it: the chain shows damage and careless edits. Records
that are removed from the end leave no trace: to notice that, a reader needs the hash of the last record.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any

from deepprompt.errors import AuditError

PREVIOUS, OWN = "previous_hash", "record_hash"
_OWN_MARK = f',"{OWN}":"'.encode()
_TAIL = len(_OWN_MARK) + 64 + len('"}')
_CHUNK = 1 << 16

# Without O_PATH a folder that may be entered but not listed could not be walked through, so paths are used there.
_WALKS = hasattr(os, "O_PATH") and os.open in os.supports_dir_fd and os.mkdir in os.supports_dir_fd
_FOLDER_FLAGS = 0
for _flag in ("O_PATH", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"):
    _FOLDER_FLAGS |= getattr(os, _flag, 0)


@contextmanager
def entered(folder: str) -> Iterator[int | None]:
    """Give a descriptor of a folder whose path has no links, and make what is missing of it, for its owner alone.

    A link on the way was put there later, and is an error. Where folders have no descriptors, give None.
    """
    if not _WALKS:
        _make_folders(folder)
        if os.path.realpath(folder) != folder:
            raise AuditError(f"{folder}: a link stands in its place now")
        yield None
        return
    held = os.open(os.sep, _FOLDER_FLAGS)
    try:
        for name in folder.split(os.sep):
            if name:
                above, held = held, _step(held, name, folder)
                _let_go(above)
        yield held
    finally:
        _let_go(held)


def _let_go(folder: int) -> None:
    """Close a folder. If even that fails, nothing is lost, and what was opened since must still be closed."""
    with suppress(OSError):
        os.close(folder)


def _step(held: int, name: str, folder: str) -> int:
    """Open a folder below another, and make it if it is not there."""
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=held)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=held)
        return os.open(name, _FOLDER_FLAGS, dir_fd=held)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and stat.S_ISLNK(os.lstat(name, dir_fd=held).st_mode):
            raise AuditError(f"{folder}: {name} is a link now, and nothing is written through it") from None
        raise


def _make_folders(folder: str) -> None:
    """Make a folder and those above it for their owner alone; `os.makedirs` leaves those above it to the umask."""
    above = os.path.dirname(folder)
    if not os.path.isdir(folder):
        if above != folder:
            _make_folders(above)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user of this process."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def is_private(status: os.stat_result) -> bool:
    """Whether this is a folder of the user's own that nobody else may write to."""
    closed = not hasattr(os, "geteuid") or not stat.S_IMODE(status.st_mode) & 0o022
    return stat.S_ISDIR(status.st_mode) and is_ours(status) and closed


@contextmanager
def opened(name: str, folder: int | None, path: str) -> Iterator[int]:
    """Give a descriptor of a log for reading and appending, closed to others; errors call it `path`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK"):
        flags |= getattr(os, flag, 0)
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or not is_ours(status):
            raise AuditError(f"{path}: a log is a regular file of your own, with one name")
        if hasattr(os, "fchmod") and stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(descriptor, 0o600)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
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


def append(descriptor: int, record: dict[str, Any]) -> str:
    """Append a record as one line, completely or not at all, and return its hash."""
    size = os.fstat(descriptor).st_size
    before = _last_record(descriptor, size)
    line = json.dumps({**record, PREVIOUS: _hash(before)}, ensure_ascii=True, separators=(",", ":")).encode()[:-1]
    own = _hash(line)
    line += _OWN_MARK + own.encode() + b'"}\n'
    if size and _read_at(descriptor, size - 1, 1) != b"\n":
        line = b"\n" + line  # somebody was killed in the middle of a line
    view = memoryview(line)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BaseException:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise
    return own


def _last_record(descriptor: int, end: int) -> bytes:
    """Return the last line of a file that is a whole record, without the white space around it."""
    data = b""
    while end or data:
        line = data.rpartition(b"\n")[2].strip() if not end or b"\n" in data else None
        if line is None:
            start = max(0, end - _CHUNK)
            data = (_read_at(descriptor, start, end - start) + data).rstrip()
            end = start
        elif line.startswith(b"{") and (line[-_TAIL:].startswith(_OWN_MARK) or parse_record(line) is not None):
            return line
        else:
            data = data.rpartition(b"\n")[0].rstrip()
    return b""


def parse_record(line: bytes) -> dict[str, Any] | None:
    """Return the record on a line, None if it is none or was not written to its end."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _read_at(descriptor: int, start: int, size: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, size)


def _hash(line: bytes) -> str:
    return sha256(line).hexdigest() if line else ""


def check_line(record: dict[str, Any], line: bytes, before: bytes, chained: bool) -> str:
    """Take the hashes out of a record and return what they say is wrong with the log, "" if nothing is.

    `before` is the line of the record before it. Logs of earlier versions have no hashes; `chained` says that a record
    before it had them.
    """
    previous, own = record.pop(PREVIOUS, None), record.pop(OWN, None)
    if previous is None and own is None:
        return "it has no hashes, and records before it have" if chained else ""
    if own != _hash(line.strip().rpartition(_OWN_MARK)[0]):
        return "it was changed after it was written"
    if previous != _hash(before.strip()):
        return "the record before it was changed, removed or inserted"
    return ""
