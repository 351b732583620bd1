"""A loop on LiteLLM that keeps its cache: a hook puts prefix and marks into each call, a callback judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import litellm

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.litellm import PROMPT_ID, PrefixHook, WatchLogger, marked_tools, user_message

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
LOOKUP = {"type": "function", "function": {"name": "lookup", "description": "Look up a word.", "parameters": WORD}}


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks a model at an address, and runs the tool that it calls."""
    model = f"anthropic/{watch.model}"
    named = {"model": model, "api_base": url, "api_key": "x", "num_retries": 0, "prompt_id": PROMPT_ID}
    messages: list[dict[str, Any]] = []

    def ask(question: str) -> object:
        messages.append(user_message(tail, question, prompt()))
        while True:
            answer = litellm.completion(messages=messages, tools=marked_tools([LOOKUP], model), **named)
            said = answer.choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "x is a word"})

    litellm.callbacks = [PrefixHook(tail), WatchLogger(watch)]
    try:
        yield ask
    finally:
        litellm.callbacks = []
