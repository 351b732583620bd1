"""Read one file below a root that may be hostile: regular files only, no waiting, no link out, bounded.

A path is walked component by component, each opened relative to the folder before it and never through a
link, so nothing can be swapped in between. A link is checked by its target: one that stays below the root
is followed, one that leaves it is refused. Decoding the bytes is the job of `text.hygiene`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

from deepprompt.errors import DeepPromptError, FileRefusedError, SourceError
from deepprompt.prompt import Note
from deepprompt.text.hygiene import from_system, neutralise
from deepprompt.text.secrets import redact

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import BinaryIO

NOT_REGULAR = "not a regular file"
_MOST_LINKS = 16

# Absent on some systems. O_NONBLOCK keeps the open of a FIFO or device that slipped in from waiting.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NAMED_FLAGS = _FLAGS & ~getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = (
    getattr(os, "O_PATH", os.O_RDONLY)  # a folder that may be entered but not listed is enough
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_LIST_FLAGS = _FOLDER_FLAGS & ~getattr(os, "O_PATH", 0)
_WALKS = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and os.readlink in os.supports_dir_fd


class Contents:
    """The first bytes of a file, whether there are more, and the status of the file they were read from."""

    __slots__ = ("data", "more", "status")

    def __init__(self, data: bytes, more: bool, status: os.stat_result) -> None:
        self.data = data
        self.more = more
        self.status = status


def reason_of(error: OSError | ValueError) -> str:
    """Return why a path cannot be used, in the same words on every Python version."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "a character that no path has" if isinstance(error, UnicodeError) else "embedded null byte"


def refuse_claude(path: str) -> str | None:
    """Return why a path may not be read: a component that spells `claude` in any case, width or disguise."""
    if path.isascii():
        folded = path.lower()
    else:
        from unicodedata import normalize

        from deepprompt.text.hidden import drop_hidden

        folded = normalize("NFKC", drop_hidden(path)).casefold()
    return "CLAUDE files belong to another agent and are never loaded" if "claude" in folded else None


def is_folder(path: str) -> bool:
    """Whether there is a folder at a path."""
    return os.path.isdir(path)


def path_text(
    path: str | os.PathLike[str],
    what: str,
    takes: str = "the path of a folder",
    error: type[DeepPromptError] = SourceError,
) -> str:
    """Return a path as text. For anything else, raise an error that says what the argument `what` takes."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        from deepprompt.arguments import wrong

        raise wrong(what, takes, path, error=error)
    return text


def clean_path(path: str) -> str:
    """Return the shortest spelling of a path, like Go's filepath.Clean."""
    path = os.path.normpath(path)
    return path[1:] if path.startswith("//") else path


def shown_path(path: str, notes: list[Note] | None = None) -> str:
    """Return a path as a prompt may show it: hidden characters shown, keys redacted, invalid UTF-8 as U+FFFD."""
    return neutralise(redact(from_system(path, "path", notes), "path", notes), "path", notes)


def search_roots(cwd: str, home: str) -> list[str]:
    """Return the cleaned cwd, then home unless it is empty or the same path."""
    roots = [clean_path(cwd)]
    if home and clean_path(home) not in roots:
        roots.append(clean_path(home))
    return roots


def read_below(
    root: str,
    path: str,
    limit: int,
    may_pass: Callable[[str], str | None],
    *,
    whole: bool = False,
    real_root: str = "",
) -> Contents:
    """Return the first `limit` bytes of the regular file at `path`, a relative path below `root`.

    `may_pass` is asked about the path that is wanted, about each link on the way, and about the path that is
    really read, all relative to the root with `/` between components; it returns a reason to refuse, or None.
    With `whole`, a longer file is refused before anything of it is read. `real_root` is the root's real path, for
    callers that read many files and know it.
    """
    try:
        descriptor = _open(root, path, may_pass, walks=_WALKS, real_root=real_root)
        try:
            status = os.fstat(descriptor)
            more = status.st_size > limit
            if more and whole:
                raise FileRefusedError("refused", f"larger than {limit} bytes")
            # A file that grows while we read, or that says it is empty and is not (/proc), gives what it promised.
            return Contents(_read(descriptor, min(limit, status.st_size)), more, status)
        finally:
            _close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise FileRefusedError("missing", "there is no such file") from None
    except (OSError, ValueError) as error:
        raise FileRefusedError("unreadable", f"cannot be read: {reason_of(error)}") from None


def list_below(root: str, folder: str) -> dict[str, str] | None:
    """Return the names in a folder below a root with their kinds, or None if a link stands on the way to it.

    A kind is "folder", "link" or "file". The folder is entered as files are, so nothing can be swapped in between.
    """
    names = folder.split("/")
    for end in range(len(names)):  # a folder that is not there is found out with one look
        if stat.S_ISLNK(os.lstat(os.path.join(root, *names[: end + 1])).st_mode):
            return None
    if not _WALKS or os.scandir not in os.supports_fd:
        return _listed(os.path.join(root, folder))
    held = os.open(os.path.realpath(root, strict=True), _FOLDER_FLAGS)
    try:
        for number, name in enumerate(names, 1):
            below = os.open(name, _FOLDER_FLAGS if number < len(names) else _LIST_FLAGS, dir_fd=held)
            _close(held)
            held = below
        return _listed(held)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        if stat.S_ISLNK(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode):  # it has just become one
            return None
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from None
    finally:
        _close(held)


