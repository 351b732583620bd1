"""Read one file below a root that may be hostile: regular files only, no waiting, no link out, bounded.

A path is walked component by component, each opened relative to the folder before it and never through a
link, so nothing can be swapped in between. A link is judged by where it leads: one that stays below the root
is followed, one that leaves it is refused. What the bytes mean is for `sources.text`.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from deepprompt.errors import FileRefusedError
from deepprompt.prompt import Note
from deepprompt.sources.text import drop_hidden, reveal, scrub

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
_FOLDER_FLAGS = (
    getattr(os, "O_PATH", os.O_RDONLY)  # a folder that may be entered but not listed is enough
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_WALKS = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and os.readlink in os.supports_dir_fd


class Contents(NamedTuple):
    """The first bytes of a file, whether there are more, and the status of the file they were read from."""

    data: bytes
    more: bool
    status: os.stat_result


def refuse_claude(path: str) -> str | None:
    """Return why a path may not be read: a component that spells `claude` in any case, width or disguise."""
    folded = path.lower() if path.isascii() else unicodedata.normalize("NFKC", drop_hidden(path)).casefold()
    return "CLAUDE files belong to another agent and are never loaded" if "claude" in folded else None


def clean_path(path: str) -> str:
    """Return the shortest spelling of a path, as Go's filepath.Clean has it."""
    path = os.path.normpath(path)
    return path[1:] if path.startswith("//") else path


def shown_path(path: str, notes: list[Note]) -> str:
    """Return a path as a prompt may show it: hidden characters visible, names that are not UTF-8 marked."""
    return reveal(scrub(path, "path", notes), "path", notes)


def search_roots(cwd: str, home: str) -> list[str]:
    """Return the cleaned cwd, then home unless it is empty or the same by name."""
    roots = [clean_path(cwd)]
    if home and clean_path(home) not in roots:
        roots.append(clean_path(home))
    return roots


def read_below(root: str, path: str, limit: int, may_pass: Callable[[str], str | None]) -> Contents:
    """The first `limit` bytes of the regular file at `path`, a relative path below `root`.

    `may_pass` is asked about the path that is really read, relative to the root and with `/` between its
    components, once for every link on the way; it returns a reason to refuse it, or None.
    """
    open_file = _open_walking if _WALKS else _open_resolved
    try:
        descriptor = open_file(root, path, may_pass)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FileRefusedError("refused", "not a regular file")
            # A file that grows while we read, or that says it is empty and is not (/proc), gives what it promised.
            return Contents(_read(descriptor, min(limit, status.st_size)), status.st_size > limit, status)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise FileRefusedError("missing", "there is no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileRefusedError("unreadable", f"cannot be read: {reason}") from None


def _read(descriptor: int, size: int) -> bytes:
    chunks = []
    while size and (chunk := os.read(descriptor, size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _open_walking(root: str, path: str, may_pass: Callable[[str], str | None]) -> int:
    """Open without ever following a link in the kernel: each is read and judged here, then walked from the root."""
    real_root = os.path.realpath(root)
    links = 0
    while True:
        names = _names_below(real_root, path, may_pass)
        folder = os.open(real_root, _FOLDER_FLAGS)
        try:
            for index, name in enumerate(names):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    break
                if index == len(names) - 1:
                    if not stat.S_ISREG(mode):  # before the open: opening a device may have effects
                        raise FileRefusedError("refused", "not a regular file")
                    return os.open(name, _FLAGS, dir_fd=folder)
                below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
                os.close(folder)
                folder = below
            links += 1
            if links > _MOST_LINKS:
                raise FileRefusedError("refused", "too many links")
            target = os.readlink(name, dir_fd=folder)
        finally:
            os.close(folder)
        path = os.path.join(*names[:index], target, *names[index + 1 :])


def _open_resolved(root: str, path: str, may_pass: Callable[[str], str | None]) -> int:
    """Open where folders cannot be walked by descriptor: resolve, judge, open, and see that it is still the same."""
    real_root = os.path.realpath(root)
    _names_below(real_root, path, may_pass)
    real = os.path.realpath(os.path.join(real_root, path))
    _names_below(real_root, real, may_pass)
    before = os.lstat(real)
    if not stat.S_ISREG(before.st_mode):
        raise FileRefusedError("refused", "not a regular file")
    descriptor = os.open(real, _FLAGS)
    after = os.fstat(descriptor)
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
        os.close(descriptor)
        raise FileRefusedError("refused", "it was replaced while it was being opened")
    return descriptor


def _names_below(root: str, path: str, may_pass: Callable[[str], str | None]) -> list[str]:
    """Return the components of a path below the root, or refuse it."""
    whole = os.path.normpath(os.path.join(root, path))
    top = root.rstrip(os.sep) + os.sep
    if not whole.startswith(top):
        raise FileRefusedError("refused", "leads out of its root")
    names = whole[len(top) :].split(os.sep)
    if reason := may_pass("/".join(names)):
        raise FileRefusedError("refused", reason)
    return names
