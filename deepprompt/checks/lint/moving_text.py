"""The pieces of a slow text that change from run to run: finds them by the looks of times, ids and places.

Most lines have none of the literals of a look, so its pattern is tried on few of them. The forms of the text without
code and examples are made only if a pattern matches somewhere. Time is in proportion to the text: a line is tried once
for each look, and every repeat in the patterns is bounded or possessive.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from deepprompt.checks.lint import moving_ids, moving_places, moving_times
from deepprompt.checks.lint.findings import lines_with
from deepprompt.checks.lint.look import HEX_ROW, ROW, SHAPE, Look
from deepprompt.checks.lint.slow_text import SlowText, without_comments

# The more specific ones first: a piece of text is found once.
_LOOKS: tuple[Look, ...] = (
    *moving_places.FOLDERS, *moving_ids.SESSIONS, *moving_ids.PROCESSES, *moving_times.LOOKS, *moving_places.STATES,
    *moving_ids.COUNTS, *moving_ids.RANDOM,
)  # fmt: skip

_DIGIT_LINE = re.compile(r"[0-9][^\n]*+")
_DIGITS = str.maketrans(dict.fromkeys("123456789", "0"))
_IN_ROWS = str.maketrans({chr(n): "a" if chr(n).isalnum() or chr(n) in "-_" else chr(n) for n in range(128)})

_IN_HEX = str.maketrans({chr(n): "a" if chr(n) in "0123456789abcdef" else "." for n in range(128) if n != 10})
_FORMS: dict[str, dict[int, str]] = {SHAPE: _DIGITS, ROW[0]: _IN_ROWS, HEX_ROW[0]: _IN_HEX}
_FIRST_LINES = 3


class Movement(NamedTuple):
    """A piece of a slow text that changes: the rule it breaks, what it is, its position, and how often it is there."""

    code: str
    what: str
    start: int
    end: int
    times: int = 1


def find_movements(slow: SlowText) -> list[Movement]:
    """Return the pieces that change in a text, in order. Where two looks match, the more specific one wins."""
    lines = _Lines(slow.low)
    text = without_comments(slow.text)
    possible = [
        (look, place)
        for look in _LOOKS
        if not (slow.authored and look.only_rendered)
        for place in lines.having(look)
        if any(look.holds(match, text) for match in look.pattern.finditer(slow.text, *place))
    ]
    if not possible:
        return []
    found: list[Movement] = []
    seen: dict[tuple[str, str], int] = {}
    taken = bytearray(len(slow.text))
    heard = {text: without_comments(text) for text in (slow.stated, slow.prose)}
    for look, place in possible:
        text = slow.prose if look.only_prose else slow.stated
        for match in look.pattern.finditer(text, *place):
            start, end = match.span("value")
            if taken.find(1, start, end) >= 0 or not look.holds(match, heard[text]):
                continue
            taken[match.start() : end] = b"\1" * (end - match.start())
            same = seen.setdefault((look.code, match["name"]), len(found)) if look.once else len(found)
            if same < len(found):
                found[same] = found[same]._replace(times=found[same].times + 1)
            else:
                found.append(Movement(look.code, look.what, start, end))
    return sorted(found, key=lambda movement: movement.start)


class _Lines:
    """The lines of a text, and which of them have some word."""

    def __init__(self, low: str) -> None:
        self._low = low
        self._digits: list[tuple[int, int]] = []
        end = -1
        for match in _DIGIT_LINE.finditer(low):
            start = low.rfind("\n", end + 1, match.start()) + 1 or end + 1
            end = match.end()
            self._digits.append((start, end))
        self._dense = "\n".join([low[start:stop] for start, stop in self._digits])
        self._offsets: list[int] = []
        size = 0
        for start, stop in self._digits:
            self._offsets.append(size)
            size += stop - start + 1
        self._forms: dict[str, str] = {}
        self._known: dict[tuple[str, bool], list[tuple[int, int]]] = {}

    def having(self, look: Look) -> list[tuple[int, int]]:
        """Return the lines, in order, that have one of the words of a look, and a digit if the look needs one."""
        if look.head:
            end = -1
            for _ in range(_FIRST_LINES):
                end = self._low.find("\n", end + 1)
                if end < 0:
                    break
            return [(0, end if end >= 0 else len(self._low))]
        places = [self._with(word, look.digits) for word in look.words]
        some = [one for one in places if one]
        return some[0] if len(some) == 1 else sorted({place for one in some for place in one})

    def _with(self, word: str, digits: bool) -> list[tuple[int, int]]:
        known = self._known.get((word, digits))
        if known is None:
            known = self._known[word, digits] = self._searched(word) if digits else lines_with(self._low, word)
        return known

    def _searched(self, word: str) -> list[tuple[int, int]]:
        text = self._dense
        if word[0] in _FORMS:
            text = self._forms.setdefault(word[0], "") or text.translate(_FORMS[word[0]])
            self._forms[word[0]], word = text, word[1:]
        found = []
        place = text.find(word)
        while place >= 0:
            number = bisect_right(self._offsets, place) - 1
            found.append(self._digits[number])
            place = text.find(word, self._offsets[number + 1]) if number + 1 < len(self._offsets) else -1
        return found
