"""What a snapshot file holds: exact texts, and lines of which no two different values have the same."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import Pace, Part, Prompt, build_request
from deepprompt.errors import MessageError
from deepprompt.testing.readable import render_readable, store

PART = Part("base", "You are a test.\n", Pace.RELEASE, "argument")

# Each is a value and its lines.
RENDERED: list[tuple[object, str]] = [
    ({}, "{}\n"),
    ([], "[]\n"),
    ([{}], "[0]: {}\n"),
    ({"a": [], "b": {}}, "a: []\nb: {}\n"),
    ({"a": None, "b": True, "c": 1, "d": 1.0, "e": "1"}, 'a: null\nb: true\nc: 1\nd: 1.0\ne: "1"\n'),
    ({"big": 10**30, "small": 1e-9, "zero": -0.0}, f"big: {10**30}\nsmall: 1e-09\nzero: -0.0\n"),
    ([{"role": "user", "content": "Grüße"}], '[0].role: "user"\n[0].content: "Grüße"\n'),
    ({"a": {"b": [[1, 2], {"c": 3}]}}, "a.b[0][0]: 1\na.b[0][1]: 2\na.b[1].c: 3\n"),
    ({"a": "one\ntwo"}, "a:\n| one\n| two\n"),
    ({"a": "one\ntwo\n"}, "a:\n| one\n| two\n|\n"),
    ({"a": "\n"}, "a:\n|\n|\n"),
    ({"a": "\n ", "b": "|"}, 'a:\n|\n|  \nb: "|"\n'),
    ({"a": "one\r\ntwo\r\n"}, "a:\n| one\r\n| two\r\n|\n"),
    ({"a": "one\rtwo\u2028\t"}, 'a: "one\\rtwo\u2028\\t"\n'),
    ({"a b": 1, "a.b": {"": 2}, '"': 3, "$ref": 4}, '"a b": 1\n"a.b"."": 2\n"\\"": 3\n"$ref": 4\n'),
    ({"x-y_Z9": {"a\nb": 1, "9": 2, "ä": 3}}, 'x-y_Z9."a\\nb": 1\nx-y_Z9."9": 2\nx-y_Z9."ä": 3\n'),
]

# Each cannot be stored, and why.
REFUSED: list[tuple[object, str]] = [
    (
        object(),
        "cannot store object: a snapshot takes a string, bytes, a Prompt, a list of messages, a request body "
        "(a mapping) or a Request",
    ),
    (None, "cannot store NoneType: a snapshot takes a string,"),
    (
        len,
        "cannot store builtin_function_or_method: a snapshot takes a string, bytes, a Prompt, a list of messages, "
        "a request body (a mapping) or a Request; call it",
    ),
    (iter([]), "cannot store list_iterator: a snapshot takes a string,"),
    ({"a": [Decimal(1)]}, "cannot store decimal.Decimal at a[0]: not JSON; convert it before you compare"),
    ([b"x"], "cannot store bytes at [0]: not JSON; convert it before you compare"),
    ({"a": {1: 2}}, "cannot store the key 1 (int) at a: a key of JSON is a string"),
    ({None: 2}, "cannot store the key None (NoneType) at the top: a key of JSON is a string"),
    ({"a": float("nan")}, "cannot store a number at a that JSON does not have: float nan"),
    ({"a": float("-inf")}, "cannot store a number at a that JSON does not have: float -inf"),
    ("a\ud800", "cannot store a lone surrogate (U+D800, character 1 of the text): it has no UTF-8"),
    ({"a": "\udfff"}, "cannot store a lone surrogate (U+DFFF, character 0 of a): it has no UTF-8"),
    ({"a": "\n\udfff"}, "cannot store a lone surrogate (U+DFFF, character 1 of a): it has no UTF-8"),
    ({"a": {"\udfff": 1}}, "cannot store a lone surrogate (U+DFFF, character 0 of a key at a): it has no UTF-8"),
]


class Colour(StrEnum):
    """A string that is more than one."""

    RED = "red"


class Size(IntEnum):
    """A number that is more than one."""

    BIG = 3


@pytest.mark.parametrize(("value", "lines"), RENDERED, ids=lambda value: repr(value)[:30])
def test_lines(value: object, lines: str) -> None:
    """Each leaf is a line with its path; a text of several lines keeps them."""
    assert render_readable(value) == lines
    assert store(value) == lines.encode()
    assert parse(lines) == value


@pytest.mark.parametrize(
    ("value", "why"), REFUSED, ids=lambda value: type(value).__name__ if " at 0x" in repr(value) else repr(value)[:30]
)
def test_what_cannot_be_stored(value: object, why: str) -> None:
    """An error says of which type the value is, where, and what is taken."""
    with pytest.raises(MessageError, match=f"^{re.escape(why)}"):
        store(value)


def test_a_value_in_itself() -> None:
    """A list that holds itself is refused, and not followed for ever."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(MessageError, match=r"^cannot store a value that is nested too deeply, or in itself$"):
        store(endless)


