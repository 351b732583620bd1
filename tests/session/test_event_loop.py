"""A loop goes on while its sessions build their prompts in threads, also when git hangs. `lateness` measures it."""

from __future__ import annotations

import asyncio
import gc
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.lateness import Lateness, lateness
from benchmarks.server import serve
from deepprompt import Prompt, Session, SystemPromptBuilder, gather, read_git

MOST = 0.005
HANGS = 0.4  # seconds that git is given here


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A repository with rules, a git that hangs, and no garbage of other tests to collect in the loop."""
    project, programs = tmp_path / "project", tmp_path / "bin"
    project.mkdir()
    programs.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "AGENTS.md").write_text("Use tabs.\n" * 200)
    git = programs / "git"
    git.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    git.chmod(git.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    gc.collect()
    gc.freeze()
    yield str(project)
    gc.unfreeze()


def prompt_now(folder: str) -> Prompt:
    """Build a prompt from what is around, as a turn does."""
    around = gather(folder, timeout=HANGS)
    return SystemPromptBuilder("Be brief.", around.instructions, project=around.project).compose()


async def turn(folder: str) -> None:
    """One turn of a session, as docs/sessions.md shows it."""
    prompt = await asyncio.to_thread(prompt_now, folder)
    session = Session(prompt)
    session.user("Does git answer?", prompt)
    assert len(session.request(to="anthropic", model="claude-opus-5-5").body["messages"]) == 2


def assert_goes_on(found: Lateness) -> None:
    """No step computed for five milliseconds or waited for git, and threads that compute kept few beats for that long.

    Python gives the interpreter to another thread after five milliseconds: where one computes, some beats are late.
    """
    assert max(found.computed) < MOST
    assert max(found.stood) < HANGS
    assert found.share_over(MOST) < 0.25
    assert len(found.late) > 10


def test_turns_in_threads_do_not_stall_the_loop(folder: str) -> None:
    """Eight sessions at once, whose git hangs."""

    async def turns() -> None:
        await asyncio.gather(*[turn(folder) for _ in range(8)])

    asyncio.run(turn(folder))  # everything is imported
    assert_goes_on(lateness(turns))


def test_read_git_in_a_thread(folder: str) -> None:
    """It is the one that may hang."""
    assert_goes_on(lateness(lambda: asyncio.to_thread(read_git, folder, timeout=HANGS)))


@pytest.mark.slow
def test_a_server_with_twenty_sessions(folder: str) -> None:
    """The benchmark's server, with git's own time limit."""
    asyncio.run(serve(folder, 1))
    found = lateness(lambda: serve(folder, 20))
    assert max(found.computed) < MOST
    assert max(found.stood) < HANGS
    assert found.share_over(MOST) < 0.02  # git hangs for most of the time


def test_the_measure_notices_a_git_that_is_waited_for_in_the_loop(folder: str) -> None:
    """Without the thread, a step takes as long as git hangs."""

    async def wrong() -> None:
        read_git(folder, timeout=HANGS)

    assert max(lateness(wrong).stood) >= HANGS * 0.9


def test_the_measure_notices_what_is_computed_in_the_loop() -> None:
    """A step that computes for twenty milliseconds, whatever else the machine does."""

    async def wrong() -> None:
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass

    found = lateness(wrong)
    assert max(found.computed) >= 0.02
    assert max(found.ours, default=1.0) >= MOST
