"""Read what git says about a folder: status, diff summary, branch and last commits.

The repository may be hostile: `sources.git.repository` keeps git from running its programs, and `sources.git.process`
keeps git from hanging. This module knows which commands to run and what their output means.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from functools import lru_cache

from deepprompt.errors import SourceError
from deepprompt.frozen import dataclass, field
from deepprompt.prompt import Note
from deepprompt.sources.files import path_text, shown_path
from deepprompt.sources.git.objects import find_borrowed, find_linked
from deepprompt.sources.git.repository import Repository, find_repository, read_state
from deepprompt.sources.git.run import open_git
from deepprompt.text.display import display
from deepprompt.text.hygiene import decode, from_system, neutralise, one_line, shorten
from deepprompt.text.secrets import redact

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.words import GitState

STATUS_LIMIT = 4_000
DIFF_LIMIT = 8_000
MOST_SUBJECT = 1_000
MOST_REASON = 1_000
_ABBREVIATED = r"(?m)^ \.\.\..*(?= \| )"
# Far more than is shown. Cleaning more would take too long after the deadline.
_MOST_TAMED = 1 << 14

_DIFF = ("diff", "--stat=80", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
_STATUS = ("status", "--short", "--untracked-files=normal", "--ignore-submodules=all", "--no-ahead-behind")
_COMMITS = 3
_LOG = (
    "log",
    f"-{_COMMITS}",
    "--format=%h %s",
    "--encoding=UTF-8",
    "--no-show-signature",
    "--no-decorate",
    "--no-color",
)
# An index may name any file of the machine, and git would read it. The brackets keep git from resolving the paths.
_OUTSIDE = (":(top)[/]*", ":(top)[.][.]/*", ":(top)*/[.][.]/*")


@dataclass(frozen=True, slots=True)
class GitSnapshot:
    """What git says about a folder.

    `state` is `read`, `none` (not a repository) or `unreadable` (git failed, at least in part). A field that could not
    be read is empty, and `notes` say why.
    """

    status: str = ""
    diff: str = ""
    active_branch: str = ""
    recent_commits: tuple[str, ...] = ()
    notes: tuple[Note, ...] = field(default=(), compare=False)
    state: GitState = "read"


class _Known:
    """Answers that hold as long as HEAD, index and settings stay the same.

    A staged diff is known only if it is empty: an edited .gitattributes changes what any other looks like.
    """

    def __init__(self, key: tuple[object, ...]) -> None:
        self.key = key
        self.linked: list[str] | None = None
        self.nothing_outside = False
        self.nothing_staged = False
        self.commits: bytes | None = None


_known = lru_cache(maxsize=1)(_Known)  # only those about the last repository are kept


def read_git(
    cwd: str | os.PathLike[str], timeout: float = 2.0, root: str | os.PathLike[str] | None = None
) -> GitSnapshot:
    """Return what git says about `cwd`, within `timeout` seconds in total.

    A repository is looked for in `cwd` and above it, but no higher than `root`, where one is given. Raises
    `SourceError` if `cwd` is not a folder. If git fails, `state` and `notes` say so.
    """
    if not isinstance(timeout, int | float):
        from deepprompt.arguments import wrong

        raise wrong("read_git: timeout", "seconds as a number", timeout)
    deadline = time.monotonic() + timeout
    cwd = path_text(cwd, "read_git: cwd")
    if not cwd:
        raise SourceError("read_git: empty cwd; pass the project's folder")
    if not _may_be_folder(cwd):
        raise SourceError(f"read_git: cwd {shown_path(cwd)!r} is not a folder")
    try:
        repository = find_repository(cwd, root)
        if repository is None:
            return GitSnapshot(state="none")
        return _snapshot(repository, os.path.realpath(cwd), deadline)
    except (SourceError, OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        reason = from_system(str(error)[:_MOST_TAMED])
        reason = one_line(_tamed(reason, "git", []))
        return GitSnapshot(
            notes=(Note("skipped", "git", f"no git context: {reason}"[:MOST_REASON]),), state="unreadable"
        )


def _may_be_folder(path: str) -> bool:
    """Whether a folder exists. True if the system cannot tell; then reading it will say why."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        return error.errno != errno.ELOOP


