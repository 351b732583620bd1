"""Items and fields that no provider's file knows: compared as JSON, counted and noted, never skipped."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from deepprompt.checks.blame.blame import blame
from deepprompt.checks.segments import read_request
from deepprompt.providers.reading import unknown_fields

READ: dict[str, Any] = {"type": "function", "name": "read", "description": "To read.", "parameters": {}}
LOOK: dict[str, Any] = {"type": "function", "name": "look", "description": "To look.", "parameters": {}}
CODEX: dict[str, Any] = {
    "model": "gpt-5.6-sol",
    "client_metadata": {"turn_id": "1"},
    "input": [
        {
            "type": "additional_tools",
            "id": "at_1",
            "role": "developer",
            "tools": [{"type": "namespace", "name": "functions", "description": "", "tools": [READ, LOOK]}],
        },
        {"type": "message", "id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
    ],
}


def changed(**fields: Any) -> dict[str, Any]:
    """Return Codex' request with other tools."""
    body = deepcopy(CODEX)
    body["input"][0]["tools"][0] |= fields
    return body


@pytest.mark.parametrize(
    ("new", "kind", "place"),
    [
        (changed(tools=[LOOK, READ]), "tool order", "input[0].tools[0].tools[0] look"),
        (changed(tools=[READ]), "tool removed", "input[0].tools[0].tools[1] look"),
        (
            changed(tools=[{**READ, "description": "To read it."}, LOOK]),
            "tool changed",
            "input[0].tools[0].tools[0] read",
        ),
        (changed(description="All."), "tool changed", "input[0].tools[0] functions"),
    ],
)
def test_tools_as_an_item(new: dict[str, Any], kind: str, place: str) -> None:
    """Codex sends its tools as an item of the conversation. They are tools like others."""
    found = blame(CODEX, new)
    assert found is not None
    assert (found.kind, found.place) == (kind, place)
    assert blame(CODEX, CODEX | {"client_metadata": {"turn_id": "2"}}) is None


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "assistant", "content": "Yes.", "mood": {"tone": 1}}, "messages[0].mood"),
        ({"role": "oracle", "vision": "fog"}, "messages[0].vision"),
        ({"type": "rune", "says": "x"}, "messages[0]"),
    ],
)
def test_what_nobody_knows(message: dict[str, Any], place: str) -> None:
    """A field or an item of an unknown kind is a segment of its own, noted as unknown, and a change of it is found."""
    segments = read_request([message])
    assert [segment.place for segment in segments if segment.unknown] == [place]
    other = {name: "other" if name not in ("role", "type", "content") else value for name, value in message.items()}
    found = blame([message], [other])
    assert found is not None
    assert found.place == place


def test_what_models_do_not_read() -> None:
    """Names that an API gives, and empty fields that SDKs write, are nobody's concern."""
    message = {"role": "assistant", "content": "Yes.", "id": "msg_1", "usage": {"input_tokens": 1}, "audio": None}
    assert [segment.unknown for segment in read_request([message])] == [False]


def test_fields_of_a_body() -> None:
    """Unknown fields of a body are given as JSON; what a provider's file knows is not among them."""
    body = {
        "model": "m",
        "messages": [],
        "temperature": 1,
        "toolConfig": {},
        "metadata": {},
        "x_trace": {"a": 1},
        "y": None,
    }
    assert unknown_fields(body) == {"x_trace": '{"a":1}'}
