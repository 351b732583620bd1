"""Fields beside the text of a message: kept where the provider takes them, and noted where it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deepprompt import Session, build_request
from deepprompt.errors import MessageError
from deepprompt.providers import TARGETS
from deepprompt.words import Target
from tests.support.harbour import LOOK, MODELS, PIXEL

CHAT = ("openai", "deepseek", "litellm")
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKED: list[dict[str, Any]] = [
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
]
FAILED = {"type": "tool_result", "tool_use_id": "a", "content": "boom", "is_error": True}


def sent(to: Target, *messages: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the body of a request as text, and the details of the notes on fields that were left out."""
    request = build_request([*messages], to=to, model=MODELS[to], tools=[LOOK])
    return json.dumps(request.body), [note.detail for note in request.notes if note.kind == "skipped"]


@pytest.mark.seed("000.29")
@pytest.mark.parametrize("to", [to for to in TARGETS if to != "deepseek"])  # which takes no images
def test_000_d_the_detail_of_an_image(to: Target) -> None:
    """OpenAI gets the detail that an image is to be seen in; for others a note says that it is left out."""
    body, notes = sent(to, {"role": "user", "content": [IMAGE]})
    kept = to in ("openai", "openai-responses", "litellm")
    assert ('"detail": "low"' in body) == kept
    assert bool(notes) != kept


@pytest.mark.seed("000.29")
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("role", ["user", "system"])
def test_000_d_the_name_of_a_speaker(to: Target, role: str) -> None:
    """A speaker's name goes to those who have a field for it; for others a note says that it is left out."""
    named = {"role": role, "content": "Hello.", "name": "eve"}
    body, notes = sent(to, {"role": "user", "content": "Go."}, named)
    assert ('"name": "eve"' in body) == (to in CHAT)
    assert [note for note in notes if "takes no name here" in note] == (
        [] if to in CHAT else [f"{to} takes no name here: left out"]
    )


def test_000_d_a_name_without_a_message_of_its_own() -> None:
    """Where only tool results are left of a message, its speaker has nothing to be named on, and a note says so."""
    body, notes = sent("openai", *ASKED, {"role": "user", "content": [FAILED], "name": "eve"})
    assert "eve" not in body
    assert "openai takes no name here: left out" in notes


def test_000_d_a_name_is_text() -> None:
    """A name that is no text is refused when it is appended; the name of a tool's message is its call's."""
    with pytest.raises(MessageError, match=r"messages\[0\]: the name of a speaker is text, not int"):
        Session("S").append({"role": "user", "content": "x", "name": 5})
    body, notes = sent("openai", *ASKED, {"role": "tool", "tool_call_id": "a", "content": "red", "name": "look"})
    assert body.count('"name": "look"') == 2  # the tool and its call
    assert notes == []


@pytest.mark.seed("000.29")
@pytest.mark.parametrize("to", TARGETS)
def test_000_d_a_failed_tool(to: Target) -> None:
    """That a tool failed is sent where there is a field for it; OpenAI's shapes have none, and a note says so."""
    body, notes = sent(to, *ASKED, {"role": "user", "content": [FAILED]})
    said = {"anthropic": '"is_error": true', "bedrock": '"status": "error"', "gemini": '"error": "boom"'}
    assert (said[to] in body) if to in said else ("error" not in body)
    assert notes == ([] if to in said else ["there is no field for is_error: the tool's result is sent without it"])
