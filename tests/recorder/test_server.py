"""The recorder's proxy against a stand-in on loopback: bytes pass untouched, no key is stored, nothing is lost."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import random
import socket
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("aiohttp", reason="the extra record is not installed")

import aiohttp
from aiohttp import web

from deepprompt import read_records
from deepprompt.errors import SourceError
from deepprompt.fleet.record import Record
from deepprompt.fleet.store import Store
from deepprompt.recorder.server import Proxy, check_upstream
from deepprompt.recorder.writer import Writer
from tests.support.keys import KEYS

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
USAGE = {"input_tokens": 3, "cache_read_input_tokens": 6, "output_tokens": 2}
EVENTS = [
    b'data: {"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":6}}}\n\n',
    b'data: {"type":"content_block_delta","delta":{"text":"caf\xc3\xa9"}}\n\n',
    b'data: {"type":"message_delta","usage":{"output_tokens":2}}\n\n',
]
BODY = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hi."}]}


class Scene:
    """A stand-in for a provider, the recorder before it, and a client."""

    def __init__(self, folder: Path, handler: Handler, websocket: str = "refuse") -> None:
        self.folder, self.handler, self.websocket = folder / "store", handler, websocket

    async def __aenter__(self) -> Scene:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self.handler)
        self.runner = web.AppRunner(app, handler_cancellation=True)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        upstream = f"http://127.0.0.1:{self.runner.addresses[0][1]}"
        self.writer = Writer(Store(str(self.folder)))
        self.proxy = Proxy({"anthropic": upstream, "openai": upstream}, self.writer, websocket=self.websocket)
        await self.proxy.start()
        self.client = aiohttp.ClientSession(auto_decompress=False)
        self.url = f"{self.proxy.address}/anthropic/v1/messages"
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.client.close()
        await self.proxy.stop()
        self.writer.close()
        await self.runner.cleanup()

    def stored(self) -> bytes:
        """All bytes of the store but the key's."""
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob("*.jsonl")))

    def records(self) -> list[Record]:
        """The records of the store."""
        return [one for one in read_records(self.folder) if isinstance(one, Record)]


async def answer(request: web.Request) -> web.Response:
    """Answer with a usage."""
    await request.read()
    return web.json_response({"usage": USAGE}, headers={"request-id": "r1"})


def packed(data: bytes, encoding: str) -> bytes:
    """Encode a response."""
    if encoding == "gzip":
        return gzip.compress(data)
    if encoding == "deflate":
        return zlib.compress(data)
    if encoding == "br":
        return bytes(pytest.importorskip("brotli").compress(data))
    if encoding == "zstd":
        return bytes(pytest.importorskip("zstandard").compress(data))
    return data


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "zstd"])
def test_streams_pass_untouched(encoding: str, tmp_path: Path) -> None:
    """Whatever the encoding and however it is cut, the client gets the upstream's bytes, and the tokens are read."""
    data = packed(b"".join(EVENTS), encoding)
    chance = random.Random(encoding)

    def pieces() -> list[bytes]:
        cuts = sorted(chance.sample(range(1, len(data)), chance.randrange(min(len(data), 40))))
        return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]

    async def streamed(request: web.Request) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream"} | ({"content-encoding": encoding} if encoding else {})
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for piece in pieces():
            await response.write(piece)
            await asyncio.sleep(chance.choice((0, 0.001)))
        return response

    async def run() -> None:
        headers = {"accept-encoding": encoding}
        async with Scene(tmp_path, streamed) as scene:
            for _ in range(12):
                async with scene.client.post(scene.url, json=BODY, headers=headers) as response:
                    assert await response.read() == data
                    assert response.headers.get("content-encoding", "") == encoding
        assert len(scene.records()) == 12
        for record in scene.records():
            assert record.usage is not None
            assert (record.usage.input, record.usage.cached_read, record.usage.output) == (9, 6, 2)
            assert (record.end, record.status) == ("done", 200)

    asyncio.run(run())


