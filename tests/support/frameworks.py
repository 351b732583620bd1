"""Twelve requests of a framework: six turns of a tool call and an answer, with edits between, against loopback."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt, Tail
from deepprompt.prompt import BOUNDARY_PART
from tests.support.recorder import Recorder

TURNS = 6
EDITED = "Run the linter before you answer."
STATES = ("(clean)", "M app.py", "M app.py", "M app.py", "(clean) after a commit", "(clean) after a commit")


def framework(module: str) -> Any:
    """Return a module of a framework. Without it the test is skipped, or fails if it is said to be needed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed: pip install -e '.[frameworks]'"
    if os.environ.get("DEEPPROMPT_NEED_FRAMEWORKS"):
        pytest.fail(reason)
    pytest.skip(reason)


def prompt_at(turn: int) -> Prompt:
    """Return the prompt before a turn: a file is edited before the second, AGENTS.md before the third."""
    rules = EDITED if turn >= 2 else "Answer briefly."
    return Prompt(
        (
            Part("base", "You are an agent.\n" * 50, Pace.RELEASE, "assets:base"),
            Part("AGENTS.md", f"\n{rules}\n", Pace.PROJECT, "file:AGENTS.md"),
            Part(BOUNDARY_PART, "\n=== BOUNDARY ===\n", Pace.TURN, "deepprompt"),
            Part("git status", STATES[turn], Pace.TURN, "git"),
        )
    )


def check(server: Recorder, run: Callable[[Tail, str, Prompt], object], path: str, *, streams: bool = False) -> None:
    """Run six turns, and hold that each request begins with the whole one before it and that every edit is told."""
    tail = Tail(prompt_at(0))
    for turn in range(TURNS):
        for answer in _answers(path, turn):
            if streams:
                server.stream(_events(answer))
            else:
                server.answer(answer)
        run(tail, f"question {turn}", prompt_at(turn))
    bodies = [recorded.body for recorded in server.requests if recorded.path.split("?")[0].endswith(path)]
    assert len(bodies) == 2 * TURNS
    for before, after in pairwise(bodies):
        start = _pieces(before)
        assert _pieces(after)[: len(start)] == start
    texts = [json.dumps(_pieces(body)) for body in bodies]
    assert [EDITED in text for text in texts] == [number >= 4 for number in range(12)]
    assert [STATES[1] in text for text in texts] == [number >= 2 for number in range(12)]
    assert texts[-1].count(EDITED) == 1


def _answers(path: str, turn: int) -> list[dict[str, Any]]:
    """Return a call of the tool and an answer, as an API spells them."""
    return _messages(turn) if path == "messages" else _responses(turn)


def _messages(turn: int) -> list[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    head = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "usage": usage}
    call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "lookup", "input": {"word": "x"}}
    text = {"type": "text", "text": f"answer {turn}"}
    return [
        {**head, "content": [call], "stop_reason": "tool_use", "stop_sequence": None},
        {**head, "content": [text], "stop_reason": "end_turn", "stop_sequence": None},
    ]


def _responses(turn: int) -> list[dict[str, Any]]:
    usage: dict[str, Any] = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage["input_tokens_details"] = {"cached_tokens": 0}
    usage["output_tokens_details"] = {"reasoning_tokens": 0}
    head: dict[str, Any] = {
        "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed", "usage": usage, "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True, "metadata": {}, "temperature": 1, "top_p": 1,
    }  # fmt: skip
    call = {
        "type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": "lookup", "status": "completed",
        "arguments": '{"word": "x"}',
    }  # fmt: skip
    part = {"type": "output_text", "text": f"answer {turn}", "annotations": []}
    message = {"type": "message", "id": f"m_{turn}", "role": "assistant", "status": "completed", "content": [part]}
    return [{**head, "id": f"r_{turn}a", "output": [call]}, {**head, "id": f"r_{turn}b", "output": [message]}]


def _events(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return Anthropic's events for an answer of one block."""
    (block,) = answer["content"]
    calls = block["type"] == "tool_use"
    empty = {**block, "input": {}} if calls else {**block, "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": block.get("text")}
    if calls:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": answer["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]


def _pieces(body: dict[str, Any]) -> list[str]:
    """Return a request in the order of a cache, without marks; a text is a list of one block."""
    pieces = [_plain(tool) for tool in body.get("tools", ())]
    system = body.get("system", body.get("instructions", ""))
    pieces += [_plain(block) for block in _blocks(system)]
    for message in body.get("messages", body.get("input", ())):
        head = {key: value for key, value in message.items() if key != "content"}
        pieces += [_plain({**head, "block": block}) for block in _blocks(message.get("content", ""))]
    return pieces


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _plain(value: Any) -> str:
    return json.dumps(_unmarked(value), sort_keys=True)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value
