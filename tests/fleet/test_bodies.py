"""The quick reader of bodies gives what the plain one does, for every kind of body."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.fleet.bodies import BodyReader
from tests.support.examples import examples
from tests.support.traffic import MARK, made

TEXTS = st.sampled_from(["", "a", "b" * 90, 'quote " and \\ slash', "é\u2028", "[{}]", "line\nline"])
BLOCKS = st.builds(lambda text, mark: {"type": "text", "text": text} | (MARK if mark else {}), TEXTS, st.booleans())
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    st.one_of(TEXTS, st.lists(BLOCKS, max_size=3)),
)
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES, max_size=5)},
    optional={
        "model": st.sampled_from(["m", "claude-opus-5-5"]),
        "system": st.one_of(TEXTS, st.lists(BLOCKS, max_size=2)),
        "tools": st.lists(st.builds(lambda text: {"name": "t", "description": text}, TEXTS), max_size=2),
        "cache_control": st.just({"type": "ephemeral"}),
        "tool_choice": st.just({"type": "any"}),
        "x_own": st.integers(),
    },
)


def check(bodies: list[dict[str, Any]], indent: int | None) -> None:
    """Read bodies one after the other, and compare each with the plain reader's segments."""
    reader = BodyReader()
    for body in bodies:
        text = json.dumps(body, indent=indent, ensure_ascii=bool(indent))
        assert reader.read(text).segments == read_request(body)


def test_traffic() -> None:
    """Bodies of all APIs, one after the other, twice."""
    check([record["body"] for record, _, _ in made()] * 2, None)


@examples(100)
@given(st.lists(BODIES, min_size=1, max_size=4), st.sampled_from([None, 1]))
def test_any_bodies(bodies: list[dict[str, Any]], indent: int | None) -> None:
    """Any bodies, also with automatic marks, and pretty-printed."""
    check([*bodies, *bodies], indent)


@pytest.mark.parametrize(
    "body", [{"input": "Hi.", "model": "m"}, {"prompt": "Hi."}, {"model": "m", "tools": [{"name": "a"}]}]
)
def test_bodies_without_a_list(body: dict[str, Any]) -> None:
    """An input that is a text, and a body without messages."""
    check([body, body], None)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '"x"', '{"messages": [}', '{"messages": []', '{"messages": []}x', '{"a" 1}', '{"messages": [1]}', "{}"],
)
def test_wrong(text: str) -> None:
    """What is no body is an error that says so."""
    with pytest.raises(MessageError):
        BodyReader().read(text)


def test_the_same_objects() -> None:
    """What was read before is not read again, and marks do not make another message."""
    reader = BodyReader()
    talk: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "a" * 100, **MARK}]}]
    one = reader.read(json.dumps({"model": "m", "system": "s" * 100, "messages": talk}))
    two = reader.read(json.dumps({"model": "m", "system": "s" * 100, "messages": talk}))
    assert one.head is two.head
    assert one.path[0] is two.path[0]
    del talk[0]["content"][0]["cache_control"]
    three = reader.read(json.dumps({"model": "m", "system": "s" * 100, "messages": talk}))
    assert three.path[0] is not two.path[0]
    assert three.path[0].node is two.path[0].node
    assert reader.read('{"x_trace":1,"messages":[]}').unknown == ("x_trace",)
