"""What was recorded of a request: what its answer said it cost, and what became of the cache. A session keeps these.

They are kept without the texts: how many messages a request had says which of a session's it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepprompt.providers.usage import Usage


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answered request of a session."""

    to: str
    model: str
    messages: int
    """How many messages it had."""
    estimated: int
    """Its input tokens, by estimate."""
    usage: Usage
    kind: str
    """The kind of the verdict: `hit`, `cold start`, `expired`, `below minimum`, `ours`, `provider` or `unknown`."""
    detail: str
    at: float | None = None
    """When it was started, in seconds, where that was said."""

    def row(self) -> list[object]:
        """Return it as it is saved."""
        usage = self.usage
        counts = [usage.input, usage.cached_read, dict(usage.cached_write), usage.output]
        return [self.to, self.model, self.messages, self.estimated, counts, self.kind, self.detail, self.at]


def read_recorded(row: Any) -> Recorded:
    """Return what was saved; anything else is a `ValueError` or a `TypeError`."""
    to, model, messages, estimated, counts, kind, detail, at = row
    if not all(isinstance(text, str) for text in (to, model, kind, detail)):
        raise TypeError("an answer is recorded with texts for provider, model and verdict")
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in (messages, estimated)):
        raise TypeError("an answer is recorded with whole numbers of messages and tokens")
    if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
        raise TypeError("an answer is recorded with a time in seconds")
    return Recorded(to, model, messages, estimated, Usage(*counts), kind, detail, at)
