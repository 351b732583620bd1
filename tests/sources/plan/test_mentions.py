"""Imports in a text."""

from __future__ import annotations

import pytest

from deepprompt.sources.plan.mentions import find_mentions
from deepprompt.sources.plan.profile import Imports

TEXT = (
    '@a.md b@c.md (@d.md) "@e.md", @f.md, `@g.md` @h\\ i.md\n\n    @j.md\n```\n@k.md\n```\n<!-- @l.md -->\n@@m.md @\n'
)

DIALECTS = {
    "strict": (Imports(), ["a.md", "f.md,", "h\\"]),
    "punctuation": (Imports(punctuation=True), ["a.md", "f.md", "h\\"]),
    "before": (Imports(before='("', punctuation=True), ["a.md", "d.md", "e.md", "f.md", "h\\"]),
    "escapes": (Imports(escapes=True), ["a.md", "f.md,", "h i.md"]),
    "all code": (Imports(skip=("span",)), ["a.md", "f.md,", "h\\", "j.md", "k.md", "l.md"]),
}


@pytest.mark.parametrize("case", DIALECTS)
def test_a_dialect(case: str) -> None:
    """Each dialect finds its own mentions, in order."""
    rules, found = DIALECTS[case]
    assert [mention.path for mention in find_mentions(TEXT, rules)] == found


def test_a_pointer_holds_nothing_else() -> None:
    """With `alone`, only a text of nothing but imports has any."""
    rules = Imports(alone=True)
    assert [mention.path for mention in find_mentions("\n@a.md\n @b.md\n", rules)] == ["a.md", "b.md"]
    assert find_mentions("see @a.md", rules) == []
