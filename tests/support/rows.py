"""How many letters, digits, `_` and `-` every match of a pattern has side by side at least."""

from __future__ import annotations

import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import string
from dataclasses import dataclass
from typing import Any

IN_ROWS = frozenset(map(ord, string.ascii_letters + string.digits + "_-"))


@dataclass(frozen=True, slots=True)
class Rows:
    """What is certain of any match: whether it is one row, and how long its first, longest and last row are."""

    is_row: bool
    first: int
    longest: int
    last: int

    def then(self, other: Rows) -> Rows:
        """Return what is certain of two matches in sequence."""
        return Rows(
            self.is_row and other.is_row,
            self.first + other.first if self.is_row else self.first,
            max(self.longest, other.longest, self.last + other.first),
            self.last + other.last if other.is_row else other.last,
        )


NOTHING, ONE, BREAK = Rows(True, 0, 0, 0), Rows(True, 1, 1, 1), Rows(False, 0, 0, 0)


def shortest_row(pattern: str) -> int:
    """Return the length of the row that every match of a pattern has."""
    return min(rows.longest for rows in _sequence(parser.parse(pattern)))


def _sequence(items: Any) -> set[Rows]:
    """Return what is certain of each way to match some items."""
    ways = {NOTHING}
    for item in items:
        ways = {before.then(after) for before in ways for after in _item(*item)}
    return ways


def _item(kind: Any, value: Any) -> set[Rows]:
    if kind in (op.LITERAL, op.NOT_LITERAL):
        return {ONE if kind is op.LITERAL and value in IN_ROWS else BREAK}
    if kind is op.IN:
        return {ONE if all(_holds_rows(*part) for part in value) else BREAK}
    if kind is op.BRANCH:
        return set().union(*map(_sequence, value[1]))
    if kind is op.SUBPATTERN:
        return _sequence(value[3])
    if kind in (op.MAX_REPEAT, op.POSSESSIVE_REPEAT):
        least, most, inner = value
        once = _sequence(inner)
        ways = _sequence([*inner] * least)
        if least == most or all(way.is_row for way in once):  # more of a row only make it longer
            return ways
        return ways | once if (least, most) == (0, 1) else {way.then(BREAK) for way in ways}
    assert kind in (op.ASSERT, op.ASSERT_NOT), kind  # no characters of the match
    return {NOTHING}


def _holds_rows(kind: Any, value: Any) -> bool:
    if kind is op.RANGE:
        return all(code in IN_ROWS for code in range(value[0], value[1] + 1))
    return kind is op.LITERAL and value in IN_ROWS
