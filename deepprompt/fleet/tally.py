"""The sums of a report: tokens and costs by cause, by group and by conversation. Tallies of parts add up to the whole.

All sums are integers, so that the order in which tallies are added changes nothing. Costs are counted in millionths of
what one input token costs at the plain price (`UNIT`); money is only made of them at the end, by the price of each
model. What is no sum is the first of a fixed order: the example of a cause, the conversations that lost most, the lines
that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

from deepprompt.fleet.record import Unread

UNIT = 1_000_000
"""So many units of cost are the plain price of one input token."""

ROWS, TURNS, TURNS_OF_ALL, EXAMPLES = 10_000, 200, 300_000, 20
"""The most conversations, turns of one of them, turns of all of them and examples of unread lines that are kept."""


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
    paid: int = 0
    """The cost of the input, in units."""
    lost: int = 0
    """Tokens that the cache had and that were not read because something broke or expired."""
    extra: int = 0
    """What the lost tokens cost more than a read, in units."""

    def add(self, other: Counts) -> None:
        """Add other counts to these."""
        self.requests += other.requests
        self.input += other.input
        self.read += other.read
        self.full += other.full
        self.output += other.output
        self.paid += other.paid
        self.lost += other.lost
        self.extra += other.extra
        _add(self.written, other.written)


@dataclass(slots=True)
class Cause:
    """Why tokens were paid for again: a kind of change at a place."""

    kind: str
    place: str
    """The place with the numbers of messages left out, as they grow with the conversation."""
    source: str
    agent: str
    model: str
    requests: int = 0
    conversations: int = 0
    lost: int = 0
    extra: int = 0
    example: str = ""
    """The file and line of the request that lost most."""
    exact: str = ""
    """The place in that request."""
    old: str = ""
    new: str = ""
    worst: int = -1

    def add(self, other: Cause) -> None:
        """Add another tally of the same cause."""
        self.requests += other.requests
        self.conversations += other.conversations
        self.lost += other.lost
        self.extra += other.extra
        if other._rank() > self._rank():
            self.example, self.exact, self.old, self.new, self.worst = (
                other.example, other.exact, other.old, other.new, other.worst,
            )  # fmt: skip

    def _rank(self) -> tuple[int, str, str, str, str]:
        return self.worst, self.example, self.exact, self.old, self.new


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

    session: str
    agent: str
    model: str
    start: float
    end: float
    where: str = ""
    """The file and line of its first request."""
    counts: Counts = field(default_factory=Counts)
    breaks: int = 0
    turns: list[Turn] = field(default_factory=list)
    left_out: int = 0
    """How many of its turns are not in the list."""

    def rank(self) -> tuple[int, int, float, str, str]:
        """Sort by this: those that lost most first, then those that paid most."""
        return -self.counts.extra, -self.counts.paid, self.start, self.where, self.session


@dataclass(slots=True)
class Saving:
    """The costs of requests as they were sent, and without a cause."""

    requests: int = 0
    """How many requests broke for the cause."""
    sent: dict[str, int] = field(default_factory=dict)
    without: dict[str, int] = field(default_factory=dict)
    """The cost of the input by model, in units."""

    def add(self, other: Saving) -> None:
        """Add the savings on other requests."""
        self.requests += other.requests
        _add(self.sent, other.sent)
        _add(self.without, other.without)


@dataclass(slots=True)
class Tally:
    """All sums of a report."""

    total: Counts = field(default_factory=Counts)
    groups: dict[tuple[str, ...], Counts] = field(default_factory=dict)
    """By day, agent, version, provider, model and prompt."""
    causes: dict[tuple[str, ...], Cause] = field(default_factory=dict)
    saving: Saving = field(default_factory=Saving)
    files: int = 0
    conversations: int = 0
    failed: int = 0
    """Requests that the provider refused or that never got there."""
    recorded: int = 0
    """Requests whose tokens the log knows; those of the others are simulated."""
    usage_only: int = 0
    unread: int = 0
    """Lines that no request could be made of, and files that could not be read to their end."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Requests with a field or an item that no provider's file knows, by its name."""
    rows: list[Row] = field(default_factory=list)
    """The conversations that lost most."""
    examples: list[Unread] = field(default_factory=list)
    """The first of what could not be read, by file and line."""
    assumed: dict[str, int] = field(default_factory=dict)
    """What the simulations assume, and in how many of them."""
    unmarked: int = 0
    """Requests without a cache mark, to a provider that caches nothing without one."""
    reported: dict[str, int] = field(default_factory=dict)
    """Tokens read from the cache as the API reported them, by agent and model."""
    expected: dict[str, int] = field(default_factory=dict)
    """Tokens that the simulation reads in the same requests, by agent and model."""

    def add(self, other: Tally) -> None:
        """Add the tally of other requests."""
        self.total.add(other.total)
        self.saving.add(other.saving)
        for key, counts in other.groups.items():
            self.groups.setdefault(key, Counts()).add(counts)
        for key, cause in other.causes.items():
            mine = self.causes.setdefault(key, Cause(cause.kind, cause.place, cause.source, cause.agent, cause.model))
            mine.add(cause)
        for one in fields(self):
            if isinstance(value := getattr(self, one.name), int):
                setattr(self, one.name, value + getattr(other, one.name))
        _add(self.unknown, other.unknown)
        _add(self.reported, other.reported)
        _add(self.expected, other.expected)
        _add(self.assumed, other.assumed)
        self.rows = worst([*self.rows, *other.rows])
        self.examples = first([*self.examples, *other.examples])


def worst(rows: Iterable[Row]) -> list[Row]:
    """Return the conversations that lost most, then those that paid most, as far as a report keeps them."""
    kept = sorted(rows, key=Row.rank)[:ROWS]
    left = TURNS_OF_ALL
    for number, row in enumerate(kept):
        if len(row.turns) > left:
            gone = len(row.turns) - left
            row = kept[number] = replace(row, turns=row.turns[:left], left_out=row.left_out + gone)
        left -= len(row.turns)
    return kept


def first(examples: Iterable[Unread]) -> list[Unread]:
    """Return the first of what could not be read, as far as a report keeps it."""
    return sorted(examples, key=lambda one: (len(one.where), one.where, one.why))[:EXAMPLES]


def _add(into: dict[str, int], other: dict[str, int]) -> None:
    for name, count in other.items():
        into[name] = into.get(name, 0) + count
