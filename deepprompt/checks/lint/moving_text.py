"""The pieces of a slow text that change from run to run: finds them with the `Look`s for times, ids and places.

Most lines have none of the literals of a look, so its pattern is tried on few of them. The forms of the text without
code and examples are made only if a pattern matches somewhere. Time is in proportion to the text: a line is tried once
for each look, and every repeat in the patterns is bounded or possessive.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from deepprompt.checks.lint import moving_ids, moving_places, moving_times
from deepprompt.checks.lint.lines import digit_lines, lines_with
from deepprompt.checks.lint.look import HEX_ROW, PATH, ROW, SHAPE, Look
from deepprompt.checks.lint.slow_text import SlowText, without_comments

LOOKS: tuple[Look, ...] = (
    *moving_places.FOLDERS, *moving_ids.SESSIONS, *moving_ids.PROCESSES, *moving_times.LOOKS, *moving_places.STATES,
    *moving_ids.COUNTS, *moving_ids.RANDOM,
)  # fmt: skip
"""Every look, the more specific ones first: a piece of text is found once."""

_DIGITS = str.maketrans(dict.fromkeys("123456789", "0"))
_IN_ROWS = str.maketrans({chr(n): "a" if chr(n).isalnum() or chr(n) in "-_" else chr(n) for n in range(128)})

_IN_HEX = str.maketrans({chr(n): "a" if chr(n) in "0123456789abcdef" else "." for n in range(128) if n != 10})
_FORMS: dict[str, dict[int, str]] = {SHAPE: _DIGITS, ROW[0]: _IN_ROWS, HEX_ROW[0]: _IN_HEX}

# For rendered texts and for documents: the looks, and their words that count anywhere, beside a digit, or in a form.
_Words = tuple[tuple[Look, ...], list[str], list[str], list[str]]


def _words(looks: tuple[Look, ...]) -> _Words:
    anywhere = {word for look in looks for word in look.words if not look.digits} - {PATH}
    beside = {word for look in looks for word in look.words if look.digits}
    shaped = {word for word in beside if word[0] in _FORMS}
    return looks, sorted(anywhere), sorted(beside - shaped), sorted(shaped)


_RENDERED, _DOCUMENT = _words(LOOKS), _words(tuple(look for look in LOOKS if not look.only_rendered))
_REFERENCE = _words(tuple(look for look in _DOCUMENT[0] if look.elsewhere))
_FIRST_LINES = 3
_PATH = re.compile(r"/(?<=[ `\"'(=:|*>]/)")


class Movement(NamedTuple):
    """A piece of a slow text that changes: the rule it breaks, what it is, its position, and how often it is there."""

    code: str
    what: str
    start: int
    end: int
    times: int = 1


def find_movements(slow: SlowText) -> list[Movement]:
    """Return the pieces that change in a text, in order. Where two looks match, the more specific one wins."""
    words = _REFERENCE if slow.reference else _DOCUMENT if slow.authored else _RENDERED
    lines = _Lines(slow.low, words)
    text = without_comments(slow.text)
    possible = [
        (look, place)
        for look in words[0]
        for place in lines.having(look)
        if any(look.holds(match, text) for match in look.pattern.finditer(slow.text, *place))
    ]
    if not possible:
        return []
    found: list[Movement] = []
    seen: dict[tuple[str, str], int] = {}
    taken = bytearray(len(slow.text))
    heard = {text: without_comments(text) for text in (slow.stated, slow.prose, slow.unfenced)}
    for look, place in possible:
        text = slow.prose if look.only_prose else slow.stated if look.in_blocks or not slow.authored else slow.unfenced
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
    """The lines of a text that have the words of a look."""

    def __init__(self, low: str, words: _Words) -> None:
        self._low = low
        self._digits = digit_lines(low)
        self._forms: dict[str, str] = {}
        # Most words are nowhere in a text: a look without one of its words costs nothing more.
        _, anywhere, beside, shaped = words
        text = self._digits.text
        self._words = {
            False: {word for word in anywhere if word in low},
            True: {word for word in beside if word in text},
        }
        self._words[True] |= {word for word in shaped if word[1:] in self._form(word[0])}
        if _PATH.search(low):
            self._words[False].add(PATH)
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
        words = self._words[look.digits]
        if words.isdisjoint(look.words):
            return []
        places = [self._with(word, look.digits) for word in look.words if word in words]
        return places[0] if len(places) == 1 else sorted({place for one in places for place in one})

    def _with(self, word: str, digits: bool) -> list[tuple[int, int]]:
        known = self._known.get((word, digits))
        if known is None:
            known = self._known[word, digits] = self._searched(word) if digits else self._anywhere(word)
        return known

    def _anywhere(self, word: str) -> list[tuple[int, int]]:
        if word != PATH:
            return lines_with(self._low, word)
        found: list[tuple[int, int]] = []
        end = -1
        for match in _PATH.finditer(self._low):
            if match.start() >= end:
                end = self._low.find("\n", match.start())
                end = end if end >= 0 else len(self._low)
                found.append((self._low.rfind("\n", 0, match.start()) + 1, end))
        return found

    def _searched(self, word: str) -> list[tuple[int, int]]:
        formed = word[0] in _FORMS
        return self._digits.having(word[formed:], self._form(word[0]) if formed else self._digits.text)

    def _form(self, sign: str) -> str:
        if sign not in self._forms:
            self._forms[sign] = self._digits.text.translate(_FORMS[sign])
        return self._forms[sign]
