"""Conditions: what they mean, and what is wrong with those that mean nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.systems.conditions import parse_condition

ON = {"a", "tool:Bash"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("always", True),
        ("a", True),
        ("b", False),
        ("!b", True),
        ("not a", False),
        ("not not a", True),
        ("a and b", False),
        ("a or b", True),
        ("b or a and b", False),
        ("(b or a) and tool:Bash", True),
        ("not (a and b)", True),
        ("not b and not tool:Glob", True),
        ("!(a or b)", False),
    ],
)
def test_meaning(text: str, holds: bool) -> None:
    """`not` binds before `and`, `and` before `or`; `!` is `not`."""
    assert parse_condition(text).holds(ON.__contains__) is holds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a word is missing at the end"),
        ("a and", "a word is missing at the end"),
        ("and a", "a word is missing before 'and'"),
        ("a b", "'b' is left over; write 'and' or 'or' between two words"),
        ("(a", "a parenthesis is not closed"),
        ("a)", "'\\)' is left over; write 'and' or 'or' between two words"),
        ("()", "a word is missing before '\\)'"),
        ("a and " * 200 + "a", "more than 200 words"),
    ],
)
def test_what_is_wrong(text: str, reason: str) -> None:
    """A text that is no condition is an error that says why."""
    with pytest.raises(ValueError, match=f"^{reason}$"):
        parse_condition(text)


def test_why() -> None:
    """The state of each word is told in order, once."""
    condition = parse_condition("a and not (b or a)")
    assert condition.words == ("a", "b")
    assert condition.why(ON.__contains__) == "a is on, b is off"
    assert parse_condition("always").why(ON.__contains__) == "always"


@given(
    st.text("ab()! ", max_size=30) | st.lists(st.sampled_from(["a", "b", "and", "or", "not", "(", ")"])).map(" ".join)
)
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    """Parsing ends for any text: with a condition that can be asked, or with a ValueError."""
    try:
        condition = parse_condition(text)
    except ValueError:
        return
    assert condition.holds(ON.__contains__) in (True, False)
