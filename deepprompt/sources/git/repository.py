"""Find a git repository without trusting it, and make a private git directory that shows it to git.

Everything below `.git` is hostile until proven otherwise: its configuration, hooks, attributes and links make
git run programs or read other repositories. So git never sees it. `private_git_dir` makes a folder of our own
with our configuration, a copy of the index and the commit that HEAD refers to. git reads only the objects and the
work tree of the repository itself, and writes nothing to it.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.frozen import dataclass
from deepprompt.sources.files import Contents, read_below
from deepprompt.sources.private import NAMED, in_memory

_MOST_SMALL = 1 << 20
_MOST_INDEX = 1 << 29
_INDEX_A_SECOND = 1 << 26  # git itself needs longer, to look at each file that is named in as much
_CHUNK = 1 << 20
_MOST_PACKED_REFS = 1 << 26
_MOST_SYMBOLIC = 5
_MOST_REPLACED = 5
_MOST_LINKS = 1 << 16

_NEVER = float("inf")
_HEX = b"0123456789abcdef"
_REF = re.compile(rb"ref: (refs/[!-\x7e\x80-\xff]{1,4000})\n?")  # no blanks, no control characters, a path
_LINK = rb"link(?=[\0-\x1f])"  # the extension of an index that shares another: its size, then a hash

# The settings that change the output but run nothing, each with the values that it may have.
_BOOLEAN = {"true": "true", "yes": "true", "on": "true", "1": "true"} | dict.fromkeys(
    ("false", "no", "off", "0", ""), "false"
)
_INERT = {
    "core.filemode": _BOOLEAN,
    "core.symlinks": _BOOLEAN,
    "core.ignorecase": _BOOLEAN,
    "core.precomposeunicode": _BOOLEAN,
    "core.trustctime": _BOOLEAN,
    "core.sparsecheckout": _BOOLEAN,
    "core.sparsecheckoutcone": _BOOLEAN,
    "index.sparse": _BOOLEAN,
    "core.autocrlf": _BOOLEAN | {"input": "input"},
    "core.eol": {"lf": "lf", "crlf": "crlf", "native": "native"},
    "extensions.objectformat": {"sha1": "sha1", "sha256": "sha256"},
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
    """The folders of a repository, and what its HEAD refers to."""

    top: str
    """The work tree."""
    git_dir: str
    common_dir: str
    """The folder of objects, refs and configuration. It differs from `git_dir` in a linked work tree."""
    branch: str
    """The name of the branch that HEAD is on, as it is stored; "" when detached."""
    commit: str
    """The commit that HEAD refers to, in hex; "" before the first one."""


def find_repository(cwd: str, root: str | os.PathLike[str] | None = None) -> Repository | None:
    """Return the repository that contains `cwd`, None if there is none. Raise if it is not safe to read.

    It is looked for no higher than `root`; without one, as far up as the same file system goes.
    """
    top = os.path.realpath(cwd)
    device = os.stat(top).st_dev
    highest = None if root is None else os.path.realpath(root)
    if highest is not None and not (top + os.sep).startswith(highest.rstrip(os.sep) + os.sep):
        raise SourceError(f"{cwd} does not lie in the root {os.fspath(root or '')}")
    while True:
        dot_git = os.path.join(top, ".git")
        try:
            mode = os.lstat(dot_git).st_mode
            break
        except (FileNotFoundError, NotADirectoryError):
            above = os.path.dirname(top)
            if top == highest or above == top or os.stat(above).st_dev != device:
                return None
            top = above
    if stat.S_ISDIR(mode):
        git_dir = common_dir = dot_git
    elif stat.S_ISREG(mode):
        git_dir, common_dir = _follow_git_file(top)
    else:
        raise SourceError(".git is neither a folder nor a file")
    for path in (top, git_dir, common_dir):
        if not _is_ours(path):
            raise SourceError(f"{path} belongs to another user")
    _refuse_traps(top, common_dir)
    branch, commit = _head(git_dir, common_dir)
    return Repository(top, git_dir, common_dir, branch, commit)


def _refuse_traps(top: str, common_dir: str) -> None:
    """Refuse files that would make git wait forever, or read another repository's objects."""
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
    git_dir = _really(top, line.removeprefix("gitdir: "))
    dot_git = os.path.join(top, ".git")
    try:
        back = _really(git_dir, _line(git_dir, "gitdir"))
        if _line(git_dir, "commondir") == "../.." and back == dot_git:
            return git_dir, os.path.dirname(os.path.dirname(git_dir))  # a linked work tree
    except FileRefusedError:
        work_tree = _settings(git_dir, git_dir).get("core.worktree")
        if work_tree and _really(git_dir, work_tree) == top:
            return git_dir, git_dir  # a submodule
    raise SourceError("the .git file names a git directory that does not belong to this folder")


