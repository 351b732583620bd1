"""Recording inside a client: a transport for httpx, and a logger for LiteLLM."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from deepprompt import read_records
from deepprompt.errors import SourceError
from deepprompt.fleet.record import Record
from deepprompt.recorder.clients import RecordingTransport, litellm_logger

LIBRARIES = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
BODY = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "Hi."}]}
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}


def recorded(folder: Path) -> list[Record]:
    """The records of a store."""
    return [one for one in read_records(folder) if isinstance(one, Record)]


@pytest.mark.skipif(not LIBRARIES, reason="no httpx is installed")
@pytest.mark.parametrize("library", LIBRARIES or ["httpx"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_httpx(library: str, asynchronous: bool, tmp_path: Path) -> None:
    """Whole and streamed responses are recorded with their tokens, and reach the caller as they are."""
    httpx: Any = importlib.import_module(library)
    answer = json.dumps({"usage": USAGE}).encode()

    def handler(request: Any) -> Any:
        assert request.headers["authorization"] == "Bearer secret-key"
        if request.url.path.endswith("whole"):
            return httpx.Response(200, content=answer)
        return httpx.Response(200, stream=Pieces())

    class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):  # type: ignore[misc]
        """A response in two pieces, as a network gives it."""

        def __iter__(self) -> Iterator[bytes]:
            yield from (answer[:9], answer[9:])

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in (answer[:9], answer[9:]):
                yield piece

    transport = RecordingTransport(httpx.MockTransport(handler), store=str(tmp_path), agent="mine")
    headers = {"authorization": "Bearer secret-key", "user-agent": "agent/1.0"}

    async def later() -> None:
        async with httpx.AsyncClient(transport=transport) as client:
            assert (await client.post("http://x/v1/whole", json=BODY, headers=headers)).content == answer
            async with client.stream("POST", "http://x/v1/chat", json=BODY, headers=headers) as response:
                assert await response.aread() == answer

    if asynchronous:
        asyncio.run(later())
    else:
        with httpx.Client(transport=transport) as client:
            assert client.post("http://x/v1/whole", json=BODY, headers=headers).content == answer
            with client.stream("POST", "http://x/v1/chat", json=BODY, headers=headers) as response:
                assert response.read() == answer
    records = recorded(tmp_path)
    assert [record.usage.cached_read for record in records if record.usage] == [4, 4]
    assert {(record.agent, record.end, record.path) for record in records} == {
        ("mine", "done", "/v1/chat"),
        ("mine", "done", "/v1/whole"),
    }
    assert b"secret-key" not in b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl"))


def test_what_is_no_transport(tmp_path: Path) -> None:
    """Anything else is refused."""
    with pytest.raises(SourceError, match="wraps a transport of httpx, not object"):
        RecordingTransport(object(), store=str(tmp_path))


def test_litellm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is recorded by the payload that LiteLLM makes for loggers: messages, tools, tokens and session."""
    if importlib.util.find_spec("litellm") is None:
        import sys
        import types

        module = types.ModuleType("litellm.integrations.custom_logger")
        module.CustomLogger = type("CustomLogger", (), {})  # type: ignore[attr-defined]
        for name in ("litellm", "litellm.integrations"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        monkeypatch.setitem(sys.modules, "litellm.integrations.custom_logger", module)
    logger = litellm_logger(str(tmp_path))
    payload = {
        "startTime": 1794909600.0, "endTime": 1794909601.0, "model": "gpt-5.4", "messages": BODY["messages"],
        "model_parameters": {"tools": [{"type": "function", "function": {"name": "a"}}]}, "status": "success",
        "metadata": {"usage_object": USAGE}, "session_id": "s1", "custom_llm_provider": "openai",
    }  # fmt: skip
    logger.log_success_event({"standard_logging_object": payload}, None, None, None)
    asyncio.run(logger.async_log_success_event({"standard_logging_object": payload}, None, None, None))
    logger.log_failure_event({"standard_logging_object": {**payload, "status": "failure"}}, None, None, None)
    logger.close()
    one, two, three = recorded(tmp_path)
    assert one.usage is not None
    assert (one.usage.cached_read, one.session, one.ms, three.status) == (4, "s1", 1000, 500)
    assert one.request() == two.request() == {"model": "gpt-5.4", **payload["model_parameters"],  # type: ignore[dict-item]
                                              "messages": BODY["messages"]}  # fmt: skip


class Upstream(BaseHTTPRequestHandler):
    """A stand-in for OpenAI's Chat Completions."""

    def do_POST(self) -> None:
        """Answer, as a stream if that was asked for; refuse what is asked of the model `none`."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        choice = {"index": 0, "finish_reason": "stop"}
        said = {"role": "assistant", "content": "Yo."}
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14,
                 "prompt_tokens_details": {"cached_tokens": 7}}  # fmt: skip
        whole = {"id": "c", "created": 1, "model": body["model"]}
        if body["model"] == "none":
            self._send(404, "application/json", json.dumps({"error": {"message": "no such model"}}))
        elif body.get("stream"):
            pieces = [
                whole | {"object": "chat.completion.chunk", "choices": [choice | {"delta": said}]},
                whole | {"object": "chat.completion.chunk", "choices": [], "usage": usage},
            ]
            text = "".join(f"data: {json.dumps(one)}\n\n" for one in pieces) + "data: [DONE]\n\n"
            self._send(200, "text/event-stream", text)
        else:
            answer = whole | {"object": "chat.completion", "choices": [choice | {"message": said}], "usage": usage}
            self._send(200, "application/json", json.dumps(answer))

    def _send(self, status: int, kind: str, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="the extra litellm is not installed")
@pytest.mark.filterwarnings("ignore")  # LiteLLM's own
def test_the_real_litellm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of LiteLLM itself, whole, streamed, async and failing, are recorded with tools, tokens and session."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = importlib.import_module("litellm")
    asyncio.set_event_loop(None)  # LiteLLM asks for one, and never closes what it is given
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    logger = litellm_logger(str(tmp_path), agent="mine")
    monkeypatch.setattr(litellm, "callbacks", [logger])
    tools = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {}}}]
    given: dict[str, Any] = {
        "api_base": f"http://127.0.0.1:{server.server_port}/v1", "api_key": "sk-not-a-key-" + "x" * 20, "tools": tools,
        "messages": [{"role": "user", "content": "Hi."}], "num_retries": 0, "litellm_session_id": "s7",
    }  # fmt: skip
    try:
        litellm.completion(model="openai/gpt-4o", **given)
        stream = litellm.completion(model="openai/gpt-4o", stream=True, stream_options={"include_usage": True}, **given)
        assert list(stream)

        async def twice() -> None:
            await litellm.acompletion(model="openai/gpt-4o", **given)
            await asyncio.sleep(1)  # LiteLLM logs behind our back

        asyncio.run(twice())
        with pytest.raises(Exception, match="no such model"):
            litellm.completion(model="openai/none", **given)
        for _ in range(100):
            if len(list(tmp_path.glob("*.jsonl"))) and len(recorded(tmp_path)) >= 4:
                break
            time.sleep(0.1)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    logger.close()
    found = recorded(tmp_path)
    assert len(found) == 4
    answered = [one for one in found if one.usage is not None]
    assert len(answered) == 3
    assert {(one.usage.input, one.usage.cached_read, one.usage.output) for one in answered if one.usage} == {(11, 7, 3)}
    for one in found:
        body = one.request()
        assert body is not None
        assert body["messages"] == given["messages"]
        assert (body["tools"], one.session, one.agent) == (tools, "s7", "mine")
    assert b"sk-not-a-key" not in b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl"))
