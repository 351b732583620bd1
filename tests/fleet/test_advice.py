"""Every kind of cause has its advice."""

from __future__ import annotations

from deepprompt.checks.blame.blame import KINDS
from deepprompt.fleet.advice import ADVICE, EXPIRED, advice_for


def test_every_kind_has_advice() -> None:
    """The table covers what `blame` can find, and expiry; a new conversation is no cause."""
    assert set(ADVICE) == (set(KINDS) - {"conversation"}) | {EXPIRED}
    assert all(text[0].isupper() and text.endswith(".") and len(text) <= 120 for text in ADVICE.values())
    assert advice_for("conversation") == ""
