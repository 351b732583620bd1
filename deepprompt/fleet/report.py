"""What the cache of many conversations costs, and why: `report` reads logs and sums up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from deepprompt.errors import SourceError
from deepprompt.fleet.engines import run
from deepprompt.fleet.order import in_order
from deepprompt.fleet.parts import Part, parts_of
from deepprompt.fleet.prices import Prices, bundled_prices
from deepprompt.fleet.reporter import Reporter
from deepprompt.fleet.tally import UNIT, Cause, Counts, Tally
from deepprompt.providers.facts import Facts, bundled_facts
from deepprompt.words import Engine


@dataclass(slots=True)
class Report:
    """The sums of a report, and methods that turn them into money."""

    tally: Tally
    prices: Prices
    facts: str
    """The date of the facts about providers."""
    what_if: str = ""
    """The cause that was left out in a second simulation."""
    parts: str = ""
    """How the logs were divided into parts, if they were."""

    def causes(self) -> list[Cause]:
        """Return the causes, those that cost most money first."""
        return sorted(
            self.tally.causes.values(),
            key=lambda one: (-self.money(one.extra, one.model), -one.lost, one.kind, one.place, one.agent, one.model),
        )

    def money(self, units: int, model: str) -> float:
        """Return what units of cost are in money; a model without a price costs nothing."""
        price = self.prices.of(model)
        return units * price.input / (1_000_000 * UNIT) if price else 0.0

    def spent(self) -> float:
        """Return what all input cost."""
        return sum(self.money(counts.paid, key[4]) for key, counts in sorted(self.tally.groups.items()))

    def saved(self) -> float:
        """Return what would have been saved without the cause that was left out."""
        saving = self.tally.saving
        return sum(self.money(sent - saving.without[model], model) for model, sent in sorted(saving.sent.items()))

    def lost(self) -> float:
        """Return what was paid for again because something broke or expired."""
        return sum(self.money(counts.extra, key[4]) for key, counts in sorted(self.tally.groups.items()))

    def lost_share(self) -> float:
        """Return the share of the input's cost that was paid for again because something broke or expired."""
        return self._ratio(*self._by_model(lambda one: one.extra, lambda one: one.paid))

    def cached_share(self) -> float:
        """Return the cost of the input, relative to its cost without a cache."""
        return self._ratio(*self._by_model(lambda one: one.paid, lambda one: one.input * UNIT))

    def saved_share(self) -> float:
        """Return the share of the simulated cost that would have been saved without the cause that was left out."""
        sent, without = self.tally.saving.sent, self.tally.saving.without
        return self._ratio([(model, sent[model] - without[model]) for model in sent], list(sent.items()))

    def _by_model(self, *figures: Callable[[Counts], int]) -> list[list[tuple[str, int]]]:
        return [[(key[4], figure(counts)) for key, counts in self.tally.groups.items()] for figure in figures]

    def _ratio(self, part: Sequence[tuple[str, int]], whole: Sequence[tuple[str, int]]) -> float:
        """Return the ratio of two costs: in money if every model has a price, else in tokens at the plain price."""
        models = {model for model, units in whole if units}
        prices = {model: self.prices.of(model) for model in models}
        weights = {model: price.input if price else 0.0 for model, price in prices.items()}
        if not all(weights.values()):
            weights = dict.fromkeys(models, 1.0)
        costs = [sum(units * weights.get(model, 0.0) for model, units in sorted(one)) for one in (part, whole)]
        return costs[0] / costs[1] if costs[1] else 0.0


def report(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    facts: Facts | None = None,
    prices: Prices | None = None,
    what_if: str = "",
    since: float = -inf,
    engine: Engine = "process",
    jobs: int = 1,
    turns: bool = False,
    told: Callable[[int, int], None] | None = None,
) -> Report:
    """Return what the cache cost in the requests of logs, and why.

    `paths` are logs of any kind that `read_records` knows, or folders of them. `what_if` is a cause to leave out in a
    second simulation: a kind such as `clock`, a place such as `system[0]`, or `all`. Requests that started before
    `since`, in seconds since 1970, are left out. Large logs in several files are divided into parts, which `jobs`
    processes work on; the number of processes does not change the sums. `told` is called with the number of finished
    parts and the number of all parts. With `turns`, the page gets every turn of a conversation, not only those that
    broke the cache. A file that cannot be read is counted as unread. Raises `SourceError` if it is the only one.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise SourceError("report: no log given")
    parts, how = parts_of(given, engine=engine, jobs=jobs)
    work = partial(sum_up, facts=facts, what_if=what_if, since=since, turns=turns)
    tally = run(parts, work, Tally(), engine=engine, jobs=jobs, told=told)
    if not tally.files and tally.examples and sum(len(part.files) for part in parts) == 1:
        raise SourceError(f"{tally.examples[0].where}: {tally.examples[0].why}")
    return Report(tally, prices or bundled_prices(), (facts or bundled_facts()).as_of, what_if, how)


def sum_up(
    part: Part, *, facts: Facts | None = None, what_if: str = "", since: float = -inf, turns: bool = False
) -> Tally:
    """Return the tally of one part of the logs."""
    reporter = Reporter(facts or bundled_facts(), what_if, since=since, turns=turns)
    for record in in_order(part.files, reporter.unread, starts=part.starts):
        reporter.add(record)
    return reporter.result()


def rows_of(found: Report) -> Iterator[Mapping[str, object]]:
    """Yield the sums as rows for tables: one for each group, and one for each cause."""
    for key, counts in sorted(found.tally.groups.items()):
        day, agent, version, provider, model, prompt = key
        yield {
            "day": day, "agent": agent, "version": version, "provider": provider, "model": model, "prompt": prompt,
            "cause_kind": "", "cause_place": "", "requests": counts.requests, "conversations": 0, "input": counts.input,
            "read": counts.read, "written_5m": counts.written.get("5m", 0), "written_1h": counts.written.get("1h", 0),
            "written": sum(counts.written.values()), "full": counts.full, "output": counts.output, "lost": counts.lost,
            "money": round(found.money(counts.paid, model), 6),
            "money_lost": round(found.money(counts.extra, model), 6),
        }  # fmt: skip
    for cause in found.causes():
        yield {
            "day": "", "agent": cause.agent, "version": "", "provider": "", "model": cause.model, "prompt": "",
            "cause_kind": cause.kind, "cause_place": cause.place, "requests": cause.requests,
            "conversations": cause.conversations, "input": 0, "read": 0, "written_5m": 0, "written_1h": 0, "written": 0,
            "full": 0, "output": 0, "lost": cause.lost, "money": 0.0,
            "money_lost": round(found.money(cause.extra, cause.model), 6),
        }  # fmt: skip
