"""Recording inside a client, without a proxy: a transport for httpx and a logger for LiteLLM.

Neither package is imported before it is used. Both write to the same private store as `deepprompt record`.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol

from deepprompt.errors import SourceError
from deepprompt.fleet.readers.shared import SESSION_HEADERS
from deepprompt.fleet.store import KEPT_HEADERS, Store, default_store
from deepprompt.recorder.answers import MOST_KEPT
from deepprompt.recorder.writer import Exchange, Writer

_KEPT = frozenset((*KEPT_HEADERS, *SESSION_HEADERS))


class Sink(Protocol):
    """What takes the exchanges of a transport, as a `Writer` does."""

    def put(self, exchange: Exchange) -> bool:
        """Take an exchange that has ended; False if it could not be used."""

    def close(self) -> None:
        """End."""


class RecordingTransport:
    """A transport for httpx clients, sync or async, that records what goes through another one.

    Pass it to a client: `httpx.Client(transport=RecordingTransport(httpx.HTTPTransport()))`. A `sink` takes
    what passes in place of the store. If OpenTelemetry is imported, the current span of a request gets attributes
    for what its response cost and what the cache did.
    """

    def __init__(self, transport: Any, *, store: str = "", agent: str = "", sink: Sink | None = None) -> None:
        if not hasattr(transport, "handle_request") and not hasattr(transport, "handle_async_request"):
            raise SourceError(f"RecordingTransport wraps a transport of httpx, not {type(transport).__name__}")
        self._transport = transport
        self._writer: Sink = Writer(Store(store or default_store()), agent) if sink is None else sink
        self._spans: Any = None

    def __enter__(self) -> RecordingTransport:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    async def __aenter__(self) -> RecordingTransport:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.aclose()

    def handle_request(self, request: Any) -> Any:
        """Send a request, and record it with its response once that was read or closed."""
        exchange = _exchange(request, request.read())
        response = self._transport.handle_request(request)
        return _taped(response, exchange, self._done())

    async def handle_async_request(self, request: Any) -> Any:
        """Do the same in an async client."""
        exchange = _exchange(request, await request.aread())
        response = await self._transport.handle_async_request(request)
        return _taped(response, exchange, self._done())

    def _done(self) -> Callable[[Exchange], object]:
        """Return what to do with the exchange when it has ended: describe its span, if there is one, and store it."""
        if "opentelemetry.trace" not in sys.modules:
            return self._writer.put
        from deepprompt.recorder.spans import Spans
        from deepprompt.session.telemetry import current_span

        if (span := current_span()) is None:
            return self._writer.put
        spans = self._spans = self._spans or Spans()

        def done(exchange: Exchange) -> None:
            spans.add(span, exchange)
            self._writer.put(exchange)

        return done

    def close(self) -> None:
        """Close the transport, and write what waits."""
        self._transport.close()
        self._writer.close()

    async def aclose(self) -> None:
        """Do the same in an async client."""
        await self._transport.aclose()
        self._writer.close()


def _exchange(request: Any, body: bytes) -> Exchange:
    kept = {name.lower(): value for name, value in request.headers.items() if name.lower() in _KEPT}
    return Exchange(time.time(), "", str(request.url.path), kept, body or None)


class _Tape:
    """A stream that keeps a copy of what passes."""

    def __init__(self, stream: Any, exchange: Exchange, done: Callable[[Exchange], object]) -> None:
        self._stream, self._exchange, self._ended = stream, exchange, done
        self._pieces: list[bytes] = []
        self._size = 0
        self._whole = self._done = False

    def _keep(self, chunk: bytes) -> bytes:
        self._size += len(chunk)
        if self._size <= MOST_KEPT:
            self._pieces.append(chunk)
        return chunk

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            yield self._keep(chunk)
        self._whole = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield self._keep(chunk)
        self._whole = True

    def _record(self) -> None:
        if not self._done:
            self._done = True
            self._exchange.end = "done" if self._whole else "aborted"
            self._exchange.answer = b"".join(self._pieces)
            self._exchange.ms = round((time.time() - self._exchange.at) * 1000)
            self._ended(self._exchange)

    def close(self) -> None:
        self._stream.close()
        self._record()

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._record()


def _taped(response: Any, exchange: Exchange, done: Callable[[Exchange], object]) -> Any:
    """Return a response whose stream is recorded."""
    exchange.status = response.status_code
    exchange.encoding = response.headers.get("content-encoding", "")
    if response.is_closed:  # it came whole, as from a cache, and was decoded
        exchange.answer, exchange.encoding = response.content, ""
        exchange.ms = round((time.time() - exchange.at) * 1000)
        done(exchange)
        return response
    library = importlib.import_module(type(response).__module__.partition(".")[0])
    kind = type("Tape", (_Tape, library.SyncByteStream, library.AsyncByteStream), {})
    response.stream = kind(response.stream, exchange, done)
    return response


def litellm_logger(store: str = "", agent: str = "") -> Any:
    """Return a callback for LiteLLM that records each call: `litellm.callbacks = [litellm_logger()]`.

    It records what LiteLLM was asked, before it rewrites marks. Raises `SourceError` if LiteLLM is not installed.
    """
    try:
        base = importlib.import_module("litellm.integrations.custom_logger").CustomLogger
    except ImportError:
        raise SourceError("litellm_logger needs LiteLLM: 'pip install deepprompt[litellm]'") from None
    writer = Writer(Store(store or default_store()), agent)

    class Logger(base):  # type: ignore[misc, valid-type]
        """Writes each call to the store."""

        def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
            """Record a call that was answered."""
            _log(writer, kwargs)

        def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
            """Record a call that failed."""
            _log(writer, kwargs)

        async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
            """Record a call that was answered, of an async client."""
            _log(writer, kwargs)

        async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
            """Record a call that failed, of an async client."""
            _log(writer, kwargs)

        def close(self) -> None:
            """Write what waits."""
            writer.close()

    return Logger()


def _log(writer: Writer, kwargs: Any) -> None:
    """Record one call by the payload that LiteLLM makes for loggers."""
    import json

    from deepprompt.fleet.readers.litellm import body_of

    payload = kwargs.get("standard_logging_object") if isinstance(kwargs, dict) else None
    if not isinstance(payload, dict):
        writer.lost += 1
        return
    started, ended = payload.get("startTime") or time.time(), payload.get("endTime") or time.time()
    usage = next(
        (holder["usage_object"] for holder in (payload.get("metadata"), payload.get("hidden_params"))
         if isinstance(holder, dict) and holder.get("usage_object")), None,
    )  # fmt: skip
    body = json.dumps(body_of(payload), default=str, ensure_ascii=False).encode("utf-8", "replace")
    failed = payload.get("status") not in (None, "success")
    writer.put(Exchange(
        float(started), str(payload.get("custom_llm_provider") or ""), "", {}, body, status=500 if failed else 200,
        end="error" if failed else "done", ms=round((float(ended) - float(started)) * 1000), answer=None, usage=usage,
        extra={"session": payload.get("session_id") or payload.get("trace_id") or ""},
    ))  # fmt: skip
