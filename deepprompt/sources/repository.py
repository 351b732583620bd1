"""Find a git repository without trusting it, and make a private git directory that shows it to git.

Everything below `.git` is hostile until proven otherwise: its configuration, hooks, attributes and links make
git run programs or read other repositories. So git never sees it. `private_git_dir` makes a folder of our own
with our configuration, a copy of the index and the commit that HEAD stands for; of theirs, git reads the
objects and the work tree, and writes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.sources.files import Contents, read_below

_MOST_CONFIG = 1 << 16
_MOST_INDEX = 1 << 29
_MOST_PACKED_REFS = 1 << 26
_MOST_SYMBOLIC = 5

_HASH = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n?")
_REF = re.compile(rb"ref: (refs/[!-\x7e\x80-\xff]+)\n?")  # no blanks, no control characters

# The settings that change what is seen but run nothing, with the values that they may have.
_INERT = {
    "core.filemode": ("true", "false"),
    "core.symlinks": ("true", "false"),
    "core.ignorecase": ("true", "false"),
    "core.precomposeunicode": ("true", "false"),
    "core.trustctime": ("true", "false"),
    "core.autocrlf": ("true", "false", "input"),
    "core.eol": ("lf", "crlf", "native"),
    "extensions.objectformat": ("sha1", "sha256"),
}

_OUR_CONFIG = """\
[core]
\tbare = false
\tfsmonitor = false
\thooksPath = /dev/null
\tuntrackedCache = false
\tquotePath = false
"""


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository's parts are, and what its HEAD stands for."""

    top: str
    """The work tree."""
    git_dir: str
    common_dir: str
    """Where objects, refs and configuration are; another than `git_dir` in a linked work tree."""
    branch: str
    """The name of the branch that HEAD is on, as it is stored; "" when detached."""
    commit: str
    """The commit that HEAD stands for, in hex; "" before the first one."""


def find_repository(cwd: str) -> Repository | None:
    """Return the repository that `cwd` is in, None where there is none. What is not safe to read is an error."""
    top = os.path.realpath(cwd)
    device = os.stat(top).st_dev
    while True:
        dot_git = os.path.join(top, ".git")
        try:
            mode = os.lstat(dot_git).st_mode
            break
        except (FileNotFoundError, NotADirectoryError):
            above = os.path.dirname(top)
            if above == top or os.stat(above).st_dev != device:
                return None
            top = above
    if stat.S_ISDIR(mode):
        git_dir = common_dir = dot_git
    elif stat.S_ISREG(mode):
        git_dir, common_dir = _follow_git_file(top)
    else:
        raise SourceError(".git is neither a folder nor a file")
    for path in {top, git_dir, common_dir}:
        if not _is_ours(path):
            raise SourceError(f"{path} belongs to another user")
    _refuse_traps(top, common_dir)
    branch, commit = _head(git_dir, common_dir)
    return Repository(top, git_dir, common_dir, branch, commit)


def _refuse_traps(top: str, common_dir: str) -> None:
    """Refuse what would make git wait for ever, or read another repository's objects."""
    objects = os.path.join(common_dir, "objects")
    for path in (objects, os.path.join(objects, "pack"), os.path.join(objects, "info")):
        if os.path.islink(path):
            raise SourceError(f"{path} is a link")
    for path in (os.path.join(objects, "info", "alternates"), f"{top}/.gitignore", f"{top}/.gitattributes"):
        if os.path.lexists(path) and not stat.S_ISREG(mode := os.lstat(path).st_mode) and not stat.S_ISLNK(mode):
            raise SourceError(f"{path} is not a regular file")


def _is_ours(path: str) -> bool:
    return not hasattr(os, "geteuid") or os.stat(path).st_uid == os.geteuid()


def _follow_git_file(top: str) -> tuple[str, str]:
    """Follow a `.git` file, if what it names says that it belongs to this work tree.

    Without that answer any folder could make us show another repository.
    """
    line = _line(top, ".git")
    if not line.startswith("gitdir: "):
        raise SourceError("the .git file does not say where its git directory is")
    git_dir = os.path.realpath(os.path.join(top, line.removeprefix("gitdir: ")))
    dot_git = os.path.join(top, ".git")
    try:
        if _line(git_dir, "commondir") == "../.." and os.path.realpath(_line(git_dir, "gitdir")) == dot_git:
            return git_dir, os.path.dirname(os.path.dirname(git_dir))  # a linked work tree
    except FileRefusedError:
        work_tree = read_config(git_dir).get("core.worktree")
        if work_tree and os.path.realpath(os.path.join(git_dir, work_tree)) == top:
            return git_dir, git_dir  # a submodule
    raise SourceError("the .git file names a git directory that does not belong to this folder")


def _read(root: str, path: str, limit: int) -> Contents:
    """Read a file of a git directory; git itself makes no links there."""
    return read_below(root, path, limit, lambda really: None if really == path else "a link")


def _line(root: str, path: str) -> str:
    return os.fsdecode(_read(root, path, 4096).data).removesuffix("\n")


