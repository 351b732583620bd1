"""The token estimate: UTF-8 bytes divided by four, rounded down."""

from __future__ import annotations

import pytest

from deepprompt import estimate_tokens

ESTIMATES = {
    "": 0,
    "abc": 0,
    "abcd": 1,
    "abcdefg": 1,
    "abcdefgh": 2,
    "é": 0,
    "éé": 1,
    "漢字": 1,
    "🎉": 1,
    "\n\n\n\n": 1,
    "x" * 4_003: 1_000,
}


@pytest.mark.seed("004.23")
@pytest.mark.parametrize(("text", "tokens"), ESTIMATES.items(), ids=[text[:8] for text in ESTIMATES])
def test_estimate(text: str, tokens: int) -> None:
    """The estimate counts bytes, not characters, and rounds down."""
    assert estimate_tokens(text) == tokens


def test_lone_surrogates() -> None:
    """A lone surrogate counts as the U+FFFD that it becomes in a prompt, and is not an exception."""
    assert estimate_tokens("\ud800ab\udfff") == estimate_tokens("\ufffdab\ufffd") == 2
