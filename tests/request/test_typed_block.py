"""Typed blocks: a response keeps every field for its own provider; of a user's, what nobody takes is noted."""

from __future__ import annotations

from typing import Any

import pytest

from deepprompt import build_request
from deepprompt.prompt import Note
from deepprompt.providers.neutral import Native, Text
from deepprompt.request.typed_block import read_content

NEW = {"type": "text", "text": "Said.", "confidence": 0, "final": False, "nothing": None}


def test_a_response_keeps_every_field() -> None:
    """Fields that nobody knows stay with a block of a response, also those that are 0 or false."""
    notes: list[Note] = []
    assert read_content([NEW], "here", notes, said="anthropic") == [
        Text("Said.", own=Native({"confidence": 0, "final": False}))
    ]
    assert notes == []


def test_a_users_field_that_nobody_takes_is_noted() -> None:
    """A user's block loses such a field, and a note names it."""
    notes: list[Note] = []
    block = {"type": "text", "text": "Asked.", "confidence": 1}
    assert read_content([block], "here", notes) == [Text("Asked.")]
    assert [str(note) for note in notes] == ["skipped: here.content[0]: fields that are not sent: confidence"]


@pytest.mark.parametrize(
    ("message", "to"),
    [
        ({"content": [NEW]}, "anthropic"),
        ({"content": [NEW], "refusal": None}, "openai"),
        ({"content": [{"type": "image", "source": "new"}]}, "anthropic"),
    ],
)
def test_who_gets_a_field_back(message: dict[str, Any], to: Any) -> None:
    """The block goes back to the API that its message is spelled for, and to no other."""
    block = {key: value for key, value in message["content"][0].items() if value is not None}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", **message},
        {"role": "user", "content": "On."},
    ]
    for target, model in (("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.6-sol")):
        request = build_request("Be brief.", messages, to=target, model=model, marks="none")  # type: ignore[arg-type]
        said = [one for one in request.body["messages"] if one["role"] == "assistant"]
        content = said[0]["content"] if said else None
        kept = isinstance(content, list) and any(block.items() <= part.items() for part in content)
        assert kept == (target == to)
