"""A request of a conversation: what it shares with others, what it leaves in a cache, and which one it continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deepprompt.checks.cache.prefixes import Prefixes, read_options
from deepprompt.checks.lint.findings import Subject
from deepprompt.providers.recognise import MODELS
from deepprompt.providers.segments import Segment
from deepprompt.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

# A request may continue one of this many latest requests.
_LATEST = 32


@dataclass(frozen=True)
class Turn:
    """One request: its settings, its segments, and a number for each of its prefixes."""

    number: int
    """Its number, from 1."""
    at: float | None
    settings: dict[str, str]
    segments: list[Segment]
    """Its segments, without the settings."""
    prefixes: list[int]
    """The number of the prefix that ends with each segment; equal prefixes have equal numbers in any settings."""
    ends: list[int]
    """The estimated tokens up to the end of each segment."""

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """OpenAI's cache options; {} if the request has none."""
        return read_options(self.settings)

    @cached_property
    def marks(self) -> list[int]:
        """The segments that have a mark."""
        return [number for number, segment in enumerate(self.segments) if segment.mark is not None]

    @cached_property
    def first(self) -> int:
        """Index of the first segment of a message."""
        spoken = (number for number, segment in enumerate(self.segments) if segment.role not in ("", "system"))
        return next(spoken, len(self.segments))

    @cached_property
    def newest(self) -> int:
        """Index of the first segment after the last assistant message."""
        answers = [number for number, segment in enumerate(self.segments) if segment.role == "assistant"]
        return answers[-1] + 1 if answers else self.first

    @property
    def model(self) -> str:
        """The model that it names."""
        return next((self.settings[name] for name in MODELS if name in self.settings), "")

    @property
    def is_explicit(self) -> bool:
        """Whether OpenAI is asked to cache at marks only."""
        return self.options.get("mode") == "explicit"

    @cached_property
    def said(self) -> list[tuple[str, str]]:
        """The kind and text of each segment from users and tools."""
        return [(segment.kind, segment.text) for segment in self.segments if segment.role == "user"]

    def is_same_conversation(self, later: Turn) -> bool:
        """Whether a later request continues this one, even if edited: it has responses and some of the same texts."""
        if later.newest == later.first or not self.said or not later.said:
            return False
        (kind, first), (later_kind, later_first) = self.said[0], later.said[0]
        begins_alike = kind == later_kind and later_first.startswith(first) and first.strip() != ""
        return begins_alike or self.said[-1] in later.said

    def cached(self, rules: Rules | None) -> list[Segment]:
        """Return the segments that it leaves in a cache: all of them, unless only marks are cached."""
        at_marks = self.is_explicit if rules is not None and rules.caching == "implicit" else bool(self.marks)
        if rules is not None and rules.caching == "automatic":
            at_marks = False
        return self.segments[: self.marks[-1] + 1] if at_marks and self.marks else self.segments

    def ends_cached(self, start: int, rules: Rules | None) -> bool:
        """Whether an entry ends after the last assistant message, and none of those before the segment `start`."""
        marks = [number for number in self.marks if number >= self.newest]
        implicit = rules is not None and rules.caching == "implicit" and not self.is_explicit
        return (implicit or bool(marks)) and not any(number < start for number in marks)


def read_turns(subjects: Sequence[Subject]) -> list[Turn]:
    """Return requests as turns, oldest first."""
    prefixes = Prefixes(estimate_tokens)
    turns = []
    for number, subject in enumerate(subjects):
        settings = {segment.place: segment.text for segment in subject.segments if segment.kind == "setting"}
        segments = [segment for segment in subject.segments if segment.kind != "setting"]
        request = prefixes.number_request(number, segments, 0.0)
        turns.append(Turn(number + 1, subject.at, settings, segments, request.prefixes, request.ends))
    return turns


def shared(one: Turn, other: Turn) -> int:
    """Return how many segments two requests share from their start."""
    pairs = zip(one.prefixes, other.prefixes, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one.prefixes), len(other.prefixes)))


def goes_on_from(earlier: Sequence[Turn], turn: Turn) -> Turn | None:
    """Return the earlier request that one continues: the one it shares most with, and of equal ones the latest."""
    near = earlier[-_LATEST:]
    return max(near, key=lambda one: (one.is_same_conversation(turn), shared(one, turn), one.number), default=None)
