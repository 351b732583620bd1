"""Requests made again from a conversation: the very ones that `build_request` makes, and in time for what is new."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.coding_session import coding_session
from deepprompt import build_request, read_request
from deepprompt.providers.facts import bundled_facts
from deepprompt.session.rebuild import ends_of, rebuild

TURNS = coding_session(8)
MESSAGES: list[Any] = [message for turn in TURNS for added in (*turn.rounds, (turn.answer,)) for message in added]
PROMPT = TURNS[0].prompt

TARGETS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "anthropic.claude-opus-5-5",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-3.8-flash",
    "vllm": "any-model",
}


@pytest.mark.parametrize("provider", TARGETS)
@pytest.mark.parametrize("marked", [False, True])
def test_requests_are_those_that_would_be_built(provider: Any, marked: bool) -> None:
    """Each is the request for all messages before an answer, with the same marks, a caller's own among them."""
    facts = bundled_facts()
    rules = facts.rules(provider, TARGETS[provider])
    messages = [*MESSAGES]
    if marked:
        mark = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
        messages[0] = {"role": "user", "content": [mark]}
    wanted = []
    for end in ends_of(messages):
        if rules.marks:
            request = build_request(PROMPT, messages[:end], to=provider, model=rules.model, facts=facts)
            wanted.append(read_request(request.body))
        else:
            wanted.append(read_request(replace(PROMPT, messages=tuple(messages[:end]))))
    found = rebuild(PROMPT, messages, provider, rules, facts)
    assert [list(segments) for segments in found] == wanted
    assert len(found) > 8


@pytest.mark.slow
def test_a_long_conversation_takes_no_square() -> None:
    """Five hundred turns take seconds, not the minute that building each from its start would."""
    messages: list[Any] = []
    for number in range(500):
        messages += [{"role": "user", "content": f"Q {number}"}, {"role": "assistant", "content": f"A {number}"}]
    facts = bundled_facts()
    start = time.perf_counter()
    assert len(rebuild(PROMPT, messages, "anthropic", facts.rules("anthropic", "claude-opus-5-5"), facts)) == 500
    assert time.perf_counter() - start < 15


def test_items_of_responses_are_one_answer() -> None:
    """All items of one response, of whatever type, belong to it: no request ends between them."""
    said = [{"type": "message", "role": "assistant", "status": "completed", "content": []}]
    for kind in ("reasoning", "web_search_call", "function_call", "brand_new"):
        said.append({"type": kind, "id": f"id_{kind}"})
    messages: list[Any] = [{"role": "user", "content": "Go."}, *said, {"role": "user", "content": "On."}]
    assert [*ends_of(messages)] == [1, len(messages)]
