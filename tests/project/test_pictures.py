"""What the README shows is what its scripts make: the picture of a session's cost, and the example log."""

from __future__ import annotations

import gzip
import runpy

import pytest

from benchmarks.coding_session import coding_session
from tests.support.paths import ROOT


@pytest.mark.slow
def test_the_picture_is_fresh() -> None:
    """The picture has the figures of today's code, and the README says the same."""
    script = runpy.run_path(str(ROOT / "scripts" / "draw_session.py"))
    picture = script["drawn"](coding_session())
    assert script["PICTURE"].read_text("utf-8") == picture, "run scripts/draw_session.py"
    saved = picture.split("the input costs ")[1].split(" less")[0]
    assert f"{saved} lower with a deepprompt session" in (ROOT / "README.md").read_text("utf-8")


def test_the_log_is_fresh() -> None:
    """The example log has what its script writes; how it is packed may differ between versions of zlib."""
    script = runpy.run_path(str(ROOT / "scripts" / "write_example_log.py"))
    kept, made = (gzip.decompress(packed) for packed in (script["LOG"].read_bytes(), script["log"]()))
    assert kept == made, "run scripts/write_example_log.py"
