"""Differences: shorter than the text, and nothing that could be misread."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.session.difference import changed_lines, hunks
from tests.support.examples import examples

STATUS = "## Git status\n M a.py\n M b.py\n?? c.py"
STAT = "## Git diff\n a.py   |  2 +-\n b.py   | 12 ++++++----\n long.py |  1 +\n"
STAT += " 3 files changed, 9 insertions(+), 6 deletions(-)"
CASES = {
    "a new line": (STATUS, STATUS + "\n?? d.py", "## Git status\n+?? d.py"),
    "a line that is gone": (STATUS, STATUS.replace("\n M b.py", ""), "## Git status\n- M b.py"),
    "staged": (STATUS, STATUS.replace(" M b", "M  b"), "## Git status\n- M b.py\n+M  b.py"),
    "other numbers": (
        STAT,
        STAT.replace("12 ++++++----", "14 ++++++++----").replace("9 ins", "11 ins"),
        "## Git diff\n~ b.py   | 14 ++++++++----\n~ 3 files changed, 11 insertions(+), 6 deletions(-)",
    ),
    "only the alignment": (STAT, STAT.replace("|  2", "  |  2"), ""),
    "another first line": (STATUS, STATUS.replace("Git", "git"), None),
    "lines in another order": (STATUS, "## Git status\n M b.py\n M a.py\n?? c.py", None),
    "a line that is there twice": (STATUS + "\n?? c.py", STATUS, None),
    "all of it": (STATUS, "## Git status\n(clean)", None),
    "numbers that two lines share": (
        "L\n" + "a long line that stays as it is\n" + " f1.py\n f2.py",
        "L\na long line that stays as it is\n f3.py\n f2.py",
        "L\n- f1.py\n+ f3.py",
    ),
}


@pytest.mark.parametrize(("old", "new", "short"), CASES.values(), ids=CASES)
def test_changed_lines(old: str, new: str, short: str | None) -> None:
    """Lines of a list that are gone, new, or have other numbers."""
    assert changed_lines(old, new) == short


def apply_lines(old: str, short: str) -> set[str]:
    """Read changed lines as a model is told to, and return the lines of the new text without their alignment."""
    import re

    def plain(line: str) -> str:
        return re.sub(r"(?<=\S)[ \t]+", " ", line)

    def numberless(line: str) -> str:
        return re.sub(r"\d+|(?<= )[+-]+$", "0", plain(line))

    lines = {plain(line) for line in old.split("\n")}
    for change in short.split("\n")[1:]:
        sign, line = change[0], plain(change[1:])
        if sign == "-":
            lines.remove(line)
        elif sign == "+":
            lines.add(line)
        else:
            (same,) = [other for other in lines if numberless(other) == numberless(line)]
            lines.remove(same)
            lines.add(line)
    return lines


_LINES = st.lists(st.from_regex(r" ?[abM+-]{1,2} {0,2}[ab12]{0,3}( \| \d{1,2} \+{0,2})?", fullmatch=True), max_size=8)


@examples(200)
@given(_LINES, _LINES)
def test_changed_lines_say_the_new_list(before: list[str], after: list[str]) -> None:
    """Whoever knows the old list and reads the changes as they are explained knows the new one."""
    old, new = "\n".join(["# L", *before]), "\n".join(["# L", *after])
    short = changed_lines(old, new)
    if short:
        assert apply_lines(old, short) == apply_lines(new, "# L")
        assert len(short) < len(new)


GUIDE = "\n".join([f"## Section {n}\n- Rule {n} one.\n- Rule {n} two.\n- Always test." for n in range(8)])


def test_hunks() -> None:
    """What changed, with a line around it on each side."""
    assert hunks(GUIDE, GUIDE.replace("Rule 3 one", "Rule 3 first")) == (
        " ## Section 3\n-- Rule 3 one.\n+- Rule 3 first.\n - Rule 3 two."
    )


def test_hunks_that_would_be_ambiguous_are_wider_or_none() -> None:
    """More lines around a change make its place clear; if they do not, the whole text is sent."""
    lines = GUIDE.split("\n")
    at = lines.index("## Section 5")
    new = "\n".join([*lines[:at], "- Never guess.", *lines[at:]])
    assert hunks(GUIDE, new) == " - Always test.\n+- Never guess.\n ## Section 5"
    same = "a\nb\n" * 20
    assert hunks(same, "a\nb\n" * 10 + "c\n" + "a\nb\n" * 10) is None
    assert hunks("x\n" * 3000, "x\n" * 3001) is None
    assert hunks("one\ntwo", "three\nfour") is None


@examples(100)
@given(st.randoms(use_true_random=False))
def test_hunks_say_the_new_text(source: random.Random) -> None:
    """Applying the hunks to the old text gives the new one."""
    old = [source.choice("abcdefgh") * source.randint(1, 3) for _ in range(source.randint(4, 60))]
    new = [line for line in old if source.random() > 0.1]
    new.insert(source.randint(0, len(new)), "new line")
    short = hunks("\n".join(old), "\n".join(new))
    if short is None:
        return
    text = "\n".join(old) + "\n"
    for piece in short.split("\n...\n"):
        lines = piece.split("\n")
        before = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
        after = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
        places = [at for at in range(len(text)) if text.startswith(before, at) and (at == 0 or text[at - 1] == "\n")]
        if len(places) != 1:  # an earlier hunk brought the same lines in: the old text decides
            return
        text = text[: places[0]] + after + text[places[0] + len(before) :]
    assert text == "\n".join(new) + "\n"
