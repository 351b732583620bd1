"""Where a hostile case is played: a repository, a program nobody should run, and proof that plain git falls for it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from deepprompt.sources.git.snapshot import GitSnapshot
from tests.support.hostile.forks import forked
from tests.support.repositories import ENVIRONMENT, commit, git, write

DEADLINE = 2.0
SHORT = 0.4
OVER = 0.2  # how much later than its deadline a snapshot may come
MACHINE = 0.6  # what a busy machine may add to that before a test fails; the measured time is what is reported

FAILED = "git failed or was not done in time"


class Evil:
    """A program that leaves a marker when it runs, then does what a filter does."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.marker = folder / "marker"
        self.program = self.write(folder / "program")
        self.failing = self.write(folder / "failing", "exit 1")

    def __str__(self) -> str:
        return str(self.program)

    def write(self, path: Path, then: str = "exec cat") -> Path:
        """Write such a program to a path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n: > '{self.marker}'\n{then}\n")
        path.chmod(0o755)
        return path

    def config(self, name: str = "config") -> Path:
        """Write a configuration file that makes git run the program."""
        path = self.folder / name
        path.write_text(f"[core]\n\tfsmonitor = {self}\n")
        return path

    def ran(self) -> bool:
        """Whether the program has run since it was last asked."""
        ran = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return ran


Says = Callable[[GitSnapshot], None]


@dataclass
class Trap:
    """A case that is ready: how plain git falls into it, and what is to be said of it."""

    fires: Callable[[], bool]
    says: Says
    cwd: Path | None = None
    root: Path | None = None
    timeout: float = DEADLINE
    turns: int = 1
    during: Callable[[], AbstractContextManager[object]] = nullcontext
    """What goes on while we read."""
    alone: bool = True
    """Whether the private git directory is enough, without the flags of the command line."""
    steady: bool = True
    """Whether every turn says the same."""
    secrets: tuple[str, ...] = ()
    """Words that must not be in anything we say."""
    held: Callable[[], bool] = lambda: True
    """What else must be true afterwards."""
    terminal: bool = False
    """Whether the command line's standard output is a terminal."""
    memory: int = 0
    """Where it matters, the megabytes that we and the gits we start may take, each."""
    seam: bool = False
    """Whether it is set up inside this process, so that another would not see it."""
    touched: Callable[[str], bool] = lambda _path: False
    """Paths whose time git itself changes though it only reads."""
    changing: Callable[[str], bool] = lambda _path: False
    """Paths that somebody else changes meanwhile."""
    mended: bool = False
    """Whether git 2.55 no longer falls into it."""


