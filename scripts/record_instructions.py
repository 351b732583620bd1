"""Record which instruction files installed agents load, and compare it with `tests/data/resolver/`.

Each case of the data is a tree of files with marks in them. The script lays it out in a temporary folder, runs the
agent there with an empty environment and the message PROBE against a model server on loopback, and reads from its
requests which marks arrived, in which order. It needs the programs, so it is no part of CI:

    npm install --prefix /tmp/agents @openai/codex@0.169.0 node@24
    python scripts/record_instructions.py codex --bin /tmp/agents/node_modules/.bin

With `--out FILE` the cases are written as recorded, to compare a later version of a program with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.recorded import DATA, MARK, Case, lay_out_case  # noqa: E402

PROBE = "PROBE"
SECONDS = 120
_PROMPT_FIELDS = ("instructions", "system", "systemInstruction", "messages", "input", "contents")

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


@dataclass(frozen=True, slots=True)
class Agent:
    """How to point one program at the server. `{url}` is its address, `{home}` the home folder."""

    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Files of the home folder."""
    read: tuple[str, str] = ("", "")
    """The tool that reads a file, and the name of its argument."""


AGENTS = {
    "codex": Agent(
        ("codex", "exec", "--skip-git-repo-check", "-s", "read-only", PROBE),
        {"STUB_KEY": "stub"},
        {
            ".codex/config.toml": 'model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
            'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n'
        },
    ),
    "claude-code": Agent(
        ("claude", "-p", PROBE),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "stub",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        read=("Read", "file_path"),
    ),
    "gemini-cli": Agent(
        ("gemini", "--skip-trust", "-p", PROBE),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "stub"},
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
        read=("read_file", "file_path"),
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
    ),
    "qwen-code": Agent(
        ("qwen", "--auth-type", "openai", "-p", PROBE),
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "stub", "OPENAI_MODEL": "stub"},
        read=("read_file", "file_path"),
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
    ),
    "openhands": Agent(("python", "-c", _OPENHANDS, "{url}/v1"), {"OPENHANDS_SUPPRESS_BANNER": "1"}),
    "dsh": Agent(("node", "--input-type=module", "-e", _DSH, "{url}")),
    "copilot-cli": Agent(
        ("copilot", "-p", PROBE, "--allow-all-tools"),
        {"COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_MODEL": "stub", "COPILOT_PROVIDER_API_KEY": "stub"},
        read=("view", "path"),
    ),
}


class Server(ThreadingHTTPServer):
    """A model that writes down what it is sent. It calls the queued tool once, and says "done" otherwise."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.bodies: list[dict[str, Any]] = []
        self.call: tuple[str, dict[str, str]] | None = None

    def answer(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of a response in the form of the API that was called."""
        self.bodies.append(body)
        call = None
        if self.call and body.get("tools") and PROBE in json.dumps(body):
            call, self.call = self.call, None
        if path.endswith("/responses"):
            return _responses(call)
        if path.endswith("/chat/completions"):
            return _completions(call)
        return _anthropic(call) if path.endswith("/messages") else _gemini(call)


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


def _gemini(call: tuple[str, dict[str, str]] | None) -> Iterator[dict[str, Any]]:
    part: dict[str, Any] = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "done"}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}


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


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a part of a request, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("role", "type", "id", "name"):
                yield from _texts(item)


def read_marks(bodies: list[dict[str, Any]], *, touches: bool = False) -> list[str]:
    """Return the marks of the first request with PROBE; for a touch, also those of new texts in later requests.

    Programs send other requests too, for a title or a memory: those have no tools, or come after the first.
    """
    seen: set[str] = set()
    found: list[str] = []
    for body in bodies:
        texts = [text for name in _PROMPT_FIELDS for text in _texts(body.get(name))]
        if not body.get("tools") or not any(PROBE in text for text in texts) or (seen and not touches):
            continue
        found += [mark for text in texts if text not in seen for mark in MARK.findall(text)]
        seen.update(texts)
    return found


def record(agent: Agent, case: Case, folders: list[str]) -> tuple[list[str], list[dict[str, Any]], str]:
    """Run an agent in a case's tree; return the marks, the requests, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="dp-") as place, Server() as server:
        root = Path(os.path.realpath(place))
        cwd = lay_out_case(root, case)
        for folder in case.get("git", ["ws/repo"]):
            (root / folder / ".git").rmdir()
            subprocess.run(["git", "init", "-q", str(root / folder)], check=True, env={"PATH": os.environ["PATH"]})
        for name, text in agent.files.items():
            path = root / "home" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{url}", server.url), "utf-8")
        if "touch" in case and agent.read[0]:
            server.call = (agent.read[0], {agent.read[1]: str(root / case["touch"])})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        environment = {
            "HOME": str(root / "home"),
            "PATH": os.pathsep.join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "NO_PROXY": "127.0.0.1",
            **{name: value.replace("{url}", server.url) for name, value in agent.environment.items()},
        }
        command = [word.replace("{url}", server.url) for word in agent.command]
        error = ""
        try:
            ran = subprocess.run(
                command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
            )
            if ran.returncode:
                error = f"exit {ran.returncode}: {ran.stderr.decode(errors='replace')[-400:]}"
        except (OSError, subprocess.TimeoutExpired) as failure:
            error = str(failure)[:400]
        server.shutdown()
        return read_marks(server.bodies, touches="touch" in case), server.bodies, error.replace(str(root), "{root}")


def main() -> int:
    """Record the cases of one agent, and say which differ from the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", choices=sorted(AGENTS))
    parser.add_argument("--bin", action="append", default=[], help="a folder with the program; may be repeated")
    parser.add_argument("--case", action="append", help="record this case only; may be repeated")
    parser.add_argument("--cases", type=Path, help="a file of cases (default: tests/data/resolver/PROFILE.json)")
    parser.add_argument("--out", type=Path, help="write the cases as recorded")
    parser.add_argument("--bodies", type=Path, help="write the requests of each case into this folder, to look at")
    options = parser.parse_args()
    data = json.loads((options.cases or DATA / f"{options.profile}.json").read_text("utf-8"))
    cases = [case for case in data["cases"] if not options.case or case["id"] in options.case]
    recorded, differing = [], 0
    for case in cases:
        marks, bodies, error = record(AGENTS[options.profile], case, options.bin)
        same = "loaded" not in case or marks == case["loaded"]
        differing += not same
        verdict = "the same" if same else f"{marks} instead of {case['loaded']}"
        print(f"{case['id']}: {verdict}", error, flush=True)
        recorded.append({**case, "loaded": marks, **({"failed": error} if error else {})})
        if options.bodies:
            options.bodies.mkdir(parents=True, exist_ok=True)
            (options.bodies / f"{case['id']}.json").write_text(json.dumps(bodies, indent=1), "utf-8")
    if options.out:
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in recorded)
        head = json.dumps({**data, "cases": []}, ensure_ascii=False).removesuffix("]}")
        options.out.write_text(f"{head}\n{lines}\n]}}\n", "utf-8")
    print(f"{len(cases)} cases, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
