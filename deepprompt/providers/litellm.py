"""LiteLLM: the arguments of `litellm.completion`, with the kind of mark that survives on the way.

LiteLLM rewrites or drops marks, depending on the provider that the model's name routes to. So the route decides which
kind of mark is written: `cache_control` where LiteLLM keeps or translates it (Anthropic, Bedrock); OpenAI's own mark
where only that survives, because LiteLLM drops a `cache_control` there as soon as there are tools; and none where
LiteLLM would strip it or, for Gemini, turn the marked messages into cached content that is paid for by the hour.
"""

from __future__ import annotations

import re
from dataclasses import replace

from deepprompt.providers import anthropic, openai
from deepprompt.providers.dialect import Body, Dialect, UsageShape, has_mark, is_chat, model_named
from deepprompt.providers.draft import Draft
from deepprompt.providers.neutral import Outline

# The routes that a LiteLLM model name may start with.
_ROUTES = re.compile(
    r"(?:anthropic|azure|bedrock|dashscope|databricks|deepseek|gemini|hosted_vllm|minimax|mistral|openai|openrouter"
    r"|vertex_ai|xai|zai)/"
)


def write(outline: Outline, draft: Draft) -> openai.ChatBody:
    """Return the arguments of `litellm.completion`."""
    native = draft.rules.provider in ("anthropic", "bedrock")
    if native:
        # Some versions of LiteLLM move a system message to the front (its pull request 38053), which costs the whole
        # cache; the versions that we tried leave it in place. A user's message stays in place in all of them.
        draft.rules = replace(draft.rules, system_messages=False)
    if native or draft.rules.provider == "gemini":
        turns = draft.turns(outline.messages, signed=native)
        outline = replace(outline, messages=tuple(turns))
    put = anthropic.put_mark if native else openai.put_mark
    return openai.write_chat(outline, draft, put=put, limit="max_tokens")


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


DIALECT = Dialect(
    "litellm", recognise, unread=("api_base", "drop_params", "extra_body", "extra_headers", "timeout", "user_id")
)


USAGE = UsageShape(  # OpenAI's, with Anthropic's names added
    known_by=("prompt_tokens",),
    read=("cache_read_input_tokens",),
    written=("prompt_tokens_details.cache_creation_tokens", "cache_creation_input_tokens"),
    written_for=("prompt_tokens_details.cache_creation_token_details.ephemeral_*_input_tokens",),
)
