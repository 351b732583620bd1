"""The thread that turns finished exchanges into lines of the store, so that no response waits for it.

The queue is bounded by bytes. When it is full, the end of a response waits, never a piece of it. What could not be
stored is counted, and a line says how much.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deepprompt.fleet.store import Store
from deepprompt.recorder.answers import usage_in

_MOST_WAITING = 64 << 20
_PATIENCE = 30.0


@dataclass(slots=True)
class Exchange:
    """A request and what became of it."""

    at: float
    route: str
    path: str
    headers: Mapping[str, str]
    """The headers that may be stored, and those that name a session."""
    body: bytes | None
    size: int = 0
    sha256: str = ""
    status: int = 0
    end: str = "done"
    ms: int = 0
    answer: bytes | None = b""
    encoding: str = ""
    usage: Mapping[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Writer:
    """Writes exchanges in a thread of its own."""

    def __init__(self, store: Store, agent: str = "", live: Callable[[bytes], None] | None = None) -> None:
        self.store, self.agent, self.live = store, agent, live
        self.lost = 0
        self._waiting: list[Exchange] = []
        self._size = 0
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="deepprompt-writer", daemon=True)
        self._thread.start()

    def put(self, exchange: Exchange) -> bool:
        """Hand over an exchange; waits while the queue is full. False if it had to be dropped."""
        size = len(exchange.body or b"") + len(exchange.answer or b"")
        until = time.monotonic() + _PATIENCE
        with self._changed:
            while self._size and self._size + size > _MOST_WAITING and not self._closed:
                if not self._changed.wait(max(until - time.monotonic(), 0)):
                    break
            if self._closed or (self._size and self._size + size > _MOST_WAITING):
                self.lost += 1
                return False
            self._waiting.append(exchange)
            self._size += size
            self._changed.notify_all()
        return True

    def is_full(self) -> bool:
        """Whether `put` would have to wait."""
        return self._size > _MOST_WAITING // 2

    def close(self) -> None:
        """Write what waits, and what was lost, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        if self.lost:
            self.store.write(json.dumps({"v": 1, "at": time.time(), "lost": self.lost}).encode() + b"\n")
        self.store.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                exchange = self._waiting.pop(0)
            try:
                line = self._line(exchange)
                self.store.write(line)
                if self.live is not None:
                    self.live(line)
            except Exception:
                self.lost += 1
            with self._changed:
                self._size -= len(exchange.body or b"") + len(exchange.answer or b"")
                self._changed.notify_all()

    def _line(self, exchange: Exchange) -> bytes:
        from deepprompt.fleet.readers.shared import SESSION_HEADERS
        from deepprompt.fleet.record import agent_of

        agent, version = agent_of(exchange.headers.get("user-agent", ""))
        session = next((exchange.headers[name] for name in SESSION_HEADERS if name in exchange.headers), "")
        retry = exchange.headers.get("x-stainless-retry-count", "0")
        usage = exchange.usage
        if usage is None and exchange.answer:
            usage = usage_in(exchange.answer, exchange.encoding)
        model = exchange.path.partition("/models/")[2].partition(":")[0] if "/models/" in exchange.path else ""
        head = {
            "at": round(exchange.at, 3), "session": session, "agent": self.agent or agent, "version": version,
            "provider": exchange.route, "model": model, "path": exchange.path, "status": exchange.status,
            "end": exchange.end, "ms": exchange.ms, "retry": int(retry) if retry.isdecimal() else 0, "usage": usage,
            **exchange.extra,
        }  # fmt: skip
        if exchange.body is None:
            head |= {"size": exchange.size, "sha256": exchange.sha256}
        return self.store.line(head, exchange.body)
