"""An agent of claude-agent-sdk with our prompt and our queries, the real one: twelve requests with edits between."""

from __future__ import annotations

from tests.support.frameworks import check, example, run


def test_nothing_is_lost_and_every_edit_is_told() -> None:
    """Each request begins with the whole one before it, and the model learns of each edit once."""
    found = run(example("claude_agent"), "messages", "claude-opus-5-5", streams=True, tool="mcp__words__lookup")
    check(found, marks={"system", "messages"}, verdicts=False)  # the CLI says no more than one sum for a turn
