"""An agent of Microsoft's Agent Framework that keeps its cache: prefix as instructions, news in the user's message.

A `ContextProvider` would be asked for every run and its text is not stored: the cache would break with each edit. Only
the instructions can be marked, as blocks; a mark in a message is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
from agent_framework import Agent, Content, Message
from agent_framework_anthropic import AnthropicClient
from anthropic import AsyncAnthropic

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.shared import by_name, told
from deepprompt.adapters.watching import watched


def lookup(word: str) -> str:
    """Look up a word."""
    return f"{word} is a word"


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address."""
    marked = {"type": "text", "text": tail.prefix.text, "cache_control": {"type": "ephemeral"}}
    with asyncio.Runner() as runner:
        http = httpx2.AsyncClient(transport=watched(httpx2.AsyncHTTPTransport(), watch))
        sdk = AsyncAnthropic(api_key="x", base_url=url, max_retries=0, http_client=http)
        client = AnthropicClient(model=watch.model, anthropic_client=sdk)
        asked = Agent(client, default_options={"instructions": [marked]}, tools=by_name([lookup]))
        session = asked.create_session()

        def ask(question: str) -> object:
            texts = [Content.from_text(text) for text in told(tail, question, prompt())]
            return runner.run(asked.run([Message("user", texts)], session=session))

        yield ask
        runner.run(sdk.close())
