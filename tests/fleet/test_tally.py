"""Tallies: integers only, and the same sum in any order and any grouping."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import report
from deepprompt.fleet import tally as module
from deepprompt.fleet.record import Unread
from deepprompt.fleet.tally import Cause, Counts, Row, Saving, Tally, Turn
from tests.support.traffic import made

numbers = st.integers(0, 10**15)
names = st.sampled_from(["", "a", "b", "c"])
tables = st.dictionaries(names, numbers, max_size=3)
counts = st.builds(
    Counts, numbers, numbers, numbers, tables, numbers, numbers, numbers, numbers, numbers
)  # fmt: skip
turns = st.lists(st.builds(Turn, st.just(0.0), names, numbers, numbers, numbers), max_size=3)
rows = st.builds(
    Row, names, names, names, st.floats(0, 1e9), st.just(1e9), st.uuids().map(str), counts, numbers, turns, numbers
)
# Made once: making a strategy for each draw takes longer than drawing from it.
many = st.lists(rows, max_size=4)
unread = st.lists(st.builds(Unread, names, names), max_size=4)
pairs = st.lists(st.tuples(names, names), max_size=3)
four = st.tuples(numbers, numbers, numbers, numbers)
texts = st.tuples(names, names, names, names)
by_pair: st.SearchStrategy[dict[tuple[str, ...], Counts]] = st.dictionaries(st.tuples(names, names), counts, max_size=3)
savings = st.builds(Saving, numbers, tables, tables)


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    """Return some tally."""
    causes: dict[tuple[str, ...], Cause] = {}
    for key in draw(pairs):
        causes[key] = Cause(*key, "", "", "", *draw(four), *draw(texts), draw(numbers))
    return Tally(
        draw(counts), draw(by_pair), causes, draw(savings), draw(numbers), draw(numbers), draw(numbers), draw(numbers),
        draw(numbers), draw(numbers), draw(tables), module.worst(draw(many)), module.first(draw(unread)),
        draw(tables), draw(numbers), draw(tables), draw(tables),
    )  # fmt: skip


def added(*parts: Tally) -> Tally:
    """Return the sum of tallies, which stay as they are."""
    found = Tally()
    for part in parts:
        found.add(deepcopy(part))
    return found


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep so little that the limits matter."""
    for name, value in (("ROWS", 5), ("TURNS_OF_ALL", 4), ("EXAMPLES", 3)):
        monkeypatch.setattr(module, name, value)
    yield


@given(tallies(), tallies(), tallies())
def test_any_order_and_grouping(one: Tally, two: Tally, three: Tally) -> None:
    """Adding is associative and commutative, and an empty tally changes nothing."""
    both = added(one, two, three)
    assert both == added(three, one, two) == added(two, three, one)
    assert both == added(added(one, two), three) == added(one, added(two, three))
    assert added(one, Tally()) == added(Tally(), one) == added(one)


@given(st.lists(tallies(), max_size=6), st.integers(1, 4))
def test_any_chunks(parts: list[Tally], size: int) -> None:
    """Tallies that are added up in chunks give the same as one after the other."""
    chunks = [added(*parts[start : start + size]) for start in range(0, len(parts), size)]
    assert added(*chunks) == added(*parts)


@given(tallies(), tallies())
def test_adding_leaves_the_other_alone(one: Tally, two: Tally) -> None:
    """What is added does not change, neither now nor by what is added later."""
    before = deepcopy(two)
    one.add(two)
    one.add(deepcopy(two))
    assert two == before


def numbers_in(value: Any) -> Iterator[Any]:
    """Yield every number that is summed up in a tally."""
    if isinstance(value, Turn):
        yield from (value.read, value.written, value.full, value.lost)
    elif is_dataclass(value):
        for one in fields(value):
            if not (isinstance(value, Row) and one.name in ("start", "end")):
                yield from numbers_in(getattr(value, one.name))
    elif isinstance(value, dict):
        yield from (found for one in value.values() for found in numbers_in(one))
    elif isinstance(value, list):
        yield from (found for one in value for found in numbers_in(one))
    elif not isinstance(value, str):
        yield value


def test_integers_only(tmp_path: Path) -> None:
    """Nothing that is summed up is a float: only times are."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record, _, _ in made()))
    found = report(path, what_if="all", turns=True).tally
    kinds = {type(number) for number in numbers_in(found)}
    assert kinds == {int}
    assert found.total.extra > 0
    assert sum(found.saving.sent.values()) > sum(found.saving.without.values()) > 0
    assert reduce(lambda total, one: total + one.extra, found.causes.values(), 0) == found.total.extra
