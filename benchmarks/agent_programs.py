"""How to start published agents against a model server on loopback, which answers in the form of each API.

`AGENTS` says for each program where to install it from, how to point it at a server, and how it takes a message.
`Server` is the model: it writes down what it is sent, calls the queued tool once, and says "done" otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PROBE = "PROBE"
"""Stands for the message in a program's command."""
SECONDS = 90

_OPENHANDS = """
import os, sys
from openhands.sdk import LLM, Agent, AgentContext, Conversation
from openhands.sdk.skills import load_available_skills

found = load_available_skills(work_dir=os.getcwd(), include_user=True, include_project=True)
context = AgentContext(skills=list(found.values()) if isinstance(found, dict) else found)
llm = LLM(model="openai/stub", base_url=sys.argv[1], api_key="stub", num_retries=0)
conversation = Conversation(agent=Agent(llm=llm, tools=[], agent_context=context), workspace=os.getcwd())
conversation.send_message("PROBE")
conversation.run()
"""

# A library without a model: its text is sent as a request, so that it is read like the others'.
_DSH = """
const folder = process.env.PATH.split(":")[0] + "/../@deepseek-ai/dsh-agent-instructions/lib/index.js";
const { loadBaselineInstructions } = await import(folder);
const home = process.env.HOME + "/.dsh";
const found = await loadBaselineInstructions({ cwd: process.cwd(), dshHome: home, maxBytes: 65536 });
const body = { tools: [{}], messages: [{ content: JSON.stringify(found ?? "") }, { content: "PROBE" }] };
await fetch(process.argv[1] + "/v1/chat/completions", { method: "POST", body: JSON.stringify(body) });
"""


