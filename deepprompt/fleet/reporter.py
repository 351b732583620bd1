"""Take the records of logs in the order of time, and sum them up as they come.

What a log recorded of tokens is the truth; where it recorded none, the simulated cache says. What was lost to a break
is always a difference of simulations: what the request could have read of the one before it, less what it reads.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from math import inf
from typing import Any

from deepprompt.checks.blame.blame import Blame
from deepprompt.checks.cache.caches import Charge
from deepprompt.checks.cache.price import ANY, Price, extra_cost
from deepprompt.checks.cache.simulate import Simulator
from deepprompt.errors import MessageError
from deepprompt.fleet.advice import EXPIRED
from deepprompt.fleet.bodies import BodyReader, ReadBody
from deepprompt.fleet.readers.shared import day_of
from deepprompt.fleet.record import Record, Unread, file_of, session_in
from deepprompt.fleet.split import MEMORY, Placed, Splitter
from deepprompt.fleet.tally import ROWS, TURNS, UNIT, Cause, Counts, Row, Tally, Turn, first, worst
from deepprompt.fleet.what_if import WhatIf
from deepprompt.providers.facts import Facts
from deepprompt.providers.recognise import MESSAGES, MODELS, provider_of, provider_of_model
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment
from deepprompt.text.secrets import redact

_INDEX = re.compile(r"\b(messages|input|contents|content|parts|tool_calls)\[\d+\]")
_SHOWN = 120
_WARM = 86_400.0


class Reporter:
    """Takes records in the order of time, and sums them up as they come."""

    def __init__(self, facts: Facts, what_if: str = "", *, since: float = -inf, turns: bool = False) -> None:
        self.facts = facts
        self.since = since
        """Requests before this time are not summed up. Those of the day before it still fill the caches."""
        self.unread: list[Unread] = []
        """What could not be read since the last record."""
        self.tally = Tally()
        self.turns = turns
        """Whether every turn of a conversation is kept, or only those that broke."""
        self.what_if = WhatIf(what_if, self.tally.saving) if what_if else None
        self._reader = BodyReader()
        self._splitter = Splitter(self._reader)
        self._simulators: dict[tuple[str, str], Simulator] = {}
        self._rows: dict[int | str, Row] = {}
        self._files: set[str] = set()
        self._sessions: set[str] = set()
        """The sessions whose requests are unknown but for their tokens."""
        self.live: Callable[[Placed, Turn], None] | None = None
        """Called with each request that was summed up."""

    def add(self, record: Record) -> None:
        """Sum up one record."""
        self._count_unread()
        at = record.at or 0.0
        has_body = record.complete != "usage" and (record.body is not None or bool(record.raw))
        if at < self.since and not (has_body and at >= self.since - _WARM):
            return
        if at >= self.since:
            self._files.add(file_of(record.where))
        if record.status is not None and record.status >= 400 and record.usage is None:
            self.tally.failed += at >= self.since
            return
        if not has_body:
            self._add_usage(record)
            return
        try:
            body = self._reader.read(record.raw or json.dumps(record.body, ensure_ascii=False))
        except MessageError as error:
            self.unread.append(Unread(record.where, str(error)))
            return
        self._add_request(record, body)

    def _count_unread(self) -> None:
        if self.unread:
            self.tally.unread += len(self.unread)
            self.tally.examples = first([*self.tally.examples, *self.unread])
            self.unread.clear()

    def _add_usage(self, record: Record) -> None:
        """Sum up a request that is known by its tokens only."""
        if record.usage is None:
            self.unread.append(Unread(record.where, "neither a request nor its tokens"))
            return
        rules = self._rules(record.provider, record.model)
        counts = _counts(record, None, rules)
        self.tally.usage_only += 1
        self.tally.recorded += 1
        key = f"{record.agent}/{record.session or file_of(record.where)}"
        self.tally.conversations += key not in self._sessions
        self._sessions.add(key)
        turn = Turn(record.at or 0.0, record.where, counts.read, sum(counts.written.values()), counts.full)
        self._sum_up(record, rules, counts, key, None, turn)

    def _add_request(self, record: Record, body: ReadBody) -> None:
        model = record.model or next((str(body.fields[name]) for name in MODELS if name in body.fields), "")
        record.model = model
        rules = self._rules(record.provider or _named(body), model)
        at = record.at or 0.0
        placed = self._splitter.place(body, at, record.where, record.session or session_in(body.fields))
        charge = placed.request.charge = self._charge(rules, body.segments, at)
        if at < self.since:
            if self.what_if is not None:
                self.what_if.add(placed, rules, at, None, charge, counted=False)
            return
        self.tally.conversations += placed.parent is None or placed.parent.at < self.since
        could = _could(placed.parent, charge, rules) if placed.parent is not None else 0
        expired = placed.broke is None and EXPIRED in charge.why
        counts = _counts(record, charge, rules)
        lost = 0
        if placed.broke is not None or expired:
            lost, _ = extra_cost(charge, could, rules)
            placed.price = _price(lost, could, charge, counts, rules)
        self._compare(record, charge, rules, body)
        for name in {*body.unknown, *(f"{one.kind} in messages" for one in body.segments if one.unknown)}:
            self.tally.unknown[name] = self.tally.unknown.get(name, 0) + 1
        cause = self._cause(record, placed, counts, expired) if placed.broke is not None or (expired and lost) else None
        turn = Turn(at, record.where, counts.read, sum(counts.written.values()), counts.full, counts.lost)
        if cause is not None:
            turn.cause = f"{cause.kind} at {placed.broke.place[:80]}" if placed.broke is not None else cause.kind
        if self.what_if is not None:
            self.what_if.add(placed, rules, at, cause, charge)
        self._sum_up(record, rules, counts, placed.request.conversation.root, placed, turn)

    def _compare(self, record: Record, charge: Charge, rules: Rules, body: ReadBody) -> None:
        """Compare the cached tokens that the API reported with the simulated ones, and count what has no mark."""
        tally = self.tally
        tally.recorded += record.usage is not None
        if record.usage is not None:
            who = " ".join(filter(None, (record.agent, record.model)))
            tally.reported[who] = tally.reported.get(who, 0) + record.usage.cached_read
            tally.expected[who] = tally.expected.get(who, 0) + charge.read
        if rules.caching == "marked" and not charge.read and not charge.written:
            tally.unmarked += all(segment.mark is None for segment in body.segments)

    def _charge(self, rules: Rules, segments: list[Segment], at: float) -> Charge:
        simulator = self._simulators.get((rules.provider, rules.model))
        if simulator is None:
            simulator = self._simulators[rules.provider, rules.model] = Simulator(rules, memory=MEMORY)
        try:
            return simulator.add(segments, at)
        except MessageError as error:  # marks that the provider refuses
            count = simulator.prefixes.count
            return Charge(0, {}, sum(count(one.text) for one in segments if one.kind != "setting"), str(error))

    def _rules(self, provider: str, model: str) -> Rules:
        known = self.facts.providers()
        found = provider if provider in known else ""
        guessed = provider_of_model(model)
        if not found or (found in ("openai", "litellm") and guessed):
            found = guessed or found
        return self.facts.rules(self.facts.behind(found, model), model) if found else replace(ANY, model=model)

    def _cause(self, record: Record, placed: Placed, counts: Counts, expired: bool) -> Cause:
        """Return the cause of a loss, with this request added to it."""
        found = placed.broke
        kind, place, source = (
            (EXPIRED, "", "") if expired or found is None else (found.kind, _general(found.place), _source(found))
        )
        key = (kind, place, source, record.agent, record.model)
        cause = self.tally.causes.get(key)
        if cause is None:
            cause = self.tally.causes[key] = Cause(kind, place, source, record.agent, record.model)
        seen = placed.request.conversation.causes
        one = Cause(kind, place, source, record.agent, record.model, 1, int(key not in seen), counts.lost,
                    counts.extra, record.where, worst=counts.lost)  # fmt: skip
        seen.add(key)
        if found is not None:
            one.exact, one.old, one.new = found.place, redact(found.old)[:_SHOWN], redact(found.new)[:_SHOWN]
        cause.add(one)
        return cause

    def _sum_up(
        self, record: Record, rules: Rules, counts: Counts, key: int | str, placed: Placed | None, turn: Turn
    ) -> None:
        self.tally.total.add(counts)
        group = (day_of(record.at), record.agent, record.version, rules.provider, record.model, record.prompt)
        self.tally.groups.setdefault(group, Counts()).add(counts)
        row = self._rows.get(key)
        if row is None:
            session = record.session if placed is None else placed.request.conversation.session
            row = self._rows[key] = Row(session, record.agent, record.model, turn.at, turn.at, turn.where)
            if len(self._rows) > 2 * ROWS:
                kept = set(map(id, worst(self._rows.values())))
                self._rows = {name: one for name, one in self._rows.items() if one is row or id(one) in kept}
        row.end = max(row.end, turn.at)
        row.counts.add(counts)
        row.breaks += bool(turn.cause)
        if (self.turns or turn.cause) and len(row.turns) < TURNS:
            row.turns.append(turn)
        else:
            row.left_out += 1
        if self.live is not None and placed is not None:
            self.live(placed, turn)

    def result(self) -> Tally:
        """Return the tally of what was added."""
        self._count_unread()
        self.tally.rows = worst(self._rows.values())
        self.tally.files = len(self._files)
        self.tally.assumed = dict(Counter(chain.from_iterable(one.assumed for one in self._simulators.values())))
        return self.tally


def _named(body: ReadBody) -> str:
    """Return the provider that a body is written for, by its fields."""
    key = next((one.segments[0].place.partition("[")[0] for one in body.path if one.segments), "messages")
    return provider_of({**body.fields, key if key in MESSAGES else "messages": []})


def _could(parent: Any, charge: Charge, rules: Rules) -> int:
    """Return how much of the request before it a request could have read, if it began with all of it."""
    if parent.charge is None:
        return 0
    left = (
        parent.charge.total
        if rules.caching == "automatic"
        else parent.charge.read + sum(parent.charge.written.values())
    )
    for block in (rules.granularity, rules.reported) if rules.caching == "automatic" else ():
        left -= left % max(block, 1)
    return min(left if left >= rules.minimum else 0, charge.total)


def _counts(record: Record, charge: Charge | None, rules: Rules) -> Counts:
    """Return the tokens of a request: recorded ones if there are any, or else the simulated ones."""
    if (usage := record.usage) is not None:
        found = Counts(1, usage.input, usage.cached_read, dict(usage.cached_write), usage.uncached, usage.output)
    else:
        charge = charge or Charge(0, {}, 0, "")
        found = Counts(1, charge.total, charge.read, dict(charge.written), charge.full)
    found.paid = round(rules.paid(found.read, found.written, found.full) * UNIT)
    return found


def _price(lost: int, could: int, charge: Charge, counts: Counts, rules: Rules) -> Price:
    """Return what was lost in tokens as the API counts them, and put it into the counts.

    A request cannot have lost what the API says that it read, and what it lost cost what the API says that it paid.
    """
    scale = counts.input / charge.total if charge.total else 1.0
    paid = Charge(counts.read, counts.written, counts.full, charge.why)
    counts.lost = min(round(lost * scale), max(paid.total - paid.read, 0))
    _, extra = extra_cost(paid, paid.read + counts.lost, rules)
    counts.extra = round(extra * UNIT)
    return Price(paid, max(round(could * scale), counts.lost), counts.lost, extra)


def _general(place: str) -> str:
    """Return a place without the numbers that grow with a conversation."""
    return _INDEX.sub(lambda found: f"{found[1]}[]", place)[:120]


def _source(found: Blame) -> str:
    return found.file or (found.value if found.block == "tool" else "")
