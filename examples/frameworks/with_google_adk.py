"""An agent of Google ADK that keeps its cache: a static instruction, and a plugin for news, order and verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.google_adk import TailPlugin


def lookup(word: str) -> str:
    """Look up a word."""
    return f"{word} is a word"


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address."""
    model = Gemini(model=watch.model, base_url=url, client_kwargs={"api_key": "x", "enterprise": False})
    asked = LlmAgent(name="a", model=model, static_instruction=tail.prefix.text, tools=[lookup])
    runner = InMemoryRunner(app=App(name="app", root_agent=asked, plugins=[TailPlugin(tail, prompt, watch)]))

    async def ask(question: str) -> object:
        message = types.Content(role="user", parts=[types.Part(text=question)])
        return [event async for event in runner.run_async(user_id="u", session_id="1", new_message=message)]

    with asyncio.Runner() as loop:
        loop.run(runner.session_service.create_session(app_name="app", user_id="u", session_id="1"))
        yield lambda question: loop.run(ask(question))
        loop.run(runner.close())