_AIDER = (
    "aider", "--model", "openai/stub", "--yes-always", "--no-check-update", "--no-show-model-warnings",
    "--no-analytics", "--no-gitignore", "--no-stream", "--map-tokens", "0", "--read", "AGENTS.md", "cart.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Agent:
    """How to install one program, and how to point it at the server, whose address stands for `{url}`."""

    command: tuple[str, ...]
    """The command line with PROBE in place of the message."""
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Files of the home folder."""
    read: tuple[str, str] = ("", "")
    """The tool that reads a file, and the name of its argument."""
    package: str = ""
    """The package that has it: `npm:NAME@VERSION` or `pypi:NAME==VERSION`."""
    resumed: tuple[str, ...] = ()
    """The command line that goes on with the last conversation."""


AGENTS = {
    "codex": Agent(
        ("codex", "exec", "--skip-git-repo-check", "-s", "read-only", PROBE),
        {"STUB_KEY": "stub"},
        {
            ".codex/config.toml": 'model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
            'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n'
        },
        package="npm:@openai/codex@0.169.0",
        resumed=("codex", "exec", "--skip-git-repo-check", "-s", "read-only", "resume", "--last", PROBE),
    ),
    "claude-code": Agent(
        ("claude", "-p", PROBE),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "stub",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        read=("Read", "file_path"),
        package="npm:@anthropic-ai/claude-code@2.1.197",
        resumed=("claude", "--continue", "-p", PROBE),
    ),
    "gemini-cli": Agent(
        ("gemini", "--skip-trust", "-p", PROBE),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "stub"},
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
        read=("read_file", "file_path"),
        package="npm:@google/gemini-cli@0.61.0",
        resumed=("gemini", "--skip-trust", "--resume", "latest", "-p", PROBE),
    ),
    "opencode": Agent(
        ("opencode", "run", "--model", "stub/stub", PROBE),
        {
            "OPENCODE_CONFIG_CONTENT": '{"provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "options": '
            '{"baseURL": "{url}/v1", "apiKey": "stub"}, "models": {"stub": {}}}}}',
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        read=("read", "filePath"),
        package="npm:opencode-ai@1.18.33",
        resumed=("opencode", "run", "--continue", "--model", "stub/stub", PROBE),
    ),
    "qwen-code": Agent(
        ("qwen", "--auth-type", "openai", "-p", PROBE),
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "stub", "OPENAI_MODEL": "stub"},
        read=("read_file", "file_path"),
        package="npm:@qwen-code/qwen-code@0.15.10",
        resumed=("qwen", "--auth-type", "openai", "--continue", "-p", PROBE),
    ),
    "goose": Agent(
        ("goose", "run", "--no-session", "-t", PROBE),
        {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "stub",
            "OPENAI_HOST": "{url}",
            "OPENAI_API_KEY": "stub",
            "GOOSE_DISABLE_KEYRING": "1",
        },
        read=("tree", "path"),
    ),
    "kimi-cli": Agent(
        ("kimi", "--print", "-p", PROBE),
        {},
        {
            ".kimi/config.toml": 'default_model = "stub"\n[models.stub]\nprovider = "stub"\nmodel = "stub"\n'
            'max_context_size = 200000\n[providers.stub]\ntype = "openai_legacy"\nbase_url = "{url}/v1"\n'
            'api_key = "stub"\n'
        },
        read=("ReadFile", "path"),
        package="pypi:kimi-cli",  # which needs Python 3.12
        resumed=("kimi", "--print", "--continue", "-p", PROBE),
    ),
    "openhands": Agent(("python", "-c", _OPENHANDS, "{url}/v1"), {"OPENHANDS_SUPPRESS_BANNER": "1"}),
    "dsh": Agent(("node", "--input-type=module", "-e", _DSH, "{url}")),
    "copilot-cli": Agent(
        ("copilot", "-p", PROBE, "--allow-all-tools"),
        {"COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_MODEL": "stub", "COPILOT_PROVIDER_API_KEY": "stub"},
        read=("view", "path"),
        package="npm:@github/copilot@1.0.102",
        resumed=("copilot", "--continue", "-p", PROBE, "--allow-all-tools"),
    ),
    "pi": Agent(
        ("pi", "--provider", "stub", "--model", "stub", "-p", PROBE),
        {"STUB_KEY": "stub"},
        {
            ".pi/agent/models.json": '{"providers": {"stub": {"baseUrl": "{url}", "api": "anthropic-messages", '
            '"apiKey": "STUB_KEY", "models": [{"id": "stub", "name": "stub", "reasoning": false, "input": ["text"], '
            '"contextWindow": 200000, "maxTokens": 8192, '
            '"cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}'
        },
        read=("read", "path"),
        package="npm:@mariozechner/pi-coding-agent@0.73.1",
        resumed=("pi", "--provider", "stub", "--model", "stub", "--continue", "-p", PROBE),
    ),
    "aider": Agent(
        (*_AIDER, "--message", PROBE),
        {"OPENAI_API_BASE": "{url}/v1", "OPENAI_API_KEY": "stub"},
        package="pypi:aider-chat==0.86.2",
        resumed=(*_AIDER, "--restore-chat-history", "--message", PROBE),
    ),
}


class Server(ThreadingHTTPServer):
    """A model that writes down what it is sent. It calls the queued tool once, and says "done" otherwise."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.bodies: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, str]]] = []
        """The tool calls that the model makes, one for each request with tools that has a question of ours."""

    def answer(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of a response in the form of the API that was called."""
        self.bodies.append(body)
        call = self.calls.pop(0) if self.calls and body.get("tools") and PROBE in json.dumps(body) else None
        if path.endswith("/responses"):
            return _responses(call)
        if path.endswith("/chat/completions"):
            return _completions(call)
        return _anthropic(call) if path.endswith("/messages") else _gemini(call, body)


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """Answer questions about models."""
        self._send("application/json", b'{"data": [{"id": "stub", "object": "model"}], "models": []}')

    def do_POST(self) -> None:
        """Write down a request, and answer it."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", ":countTokens")):
            self._send("application/json", b'{"input_tokens": 1, "totalTokens": 1}')
            return
        events = list(self.server.answer(path, body))
        if body.get("stream") or path.endswith(":streamGenerateContent"):
            named = "".join(
                (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                for event in events
            )
            end = "data: [DONE]\n\n" if path.endswith("/chat/completions") else ""
            self._send("text/event-stream", (named + end).encode())
        else:
            self._send("application/json", json.dumps(_whole(path, events)).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _responses(call: tuple[str, dict[str, str]] | None) -> Iterator[dict[str, Any]]:
    item: dict[str, Any] = {
        "type": "message", "id": "m1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "done", "annotations": []}],
    }  # fmt: skip
    if call:
        item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": call[0], "arguments": json.dumps(call[1])}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": response}


def _completions(call: tuple[str, dict[str, str]] | None) -> Iterator[dict[str, Any]]:
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}],
        }
    chunk = {"id": "x1", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
    end = "tool_calls" if call else "stop"
    yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}
    yield {**chunk, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


def _anthropic(call: tuple[str, dict[str, str]] | None) -> Iterator[dict[str, Any]]:
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "done"}
    if call:
        block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _gemini(call: tuple[str, dict[str, str]] | None, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    wanted = body.get("generationConfig", {})
    schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema")
    part: dict[str, Any] = {"text": json.dumps(_of(schema)) if schema else "done"}
    if call:
        part = {"functionCall": {"name": call[0], "args": call[1]}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}


def _of(schema: dict[str, Any]) -> object:
    """Return a value that a simple JSON Schema allows."""
    kind = str(schema.get("type", "")).lower()
    if kind == "object":
        return {name: _of(one) for name, one in schema.get("properties", {}).items()}
    simple = {"integer": 1, "number": 1, "boolean": False, "array": []}
    return simple.get(kind, schema.get("enum", ["done"])[0])


def _whole(path: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a response that is not streamed, from the events of one that is."""
    if path.endswith("/responses"):
        whole: dict[str, Any] = events[-1]["response"]
        return whole
    if path.endswith("/chat/completions"):
        choice = {"index": 0, "message": events[0]["choices"][0]["delta"], "finish_reason": "stop"}
        return {**events[0], "object": "chat.completion", "choices": [choice], "usage": events[-1]["usage"]}
    if path.endswith("/messages"):
        content = [{"type": "text", "text": "done"}]
        return {**events[0]["message"], "content": content, "stop_reason": "end_turn"}
    return events[0]


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server until the block ends."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def settle(agent: Agent, home: Path, url: str) -> None:
    """Write the files that the agent expects in its home folder."""
    for name, text in agent.files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{url}", url), "utf-8")


def run(
    agent: Agent,
    command: Sequence[str],
    *,
    cwd: Path,
    home: Path,
    url: str,
    folders: Sequence[str],
    more: Mapping[str, str] | None = None,
) -> str:
    """Run one command line of an agent with an empty environment; return what went wrong, "" if nothing."""
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1",
        **{name: value.replace("{url}", url) for name, value in agent.environment.items()},
        **(more or {}),
    }
    try:
        ran = subprocess.run(
            [word.replace("{url}", url) for word in command],
            cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as failure:
        return str(failure)[:400]
    return f"exit {ran.returncode}: {ran.stderr.decode(errors='replace')[-400:]}" if ran.returncode else ""
