"""A recorded response on OpenTelemetry's span, through a real httpx client and the real SDK."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt.recorder.clients import RecordingTransport

LIBRARIES = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
PROMPT = "You sort letters of customers. Today is {}.\n" + "Be brief and polite.\n" * 400


def body(day: str, *said: str) -> dict[str, Any]:
    """A request whose system prompt names a day."""
    messages = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": text} for number, text in enumerate(said)
    ]
    return {"model": "gpt-5.4", "messages": [{"role": "system", "content": PROMPT.format(day)}, *messages]}


@pytest.mark.skipif(not LIBRARIES, reason="no httpx is installed")
@pytest.mark.parametrize("library", LIBRARIES or ["httpx"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_spans(library: str, asynchronous: bool, tmp_path: Path) -> None:
    """Each span has the usage of its response, and what the cache did: a first request, a hit, and a changed date."""
    reason = "opentelemetry-sdk is not installed: pip install -e '.[telemetry]'"
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason=reason)
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    httpx: Any = importlib.import_module(library)
    exporter = memory.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    bodies = [
        body("2026-11-17", "Hi."),
        body("2026-11-17", "Hi.", "Yes?", "Sort this."),
        body("2026-11-18", "Hi.", "Yes?", "Sort this.", "Done.", "And this."),
    ]
    reads = iter((0, 2000, 0))

    def handler(request: Any) -> Any:
        if request.url.path.endswith("models"):
            return httpx.Response(200, content=b"[]")
        details = {"cached_tokens": next(reads)}
        usage = {"prompt_tokens": 2100, "completion_tokens": 3, "prompt_tokens_details": details}
        return httpx.Response(200, json={"usage": usage})

    transport = RecordingTransport(httpx.MockTransport(handler), store=str(tmp_path))
    if asynchronous:

        async def run() -> None:
            async with httpx.AsyncClient(transport=transport) as client:
                for one in bodies:
                    with tracer.start_as_current_span("chat"):
                        await client.post("http://x/v1/chat/completions", json=one)
                with tracer.start_as_current_span("models"):
                    await client.get("http://x/v1/models")

        asyncio.run(run())
    else:
        with httpx.Client(transport=transport) as client:
            for one in bodies:
                with tracer.start_as_current_span("chat"):
                    client.post("http://x/v1/chat/completions", json=one)
            with tracer.start_as_current_span("models"):
                client.get("http://x/v1/models")
    *chats, models = exporter.get_finished_spans()
    provider.shutdown()
    assert not models.attributes
    assert [span.attributes["deepprompt.cache.verdict"] for span in chats] == ["cold start", "hit", "ours"]
    assert [span.attributes["gen_ai.usage.cache_read.input_tokens"] for span in chats] == [0, 2000, 0]
    assert {span.attributes["gen_ai.provider.name"] for span in chats} == {"openai"}
    assert {span.attributes["gen_ai.request.model"] for span in chats} == {"gpt-5.4"}
    assert chats[2].attributes["deepprompt.blame.kind"] == "clock"
    assert [event.name for event in chats[2].events] == ["deepprompt.cache.miss"]
    assert "2026" not in json.dumps({k: v for k, v in chats[2].attributes.items() if k != "deepprompt.facts"})
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl"))
    assert stored.count(b'"body"') == 3
