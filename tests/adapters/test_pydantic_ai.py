"""A pydantic-ai agent with our user prompt, the real one: twelve requests with edits between."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.frameworks import check, framework
from tests.support.recorder import recorder


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, and the model is told what was edited, once."""
    pydantic_ai, sdk = framework("pydantic_ai"), framework("anthropic")
    models, providers = framework("pydantic_ai.models.anthropic"), framework("pydantic_ai.providers.anthropic")
    adapter = framework("deepprompt.adapters.pydantic_ai")
    history: list[Any] = []
    made: list[Any] = []

    def lookup(word: str) -> str:
        """Look up a word."""
        return f"{word} is a word"

    def run(tail: Any, question: str, prompt: Any) -> None:
        if not made:
            made.append(pydantic_ai.Agent(model, instructions=tail.prefix.text, tools=[lookup]))
        prompted = adapter.user_prompt(tail, question, prompt)
        result = runner.run(made[0].run(prompted, message_history=history))
        history[:] = result.all_messages()

    # A loop of its own, which is closed: run_sync leaves one behind.
    with recorder() as server, asyncio.Runner() as runner:
        client = sdk.AsyncAnthropic(base_url=server.url, api_key="x", max_retries=0)
        provider = providers.AnthropicProvider(anthropic_client=client)
        model = models.AnthropicModel("claude-opus-5-5", provider=provider)
        check(server, run, "messages", streams=True)  # as it asks for every answer
        runner.run(client.close())
