"""Markdown in instruction files: fences, code and comments."""

from __future__ import annotations

import pytest

from deepprompt.sources.plan.markdown import code_ranges, open_fence, without_comments

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
    "comment": ("<!-- a\nb -->\nc <!-- d -->", ["<!-- a", "b -->"]),
}


@pytest.mark.parametrize("case", CODE)
def test_code_and_comments(case: str) -> None:
    """Each kind of code is found where CommonMark has it."""
    text, found = CODE[case]
    assert [text[start:end] for start, end in code_ranges(text, ("span", "fence", "indent", "comment"))] == found


def test_comments_of_whole_lines_are_removed() -> None:
    """Comments that start a line go, those in a line or in a fence stay."""
    text = "<!-- a -->\nb <!-- c -->\n```\n<!-- d -->\n```\n<!--\ne\n-->\nf"
    assert without_comments(text) == "b <!-- c -->\n```\n<!-- d -->\n```\nf"


def test_hostile_text_takes_linear_time() -> None:
    """A megabyte of backticks of growing length is no reason to wait."""
    text = " ".join("`" * (number % 999 + 1) for number in range(2_000))
    assert code_ranges(text, ("span",))
