"""Parquet logs: Langfuse's default export, and our own rows with bodies as bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deepprompt import read_records, report
from deepprompt.errors import SourceError
from deepprompt.fleet.record import Record

pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")

TALK = [{"role": "system", "content": "Be kind. " * 300}, {"role": "user", "content": "Hi."}]


def observations(number: int) -> list[dict[str, object]]:
    """Return rows as Langfuse exports them: a span, and generations with a map of tokens."""
    started = datetime(2026, 11, 18, 10, 0, tzinfo=UTC)
    rows: list[dict[str, object]] = [
        {"id": "s", "type": "SPAN", "trace_id": "t", "start_time": started, "input": None, "session_id": None,
         "usage_details": None, "model_parameters": None, "provided_model_name": None}
    ]  # fmt: skip
    for turn in range(number):
        talk = [*TALK, *({"role": "user", "content": f"{one}"} for one in range(turn))]
        rows.append({
            "id": f"{turn}", "type": "GENERATION", "trace_id": "t", "start_time": started.replace(minute=turn),
            "input": json.dumps(talk), "session_id": "s1",
            "usage_details": [("input", 10), ("output", 4), ("input_cached_tokens", 600)],
            "model_parameters": json.dumps({"temperature": 0}), "provided_model_name": "gpt-5.4",
        })  # fmt: skip
    return rows


def test_langfuse(tmp_path: Path) -> None:
    """The export gives the same records as the same rows in JSON Lines."""
    kinds = pyarrow.schema([
        ("id", pyarrow.string()), ("type", pyarrow.string()), ("trace_id", pyarrow.string()),
        ("start_time", pyarrow.timestamp("us")), ("input", pyarrow.string()), ("session_id", pyarrow.string()),
        ("usage_details", pyarrow.map_(pyarrow.string(), pyarrow.uint64())), ("model_parameters", pyarrow.string()),
        ("provided_model_name", pyarrow.string()),
    ])  # fmt: skip
    naive = [row | {"start_time": row["start_time"].replace(tzinfo=None)} for row in observations(3)]  # type: ignore[attr-defined]
    parquet.write_table(pyarrow.Table.from_pylist(naive, kinds), tmp_path / "export.parquet")
    lines = [row | {"start_time": row["start_time"].isoformat()} for row in observations(3)]  # type: ignore[attr-defined]
    lines = [row | {"usage_details": dict(row["usage_details"] or [])} for row in lines]
    (tmp_path / "export.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    table, text = (
        [one for one in read_records(tmp_path / f"export.{kind}") if isinstance(one, Record)]
        for kind in ("parquet", "jsonl")
    )
    assert len(table) == 3
    assert table[0].usage is not None
    assert (table[0].usage.cached_read, table[0].session, table[0].model) == (600, "s1", "gpt-5.4")
    for one, two in zip(table, text, strict=True):
        assert (one.at, one.request(), one.usage, one.session) == (two.at, two.request(), two.usage, two.session)
    found = report(tmp_path / "export.parquet").tally
    assert (found.total.requests, found.conversations, found.unread) == (3, 1, 0)


def test_bodies_as_bytes(tmp_path: Path) -> None:
    """Our own columns with the body as binary are read as our store is."""
    body = json.dumps({"model": "gpt-5.4", "messages": TALK}).encode()
    rows = [{"at": 1e9 + number, "agent": "mine", "body": body} for number in range(200)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    found = report(tmp_path).tally
    assert (found.total.requests, found.files, found.unread) == (200, 1, 0)


def test_damaged(tmp_path: Path) -> None:
    """A file that only begins like Parquet is told as such."""
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + b"x" * 100)
    with pytest.raises(SourceError, match=r"bad\.parquet: damaged"):
        list(read_records(tmp_path / "bad.parquet"))
