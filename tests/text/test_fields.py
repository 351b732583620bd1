"""Fields of the user's files: each by its type, and everything that is wrong in one error."""

from __future__ import annotations

from types import NoneType

import pytest

from deepprompt.errors import SourceError
from deepprompt.text.fields import Fields

RIGHT = {"name": "a", "on": True, "size": 2, "tags": ["x"], "inner": {"name": "b"}, "each": [{"name": "c"}], "no": None}


def test_right() -> None:
    """Each field is returned by its type; what is not there has its default."""
    fields = Fields(RIGHT, "")
    assert (fields.text("name"), fields.flag("on"), fields.number("size", 1.0)) == ("a", True, 2.0)
    assert (fields.texts("tags"), fields.inner("inner").text("name")) == (("x",), "b")
    assert [one.text("name") for one in fields.each("each")] == ["c"]
    assert fields.get("no", (int, NoneType), "a number", 5) is None
    assert (fields.text("absent", "d"), fields.flag("gone", True), fields.texts("none")) == ("d", True, ())
    assert fields.inner("nothing").values == {}
    fields.require("name", "no")
    fields.refuse_others("field")
    fields.refuse_faults("file")


def refuse(text: str) -> None:
    """Refuse any text."""
    raise SourceError(f"not {text}")


def test_wrong() -> None:
    """Every fault is noted with its place, the reader goes on with the defaults, and one error has all of them."""
    values = {"a": 1, "b": "yes", "c": 0, "d": [1, "x"], "e": [3], "f": True, "g": "x" * 99, "h": 5, "i": 1}
    fields = Fields(values, "top", "table")
    assert (fields.text("a"), fields.flag("b"), fields.number("c", 1.0), fields.texts("d", refuse)) == (
        "",
        False,
        1.0,
        (),
    )
    assert fields.each("e")[0].values == {}
    assert fields.number("f", 2.0) == 2.0
    assert fields.get("g", (int,), "a number", None) is None
    assert fields.inner("h").values == {}
    fields.require("z")
    fields.refuse_others("setting")
    with pytest.raises(SourceError) as error:
        fields.refuse_faults("file")
    assert str(error.value).split("; file: ") == [
        "file: top.a: expected text, found 1",
        'top.b: expected true or false, found "yes"',
        "top.c: expected a number above 0, found 0",
        "top.d: expected a list of texts, found 1 in it",
        "top.d: not x",
        "top.e[0]: expected a table, found 3",
        "top.f: expected a number, found true",
        f'top.g: expected a number, found "{"x" * 59}…',
        "top.h: expected a table, found 5",
        "top.z: is missing",
        "top.i: no such setting; there are: a, b, c, d, e, f, g, h",
    ]


def test_a_file_that_is_no_object() -> None:
    """A file of another type is a fault of the whole file."""
    with pytest.raises(SourceError, match=r"^file: the whole file: expected an object, found \[\]$"):
        Fields([], "").refuse_faults("file")
