"""An agent of Google ADK with our plugin, the real one: twelve requests with edits between."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.frameworks import check, example, framework, run


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, the model learns of each edit once, and all are hits."""
    check(run(example("google_adk"), "gemini", "gemini-2.5-pro"), marks=set())


def test_a_text_as_instruction_is_a_template() -> None:
    """Why the prefix is not put there: what stands in braces is looked up in the session's state."""
    made = framework("examples.frameworks.with_google_adk", "google_adk")
    model = made.Gemini(model="gemini-2.5-pro", base_url="http://127.0.0.1:9", client_kwargs={"api_key": "x"})
    asked = made.LlmAgent(name="a", model=model, instruction="Write {state} as it is.")
    runner = made.InMemoryRunner(app=made.App(name="app", root_agent=asked))

    async def ask() -> None:
        await runner.session_service.create_session(app_name="app", user_id="u", session_id="1")
        message = made.types.Content(role="user", parts=[made.types.Part(text="question")])
        async for _ in runner.run_async(user_id="u", session_id="1", new_message=message):
            pass

    with pytest.raises(KeyError, match="state"):
        asyncio.run(ask())
