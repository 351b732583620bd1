"""Requests that belong to another conversation are not blamed for it."""

from __future__ import annotations

from typing import Any

import pytest

from deepprompt.checks.blame.blame import blame
from deepprompt.checks.blame.kinship import begins_another
from deepprompt.checks.segments import read_request

LINES = "\n".join(f"Rule {number}: keep the build green." for number in range(40))
TOOLS: list[dict[str, Any]] = [
    {"name": name, "description": name, "input_schema": {}} for name in ("read", "write", "bash")
]
TASK = {"role": "user", "content": "Look around."}


def request(system: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a body for Anthropic."""
    return {"model": "claude-opus-5-5", "system": system, "messages": list(messages), **more}


MAIN = request(f"You are a coding agent.\n{LINES}", TASK, tools=TOOLS, thinking={"type": "adaptive"})


@pytest.mark.parametrize(
    "side",
    [
        request("Write a title.\nNothing else.\nAt most five words.\nNo quotes.", TASK),
        request("Write a commit message.", {"role": "user", "content": "diff --git a/x b/x"}),
        {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Is this a new topic?"}]},
    ],
)
def test_a_side_request(side: dict[str, Any]) -> None:
    """A title or a commit message is another conversation, whatever settings it has, and so is the way back."""
    for old, new in ((MAIN, side), (side, MAIN)):
        found = blame(old, new)
        assert found is not None
        assert (found.kind, found.why, found.repeated) == ("conversation", "another conversation begins", 0)


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        (MAIN | {"system": MAIN["system"].replace("Rule 3:", "Rule three:")}, "edit"),
        (MAIN | {"system": "Be brief."}, "edit"),  # the tools and the messages are the same
        (MAIN | {"messages": [{"role": "user", "content": "Other."}]}, "edit"),
        (MAIN | {"thinking": {"type": "disabled"}}, "setting"),
        (MAIN | {"tools": TOOLS[:1]}, "tool removed"),
    ],
)
def test_a_break(changed: dict[str, Any], kind: str) -> None:
    """One thing that changes does not begin another conversation."""
    found = blame(MAIN, changed)
    assert found is not None
    assert found.kind == kind


def test_prompts() -> None:
    """Two prompts without messages are compared, however different they are."""
    assert not begins_another(read_request("One thing."), read_request("Quite another.\n" * 9))
