"""Requests of a table, some at a time: every row once, in bounded memory, and every problem with its place."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from deepprompt.batch.requests import requests_of, row_ids
from deepprompt.batch.services import find_service
from deepprompt.batch.template import RequestTemplate
from deepprompt.errors import MessageError

TEMPLATE = RequestTemplate("You.", "{text}", to="openai", model="gpt-6.1-sol")


def rows_in(folder: Path, texts: list[str]) -> str:
    """Write a table of texts."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": text, "id": f"i{n}"}) + "\n" for n, text in enumerate(texts)))
    return str(path)


def test_every_row_once_and_in_order(tmp_path: Path) -> None:
    """All rows come, some at a time, with their ids; or only those that are asked for."""
    path = rows_in(tmp_path, [f"t{number}" for number in range(2_500)])
    found = list(requests_of(path, TEMPLATE, find_service("openai"), "id", None))
    assert [len(names) for names, _ in found] == [1000, 1000, 500]
    assert [name for names, _ in found for name in names] == [f"i{number}" for number in range(2_500)]
    assert [text for _, (texts,) in found for text in texts] == [f"t{number}" for number in range(2_500)]
    some = list(requests_of(path, TEMPLATE, find_service("openai"), "id", frozenset({"i2400", "i7"})))
    assert some == [(["i7"], [["t7"]]), (["i2400"], [["t2400"]])]


def test_large_rows_are_not_collected(tmp_path: Path) -> None:
    """Rows of a megabyte come a few at a time."""
    path = rows_in(tmp_path, ["x" * 1_000_000] * 40)
    tracemalloc.start()
    try:
        most = max(len(names) for names, _ in requests_of(path, TEMPLATE, find_service("openai"), "", None))
        assert most <= 5
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_problems_across_chunks(tmp_path: Path) -> None:
    """A problem in a later chunk is raised too, with its line, and an id that stood in an earlier one is doubled."""
    texts = ["x"] * 1_500
    texts[1_200] = " "
    path = rows_in(tmp_path, texts)
    with open(path, "a") as file:
        file.write('{"text": "y", "id": "i3"}\n')
    with pytest.raises(MessageError) as caught:
        list(requests_of(path, TEMPLATE, find_service("openai"), "id", None))
    assert str(caught.value) == (
        f"{path}:1201: 'text': blank; a message needs text; {path}:1501: the id 'i3' stands twice"
    )


def test_ids_of_rows() -> None:
    """Without a column, the number of a row is its id."""
    assert list(row_ids([("a", {"x": 1}), ("b", {"x": 2})], "")) == [
        ("row-0000001", "a", {"x": 1}),
        ("row-0000002", "b", {"x": 2}),
    ]
    assert [name for name, _, _ in row_ids([("a", {"x": 1}), ("b", {"x": "two"})], "x")] == ["1", "two"]
