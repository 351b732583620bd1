"""The front doors that hostile input comes in by: the loaders and builders, and the command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    Prompt,
    SystemPromptBuilder,
    discover_project_context,
    load_instruction_files,
    load_skills,
    read_git,
)
from tests.support.hostile.forks import forked
from tests.support.hostile.properties import assert_neutral, assert_sound

SECRET = "kept outside: 7f3c"
DEADLINE = 30.0

# Without the folder that it runs in on the path: a hostile one could hold modules.
COMMAND = (sys.executable, "-P", "-m", "deepprompt")


def gathered(cwd: Path, home: Path | str = "", *, git: bool = False) -> Prompt:
    """Return the prompt of a folder as a runtime gathers it, with all notes, and see that it is sound."""
    builder = SystemPromptBuilder(
        instructions=load_instruction_files(cwd, home),
        skill_directory=load_skills(cwd, home).index_text(),
        project=discover_project_context(cwd).with_git(read_git(cwd)) if git else None,
    )
    prompt = builder.compose()
    assert builder.build() == prompt.text
    assert_sound(prompt)
    assert SECRET not in prompt.text
    return prompt


def run(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, fresh: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of ours in a folder; it may fail, but never with a traceback.

    `fresh` starts Python for it: needed where it matters what is imported, or read when Python starts.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | dict(env or {})
    if fresh:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=DEADLINE,
        )
    else:
        done = forked(list(arguments), cwd, environment, deadline=DEADLINE)
    assert b"Traceback" not in done.stderr, done.stderr
    return done


def reported(cwd: Path, *options: str, home: str = "", fresh: bool = False) -> dict[str, Any]:
    """Return what `deepprompt build --json` says of a folder, having seen that it is sound."""
    done = run("build", "--json", "--home", home, *options, cwd=cwd, fresh=fresh)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["text"].count(DYNAMIC_CONTEXT_BOUNDARY) == 1
    assert_neutral(report["text"])
    assert_neutral(done.stderr.decode())
    assert SECRET.encode() not in done.stdout + done.stderr
    return report


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """See that something is done in so much processor time, and by the clock in what a busy machine makes of it."""
    start, clock = time.process_time(), time.monotonic()
    yield
    assert time.process_time() - start < seconds
    assert time.monotonic() - clock < 10 * seconds


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Give a new folder, and run what follows as somebody whom file modes hold back."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            return
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
        try:
            if not os.access(folder, os.W_OK, effective_ids=True):
                pytest.skip("the folder for temporary files is closed to others")
            yield folder
        finally:
            os.seteuid(0)
