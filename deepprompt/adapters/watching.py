"""Verdicts on the requests of any framework whose client is httpx: a transport that shows each of them to a `Watch`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from deepprompt.adapters.shared import judge
from deepprompt.recorder.answers import usage_in
from deepprompt.recorder.clients import RecordingTransport
from deepprompt.recorder.writer import Exchange
from deepprompt.session.watch import Watch

_Transport = TypeVar("_Transport")


def watched(transport: _Transport, watch: Watch | Callable[[Mapping[str, Any]], Watch | None]) -> _Transport:
    """Return a transport of httpx, sync or async, that also gives each answered request to a `Watch`.

    Pass it to the client that the framework uses: `httpx.AsyncClient(transport=watched(httpx.AsyncHTTPTransport(),
    watch))`. If one client has several conversations, `watch` is a function from a request's body to the `Watch` of its
    conversation, or to None.
    """
    return cast(_Transport, RecordingTransport(transport, sink=_Judge(watch)))


class _Judge:
    """Takes exchanges as a writer does, and keeps nothing. A request without a verdict never fails the agent."""

    def __init__(self, watch: Watch | Callable[[Mapping[str, Any]], Watch | None]) -> None:
        self._watch = watch

    def put(self, exchange: Exchange) -> bool:
        """Judge an exchange; False if it says too little, as a failed one does."""
        usage = usage_in(exchange.answer or b"", exchange.encoding) if exchange.status == 200 else None
        try:
            body = json.loads(exchange.body or b"")
            watch = self._watch if isinstance(self._watch, Watch) else self._watch(body)
        except ValueError:
            return False
        return usage is not None and watch is not None and judge(watch, body, usage, exchange.at)

    def close(self) -> None:
        """Nothing waits."""
