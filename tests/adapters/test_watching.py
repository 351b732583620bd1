"""A transport of httpx that gives what passes to a `Watch`."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
from typing import Any

import pytest

from deepprompt import Watch
from deepprompt.adapters.watching import watched

LIBRARIES = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
MODEL = "claude-opus-5-5"
MARK = {"cache_control": {"type": "ephemeral"}}

pytestmark = [
    pytest.mark.skipif(not LIBRARIES, reason="no httpx is installed"),
    pytest.mark.parametrize("library", LIBRARIES or ["httpx"]),
]


def body(turns: int) -> dict[str, Any]:
    """Return a request that grows, with a mark at its end."""
    messages = [{"role": ("user", "assistant")[number % 2], "content": f"{number} " * 2000} for number in range(turns)]
    return {"model": MODEL, "messages": messages, **MARK}


def answer(read: int, written: int, status: int = 200) -> tuple[int, bytes]:
    """Return a response that says what was read and written."""
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": read}
    return status, json.dumps({"usage": {**usage, "cache_creation_input_tokens": written}}).encode()


def client(library: str, answers: list[tuple[int, bytes]], watch: Any, *, asynchronous: bool = False) -> Any:
    """Return a client whose transport gives these answers."""
    httpx: Any = importlib.import_module(library)
    left = iter(answers)

    def handler(_: Any) -> Any:
        status, content = next(left)
        return httpx.Response(status, content=content)

    kind = httpx.AsyncClient if asynchronous else httpx.Client
    return kind(transport=watched(httpx.MockTransport(handler), watch))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_answered_request_has_a_verdict(library: str, asynchronous: bool) -> None:
    """A cold start and a hit, in clients of both kinds; a request that failed is left out."""
    watch = Watch("anthropic", MODEL)
    answers = [answer(0, 1000), answer(0, 0, 529), answer(1000, 1000)]
    made = client(library, answers, watch, asynchronous=asynchronous)

    async def later() -> None:
        async with made:
            for turns in (1, 3, 3):
                await made.post("http://x/v1/messages", json=body(turns))

    if asynchronous:
        asyncio.run(later())
    else:
        with made:
            for turns in (1, 3, 3):
                made.post("http://x/v1/messages", json=body(turns))
    assert [verdict.kind for verdict in watch.verdicts] == ["cold start", "hit"]


def test_what_cannot_be_judged_does_not_disturb(library: str, caplog: pytest.LogCaptureFixture) -> None:
    """A body that is no request, an answer that is no JSON and impossible numbers leave the caller alone."""
    watch = Watch("anthropic", MODEL)
    impossible = json.dumps({"usage": {"input_tokens": -1, "output_tokens": 1}}).encode()
    with client(library, [(200, b"no JSON"), answer(0, 1), (200, impossible)], watch) as made:
        assert made.post("http://x/v1/messages", json=body(1)).content == b"no JSON"
        made.post("http://x/v1/messages", content=b"no JSON")
        made.post("http://x/v1/messages", json=body(1))
    assert watch.verdicts == []
    assert "no verdict on a request" in caplog.text


def test_one_client_for_several_conversations(library: str) -> None:
    """A function finds the watch of a body, or none."""
    watch = Watch("anthropic", MODEL)
    with client(library, [answer(0, 1000)] * 2, lambda sent: watch if len(sent["messages"]) > 1 else None) as made:
        for turns in (1, 3):
            made.post("http://x/v1/messages", json=body(turns))
    assert len(watch.verdicts) == 1
