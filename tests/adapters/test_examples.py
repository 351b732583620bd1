"""The examples for frameworks that need no adapter, with the real ones: twelve requests with edits between."""

from __future__ import annotations

import pytest

from tests.support.frameworks import check, example, framework, run

# What these frameworks and the packages below them say of themselves.
pytestmark = pytest.mark.filterwarnings("ignore")

ALL = {"tools", "system", "messages"}


def test_smolagents() -> None:
    """The prefix is sent unchanged, and the model learns of each edit once."""
    found = run(example("smolagents"), "chat", "gpt-5.6", last="final_answer")
    check(found, marks=set())


def test_openhands() -> None:
    """The same, with OpenHands' own marks; it keeps the requests to itself, so there is no verdict."""
    check(run(example("openhands"), "messages", "claude-opus-5-5"), marks=ALL - {"tools"}, verdicts=False)


def test_agent_framework() -> None:
    """The same, with a mark on the instructions."""
    check(run(example("agent_framework"), "messages", "claude-opus-5-5"), marks={"system"})


def test_the_templates_of_smolagents_are_evaluated() -> None:
    """Why the prefix is not put there."""
    agents = framework("smolagents.agents", "smolagents")
    assert agents.populate_template("{% raw %}{% endraw %}{{ 7*7 }}", {}) == "49"
