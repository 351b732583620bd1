"""What the inspector's page is given: texts in pieces, rows, pairs of rows, turns, and one file with all of it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import Pace, Part, Prompt, blame, explain, read_request, simulate
from deepprompt.checks.blame.blame import total_tokens
from deepprompt.inspector import views
from deepprompt.inspector.page import SCRIPTS, STYLES, render, text_of
from deepprompt.inspector.timeline import timeline_view
from deepprompt.inspector.views import View, difference_view, prompt_view
from deepprompt.prompt import Note
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.usage import Usage
from deepprompt.session.transcript import Answer
from deepprompt.text.hygiene import reveal

PIECES: dict[str, str | list[str | int]] = {
    "": "",
    "plain\ttext\n": "plain\ttext\n",
    "a\u200bb": ["a", 0x200B, "b"],
    "\u202e": [0x202E],
    "a\r\nb": ["a", 13, "\nb"],
    "left\u200eright": ["left", 0x200E, "right"],
    "👨‍👩‍👧 می‌خواهم ❤️": "👨‍👩‍👧 می‌خواهم ❤️",
    "half \ud83d": ["half ", 0xD83D],
    "⟨U+200B⟩": "⟨U+200B⟩",
}


@pytest.mark.parametrize(("text", "pieces"), PIECES.items(), ids=[ascii(text) for text in PIECES])
def test_hidden_characters_are_numbers(text: str, pieces: object) -> None:
    """What cannot be seen is a number, what spelling or an emoji needs stays, and a written code is only text."""
    assert text_of(text) == pieces


@given(st.text())
def test_pieces_are_the_text(text: str) -> None:
    """The pieces are the text, whole, and hide nothing that `reveal` would show."""
    pieces = text_of(text)
    whole = "".join(piece if isinstance(piece, str) else chr(piece) for piece in pieces)
    assert whole == text
    shown = "".join(piece if isinstance(piece, str) else f"⟨U+{piece:04X}⟩" for piece in pieces)
    assert reveal(shown, "", []) == shown


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_data_are_what_was_given(value: Any) -> None:
    """Whatever stands in the data is read back from the page as it was."""
    page = render({"kind": "prompt", "value": value})
    (block,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(block)["value"] == value
    page.encode()


def test_the_page_is_one_file() -> None:
    """The page names nothing outside itself, and all that it is made of is in the package."""
    page = render({"kind": "prompt"})
    assert "{{" not in page.replace("${{", "")
    assert re.findall(r"""(?:src|href|url)\s*[=(]|@import|https?://(?!www\.w3\.org/2000/svg)""", page) == []
    for name in ("page.html", *STYLES, *SCRIPTS):
        assert files("deepprompt.inspector").joinpath(name).is_file()


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


def requests(*contents: str, system: str = "Be brief. " * 700) -> list[Any]:
    """Requests of a conversation in which each has one more message, the system prompt and the last message marked."""
    marked = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    found = []
    for size in range(1, len(contents) + 1):
        said = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(contents[:size])]
        own = {"model": "claude-opus-5-5", "cache_control": {"type": "ephemeral"}, "system": [marked]}
        found.append(read_request({**own, "messages": said}))
    return found


def timeline(sent: list[Any], **options: Any) -> View:
    """The view of some requests to Anthropic."""
    result = simulate(sent, bundled_facts().rules("anthropic", "claude-opus-5-5"))
    return timeline_view("talk", sent, result, explain(sent[-1]), **options)


def test_a_session() -> None:
    """Each turn has what it read, wrote and paid; one that begins with the one before it has no cause of a miss."""
    view = timeline(requests("Hi", "Hello", "And?"), times=(0.0, 60.0, 120.0), labels=("a", "b", "c"))
    assert (view["kind"], view["provider"], view["model"]) == ("session", "anthropic", "claude-opus-5-5")
    assert [turn["miss"] for turn in view["turns"]] == [False] * 3
    assert [turn["read"] > 0 for turn in view["turns"]] == [False, True, True]
    assert [turn["at"] for turn in view["turns"]] == [0.0, 60.0, 120.0]
    assert [turn["label"] for turn in view["turns"]] == ["a", "b", "c"]
    totals = [turn["read"] + turn["written"] + turn["full"] for turn in view["turns"]]
    assert view["input"] == sum(totals)
    assert [turn["kept"] for turn in view["turns"]] == [0, *totals[:-1]]
    assert view["last"]["tokens"] == explain(requests("Hi", "Hello", "And?")[-1]).tokens


def test_a_miss_has_its_cause() -> None:
    """A request that parts from the one before it says where and why, and how much of it can still be read."""
    sent = [
        *requests("Hi", system="Today is 2026-11-15. " * 400),
        *requests("Hi", system="Today is 2026-11-16. " * 400),
    ]
    view = timeline(sent)
    first, second = view["turns"]
    assert (first["cause"], first["miss"]) == (None, False)
    assert second["miss"]
    assert second["cause"]["kind"] == "clock"
    assert (second["cause"]["old"], second["cause"]["new"]) != ("", "")
    assert second["kept"] == second["cause"]["offset"] // 4


def test_what_was_recorded() -> None:
    """Recorded usage and its verdict stand beside the simulation, and a verdict that is no hit is a miss."""
    answers = {
        0: Answer(Usage(90, 0, {"5m": 80}, 1), "cold start", "x"),
        1: Answer(Usage(90, 0, {}, 1), "expired", "y"),
    }
    view = timeline(requests("Hi", "Hello", "And?"), answers=answers)
    assert view["recorded"] == 2
    assert [turn["miss"] for turn in view["turns"]] == [False, True, False]
    assert view["turns"][0]["recorded"] == {"read": 0, "written": 80, "full": 10, "kind": "cold start", "detail": "x"}
    assert "recorded" not in view["turns"][2]
