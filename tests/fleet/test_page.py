"""The view of a report for the page: labels of times that tell the columns apart."""

from __future__ import annotations

import pytest

from deepprompt.fleet.page import report_view
from deepprompt.fleet.prices import bundled_prices
from deepprompt.fleet.report import Report
from deepprompt.fleet.tally import Cause, Row, Tally, Turn

BEGIN = 1_794_909_600.0  # 2026-11-17 10:00 UTC


@pytest.mark.parametrize(
    ("step", "first", "last"),
    [
        (1.0, "10:00:00", "10:00:28"),
        (30.0, "10:00:00", "10:14:01"),
        (120.0, "10:00", "10:56"),
        (3_600.0, "11-17 10:00", "11-18 14:02"),
        (86_400.0, "11-17", "12-15"),
    ],
)
def test_labels_of_times(step: float, first: str, last: str) -> None:
    """They have seconds if the columns are shorter than a minute, and the day if there are several."""
    turns = [Turn(BEGIN + number * step, "log:1", 1, 2, 3) for number in range(30)]
    row = Row("", "demo", "m", BEGIN, turns[-1].at, turns=turns)
    view = report_view(Report(Tally(rows=[row]), bundled_prices(), "2026-11-18"))
    ticks = [column["tick"] for column in view["timeline"]]
    assert (ticks[0], ticks[-1]) == (first, last)
    assert len(set(ticks)) > 25


def test_no_price() -> None:
    """A model without a price has no cost on the page, instead of 0."""
    rows = [Row("", "demo", model, BEGIN, BEGIN, "log:1") for model in ("claude-opus-5-5", "my-model")]
    causes: dict[tuple[str, ...], Cause] = {
        (row.model,): Cause("clock", "system[0]", "", "demo", row.model) for row in rows
    }
    view = report_view(Report(Tally(rows=rows, causes=causes), bundled_prices(), "2026-11-18"))
    assert [row[7] for row in view["rows"]] == [0.0, None]
    assert sorted(str(cause["money"]) for cause in view["causes"]) == ["0.0", "None"]
