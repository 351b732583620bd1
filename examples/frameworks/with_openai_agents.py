"""An agent of OpenAI Agents that keeps its cache: prefix, news in the input, a mark, verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, function_tool
from openai import AsyncOpenAI

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.openai_agents import marked_prefix, run_input
from deepprompt.adapters.shared import by_name
from deepprompt.adapters.watching import watched


def lookup(word: str) -> str:
    """Look up a word."""
    return f"{word} is a word"


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address."""
    http: Any = httpx2.AsyncClient(transport=watched(httpx2.AsyncHTTPTransport(), watch))
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0, http_client=http)
    model = OpenAIResponsesModel(watch.model, client)
    asked = Agent("a", instructions=tail.prefix.text, tools=by_name([function_tool(lookup)]), model=model)
    session = SQLiteSession("1")
    config = RunConfig(call_model_input_filter=marked_prefix(watch.model), tracing_disabled=True)

    def ask(question: str) -> object:
        result = runner.run(Runner.run(asked, run_input(tail, question, prompt()), session=session, run_config=config))
        return result.final_output

    with asyncio.Runner() as runner:
        yield ask
        runner.run(client.close())
    session.close()
