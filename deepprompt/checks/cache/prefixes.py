"""Requests as a cache sees them: a number for each beginning, so that what two of them share is easy to tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deepprompt.providers.segments import Segment

OPTIONS = "prompt_cache_options"
"""OpenAI's setting that says where entries end; whether one can be read does not depend on it."""


@dataclass(slots=True)
class Line:
    """A request in numbers: at the end of each segment which prefix that is, and how many tokens it has."""

    number: int
    at: float
    segments: list[Segment] = field(default_factory=list)
    """Its segments, settings aside."""
    settings: dict[str, str] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    """The prefix before each segment, settings included."""
    prefixes: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    hit: int = -1
    """The segment up to which an entry is read, -1 without one; a cache notes it here, and the next as well."""
    writes: dict[int, str] = field(default_factory=dict)
    """The segments at whose end an entry is written, and for how long."""

    @property
    def total(self) -> int:
        """All its tokens."""
        return self.up_to(len(self.ends))

    def up_to(self, index: int) -> int:
        """Return how many tokens stand before a segment."""
        return self.ends[index - 1] if index else 0

    def place(self, index: int) -> str:
        """Return where a segment stands, to be read: the name of a tool may be of any length."""
        return self.segments[index].place[:80]

    def start(self, index: int) -> tuple[int, str, str]:
        """Return which prefix stands before a segment, and what the segment is, its text aside."""
        return self.starts[index], self.segments[index].kind, self.segments[index].role


class Prefixes:
    """A number for each beginning that requests have: the same up to there, settings included, the same number."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.digests = False
        """Whether there was an image or a file, of which a segment has no more than a digest."""
        self._numbers: dict[tuple[int, str, str, str], int] = {}
        self._tokens: dict[int, int] = {}

    def line(self, number: int, segments: Sequence[Segment], at: float) -> Line:
        """Return a request in numbers. A setting has no tokens, and is part of every prefix after it."""
        line = Line(number, at)
        prefix = end = 0
        for segment in segments:
            if segment.kind == "setting":
                line.settings[segment.place] = segment.text
                if segment.place != OPTIONS:
                    prefix = self._number((prefix, segment.kind, segment.place, segment.text))
                continue
            line.segments.append(segment)
            line.starts.append(prefix)
            prefix = self._number((prefix, segment.kind, segment.role, segment.text))
            if prefix not in self._tokens:
                self._tokens[prefix] = self.count(segment.text)
                self.digests = self.digests or bool(segment.digest)
            end += self._tokens[prefix]
            line.prefixes.append(prefix)
            line.ends.append(end)
        return line

    def _number(self, key: tuple[int, str, str, str]) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)
