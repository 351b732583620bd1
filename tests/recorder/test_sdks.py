"""The official SDKs through the recorder: streams, encodings, errors, disconnects, large bodies and WebSockets.

Each case runs twice, straight to the stand-in and through the recorder, and the SDK must see the same.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra record is not installed")

from aiohttp import WSMsgType, web

from deepprompt import read_records, read_usage
from deepprompt.fleet.record import Record
from deepprompt.fleet.store import Store
from deepprompt.recorder.server import Proxy
from deepprompt.recorder.writer import Writer

anthropic = pytest.importorskip("anthropic", reason="the extra sdk is not installed")
openai = pytest.importorskip("openai", reason="the extra sdk is not installed")
genai = pytest.importorskip("google.genai", reason="the extra sdk is not installed")

# Both of google-genai, whose own client inherits from aiohttp's.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning"),
]

KEY = "sk-ant-api03-" + "k" * 80
LARGE = "x" * 20_000_000

MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "Grüße."}], "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {"input_tokens": 4, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0, "output_tokens": 3},
}  # fmt: skip
RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-5.5", "error": None,
    "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tools": [],
    "tool_choice": "auto", "temperature": 1.0, "top_p": 1.0,
    "output": [{"id": "m1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Grüße.", "annotations": []}]}],
    "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 7}, "output_tokens": 3,
              "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 14},
}  # fmt: skip
CHAT = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-5.5",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Grüße."}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14,
              "prompt_tokens_details": {"cached_tokens": 7}},
}  # fmt: skip
CONTENT = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Grüße."}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 11, "cachedContentTokenCount": 7, "candidatesTokenCount": 3,
                      "totalTokenCount": 14},
}  # fmt: skip


def events_of(path: str) -> list[dict[str, Any]]:
    """Return the events of a streamed response."""
    if path.endswith("/messages"):
        usage = MESSAGE["usage"]
        assert isinstance(usage, dict)
        return [
            {"type": "message_start", "message": MESSAGE | {"content": [], "usage": usage | {"output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
    if path.endswith("/responses"):
        delta = {"type": "response.output_text.delta", "sequence_number": 1, "item_id": "m1", "output_index": 0,
                 "content_index": 0, "delta": "Grüße.", "logprobs": []}  # fmt: skip
        return [
            {"type": "response.created", "sequence_number": 0, "response": RESPONSE | {"output": [], "usage": None}},
            delta,
            {"type": "response.completed", "sequence_number": 2, "response": RESPONSE},
        ]
    if path.endswith("/chat/completions"):
        piece = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.5"}
        return [
            piece | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Grüße."}}]},
            piece | {"choices": [], "usage": CHAT["usage"]},
        ]
    return [CONTENT]


def answer_of(path: str) -> dict[str, Any]:
    """Return a whole response."""
    by_end: dict[str, dict[str, Any]] = {"/messages": MESSAGE, "/responses": RESPONSE, "/chat/completions": CHAT}
    return next((answer for end, answer in by_end.items() if path.endswith(end)), CONTENT)


class Provider:
    """A stand-in for every provider."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.gone = asyncio.Event()
        self.mode = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer as the mode says."""
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._talk(request)
        body = await request.read()
        self.sizes.append(len(body))
        if self.mode == "error":
            said = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy.", "code": 529}}
            return web.json_response(said, status=529, headers={"retry-after": "7", "request-id": "r9"})
        if self.mode == "broken":
            assert request.transport is not None
            request.transport.close()
            raise ConnectionResetError
        if b'"stream":true' in body.replace(b" ", b"") or "stream" in request.path:
            return await self._stream(request)
        data = json.dumps(answer_of(request.path)).encode()
        headers = {"content-type": "application/json"}
        if self.mode == "gzip":
            assert "gzip" in request.headers["accept-encoding"]
            data, headers = gzip.compress(data), headers | {"content-encoding": "gzip"}
        return web.Response(body=data, headers=headers)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        try:
            for event in events_of(request.path):
                name = f"event: {event['type']}\n" if "type" in event else ""
                await response.write(f"{name}data: {json.dumps(event)}\n\n".encode())
                if self.mode == "hang":
                    await asyncio.sleep(30)
            if request.path.endswith("completions"):
                await response.write(b"data: [DONE]\n\n")
        except (asyncio.CancelledError, ConnectionResetError):
            self.gone.set()
            raise
        return response

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        number = 0
        async for message in socket:
            if message.type == WSMsgType.TEXT and json.loads(message.data).get("type") == "response.create":
                number += 1
                self.sizes.append(len(message.data))
                end = "response.completed" if request.path.endswith("/responses") else "response.done"
                done = RESPONSE | {"id": f"resp_{number}"}
                for event in (*events_of("/responses")[:2], {"type": end, "response": done}):
                    await socket.send_str(json.dumps(event | {"sequence_number": number}))
        return socket


class Scene:
    """The stand-in, the recorder before it, and clients of both."""

    def __init__(self, provider: Provider, direct: str, recorded: str, folder: Path, proxy: Proxy) -> None:
        self.provider, self.folder, self.proxy = provider, folder, proxy
        self.addresses = (
            dict.fromkeys(("anthropic", "openai", "gemini"), direct),
            {name: f"{recorded}/{name}" for name in ("anthropic", "openai", "gemini")},
        )

    def records(self) -> list[Record]:
        """Return what was recorded."""
        return [one for one in read_records(self.folder) if isinstance(one, Record)]


@asynccontextmanager
async def scene(folder: Path, websocket: str = "refuse") -> AsyncIterator[Scene]:
    """Start everything on loopback."""
    provider = Provider()
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", provider.handle)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    direct = f"http://127.0.0.1:{runner.addresses[0][1]}"
    writer = Writer(Store(str(folder)))
    proxy = Proxy(dict.fromkeys(("anthropic", "openai", "gemini"), direct), writer, websocket=websocket)
    await proxy.start()
    try:
        yield Scene(provider, direct, proxy.address, folder, proxy)
    finally:
        await proxy.stop()
        writer.close()
        await runner.cleanup()


Call = Callable[[dict[str, str], str, bool], Awaitable[Any]]
"""Sends a text to the addresses of the routes, as a stream or not, and returns what the SDK made of the response."""


async def by_anthropic(urls: dict[str, str], text: str, stream: bool) -> Any:
    """Anthropic's Messages."""
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=urls["anthropic"], max_retries=0) as client:
        given = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
        if not stream:
            return (await client.messages.create(**given)).to_dict()
        async with client.messages.stream(**given) as events:
            said = [text async for text in events.text_stream]
            return said, (await events.get_final_message()).to_dict()


