"""Messages that no SDK's types describe: samples of every type with fields that are missing, odd, or new.

Each is refused by `append` with an error of ours, and then nothing is appended; or it is taken, and then it can be sent
to every target, saved, and gone on from.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from deepprompt import Session
from deepprompt.errors import DeepPromptError, MessageError
from tests.support.block_law import CALL, MODELS, PROMPT
from tests.support.mutated import mutated
from tests.support.sdk_types import Sample, recorded


def talk(chance: random.Random, samples: list[Sample]) -> Session:
    """Return a session to which mutated samples were appended, and in which somebody went on."""
    session = Session(PROMPT)
    session.user("Begin.")
    for sample in chance.sample(samples, 3):
        if sample.answers_call and not session.open_calls:
            session.append(CALL)
        before = session.messages
        try:
            session.extend([mutated(chance, message) for message in sample.messages])
        except DeepPromptError:
            assert session.messages == before
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Seen."} for call in session.open_calls]
    if results:
        session.append({"role": "user", "content": results})
    session.user("Go on.")
    return session


def assert_never_bricked(seed: int, times: int) -> None:
    """Append, send, save, load, fork and go back, with chance as the caller."""
    chance, samples = random.Random(seed), recorded()
    for _ in range(times):
        session = talk(chance, samples)
        loaded = Session.from_bytes(session.to_bytes())
        for to, model in MODELS.items():
            request = session.request(to=to, model=model)
            assert json.loads(json.dumps(request.body, allow_nan=False).encode())
            assert request.arguments
            assert loaded.request(to=to, model=model).body == request.body
        session.append({"role": "assistant", "content": "Yes."})
        session.fork(len(session.messages) // 2)
        session.compacted("All is well.")
        session.rewind(len(session.messages) // 2)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_accepted_can_be_sent(seed: int) -> None:
    """To every target."""
    assert_never_bricked(seed, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_more_of_it(seed: int) -> None:
    """The same, more often."""
    assert_never_bricked(seed, 400)


WRONG: dict[str, Any] = {
    "a role that is a list, in Gemini's form": {"role": [], "parts": [{"text": "So."}]},
    "a role that is an object, in an item": {"type": "message", "id": "m", "status": "completed", "role": {}},
    "bytes that are no base64": {"role": "user", "content": [{"document": {"source": {"bytes": "x"}}}]},
    "bytes that are no text": {"role": "user", "content": [{"video": {"format": "mkv", "source": {"bytes": True}}}]},
    "a result without content": {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1"}}]},
    "a result with nothing in its content": {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "call_1", "content": [None]}}],
    },
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG.values(), ids=WRONG)
def test_what_crashed_is_refused(message: dict[str, Any]) -> None:
    """Found by chance: each of these raised an error of Python's, at `append` or in every later request."""
    session = Session(PROMPT)
    session.user("Begin.")
    session.append(CALL)
    with pytest.raises(MessageError):
        session.append(message)
    assert len(session.messages) == 2


def test_ids_of_gemini_that_are_no_text_are_as_none() -> None:
    """A call gets one, and its result is found by the name."""
    session = Session(PROMPT)
    session.user("Begin.")
    session.append({"role": "model", "parts": [{"functionCall": {"id": [None], "name": "look", "args": {}}}]})
    session.append({"role": "user", "parts": [{"functionResponse": {"id": {}, "name": "look", "response": {"a": 1}}}]})
    for to, model in MODELS.items():
        assert session.request(to=to, model=model).body


@pytest.mark.parametrize("model", ["us.anthropic.claude-opus-4-5-20251101-v1:0", "amazon.nova-pro-v1:0"])
def test_bedrock_gets_tools_for_calls_although_the_prompt_has_none(model: str) -> None:
    """It refuses calls otherwise; they are listed by name for as long as the conversation lasts."""
    session = Session("Be brief.")
    for turn in range(6):
        session.user(f"{turn}?")
        call: dict[str, Any] = {"type": "tool_use", "id": f"c{turn}", "name": ("b c", "a")[turn % 2], "input": {}}
        session.append({"role": "assistant", "content": [call]})
        session.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{turn}", "content": "x"}]}
        )
        request = session.request(to="bedrock", model=model)
        names = [tool["toolSpec"]["name"] for tool in request.body["toolConfig"]["tools"] if "toolSpec" in tool]
        assert names == ["tool_b_c"] if turn == 0 else ["a", "tool_b_c"]
        assert any(note.source == "tools" for note in request.notes)
        session.append({"role": "assistant", "content": "Yes."})
