"""What the server on loopback answers to a framework, as each API spells it: a call of a tool, then a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deepprompt.checks.cache.simulate import Charge
from deepprompt.words import Target

Answer = dict[str, Any]
_GIVEN = {"word": "x"}


@dataclass(frozen=True)
class Api:
    """One API: where it is, what it answers, and how it counts."""

    to: Target
    path: str
    answers: Callable[..., list[Answer]]
    usage: Callable[[Charge], Answer]
    under: str = "usage"
    events: Callable[[Answer], list[Answer]] | None = None

    def spelled(self, answer: Answer, usage: Answer, *, streams: bool) -> tuple[str, bytes]:
        """Return the kind and the bytes of a response."""
        whole = {**answer, self.under: usage}
        if not streams:
            return "application/json", json.dumps(whole).encode()
        assert self.events is not None
        events = self.events(whole)
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        return "text/event-stream", "".join(lines).encode()


def _messages(turn: int, tool: str = "lookup", last: str = "") -> list[Answer]:
    head = {"type": "message", "role": "assistant", "model": "claude-opus-5-5"}
    given = {"answer": f"answer {turn}"}
    call = {"type": "tool_use", "id": f"toolu_{turn}", "name": tool, "input": _GIVEN}
    end: Answer = {"type": "text", "text": f"answer {turn}"}
    if last:
        end = {"type": "tool_use", "id": f"toolu_{turn}z", "name": last, "input": given}
    why = "tool_use" if last else "end_turn"
    return [
        {**head, "id": f"msg_{turn}a", "content": [call], "stop_reason": "tool_use", "stop_sequence": None},
        {**head, "id": f"msg_{turn}b", "content": [end], "stop_reason": why, "stop_sequence": None},
    ]


def _messages_usage(charge: Charge) -> Answer:
    written = sum(charge.written.values())
    counts = {"cache_read_input_tokens": charge.read, "cache_creation_input_tokens": written}
    return {"input_tokens": charge.total - charge.read - written, "output_tokens": 5, **counts}


def _messages_events(answer: Answer) -> list[Answer]:
    (block,) = answer["content"]
    calls = block["type"] == "tool_use"
    empty = {**block, "input": {}} if calls else {**block, "text": ""}
    delta: Answer = {"type": "text_delta", "text": block.get("text")}
    if calls:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def _responses(turn: int, tool: str = "lookup") -> list[Answer]:
    head: Answer = {
        "object": "response", "created_at": 1, "model": "gpt-5.6", "status": "completed", "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True, "metadata": {}, "temperature": 1, "top_p": 1,
    }  # fmt: skip
    call = {
        "type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": tool, "status": "completed",
        "arguments": json.dumps(_GIVEN),
    }  # fmt: skip
    part = {"type": "output_text", "text": f"answer {turn}", "annotations": []}
    message = {"type": "message", "id": f"m_{turn}", "role": "assistant", "status": "completed", "content": [part]}
    return [{**head, "id": f"r_{turn}a", "output": [call]}, {**head, "id": f"r_{turn}b", "output": [message]}]


def _responses_usage(charge: Charge) -> Answer:
    return {
        "input_tokens": charge.total, "output_tokens": 5, "total_tokens": charge.total + 5,
        "input_tokens_details": {"cached_tokens": charge.read}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip


def _chat(turn: int, tool: str = "lookup", last: str = "") -> list[Answer]:
    def call(name: str, given: Answer) -> Answer:
        function = {"name": name, "arguments": json.dumps(given)}
        calls = [{"id": f"call_{turn}_{name}", "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    text = {"role": "assistant", "content": f"answer {turn}"}
    ends = [call(tool, _GIVEN), call(last, {"answer": f"answer {turn}"}) if last else text]
    head = {"object": "chat.completion", "created": 1, "model": "gpt-5.6"}
    return [
        {
            **head, "id": f"chatcmpl-{turn}-{number}",
            "choices": [{"index": 0, "message": end, "finish_reason": "tool_calls" if "tool_calls" in end else "stop"}],
        }
        for number, end in enumerate(ends)
    ]  # fmt: skip


def _chat_usage(charge: Charge) -> Answer:
    details = {"cached_tokens": charge.read}
    counts = {"prompt_tokens": charge.total, "completion_tokens": 5, "total_tokens": charge.total + 5}
    return {**counts, "prompt_tokens_details": details}


def _gemini(turn: int, tool: str = "lookup") -> list[Answer]:
    def candidate(part: Answer) -> Answer:
        content = {"role": "model", "parts": [part]}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "gemini"}

    return [candidate({"functionCall": {"name": tool, "args": _GIVEN}}), candidate({"text": f"answer {turn}"})]


def _gemini_usage(charge: Charge) -> Answer:
    counts = {"promptTokenCount": charge.total, "candidatesTokenCount": 5, "totalTokenCount": charge.total + 5}
    return {**counts, "cachedContentTokenCount": charge.read}


APIS = {
    "messages": Api("anthropic", "/messages", _messages, _messages_usage, events=_messages_events),
    "responses": Api("openai-responses", "/responses", _responses, _responses_usage),
    "chat": Api("openai", "/chat/completions", _chat, _chat_usage),
    "gemini": Api("gemini", ":generateContent", _gemini, _gemini_usage, under="usageMetadata"),
}