def _listed(folder: str | int) -> dict[str, str]:
    with os.scandir(folder) as listing:
        entries = {}
        for entry in sorted(listing, key=lambda entry: entry.name):
            kind = "folder" if entry.is_dir(follow_symlinks=False) else "file"
            entries[entry.name] = "link" if entry.is_symlink() else kind
        return entries


def open_named(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file that somebody named. Links are followed, and no pipe or device is waited for.

    Anything else is an OSError, like a file that is not there.
    """
    if stat.S_ISREG(os.stat(path).st_mode):  # before the open: opening a device may have effects
        file = os.fdopen(os.open(path, _NAMED_FLAGS), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # it may have been replaced
            return file
        file.close()
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, NOT_REGULAR, os.fspath(path))


def read_named(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return all bytes of a regular file that somebody named. A longer one than `limit` is an OSError."""
    with open_named(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes", os.fspath(path))
    return data


def _read(descriptor: int, size: int) -> bytes:
    chunks = []
    while size and (chunk := os.read(descriptor, size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _open(root: str, path: str, may_pass: Callable[[str], str | None], walks: bool, real_root: str = "") -> int:
    """Open a file without letting the kernel follow a link: each link is read and checked here.

    Where folders cannot be walked by descriptor (`walks` is false), names are used instead, and a look at what
    was opened tells whether the file was swapped; a folder above it that is swapped in that moment is not seen.
    """
    real_root = real_root or os.path.realpath(
        root, strict=True
    )  # a root that cannot be looked at is not one without files
    todo = _components(path, root, real_root)
    _judge(may_pass, reversed(todo))
    done: list[str] = []
    links = 0
    folders = [os.open(real_root, _FOLDER_FLAGS)] if walks else []

    def place(name: str) -> str:
        return name if walks else os.path.join(real_root, *done, name)

    def beneath() -> int | None:
        return folders[-1] if walks else None

    try:
        while todo:
            name = todo.pop()
            if name == os.pardir:
                if not done:
                    raise FileRefusedError("outside", "leads out of its root")
                done.pop()
                if walks:
                    _close(folders.pop())
                continue
            before = os.stat(place(name), dir_fd=beneath(), follow_symlinks=False)
            if stat.S_ISLNK(before.st_mode):
                links += 1
                if links > _MOST_LINKS:
                    raise FileRefusedError("refused", "too many links")
                _judge(may_pass, [*done, name])
                target = os.readlink(place(name), dir_fd=beneath())
                if os.path.isabs(target):
                    del done[:]
                    while len(folders) > 1:
                        _close(folders.pop())
                todo += _components(target, root, real_root)
            elif todo:
                if not stat.S_ISDIR(before.st_mode):
                    raise NotADirectoryError
                if walks:
                    folders.append(os.open(name, _FOLDER_FLAGS, dir_fd=beneath()))
                done.append(name)
            else:
                _judge(may_pass, [*done, name])
                return _open_file(place(name), beneath(), before)
        raise FileRefusedError("refused", NOT_REGULAR)  # a link to the root itself
    finally:
        for folder in folders:
            _close(folder)


def _open_file(path: str, folder: int | None, before: os.stat_result) -> int:
    """Open a regular file whose status was just read."""
    if not stat.S_ISREG(before.st_mode):  # before the open: opening a device may have effects
        raise FileRefusedError("refused", NOT_REGULAR)
    descriptor = os.open(path, _FLAGS, dir_fd=folder)
    try:
        after = os.fstat(descriptor)
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            raise FileRefusedError("replaced", "it was replaced while it was being opened")
    except BaseException:
        _close(descriptor)
        raise
    return descriptor


def _close(descriptor: int) -> None:
    """Close a descriptor that was only read. An error here must not lose the data or leave others open."""
    with suppress(OSError):
        os.close(descriptor)


def _judge(may_pass: Callable[[str], str | None], names: Iterable[str]) -> None:
    if reason := may_pass("/".join(names)):
        raise FileRefusedError("forbidden", reason)


def _components(path: str, root: str, real_root: str) -> list[str]:
    """Return the components of a path, last first. An absolute path must be below the root, by either of its names."""
    if os.path.isabs(path):
        for top in (real_root, os.path.abspath(root)):
            if (path + os.sep).startswith(top.rstrip(os.sep) + os.sep):
                path = path[len(top) :]
                break
        else:
            raise FileRefusedError("outside", "leads out of its root")
    names = path.replace(os.sep, "/").split("/")
    return [name for name in reversed(names) if name not in ("", os.curdir)]


def replace_file(path: str, data: bytes, mode: int | None = None) -> None:
    """Replace a file atomically: readers see the old bytes or the new ones, never half. `mode` is its new mode."""
    beside = os.path.join(os.path.dirname(path), f".deepprompt-{os.urandom(8).hex()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with open(descriptor, "wb") as new:
            if mode is not None:
                os.chmod(beside, mode)
            new.write(data)
        os.replace(beside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