def test_no_piece_waits_for_the_next(tmp_path: Path) -> None:
    """A piece of a stream is passed on before the next one is there."""

    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(EVENTS[0])
        await scene_gate.wait()
        await response.write(EVENTS[2])
        return response

    async def run() -> None:
        global scene_gate
        scene_gate = asyncio.Event()
        async with Scene(tmp_path, slow) as scene, scene.client.post(scene.url, json=BODY) as response:
            assert await asyncio.wait_for(response.content.readany(), 5) == EVENTS[0]
            scene_gate.set()
            assert await response.content.read() == EVENTS[2]

    asyncio.run(run())


scene_gate: asyncio.Event


def test_no_key_is_stored(tmp_path: Path) -> None:
    """A key in a header, in the query or in a text reaches the upstream and never the store; a change of it shows."""
    keys = [key for _, key in KEYS.values() if key.isascii() and "\n" not in key][:20]
    seen: list[tuple[str, bytes]] = []

    async def note(request: web.Request) -> web.Response:
        seen.append((request.headers["x-api-key"], await request.read()))
        return await answer(request)

    async def run() -> None:
        async with Scene(tmp_path, note) as scene:
            for key in keys:
                body = {**BODY, "system": f"Use {key} for it."}
                url = f"{scene.url}?key={quote(key)}"
                async with scene.client.post(url, json=body, headers={"x-api-key": key}) as response:
                    assert response.status == 200
        stored = scene.stored()
        assert [key for key in keys if key.encode() in stored] == []
        assert [key for key, body in seen] == keys
        assert stored.count(b"[redacted:") >= len(keys)
        systems = {record.request()["system"] for record in scene.records()}  # type: ignore[index]
        assert len(systems) == len(set(keys))

    asyncio.run(run())


def test_strangers_are_refused(tmp_path: Path) -> None:
    """Without the token, from a web page, or under another name of the host nothing is forwarded."""

    async def run() -> None:
        async with Scene(tmp_path, answer) as scene:
            port, token = scene.proxy.port, scene.proxy.token
            cases = [
                (f"http://127.0.0.1:{port}/v1/messages", {}, 404),
                (f"http://127.0.0.1:{port}/wrong/anthropic/v1/messages", {}, 404),
                (f"http://127.0.0.1:{port}/{token}/elsewhere/v1/messages", {}, 404),
                (scene.url, {"Host": f"evil.example:{port}"}, 403),
                (scene.url, {"Host": f"localhost.evil.example:{port}"}, 403),
                (scene.url, {"Origin": "https://evil.example"}, 403),
            ]
            for url, headers, status in cases:
                async with scene.client.post(url, json=BODY, headers=headers) as response:
                    assert response.status == status, url
            assert scene.proxy.forwarded == 0
        assert scene.stored() == b""

    asyncio.run(run())


def test_only_loopback_listens(tmp_path: Path) -> None:
    """The recorder cannot be reached under another address of this machine."""

    async def run() -> None:
        async with Scene(tmp_path, answer) as scene:
            with socket.socket() as other:
                other.settimeout(2)
                assert other.connect_ex(("127.0.0.2", scene.proxy.port)) != 0

    asyncio.run(run())


