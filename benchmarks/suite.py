"""The whole test suite: its processor time, on two processes. It takes minutes, so only `--only suite` measures it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, Settings

ROOT = Path(__file__).parent.parent
MINUTES = 4.0


def rows(settings: Settings) -> Iterator[Row]:
    """Measure all tests, or with `--quick` those of the text functions."""
    tests = ["tests/text"] if settings.quick else []
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *tests]
    # As a user's machine has it: else every run of the tests compiles all of them again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begin = _children(), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"the tests failed:\n{done.stdout[-4000:]}")
    minutes, wall = (_children() - before) / 60, (time.perf_counter() - begin) / 60
    name = "tests of text/" if tests else "the whole test suite"
    note = f"{wall:.1f} minutes on the clock, two processes"
    yield Row(f"{name}: processor time", f"{minutes:.1f} min", f"{MINUTES:g} min", minutes / MINUTES, 1, note=note)


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system
