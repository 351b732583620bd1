"""The rules for one model: its own name, lifetimes, lookback positions, and what input costs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.errors import MessageError
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import Rules, bare_model_name, seconds, unknown_model
from tests.support.examples import examples

OWN_NAMES = {
    "claude-opus-5-5": "claude-opus-5-5",
    " Claude-Opus-5-5\n": "claude-opus-5-5",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
    "claude-3-5-haiku-latest": "claude-3-5-haiku",
    "anthropic/claude-opus-5-5": "claude-opus-5-5",
    "vertex_ai/claude-haiku-4-5@20251001": "claude-haiku-4-5",
    "claude-sonnet-5-5@default": "claude-sonnet-5-5",
    "anthropic.claude-opus-4-6-v1": "claude-opus-4-6",
    "anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "us.anthropic.claude-opus-4-7": "claude-opus-4-7",
    "us-gov.anthropic.claude-opus-4-7": "claude-opus-4-7",
    "bedrock/converse/eu.anthropic.claude-sonnet-4-20250514-v1:0": "claude-sonnet-4",
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-haiku-20241022-v1:0": "claude-3-5-haiku",
    "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0": (
        "claude-haiku-4-5"
    ),
    "amazon.nova-pro-v1:0": "nova-pro",
    "amazon.nova-lite-v1:0:300k": "nova-lite",
    "openai/gpt-4o-2024-08-06": "gpt-4o",
    "gpt-5.4-mini-2026-03-17": "gpt-5.4-mini",
    "us.openai.gpt-5.6-sol": "gpt-5.6-sol",
    "gpt-5.6-sol": "gpt-5.6-sol",
    "models/gemini-3.8-flash": "gemini-3.8-flash",
    "publishers/google/models/gemini-2.5-pro": "gemini-2.5-pro",
    "deepseek/deepseek-v4-pro": "deepseek-v4-pro",
    "": "",
    "/": "",
}


@pytest.mark.parametrize(("model", "own"), OWN_NAMES.items())
def test_own_name(model: str, own: str) -> None:
    """Route, region, maker, date and version do not belong to a model's own name."""
    assert bare_model_name(model) == own


@examples(200)
@given(st.text(alphabet="ab-v1:@./ 2025_é", max_size=40))
def test_any_name(model: str) -> None:
    """Whatever a model is called, its own name is a part of that, and rules are found."""
    assert bare_model_name(model) in model.strip().lower()
    assert bundled_facts().rules("anthropic", model).model == model


def test_long_name() -> None:
    """A name of any length takes no time to speak of."""
    assert bare_model_name("a." * 100_000 + "-v1" * 100_000) == "a." * 100_000


@pytest.mark.parametrize(("lifetime", "expected"), [("30s", 30), ("5m", 300), ("1h", 3600), ("", math.inf)])
def test_seconds(lifetime: str, expected: float) -> None:
    """A lifetime is a number and a unit; an empty one never ends."""
    assert seconds(lifetime) == expected


@pytest.mark.parametrize("lifetime", ["5", "m", "5d", "-5m", "\u0665m", "1.5h"])
def test_what_is_no_lifetime_is_refused(lifetime: str) -> None:
    """The error shows one that would do."""
    with pytest.raises(MessageError, match="a lifetime is a number and s, m or h, such as 5m"):
        seconds(lifetime)


@pytest.mark.parametrize(("once", "expected"), [(True, [0, 1, 1, 2, 2, 3, 4]), (False, [0, 1, 2, 3, 4, 5, 6])])
def test_a_run_of_tool_blocks_may_be_one_position(once: bool, expected: list[int]) -> None:
    """Calls and results count as separate runs, and texts each for themselves."""
    kinds = ["text", "tool_use", "tool_use", "tool_result", "tool_result", "text", "text"]
    assert Rules("x", "y", "2026-11-15", True, tool_runs_count_once=once).positions(kinds) == expected


def test_a_misspelt_model_gets_a_suggestion() -> None:
    """A warning names the nearest known model with its route; engines have no models to misspell."""
    facts = bundled_facts()
    assert unknown_model(facts.rules("anthropic", "claude-opus-5-5")) == unknown_model(facts.rules("vllm", "x")) == ""
    said = unknown_model(facts.rules("anthropic", "cluade-opus-5-5"), "anthropic/")
    assert said.endswith("did you mean anthropic/claude-opus-5-5?")


def test_paid() -> None:
    """Input costs by what was read and written; a lifetime that nobody told is the usual one."""
    opus = bundled_facts().rules("anthropic", "claude-opus-5-5")
    assert opus.paid(1000, {"5m": 100, "1h": 10}, 1) == pytest.approx(1000 * 0.05 + 100 * 1.25 + 10 * 2.0 + 1)
    assert opus.paid(0, {"": 100}, 0) == pytest.approx(125.0)
    assert opus.paid(0, {"3h": 100}, 0) == pytest.approx(200.0)
    assert bundled_facts().rules("deepseek", "deepseek-v4-pro").paid(0, {"": 100}, 7) == pytest.approx(107.0)