def _head(git_dir: str, common_dir: str) -> tuple[str, str]:
    """Return the branch and the commit of HEAD."""
    data = _read(git_dir, "HEAD", 1024).data
    first = ""
    for _ in range(_MOST_SYMBOLIC):
        if _HASH.fullmatch(data):
            return first.removeprefix("refs/heads/"), data.decode().strip()
        match = _REF.fullmatch(data)
        if match is None or b".." in match[1]:
            raise SourceError("HEAD is not one that git writes")
        ref = os.fsdecode(match[1])
        if ref == "refs/heads/.invalid":
            raise SourceError("its refs are stored as reftable, which is not supported")
        first = first or ref
        try:
            data = _read(common_dir, ref, 1024).data
        except FileRefusedError as error:
            if error.kind != "missing":
                raise
            data = _packed_ref(common_dir, match[1])
            if not data:
                return first.removeprefix("refs/heads/"), ""
    raise SourceError("HEAD is a chain of symbolic refs")


def _packed_ref(common_dir: str, ref: bytes) -> bytes:
    try:
        data = _read(common_dir, "packed-refs", _MOST_PACKED_REFS).data
    except FileRefusedError as error:
        if error.kind != "missing":
            raise
        return b""
    end = data.find(b" " + ref + b"\n")
    return data[data.rfind(b"\n", 0, end) + 1 : end] if end >= 0 else b""


def read_config(git_dir: str) -> dict[str, str]:
    """Return the plain `section.key` settings of a repository's own config; includes and the like are only text."""
    try:
        text = os.fsdecode(_read(git_dir, "config", _MOST_CONFIG).data)
    except FileRefusedError:
        return {}
    settings = {}
    section = ""
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("["):
            section = line[1:].partition("]")[0].strip().lower()
        elif section and line[:1] not in ("#", ";"):
            key, _, value = line.partition("=")
            value = value.split(" #")[0].split(" ;")[0].strip().strip('"')
            settings[f"{section}.{key.strip().lower()}"] = value or "true"
    return settings


@contextmanager
def private_git_dir(repository: Repository, index: Contents | None) -> Iterator[str]:
    """Make the folder that git gets as its GIT_DIR, and remove it at the end."""
    folder = _make_private_folder(outside=repository.top)
    try:
        os.mkdir(os.path.join(folder, "refs"))
        settings = read_config(repository.common_dir)
        inert = {key: settings[key].lower() for key, known in _INERT.items() if settings.get(key, "").lower() in known}
        _write(folder, "config", _config(inert).encode())
        # Before the first commit git needs the name of a branch, and any will do.
        _write(folder, "HEAD", f"{repository.commit or 'ref: refs/heads/main'}\n".encode())
        for name in ("info/exclude", "shallow"):
            _copy_small(repository.common_dir, name, folder)
        if index is not None:
            # The copy keeps the time of the original: by it git knows which files may have changed since
            # within one tick of the clock, and looks into those.
            path = _write(folder, "index", index.data)
            os.utime(path, ns=(index.status.st_atime_ns, index.status.st_mtime_ns))
            _copy_shared_index(repository.git_dir, index.data, folder)
        yield folder
    finally:
        _remove(folder)


def read_index(repository: Repository) -> Contents | None:
    """Return the index, None where nothing was ever added."""
    try:
        index = _read(repository.git_dir, "index", _MOST_INDEX)
    except FileRefusedError as error:
        if error.kind != "missing":
            raise
        return None
    if index.more:
        raise SourceError(f"its index is larger than {_MOST_INDEX} bytes")
    return index


def _config(inert: dict[str, str]) -> str:
    version = 1 if "extensions.objectformat" in inert else 0
    lines = [_OUR_CONFIG, f"\trepositoryFormatVersion = {version}\n"]
    lines += [
        f"[{section}]\n\t{key} = {value}\n" for (section, key), value in ((k.split("."), v) for k, v in inert.items())
    ]
    return "".join(lines)


def _make_private_folder(outside: str) -> str:
    """Make an empty folder that only we may enter, outside the work tree, where it would show up as untracked."""
    places = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", "/var/tmp"]
    for place in places:
        real = os.path.realpath(place) if os.path.isabs(place) else ""
        if real and not (real + os.sep).startswith(outside.rstrip(os.sep) + os.sep):
            folder = os.path.join(real, f"deepprompt-{os.urandom(12).hex()}")
            try:
                os.mkdir(folder, 0o700)
            except OSError:
                continue
            return folder
    raise SourceError("no folder for temporary files outside the repository; set TMPDIR")


def _write(folder: str, name: str, data: bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "xb", buffering=0) as file:
        file.write(data)
    return path


def _copy_small(root: str, name: str, folder: str) -> None:
    try:
        data = _read(root, name, _MOST_CONFIG).data
    except FileRefusedError:
        return
    if data:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        _write(folder, name, data)


def _copy_shared_index(git_dir: str, index: bytes, folder: str) -> None:
    """Copy the larger half of a split index, which names it by hash; git looks for it beside the index."""
    at = index.rfind(b"link")
    if at < 0:
        return
    for size in (20, 32):
        name = f"sharedindex.{index[at + 8 : at + 8 + size].hex()}"
        try:
            shared = _read(git_dir, name, _MOST_INDEX)
        except FileRefusedError:
            continue
        _write(folder, name, shared.data)


def _remove(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(folder)
