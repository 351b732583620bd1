"""The example of a Ray pipeline, run as its first lines say: Parquet in, one request for each row, responses out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.ray import need_ray

pytestmark = pytest.mark.slow


def test_ray_batch(tmp_path: Path) -> None:
    """Every row has its response, and all requests but the first read the prefix that they share."""
    need_ray()
    arguments = [sys.executable, str(ROOT / "examples" / "ray_batch.py")]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == [
        "40 letters, 40 responses; 39 requests read their prefix from the cache",
        "I want my money back. No 1. -> other",
    ]
