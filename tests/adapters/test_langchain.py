"""LangChain's agent with our middleware, the real one: twelve requests with edits between."""

from __future__ import annotations

from tests.support.frameworks import check, example, run


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, the model learns of each edit once, and all are hits."""
    check(run(example("langchain"), "messages", "claude-opus-5-5"), marks={"tools", "system", "messages"})
