"""The breaks of a log, one by one: each with the request that broke, the one before it, and what was lost.

The figures are those of `report`, because the same code sums up the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deepprompt.checks.blame.blame import Blame
from deepprompt.checks.cache.price import Price
from deepprompt.errors import MessageError
from deepprompt.fleet.order import in_order
from deepprompt.fleet.reporter import Reporter
from deepprompt.fleet.split import Placed
from deepprompt.fleet.tally import Turn
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.segments import Segment


@dataclass(frozen=True, slots=True)
class Break:
    """A request that does not begin with the request it continues."""

    where: str
    after: str
    """Where the request before it stands."""
    found: Blame
    old: list[Segment]
    new: list[Segment]
    price: Price
    """What it lost: the same tokens and the same cost as in a report."""


def breaks_in(path: str, provider: str = "", model: str = "") -> Iterator[Break]:
    """Yield the breaks of a log in the order of time. Raises `MessageError` if it has no request with a body.

    With a `provider` and a `model`, requests are priced by their rules instead of the log's own.
    """
    found: list[Break] = []

    def take(placed: Placed, turn: Turn) -> None:
        old = placed.parent
        if placed.broke is not None and old is not None and placed.price is not None:
            segments = list(old.body.segments), list(placed.request.body.segments)
            found.append(Break(turn.where, old.where, placed.broke, *segments, placed.price))

    reporter = Reporter(bundled_facts())
    reporter.live = take
    for record in in_order([path], reporter.unread):
        record.provider = provider or record.provider
        record.model = model or record.model
        reporter.add(record)
        yield from found
        found.clear()
    tally = reporter.result()
    if tally.total.requests == tally.usage_only:
        why = f": {tally.examples[0].where}: {tally.examples[0].why}" if tally.examples else ""
        raise MessageError(f"{path}: no request in it that could be compared{why}")
