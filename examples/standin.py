"""A stand-in for three providers on loopback: no model, but a true account of the cache.

It speaks as much of Anthropic's Messages, OpenAI's Chat Completions and DeepSeek's endpoint of the same form as their
official SDKs need. What it says comes from a script, whatever it is asked. What it counts does not: the `usage` of each
answer is what `deepprompt.simulate` makes of the requests that have really arrived, by the published rules of the
provider and the clock. So tokens are read from the cache only where a request begins like an earlier one.

It counts a token as four bytes, keeps one cache for everybody, and asks for no key. To Anthropic's SDK and to
OpenAI's it also streams. Of what providers refuse it refuses the mistakes that agent loops make: no messages, a
tool's result without its call or a call without its result, marks too many or out of order, DeepSeek's reasoning not
sent back. The words of a refusal are our own.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from deepprompt import estimate_tokens, read_request, simulate
from deepprompt.checks.cache.simulate import Charge
from deepprompt.errors import MessageError
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.segments import Segment
from deepprompt.request.conversation import Conversation

Body = dict[str, Any]

PROVIDERS = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai", "/chat/completions": "deepseek"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said next: a text, calls of tools, or both. Only DeepSeek's endpoint gives the reasoning away."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, object]], ...] = ()
    reasoning: str = ""
    paused: bool = False
    """Whether Anthropic's endpoint stops here, to be continued when it gets this back."""

    @property
    def tokens(self) -> int:
        """How many tokens it counts for."""
        return estimate_tokens(
            self.reasoning + self.text + "".join(name + json.dumps(given) for name, given in self.calls)
        )


class StandIn:
    """A server that answers from a script, for as long as its `with` block lasts. `clock` gives seconds."""

    def __init__(self, script: Iterable[Answer], clock: Callable[[], float] = time.monotonic) -> None:
        self.bodies: list[Body] = []
        """The requests that were answered, as they arrived."""
        self._script = deque(script)
        self._clock = clock
        self._seen: dict[tuple[str, str], list[tuple[float, list[Segment]]]] = {}
        self._reasoned: set[str] = set()
        self._calls = 0
        self._lock = threading.Lock()
        self._server = _Server(self)

    @property
    def url(self) -> str:
        """Where it is to be found."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> StandIn:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, path: str, raw: bytes) -> tuple[int, Body]:
        """Return the status and the body of the answer to a request. One that is refused leaves no trace."""
        provider = PROVIDERS.get(path)
        if provider is None:
            return 404, _error("", f"there is no {path} here; there are: {', '.join(PROVIDERS)}")
        with self._lock:
            try:
                body = json.loads(raw)
                self._check(provider, body)
                charge = self._charge(provider, body)
            except (ValueError, MessageError) as error:
                return 400, _error(provider, str(error))
            self.bodies.append(body)
            return 200, self._write(provider, body["model"], self._script.popleft(), charge)

    def _check(self, provider: str, body: Body) -> None:
        """Refuse what the provider would, and what is not in the script."""
        if not isinstance(body, dict):
            raise MessageError("the body of a request is an object")
        for field in ("model", "messages", *(["max_tokens"] if provider == "anthropic" else [])):
            if not body.get(field):
                raise MessageError(f"{field}: required, and not empty")
        if not self._script:
            raise MessageError("messages: the script of this stand-in is at its end")
        Conversation(body["messages"]).check_answered()
        for number, message in enumerate(body["messages"] if provider == "deepseek" else ()):
            calls = {call["id"] for call in message.get("tool_calls") or ()}
            if calls & self._reasoned and not message.get("reasoning_content"):
                raise MessageError(f"messages[{number}]: the reasoning_content of a tool call has to be sent back")

    def _charge(self, provider: str, body: Body) -> Charge:
        """Return what a request reads from the cache, writes to it and pays in full, after all those before it."""
        rules = bundled_facts().rules(provider, body["model"])
        seen = self._seen.setdefault((provider, body["model"]), [])
        now = [*seen, (self._clock(), read_request(body))]
        charges = simulate([segments for _, segments in now], rules, times=[at for at, _ in now]).charges
        seen[:] = now
        return charges[-1]

    def _write(self, provider: str, model: str, answer: Answer, charge: Charge) -> Body:
        """Return an answer as the provider writes it."""
        calls = []
        for name, given in answer.calls:
            self._calls += 1
            calls.append((f"call_{self._calls}", name, given))
        if provider == "anthropic":
            return _message(len(self.bodies), model, answer, calls, charge)
        if provider == "deepseek" and answer.reasoning:
            self._reasoned.update(call_id for call_id, _, _ in calls)
        return _completion(len(self.bodies), model, answer, calls, charge, is_deepseek=provider == "deepseek")


_Calls = list[tuple[str, str, Mapping[str, object]]]


def _message(number: int, model: str, answer: Answer, calls: _Calls, charge: Charge) -> Body:
    """Return an answer of Anthropic's; its input tokens are those that the cache had nothing to do with."""
    content: list[Body] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [{"type": "tool_use", "id": call_id, "name": name, "input": given} for call_id, name, given in calls]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "pause_turn" if answer.paused else "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": charge.full,
            "cache_read_input_tokens": charge.read,
            "cache_creation_input_tokens": sum(charge.written.values()),
            "cache_creation": {
                f"ephemeral_{lifetime}_input_tokens": charge.written.get(lifetime, 0) for lifetime in ("5m", "1h")
            },
            "output_tokens": answer.tokens,
        },
    }


