"""What a prompt is made of: every row in its place, and sums that are exact for anything that can be explained."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import (
    InstructionFile,
    Pace,
    Part,
    ProjectContext,
    Prompt,
    SystemPromptBuilder,
    build_request,
    estimate_tokens,
    explain,
    read_request,
)
from deepprompt.checks.blame.blame import total_tokens
from deepprompt.counters import calibrate, counter_for
from deepprompt.prompt import sha256_hex
from tests.support.examples import examples

TOOLS: list[dict[str, Any]] = [
    {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}}
]

BUILT = SystemPromptBuilder(
    instructions=[InstructionFile("/p/AGENTS.md", "Be brief.\n\n[x] done\nnow"), InstructionFile("/p/b.md", "Yes.")],
    skill_directory="- review: reads a diff\n",
    project=ProjectContext(cwd="/p", git_status=" M a.py\n", git_diff="+1"),
).compose()

NAMES = [
    "identity", "tools", "style", "instructions", "instructions /p/AGENTS.md", "instructions /p/b.md", "skills",
    "boundary", "project", "git status", "git diff",
]  # fmt: skip

COUNTERS = {
    "estimate": counter_for(),
    "calibrated": calibrate([(1000, 313)]),
    **({model: counter_for(model) for model in ("gpt-5", "gpt-4", "deepseek-chat")} if find_spec("splintr") else {}),
}

texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["\n\nHello", "indivis", "ible", "漢", " "]
)

names = st.sampled_from(["a", "b", "boundary"]) | texts


@st.composite
def prompts(draw: st.DrawFn) -> Prompt:
    """Prompts of any parts, slow to fast, with or without a boundary, tools and messages."""
    paces = sorted(draw(st.lists(st.sampled_from(Pace), max_size=7)))
    parts = [Part(draw(names), draw(texts), pace, draw(texts)) for pace in paces]
    messages = [{"role": draw(st.sampled_from(["user", "assistant"])), "content": draw(texts)} for _ in parts[:2]]
    return Prompt(tuple(parts), tuple(draw(st.sampled_from([[], TOOLS]))), messages=tuple(messages))


@pytest.mark.parametrize("name", COUNTERS)
@examples(60)
@given(prompt=prompts())
def test_the_sums_are_exact(name: str, prompt: Prompt) -> None:
    """For any prompt the rows have all of its bytes and tokens between them, and nothing twice."""
    counter = COUNTERS[name]
    found = explain(prompt, counter)
    segments = read_request(prompt)
    whole = "".join(segment.text for segment in segments)
    assert "".join(row.text for row in found.rows) == whole
    assert found.bytes == sum(row.bytes for row in found.rows) == len(whole.encode())
    assert found.tokens == sum(row.tokens for row in found.rows)
    assert found.sha256 == sha256_hex(whole)
    starts = [sum(row.bytes for row in found.rows[:number]) for number in range(len(found.rows))]
    assert [row.start for row in found.rows] == starts
    if not counter.exact:
        assert found.tokens == counter(whole)
        assert all(row.tokens >= 0 for row in found.rows)
    else:  # the prompt is one text, tools and messages are texts of their own
        others = [segment.text for segment in segments if not segment.joins]
        assert found.tokens == counter(prompt.text) + sum(map(counter, others))
    assert sum(row.share for row in found.rows) == pytest.approx(1.0 if found.tokens else 0.0)


def test_the_estimate_is_that_of_the_package() -> None:
    """All tokens are what `estimate_tokens` says of the text, and what `blame` counts of a request."""
    assert explain(BUILT).tokens == estimate_tokens(BUILT.text)
    body = build_request(BUILT, [{"role": "user", "content": "Hi"}], to="anthropic", model="claude-opus-5-5").body
    assert explain(body).tokens == total_tokens(body)


def test_the_parts_of_a_prompt() -> None:
    """Each part has its name, pace, origin and version; what stands before the boundary is static."""
    found = explain(BUILT)
    assert [row.name for row in found.rows] == NAMES
    assert [row.pace for row in found.rows] == [part.pace for part in BUILT.parts]
    assert [row.origin for row in found.rows] == [part.origin for part in BUILT.parts]
    assert [row.version for row in found.rows] == ["base@1.0.0"] * 3 + [""] * 8
    assert not any(row.own for row in found.rows)
    assert found.static == 7
    assert [row.is_boundary for row in found.rows].index(True) == 7
    assert found.up_to(7)[0] == len(BUILT.static_prefix.encode())
    assert [row.sha256 for row in found.rows] == [sha256_hex(part.text) for part in BUILT.parts]


def test_a_mere_text_is_cut_by_its_layout() -> None:
    """A text that the builder laid out has its sections; what it does not say, nobody guesses."""
    found = explain(BUILT.text)
    assert [row.name for row in found.rows] == ["text", *NAMES[3:]]
    assert found.rows[0].pace is None
    assert [row.text for row in found.rows[1:]] == [part.text for part in BUILT.parts[3:]]
    assert found.static == 5


@pytest.mark.parametrize("text", ["", "One line.", "\n=== DYNAMIC CONTEXT", "a\n\n## Skills\n- b\n"])
def test_any_text_has_rows(text: str) -> None:
    """A text without our layout is one row, and a row is there even for nothing."""
    found = explain(text)
    assert "".join(row.text for row in found.rows) == text
    assert found.rows


def test_an_override_is_the_users_own() -> None:
    """A part out of a folder is an override of the version that its folder names."""
    part = Part("identity", "I.", Pace.RELEASE, "my/parts:base/1.0.0/identity.md")
    (row,) = explain(Prompt((part,))).rows
    assert (row.version, row.own) == ("base@1.0.0", True)
    (row,) = explain(Prompt((Part("append", "I.", Pace.PROJECT, "file:a/1/b.md"),))).rows
    assert (row.version, row.own) == ("", False)


def test_marks_and_settings_of_a_request() -> None:
    """A request's marks stand at the end of their rows, and its settings are no rows."""
    body = build_request(BUILT, [{"role": "user", "content": "Hi"}], to="anthropic", model="claude-opus-5-5").body
    found = explain(body)
    assert ("model", "claude-opus-5-5") in found.settings
    assert [row.kind for row in found.rows] == ["system", "system", "system", "text"]
    assert any(row.mark is not None for row in found.rows)


def test_a_tool_and_a_prompt_share_no_token() -> None:
    """What is sent as JSON of its own does not go on with the text before it."""
    prompt = Prompt((Part("a", "indivis", Pace.RELEASE, ""), Part("b", "ible", Pace.RELEASE, "")), tuple(TOOLS))
    for counter in COUNTERS.values():
        if counter.exact:
            found = explain(prompt, counter)
            assert found.rows[1].tokens + found.rows[2].tokens == counter("indivisible")
            assert found.rows[0].tokens == counter(found.rows[0].text)
