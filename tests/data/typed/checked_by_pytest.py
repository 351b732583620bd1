"""Tests with the plugin's fixtures, as a user annotates them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from deepprompt import SystemPromptBuilder
from deepprompt.checks.perturb.perturb import Stability

StablePrefix = Callable[..., Stability]


def system_prompt() -> str:
    """The prompt that is guarded."""
    return SystemPromptBuilder(static_base="You are a careful agent.").build()


@pytest.mark.parametrize("name", ["Ada"])
def test_prompt(name: str, prompt_snapshot: SnapshotAssertion) -> None:
    """The prompt is the one that was reviewed."""
    assert f"You are {name}.\n" == prompt_snapshot
    assert [{"role": "user", "content": "Hi"}] == prompt_snapshot(name="messages")


def test_prefix(assert_prefix_stable: StablePrefix) -> None:
    """The prefix stays."""
    moves = ["locale", "time zone", "hash seed", "folder", "line ends", "home", "user", "host", "terminal", "listing"]
    stability = assert_prefix_stable(system_prompt, skip=moves, timeout=60.0)
    assert stability.prefix_bytes == len("You are a careful agent.")