def _completion(number: int, model: str, answer: Answer, calls: _Calls, charge: Charge, *, is_deepseek: bool) -> Body:
    """Return an answer of OpenAI's, or of DeepSeek's, which has reasoning and other names for what was cached."""
    message: Body = {"role": "assistant", "content": answer.text or None}
    usage: Body = {"prompt_tokens": charge.total, "completion_tokens": answer.tokens}
    usage["total_tokens"] = charge.total + answer.tokens
    if is_deepseek:
        message["reasoning_content"] = answer.reasoning or None
        usage |= {"prompt_cache_hit_tokens": charge.read, "prompt_cache_miss_tokens": charge.total - charge.read}
    else:
        written = sum(charge.written.values())
        usage["prompt_tokens_details"] = {"cached_tokens": charge.read, "cache_write_tokens": written}
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for call_id, name, given in calls
        ]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": usage,
    }


def _events(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield an answer as the events of a stream, each with its name, "" where it has none."""
    if "choices" in body:
        yield from (("", chunk) for chunk in _chunks(body))
        return
    yield "message_start", {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
    for index, block in enumerate(body["content"]):
        text = block["type"] == "text"
        start = {**block, "text": ""} if text else {**block, "input": {}}
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": start}
        whole = block["text"] if text else json.dumps(block["input"])
        for piece in (whole[:9], whole[9:]):
            said = (
                {"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece}
            )
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": said}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ended, "usage": body["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _chunks(body: Body) -> Iterator[Body]:
    """Yield an answer as the chunks of Chat Completions."""
    (choice,) = body["choices"]
    beside = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    beside["object"] = "chat.completion.chunk"
    message = dict(choice["message"])
    for number, call in enumerate(message.get("tool_calls", ())):
        call["index"] = number
    text = message.pop("content") or ""
    for delta in ({**message, "content": text[:9]}, {"content": text[9:]}):
        yield {**beside, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**beside, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**beside, "choices": [], "usage": body["usage"]}


def _error(provider: str, message: str) -> Body:
    """Return a refusal as the provider writes it."""
    error = {"type": "invalid_request_error", "message": message}
    return {"type": "error", "error": error} if provider == "anthropic" else {"error": {**error, "code": None}}


class _Server(ThreadingHTTPServer):
    """A server on a free port of loopback."""

    daemon_threads = True

    def __init__(self, stand_in: StandIn) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stand_in = stand_in


class _Handler(BaseHTTPRequestHandler):
    """Takes one request."""

    def do_POST(self) -> None:
        """Answer in JSON."""
        assert isinstance(self.server, _Server)
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = self.server.stand_in.reply(self.path.partition("?")[0], raw)
        answer = json.dumps(body).encode()
        streams = status == 200 and bool(json.loads(raw).get("stream"))
        if streams:
            named = [(f"event: {name}\n" if name else "", json.dumps(event)) for name, event in _events(body)]
            answer = "".join([f"{name}data: {event}\n\n" for name, event in named]).encode()
            answer += b"data: [DONE]\n\n" if "choices" in body else b""
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