def _read(root: str, path: str, limit: int = _MOST_SMALL) -> Contents:
    """Read a whole file of a git directory, given by its real path; git itself makes no links there."""
    tries = 0
    while True:
        try:
            return read_below(
                root, path, limit, lambda really: None if really == path else "a link", whole=True, real_root=root
            )
        except FileRefusedError as error:
            tries += 1
            # git itself replaces a ref or an index by a new one. Then read the new one.
            if error.kind != "replaced" or tries == _MOST_REPLACED:
                raise FileRefusedError(error.kind, f"{os.path.join(root, path)}: {error}") from None


def _read_if_there(root: str, path: str, limit: int = _MOST_SMALL) -> Contents | None:
    try:
        return _read(root, path, limit)
    except FileRefusedError as error:
        if error.kind != "missing":
            raise
        return None


def _line(root: str, path: str) -> str:
    return os.fsdecode(_read(root, path).data).removesuffix("\n")


def _really(folder: str, path: str) -> str:
    """Return where a path that a repository names leads to, seen from a folder."""
    if "\0" in path:
        raise SourceError(f"a path that {folder} names has a NUL in it")
    return os.path.realpath(os.path.join(folder, path))


def _head(git_dir: str, common_dir: str) -> tuple[str, str]:
    """Return the branch and the commit of HEAD."""
    data = _read(git_dir, "HEAD").data
    first = ""
    for _ in range(_MOST_SYMBOLIC):
        digits = data.removesuffix(b"\n")
        if len(digits) in (40, 64) and not digits.strip(_HEX):  # no pattern: compiling one takes long
            return first.removeprefix("refs/heads/"), digits.decode()
        match = _REF.fullmatch(data)
        if match is None or b".." in match[1]:
            raise SourceError("HEAD is not one that git writes")
        ref = os.fsdecode(match[1])
        if ref == "refs/heads/.invalid":
            raise SourceError("its refs are stored as reftable, which is not supported")
        first = first or ref
        # A branch `main` may be packed while the folder of a former `main/x` is still there.
        loose = None if os.path.isdir(os.path.join(common_dir, ref)) else _read_if_there(common_dir, ref)
        data = loose.data if loose else _packed_ref(common_dir, match[1])
        if not data:
            return first.removeprefix("refs/heads/"), ""
    raise SourceError("HEAD is a chain of symbolic refs")


def _packed_ref(common_dir: str, ref: bytes) -> bytes:
    packed = _read_if_there(common_dir, "packed-refs", _MOST_PACKED_REFS)
    data = packed.data if packed else b""
    end = data.find(b" " + ref + b"\n")
    return data[data.rfind(b"\n", 0, end) + 1 : end] if end >= 0 else b""


def _settings(git_dir: str, common_dir: str) -> dict[str, str]:
    """Return the plain `section.key` settings of a repository's own files; an include in them is only text."""
    settings = {}
    for folder, name in ((common_dir, "config"), (git_dir, "config.worktree")):
        section = ""
        contents = _read_if_there(folder, name)
        for line in os.fsdecode(contents.data if contents else b"").split("\n"):
            line = line.strip()
            if line.startswith("["):
                section = line[1:].partition("]")[0].strip().lower()
            elif section and line[:1] not in ("", "#", ";"):
                key, equals, value = line.partition("=")
                settings[f"{section}.{key.strip().lower()}"] = _value(value) if equals else "true"
    return settings


def _value(text: str) -> str:
    """Return a configuration value without its quotes, escapes, comment and blanks around it."""
    value = []
    quoted = escaped = False
    for character in text.strip():
        if escaped:
            value.append({"n": "\n", "t": "\t"}.get(character, character))
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            value.append(character)
    return "".join(value) if quoted or text.rstrip().endswith('"') else "".join(value).strip()


