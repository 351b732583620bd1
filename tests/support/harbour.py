"""One conversation with tools and an image, and its request for each provider."""

from __future__ import annotations

import json
from typing import Any

from deepprompt import (
    Pace,
    Part,
    Prompt,
    Request,
    build_request,
    bundled,
)
from deepprompt.providers.facts import Facts
from deepprompt.words import Target

# Of one date: newer facts change what a request is built by, and none of these bytes.
FACTS = Facts(json.loads(bundled().file("providers", "2026.11.18", "facts.json")), "facts")
MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "eu.anthropic.claude-opus-5-5-v1:0",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-3.8-flash",
    "litellm": "anthropic/claude-opus-5-5",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
}
PIXEL = "iVBORw0KGgo="
PNG = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
LIST = {"name": "list", "description": "List the boats.", "input_schema": {"type": "object", "properties": {}}}
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at a boat.",
        "parameters": {"type": "object", "properties": {"boat": {"type": "string"}}, "required": ["boat"]},
    },
}
PROMPT = Prompt(
    (
        Part("base", "You are Ada.\n", Pace.RELEASE, "test"),
        Part("harbour", "The harbour has two boats.\n", Pace.PROJECT, "test"),
        Part("tide", "The tide is low.\n", Pace.TURN, "test"),
    ),
    tools=(LOOK, LIST),
)
CALLS = [
    {"id": "call_1", "type": "function", "function": {"name": "list", "arguments": ""}},
    {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": '{"boat": "Gjøa"}'}},
]
CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Which boats are there?"},
    {"role": "assistant", "content": "I look.", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "call_1", "content": "Fram, Gjøa"},
    {"role": "tool", "tool_call_id": "call_2", "content": "red"},
    {"role": "assistant", "content": "Fram, and Gjøa, which is red."},
    {"role": "user", "content": [{"type": "text", "text": "C’est celui-là, 船?"}, PNG]},
]
WITHOUT_IMAGE = [*CONVERSATION[:-1], {"role": "user", "content": "C’est celui-là, 船?"}]


def build(to: Target, *messages: Any, prompt: Any = "You are Ada.", model: str = "", **options: Any) -> Request:
    """The request for a target's usual model."""
    return build_request(prompt, messages, to=to, model=model or MODELS[to], **({"facts": FACTS} | options))
