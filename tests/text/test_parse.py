"""JSON from outside: the value, or an error that names the file and the line."""

from __future__ import annotations

import pytest

from deepprompt.errors import MessageError, SourceError
from deepprompt.text.parse import parse_json, parse_json_lines

WRONG = {
    "not JSON": ("{\n]", "a.json:2: not JSON: Expecting property name enclosed in double quotes"),
    "a number of too many digits": ("9" * 5000, "a.json: a number has too many digits"),
    "two values": ("1 2", "a.json:1: not JSON: Extra data; one at a time"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_wrong(text: str, message: str) -> None:
    """An error names the file and, where there is one, the line; a further value has a hint of the caller's."""
    with pytest.raises(MessageError) as error:
        parse_json(text, "a.json", several="; one at a time")
    assert str(error.value).startswith(message)


def test_nested() -> None:
    """Nesting that Python cannot follow is an error of ours, on the line that it begins on."""
    deep = "[" * 100_000
    with pytest.raises(MessageError, match=r"^a\.json: nested too deeply$"):
        parse_json(deep, "a.json")
    with pytest.raises(MessageError, match=r"^a\.json:3: nested too deeply$"):
        parse_json_lines(f"1\n\n{deep}", "a.json")


def test_another_error() -> None:
    """The caller says which error a wrong file is, and on which line of it the text begins."""
    with pytest.raises(SourceError, match=r"^a\.json:5: not JSON: "):
        parse_json("{", "a.json", SourceError, line=5)


@pytest.mark.parametrize(
    ("text", "value"),
    [("[1,\n2]", [1, 2]), ('{"a":\n1}', {"a": 1}), ("1\n\n[2]\n", [1, [2]]), (" \n", []), ('"x"', "x")],
)
def test_one_value_or_several(text: str, value: object) -> None:
    """A text is one value, or a value on each line; blank lines are skipped."""
    assert parse_json_lines(text, "a.jsonl") == value


def test_which_line_is_wrong() -> None:
    """One value over several lines fails where it is wrong; lines of values fail at the first wrong line."""
    with pytest.raises(MessageError, match=r"^a:2: not JSON: "):
        parse_json_lines('{"a": 1,\n]', "a")
    with pytest.raises(MessageError, match=r"^a:3: not JSON: "):
        parse_json_lines("1\n\n{]", "a")
