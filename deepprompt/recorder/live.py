"""The line for each request while it is recorded, and the summary at the end, made by the same code as the report."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from deepprompt.fleet.prices import bundled_prices
from deepprompt.fleet.readers.store import read
from deepprompt.fleet.record import Record
from deepprompt.fleet.report import Report
from deepprompt.fleet.reporter import Reporter
from deepprompt.fleet.split import Placed
from deepprompt.fleet.streams import Line
from deepprompt.fleet.summary import first_lines
from deepprompt.fleet.tally import Turn
from deepprompt.providers.facts import bundled_facts
from deepprompt.text.display import counted, display

_WHY = {
    401: ": is the key set, and the right one?",
    403: ": may this key do that?",
    404: ": there is no such model or path",
    429: ": too many requests, or no credit",
    502: ": it could not be reached; --upstream URL and --proxy URL say how",
}
_NOTHING = (
    "no request came through the recorder: the command made none, or it does not read the variables that "
    "'deepprompt record --print-env' prints. Set the base URL of its client to one of them. If the command starts an "
    "agent, name that agent: --for claude, --for codex"
)


class Live:
    """Follows what is recorded. Used by the writer's thread only."""

    def __init__(self, say: Callable[[str], None], store: str = "") -> None:
        self.shown = True
        self.store = store
        """The folder to name in the summary, if it is not the usual one."""
        self.file = ""
        """The file of this run, to name in the summary."""
        self.agents: set[str] = set()
        """The programs that sent the requests, by their own names."""
        self._failed = 0
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
                self.agents.add(record.agent)
                self._reporter.add(record)
                if record.status is not None and record.status >= 400:
                    self._told(record.status)

    def _told(self, status: int) -> None:
        if self.shown and status != self._failed:
            self._say(f"the provider answered {status}{_WHY.get(status, '')}")
        self._failed = status

    def _show(self, placed: Placed, turn: Turn) -> None:
        if not self.shown:
            return
        number = placed.request.conversation.requests
        text = f"request {number}  read {_short(turn.read)}, wrote {_short(turn.written)}, full {_short(turn.full)}"
        if turn.cause:
            text += f"; broke: {display(turn.cause)}, {_short(turn.lost)} paid for again"
        self._say(text)

    def summary(self) -> list[str]:
        """Return the first lines of the report on this run."""
        tally = self._reporter.result()
        if not tally.total.requests:
            if not tally.failed:
                return [_NOTHING]
            why = f": the last one got {self._failed}{_WHY.get(self._failed, '')}" if self._failed else ""
            return [f"{counted(tally.failed, 'request')} recorded, and none was answered{why}"]
        found = Report(tally, bundled_prices(), self._reporter.facts.as_of)
        first, *rest = first_lines(found)
        whole = f"deepprompt report {shlex.quote(self.store)}" if self.store else "deepprompt report"
        run = f"; of this run: deepprompt report {shlex.quote(self.file)}" if self.file else ""
        return [
            f"this run alone, compared with no earlier one: {first.rpartition(', ')[0]}",
            *rest,
            f"the report on everything recorded: {whole}{run}",
        ]


def _short(count: int) -> str:
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}k" if count >= 1e4 else str(count)
