"""What the same requests would have cost without a cause: a second simulation, with what broke put back.

A request that broke for the cause continues the one before it, as that was without the cause. Only the difference of
the two simulations is a saving; neither is compared with what was recorded.
"""

from __future__ import annotations

from dataclasses import replace

from deepprompt.checks.cache.caches import Charge
from deepprompt.checks.cache.simulate import Simulator
from deepprompt.errors import MessageError
from deepprompt.fleet.split import MEMORY, Placed
from deepprompt.fleet.tally import UNIT, Cause, Saving
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment


class WhatIf:
    """The second simulation."""

    def __init__(self, cause: str, saving: Saving) -> None:
        self.cause, self.saving = cause, saving
        self._simulators: dict[tuple[str, str], Simulator] = {}

    def add(
        self, placed: Placed, rules: Rules, at: float, cause: Cause | None, charge: Charge, *, counted: bool = True
    ) -> None:
        """Add a request, as it was charged and as it would have been. If it is not counted, it only fills the cache."""
        request, parent = placed.request, placed.parent
        segments = request.body.segments
        if parent is not None and parent.mended is not None and (placed.broke is None or self._is_meant(cause)):
            segments = _continued(parent.body.segments, parent.mended, segments)
        self.saving.requests += counted and placed.broke is not None and self._is_meant(cause)
        request.mended = segments
        simulator = self._simulators.get((rules.provider, rules.model))
        if simulator is None:
            simulator = self._simulators[rules.provider, rules.model] = Simulator(rules, memory=MEMORY)
        try:
            found = simulator.add(segments, at)
        except MessageError:
            found = charge
        if not counted:
            return
        for costs, one in ((self.saving.sent, charge), (self.saving.without, found)):
            paid = round(rules.paid(one.read, one.written, one.full) * UNIT)
            costs[rules.model] = costs.get(rules.model, 0) + paid

    def _is_meant(self, cause: Cause | None) -> bool:
        if cause is None:
            return False
        return self.cause in ("all", cause.kind, cause.place, cause.exact, cause.source)


def _continued(old: list[Segment], mended: list[Segment], new: list[Segment]) -> list[Segment]:
    """Return a request that begins with the mended one before it, with its own marks and its own newest part."""
    if mended is old and len(new) >= len(old) and all(map(_same, old, new)):
        return new
    tail = new[len(old) :]
    marks = [segment.mark for segment in new[: len(mended)]]
    marks += [None] * (len(mended) - len(marks))
    start = [one if one.mark == mark else replace(one, mark=mark) for one, mark in zip(mended, marks, strict=True)]
    return [*start, *tail]


def _same(one: Segment, two: Segment) -> bool:
    return one is two or (one.text == two.text and one.kind == two.kind and one.role == two.role)
