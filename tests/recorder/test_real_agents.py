"""Published agents, where they are installed: recorded by our command line against a stand-in, in a home of their own.

The agent must do the same as without the recorder: print the same, end the same, and send the same requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra record is not installed")

from aiohttp import web

from deepprompt import read_records, report
from deepprompt.fleet.record import Record

pytestmark = pytest.mark.slow

USAGE = {"input_tokens": 4, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0, "output_tokens": 3}
SAID = "Hello from the stand-in."
ITEM = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": SAID, "annotations": []}]}  # fmt: skip
RESPONSE = {"id": "resp_1", "object": "response", "status": "completed", "output": [ITEM],
            "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 7}, "output_tokens": 3,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 14}}  # fmt: skip
EVENTS: dict[str, list[dict[str, Any]]] = {
    "/v1/messages": [
        {"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "content": [],
                                              "model": "claude-opus-5-5", "usage": USAGE | {"output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    "/v1/responses": [
        {"type": "response.created", "response": RESPONSE | {"output": [], "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": ITEM | {"content": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.completed", "response": RESPONSE},
    ],
}  # fmt: skip


class Provider:
    """A stand-in for both providers, in a thread of its own."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade"):
            raise web.HTTPUpgradeRequired
        if request.method != "POST" or request.path not in EVENTS:
            return web.json_response({"data": [], "models": [], "input_tokens": 5})
        self.bodies.append(json.loads(await request.read()))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in EVENTS[request.path]:
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response

    def __enter__(self) -> Provider:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *ended: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A running stand-in."""
    with Provider() as found:
        yield found


AGENTS = {
    "claude": (["-p"], ["-p", "--continue"], {"ANTHROPIC_API_KEY": "sk-ant-api03-fake"}),
    "codex": (
        ["exec", "--skip-git-repo-check"],
        ["exec", "--skip-git-repo-check", "resume", "--last"],
        {"OPENAI_API_KEY": "sk-fake", "CODEX_API_KEY": "sk-fake"},
    ),
}


def started(command: list[str], home: Path, keys: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a home of its own, with none of our variables but the path."""
    (home / "project").mkdir(parents=True, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **keys, **more}
    return subprocess.run(
        command, cwd=home / "project", env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=180, check=False,
    )  # fmt: skip


def prompts(body: dict[str, Any]) -> Any:
    """Return the tools and prompts of a body, without what is another one in every run."""
    text = json.dumps({name: body.get(name) for name in ("model", "tools", "system", "instructions", "stream")})
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27,}|/[\w/.-]*(?:direct|recorded)[\w/.-]*|cch=\w+|\d{4}-\d\d-\d\d", "*", text)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_recorded_and_does_the_same(agent: str, provider: Provider, tmp_path: Path) -> None:
    """Two prompts of one conversation: same output and requests as without the recorder, and both are recorded."""
    if (program := shutil.which(agent)) is None:
        pytest.skip(f"{agent} is not installed")
    first, second, keys = AGENTS[agent]
    url = f"http://127.0.0.1:{provider.port}"
    arguments = ["-c", f'openai_base_url="{url}/v1"'] if agent == "codex" else []
    direct = [
        started([program, *arguments, *options, "Say hello."], tmp_path / "direct", keys, ANTHROPIC_BASE_URL=url,
                ENABLE_TOOL_SEARCH="true")
        for options in (first, second)
    ]  # fmt: skip
    plain = list(provider.bodies)
    provider.bodies.clear()
    store = tmp_path / "store"
    record = [sys.executable, "-m", "deepprompt", "record", "--upstream", url, "--store", str(store), "--", agent]
    recorded = [started([*record, *options, "Say hello."], tmp_path / "recorded", keys) for options in (first, second)]
    assert [one.returncode for one in (*direct, *recorded)] == [0] * 4, [one.stderr[-2000:] for one in recorded]
    assert [one.stdout for one in recorded] == [one.stdout for one in direct]
    assert all(SAID in one.stdout for one in recorded)
    assert list(map(prompts, provider.bodies)) == list(map(prompts, plain))
    assert all(re.search(r"\d requests? in \d conversation", one.stderr) for one in recorded)

    records = [one for one in read_records(store) if isinstance(one, Record)]
    assert [one.request() for one in records] != []
    assert len(records) == len(provider.bodies)
    assert {one.agent for one in records} == {agent}
    assert all(one.usage is not None and one.usage.cached_read == 7 for one in records)
    assert all(key.encode() not in path.read_bytes() for key in keys.values() for path in store.glob("*.jsonl"))
    found = report(store)
    assert found.tally.total.requests == len(records)
    assert found.tally.unread == 0
