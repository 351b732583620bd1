"""The inspector's views of one prompt and of two: rows, and pairs of rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import Pace, Part, Prompt, blame, explain
from deepprompt.checks.blame.blame import total_tokens
from deepprompt.inspector import views
from deepprompt.inspector.views import View, difference_view, prompt_view
from deepprompt.prompt import Note

PARTS = [
    Part("identity", "I am.\n", Pace.RELEASE, "deepprompt:base/1.0.0/identity.md"),
    Part("rules", "one\ntwo\nthree\n", Pace.PROJECT, "file:AGENTS.md"),
    Part("boundary", "\n---\n", Pace.TURN, "deepprompt"),
    Part("state", "clean\n", Pace.TURN, "project"),
]


def test_a_prompt() -> None:
    """A prompt's view has its rows with their texts, its sums, and its notes."""
    view = prompt_view(explain(Prompt(tuple(PARTS))), "mine", [Note("cut", "AGENTS.md", "too long")])
    assert (view["kind"], view["title"], view["static"], view["bytes"]) == ("prompt", "mine", 2, 31)
    assert [row["text"] for row in view["rows"]] == [part.text for part in PARTS]
    assert [row["pace"] for row in view["rows"]] == ["release", "project", "turn", "turn"]
    assert sum(row["tokens"] for row in view["rows"]) == view["tokens"] == 31 // 4
    assert view["notes"] == ["cut: AGENTS.md: too long"]


def difference(olds: list[Part], news: list[Part]) -> View:
    """The view of two prompts."""
    old, new = Prompt(tuple(olds), fixed_order=True), Prompt(tuple(news), fixed_order=True)
    totals = total_tokens(old), total_tokens(new)
    return difference_view(explain(old), explain(new), ("a", "b"), blame(old, new), totals)


def statuses(view: View) -> list[tuple[str, int | None, int | None]]:
    """What became of each part."""
    return [(pair["status"], pair["old"], pair["new"]) for pair in view["pairs"]]


def changed(part: Part, text: str) -> Part:
    """A part with another text."""
    return Part(part.name, text, part.pace, part.origin)


def test_two_prompts_that_are_the_same() -> None:
    """Nothing parts them, and every part is the same."""
    view = difference(PARTS, PARTS)
    assert view["cause"] is None
    assert statuses(view) == [("same", number, number) for number in range(4)]


def test_a_changed_part() -> None:
    """A changed part says where it first differs, in bytes of the part, and shows the lines around it."""
    view = difference(PARTS, [PARTS[0], changed(PARTS[1], "one\ntwö\nthree\n"), *PARTS[2:]])
    pair = view["pairs"][1]
    assert (pair["status"], pair["byte"], pair["line"]) == ("changed", 6, 2)
    assert pair["lines"] == [["", "one"], ["-", "tw", "o"], ["+", "tw", "ö"], ["", "three"], ["", ""]]
    assert (view["cause"]["kind"], view["cause"]["offset"]) == ("edit", 12)


def test_the_first_byte_of_two_characters_that_begin_alike() -> None:
    """Two characters may share their first bytes: then the place is inside of them, as in `blame`."""
    view = difference([changed(PARTS[1], "aé")], [changed(PARTS[1], "aè")])
    assert view["pairs"][0]["byte"] == 2 == view["cause"]["offset"]


def test_parts_that_came_went_and_moved() -> None:
    """Each part has its fate: what is gone stands where it was, what moved is said to have."""
    extra = Part("skills", "new\n", Pace.PROJECT, "skills")
    view = difference(PARTS, [PARTS[0], extra, *PARTS[2:]])
    assert statuses(view) == [("same", 0, 0), ("added", None, 1), ("removed", 1, None), ("same", 2, 2), ("same", 3, 3)]
    assert [pair.get("text") for pair in view["pairs"]] == [None, "new\n", "one\ntwo\nthree\n", None, None]
    swapped = statuses(difference(PARTS, [PARTS[1], PARTS[0], *PARTS[2:]]))
    assert sorted(status for status, _, _ in swapped) == ["moved", "same", "same", "same"]


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_every_row_is_in_one_pair(olds: list[str], news: list[str]) -> None:
    """No part is lost or shown twice, whatever came, went and moved."""
    pairs = difference(*([Part(name, name, Pace.PROJECT, "") for name in side] for side in (olds, news)))["pairs"]
    assert sorted(pair["old"] for pair in pairs if pair["old"] is not None) == list(range(len(olds)))
    assert [pair["new"] for pair in pairs if pair["new"] is not None] == list(range(len(news)))


def test_a_long_difference_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of texts too long to be compared line by line, what changed is shown as one block, and how much more there is."""
    monkeypatch.setattr(views, "_MOST_LINES", 10)
    before = "\n".join(f"line {number}" for number in range(300))
    after = before.replace("line 7\n", "line 7!\n")
    (pair,) = difference([changed(PARTS[1], before)], [changed(PARTS[1], after)])["pairs"]
    assert pair["lines"] == [
        ["gap", "7 lines are the same"], ["", "line 4"], ["", "line 5"], ["", "line 6"],
        ["-", "line 7", ""], ["+", "line 7", "!"], ["gap", "292 lines are the same"],
    ]  # fmt: skip
    (pair,) = difference([changed(PARTS[1], before)], [changed(PARTS[1], before.upper())])["pairs"]
    assert pair["lines"][-2] == ["gap", "100 and 100 more lines are not shown"]
