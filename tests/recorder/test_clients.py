"""Recording inside a client: a transport for httpx, and a logger for LiteLLM."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Iterator
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
