"""An agent of Google ADK with our plugin, the real one: twelve requests with edits between."""

from __future__ import annotations

from tests.support.frameworks import check, example, run


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, the model is told of each edit, once, and all are hits."""
    check(run(example("google_adk"), "gemini", "gemini-2.5-pro"), marks=set())