async def by_responses(urls: dict[str, str], text: str, stream: bool) -> Any:
    """OpenAI's Responses."""
    async with openai.AsyncOpenAI(api_key=KEY, base_url=urls["openai"] + "/v1", max_retries=0) as client:
        if not stream:
            return (await client.responses.create(model="gpt-5.5", input=text)).to_dict()
        events = await client.responses.create(model="gpt-5.5", input=[{"role": "user", "content": text}], stream=True)
        return [event.to_dict() async for event in events]


async def by_chat(urls: dict[str, str], text: str, stream: bool) -> Any:
    """OpenAI's Chat Completions."""
    async with openai.AsyncOpenAI(api_key=KEY, base_url=urls["openai"] + "/v1", max_retries=0) as client:
        given = {"model": "gpt-5.5", "messages": [{"role": "user", "content": text}]}
        if not stream:
            return (await client.chat.completions.create(**given)).to_dict()
        events = await client.chat.completions.create(**given, stream=True, stream_options={"include_usage": True})
        return [event.to_dict() async for event in events]


async def by_gemini(urls: dict[str, str], text: str, stream: bool) -> Any:
    """Gemini's generateContent."""
    client = genai.Client(api_key=KEY, http_options={"base_url": urls["gemini"]})
    try:
        if not stream:
            found = await client.aio.models.generate_content(model="gemini-4-pro", contents=text)
            return found.model_dump(exclude={"sdk_http_response"})
        events = await client.aio.models.generate_content_stream(model="gemini-4-pro", contents=text)
        return [event.model_dump(exclude={"sdk_http_response"}) async for event in events]
    finally:
        await client.aio.aclose()


SDKS = [by_anthropic, by_responses, by_chat, by_gemini]


