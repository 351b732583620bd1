"""WebSockets through the recorder, as Codex uses them for the Responses API.

Each `response.create` is a request. It may hold only what is new since an earlier response; then the record's body is
put together from what was sent before, what the model answered, and what is new.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web

from deepprompt.fleet.readers.shared import SESSION_HEADERS
from deepprompt.fleet.store import KEPT_HEADERS
from deepprompt.recorder.writer import Exchange, Writer

_KEPT = frozenset((*KEPT_HEADERS, *SESSION_HEADERS))
_OWN = (
    "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "sec-websocket-protocol", "connection",
    "upgrade", "host", "content-length",
)  # fmt: skip
_REMEMBERED = 64


class Conversation:
    """The requests of one connection, put together from their increments."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, dict[str, Any]]] = []
        self._known: dict[str, list[Any]] = {}
        """The items of a conversation after each response, by the id of the response."""

    def sent(self, message: Mapping[str, Any], at: float) -> None:
        """Take a message of the client."""
        if message.get("type") != "response.create":
            return
        inner = message.get("response")
        body = {**(inner if isinstance(inner, Mapping) else message)}
        body.pop("type", None)
        before = self._known.get(str(body.get("previous_response_id")), [])
        given = body.get("input")
        body["input"] = [*before, *(given if isinstance(given, list) else [])]
        self.waiting.append((at, body))

    def received(
        self, message: Mapping[str, Any]
    ) -> tuple[float, dict[str, Any], Mapping[str, Any] | None, str] | None:
        """Take a message of the server, and return the request that it ends: time, body, usage and how it ended."""
        kind = message.get("type")
        if kind not in ("response.completed", "response.failed", "response.incomplete", "error") or not self.waiting:
            return None
        at, body = self.waiting.pop(0)
        response = message.get("response")
        response = response if isinstance(response, Mapping) else {}
        output = response.get("output")
        self._known[str(response.get("id"))] = [*body["input"], *(output if isinstance(output, list) else [])]
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        usage = response.get("usage")
        end = "done" if kind == "response.completed" else str(kind)
        return at, body, usage if isinstance(usage, Mapping) else None, end


async def forward(
    request: web.Request, session: aiohttp.ClientSession, url: str, route: str, path: str, writer: Writer
) -> web.StreamResponse:
    """Pass messages in both directions, and record each request when its response ends."""
    kept = {name.lower(): value for name, value in request.headers.items() if name.lower() in _KEPT}
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
    protocols = [one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if one.strip()]
    talk = Conversation()
    recorded = path.partition("?")[0].endswith("/responses")  # a realtime session has no requests with a prefix
    try:
        upstream = await session.ws_connect(
            url.replace("http", "ws", 1), headers=headers, protocols=protocols, max_msg_size=0, autoping=False
        )
    except aiohttp.WSServerHandshakeError as error:  # the client has to see it: on 426 Codex goes on over HTTP
        return web.Response(status=error.status, text=error.message)
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        return web.Response(status=502, text=f"deepprompt record: {type(error).__name__}")
    async with upstream:
        client = web.WebSocketResponse(
            protocols=[upstream.protocol] if upstream.protocol else (), max_msg_size=0, autoping=False
        )
        await client.prepare(request)

        def heard(data: str) -> None:
            if recorded and (found := talk.received(_parsed(data))) is not None:
                at, body, usage, end = found
                text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
                took = round((time.time() - at) * 1000)
                writer.put(
                    Exchange(at, route, path.partition("?")[0], kept, text, status=101, end=end, ms=took, usage=usage)
                )

        def said(data: str) -> None:
            if recorded:
                talk.sent(_parsed(data), time.time())

        up = asyncio.create_task(_copy(client, upstream, said))
        down = asyncio.create_task(_copy(upstream, client, heard))
        try:
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (up, down):
                task.cancel()
            with contextlib.suppress(Exception):
                await client.close(code=upstream.close_code or 1000)
            for at, body in talk.waiting:
                text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
                writer.put(Exchange(at, route, path.partition("?")[0], kept, text, status=101, end="aborted"))
    return client


def _parsed(data: str) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def _copy(source: Any, target: Any, seen: Any) -> None:
    """Pass the messages of one side to the other."""
    async for message in source:
        if message.type == aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
            seen(message.data)
        elif message.type == aiohttp.WSMsgType.BINARY:
            await target.send_bytes(message.data)
        elif message.type == aiohttp.WSMsgType.PING:
            await target.ping(message.data)
        elif message.type == aiohttp.WSMsgType.PONG:
            await target.pong(message.data)
