"""A pydantic-ai agent with our capability, the real one: twelve requests with edits between."""

from __future__ import annotations

from tests.support.frameworks import check, example, run


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, the model learns of each edit once, and all are hits."""
    found = run(example("pydantic_ai"), "messages", "claude-opus-5-5", streams=True)  # as it asks for every answer
    check(found, marks={"tools", "system", "messages"})