@pytest.mark.parametrize("mode", ["whole", "stream", "gzip"])
@pytest.mark.parametrize("call", SDKS)
def test_the_same_through_the_recorder(call: Call, mode: str, tmp_path: Path) -> None:
    """An SDK gets the same through the recorder, and the request and its tokens are recorded, but no key is."""

    async def run() -> None:
        async with scene(tmp_path) as found:
            found.provider.mode = mode
            direct, recorded = [await call(urls, "Grüß Gott 🎉", mode == "stream") for urls in found.addresses]
            assert recorded == direct
            assert "Grüße." in str(direct)
        (record,) = found.records()
        assert "Grüß Gott 🎉" in json.dumps(record.request(), ensure_ascii=False)
        assert record.usage is not None
        assert (record.usage.input, record.usage.cached_read, record.usage.output) == (11, 7, 3)
        assert (record.status, record.end) == (200, "done")
        assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl"))

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["error", "broken"])
@pytest.mark.parametrize("call", SDKS)
def test_errors(call: Call, mode: str, tmp_path: Path) -> None:
    """An error of the provider reaches the SDK as it is; a provider that hangs up is an error of the server."""

    async def run() -> None:
        async with scene(tmp_path) as found:
            found.provider.mode = mode
            errors = []
            for urls in found.addresses:
                with pytest.raises(Exception) as caught:  # whichever the SDK has
                    await call(urls, "Hi.", False)
                errors.append(caught.value)
            if mode == "error":
                assert type(errors[0]) is type(errors[1])
                assert str(errors[0]) == str(errors[1])
            else:
                assert "deepprompt record" in str(errors[1])
        (record,) = found.records()
        assert record.status == (529 if mode == "error" else 502)
        assert record.usage is None

    asyncio.run(run())


@pytest.mark.parametrize("call", SDKS)
def test_a_client_that_goes_away(call: Call, tmp_path: Path) -> None:
    """If an SDK is cancelled in the middle of a stream, the provider sees it, and what was recorded says so."""

    async def run() -> None:
        async with scene(tmp_path) as found:
            found.provider.mode = "hang"
            task = asyncio.ensure_future(call(found.addresses[1], "Hi.", True))
            for _ in range(1000):
                await asyncio.sleep(0.01)
                if found.provider.sizes or task.done():
                    break
            await asyncio.sleep(0.2)
            assert not task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.wait_for(found.provider.gone.wait(), 10)
        (record,) = found.records()
        assert record.end == "aborted"

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("call", SDKS)
def test_a_large_body(call: Call, tmp_path: Path) -> None:
    """A body of 20 MB arrives whole, and is recorded whole."""

    async def run() -> None:
        async with scene(tmp_path) as found:
            for urls in found.addresses:
                await call(urls, LARGE, False)
            assert found.provider.sizes[0] == found.provider.sizes[1] > len(LARGE)
        (record,) = found.records()
        assert LARGE in json.dumps(record.request())

    asyncio.run(run())


def test_websockets_of_responses(tmp_path: Path) -> None:
    """Responses over a WebSocket, as the SDK connects: passed on, each request recorded whole."""

    async def talk(urls: dict[str, str]) -> list[Any]:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=urls["openai"] + "/v1") as client:
            seen: list[Any] = []
            async with client.responses.connect() as connection:
                for number, more in enumerate(({}, {"previous_response_id": "resp_1"})):
                    item = {"type": "message", "role": "user", "content": f"Turn {number}."}
                    await connection.response.create(model="gpt-5.5", input=[item], **more)
                    while seen[-1:] == [] or seen[-1]["type"] != "response.completed" or len(seen) < 3 * (number + 1):
                        seen.append((await connection.recv()).to_dict())
            return seen

    async def run() -> None:
        async with scene(tmp_path, "pass") as found:
            direct, recorded = [await talk(urls) for urls in found.addresses]
            assert recorded == direct
            assert len(direct) == 6
        first, second = found.records()
        one, two = first.request(), second.request()
        assert one is not None
        assert two is not None
        assert two["input"] == [*one["input"], *RESPONSE["output"], two["input"][-1]]  # type: ignore[misc]
        assert second.usage == read_usage(RESPONSE)

    asyncio.run(run())


def test_websockets_are_refused(tmp_path: Path) -> None:
    """By default a WebSocket is refused with 426, which agents answer by going on over HTTP."""

    async def run() -> None:
        async with scene(tmp_path) as found:
            client = openai.AsyncOpenAI(api_key=KEY, base_url=found.addresses[1]["openai"] + "/v1")
            with pytest.raises(Exception, match="426"):
                async with client.responses.connect():
                    pass
            await client.close()

    asyncio.run(run())


def test_realtime(tmp_path: Path) -> None:
    """Realtime sessions pass too, in both directions. They are no requests with a prefix: nothing is recorded."""

    async def run() -> None:
        async with scene(tmp_path, "pass") as found:
            client = openai.AsyncOpenAI(api_key=KEY, base_url=found.addresses[1]["openai"] + "/v1")
            async with client.realtime.connect(model="gpt-realtime") as connection:
                await connection.response.create()
                kinds = [(await connection.recv()).type for _ in range(3)]
            assert kinds[-1] == "response.done"
            await client.close()
        assert list(tmp_path.glob("*.jsonl")) == []

    asyncio.run(run())
