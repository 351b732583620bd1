"""Caches with entries at marks or messages: what a request reads from one, and what it writes.

`charge` computes the cost of a request and does not change the cache; `keep` stores the request. Requests that are sent
side by side are charged first, so none of them reads what another one writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deepprompt.checks.cache.prefixes import NumberedRequest, Prefixes, user_message_ends
from deepprompt.errors import MessageError
from deepprompt.providers.rules import seconds
from deepprompt.providers.segments import Segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules


@dataclass(frozen=True, slots=True)
class Charge:
    """The input of one request, in tokens by what is paid for them."""

    read: int
    written: Mapping[str, int]
    """The tokens written to the cache, by lifetime."""
    full: int
    """The tokens paid at the plain price."""
    why: str
    """Why not more was read; "" if the rest is simply new."""

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + sum(self.written.values()) + self.full


class Cache:
    """A cache that keeps nothing, and the base of the others: it knows what was sent before."""

    def __init__(self, rules: Rules, prefixes: Prefixes) -> None:
        self.rules = rules
        self.prefixes = prefixes
        self.used: dict[int, float] = {}
        """When a request last began with a prefix."""
        self.sent: set[int] = set()
        """The prefixes that were a whole request."""
        self.starts: set[int] = set()
        """The prefixes that a segment followed."""
        self.settings: Mapping[str, str] | None = None
        """The settings of the latest request."""

    def charge(self, request: NumberedRequest) -> Charge:
        """Return the cost of a request."""
        return Charge(0, {}, request.total, "nothing is cached")

    def keep(self, request: NumberedRequest) -> None:
        """Store a request that was charged."""
        self.used.update(dict.fromkeys(request.prefixes, request.at))
        self.sent.update(request.prefixes[-1:])
        self.starts.update(request.starts)
        self.settings = request.settings

    def forget_all_but(self, kept: set[int]) -> None:
        """Forget all prefixes but some."""
        self.used = {prefix: at for prefix, at in self.used.items() if prefix in kept}
        self.sent &= kept
        self.starts &= kept

    def _known(self, request: NumberedRequest) -> int:
        """Return the number of segments at the start of a request that were sent before."""
        known = enumerate(request.prefixes)
        return next((index for index, prefix in known if prefix not in self.used), len(request.prefixes))

    def _why(self, request: NumberedRequest, limit: str) -> str:
        """Say why not more was read: a limit of the cache, and where the request differs from earlier ones."""
        known = self._known(request)
        parting = ""
        if self.settings is None:
            parting = "nothing was sent before"
        elif known < len(request.segments) and request.starts[known] not in self.sent:
            parting = f"differs from {request.place(known)} on"
            if request.starts[known] not in self.starts:
                names = {**self.settings, **request.settings}
                changed = [name for name in names if self.settings.get(name) != request.settings.get(name)]
                parting = f"the setting {changed[0]} changed" if changed else "its settings are new here"
        return "; ".join(filter(None, (limit, parting)))


class Marked(Cache):
    """A cache with entries at marks. An entry is found by looking back a few positions from a mark."""

    missed = "is too many positions before the next mark"

    def __init__(self, rules: Rules, prefixes: Prefixes) -> None:
        super().__init__(rules, prefixes)
        self.entries: dict[int, tuple[float, float]] = {}
        """The time at which an entry expires, and its lifetime in seconds."""

    def charge(self, request: NumberedRequest) -> Charge:
        """Read the longest entry that is found, write up to the last mark, and pay the rest in full."""
        marks = [index for index, segment in enumerate(request.segments) if segment.mark is not None]
        boundaries = self._boundaries(request, marks)
        request.writes = {
            index: life for index, life in boundaries.items() if request.ends[index] >= self.rules.minimum
        }
        found = [index for index in self._looked(request, marks) if self._lives(request.prefixes[index], request.at)]
        request.hit = max(found, default=-1)
        read = done = request.up_to(request.hit + 1)
        written: dict[str, int] = {}
        for index, life in sorted(request.writes.items()):
            if request.ends[index] > done:
                written[life] = written.get(life, 0) + request.ends[index] - done
                done = request.ends[index]
        return Charge(read, written, request.total - done, self._explain(request, boundaries))

    def keep(self, request: NumberedRequest) -> None:
        """Renew the entry that was read, and renew or create the entries at the marks."""
        super().keep(request)
        if request.hit >= 0:
            self._renew(request.prefixes[request.hit], request.at)
        for index, life in request.writes.items():
            self._renew(request.prefixes[index], request.at, seconds(life))

    def forget_all_but(self, kept: set[int]) -> None:
        """Forget the entries too."""
        super().forget_all_but(kept)
        self.entries = {prefix: entry for prefix, entry in self.entries.items() if prefix in kept}

    def _renew(self, prefix: int, at: float, life: float = 0.0) -> None:
        if self._lives(prefix, at):  # it keeps its lifetime: only a write pays for a longer one
            life = self.entries[prefix][1]
        self.entries[prefix] = (at + life, life)

    def _lives(self, prefix: int, at: float) -> bool:
        return prefix in self.entries and at < self.entries[prefix][0]

    def _lifetime(self, *asked: str | None) -> str:
        """Return the first requested lifetime that the provider has, or its default."""
        lifetimes = self.rules.lifetimes
        return next((life for life in asked if life in lifetimes), next(iter(lifetimes), "")) or ""

    def _boundaries(self, request: NumberedRequest, marks: list[int]) -> dict[int, str]:
        """Return where entries would end, with their lifetimes. Raise if the provider would refuse the marks."""
        rules, who = self.rules, f"request {request.number + 1}"
        if len(marks) > rules.marks:
            raise MessageError(f"{who}: {len(marks)} marks; {rules.provider} takes {rules.marks} and refuses more")
        found = {index: self._lifetime(request.segments[index].mark) for index in marks}
        for before, index in pairwise(marks):
            if seconds(found[index]) > seconds(found[before]):
                raise MessageError(
                    f"{who}: a mark for {found[index]} at {request.place(index)} after one for {found[before]}; "
                    f"{rules.provider} takes longer lifetimes first"
                )
        return found

    def _looked(self, request: NumberedRequest, marks: list[int]) -> set[int]:
        """Return the segments at which entries are looked up."""
        positions = self.rules.positions(segment.kind for segment in request.segments)
        looked: set[int] = set()
        for mark in marks:
            index = mark
            while index >= 0 and positions[mark] - positions[index] < self.rules.lookback:
                looked.add(index)
                index -= 1
        return looked

    def _explain(self, request: NumberedRequest, boundaries: Mapping[int, str]) -> str:
        if not boundaries:
            return self._why(request, "there is no mark")
        if not request.writes:
            return self._why(request, f"fewer than {self.rules.minimum:,} tokens are not cached")
        known = self._known(request)
        if known <= request.hit + 1:
            return self._why(request, "")
        unread = [index for index in range(request.hit + 1, known) if request.prefixes[index] in self.entries]
        alive = [index for index in unread if self._lives(request.prefixes[index], request.at)]
        limit = "no further entry ends in them"
        if alive:
            limit = f"the entry at {request.place(alive[-1])} {self.missed}"
        elif unread:
            limit = f"the entry at {request.place(unread[-1])} has expired"
        return self._why(request, f"{request.up_to(known):,} tokens were sent before, but {limit}")


class Implicit(Marked):
    """A cache with entries at the newest message and the latest marks, looked up at marks and message ends."""

    missed = "is at no place where one is looked for"

    def _boundaries(self, request: NumberedRequest, marks: list[int]) -> dict[int, str]:
        asked = request.options.get("ttl")
        newest = [] if request.is_explicit else _message_ends(request.segments)[-1:]
        most = self.rules.marks + request.is_explicit  # the newest message does not take one
        kept = {index: request.segments[index].mark for index in marks[max(len(marks) - most, 0) :]}
        return {index: self._lifetime(kept.get(index), asked) for index in {*newest, *kept}}

    def _looked(self, request: NumberedRequest, marks: list[int]) -> set[int]:
        looked = {*marks[: self.rules.lookup_first], *marks[-self.rules.lookup_latest :]}
        if not request.is_explicit:
            looked.update(_end_of_system(request.segments), _message_ends(request.segments)[-1 - self.rules.lookback :])
        return looked


def _end_of_system(segments: Sequence[Segment]) -> list[int]:
    """Return the last segment of the system messages at the start, if there are any."""
    start = next((index for index, segment in enumerate(segments) if segment.role not in ("", "system")), len(segments))
    return [start - 1] if start and segments[start - 1].role == "system" else []


def _message_ends(segments: Sequence[Segment]) -> list[int]:
    """Return where entries end without a mark: after the leading system messages, and after each user message."""
    return [*_end_of_system(segments), *user_message_ends(segments)]
