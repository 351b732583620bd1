"""The line for each request while it is recorded, and the summary at the end, made by the same code as the report."""

from __future__ import annotations

from collections.abc import Callable

from deepprompt.fleet.prices import bundled_prices
from deepprompt.fleet.readers.store import read
from deepprompt.fleet.record import Record
from deepprompt.fleet.report import Report
from deepprompt.fleet.reporter import Reporter
from deepprompt.fleet.split import Placed
from deepprompt.fleet.streams import Line
from deepprompt.fleet.summary import lines_of_report
from deepprompt.fleet.tally import Turn
from deepprompt.providers.facts import bundled_facts
from deepprompt.text.display import counted, display


class Live:
    """Follows what is recorded. Used by the writer's thread only."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.shown = True
        self._say = say
        self._reporter = Reporter(bundled_facts())
        self._reporter.live = self._show
        self._last = 0.0

    def add(self, line: bytes) -> None:
        """Take a line of the store."""
        for record in read([Line("this run", line.decode("utf-8", "replace"))]):
            if isinstance(record, Record):
                # Responses end in another order than requests begin.
                record.at = self._last = max(record.at or 0.0, self._last)
                self._reporter.add(record)

    def _show(self, placed: Placed, turn: Turn) -> None:
        if not self.shown:
            return
        number = placed.request.conversation.requests
        text = f"turn {number}  read {_short(turn.read)}, wrote {_short(turn.written)}, full {_short(turn.full)}"
        if turn.cause:
            text += f"; broke: {display(turn.cause)}, {_short(turn.lost)} paid again"
        self._say(text)

    def summary(self) -> list[str]:
        """Return the first lines of the report on this run."""
        tally = self._reporter.result()
        if not tally.total.requests:
            failed = tally.failed
            return [f"{counted(failed, 'request')} recorded, and none was answered" if failed else "nothing to record"]
        found = Report(tally, bundled_prices(), self._reporter.facts.as_of)
        return [*lines_of_report(found, ())[:4], "run 'deepprompt report' for the causes"]


def _short(count: int) -> str:
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}k" if count >= 1e4 else str(count)
