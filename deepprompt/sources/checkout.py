"""Copy a project as a fresh checkout in another folder would be, optionally with Windows line ends.

Caches and files that cannot be read, such as sockets, pipes and other users' files, are left out. Links stay links.
Environments that tools have installed in the project are linked to, because code may need them and they may be large.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress

from deepprompt.errors import DeepPromptError
from deepprompt.sources.git.repository import find_repository, read_state
from deepprompt.sources.git.run import open_git

_LINKED = frozenset((".venv", "venv", "node_modules", ".tox", ".nox"))
_LEFT_OUT = frozenset(("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"))
_MOST_FILES, MOST_BYTES = 20_000, 1 << 28
_MOST_NAMES = 1 << 24
_TIMEOUT = 30.0


def copy_project(folder: str, copy: str, private: str) -> str:
    """Copy a project. Return "" on success, or else why it was not copied."""
    files, size = 0, 0
    for root, folders, names in os.walk(folder):
        folders[:] = set(folders) - _LINKED - _LEFT_OUT - _without(root, folders, private)
        files += len(names)
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(root, name)).st_size
        if files > _MOST_FILES or size > MOST_BYTES:
            return f"the folder is too large to be copied: more than {_MOST_FILES:,} files or {MOST_BYTES >> 20} MiB"

    def ignore(root: str, names: list[str]) -> set[str]:
        return _without(root, names, private) | ((_LINKED | _LEFT_OUT) & set(names))

    try:
        # Without file times: a checkout does not preserve them either.
        shutil.copytree(folder, copy, symlinks=True, ignore=ignore, copy_function=shutil.copy)
        _link_tools(folder, copy)
    except shutil.Error as error:
        first, _, why = error.args[0][0]
        return f"the folder cannot be copied: {first}: {why}"
    except OSError as error:
        return f"the folder cannot be copied: {error}"
    return ""


def _without(root: str, names: list[str], private: str) -> set[str]:
    """Return the names in a folder that are not copied: unreadable and special files, and the copy itself."""
    found = set()
    for name in names:
        path = os.path.join(root, name)
        try:
            mode = os.lstat(path).st_mode
        except OSError:  # it is gone
            found.add(name)
            continue
        needed = os.R_OK | (os.X_OK if stat.S_ISDIR(mode) else 0)
        readable = stat.S_ISLNK(mode) or ((stat.S_ISDIR(mode) or stat.S_ISREG(mode)) and os.access(path, needed))
        if not readable or (not stat.S_ISREG(mode) and os.path.realpath(path) == private):
            found.add(name)
    return found


def _link_tools(folder: str, copy: str) -> None:
    """Link the folders that tools have put into the project, such as environments, into the copy."""
    for root, folders, _ in os.walk(folder):
        linked = _LINKED.intersection(folders)
        folders[:] = [name for name in folders if name not in linked and name not in _LEFT_OUT]
        there = os.path.join(copy, os.path.relpath(root, folder))
        for name in linked if os.path.isdir(there) else ():
            if not os.path.lexists(os.path.join(there, name)):
                os.symlink(os.path.join(root, name), os.path.join(there, name))


def use_crlf(copy: str, folder: str) -> None:
    """Convert the text files of a copy to Windows line ends, as git does unless .gitattributes forbid it."""
    chosen = _converted_by_git(folder)
    for root, folders, names in os.walk(copy):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(root, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            if chosen is not None and os.path.relpath(path, copy) not in chosen:
                continue
            with suppress(OSError):
                with open(path, "rb") as file:
                    data = file.read()
                if b"\0" not in data and b"\n" in data:
                    status = os.stat(path)
                    with open(path, "wb") as file:
                        file.write(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
                    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _converted_by_git(folder: str) -> frozenset[str] | None:
    """Return the files whose line ends git may change, None where no repository can say it."""
    deadline = time.monotonic() + _TIMEOUT
    try:
        repository = find_repository(folder)
        if repository is None:
            return None
        state = read_state(repository, deadline)
        with open_git(repository, state, folder, deadline, own_only=True, most=_MOST_NAMES) as (run, _):
            (output,) = run(("ls-files", "-z", "--eol", "--cached", "--others", "--exclude-standard"))
    except (DeepPromptError, OSError, ValueError):
        return None
    if output is None or len(output) == _MOST_NAMES:
        return None
    rows = [row.partition("\t") for row in os.fsdecode(output).split("\0") if row]
    # Each row has the line ends in the index and in the work tree, then what .gitattributes say.
    return frozenset(
        os.path.normpath(path) for said, _, path in rows if "attr/-text" not in said and "eol=lf" not in said
    )
