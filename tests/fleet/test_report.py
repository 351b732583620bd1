"""Reports: sums that add up, causes with their places, any order of lines and files, and what-if."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fleet_logs import write_logs
from deepprompt import report
from deepprompt.errors import SourceError
from deepprompt.fleet.report import Report, rows_of
from deepprompt.fleet.summary import as_json, lines_of_report
from deepprompt.fleet.tables import as_csv
from tests.support.traffic import made


def stored(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def sums(found: Report) -> Any:
    """Return what must not depend on the order of lines and files."""
    said = as_json(found)
    return [said[name] for name in ("total", "groups", "unknown", "conversations", "lost_share")], sorted(
        (one["kind"], one["place"], one["model"], one["requests"], one["lost"])
        for one in said["causes"]  # type: ignore[attr-defined]
    )


def test_causes(tmp_path: Path) -> None:
    """Each kind of break is a cause with its place, an example and what it cost; nothing else is."""
    found = report(stored(tmp_path / "all.jsonl", [record for record, _, _ in made()]))
    wanted = [(kind, record["agent"]) for record, kind, _ in made() if kind not in ("", "new")]
    causes = found.causes()
    assert sorted((one.kind, one.agent) for one in causes for _ in range(one.requests)) == sorted(wanted)
    edit = next(one for one in causes if one.agent == "messages")
    assert (edit.exact, edit.requests, edit.conversations) == ("system[0]", 2, 2)
    assert "Use tabs." in edit.old
    assert edit.lost > 1000
    assert found.tally.conversations == sum(kind == "new" for _, kind, _ in made())
    assert found.tally.unknown == {}


def test_any_order(tmp_path: Path) -> None:
    """The sums are the same for lines in any order, and for any cut into files."""
    records = [record for record, _, _ in made()]
    whole = sums(report(stored(tmp_path / "all.jsonl", records)))
    chance = random.Random(7)
    for number in range(3):
        chance.shuffle(records)
        folder = tmp_path / str(number)
        folder.mkdir()
        for part in range(3):
            stored(folder / f"{part}.jsonl", records[part::3])
        assert sums(report(folder)) == whole


def test_what_is_paid_adds_up(tmp_path: Path) -> None:
    """Read, written and full are the input, in every group and in total; what was lost is never more."""
    found = report(stored(tmp_path / "all.jsonl", [record for record, _, _ in made()]))
    for counts in (found.tally.total, *found.tally.groups.values(), *(row.counts for row in found.tally.rows)):
        assert counts.read + sum(counts.written.values()) + counts.full == counts.input
        assert counts.lost <= counts.input
    assert sum(one.lost for one in found.causes()) == found.tally.total.lost
    assert sum(counts.requests for counts in found.tally.groups.values()) == found.tally.total.requests


def test_recorded_usage_is_the_truth(tmp_path: Path) -> None:
    """What the log recorded is summed up as it is, and simulated tokens only stand in for what it did not."""
    body = {"model": "claude-opus-5-5", "system": "s" * 9000, "messages": [{"role": "user", "content": "Hi."}]}
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    found = report(stored(tmp_path / "a.jsonl", [{"at": 1, "body": body, "usage": usage}, {"at": 2, "body": body}]))
    assert (found.tally.recorded, found.tally.total.requests) == (1, 2)
    assert found.tally.total.read == 90
    assert found.tally.total.input == 100 + 2250


def test_expiry(tmp_path: Path) -> None:
    """A pause that outlives the entry is a cause of its own, though nothing broke."""
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "s" * 9000, **mark}]
    records = []
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Hi."}]
    for at in (0, 100, 1000):
        records.append({"at": 1e9 + at, "body": {"model": "claude-opus-5-5", "system": system, "messages": [*talk]}})
        talk += [{"role": "assistant", "content": "Yo."}, {"role": "user", "content": "More."}]
    found = report(stored(tmp_path / "a.jsonl", records))
    (cause,) = found.causes()
    assert (cause.kind, cause.requests, cause.example) == ("expired", 1, f"{tmp_path / 'a.jsonl'}:3")
    assert cause.lost == 2250


def test_what_if(tmp_path: Path) -> None:
    """Without a cause the simulated cost is lower; without a cause that is not there it is the same."""
    path = stored(tmp_path / "all.jsonl", [record for record, _, _ in made() if record["agent"] == "messages"])
    whole, none = report(path, what_if="all").tally.saving, report(path, what_if="clock").tally.saving
    edit = report(path, what_if="edit").tally.saving
    assert sum(whole.without.values()) < sum(whole.sent.values())
    assert edit.without == whole.without
    assert (none.requests, none.without) == (0, none.sent)
    assert whole.requests == 2


def test_unknown_and_failed(tmp_path: Path) -> None:
    """Fields that nobody knows are counted, failed requests and unreadable lines too."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "x_trace": 1}
    path = stored(tmp_path / "a.jsonl", [{"at": 1, "body": body}, {"at": 2, "body": body, "status": 529}, {"lost": 3}])
    found = report(path)
    assert (found.tally.unknown, found.tally.failed, found.tally.unread) == ({"x_trace": 1}, 1, 1)
    text = "\n".join(lines_of_report(found))
    assert "1 request failed and cost nothing" in text
    assert "3 requests that the recorder could not keep" in text
    assert "x_trace" in text


