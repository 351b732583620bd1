"""The sums of a report: tokens and money by cause, by group and by conversation. Tallies of parts add up to the whole.

Counts are integers. Money is only made of them at the end, by the price of each model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class Counts:
    """Tokens of requests, by what was paid for them."""

    requests: int = 0
    input: int = 0
    read: int = 0
    written: dict[str, int] = field(default_factory=dict)
    """Tokens written to a cache, by lifetime."""
    full: int = 0
    output: int = 0
    paid: float = 0.0
    """The cost of the input, in tokens at the plain price."""
    lost: int = 0
    """Tokens that the cache had and that were not read because something broke or expired."""
    extra: float = 0.0
    """What the lost tokens cost more than a read, in tokens at the plain price."""

    def add(self, other: Counts) -> None:
        """Add other counts to these."""
        for one in fields(self):
            if one.name != "written":
                setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        for life, count in other.written.items():
            self.written[life] = self.written.get(life, 0) + count


@dataclass(slots=True)
class Cause:
    """Why tokens were paid again: a kind of change at a place."""

    kind: str
    place: str
    """The place with the numbers of messages left out, as they grow with the conversation."""
    source: str
    agent: str
    model: str
    requests: int = 0
    conversations: int = 0
    lost: int = 0
    extra: float = 0.0
    example: str = ""
    """The file and line of the request that lost most."""
    exact: str = ""
    """The place in that request."""
    old: str = ""
    new: str = ""
    worst: int = -1
    last: int = -1
    """The conversation of the latest request."""

    def add(self, other: Cause) -> None:
        """Add another tally of the same cause."""
        self.requests += other.requests
        self.conversations += other.conversations
        self.lost += other.lost
        self.extra += other.extra
        if (other.worst, other.example) > (self.worst, self.example):
            self.example, self.exact, self.old, self.new, self.worst = (
                other.example, other.exact, other.old, other.new, other.worst,
            )  # fmt: skip


@dataclass(slots=True)
class Turn:
    """One request of a conversation."""

    at: float
    where: str
    read: int
    written: int
    full: int
    lost: int = 0
    cause: str = ""
    """What broke since the request before it, in a line."""


@dataclass(slots=True)
class Row:
    """One conversation."""

    number: int
    session: str
    agent: str
    model: str
    start: float
    end: float
    counts: Counts = field(default_factory=Counts)
    breaks: int = 0
    turns: list[Turn] = field(default_factory=list)
    left_out: int = 0
    """How many of its turns are not in the list."""


@dataclass(slots=True)
class Tally:
    """All sums of a report."""

    total: Counts = field(default_factory=Counts)
    groups: dict[tuple[str, ...], Counts] = field(default_factory=dict)
    """By day, agent, version, provider, model and prompt."""
    causes: dict[tuple[str, ...], Cause] = field(default_factory=dict)
    conversations: int = 0
    failed: int = 0
    """Requests that the provider refused or that never got there."""
    recorded: int = 0
    """Requests whose tokens the log knows; those of the others are simulated."""
    usage_only: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    """Requests with a field or an item that no provider's file knows, by its name."""

    def add(self, other: Tally) -> None:
        """Add the tally of other requests."""
        self.total.add(other.total)
        for key, counts in other.groups.items():
            self.groups.setdefault(key, Counts()).add(counts)
        for key, cause in other.causes.items():
            mine = self.causes.setdefault(key, Cause(cause.kind, cause.place, cause.source, cause.agent, cause.model))
            mine.add(cause)
        for name in ("conversations", "failed", "recorded", "usage_only"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        _add(self.unknown, other.unknown)


def _add(into: dict[str, int], other: Mapping[str, int]) -> None:
    for name, count in other.items():
        into[name] = into.get(name, 0) + count