def test_errors_pass(tmp_path: Path) -> None:
    """A refusal of the provider reaches the client with its headers and its body."""

    async def busy(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response({"type": "error"}, status=529, headers={"retry-after": "7", "request-id": "r2"})

    async def run() -> None:
        async with Scene(tmp_path, busy) as scene, scene.client.post(scene.url, json=BODY) as response:
            assert (response.status, response.headers["retry-after"]) == (529, "7")
            assert await response.json() == {"type": "error"}
        (record,) = scene.records()
        assert record.status == 529

    asyncio.run(run())


def test_an_upstream_that_is_not_there(tmp_path: Path) -> None:
    """Where nobody listens, the client gets an error in the provider's shape, and the request is recorded."""

    async def run() -> None:
        async with Scene(tmp_path, answer) as scene:
            await scene.runner.cleanup()
            async with scene.client.post(scene.url, json=BODY) as response:
                assert response.status == 502
                assert (await response.json())["error"]["type"] == "api_error"
        (record,) = scene.records()
        assert (record.status, record.end.startswith("Client")) == (502, True)

    asyncio.run(run())


def test_an_upstream_that_breaks_off(tmp_path: Path) -> None:
    """The client sees a broken body too, never a clean end."""

    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(EVENTS[0])
        assert request.transport is not None
        request.transport.abort()
        return response

    async def run() -> None:
        async with Scene(tmp_path, broken) as scene:
            with pytest.raises(aiohttp.ClientError):
                async with scene.client.post(scene.url, json=BODY) as response:
                    await response.read()
        (record,) = scene.records()
        assert record.end != "done"

    asyncio.run(run())


def test_a_client_that_goes_away(tmp_path: Path) -> None:
    """The upstream is closed at once, and the request is recorded as aborted with the tokens so far."""
    gone = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            await response.write(EVENTS[0])
            await asyncio.sleep(30)
        finally:
            gone.set()
        return response

    async def run() -> None:
        async with Scene(tmp_path, endless) as scene:
            response = await scene.client.post(scene.url, json=BODY)
            await response.content.readany()
            response.close()
            await asyncio.wait_for(gone.wait(), 5)
        (record,) = scene.records()
        assert record.end == "aborted"

    asyncio.run(run())


def test_a_large_body(tmp_path: Path) -> None:
    """A body of 20 MB reaches the upstream whole, and is recorded."""
    sizes: list[int] = []

    async def measure(request: web.Request) -> web.Response:
        sizes.append(len(await request.read()))
        return web.json_response({"usage": USAGE})

    async def run() -> None:
        body = json.dumps({**BODY, "system": "x" * (20 << 20)}).encode()
        async with Scene(tmp_path, measure) as scene, scene.client.post(scene.url, data=io.BytesIO(body)) as response:
            assert response.status == 200
        assert sizes == [len(body)]
        (record,) = scene.records()
        assert len(record.raw) > 20 << 20

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["refuse", "pass"])
def test_websockets(mode: str, tmp_path: Path) -> None:
    """Refused by default, so that an agent falls back to HTTP; passed on, a request is put together and recorded."""

    async def server(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        number = 0
        async for message in socket:
            assert json.loads(message.data)["type"] == "response.create"
            number += 1
            output = [{"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}]
            usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 6}, "output_tokens": 2}
            done = {"id": f"r{number}", "output": output, "usage": usage}
            await socket.send_json({"type": "response.completed", "response": done})
        return socket

    async def run() -> None:
        async with Scene(tmp_path, server, mode) as scene:
            url = f"{scene.proxy.address}/openai/v1/responses"
            if mode == "refuse":
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await scene.client.ws_connect(url)
                assert refused.value.status == 426
                return
            async with scene.client.ws_connect(url) as talk:
                first = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}
                await talk.send_json({"type": "response.create", "model": "gpt-5.6-sol", "input": [first]})
                assert (await talk.receive_json())["type"] == "response.completed"
                result = {"type": "function_call_output", "call_id": "1", "output": "x"}
                await talk.send_json({"type": "response.create", "model": "gpt-5.6-sol", "input": [result],
                                      "previous_response_id": "r1"})  # fmt: skip
                await talk.receive_json()
        one, two = scene.records()
        assert one.usage is not None
        assert one.usage.cached_read == 6
        assert [item["type"] for item in two.request()["input"]] == [  # type: ignore[index]
            "message", "function_call", "function_call_output",
        ]  # fmt: skip

    asyncio.run(run())


