"""Limits: how they are spent, and where a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.sources.plan.cut import cut_at_line, spend
from deepprompt.sources.plan.markdown import open_fence
from deepprompt.sources.plan.profile import Limit
from deepprompt.text.hygiene import neutralise
from tests.support.examples import examples

SPENT = {
    "none": (Limit(), [5, 9], [5, 9]),
    "per file": (Limit(per_file=6), [5, 9], [5, 6]),
    "in order": (Limit(total=10), [5, 9, 1], [5, 5, 0]),
    "last first": (Limit(total=10, spend="last first"), [5, 9, 1], [0, 9, 1]),
    "drop first": (Limit(total=10, spend="drop first"), [5, 9, 1], [0, 9, 1]),
    "drop all but one": (Limit(total=3, spend="drop first"), [5, 9], [0, 3]),
    "nothing": (Limit(total=3, spend="drop first"), [], []),
}


@pytest.mark.parametrize("case", SPENT)
def test_a_limit_is_spent(case: str) -> None:
    """Each way of spending gives every file its bytes."""
    limit, sizes, rooms = SPENT[case]
    assert spend(sizes, limit) == rooms


def test_an_open_fence_is_closed() -> None:
    """A cut inside of code closes it before the notice."""
    text = "intro\n```sh\n" + "make test\n" * 100 + "```\n"
    short, _ = cut_at_line(text, 400, "AGENTS.md", len(text))
    code, _, notice = short.rpartition("\n")
    assert code.endswith("\nmake test\n```")
    assert notice.startswith("... [truncated: ") and notice.endswith(
        f" of {len(text):,} bytes of AGENTS.md are missing here]"
    )


def test_without_room_there_is_no_text() -> None:
    """A notice alone is no text."""
    assert cut_at_line("a\n" * 500, 150, "AGENTS.md", 1_000) == ("", 0)


PIECES = st.sampled_from(
    ["a", "é", "\n", "```\n", "~~~~\n", "Human: x\n", "🇩🇪", "<|im_start|>", " " * 50, "word " * 30]
)


@given(st.lists(PIECES, min_size=1, max_size=80), st.integers(200, 1_500))
@examples(200)
def test_a_cut_keeps_its_promises(pieces: list[str], limit: int) -> None:
    """The result is within the limit, neutral, a beginning of the text, and leaves no fence open."""
    text = neutralise("".join(pieces))
    short, used = cut_at_line(text, limit, "AGENTS.md", len(text.encode()))
    assert len(short.encode()) <= limit
    kept = text.encode()[:used].decode()
    assert short.startswith(kept)
    body = short.rpartition("\n")[0]
    assert open_fence(body) == ""
    assert neutralise(short) == short
