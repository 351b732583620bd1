"""Request bodies as callers write them by hand, for the tests of lint."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from deepprompt.providers.facts import Facts, bundled_facts
from deepprompt.providers.recognise import provider_of
from deepprompt.providers.rules import Rules

Body = dict[str, Any]
LONG = "The harbour has many boats. " * 600
"""Enough for every provider to cache."""
MARK: Body = {"cache_control": {"type": "ephemeral"}}
HOUR: Body = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
BREAK: Body = {"prompt_cache_breakpoint": {"mode": "explicit"}}
OPUS, GPT, OLD_GPT, NOVA = "claude-opus-5-5", "gpt-5.6-sol", "gpt-4o", "amazon.nova-pro-v1:0"
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL: Body = {"name": "look", "input_schema": {"type": "object"}}
FUNCTION: Body = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
THOUGHT: Body = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
NOW = "<context>\nCurrent time: 2026-11-15 10:22\n</context>"


def text(said: str = "Go.", **more: Any) -> Body:
    """A block of text."""
    return {"type": "text", "text": said, **more}


def user(*content: Any) -> Body:
    """A user's message: one text as it is, or blocks."""
    return {"role": "user", "content": content[0] if content and isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> Body:
    """An answer."""
    return user(*content) | {"role": "assistant"}


def claude(*messages: Any, **more: Any) -> Body:
    """A request for Anthropic, with a long system prompt that is marked."""
    system = [text(LONG, **MARK)]
    return {"model": OPUS, "max_tokens": 9, "system": system, "messages": list(messages) or [user("Go.")], **more}


def gpt(*messages: Any, **more: Any) -> Body:
    """A request for OpenAI, with a long developer message."""
    developer = {"role": "developer", "content": [text(LONG)]}
    return {"model": GPT, "messages": [developer, *(messages or [user("Go.")])], **more}


def result(said: str = "red", **more: Any) -> Body:
    """A tool's result, as Anthropic has it."""
    return {"type": "tool_result", "tool_use_id": "a", "content": said, **more}


def use(**more: Any) -> Body:
    """A call of a tool, as Anthropic has it."""
    return {"type": "tool_use", "id": "a", "name": "look", "input": {}, **more}


def rules_for(body: Any, model: str = "", facts: Facts | None = None) -> Rules | None:
    """What holds for a body, as a command would look it up."""
    facts, looks_like = facts or bundled_facts(), provider_of(body)
    model = model or (str(body.get("model", "")) if isinstance(body, dict) else OPUS)
    provider = facts.route(model) or looks_like if looks_like == "litellm" else looks_like
    return facts.rules(provider, model) if provider else None


def anything() -> st.SearchStrategy[Any]:
    """JSON that is, or nearly is, a request."""
    names = st.sampled_from([
        "messages", "system", "tools", "content", "role", "cache_control", "cachePoint", "type", "text", "thinking",
        "input", "contents", "parts", "toolConfig", "prompt_cache_options", "prompt_cache_breakpoint", "ttl", "mode",
        "function", "toolResult", "tool_calls", "metadata", "config", "cachedContent", "model", "instructions",
        "output", "prompt_cache_key", "user_id", "tool_use",
    ])  # fmt: skip
    words = st.sampled_from(
        [
            "",
            "user",
            "assistant",
            "tool",
            "system",
            "explicit",
            "ephemeral",
            "1h",
            "x" * 9,
            OPUS,
            GPT,
            "gemini/x",
            "\ud83d",
        ]
    )
    leaves = st.one_of(st.none(), st.booleans(), st.integers(-2, 10**20), st.floats(allow_nan=True), words)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=5)),
        max_leaves=30,
    )
