"""Variables in prompt parts: what is replaced, what stays literal, and what is said when a value is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.errors import VariableError
from deepprompt.prompt import Note
from deepprompt.systems.variables import interpolate, variables_of
from tests.support.examples import examples

FOUND = {
    "none": ("Plain.", []),
    "one": ("a ${A} b", ["A"]),
    "in-order": ("${B} ${A}", ["B", "A"]),
    "each-once": ("${B} ${A} ${B}", ["B", "A"]),
    "digits-and-underscores": ("${A_1}${A2_}", ["A_1", "A2_"]),
    "side-by-side": ("${A}${B}", ["A", "B"]),
    "inside-another": ("${${A}}", ["A"]),
}

NO_VARIABLE = ["${a}", "${1A}", "${_A}", "${}", "${A", "$A", "{A}", "$ {A}", "${ A }", "${A-B}", "${Ä}", "${A\n}"]

REPLACED = {
    "in-a-sentence": ("Go to ${A}.", "x", "Go to x."),
    "twice": ("${A} and ${A}", "x", "x and x"),
    "alone": ("${A}", "x\ny\n", "x\ny\n"),
    "alone-on-its-line": ("a\n${A}\nb", "x\n\ny", "a\nx\n\ny\nb"),
    "last-line": ("a\n${A}", "x\ny", "a\nx\ny"),
    "first-line": ("${A}\nb", "x\ny", "x\ny\nb"),
    "in-a-field": ("- a: ${A}\n- b", "x\n- c: y", "- a: x - c: y\n- b"),
    "after-a-word": ("a ${A}\n", "x\r\n\ny", "a x y\n"),
    "before-a-word": ("${A} b", "x\u2028y", "x y b"),
    "indented": ("a\n  ${A}\n", "x\ny", "a\n  x y\n"),
    "backslashes": ("a ${A}", r"\1 \g<0> \n", r"a \1 \g<0> \n"),
    "dollars": ("a ${A}", "$$ $A", "a $$ $A"),
    "a-blank": ("a${A}b", " ", "a b"),
}

VALUES = (
    st.lists(
        st.sampled_from(["${A}", "${B}", "${", "}", "$", "\\", "\n", "A", "\\g<1>", "\u2028"]) | st.text(max_size=3),
        min_size=1,
        max_size=12,
    )
    .map("".join)
    .filter(bool)
)
PLAIN = examples(100)


@pytest.mark.parametrize(("text", "names"), FOUND.values(), ids=FOUND)
def test_variables_of(text: str, names: list[str]) -> None:
    """The names of a text's variables come in order, each once."""
    assert variables_of(text) == names


@pytest.mark.parametrize("text", NO_VARIABLE)
def test_no_variable(text: str) -> None:
    """What is not exactly `${NAME}` is text, and stays as it is."""
    assert variables_of(text) == []
    assert interpolate(text, {"A": "x"}, "p", []) == text


@pytest.mark.parametrize(("text", "value", "expected"), REPLACED.values(), ids=REPLACED)
def test_interpolate(text: str, value: str, expected: str) -> None:
    """A variable alone on its line keeps the lines of its value, any other is put on one line."""
    assert interpolate(text, {"A": value}, "p", []) == expected


def test_a_value_on_one_line_is_noted() -> None:
    """A note names the part and the variable whose line breaks were taken out."""
    notes: list[Note] = []
    interpolate("- ${A}\n${A}", {"A": "x\ny"}, "p", notes)
    assert notes == [Note("neutralised", "p A", "line breaks in a one-line field", 1)]


def test_values_that_are_not_used_may_be_empty() -> None:
    """A value that no variable asks for is neither needed nor put in."""
    assert interpolate("a ${A}", {"A": "x", "B": "", "C": "y"}, "p", []) == "a x"


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        pytest.param("${A}", {}, "part 'p' needs a value for A", id="nothing known"),
        pytest.param("${A}", {"A": ""}, "part 'p' needs a value for A", id="empty"),
        pytest.param("${B} ${A} ${B}", {"A": ""}, "part 'p' needs a value for B, A", id="all of them"),
        pytest.param("${CWDD}", {"CWD": "x"}, "part 'p' needs a value for CWDD; known: CWD", id="misspelt"),
        pytest.param(
            "${X} ${A}", {"B": "x", "A": "", "C": "y"}, "part 'p' needs a value for X, A; known: B, C", id="both"
        ),
        pytest.param(
            "${VERSON}",
            {**{f"N{number}": "x" for number in range(9)}, "VERSION": "1"},
            "part 'p' needs a value for VERSON; did you mean VERSION?",
            id="the nearest of many",
        ),
    ],
)
def test_missing(text: str, values: dict[str, str], message: str) -> None:
    """A variable without a value is an error that names the part, every missing name, and what is known."""
    with pytest.raises(VariableError) as caught:
        interpolate(text, values, "p", [])
    assert str(caught.value) == message


@PLAIN
@given(first=VALUES, second=VALUES)
def test_a_value_stays_literal(first: str, second: str) -> None:
    """Whatever a value contains, `${...}` too, goes in once and is never expanded."""
    values = {"A": first, "B": second}
    assert interpolate("1\n${A}\n2\n${B}\n3", values, "p", []) == f"1\n{first}\n2\n{second}\n3"


@PLAIN
@given(value=VALUES)
def test_a_field_stays_one_line(value: str) -> None:
    """No value of a one-line field can begin another line."""
    assert not set("\n\r\v\f\x85\u2028\u2029") & set(interpolate("- a: ${A}", {"A": value}, "p", []))