@dataclass(frozen=True, slots=True)
class State:
    """The repository's own files that git will see, as they were read. A private git directory is made of them."""

    config: str
    files: tuple[tuple[str, bytes], ...]
    index: Contents | None

    @property
    def key(self) -> tuple[object, ...]:
        """A value that is equal for equal states. git replaces its index, so the file's status identifies it."""
        status = self.index.status if self.index else None
        index = status and (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return (self.config, self.files, index)


def read_state(repository: Repository, deadline: float = _NEVER) -> State:
    """Read the files for a private git directory. Raise if the index is too large to be used in time."""
    settings = _settings(repository.git_dir, repository.common_dir)
    known = {
        key: values[settings[key].lower()] for key, values in _INERT.items() if settings.get(key, "?").lower() in values
    }
    lines = [_OUR_CONFIG, f"\trepositoryFormatVersion = {1 if 'extensions.objectformat' in known else 0}\n"]
    for key, value in known.items():
        section, name = key.split(".")
        lines.append(f"[{section}]\n\t{name} = {value}\n")
    # Before the first commit git needs the name of a branch; any name will do.
    files = [("HEAD", f"{repository.commit or 'ref: refs/heads/main'}\n".encode())]
    common, own = repository.common_dir, repository.git_dir
    for folder, name in ((common, "info/exclude"), (common, "shallow"), (own, "info/sparse-checkout")):
        contents = _read_if_there(folder, name)
        # The exclude file that `git init` leaves has comments only, and a folder for it costs more than reading HEAD.
        if contents and (name != "info/exclude" or _says_something(contents.data)):
            files.append((name, contents.data))
    index = _read_index(own, "index", deadline)
    if index:
        files += _shared_index(own, index.data, deadline)
    return State("".join(lines), tuple(files), index)


def _says_something(patterns: bytes) -> bool:
    """Whether a file has a pattern: git ignores empty lines and lines that start with `#`."""
    return any(line and not line.startswith(b"#") for line in patterns.split(b"\n"))


def _read_index(git_dir: str, name: str, deadline: float) -> Contents | None:
    path = os.path.join(git_dir, name)
    size = os.lstat(path).st_size if os.path.lexists(path) else 0
    if _MOST_INDEX > size > max(_MOST_SMALL, _INDEX_A_SECOND * (deadline - time.monotonic())):
        raise SourceError(f"{path}: too large to be used in time")
    return _read_if_there(git_dir, name, _MOST_INDEX)


def _shared_index(git_dir: str, index: bytes, deadline: float) -> list[tuple[str, bytes]]:
    """Return the larger half of a split index, which names it by hash; git looks for it beside the index."""
    there = {name for name in os.listdir(git_dir) if name.startswith("sharedindex.")}
    if not there:
        return []
    places = [match.end() + 4 for match in islice(re.finditer(_LINK, index), _MOST_LINKS)]
    named = {f"sharedindex.{index[place : place + size].hex()}" for place in places for size in (20, 32)}
    if len(found := there & named) > 1:
        raise SourceError("its index names more than one that it shares")
    return [(name, half.data) for name in found if (half := _read_index(git_dir, name, deadline))]


@contextmanager
def private_git_dir(repository: Repository, state: State, deadline: float = _NEVER) -> Iterator[str]:
    """Make the folder that git gets as GIT_DIR, and remove it at the end."""
    size = len(state.index.data if state.index else b"") + sum(len(data) for _, data in state.files)
    folder = _make_private_folder(outside=repository.top, size=size)
    try:
        for name in ("refs", "objects"):
            os.mkdir(os.path.join(folder, name))
        if any(name.startswith("info/") for name, _ in state.files):
            os.mkdir(os.path.join(folder, "info"))
        for name, data in (("config", state.config.encode()), *state.files):
            _write(folder, name, data, deadline)
        if state.index:
            # The copy keeps the time of the original: by it git knows which files may have changed since
            # within one tick of the clock, and looks into those.
            path = _write(folder, "index", state.index.data, deadline)
            os.utime(path, ns=(state.index.status.st_atime_ns, state.index.status.st_mtime_ns))
        yield folder
    finally:
        _remove(folder)


def _make_private_folder(outside: str, size: int = 0) -> str:
    """Make an empty folder that only we may enter, outside the work tree, where it would show up as untracked."""
    places = [os.environ.get(name, "") for name in NAMED] + [in_memory(size), "/tmp", "/var/tmp"]
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


def _write(folder: str, name: str, data: bytes, deadline: float) -> str:
    """Write a file. Stop when the time is over, since git would have none left to read it."""
    path = os.path.join(folder, name)
    view = memoryview(data)
    with open(path, "xb", buffering=0) as file:
        while view := view[file.write(view[:_CHUNK]) :]:
            if time.monotonic() > deadline:
                break
    return path


def _remove(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(folder)