class Scene:
    """The folder of one case. `repository` has a.txt changed, and all files look changed to the index."""

    def __init__(self, folder: Path, template: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.template = template
        self.patch = patch
        self.evil = Evil(folder / "evil")
        self.variables: dict[str, str] = {}
        self._repository: Path | None = None
        self.opened: list[Callable[[], None]] = []

    @property
    def repository(self) -> Path:
        """A repository with `a.txt` and `sub/b.txt` in one commit, and `a.txt` changed since."""
        if self._repository is None:
            self._repository = self.folder / "repository"
            shutil.copytree(self.template, self._repository)
            change(self._repository)
        return self._repository

    def set(self, settings: Mapping[str, object]) -> None:
        """Set configuration of the repository, by full names."""
        for key, value in settings.items():
            git(self.repository, "config", key, str(value))

    def environment(self, values: Mapping[str, object]) -> None:
        """Set variables around us, and around plain git."""
        for name, value in values.items():
            self.variables[name] = str(value)
            self.patch.setenv(name, str(value))

    def reset(self) -> None:
        """Make the files look changed again, as plain git has found them, and forget that the program ran."""
        age(self.folder, 2)
        self.evil.ran()

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> None:
        """Commit some files; a.txt stays changed."""
        write(self.repository, {"a.txt": "one\ntwo\n"})
        commit(self.repository, subject, files)
        change(self.repository)

    def close(self) -> None:
        """Let go of what a case has opened."""
        for close in reversed(self.opened):
            close()

    # The positive controls: each returns a function that says whether plain git fell into the trap.
    def runs(self, *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Control:
        """Plain git runs the program."""

        def fires() -> bool:
            self.evil.ran()
            folder = cwd or self.repository
            git(folder, *map(str, command), env={**self.variables, **(env or {})}, check=False)
            return self.evil.ran()

        return fires

    def shows(self, word: str, *command: str, cwd: Path | None = None) -> Control:
        """Plain git prints a word."""
        return lambda: word in git(cwd or self.repository, *command, env=self.variables, check=False)

    def fails(self, *command: str, cwd: Path | None = None) -> Control:
        """Plain git ends with an error."""

        def fires() -> bool:
            done = subprocess.run(
                ["git", *command], cwd=cwd or self.repository, env=ENVIRONMENT | self.variables, capture_output=True
            )
            return done.returncode != 0

        return fires

    def writes(self, *command: str) -> Control:
        """Plain git writes into the folder."""

        def fires() -> bool:
            before = state(self.folder)
            git(self.repository, *command, env=self.variables, check=False)
            return state(self.folder) != before

        return fires

    def waits(self, pipe: Path, *commands: str, cwd: Path | None = None) -> Control:
        """Plain git waits for a named pipe in at least one of some commands.

        Who waits in the open of a pipe counts as its reader, and only then can it be opened for writing without
        waiting; so this takes no guess about time.
        """

        def fires() -> bool:
            return any(self._is_waited_for(pipe, command.split(), cwd or self.repository) for command in commands)

        return fires

    def _is_waited_for(self, pipe: Path, command: list[str], cwd: Path) -> bool:
        with running(["git", *command], cwd, ENVIRONMENT | self.variables) as process:
            until = time.monotonic() + 10
            while time.monotonic() < until:
                try:
                    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                    return True
                except OSError:  # nobody reads it, yet
                    if process.poll() is not None:
                        return False
                    time.sleep(0.002)
            return False

    def is_slow(self, *command: str, seconds: float = 0.5) -> Control:
        """Plain git is not done after a while."""

        def fires() -> bool:
            with running(["git", *command], self.repository, ENVIRONMENT | self.variables) as process:
                try:
                    process.wait(seconds)
                except subprocess.TimeoutExpired:
                    return True
                return False

        return fires


Control = Callable[[], bool]


@contextmanager
def running(
    command: list[str], cwd: Path, env: Mapping[str, str], stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a session of its own, ended with all that it started."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Entry(NamedTuple):
    """What a file or folder is."""

    kind: tuple[int, int, int]
    """Inode, mode and size."""
    times: tuple[int, int]
    data: bytes


def state(folder: Path) -> dict[str, Entry]:
    """Return what everything below a folder is, with the bytes of all but the largest files."""
    found: dict[str, Entry] = {}
    for place, folders, names in os.walk(os.fsencode(folder)):
        for name in (*folders, *names):
            path = os.path.join(place, name)
            status = os.lstat(path)
            data = b""
            if stat.S_ISREG(status.st_mode) and 0 < status.st_size < 1 << 20:
                data = Path(os.fsdecode(path)).read_bytes()
            shown = os.fsdecode(os.path.relpath(path, os.fsencode(folder)))
            kind = (status.st_ino, status.st_mode, status.st_size)
            found[shown] = Entry(kind, (status.st_mtime_ns, status.st_ctime_ns), data)
    return found


def change(folder: Path) -> None:
    """Change a.txt, and make every file look changed."""
    write(folder, {"a.txt": "one\n2\n"})
    age(folder, 1)


def age(folder: Path, seconds: int) -> None:
    """Give every file of the work trees below a folder a time that their indexes do not know.

    git compares whole seconds, so each time that it has looked, another is needed.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(place, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                os.utime(path, (seconds, seconds))


def both(*controls: Control) -> Control:
    """Each of some controls fires."""
    return lambda: all(control() for control in controls)


# What is to be said of a case.
DIFF = " a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"


def right(
    status: str = " M a.txt\n", diff: str = DIFF, branch: str = "main", commits: Iterable[str] = ("first",)
) -> Says:
    """All of it, as plain git says it of a repository that means no harm, and not one note."""

    def check(snapshot: GitSnapshot) -> None:
        assert (snapshot.status, snapshot.diff, snapshot.active_branch) == (status, diff, branch)
        assert [line.split(" ", 1)[1] for line in snapshot.recent_commits] == list(commits)
        assert snapshot.notes == ()

    return check


def unavailable(reason: str = "") -> Says:
    """Nothing, and one note that says why."""

    def check(snapshot: GitSnapshot) -> None:
        assert snapshot == GitSnapshot(state="unreadable")
        [note] = snapshot.notes
        assert (note.kind, note.source) == ("skipped", "git")
        assert note.detail.startswith("no git context: ")
        assert reason in note.detail

    return check


def nothing_yet(snapshot: GitSnapshot) -> None:
    """A repository without a commit or a file, and nothing went wrong."""
    assert (snapshot, snapshot.notes) == (GitSnapshot(), ())


def no_repository(snapshot: GitSnapshot) -> None:
    """Nothing, and nothing went wrong."""
    assert (snapshot, snapshot.notes) == (GitSnapshot(state="none"), ())


def all_but(*missing: str, commits: int = 1, status: str = " M a.txt\n", diff: str = "") -> Says:
    """What could be read is right, what could not be is empty and noted."""

    def check(snapshot: GitSnapshot) -> None:
        assert snapshot.active_branch == "main"
        assert [note.detail for note in snapshot.notes] == [f"no {name}: {FAILED}" for name in missing]
        assert snapshot.status == ("" if "status" in missing else status)
        assert snapshot.diff == ("" if {"unstaged diff", "staged diff"} & set(missing) else diff or DIFF)
        assert len(snapshot.recent_commits) == (0 if "commits" in missing else commits)

    return check


def right_or_noted(snapshot: GitSnapshot) -> None:
    """Either nothing is missing, or a note says what."""
    assert snapshot.notes or (snapshot.status and snapshot.diff and snapshot.recent_commits)


def build(scene: Scene, trap: Trap, cwd: Path) -> dict[str, object]:
    """Run `deepprompt build` in a process of its own, and return what it reports."""
    arguments = ["build", "--json", "--cwd", str(cwd), "--home", ""]
    if trap.root is not None:
        arguments += ["--root", str(trap.root)]
    if not trap.terminal:
        done = forked(arguments, scene.folder, os.environ, deadline=20)
        assert (done.returncode, done.stderr) == (0, b"")
        report: dict[str, object] = json.loads(done.stdout)
        return report
    screen, line = pty.openpty()
    command = [sys.executable, "-m", "deepprompt", *arguments]
    with running(command, scene.folder, os.environ, line) as process:
        os.close(line)
        report = json.loads(_read_terminal(screen))
        assert process.wait(20) == 0
    return report


def on_a_terminal(scene: Scene, *command: str) -> None:
    """Run plain git with a terminal as its standard output."""
    screen, line = pty.openpty()
    with running(["git", *command], scene.repository, ENVIRONMENT | {"TERM": "xterm"} | scene.variables, line):
        os.close(line)
        _read_terminal(screen)


def _read_terminal(screen: int) -> bytes:
    data = b""
    with suppress(OSError):  # the other side is closed
        while chunk := os.read(screen, 1 << 16):
            data += chunk
    os.close(screen)
    return data


# Reads a repository in a process of its own, and prints the peak of its memory and of its gits', in megabytes.
# What getrusage says of ourselves still has the memory in it of the process that started us.
PEAK = """
import resource, sys
from deepprompt import read_git
read_git(sys.argv[1], timeout=float(sys.argv[2]))
with open("/proc/self/status") as file:
    [ours] = [int(line.split()[1]) for line in file if line.startswith("VmHWM:")]
print(ours >> 10, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
"""


def peak_memory(cwd: Path, timeout: float) -> list[int]:
    """Return the megabytes that a process takes to read a repository, and the largest of the gits that it starts."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, cwd, str(timeout)], capture_output=True, text=True, check=True, timeout=30
    )
    return [int(word) for word in done.stdout.split()]


@dataclass
class Tally:
    """What was measured, case by case."""

    seconds: dict[str, float] = field(default_factory=dict)
    """How long the slowest snapshot of each case took."""
    over: dict[str, float] = field(default_factory=dict)
    """How much later than its deadline that was; less than zero for most."""
    memory: dict[str, list[int]] = field(default_factory=dict)


CASES: dict[str, Callable[[Scene], Trap]] = {}


def case(number: str) -> Callable[[Callable[[Scene], Trap]], Callable[[Scene], Trap]]:
    """Enter a case under its number in the corpus."""

    def enter(make: Callable[[Scene], Trap]) -> Callable[[Scene], Trap]:
        name = f"{number}-{make.__name__}"
        assert name not in CASES
        CASES[name] = make
        return make

    return enter


def cases(number: str, table: Mapping[str, Callable[[Scene], Trap]]) -> None:
    """Enter the rows of a table under one number."""
    for name, make in table.items():
        assert f"{number}-{name}" not in CASES
        CASES[f"{number}-{name}"] = make
