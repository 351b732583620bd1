"""A request for LiteLLM: the plain list that `litellm.completion` takes, with the marks that survive its routes.

LiteLLM rewrites or drops marks by provider. The route that the model's name asks for decides which kind of mark is
written: `cache_control` where it is kept or translated (Anthropic, Bedrock), OpenAI's own where only that survives
(a `cache_control` is dropped there once there are tools), none where LiteLLM would strip it or, for Gemini, turn the
marked messages into cached content that is paid for by the hour.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from deepprompt.providers import openai
from deepprompt.providers.dialect import Body, Dialect, UsageShape, has_mark, is_chat, model_named
from deepprompt.providers.draft import Draft
from deepprompt.providers.neutral import Outline
from deepprompt.providers.openai import Marking, marking, write_chat


def write(outline: Outline, draft: Draft) -> dict[str, Any]:
    """Return the arguments of `litellm.completion`."""
    native = draft.rules.provider in ("anthropic", "bedrock")
    if native:
        # Some versions of LiteLLM move such a message to the front (its pull request 38053), and with it goes all that
        # was cached; those that we tried leave it in place. As the user's it stays with each of them.
        draft.rules = replace(draft.rules, system_messages=False)
    if native or draft.rules.provider == "gemini":
        turns = draft.turns(outline.messages, signed=native)
        outline = replace(outline, messages=tuple(turns))
    style: Marking = cache_control if native else marking
    return write_chat(outline, draft, marking=style, limit="max_tokens")


def cache_control(block: dict[str, Any]) -> Callable[[str], None]:
    """Return what puts Anthropic's mark on a part, a tool's message or a tool."""

    def put(lifetime: str) -> None:
        block["cache_control"] = {"type": "ephemeral", **({"ttl": lifetime} if lifetime else {})}

    return put


_ROUTES = re.compile(
    r"(?:anthropic|azure|bedrock|dashscope|databricks|deepseek|gemini|hosted_vllm|minimax|mistral|openai|openrouter"
    r"|vertex_ai|xai|zai)/"
)


def recognise(body: Body) -> bool:
    """Whether a body with `messages` is for LiteLLM.

    It is if its model has a route, or if it is Chat Completions with Anthropic's marks or a Claude model.
    """
    model = model_named(body)
    if _ROUTES.match(model):
        return True
    if model.startswith("claude"):
        return is_chat(body)
    if model.startswith("deepseek") or not has_mark(body, "cache_control"):
        return False
    return bool(re.match(openai.MODELS, model)) or (is_chat(body) and not openai.recognise(body))


DIALECT = Dialect("litellm", recognise)


USAGE = UsageShape(  # OpenAI's, with Anthropic's names added
    known_by=("prompt_tokens",),
    read=("cache_read_input_tokens",),
    written=("prompt_tokens_details.cache_creation_tokens", "cache_creation_input_tokens"),
    written_for=("prompt_tokens_details.cache_creation_token_details.ephemeral_*_input_tokens",),
)
