"""The breaks of a log have the figures of the report on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt import report
from deepprompt.errors import MessageError
from deepprompt.fleet.breaks import breaks_in
from tests.support.traffic import made


@pytest.mark.parametrize("recorded", [False, True])
def test_one_definition_of_lost(recorded: bool, tmp_path: Path) -> None:
    """What `blame` says was lost at each break adds up to what `report` says, in tokens and in cost."""
    log = tmp_path / "log.jsonl"
    records = [dict(record) for record, _, _ in made()]
    if recorded:
        for number, record in enumerate(records):
            record["usage"] = {"input_tokens": 900 + number, "cache_read_input_tokens": 10 * number, "output_tokens": 1}
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = report(log).tally
    breaks = list(breaks_in(str(log)))
    causes = [cause for cause in found.causes.values() if cause.kind != "expired"]
    assert len(breaks) == sum(cause.requests for cause in causes) > 5
    assert sum(one.price.lost for one in breaks) == sum(cause.lost for cause in causes) > 0
    extra = sum(cause.extra for cause in causes) / 1_000_000
    assert sum(one.price.cost for one in breaks) == pytest.approx(extra, abs=0.01)
    assert all(0 <= one.price.lost <= one.price.could for one in breaks)


def test_a_log_without_bodies(tmp_path: Path) -> None:
    """If there is nothing to compare, the error says why."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"x": 1}\n')
    with pytest.raises(MessageError, match=r"no request in it that could be compared: .*log.jsonl:1"):
        list(breaks_in(str(log)))
