"""The lines of a text: which have a word or a digit, and where a position is.

Rules search for the words that a match must have, and try their patterns on the lines that have one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_DIGIT_LINE = re.compile(r"[0-9][^\n]*+")


class Lines:
    """The lines of a text, to turn a position into line and column."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, place: int) -> tuple[int, int]:
        """Return the line and the column of a character, both from 1."""
        line = bisect_right(self._starts, place)
        return line, place - self._starts[line - 1] + 1


def lines_with(text: str, word: str) -> list[tuple[int, int]]:
    """Return where the lines begin and end that have a word, in order."""
    found = []
    place = text.find(word)
    while place >= 0:
        end = text.find("\n", place)
        end = end if end >= 0 else len(text)
        found.append((text.rfind("\n", 0, place) + 1, end))
        place = text.find(word, end)
    return found


def small_letters(text: str) -> str:
    """Return a text in small letters, with every character in its place."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := one.lower()) == 1 else one for one in text)


class DigitLines:
    """The lines of a text that have a digit: all of them in one text, and which of them has a word."""

    def __init__(self, text: str) -> None:
        self.places: list[tuple[int, int]] = []
        """Where they begin and end in the text."""
        self._offsets: list[int] = []  # where each begins in `text`
        end = -1
        size = 0
        for match in _DIGIT_LINE.finditer(text):
            start = text.rfind("\n", end + 1, match.start()) + 1 or end + 1
            end = match.end()
            self.places.append((start, end))
            self._offsets.append(size)
            size += end - start + 1
        self.text = "\n".join([text[start:stop] for start, stop in self.places])

    def having(self, word: str, text: str) -> list[tuple[int, int]]:
        """Return where the lines are that have a word in `text`, which is a form of their text of the same length."""
        found = []
        place = text.find(word)
        while place >= 0:
            number = bisect_right(self._offsets, place) - 1
            found.append(self.places[number])
            place = text.find(word, self._offsets[number + 1]) if number + 1 < len(self._offsets) else -1
        return found


@lru_cache(maxsize=4)  # several rules ask for those of the same text
def digit_lines(low: str) -> DigitLines:
    """Return the lines with a digit of a text in small letters."""
    return DigitLines(low)
