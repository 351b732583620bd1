"""LangChain's agent with our middleware, the real one: twelve requests with edits between."""

from __future__ import annotations

from typing import Any

from tests.support.frameworks import check, framework
from tests.support.recorder import recorder


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, and the model is told what was edited, once."""
    agents, anthropic = framework("langchain.agents"), framework("langchain_anthropic")
    saver = framework("langgraph.checkpoint.memory").InMemorySaver()
    adapter = framework("deepprompt.adapters.langchain")

    def lookup(word: str) -> str:
        """Look up a word."""
        return f"{word} is a word"

    made: list[Any] = []
    now: list[Any] = []

    def run(tail: Any, question: str, prompt: Any) -> None:
        now[:] = [prompt]
        if not made:
            middleware = adapter.TailMiddleware(tail, lambda: now[0])
            made.append(
                agents.create_agent(
                    model, [lookup], system_prompt=tail.prefix.text, middleware=[middleware], checkpointer=saver
                )
            )
        thread = {"configurable": {"thread_id": "1"}}
        made[0].invoke({"messages": [{"role": "user", "content": question}]}, thread)

    with recorder() as server:
        model = anthropic.ChatAnthropic(model="claude-opus-5-5", base_url=server.url, api_key="x", max_retries=0)
        check(server, run, "messages")
