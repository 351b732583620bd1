"""The recorder's proxy: on loopback only, behind a secret path, to upstreams that are fixed at its start.

Requests are forwarded as they are, without hop-by-hop headers, and responses piece by piece, undecoded. Only what the
store's allow-list names is kept of the headers.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import io
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from yarl import URL

from deepprompt.errors import SourceError
from deepprompt.fleet.readers.shared import SESSION_HEADERS
from deepprompt.fleet.store import KEPT_HEADERS
from deepprompt.recorder.answers import MOST_KEPT, encodings
from deepprompt.recorder.writer import Exchange, Writer

LARGEST = 64 << 20
"""A longer body is forwarded, and recorded by its size and hash only."""

_HOP = frozenset((
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "host", "content-length", "expect",
))  # fmt: skip
_KEPT = frozenset((*KEPT_HEADERS, *SESSION_HEADERS))
_LOOPBACK = ("127.0.0.1", "[::1]")


def check_upstream(address: str) -> str:
    """Return the address of an upstream without its last slash. Only loopback may do without TLS."""
    parts = urlsplit(address)
    plain = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or not (parts.scheme == "https" or plain) or parts.query or parts.username:
        raise SourceError(f"{address}: an upstream is https://HOST, or http:// on this machine")
    return address.rstrip("/")


class Proxy:
    """A running recorder."""

    def __init__(
        self, upstreams: Mapping[str, str], writer: Writer, *, websocket: str = "refuse", proxy: str = ""
    ) -> None:
        self.upstreams = {route: check_upstream(address) for route, address in upstreams.items()}
        self.writer = writer
        self.websocket = websocket
        self.proxy = proxy
        """A proxy on the way to the upstreams; "" for none."""
        self.token = secrets.token_urlsafe(16)
        self.forwarded = 0
        self._encodings = encodings()
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def address(self) -> str:
        """The address to give to a client, without a route."""
        return f"http://127.0.0.1:{self.port}/{self.token}"

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, auto_decompress=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context())
        timeout = aiohttp.ClientTimeout(total=None, connect=30)
        # No proxy out of the environment: a repository's .env must not divert keys.
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, auto_decompress=False, trust_env=False, proxy=self.proxy or None,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )  # fmt: skip

    async def stop(self) -> None:
        """Stop listening and close every connection."""
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    def _target(self, request: web.Request) -> tuple[str, str, str]:
        """Return the route, the path and the upstream's URL. Raises an HTTP error for what is not ours."""
        host = request.headers.get("Host", "")
        if host not in [f"{name}:{self.port}" for name in _LOOPBACK]:
            raise web.HTTPForbidden(text="the recorder answers to a loopback address only")
        if "Origin" in request.headers:
            raise web.HTTPForbidden(text="the recorder does not answer web pages")
        _, token, *rest = request.raw_path.split("/", 3)
        if not rest or not hmac.compare_digest(token.encode(), self.token.encode()):
            raise web.HTTPNotFound
        route = rest[0].partition("?")[0]
        if route not in self.upstreams:
            raise web.HTTPNotFound
        path = "/" + (rest[1] if len(rest) > 1 else "")
        return route, path, self.upstreams[route] + path

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        route, path, url = self._target(request)
        if request.headers.get("Upgrade", "").lower() == "websocket":
            if self.websocket != "pass":
                raise web.HTTPUpgradeRequired(text="the recorder takes HTTP here; --websocket pass forwards WebSockets")
            from deepprompt.recorder.websocket import forward

            assert self._session is not None
            return await forward(request, self._session, url, route, path, self.writer)
        return await self._forward(request, route, path, url)

    async def _forward(self, request: web.Request, route: str, path: str, url: str) -> web.StreamResponse:
        self.forwarded += 1
        kept = {name.lower(): value for name, value in request.headers.items() if name.lower() in _KEPT}
        exchange = Exchange(time.time(), route, path.partition("?")[0], kept, None)
        began = time.monotonic()
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP]
        headers = [
            (name, self._accepted(value) if name.lower() == "accept-encoding" else value) for name, value in headers
        ]
        try:
            data = await self._body(request, exchange)
            return await self._answer(request, url, headers, data, exchange)
        except asyncio.CancelledError:
            exchange.end = "aborted"
            raise
        except (ConnectionResetError, aiohttp.ClientConnectionResetError):
            exchange.end = "aborted"
            raise
        finally:
            exchange.ms = round((time.monotonic() - began) * 1000)
            if request.method in ("POST", "PUT", "PATCH"):
                await self._record(exchange)

    async def _record(self, exchange: Exchange) -> None:
        """Hand an exchange to the writer. The end of the response waits while the writer is behind."""
        if self.writer.is_full():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self.writer.put, exchange))
        else:
            self.writer.put(exchange)

    def _accepted(self, value: str) -> str:
        """Return the encodings that the client accepts and that can be read here."""
        wanted = [one.strip() for one in value.split(",")]
        kept = [one for one in wanted if one.partition(";")[0] in self._encodings.split(", ")]
        return ", ".join(kept) or "identity"

    async def _body(self, request: web.Request, exchange: Exchange) -> Any:
        """Return the body to forward: its bytes, or a stream of them if it is too long to be kept."""
        if not request.body_exists:
            return None
        data = bytearray()
        while len(data) <= LARGEST:
            chunk = await request.content.readany()
            if not chunk:
                exchange.body = bytes(data)
                return io.BytesIO(exchange.body)
            data += chunk
        return _streamed(bytes(data), request, exchange)

    async def _answer(
        self, request: web.Request, url: str, headers: list[tuple[str, str]], data: Any, exchange: Exchange
    ) -> web.StreamResponse:
        assert self._session is not None
        try:
            upstream = await self._session.request(
                request.method, URL(url, encoded=True), headers=headers, data=data, allow_redirects=False
            )
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            exchange.status, exchange.end = 502, type(error).__name__
            why = f"deepprompt record: cannot reach {urlsplit(url).hostname}: {type(error).__name__}"
            return web.json_response({"type": "error", "error": {"type": "api_error", "message": why}}, status=502)
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(upstream.close)
            return await self._pass_on(request, upstream, exchange)

    async def _pass_on(
        self, request: web.Request, upstream: aiohttp.ClientResponse, exchange: Exchange
    ) -> web.StreamResponse:
        exchange.status = upstream.status
        exchange.encoding = upstream.headers.get("Content-Encoding", "")
        response = web.StreamResponse(status=upstream.status, reason=upstream.reason)
        for name, value in upstream.headers.items():
            if name.lower() not in _HOP:
                response.headers.add(name, value)
        if upstream.content_length is not None:
            response.content_length = upstream.content_length
        for name in ("request-id", "x-request-id"):
            if name in upstream.headers:
                exchange.extra["request_id"] = upstream.headers[name][:80]
        await response.prepare(request)
        pieces: list[bytes] = []
        size = 0
        try:
            async for chunk, _ in upstream.content.iter_chunks():
                await response.write(chunk)
                size += len(chunk)
                if size <= MOST_KEPT:
                    pieces.append(chunk)
        except (aiohttp.ClientPayloadError, aiohttp.ClientOSError) as error:
            exchange.end = type(error).__name__
            if request.transport is not None:
                request.transport.abort()  # the client has to see a broken body too, never a clean end
            raise ConnectionResetError from None
        finally:
            exchange.answer = b"".join(pieces)
        await response.write_eof()
        return response


async def _streamed(begin: bytes, request: web.Request, exchange: Exchange) -> AsyncIterator[bytes]:
    """Yield a body that is too long to be kept, and note its size and hash."""
    digest = hashlib.sha256(begin)
    exchange.size = len(begin)
    yield begin
    while chunk := await request.content.readany():
        digest.update(chunk)
        exchange.size += len(chunk)
        yield chunk
    exchange.sha256 = digest.hexdigest()
