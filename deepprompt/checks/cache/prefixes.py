"""Requests as a cache sees them: equal prefixes have equal numbers, so that what two requests share is easy to tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deepprompt.providers.segments import Segment

OPTIONS = "prompt_cache_options"
"""OpenAI's setting for where entries end. Whether an entry can be read does not depend on it."""

_OVERHEAD = 500


@dataclass
class NumberedRequest:
    """A request with two numbers for each segment: the prefix that ends there, and the tokens up to there."""

    number: int
    at: float
    segments: list[Segment] = field(default_factory=list)
    """Its segments, without the settings."""
    settings: dict[str, str] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    """The prefix before each segment, settings included."""
    prefixes: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    hit: int = -1
    """The last segment of the entry that is read, -1 without one. A cache writes this field and the next."""
    writes: dict[int, str] = field(default_factory=dict)
    """The segments that end with a new cache entry, each with the lifetime of its entry."""

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """OpenAI's cache options; {} if the request has none."""
        return read_options(self.settings)

    @property
    def is_explicit(self) -> bool:
        """Whether OpenAI is asked to cache at marks only."""
        return self.options.get("mode") == "explicit"

    @property
    def total(self) -> int:
        """All its tokens."""
        return self.up_to(len(self.ends))

    def up_to(self, index: int) -> int:
        """Return how many tokens stand before a segment."""
        return self.ends[index - 1] if index else 0

    def place(self, index: int) -> str:
        """Return the place of a segment for a message, shortened: a tool's name may be of any length."""
        return self.segments[index].place[:80]

    def start(self, index: int) -> tuple[int, str, str]:
        """Return the prefix before a segment, and the segment's kind and role."""
        return self.starts[index], self.segments[index].kind, self.segments[index].role


class Prefixes:
    """A number for each prefix of the requests: two prefixes that are equal, settings included, have the same one."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.digests = False
        """Whether a request had an image or a file, which a segment knows only by its digest."""
        self.size = 0
        """About how many bytes it takes to remember them."""
        self._last = 0
        self._numbers: dict[tuple[int, str, str, str], int] = {}
        self._tokens: dict[int, int] = {}

    def number_request(self, number: int, segments: Sequence[Segment], at: float) -> NumberedRequest:
        """Return a request with its numbers. A setting has no tokens and belongs to every prefix after it."""
        request = NumberedRequest(number, at)
        prefix = end = 0
        for segment in segments:
            if segment.kind == "setting":
                request.settings[segment.place] = segment.text
                if segment.place != OPTIONS:
                    prefix = self._number((prefix, segment.kind, segment.place, segment.text))
                continue
            request.segments.append(segment)
            request.starts.append(prefix)
            prefix = self._number((prefix, segment.kind, segment.role, segment.text))
            if prefix not in self._tokens:
                self._tokens[prefix] = self.count(segment.text)
                self.digests = self.digests or bool(segment.digest)
            end += self._tokens[prefix]
            request.prefixes.append(prefix)
            request.ends.append(end)
        return request

    def _number(self, key: tuple[int, str, str, str]) -> int:
        if (found := self._numbers.get(key)) is None:
            found = self._numbers[key] = self._last = self._last + 1
            self.size += len(key[3]) + _OVERHEAD
        return found

    def forget_all_but(self, wanted: set[int]) -> set[int]:
        """Forget the prefixes that are neither wanted nor the start of a wanted one. Return those that stay."""
        kept: set[int] = set()
        stays: dict[tuple[int, str, str, str], int] = {}
        for key, number in reversed(self._numbers.items()):  # the start of a prefix has a lower number than its end
            if number in wanted or number in kept:
                stays[key] = number
                kept.update((key[0], number))
        self._numbers = dict(reversed(stays.items()))
        self._tokens = {number: count for number, count in self._tokens.items() if number in kept}
        self.size = sum(len(key[3]) + _OVERHEAD for key in self._numbers)
        return kept


def read_options(settings: Mapping[str, str]) -> Mapping[str, Any]:
    """Return OpenAI's cache options out of the settings of a request; {} if there are none."""
    try:
        options = json.loads(settings.get(OPTIONS, "{}"))
    except ValueError:
        return {}
    return options if isinstance(options, Mapping) else {}


def user_message_ends(segments: Sequence[Segment]) -> list[int]:
    """Return the last segment of each user message; a group of tool results counts as one message."""
    ends = []
    for index, segment in enumerate(segments):
        following = segments[index + 1].kind if index + 1 < len(segments) else ""
        in_group = segment.kind == following == "tool_result"
        if segment.ends_message and segment.role == "user" and not in_group:
            ends.append(index)
    return ends
