"""What git says about a folder right now: status, diff summary, branch and last commits. Read-only, advisory.

The repository may be hostile: how git is kept from running its programs is in `sources.repository`, how it is
kept from hanging in `sources.process`. This module knows which commands to run and what their output means.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.sources.files import Contents
from deepprompt.sources.process import finally_on_sigterm, run_side_by_side
from deepprompt.sources.repository import Repository, find_repository, private_git_dir, read_index
from deepprompt.sources.text import cut, decode, one_line, reveal

STATUS_LIMIT = 4_000
DIFF_LIMIT = 8_000
MOST_SUBJECT = 1_000
_MOST_OUTPUT = 1 << 16

# A second layer beneath the private git directory: each of the two holds alone.
_GIT = (
    "--no-pager",
    "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=false",
    "-c", "core.quotePath=false",
    "-c", "log.mailmap=false",
    "-c", "safe.bareRepository=explicit",
)  # fmt: skip
_DIFF = ("diff", "--stat=80", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
_STATUS = ("status", "--short", "--untracked-files=normal", "--ignore-submodules=all", "--no-ahead-behind")
_LOG = (
    "log",
    "-3",
    "--format=%h %s",
    "--encoding=UTF-8",
    "--no-show-signature",
    "--no-decorate",
    "--no-color",
)


@dataclass(frozen=True, slots=True)
class GitSnapshot:
    """What git said. Fields are empty where there is no repository or it could not be read; `notes` say why."""

    status: str = ""
    diff: str = ""
    active_branch: str = ""
    recent_commits: tuple[str, ...] = ()
    notes: tuple[Note, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class _Remembered:
    """What holds as long as HEAD and index stay: the staged diff, the commits, and the index as git refreshed it."""

    key: tuple[object, ...]
    index: Contents | None
    staged: bytes | None = None
    commits: bytes | None = None

    def keep_refreshed_index(self, folder: str) -> None:
        """Keep the private index if git rewrote it: it now knows which files only look changed."""
        try:
            status = os.stat(os.path.join(folder, "index"))
            if self.index and status.st_mtime_ns != self.index.status.st_mtime_ns:
                with open(os.path.join(folder, "index"), "rb") as file:
                    self.index = Contents(file.read(), False, status)
        except FileNotFoundError:
            return


_last: _Remembered | None = None


def read_git(cwd: str | os.PathLike[str], timeout: float = 2.0) -> GitSnapshot:
    """Return what git says about `cwd`, within `timeout` seconds for all of it."""
    deadline = time.monotonic() + timeout
    cwd = os.fspath(cwd)
    if not cwd:
        raise SourceError("read_git: empty cwd; pass the project's folder")
    if not os.path.isdir(cwd):
        raise SourceError(f"read_git: cwd {cwd!r} is not a folder")
    try:
        repository = find_repository(cwd)
        if repository is None:
            return GitSnapshot()
        return _snapshot(repository, os.path.realpath(cwd), deadline)
    except (SourceError, OSError) as error:
        return GitSnapshot(notes=(Note("skipped", "git", f"no git context: {error}"),))


def _snapshot(repository: Repository, cwd: str, deadline: float) -> GitSnapshot:
    git = _find_git(outside=repository.top)
    index = read_index(repository)
    known = _recall(repository, index)
    commands: dict[str, tuple[str, ...]] = {"status": _STATUS, "unstaged": _DIFF}
    if known.staged is None:
        commands["staged"] = (*_DIFF, "--cached")
    if known.commits is None and repository.commit:
        commands["commits"] = _LOG
    with finally_on_sigterm(), private_git_dir(repository, known.index) as folder:
        environment = _environment(repository, git, folder)

        def run(commands: dict[str, tuple[str, ...]]) -> dict[str, bytes | None]:
            lines = [(git, *_GIT, *command) for command in commands.values()]
            outputs = run_side_by_side(lines, cwd=cwd, env=environment, deadline=deadline, most=_MOST_OUTPUT)
            return dict(zip(commands, outputs, strict=True))

        outputs = run(commands)
        attributes_moved = b".gitattributes" in (outputs["status"] or b"")
        if attributes_moved and "staged" not in commands:
            # What counts as binary may have changed, so the staged diff is not what it was.
            outputs |= run({"staged": (*_DIFF, "--cached")})
        known.keep_refreshed_index(folder)
    staged = outputs.get("staged", known.staged)
    commits = outputs.get("commits", known.commits)
    known.staged = None if attributes_moved else staged
    known.commits = commits
    notes = [
        Note("skipped", "git", f"no {name}: git failed or was not done in time")
        for name, output in outputs.items()
        if output is None
    ]
    return GitSnapshot(
        status=_status_text(outputs["status"], notes),
        diff=_diff_text(outputs["unstaged"], staged, notes),
        active_branch=_branch_text(repository, notes),
        recent_commits=_commit_lines(commits, notes),
        notes=tuple(notes),
    )


def _recall(repository: Repository, index: Contents | None) -> _Remembered:
    """Return what is known of this HEAD and index, nothing if either moved. git replaces its index, never edits it."""
    global _last
    status = index and (
        index.status.st_dev,
        index.status.st_ino,
        index.status.st_size,
        index.status.st_mtime_ns,
    )
    key = (repository, status)
    if _last is None or _last.key != key:
        _last = _Remembered(key, index)
    return _last


def _find_git(outside: str) -> str:
    """Return git's absolute path. A relative entry of PATH, or one in the repository, could hold a stranger's."""
    name = "git.exe" if os.name == "nt" else "git"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        inside = os.path.realpath(path).startswith(outside.rstrip(os.sep) + os.sep)
        if os.path.isabs(folder) and not inside and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise SourceError("git is not installed, or not in an absolute folder of PATH")


def _environment(repository: Repository, git: str, folder: str) -> dict[str, str]:
    """Return the whole environment of git: nothing of ours but where programs are."""
    environment = {
        "PATH": os.path.dirname(git),
        "HOME": folder,
        "LC_ALL": "C",
        "GIT_DIR": folder,
        "GIT_WORK_TREE": repository.top,
        "GIT_OBJECT_DIRECTORY": os.path.join(repository.common_dir, "objects"),
        "GIT_INDEX_FILE": os.path.join(folder, "index"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }
    if "SYSTEMROOT" in os.environ:  # Windows starts no program without it
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return environment


def _status_text(output: bytes | None, notes: list[Note]) -> str:
    return _limited(_decoded(output, "git status", notes), STATUS_LIMIT, "git status", notes)


def _diff_text(unstaged: bytes | None, staged: bytes | None, notes: list[Note]) -> str:
    if unstaged is None or staged is None:  # half a diff would look like a whole one
        return ""
    texts = [_decoded(output, "git diff", notes).rstrip("\n") for output in (unstaged, staged)]
    return _limited("\n".join(text for text in texts if text), DIFF_LIMIT, "git diff", notes)


def _branch_text(repository: Repository, notes: list[Note]) -> str:
    if not repository.commit:
        return ""
    return reveal(decode(os.fsencode(repository.branch), "git branch", notes), "git branch", notes) or "(detached)"


def _commit_lines(output: bytes | None, notes: list[Note]) -> tuple[str, ...]:
    """One line a commit. Bytes are split before they are decoded: a subject may hold a lone carriage return."""
    lines = (output or b"").split(b"\n")
    texts = (one_line(_decoded(line, "git log", notes), "git log", notes) for line in lines if line)
    return tuple(text[:MOST_SUBJECT] for text in texts)


def _decoded(output: bytes | None, source: str, notes: list[Note]) -> str:
    complete = len(output or b"") < _MOST_OUTPUT
    return reveal(decode(output or b"", source, notes, complete=complete), source, notes)


def _limited(text: str, limit: int, source: str, notes: list[Note]) -> str:
    shown = cut(text, limit)
    if shown != text:
        notes.append(Note("cut", source, f"longer than {limit} bytes"))
    return shown
