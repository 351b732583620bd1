"""LiteLLM with our hook and our callback, the real one: twelve requests with edits between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.frameworks import Ask, Talk, check, example, framework, run

# What pydantic says of LiteLLM's own types.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Keep callbacks to one test: LiteLLM goes on with them."""
    litellm = framework("litellm", "litellm")
    yield
    litellm.logging_callback_manager._reset_all_callbacks()


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, the model learns of each edit once, and all are hits."""
    check(run(example("litellm"), "messages", "claude-opus-5-5"), marks={"tools", "system", "messages"})


def test_in_an_asynchronous_call_too() -> None:
    """The hook runs in both kinds of calls, and leaves the mark on the tools alone."""
    litellm = framework("litellm", "litellm")
    made = framework("examples.frameworks.with_litellm", "litellm")
    adapter = framework("deepprompt.adapters.litellm", "litellm")
    model = "anthropic/claude-opus-5-5"
    tools = adapter.marked_tools([made.LOOKUP], model)

    @contextmanager
    def agent(url: str, talk: Talk) -> Iterator[Ask]:
        named = {"model": model, "api_base": url, "api_key": "x", "prompt_id": adapter.PROMPT_ID, "tools": tools}
        monkeypatch.setattr(litellm, "callbacks", [adapter.PrefixHook(talk.tail), adapter.WatchLogger(talk.watch)])
        with asyncio.Runner() as runner:
            yield lambda question: runner.run(
                litellm.acompletion(messages=[adapter.user_message(talk.tail, question, talk.prompt())], **named)
            )
            for _ in range(500):  # it reports from a task of its own
                runner.run(asyncio.sleep(0.01 if len(talk.watch.verdicts) < 6 else 0))

    with pytest.MonkeyPatch.context() as monkeypatch:
        found = run(agent, "messages", "claude-opus-5-5")
    assert found.marked == {"tools", "system", "messages"}
    assert len(found.bodies) == len(found.talk.watch.verdicts) == 6