def test_nothing_is_lost_silently(tmp_path: Path) -> None:
    """Many requests at once: those that were forwarded are recorded, or counted as lost."""

    async def run() -> None:
        async with Scene(tmp_path, answer) as scene:

            async def one(number: int) -> None:
                async with scene.client.post(scene.url, json={**BODY, "system": f"{number} " * 5000}) as response:
                    await response.read()

            await asyncio.gather(*(one(number) for number in range(100)))
        assert scene.proxy.forwarded == len(scene.records()) + scene.writer.lost == 100

    asyncio.run(run())


@pytest.mark.parametrize("address", ["ftp://x", "http://api.example", "https://", "https://u:p@x", "https://x?y", "x"])
def test_upstreams(address: str) -> None:
    """An upstream is https, or on this machine."""
    with pytest.raises(SourceError, match="an upstream is https://HOST"):
        check_upstream(address)


class TestSdks:
    """The real SDKs through the recorder."""

    def test_anthropic(self, tmp_path: Path) -> None:
        """Whole and streamed, sync code in a thread."""
        anthropic = pytest.importorskip("anthropic", reason="the extra sdk is not installed")
        start = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": USAGE}

        async def messages(request: web.Request) -> web.StreamResponse:
            if not (await request.json()).get("stream"):
                return web.json_response(start)
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            for event in ({"type": "message_start", "message": start},
                          {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5}},
                          {"type": "message_stop"}):  # fmt: skip
                await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            return response

        def talk(address: str) -> Any:
            with anthropic.Anthropic(base_url=f"{address}/anthropic", api_key="k") as client:
                arguments: Any = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": BODY["messages"]}
                whole = client.messages.create(**arguments)
                with client.messages.stream(**arguments) as stream:
                    return whole.usage.input_tokens, stream.get_final_message().usage.output_tokens

        async def run() -> None:
            async with Scene(tmp_path, messages) as scene:
                assert await asyncio.to_thread(talk, scene.proxy.address) == (3, 5)
            assert [record.usage.output for record in scene.records() if record.usage] == [2, 5]

        asyncio.run(run())

    def test_openai(self, tmp_path: Path) -> None:
        """Chat Completions, with retries after an error as requests of their own."""
        openai = pytest.importorskip("openai", reason="the extra sdk is not installed")
        tries: list[str] = []

        async def chat(request: web.Request) -> web.Response:
            await request.read()
            tries.append(request.headers["x-stainless-retry-count"])
            if len(tries) == 1:
                return web.json_response({"error": {}}, status=500, headers={"retry-after-ms": "1"})
            usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
            choice = {"index": 0, "message": {"role": "assistant", "content": "Yo."}, "finish_reason": "stop"}
            kind = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
            return web.json_response({**kind, "choices": [choice], "usage": usage})

        def talk(address: str) -> Any:
            with openai.OpenAI(base_url=f"{address}/openai/v1", api_key="k") as client:
                return client.chat.completions.create(model="gpt-5.4", messages=BODY["messages"]).usage.prompt_tokens

        async def run() -> None:
            async with Scene(tmp_path, chat) as scene:
                assert await asyncio.to_thread(talk, scene.proxy.address) == 9
            assert [(record.status, record.retry) for record in scene.records()] == [(500, 0), (200, 1)]

        asyncio.run(run())


def test_a_websocket_that_the_provider_refuses(tmp_path: Path) -> None:
    """The client sees the refusal as it was given, so that it can fall back; and one that is not there is a 502."""

    async def refusing(request: web.Request) -> web.StreamResponse:
        raise web.HTTPUpgradeRequired if "responses" in request.path else web.HTTPUnauthorized

    async def run() -> None:
        async with Scene(tmp_path, refusing, "pass") as scene:
            for path, status in (("responses", 426), ("realtime", 401)):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await scene.client.ws_connect(f"{scene.proxy.address}/openai/v1/{path}")
                assert refused.value.status == status
            await scene.runner.cleanup()
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await scene.client.ws_connect(f"{scene.proxy.address}/openai/v1/responses")
            assert refused.value.status == 502

    asyncio.run(run())
