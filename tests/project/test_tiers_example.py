"""The agent that is shown files: it runs against the stand-in, changes a file, and reads from the cache."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT


@pytest.mark.slow
def test_the_loop() -> None:
    """Three questions are answered, the block of the second answer is applied, and the later requests are cached."""
    command = [sys.executable, "examples/tiers_agent.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("user: ")] == [
        "user: How often is a message sent?", "user: Raise the limit to five.", "user: Is that all?",
    ]  # fmt: skip
    assert "  postbox/limits.py (line 4): applied" in lines
    cached = [int(line.split()[0].replace(",", "")) for line in lines if line.endswith("read from the cache")]
    assert cached[0] == 0
    assert cached[1] > 1_000
    assert len(cached) == 3
