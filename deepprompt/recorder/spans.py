"""Puts what a recorded response cost on OpenTelemetry's span: the one that was current when its request was sent."""

from __future__ import annotations

import json
import threading
from typing import Any

from deepprompt.fleet.advice import EXPIRED
from deepprompt.fleet.readers.shared import SESSION_HEADERS, usage_of
from deepprompt.fleet.record import Record
from deepprompt.fleet.reporter import Reporter
from deepprompt.fleet.split import Placed
from deepprompt.fleet.tally import Turn
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.recognise import model_of, provider_of, provider_of_model
from deepprompt.recorder.answers import usage_in
from deepprompt.recorder.writer import Exchange
from deepprompt.session.telemetry import attributes_of, describe


class Spans:
    """Follows the requests of one client, so that each response can be judged by the requests before it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reporter = Reporter(bundled_facts())
        self._reporter.live = self._take
        self._found: tuple[Placed, Turn] | None = None
        self._last = 0.0

    def _take(self, placed: Placed, turn: Turn) -> None:
        self._found = placed, turn

    def add(self, span: Any, exchange: Exchange) -> None:
        """Describe a span by a finished exchange. Anything that is no request to a model is left alone."""
        try:
            body = json.loads(exchange.body or b"null")
        except (ValueError, RecursionError):
            return
        if not isinstance(body, dict) or not span.is_recording():
            return
        usage = usage_of(usage_in(exchange.answer, exchange.encoding)) if exchange.answer else None
        model = model_of(body)
        provider = provider_of(body)
        provider = (provider_of_model(model) if provider in ("", "openai") else "") or provider
        session = next((exchange.headers[name] for name in SESSION_HEADERS if name in exchange.headers), "")
        with self._lock:
            self._found = None
            self._last = max(exchange.at, self._last)  # responses end in another order than requests begin
            record = Record("this process", self._last, body, usage=usage, session=session, model=model)
            record.status = exchange.status
            self._reporter.add(record)
            found = self._found
        verdict, blame = _judged(*found) if found is not None else ("", None)
        describe(span, attributes_of(provider, model, usage, verdict, blame, self._reporter.facts.as_of))


def _judged(placed: Placed, turn: Turn) -> tuple[str, Any]:
    """Return the verdict in the words of a session, and what broke."""
    if placed.broke is not None:
        return "ours", placed.broke
    if turn.cause == EXPIRED:
        return "expired", None
    if turn.read:
        return "hit", None
    return ("cold start" if placed.parent is None else "unknown"), None
