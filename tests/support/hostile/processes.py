"""Programs that do not end, do not stop talking or cannot be started: real ones, really killed."""

# ruff: noqa: D103 - a function that plays one case says it by its name

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from deepprompt import read_git
from deepprompt.sources.git import snapshot as git_module
from deepprompt.sources.git.process import run_side_by_side
from deepprompt.sources.git.snapshot import GitSnapshot
from tests.support.hostile.scene import DIFF, FAILED, MACHINE, OVER, peak_memory
from tests.support.repositories import ENVIRONMENT, git, processes_with, write

DEADLINE = 0.5
TURNS = min(500, int(os.environ.get("DEEPPROMPT_LOAD", "60")))


@dataclass
class Stage:
    """A repository with a.txt changed, a folder for programs, and a word by which all that is started is found."""

    folder: Path
    repository: Path
    temporary: Path
    patch: pytest.MonkeyPatch

    def program(self, name: str, script: str) -> Path:
        """Write a shell script."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def in_place_of_git(self, script: str) -> None:
        """Put a program before git in PATH. `$git` is the real one; its own environment has no other program."""
        real = next(path for path in map(Path, os.environ["PATH"].split(":")) if (path / "git").exists()) / "git"
        self.program("bin/git", f"MARK='{self.folder}'; export MARK; git='{real}'; PATH={os.defpath}\n{script}")
        self.patch.setenv("PATH", str(self.folder / "bin"))

    def read(self, timeout: float = DEADLINE) -> GitSnapshot:
        """Read the repository when nothing is remembered, and hold it to the deadline."""
        git_module._known.cache_clear()
        with by(timeout):
            return read_git(self.repository, timeout=timeout)

    def alive(self) -> list[int]:
        """Return the processes of this stage that live; the dying get a moment."""
        until = time.monotonic() + 0.5
        while (left := processes_with(str(self.folder))) and time.monotonic() < until:
            time.sleep(0.02)
        return left

    def end(self) -> None:
        """End what lives of this stage, process by process."""
        for number in processes_with(str(self.folder)):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        assert self.alive() == []


@contextmanager
def by(seconds: float) -> Iterator[None]:
    """What is done in here is done by its deadline, or shortly after."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds + OVER + MACHINE


CASES: dict[str, Callable[[Stage], None]] = {}


