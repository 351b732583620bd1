"""An agent of pydantic-ai that keeps its cache: one capability brings prefix, news, marks and the order of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.pydantic_ai import TailCapability
from deepprompt.adapters.watching import watched


def lookup(word: str) -> str:
    """Look up a word."""
    return f"{word} is a word"


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address."""
    client = httpx2.AsyncClient(transport=watched(httpx2.AsyncHTTPTransport(), watch))
    provider = AnthropicProvider(api_key="x", base_url=url, http_client=client)
    model = AnthropicModel(watch.model, provider=provider)
    asked = Agent(model, tools=[lookup], capabilities=[TailCapability(tail, prompt)])
    history: list[ModelMessage] = []

    def ask(question: str) -> object:
        result = runner.run(asked.run(question, message_history=history))
        history[:] = result.all_messages()
        return result.output

    with asyncio.Runner() as runner:
        yield ask
        runner.run(client.aclose())
