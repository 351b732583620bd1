"""A request among others: what it has in common with them, what of it is cached, and which it goes on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deepprompt.checks.cache.prefixes import Prefixes, read_options
from deepprompt.checks.lint.findings import Subject
from deepprompt.providers.recognise import MODELS
from deepprompt.providers.segments import Segment
from deepprompt.tokens import estimate_tokens

if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

# Among so many of the latest requests is the one looked for that a request goes on from.
_LATEST = 32


@dataclass(frozen=True)
class Turn:
    """One request: its settings, its segments, and a number for each beginning that it has."""

    number: int
    """From 1."""
    at: float | None
    settings: dict[str, str]
    segments: list[Segment]
    """Settings aside."""
    prefixes: list[int]
    """At the end of each segment which prefix that is; the same number for the same beginning, settings aside."""
    ends: list[int]
    """How many tokens stand up to the end of each, by estimate."""

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
        """Where the conversation begins."""
        spoken = (number for number, segment in enumerate(self.segments) if segment.role not in ("", "system"))
        return next(spoken, len(self.segments))

    @cached_property
    def newest(self) -> int:
        """Where what nobody answered yet begins."""
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
        """What users and tools said in it."""
        return [(segment.kind, segment.text) for segment in self.segments if segment.role == "user"]

    def is_same_conversation(self, later: Turn) -> bool:
        """Whether a later request goes on from this one, whatever was changed in it: it has answers, and its words."""
        if later.newest == later.first or not self.said or not later.said:
            return False
        (kind, first), (later_kind, later_first) = self.said[0], later.said[0]
        begins_alike = kind == later_kind and later_first.startswith(first) and first.strip() != ""
        return begins_alike or self.said[-1] in later.said

    def cached(self, rules: Rules | None) -> list[Segment]:
        """Return the segments that it leaves in a cache: all of them, unless only marks count."""
        at_marks = self.is_explicit if rules is not None and rules.caching == "implicit" else bool(self.marks)
        if rules is not None and rules.caching == "automatic":
            at_marks = False
        return self.segments[: self.marks[-1] + 1] if at_marks and self.marks else self.segments

    def ends_cached(self, start: int, rules: Rules | None) -> bool:
        """Whether an entry ends in what nobody answered yet, all of them from a segment on."""
        marks = [number for number in self.marks if number >= self.newest]
        implicit = rules is not None and rules.caching == "implicit" and not self.is_explicit
        return (implicit or bool(marks)) and not any(number < start for number in marks)


def read_turns(subjects: Sequence[Subject]) -> list[Turn]:
    """Return requests, oldest first, as turns."""
    prefixes = Prefixes(estimate_tokens)
    turns = []
    for number, subject in enumerate(subjects):
        settings = {segment.place: segment.text for segment in subject.segments if segment.kind == "setting"}
        segments = [segment for segment in subject.segments if segment.kind != "setting"]
        request = prefixes.number_request(number, segments, 0.0)
        turns.append(Turn(number + 1, subject.at, settings, segments, request.prefixes, request.ends))
    return turns


def shared(one: Turn, other: Turn) -> int:
    """Return how many segments two requests have in common from their start."""
    pairs = zip(one.prefixes, other.prefixes, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one.prefixes), len(other.prefixes)))


def goes_on_from(earlier: Sequence[Turn], turn: Turn) -> Turn | None:
    """Return which of some earlier requests one goes on from: the one that it shares most with, the latest of them."""
    near = earlier[-_LATEST:]
    return max(near, key=lambda one: (one.is_same_conversation(turn), shared(one, turn), one.number), default=None)