def case(number: str) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Enter a case under its number in the corpus."""

    def enter(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
        CASES[f"{number}-{play.__name__}"] = play
        return play

    return enter


def slow_filter(stage: Stage, script: str) -> dict[str, str]:
    """Give the repository a filter, and return an environment for plain git by which its processes are found."""
    git(stage.repository, "config", "filter.slow.clean", str(stage.program("filter", script)))
    write(stage.repository, {".git/info/attributes": "* filter=slow\n"})
    return ENVIRONMENT | {"MARK": str(stage.folder)}


def unsafe(stage: Stage, environment: dict[str, str]) -> list[bytes | None]:
    """Run plain git, with all that the repository makes it run, the way that we run git."""
    plain = shutil.which("git", path=environment["PATH"]) or ""
    with by(DEADLINE):
        return run_side_by_side(
            [(plain, "-C", str(stage.repository), *words) for words in (("status", "--short"), ("diff", "--stat"))],
            env=environment,
            deadline=time.monotonic() + DEADLINE,
            most=1 << 20,
        )


@case("P01")
def filter_that_sleeps(stage: Stage) -> None:
    """The usual timeout leaves the filter alive; ours ends it with the git that runs it."""
    environment = slow_filter(stage, "sleep 8; exec cat")
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            ["git", "status"], cwd=stage.repository, env=environment, timeout=DEADLINE, stdout=subprocess.DEVNULL
        )
    assert stage.alive(), "the usual timeout leaves nothing, so this test proves nothing"
    stage.end()

    assert unsafe(stage, environment) == [None, None]
    assert stage.alive() == []

    assert stage.read(2.0).status == " M a.txt\n"  # for us there is no filter
    assert stage.alive() == []


@case("P01")
def filter_that_ignores_signals(stage: Stage) -> None:
    environment = slow_filter(stage, "trap '' TERM INT HUP; sleep 8 & wait; wait")

    assert unsafe(stage, environment) == [None, None]
    assert stage.alive() == []


@case("P02")
def filter_in_another_session(stage: Stage) -> None:
    """Who leaves the process group cannot be ended with it, but cannot keep us either."""
    environment = slow_filter(stage, "setsid sleep 8; exec cat")

    assert unsafe(stage, environment) == [None, None]
    assert stage.alive(), "nobody got away, so this test proves nothing"

    stage.end()
    assert stage.read(2.0).diff == DIFF
    assert stage.alive() == []


@case("P02")
def another_session_that_holds_the_pipe(stage: Stage) -> None:
    """A program in place of git leaves somebody behind who could write more: we do not wait for that."""
    stage.in_place_of_git('setsid sleep 8 &\nexec "$git" "$@"')

    first = stage.read()
    assert stage.alive(), "nobody got away, so this test proves nothing"
    assert first.active_branch == "main"
    assert {note.detail for note in first.notes} <= {f"no {name}: {FAILED}" for name in COMMANDS}

    with by(DEADLINE):  # now the index is known, and all that is left to run runs at once
        assert read_git(stage.repository, timeout=DEADLINE).status == " M a.txt\n"


COMMANDS = ("status", "unstaged diff", "staged diff", "commits")


@case("P03")
def flood_on_standard_error(stage: Stage) -> None:
    stage.in_place_of_git("exec yes >&2")
    flood = subprocess.Popen([stage.folder / "bin/git"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert flood.stderr is not None
    assert len(flood.stderr.read(1 << 22)) == 1 << 22, "it does not flood, so this test proves nothing"
    flood.kill()
    flood.wait()
    flood.stderr.close()

    snapshot = stage.read()

    assert snapshot == GitSnapshot(active_branch="main", state="unreadable")
    assert [note.detail for note in snapshot.notes] == [f"no {name}: {FAILED}" for name in COMMANDS]
    assert stage.alive() == []
    assert max(peak_memory(stage.repository, DEADLINE)) < 100


@case("P03")
def flood_on_standard_error_of_a_filter(stage: Stage) -> None:
    environment = slow_filter(stage, "exec yes >&2")

    assert unsafe(stage, environment) == [None, None]
    assert stage.alive() == []


@case("P04")
def git_that_is_missing(stage: Stage) -> None:
    for path in ("", str(stage.folder / "nowhere"), "relative:."):
        stage.patch.setenv("PATH", path)
        snapshot = stage.read()
        assert snapshot == GitSnapshot(state="unreadable")
        assert [note.detail for note in snapshot.notes] == [
            "no git context: git is not installed, or not in an absolute folder of PATH outside the repository"
        ]


@case("P04")
def git_that_is_gone_between_two_turns(stage: Stage) -> None:
    stage.in_place_of_git('exec "$git" "$@"')
    assert stage.read(2.0).status == " M a.txt\n"
    (stage.folder / "bin/git").unlink()

    assert stage.read().notes[0].detail.startswith("no git context: git is not installed")


@case("P05")
def git_that_is_not_executable(stage: Stage) -> None:
    stage.in_place_of_git("exit 0")
    (stage.folder / "bin/git").chmod(0o644)

    assert stage.read().notes[0].detail.startswith("no git context: git is not installed")


@case("P05")
def git_that_cannot_start(stage: Stage) -> None:
    for data in (b"#!/nowhere/sh\n", b"\x7fELFgarbage", b""):
        stage.in_place_of_git("exit 0")
        (stage.folder / "bin/git").write_bytes(data)
        snapshot = stage.read()
        assert snapshot == GitSnapshot(active_branch="main", state="unreadable")
        assert [note.detail for note in snapshot.notes] == [f"no {name}: {FAILED}" for name in COMMANDS]


@case("P05")
def git_that_prints_a_gigabyte(stage: Stage) -> None:
    """Whatever it prints, it prints it for nobody after the first megabyte."""
    stage.in_place_of_git("exec head -c 1073741824 /dev/zero")

    snapshot = stage.read(2.0)

    assert snapshot == GitSnapshot(state="unreadable")
    assert len(snapshot.notes) == 1
    assert stage.alive() == []
    assert max(peak_memory(stage.repository, 2.0)) < 100


@case("P05")
def git_that_prints_a_gigabyte_of_status(stage: Stage) -> None:
    """The same, but for the question about the index, so that all of it is shown to be cut."""
    stage.in_place_of_git('case "$*" in *ls-files*) exit 0 ;; esac\nexec yes " M a.txt"')

    snapshot = stage.read(2.0)

    assert snapshot.status.startswith(" M a.txt\n M a.txt\n")
    assert len(snapshot.status) < 4_100
    assert len(snapshot.diff) < 8_100
    assert stage.alive() == []
    assert max(peak_memory(stage.repository, 2.0)) < 100


@case("P05")
def git_that_is_killed(stage: Stage) -> None:
    """A git that somebody kills has not said all that it had to say; there may be time to ask again."""
    stage.in_place_of_git('case "$*" in *status*) echo " M half"; kill -9 $$ ;; esac\nexec "$git" "$@"')

    snapshot = stage.read(2.0)

    assert (snapshot.status, snapshot.diff, snapshot.active_branch) == ("", DIFF, "main")
    assert [note.detail for note in snapshot.notes] == [f"no status: {FAILED}"]


@case("P06")
def descriptors(stage: Stage) -> None:
    """Turn after turn, with outcomes of every kind, nothing stays open, nothing alive, nothing in a folder."""
    stage.read(2.0)
    before = sorted(os.listdir("/proc/self/fd"))
    for turn in range(TURNS):
        write(stage.repository, {"a.txt": f"{turn}\n"})
        read_git(stage.repository, timeout=(2.0, 0.0, 0.002, 0.01)[turn % 4])
        assert os.listdir(stage.temporary) == []

    assert sorted(os.listdir("/proc/self/fd")) == before
    assert processes_with(str(stage.temporary)) == []


# Reads a repository that makes git wait, and says so when it has ended.
CHILD = """
import sys
from deepprompt import read_git
read_git(sys.argv[1], timeout=60)
print("done", flush=True)
"""


@case("P06")
def interrupted(stage: Stage) -> None:
    """A signal in the middle of a turn: the private folder is removed, the gits are ended, and so are we."""
    os.mkfifo(stage.repository / "sub/.gitignore")
    for number in (signal.SIGINT, signal.SIGTERM):
        with (
            subprocess.Popen(
                [sys.executable, "-c", CHILD, stage.repository], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as process,
            held_open(stage.repository / "sub/.gitignore"),
        ):
            until = time.monotonic() + 10  # the reader may be a git of the signal before, which is still ending
            while not os.listdir(stage.temporary) and time.monotonic() < until:
                time.sleep(0.01)
            assert len(os.listdir(stage.temporary)) == 1
            process.send_signal(number)
            said = process.communicate(timeout=5)[0]
        assert (process.returncode, said) == (-number, b"")
        assert os.listdir(stage.temporary) == []
        assert processes_with(str(stage.temporary)) == []


@contextmanager
def held_open(pipe: Path) -> Iterator[None]:
    """Wait until somebody reads a pipe, and keep it waiting for what will not be written."""
    until = time.monotonic() + 10
    writer = -1
    while writer < 0 and time.monotonic() < until:
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads it, yet
            time.sleep(0.01)
    assert writer >= 0
    try:
        yield
    finally:
        os.close(writer)
