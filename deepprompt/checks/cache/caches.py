"""How caches work: what a request finds in one and leaves there, by marks, by messages or by itself.

`charge` says what a request comes to and leaves the cache as it is; `keep` takes the request in. So requests that are
sent side by side are charged first, and none of them reads what another writes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from deepprompt.checks.cache.prefixes import OPTIONS, Line, Prefixes
from deepprompt.errors import MessageError
from deepprompt.providers.facts import seconds
from deepprompt.providers.segments import Segment
from deepprompt.text.compare import shared_start

if TYPE_CHECKING:
    from deepprompt.providers.facts import Rules

_EXPLICIT = re.compile(r'"mode"\s*:\s*"explicit"')
_ASKED = re.compile(r'"ttl"\s*:\s*"(\w+)"')
_ITSELF = ("setting", "")  # in place of what follows a prefix, which is no setting


@dataclass(frozen=True, slots=True)
class Charge:
    """What the input of one request came to, in tokens."""

    read: int
    written: Mapping[str, int]
    """What was written to the cache, by lifetime."""
    full: int
    """What is paid at the plain price."""
    why: str
    """What kept more from being read; "" where nothing did but that the rest is new."""

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + sum(self.written.values()) + self.full


class Cache:
    """One that keeps nothing, and what all of them know: what was sent before."""

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

    def charge(self, line: Line) -> Charge:
        """Return what a request comes to."""
        return Charge(0, {}, line.total, "nothing is cached")

    def keep(self, line: Line) -> None:
        """Take in a request that was charged."""
        self.used.update(dict.fromkeys(line.prefixes, line.at))
        self.sent.update(line.prefixes[-1:])
        self.starts.update(line.starts)
        self.settings = line.settings

    def _known(self, line: Line) -> int:
        """Return how many segments of a request were sent before, one after the other from the start."""
        known = enumerate(line.prefixes)
        return next((index for index, prefix in known if prefix not in self.used), len(line.prefixes))

    def _why(self, line: Line, limit: str) -> str:
        """Say what kept more from being read: a limit of the cache, and that the request is not one that it knows."""
        known = self._known(line)
        parting = ""
        if self.settings is None:
            parting = "nothing was sent before"
        elif known < len(line.segments) and line.starts[known] not in self.sent:
            parting = f"differs from {line.place(known)} on"
            if line.starts[known] not in self.starts:
                names = {**self.settings, **line.settings}
                changed = [name for name in names if self.settings.get(name) != line.settings.get(name)]
                parting = f"the setting {changed[0]} changed" if changed else "its settings are new here"
        return "; ".join(filter(None, (limit, parting)))


class Marked(Cache):
    """Entries at marks. One is found by walking back from a mark, a few positions at most."""

    missed = "is too many positions before the next mark"

    def __init__(self, rules: Rules, prefixes: Prefixes) -> None:
        super().__init__(rules, prefixes)
        self.entries: dict[int, tuple[float, float]] = {}
        """Until when an entry lives, and for how many seconds it was asked for."""

    def charge(self, line: Line) -> Charge:
        """Read the longest entry that is found, write up to the last boundary, pay the rest."""
        marks = [index for index, segment in enumerate(line.segments) if segment.mark is not None]
        boundaries = self._boundaries(line, marks)
        line.writes = {index: life for index, life in boundaries.items() if line.ends[index] >= self.rules.minimum}
        found = [index for index in self._looked(line, marks) if self._lives(line.prefixes[index], line.at)]
        line.hit = max(found, default=-1)
        read = done = line.up_to(line.hit + 1)
        written: dict[str, int] = {}
        for index, life in sorted(line.writes.items()):
            if line.ends[index] > done:
                written[life] = written.get(life, 0) + line.ends[index] - done
                done = line.ends[index]
        return Charge(read, written, line.total - done, self._explain(line, boundaries))

    def keep(self, line: Line) -> None:
        """Renew the entry that was read, and those at the boundaries; make the ones that are not there."""
        super().keep(line)
        if line.hit >= 0:
            self._renew(line.prefixes[line.hit], line.at)
        for index, life in line.writes.items():
            self._renew(line.prefixes[index], line.at, seconds(life))

    def _renew(self, prefix: int, at: float, life: float = 0.0) -> None:
        if self._lives(prefix, at):  # it goes on as it was asked for: a longer life is paid by who writes it
            life = self.entries[prefix][1]
        self.entries[prefix] = (at + life, life)

    def _lives(self, prefix: int, at: float) -> bool:
        return prefix in self.entries and at < self.entries[prefix][0]

    def _lifetime(self, *asked: str | None) -> str:
        """Return the first lifetime asked for that the provider has, or the one that needs no asking."""
        lifetimes = self.rules.lifetimes
        return next((life for life in asked if life in lifetimes), next(iter(lifetimes), "")) or ""

    def _boundaries(self, line: Line, marks: list[int]) -> dict[int, str]:
        """Return where entries would end, and how long they would live; refuse what the provider does."""
        rules, who = self.rules, f"request {line.number + 1}"
        if len(marks) > rules.marks:
            raise MessageError(f"{who}: {len(marks)} marks; {rules.provider} takes {rules.marks} and refuses more")
        found = {index: self._lifetime(line.segments[index].mark) for index in marks}
        for before, index in pairwise(marks):
            if seconds(found[index]) > seconds(found[before]):
                raise MessageError(
                    f"{who}: a mark for {found[index]} at {line.place(index)} after one for {found[before]}; "
                    f"{rules.provider} takes longer lifetimes first"
                )
        return found

    def _looked(self, line: Line, marks: list[int]) -> set[int]:
        """Return where entries are looked for."""
        positions = self.rules.positions(segment.kind for segment in line.segments)
        looked: set[int] = set()
        for mark in marks:
            index = mark
            while index >= 0 and positions[mark] - positions[index] < self.rules.lookback:
                looked.add(index)
                index -= 1
        return looked

    def _explain(self, line: Line, boundaries: Mapping[int, str]) -> str:
        if not boundaries:
            return self._why(line, "there is no mark")
        if not line.writes:
            return self._why(line, f"fewer than {self.rules.minimum:,} tokens are not cached")
        known = self._known(line)
        if known <= line.hit + 1:
            return self._why(line, "")
        unread = [index for index in range(line.hit + 1, known) if line.prefixes[index] in self.entries]
        alive = [index for index in unread if self._lives(line.prefixes[index], line.at)]
        limit = "no further entry ends in them"
        if alive:
            limit = f"the entry at {line.place(alive[-1])} {self.missed}"
        elif unread:
            limit = f"the entry at {line.place(unread[-1])} has expired"
        return self._why(line, f"{line.up_to(known):,} tokens were sent before, but {limit}")


class Implicit(Marked):
    """Entries at the newest message and at the latest marks; looked for at marks and at the ends of messages."""

    missed = "is at no place where one is looked for"

    def _boundaries(self, line: Line, marks: list[int]) -> dict[int, str]:
        asked = _ASKED.search(line.settings.get(OPTIONS, ""))
        newest = [] if _is_explicit(line) else _message_ends(line.segments)[-1:]
        most = self.rules.marks + _is_explicit(line)  # the place that the newest message does not take
        kept = {index: line.segments[index].mark for index in marks[max(len(marks) - most, 0) :]}
        return {index: self._lifetime(kept.get(index), asked and asked[1]) for index in {*newest, *kept}}

    def _looked(self, line: Line, marks: list[int]) -> set[int]:
        looked = {*marks[: self.rules.lookup_first], *marks[-self.rules.lookup_latest :]}
        if not _is_explicit(line):
            looked.update(_end_of_system(line.segments), _message_ends(line.segments)[-1 - self.rules.lookback :])
        return looked


class Automatic(Cache):
    """What begins like an earlier request is read, in whole blocks; or a unit, if the request has all of it."""

    def __init__(self, rules: Rules, prefixes: Prefixes) -> None:
        super().__init__(rules, prefixes)
        self.lives = seconds(rules.lives)
        self.texts: dict[tuple[int, str, str], list[tuple[str, int]]] = {}
        """The texts that followed a prefix, sorted, so that the two around a new one are those most like it."""
        self.units: dict[tuple[int, str, str], dict[str, float]] = {}
        """The units after a prefix, as beginnings of the text that followed, and when each was last used."""
        self.answers: dict[int, int] = {}
        """The prefix that was a request, and the one with the answer that was first seen since."""

    def charge(self, line: Line) -> Charge:
        """Read what is shared with an earlier request, in whole blocks, or the longest unit."""
        rules = self.rules
        index, text = self._alike(line)
        shared = read = self._tokens(line, index, text)
        if rules.whole_units:
            read = max(self._read_units(line), default=0)
        if rules.last_token_recomputed:
            read = min(read, max(line.total - 1, 0))
        for block in (rules.granularity, rules.reported):
            read -= read % max(block, 1)
        known, limit = self._known(line), ""
        if known > index:
            limit = "some or all of them have expired"
        elif shared and read < rules.minimum:
            limit = f"fewer than {rules.minimum:,} are not cached"
        elif rules.whole_units and shared - read >= max(rules.reported, 1):
            limit = "no further unit ends in them"
        elif shared and not read:
            limit = f"they are read by {max(rules.granularity, rules.reported)}"
        if limit:
            limit = f"{max(shared, line.up_to(known)):,} tokens were sent before, but {limit}"
        read = read if read >= rules.minimum else 0
        return Charge(read, {}, line.total - read, self._why(line, limit))

    def keep(self, line: Line) -> None:
        """Let what the request has live on, and take in what is new."""
        if self.rules.whole_units:
            self._keep_units(line)
        for index, segment in enumerate(line.segments):
            if line.prefixes[index] not in self.used:
                insort(self.texts.setdefault(line.start(index), []), (segment.text, line.prefixes[index]))
        super().keep(line)

    def _alike(self, line: Line) -> tuple[int, str]:
        """Return how many segments the cache has from the start, and how much of the text of the next."""
        index = 0
        while index < len(line.prefixes) and self._lives(line.prefixes[index], line):
            index += 1
        if index == len(line.prefixes):
            return index, ""
        text, texts = line.segments[index].text, self.texts.get(line.start(index), [])
        place = bisect_left(texts, (text, 0))
        near = [
            next((other for other, prefix in side if self._lives(prefix, line)), "")
            for side in (reversed(texts[:place]), texts[place:])
        ]
        return index, text[: max(shared_start(text, other) for other in near)]

    def _lives(self, prefix: int, line: Line) -> bool:
        return prefix in self.used and line.at < self.used[prefix] + self.lives

    def _tokens(self, line: Line, index: int, text: str) -> int:
        """Return how many tokens the first segments have, and the beginning of the text of the next."""
        before = line.up_to(index)
        # Cut in two, a text may have more tokens than it has.
        return min(before + self.prefixes.count(text), line.ends[index]) if text else before

    def _units(self, line: Line) -> Iterator[tuple[int, dict[str, float], str]]:
        """Yield the units that a request has all of: how many tokens, and where their last use is noted."""
        for index, segment in enumerate(line.segments[: self._known(line) + 1]):
            for text in (used := self.units.get(line.start(index), {})):
                if segment.text.startswith(text):
                    yield self._tokens(line, index, text), used, text
            if used := self.units.get((line.prefixes[index], *_ITSELF), {}):
                yield line.ends[index], used, ""

    def _answers(self, line: Line) -> Iterator[tuple[int, int]]:
        """Yield the earlier requests whose answer this one goes on from, and where that ends in it."""
        for index, prefix in enumerate(line.prefixes[: self._known(line)]):
            end = index + 1
            while prefix in self.sent and end < len(line.segments) and line.segments[end].role == "assistant":
                end += 1
            answer = line.prefixes[end - 1]
            if answer != prefix and self.answers.get(prefix, answer) == answer:
                yield prefix, end

    def _read_units(self, line: Line) -> Iterator[int]:
        """Yield the tokens of the units that can be read."""
        yield from (tokens for tokens, used, text in self._units(line) if line.at < used[text] + self.lives)
        yield from (line.up_to(end) for prefix, end in self._answers(line) if self._lives(prefix, line))

    def _keep_units(self, line: Line) -> None:
        """Note the units of a request: its end, the ends of the answers in it, and where it parts from another."""
        for _, used, text in self._units(line):
            used[text] = line.at
        index, text = self._alike(line)
        ends = {len(line.segments), 0 if text else index}
        for prefix, end in self._answers(line):
            self.answers[prefix] = line.prefixes[end - 1]
            ends.add(end)
        for prefix in line.prefixes[-1:]:  # sent again, it is answered again
            self.answers.pop(prefix, None)
        for end in ends - {0}:
            self.units[line.prefixes[end - 1], *_ITSELF] = {"": line.at}
        if text:
            self.units.setdefault(line.start(index), {})[text] = line.at


CACHES: dict[str, type[Cache]] = {
    "none": Cache, "marked": Marked, "implicit": Implicit, "automatic": Automatic,
}  # fmt: skip


def _is_explicit(line: Line) -> bool:
    """Whether only marks count, not the newest message."""
    return _EXPLICIT.search(line.settings.get(OPTIONS, "")) is not None


def _end_of_system(segments: Sequence[Segment]) -> list[int]:
    """Return the last segment of the system messages at the start, if there are any."""
    start = next((index for index, segment in enumerate(segments) if segment.role not in ("", "system")), len(segments))
    return [start - 1] if start and segments[start - 1].role == "system" else []


def _message_ends(segments: Sequence[Segment]) -> list[int]:
    """Return where entries end unasked: after the system messages at the start, a user's, a group of results."""
    ends = _end_of_system(segments)
    for index, segment in enumerate(segments):
        following = segments[index + 1].kind if index + 1 < len(segments) else ""
        in_group = segment.kind == following == "tool_result"
        if segment.ends_message and segment.role == "user" and not in_group:
            ends.append(index)
    return ends