def test_a_text_is_stored_as_it_is() -> None:
    """A string, its bytes and the prompt that has it as its text are one and the same file."""
    text = "a\r\n\u202e é \n\n"
    assert store(text) == text.encode()
    assert store(text.encode()) == store(bytearray(text.encode())) == text.encode()
    assert store(Prompt((Part("a", text, Pace.RELEASE, "argument"),))) == text.encode()
    assert store(b"\xff\x00") == b"\xff\x00"


def test_other_forms_of_the_same_json() -> None:
    """Tuples, mappings and enumerations are stored as the JSON that they become."""
    assert render_readable((MappingProxyType({"a": (1, 2)}),)) == render_readable([{"a": [1, 2]}])
    assert render_readable(OrderedDict(b=Colour.RED, a=Size.BIG)) == 'b: "red"\na: 3\n'


def test_a_prompt_with_tools_and_messages() -> None:
    """The tools come first, as in a provider's cache, then the text, then the messages."""
    tool = {"name": "Read", "input_schema": {"type": "object", "properties": {}}}
    message = {"role": "user", "content": "Hi"}
    tools = 'tools[0].name: "Read"\ntools[0].input_schema.type: "object"\ntools[0].input_schema.properties: {}\n'
    text = "text:\n| You are a test.\n|\n"
    messages = 'messages[0].role: "user"\nmessages[0].content: "Hi"\n'
    assert store(Prompt((PART,), (tool,), messages=(message,))) == (tools + text + messages).encode()
    assert store(Prompt((PART,), (tool,))) == (tools + text).encode()
    assert store(Prompt((), messages=(message,))) == ('text: ""\n' + messages).encode()


def test_a_request_is_its_body() -> None:
    """Of a request is stored what is sent."""
    request = build_request(Prompt((PART,)), [{"role": "user", "content": "Hi"}], to="openai", model="gpt-5.1")
    assert store(request) == store(request.body)
    assert store(request).startswith(b'model: "gpt-5.1"\n')


# Of few characters, among them all that mean something in the lines, so that values come close to each other.
TEXTS = st.text(st.sampled_from('ab|:.[0]{}" \n\r\\\u2028'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ROOTS = st.lists(VALUES, max_size=3) | st.dictionaries(TEXTS, VALUES, max_size=3)
ALIKE = st.sampled_from([0, 0.0, -0.0, False, None, "", "0", [], {}, [0], {"0": 0}, "\n", "\n\n", " \n", "|\n"])


@given(ROOTS)
def test_the_lines_can_be_read_back(value: object) -> None:
    """The lines hold all of a value, the order of its keys too: so no two values share them."""
    assert canonical(parse(render_readable(value))) == canonical(value)


@given(st.data())
def test_same_lines_if_and_only_if_same_json(data: st.DataObject) -> None:
    """Two values that may differ in one leaf, or in the order of keys, have the same lines just if they do not."""
    first = data.draw(ROOTS)
    second = data.draw(st.just(first) | ROOTS | st.builds(lambda: _backwards(first)))
    pair = ({"a": first, "b": data.draw(ALIKE)}, {"a": second, "b": data.draw(ALIKE)})
    assert (render_readable(pair[0]) == render_readable(pair[1])) == (canonical(pair[0]) == canonical(pair[1]))


def canonical(value: object) -> str:
    """JSON with the keys in the order that they have."""
    return json.dumps(value)


def _backwards(value: object) -> object:
    return dict(reversed(value.items())) if isinstance(value, dict) else value


def parse(text: str) -> object:
    """Read lines back to the value."""
    assert text.endswith("\n")
    lines = text[:-1].split("\n")
    if lines in (["[]"], ["{}"]):
        return json.loads(lines[0])
    holder: dict[str, Any] = {}
    while lines:
        line = lines.pop(0)
        found = re.match(r'(?:[^":]|"(?:[^"\\]|\\.)*")*(?=:)', line)
        assert found
        rest = line[found.end() + 1 :]
        block = []
        while lines and lines[0].startswith("|"):
            block.append(lines.pop(0)[2:])
        _put(holder, found[0], "\n".join(block) if block else json.loads(rest))
    return holder["root"]


def _put(holder: dict[str, Any], path: str, value: object) -> None:
    steps = [
        int(step[1:-1]) if step.startswith("[") else json.loads(step) if step.startswith('"') else step
        for step in re.findall(r'\[\d+\]|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_-]*', path)
    ]
    place: Any = holder
    key: Any = "root"
    for step in steps:
        if isinstance(place, list) and key == len(place):
            place.append([] if isinstance(step, int) else {})
        elif not isinstance(place, list) and key not in place:
            place[key] = [] if isinstance(step, int) else {}
        place, key = place[key], step
    if isinstance(place, list):
        assert key == len(place)
        place.append(value)
    else:
        assert key not in place
        place[key] = value