def _snapshot(repository: Repository, cwd: str, deadline: float) -> GitSnapshot:
    state = read_state(repository, deadline)
    known = _known((repository, state.key))
    commands: dict[str, tuple[str, ...]] = {"status": _STATUS, "unstaged diff": _DIFF}
    if not known.nothing_staged:
        commands["staged diff"] = (*_DIFF, "--cached")
    if known.commits is None and repository.commit:
        commands["commits"] = _LOG
    objects = os.path.join(repository.common_dir, "objects")
    if known.linked is None and time.monotonic() < deadline:
        known.linked = find_linked(objects, deadline)
    borrowed = [*find_borrowed(objects), *(known.linked or ())]
    with open_git(repository, state, cwd, deadline, own_only=bool(borrowed)) as (run, interrupted):
        outputs: dict[str, bytes | None] = dict.fromkeys(commands)
        if not known.nothing_outside:
            outside: bytes | None = b""
            if state.index:
                beside = ["commits"] if "commits" in commands else []  # git reads them without the index
                outside, *found = run(_names_outside(state.index.data), *[commands[name] for name in beside])
                outputs.update(zip(beside, found, strict=True))
            if outside:
                raise SourceError("its index names a file outside the work tree")
            known.nothing_outside = outside == b""
        # git fails if a file disappears while git reads it. If there is time, try again.
        for _ in range(2):
            missing = [name for name in commands if outputs[name] is None]
            if not known.nothing_outside:  # git cannot read the index, so nobody knows what it names
                missing = [name for name in missing if name == "commits"]
            if missing and not interrupted():
                outputs.update(zip(missing, run(*[commands[name] for name in missing]), strict=True))
    staged = outputs.get("staged diff", b"")
    known.nothing_staged = staged == b""
    known.commits = outputs.get("commits", known.commits)
    notes = _borrowed_notes(borrowed)
    notes += [
        Note("skipped", "git", f"no {name}: git failed or was not done in time")
        for name, output in outputs.items()
        if output is None
    ]
    status_text = _status_text(outputs["status"], notes)
    diff_text = _diff_text(outputs["unstaged diff"], staged, notes)
    return GitSnapshot(
        status=status_text,
        diff=diff_text,
        active_branch=_branch_text(repository, notes),
        recent_commits=_commit_lines(known.commits, notes),
        notes=tuple(notes),
        state="unreadable" if None in outputs.values() else "read",
    )


def _borrowed_notes(borrowed: list[str]) -> list[Note]:
    if not borrowed:
        return []
    detail = f"{display(borrowed[0])}: objects that lie outside the repository are not read"
    return [Note("refused", "git", detail, count=len(borrowed))]


def _names_outside(index: bytes) -> tuple[str, ...]:
    """Return the command that prints the paths of an index that lead out of the work tree."""
    # By default git expands the folders that a sparse index leaves out, and touches the objects that it reads for that.
    sparse = ("--sparse",) if b"sdir" in index else ()
    return ("ls-files", *sparse, "--", *_OUTSIDE)


def _status_text(output: bytes | None, notes: list[Note]) -> str:
    return _limited((output or b"",), STATUS_LIMIT, "git status", notes)


def _diff_text(unstaged: bytes | None, staged: bytes | None, notes: list[Note]) -> str:
    if unstaged is None or staged is None:  # half a diff would look like a whole one
        return ""
    return _limited((unstaged.rstrip(b"\n"), staged.rstrip(b"\n")), DIFF_LIMIT, "git diff", notes)


def _branch_text(repository: Repository, notes: list[Note]) -> str:
    if not repository.commit:
        return ""
    return _tamed(from_system(repository.branch, "git branch", notes), "git branch", notes) or "(detached)"


def _commit_lines(output: bytes | None, notes: list[Note]) -> tuple[str, ...]:
    """Return one line per commit. Bytes are split before decoding, as a subject may hold a lone carriage return."""
    lines = (output or b"").split(b"\n", _COMMITS)[:_COMMITS]
    texts = (one_line(_decoded(line, "git log", notes), "git log", notes) for line in lines if line)
    # Truncation may turn a longer name into a speaker's tag.
    return tuple(neutralise(text[:MOST_SUBJECT]) for text in texts)


def _decoded(output: bytes, source: str, notes: list[Note]) -> str:
    complete = len(output) <= _MOST_TAMED
    return _tamed(decode(output[:_MOST_TAMED], source, notes, complete=complete), source, notes)


def _tamed(text: str, source: str, notes: list[Note]) -> str:
    return neutralise(redact(text, source, notes), source, notes)


def _limited(outputs: tuple[bytes, ...], limit: int, source: str, notes: list[Note]) -> str:
    text = "\n".join(filter(None, [_decoded(output, source, notes) for output in outputs]))
    if any(note.kind == "redacted" and note.source == "git status" for note in notes):
        # A file name has a key. A diff shows only the end of a long name, and the end of a key does not look like one.
        text = re.sub(_ABBREVIATED, " ...", text)
    most = limit
    if any(len(output) > _MOST_TAMED for output in outputs):  # a redacted key may be all that made it long
        most = min(limit, len(text.encode()) - 1)
    shown = shorten(text, most)
    if shown != text:
        notes.append(Note("cut", source, f"longer than {limit} bytes"))
    return shown
