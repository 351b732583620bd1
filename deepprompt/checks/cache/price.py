"""The price of a change: what the later of two requests pays because it does not begin with all of the earlier one.

`deepprompt blame` and `deepprompt report` ask here, so that they agree with `deepprompt cache`: marks, units, minimums
and prices count as they do in the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from deepprompt.checks.cache.caches import Charge
from deepprompt.checks.cache.simulate import simulate
from deepprompt.errors import MessageError
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment
from deepprompt.tokens import estimate_tokens

ANY = Rules("any provider", "", "", False, caching="automatic", read_price=0.1)
"""The rules of no provider in particular: whatever was sent before is read, at a tenth of the price."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a request is charged after an earlier one, and what it could have read."""

    charge: Charge
    could: int
    """The tokens that it would have read if it began with all of the earlier one."""
    lost: int
    """How many of them it does not read."""
    cost: float
    """What these cost more than a read, in tokens at the plain input price."""
    note: str = ""
    """Why the figures may be too low or too high; "" if nothing is special."""


def price_change(
    old: Sequence[Segment], new: Sequence[Segment], rules: Rules, count: Callable[[str], int] = estimate_tokens
) -> Price:
    """Return what a request pays because it differs from the one before it, by the rules of one model.

    Both are segments of requests, sent one after the other. Prompts without messages count as marked at their end.
    """
    note = ""
    if rules.marks and not any(segment.role not in ("", "system") for segment in (*old, *new)):
        old, new = _marked(old), _marked(new)
    elif rules.caching == "marked" and all(segment.mark is None for segment in old):
        note = "A has no mark, so nothing of it is cached"
    try:
        charge = simulate([old, new], rules, count=count).charges[1]
        could = simulate([old, _continued(old, new)], rules, count=count).charges[1].read
    except MessageError as error:  # marks that the provider refuses
        return Price(
            Charge(0, {}, sum(count(one.text) for one in new if one.kind != "setting"), ""), 0, 0, 0.0, str(error)
        )
    could = min(could, charge.total)
    return Price(charge, could, *extra_cost(charge, could, rules), note)


def extra_cost(charge: Charge, could: int, rules: Rules) -> tuple[int, float]:
    """Return the tokens that a request could have read and did not, and what they cost more than a read."""
    lost = max(could - charge.read, 0)
    unread = charge.total - charge.read
    if not lost or not unread:
        return lost, 0.0
    each = rules.paid(0, charge.written, charge.full) / unread
    return lost, lost * (each - rules.read_price)


def _marked(segments: Sequence[Segment]) -> list[Segment]:
    """Return a prompt with one mark, at its end."""
    found = [replace(segment, mark=None) for segment in segments]
    last = max((number for number, segment in enumerate(found) if segment.kind != "setting"), default=-1)
    return [replace(segment, mark="") if number == last else segment for number, segment in enumerate(found)]


def _continued(old: Sequence[Segment], new: Sequence[Segment]) -> list[Segment]:
    """Return the earlier request, continued by the newest part of the later one, each with its last mark only."""
    size = sum(segment.kind != "setting" for segment in old)
    tail = [segment for segment in new if segment.kind != "setting"][size:]
    return [*_last_mark(old), *_last_mark(tail, any(segment.mark is not None for segment in new))]


def _last_mark(segments: Sequence[Segment], wanted: bool = False) -> list[Segment]:
    """Return segments with their last mark only; with `wanted`, one that is missing stands at their end."""
    marks = [number for number, segment in enumerate(segments) if segment.mark is not None]
    keep = marks[-1] if marks else len(segments) - 1 if wanted else -1
    return [
        segment if segment.mark is None and number != keep
        else replace(segment, mark=(segment.mark or "") if number == keep else None)
        for number, segment in enumerate(segments)
    ]  # fmt: skip
