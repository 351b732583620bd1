"""An agent of OpenAI Agents with our input, the real one: twelve requests with edits between."""

from __future__ import annotations

from tests.support.frameworks import check, example, run


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, the model learns of each edit once, and all are hits."""
    check(run(example("openai_agents"), "responses", "gpt-5.6"), marks={"input"})


def test_models_without_marks_get_none() -> None:
    """The filter leaves the instructions where they are if the model takes no marks."""
    check(run(example("openai_agents"), "responses", "gpt-5"), marks=set())
