"""Where the static prefix of a prompt or a request ends."""

from __future__ import annotations

from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt, SystemPromptBuilder, discover_project_context
from deepprompt.checks.segments import read_request
from deepprompt.checks.static import mark_changing, prefix_end, split_static
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY as BOUNDARY

MARK = {"cache_control": {"type": "ephemeral"}}
ASK: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
SLOW, FAST = Part("slow", "slow", Pace.RELEASE, ""), Part("fast", "fast", Pace.TURN, "")


def text(words: str, **more: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def tool(name: str, **more: Any) -> dict[str, Any]:
    """A tool."""
    return {"name": name, **more}


# A value, the texts of its static prefix, and those after it.
CASES: dict[str, tuple[object, list[str], list[str]]] = {
    "a text": ("all of it", ["all of it"], []),
    "a text with a boundary": (f"slow{BOUNDARY}fast", ["slow"], ["fast"]),
    "the first boundary counts": (f"a{BOUNDARY}b{BOUNDARY}c", ["a"], [f"b{BOUNDARY}c"]),
    "a boundary at the start": (f"{BOUNDARY}fast", [], ["fast"]),
    "a boundary at the end": (f"slow{BOUNDARY}", ["slow"], []),
    "a prompt with a turn": (Prompt((SLOW, FAST)), ["slow"], ["fast"]),
    "a prompt without one": (Prompt((SLOW,), messages=tuple(ASK)), ["slow"], ["Hi"]),
    "a prompt's tools": (Prompt((SLOW, FAST), tools=(tool("a"),)), ['{"name":"a"}', "slow"], ["fast"]),
    "a message array": ([{"role": "system", "content": "slow"}, *ASK], ["slow"], ["Hi"]),
    "two system messages": (
        [
            {"role": "system", "content": "a"},
            {"role": "developer", "content": "b"},
            *ASK,
            {"role": "system", "content": "c"},
        ],
        ["a", "b"],
        ["Hi", "c"],
    ),
    "a boundary in a message array": (
        [{"role": "system", "content": f"slow{BOUNDARY}fast"}, *ASK],
        ["slow"],
        ["fast", "Hi"],
    ),
    "no marks: tools and system": (
        {"model": "m", "tools": [tool("a")], "system": "slow", "messages": ASK},
        ["m", '{"name":"a"}', "slow"],
        ["Hi"],
    ),
    "a mark on the tools": (
        {"tools": [tool("a", **MARK)], "system": "fast", "messages": ASK},
        ['{"name":"a"}'],
        ["fast", "Hi"],
    ),
    "a mark in the system": (
        {"system": [text("slow", **MARK), text("fast")], "messages": ASK},
        ["slow"],
        ["fast", "Hi"],
    ),
    "a mark in a message": (
        {"system": "slow", "messages": [{"role": "user", "content": [text("kept", **MARK), text("fast")]}]},
        ["slow", "kept"],
        ["fast"],
    ),
    "the last mark counts": (
        {"system": [text("slow", **MARK)], "messages": [{"role": "user", "content": [text("kept", **MARK)]}, *ASK]},
        ["slow", "kept"],
        ["Hi"],
    ),
    "a mark for the whole request": (
        {"system": "slow", "messages": ASK, **MARK},
        ["slow"],
        ["Hi"],
    ),
    "a mark at the end of the newest turn": (
        {
            "system": [text("slow", **MARK), text("slow too")],
            "messages": [
                {"role": "user", "content": "old"},
                {"role": "assistant", "content": "answer"},
                {"role": "user", "content": [text("new", **MARK)]},
            ],
        },
        ["slow", "slow too"],
        ["old", "answer", "new"],
    ),
    "marks in old messages": (
        {
            "system": "slow",
            "messages": [
                {"role": "user", "content": [text("old", **MARK)]},
                {"role": "assistant", "content": "answer"},
                {"role": "user", "content": [text("new", **MARK), text("newer")]},
            ],
        },
        ["slow"],
        ["old", "answer", "new", "newer"],
    ),
    "a boundary before a mark": (
        {"system": [text(f"slow{BOUNDARY}fast", **MARK)], "messages": ASK},
        ["slow"],
        ["fast", "Hi"],
    ),
    "Bedrock's mark": (
        {"system": [{"text": "slow"}, {"cachePoint": {"type": "default"}}, {"text": "fast"}], "messages": []},
        ["slow"],
        ["fast"],
    ),
    "Gemini": (
        {"systemInstruction": {"parts": [{"text": "slow"}]}, "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        ["slow"],
        ["Hi"],
    ),
    "OpenAI's Responses": ({"model": "m", "instructions": "slow", "input": "Hi"}, ["m", "slow"], ["Hi"]),
    "a tool choice stands before the messages": (
        {"system": "slow", "tool_choice": {"type": "any"}, "messages": ASK},
        ["slow", '{"type":"any"}'],
        ["Hi"],
    ),
    "nothing but messages": (ASK, [], ["Hi"]),
}


@pytest.mark.parametrize("value, static, changing", CASES.values(), ids=CASES)
def test_where_it_ends(value: object, static: list[str], changing: list[str]) -> None:
    """The prefix ends where the value says it does."""
    split = split_static(value)
    assert [[segment.text for segment in side] for side in split] == [static, changing]


def test_a_boundary_of_ones_own() -> None:
    """Any text may be the boundary, and none; a tool is not cut, whatever its description says."""
    assert [[s.text for s in side] for side in split_static("a--b", "--")] == [["a"], ["b"]]
    assert [[s.text for s in side] for side in split_static(f"a{BOUNDARY}b", "")] == [[f"a{BOUNDARY}b"], []]
    body = {"tools": [tool("a", description="a--b")], "system": "c--d"}
    assert [[s.text for s in side] for side in split_static(body, "--")] == [
        ['{"name":"a","description":"a--b"}', "c"],
        ["d"],
    ]


def test_the_same_for_a_prompt_and_its_text() -> None:
    """What our builder makes is cut in the same place, as parts and as a mere text."""
    builder = SystemPromptBuilder(static_base="Be kind.", project=discover_project_context("."))
    as_parts, as_text = split_static(builder.compose()), split_static(builder.build())
    assert "".join(segment.text for segment in as_parts[0]) == "".join(segment.text for segment in as_text[0])
    assert all(segment.changing for segment in (*as_parts[1], *as_text[1]))


@pytest.mark.parametrize("value, static, changing", CASES.values(), ids=CASES)
def test_lint_and_lock_agree(value: object, static: list[str], changing: list[str]) -> None:  # noqa: ARG001
    """Lint looks at the same texts as the lock pins: it marks what changes, and splits nothing else off."""
    segments = mark_changing(read_request(value))
    assert [segment.text for segment in segments[: prefix_end(segments)] if not segment.changing] == static


def test_marking_keeps_lines_and_marks() -> None:
    """The piece after the boundary keeps its line numbers and its mark; the one before it has no mark of its own."""
    before, after = mark_changing(read_request({"system": [text(f"a\nb{BOUNDARY}c", **MARK)], "messages": []}))
    assert (before.text, before.mark, before.changing) == ("a\nb", None, False)
    assert (after.text, after.mark, after.changing) == ("\n\n\nc", "", True)
    assert mark_changing([before, after]) == [before, after]