def test_since(tmp_path: Path) -> None:
    """Only what started since then is summed up, but what was cached before is known."""
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "s" * 9000, **mark}]
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Hi."}]
    records = []
    for number in range(6):
        at = 1e9 - 200_000 if number == 0 else 1e9 + 100 * number
        records.append({"at": at, "body": {"model": "claude-opus-5-5", "system": system, "messages": [*talk]}})
        talk += [{"role": "assistant", "content": "Yo."}, {"role": "user", "content": "More."}]
    path = stored(tmp_path / "a.jsonl", records)
    whole, late = report(path).tally, report(path, since=1e9 + 350, what_if="all").tally
    assert (whole.total.requests, late.total.requests, late.conversations, late.files) == (6, 2, 1, 1)
    assert late.total.read > 4000
    assert late.total.written == {}
    assert late.saving.sent == late.saving.without
    assert report(path, since=2e9).tally.total.requests == 0
    assert sum(whole.total.written.values()) > 0


def test_tables(tmp_path: Path) -> None:
    """The rows of groups add up to the total; a text that looks like a formula is made harmless."""
    records = [record | {"agent": "=cmd()"} for record, _, _ in made(1)]
    found = report(stored(tmp_path / "all.jsonl", records))
    rows = [row for row in rows_of(found) if not row["cause_kind"]]
    assert sum(int(str(row["input"])) for row in rows) == found.tally.total.input
    lines = as_csv(found).decode().splitlines()
    assert lines[0].startswith("day,agent,version,provider,model,prompt,cause_kind")
    assert ",'=cmd()," in lines[1]


def test_parquet(tmp_path: Path) -> None:
    """The same rows as Parquet, for SQL."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    from deepprompt.fleet.tables import as_parquet

    found = report(stored(tmp_path / "all.jsonl", [record for record, _, _ in made(1)]))
    (tmp_path / "rows.parquet").write_bytes(as_parquet(found))
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == [dict(row) for row in rows_of(found)]


def test_logs_by_url(tmp_path: Path) -> None:
    """A folder in an object store, a pattern and a single file give the sums of the same files on disk."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install -e '.[remote]'")
    memory = fsspec.filesystem("memory")
    write_logs(tmp_path, 200, 4)
    for path in tmp_path.iterdir():
        memory.pipe(f"/fleet/{path.name}", path.read_bytes())
    wanted = report(tmp_path).tally.total
    assert report("memory://fleet").tally.total == wanted
    assert report("memory://fleet/*").tally.total == wanted
    assert report(f"file://{tmp_path}/000.jsonl").tally.total == report(tmp_path / "000.jsonl").tally.total
    packed = report("memory://fleet/001.jsonl.gz")
    assert packed.tally.total == report(tmp_path / "001.jsonl.gz").tally.total
    memory.pipe("/fleet/x\x1b[31m.jsonl", b"no log\n")
    assert "\x1b" not in "\n".join(lines_of_report(report("memory://fleet")))
    with pytest.raises(SourceError, match=r"^nowhere://me@host/a\.jsonl: Protocol not known"):
        report("nowhere://me:secret@host/a.jsonl")
    with pytest.raises(SourceError, match=r"^memory://empty: no log there"):
        report("memory://empty")
    memory.store.clear()


def test_shares_are_shares_of_money(tmp_path: Path) -> None:
    """With models of different prices, what was lost is a share of the money that was spent, not of the tokens."""
    records = [record for record, _, _ in made()]
    found = report(stored(tmp_path / "all.jsonl", records))
    priced = {one.model for one in found.causes() if found.prices.of(one.model)}
    kept = [record for record in records if record["body"].get("model") in priced]
    found = report(stored(tmp_path / "priced.jsonl", kept))
    assert len({key[4] for key in found.tally.groups}) > 1
    assert found.lost_share() == pytest.approx(found.lost() / found.spent())
    assert found.lost_share() != pytest.approx(found.tally.total.extra / found.tally.total.paid)
