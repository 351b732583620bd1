"""The texts of a preset as a set: which conditions can hold together, and what counts as shared."""

from __future__ import annotations

import pytest

from deepprompt import load_preset
from deepprompt.checks.lint.preset_names import Text, can_hold, shared, texts_of

CODER = load_preset("coder@1.0.0")


@pytest.mark.parametrize(
    ("conditions", "off", "holds"),
    [
        (["always"], [], True),
        (["mode:ask", "mode:auto"], [], False),
        (["mode:ask", "headless"], [], True),
        (["mode:ask and not headless", "headless"], [], False),
        (["tool:Agent and list:agents"], ["tool:Agent"], False),
        (["tool:Agent or review"], ["tool:Agent"], True),
        ([" or ".join(f"tool:T{number}" for number in range(20))], [], True),
    ],
)
def test_conditions(conditions: list[str], off: list[str], holds: bool) -> None:
    """Values of an axis exclude each other, a word of `off` is off, and too many words count as yes."""
    assert can_hold(CODER, *conditions, off=off) is holds


def test_shared_is_told_once() -> None:
    """Two texts with a long passage in common are one finding; punctuation, case and line breaks do not matter."""
    passage = "one two three, four five\nsix seven eight nine ten"
    texts = [Text("a", f"A. {passage}"), Text("b", f"B! {passage.upper()}"), Text("c", "one two three four")]
    assert [(first.place, second.place, offset) for first, second, _, offset in shared(texts)] == [("a", "b", 3)]


def test_texts_of_coder() -> None:
    """Rows, cases, tools, agents: each text is there once, and an agent's own words are no part of the main prompt."""
    texts = texts_of(CODER)
    places = [text.place for text in texts]
    assert len({*texts}) == len(texts)
    assert {"coder/1.0.0/identity.md", "slots/1.0.0/skill.md", "claude_code/2.1.37/tools/Bash.md"} <= {*places}
    beside = {text.place for text in texts if not text.main}
    assert beside == {f"coder/1.0.0/agents/{name}.md" for name in CODER.agents()} | {"coder/1.0.0/agent_rules.md"}
