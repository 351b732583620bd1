"""The page about speed: a script writes its tables from one run, all of them or none."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import LONG, MODULES
from tests.support.paths import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/write_performance.py"))
PAGE = (ROOT / "docs/performance.md").read_text("utf-8")
ROW: dict[str, Any] = {
    "name": "a | b", "ours": "2 µs", "limit": "1 µs", "ratio": 2.0, "target": 3, "unit": "x", "rivals": {}, "note": "",
    "verdict": "met",
}  # fmt: skip
MACHINE = {"cores": 2, "python": "3.11.7", "git": "2.39.5", "system": "Linux"}


def report(*names: str, **changes: object) -> dict[str, Any]:
    """Return a run with one row for each group."""
    rows = {name: [ROW | changes | {"name": f"{name} a | b"}] for name in names}
    return {"measured": "2026-01-31", "quick": False, "machine": MACHINE, "rivals": {"jinja2": "3.1.6"}, "rows": rows}


def test_the_page_has_a_place_for_every_group() -> None:
    """A group without a place on the page would not be written, and a place without a group would stay as it is."""
    assert sorted(SCRIPT["groups"](PAGE)) == sorted([*MODULES, *LONG])


def test_a_run_is_written(tmp_path: Path) -> None:
    """Every table, the date, the machine and the versions come from the run; the text around them stays."""
    source, page = tmp_path / "run.json", tmp_path / "page.md"
    source.write_text(json.dumps(report(*MODULES, *LONG)), "utf-8")

    assert SCRIPT["main"](["--from", str(source), "--page", str(page)]) == 0

    text = page.read_text("utf-8")
    assert all(f"| {name} a \\| b | 2 µs | 1 µs | 2 x | 3 x | met |\n" in text for name in (*MODULES, *LONG))
    assert (
        "Measured on 2026-01-31 with Python 3.11.7 and git 2.39.5 on Linux, 2 cores.\nRivals: jinja2 3.1.6.\n" in text
    )
    assert [line for line in text.splitlines() if line[:1] == "#"] == [li for li in PAGE.splitlines() if li[:1] == "#"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "run.json"]
    assert SCRIPT["filled"](text, report(*MODULES, *LONG)) == text


def test_the_suite_may_be_missing() -> None:
    """Its table stays as it was: it is measured only if asked for."""
    before = SCRIPT["filled"](PAGE, report(*MODULES, *LONG))
    after = SCRIPT["filled"](before, report(*MODULES))
    assert after == before


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (report(*list(MODULES)[1:]), f"the run has no {next(iter(MODULES))}: measure all groups in one run"),
        (
            report(*MODULES, "new"),
            "the page needs one pair of lines <!-- table: new --> and <!-- end of table: new -->",
        ),
        (report(*MODULES) | {"rows": {"builds": []}}, "a group without rows: nothing was measured"),
    ],
    ids=["a group is missing", "no place", "no rows"],
)
def test_never_half_a_page(tmp_path: Path, run: dict[str, Any], said: str) -> None:
    """A run that lacks something is refused, and the page stays."""
    source, page = tmp_path / "run.json", tmp_path / "page.md"
    source.write_text(json.dumps(run), "utf-8")
    page.write_text("as it was")

    with pytest.raises(SystemExit, match=said):
        SCRIPT["main"](["--from", str(source), "--page", str(page)])

    assert page.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "run.json"]


def test_rows() -> None:
    """Percent, notes, rivals and rows without a target are shown as such."""
    table = SCRIPT["table"]
    assert table([ROW | {"unit": "%", "ratio": 0.0036, "target": 0.02, "note": "why"}]).endswith(
        "| a \\| b (why) | 2 µs | 1 µs | 0.36% | 2% | met |\n"
    )
    assert table([ROW | {"target": None, "verdict": "", "rivals": {"jinja2": 9.81}}]) == (
        "| what | ours | limit | ratio | target |  | rivals |\n| --- | --: | --: | --: | --: | --- | --- |\n"
        "| a \\| b | 2 µs | 1 µs | 2 x |  |  | jinja2 9.81 x |\n"
    )
