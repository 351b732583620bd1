"""Models of every provider, what may be said to them, and what their bodies say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.conversations import Kinds


@dataclass(frozen=True)
class Model:
    """A model, what may be said to it, and how long it can be asked to remember."""

    name: str
    kinds: Kinds = field(default_factory=Kinds)
    lifetimes: tuple[str, ...] = ("",)


DATA, NONE, NO_RESULT_IMAGES = Kinds(images="data"), Kinds(images="none"), Kinds(images="data", result_images=False)
HOUR, HALF_DAY = ("", "5m", "1h"), ("", "30m", "12h")
# Known models that take marks, known ones that take none, and unknown ones.
MODELS = {
    "anthropic": (
        Model("claude-opus-5-5", lifetimes=HOUR),
        Model("claude-sonnet-4-5-20250929", lifetimes=HOUR),
        Model("claude-next-9", lifetimes=HOUR),
    ),
    "bedrock": (
        Model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", DATA, HOUR),
        Model("amazon.nova-pro-v1:0", DATA, ("", "5m")),
        Model("meta.llama4-maverick-17b-instruct-v1:0", DATA),
    ),
    "deepseek": (Model("deepseek-v4-pro", NONE), Model("deepseek-chat", NONE)),
    "gemini": (
        Model("gemini-3.8-flash", NO_RESULT_IMAGES),
        Model("gemini-2.5-pro", NO_RESULT_IMAGES),
        Model("gemini-next", NO_RESULT_IMAGES),
    ),
    "litellm": (
        Model("anthropic/claude-opus-5-5", lifetimes=HOUR),
        Model("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", DATA, HOUR),
        Model("bedrock/amazon.nova-pro-v1:0", DATA, ("", "5m")),
        Model("deepseek/deepseek-v4-pro", NONE),
        Model("gemini/gemini-3.8-flash", DATA),
        Model("mistral/mistral-large"),
        Model("openai/gpt-4o"),
        Model("openai/gpt-5.6-sol", lifetimes=("", "30m")),
    ),
    "openai": (Model("gpt-5.6-sol", lifetimes=("", "30m")), Model("gpt-5.5"), Model("gpt-next")),
    "openai-responses": (Model("gpt-5.6-sol", lifetimes=HALF_DAY), Model("gpt-5.5"), Model("gpt-next")),
}
CONVERSATION = ("messages", "input", "contents")


def rest(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body without its conversation."""
    return {key: value for key, value in body.items() if key not in CONVERSATION}


def said(to: str, body: dict[str, Any]) -> Iterator[Any]:
    """Return what a body's conversation says: its messages, or blocks where neighbours of one role are one message."""
    (messages,) = (body[key] for key in CONVERSATION if key in body)
    for message in messages:
        if to in ("bedrock", "gemini"):
            yield from ((message["role"], block) for block in message.get("content", message.get("parts")))
        else:
            yield message
