"""Markdown in instruction files: fences, code, comments and imports."""

from __future__ import annotations

import pytest

from deepprompt.sources.plan.markdown import code_ranges, find_mentions, open_fence, without_comments
from deepprompt.sources.plan.profile import Imports

FENCES = {
    "none": ("a\nb", ""),
    "closed": ("```\na\n```\n", ""),
    "open": ("a\n```py\nb", "```"),
    "tildes inside": ("```\n~~~\n", "```"),
    "longer closes": ("```\n`````\n", ""),
    "shorter does not": ("````\n```\n", "````"),
    "words after": ("```\n``` not\n", "```"),
    "in a line": ("a ``` b", ""),
}


@pytest.mark.parametrize("case", FENCES)
def test_an_open_fence(case: str) -> None:
    """The fence that is still open at the end is found, as CommonMark opens and closes it."""
    text, fence = FENCES[case]
    assert open_fence(text) == fence


CODE = {
    "span": ("a `b` c", ["`b`"]),
    "double": ("``a ` b`` `c`", ["``a ` b``", "`c`"]),
    "lone tick": ("a ` b", []),
    "fence": ("```\na\n```\nb", ["```", "a", "```"]),
    "indent": ("a\n\n    b\n", ["    b"]),
    "paragraph": ("a\n    b\n", []),
    "list": ("- a\n\n    b\n\n      c\n", ["      c"]),
    "after a list": ("- a\n\nb\n\n    c\n", ["    c"]),
    "comment": ("<!-- a\nb -->\nc <!-- d -->", ["<!-- a", "b -->", "<!-- d -->"]),
    "comment with code": ("a <!-- `b` c --> `d`", ["<!-- `b` c -->", "`d`"]),
}


@pytest.mark.parametrize("case", CODE)
def test_code_and_comments(case: str) -> None:
    """Each kind of code is found where CommonMark has it."""
    text, found = CODE[case]
    assert [text[start:end] for start, end in code_ranges(text, ("span", "fence", "indent", "comment"))] == found


def test_fences_of_backticks_alone() -> None:
    """A dialect that knows no tildes reads what lies between them as text."""
    text = "~~~\n@a.md\n~~~\n```\n@b.md\n```\n@c.md"
    assert [mention.path for mention in find_mentions(text, Imports(skip=("backticks",)))] == ["a.md", "c.md"]


def test_comments_of_whole_lines_are_removed() -> None:
    """Comments that start a line go, those in a line or in a fence stay."""
    text = "<!-- a -->\nb <!-- c -->\n```\n<!-- d -->\n```\n<!--\ne\n-->\nf"
    assert without_comments(text) == "b <!-- c -->\n```\n<!-- d -->\n```\nf"


def test_hostile_text_takes_linear_time() -> None:
    """A megabyte of backticks of growing length is no reason to wait."""
    text = " ".join("`" * (number % 999 + 1) for number in range(2_000))
    assert code_ranges(text, ("span",))
    assert code_ranges("a" + "<!--" * 250_000, ("comment",)) == []


TEXT = (
    '@a.md b@c.md @2.md (@d.md) "@e.md", @f.md, `@g.md` @h\\ i.md\n\n    @j.md\n'
    "```\n@k.md\n```\n<!-- @l.md -->\n@@m.md @\n"
)

DIALECTS = {
    "strict": (Imports(), ["a.md", "2.md", "f.md,", "h\\"]),
    "punctuation": (Imports(punctuation=True), ["a.md", "2.md", "f.md", "h\\"]),
    "before": (Imports(before='("', punctuation=True), ["a.md", "2.md", "d.md", "e.md", "f.md", "h\\"]),
    "escapes": (Imports(escapes=True), ["a.md", "2.md", "f.md,", "h i.md"]),
    "letters": (Imports(letters=True), ["a.md", "f.md,", "h\\"]),
    "all code": (Imports(skip=("span",)), ["a.md", "2.md", "f.md,", "h\\", "j.md", "k.md", "l.md"]),
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
