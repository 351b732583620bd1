"""DeepSeek's API: how a request is written, recognised and read, and how its usage is reported.

It is Chat Completions as plain texts, without marks, and with the model's reasoning sent back.
"""

from __future__ import annotations

from deepprompt.providers.dialect import Body, Dialect, UsageShape, model_named
from deepprompt.providers.draft import Draft
from deepprompt.providers.neutral import Outline
from deepprompt.providers.openai import ChatBody, write_chat


def write(outline: Outline, draft: Draft) -> ChatBody:
    """Return the body of `POST /chat/completions` for DeepSeek."""
    return write_chat(outline, draft, put=None, limit="max_tokens")


def recognise(body: Body) -> bool:
    """Whether a body with `messages` is DeepSeek's, by its model."""
    return model_named(body).startswith("deepseek")


DIALECT = Dialect("deepseek", recognise, models="deepseek", settings=("user_id",))


# prompt_cache_miss_tokens is what was not read from the cache. Nothing says what was written to it.
USAGE = UsageShape(known_by=("prompt_tokens",), read=("prompt_cache_hit_tokens",))
