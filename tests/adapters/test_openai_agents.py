"""An agent of OpenAI Agents with our input, the real one: twelve requests with edits between."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.frameworks import check, framework
from tests.support.recorder import recorder


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, and the model is told what was edited, once."""
    agents, openai = framework("agents"), framework("openai")
    adapter = framework("deepprompt.adapters.openai_agents")
    agents.set_tracing_disabled(True)
    made: list[Any] = []

    @agents.function_tool  # type: ignore[untyped-decorator]
    def lookup(word: str) -> str:
        """Look up a word."""
        return f"{word} is a word"

    session = agents.SQLiteSession("1")

    def run(tail: Any, question: str, prompt: Any) -> None:
        if not made:
            made.append(agents.Agent("a", instructions=tail.prefix.text, tools=[lookup], model=model))
        runner.run(agents.Runner.run(made[0], adapter.run_input(tail, question, prompt), session=session))

    # A loop of its own, which is closed: run_sync leaves one behind.
    with recorder() as server, asyncio.Runner() as runner:
        client = openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0)
        model = agents.OpenAIResponsesModel("gpt-5", client)
        check(server, run, "responses")
        runner.run(client.close())
