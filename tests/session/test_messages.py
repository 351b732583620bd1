"""Whatever a session accepted can be sent, to every target: over every type that the SDKs' own definitions list."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest

from deepprompt import Session
from deepprompt.errors import MessageError
from deepprompt.providers import TARGETS
from deepprompt.providers.neutral import Options
from deepprompt.request.conversation import Conversation
from deepprompt.request.request import RequestBuilder
from deepprompt.words import Target
from tests.support.block_law import CALL, MODELS, PROMPT, conversation, holds, outcome
from tests.support.paths import ROOT
from tests.support.sdk_objects import answer, check_accepted
from tests.support.sdk_types import MESSAGE, Sample, generated, recorded
from tests.support.wire_rules import unmarked

# What a block of a version that nobody has seen may hold.
NEW: tuple[Any, ...] = (
    {"code": "some_code"}, {"text": "some_text"}, {"content": [{"type": "text", "text": "some_text"}]},
    {"name": "some_name"}, {"call_id": "some_id"}, {"snake_case": {"inner_name": None}, "list": [], "no": False},
)  # fmt: skip
UNKNOWN = [
    Sample(api, "answer", f"brand_new {number}", block)
    for number, new in enumerate(NEW)
    for api, block in (
        ("anthropic", {"type": "brand_new", **new}),
        ("openai-responses", {"type": "brand_new", "id": "bn_1", **new}),
        ("gemini", {"brandNew": new}),
        ("gemini", {"text": "some_text", "brandNew": new}),
        ("bedrock", {"brandNew": new}),
        ("bedrock", {"brandNew": [new]}),
        ("openai", {"content": None, "tool_calls": [{"id": "call_9", "type": "brand_new", "brand_new": new}]}),
        ("openai", {"refusal": None, "content": [{"type": "brand_new", **new}, {"type": "text", "text": "Said."}]}),
    )
]
SAMPLES = {sample.name: sample for sample in recorded()}
SAMPLES |= {f"{sample.name} {number}": sample for number, sample in enumerate(UNKNOWN)}
ANSWERS = {name: sample for name, sample in SAMPLES.items() if sample.side == "answer" and sample.kind != "cachePoint"}
GIVEN = {name: sample for name, sample in SAMPLES.items() if sample.side != "answer"}
# What its own API is not sent back as it came, and why.
CHANGED = {
    "openai answer annotations": "the request has no such field",
    "openai answer audio": "the request names its id only",
    "openai answer refusal": "sent as text",
    "openai-responses answer function_call_output": "its text is a part, so that a mark can go on it",
    "openai-responses answer custom_tool_call_output": "the same",
}


# What the SDK itself refuses in a request, although its responses have it.
NOT_TAKEN = {"openai-responses answer additional_tools": "its role is not developer, which alone a request takes"}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_always_taken_and_can_always_be_sent(name: str) -> None:
    """A response goes back to its own API as it came; others get what they can take, and a note says what is lost."""
    sample = ANSWERS[name]
    session = conversation(sample)
    found = {to: outcome(sample, session, to) for to in TARGETS}
    assert "LOST" not in found.values(), found
    own: Target = sample.api  # type: ignore[assignment]
    assert found[own] == "kept" or name in CHANGED, found


# google-genai and botocore refuse or drop what they do not know, before we see it.
PARSED = [name for name, sample in ANSWERS.items() if sample not in UNKNOWN or sample.api not in ("gemini", "bedrock")]


@pytest.mark.parametrize("name", PARSED)
def test_an_sdks_own_object_goes_round(name: str) -> None:
    """A response as its SDK parses it is appended, goes back as it came, and the SDK's own types take the request."""
    sample = ANSWERS[name]
    session = Session(PROMPT)
    session.user("Begin.")
    if sample.answers_call:
        session.append(CALL)
    session.append(answer(sample))
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Seen."} for call in session.open_calls]
    session.user({"role": "user", "content": [*results, "Go on."]})
    own: Target = sample.api  # type: ignore[assignment]
    request = session.request(to=own, model=MODELS[own])
    assert holds(request.body, sample.block) or name in CHANGED
    if sample not in UNKNOWN and name not in NOT_TAKEN:
        check_accepted(request)


def test_what_botocore_does_not_know_is_left_out() -> None:
    """Of an unknown block botocore keeps the name and refuses it in a request: a note says so, and the rest is sent."""
    session = Session(PROMPT)
    session.user("Begin.")
    content = [{"SDK_UNKNOWN_MEMBER": {"name": "brandNew"}}, {"text": "So."}]
    session.append({"output": {"message": {"role": "assistant", "content": content}}})
    session.user("Go on.")
    request = session.request(to="bedrock", model=MODELS["bedrock"])
    assert request.body["messages"][1]["content"] == [{"text": "So."}]
    told = [note.detail for note in request.notes if note.source == "messages[1]"]
    assert told == ["botocore does not know the block 'brandNew' and dropped its content: left out; upgrade botocore"]


@pytest.mark.parametrize("new", NEW)
def test_every_item_of_a_whole_response_is_taken(new: dict[str, Any]) -> None:
    """An item of a type that nobody knows, without an id, is known as one because it is in a response."""
    for item in ({"type": "brand_new", **new}, new):
        session = Session(PROMPT)
        session.user("Begin.")
        session.append({"id": "resp_1", "output": [item, MESSAGE]})
        session.user("Go on.")
        for to in TARGETS:
            body = session.request(to=to, model=MODELS[to], marks="none").body
            assert holds(body, item) == (to == "openai-responses")


@pytest.mark.parametrize("new", NEW)
def test_every_part_of_a_responses_message_is_taken(new: dict[str, Any]) -> None:
    """A part of a type that nobody knows goes back to Responses with its message."""
    item = {**MESSAGE, "content": [{"type": "output_new", **new}]}
    session = Session(PROMPT)
    session.user("Begin.")
    session.append({"id": "resp_1", "output": [item]})
    session.user("Go on.")
    for to in TARGETS:
        body = session.request(to=to, model=MODELS[to], marks="none").body
        assert holds(body, item) == (to == "openai-responses")


@pytest.mark.parametrize("name", GIVEN)
def test_a_users_block_is_refused_at_once_or_can_always_be_sent(name: str) -> None:
    """Every target takes a user's block, or a sentence in its place, or `append` refuses it and nothing is appended."""
    sample = GIVEN[name]
    try:
        session = conversation(sample)
    except MessageError:
        session = Session(PROMPT)
        session.user("Begin.")
        with pytest.raises(MessageError):
            session.extend([*([CALL] if sample.answers_call else []), *sample.messages])
        assert len(session.messages) == 1
        assert {to: session.request(to=to, model=MODELS[to]).to for to in TARGETS}
        return
    found = {to: outcome(sample, session, to) for to in TARGETS}
    assert "LOST" not in found.values(), found


def test_some_of_a_users_blocks_are_refused() -> None:
    """The test above takes both ways: a type that no provider takes from a user is refused with its name."""
    refused = {name for name, sample in GIVEN.items() if not _is_taken(sample)}
    assert "anthropic user tool_addition" in refused
    assert "anthropic user document" not in refused
    with pytest.raises(MessageError, match=r"^messages\[0\]: no provider takes a block of type 'video'$"):
        Session(PROMPT).append({"role": "user", "content": [{"type": "video", "data": "x"}]})


def _is_taken(sample: Sample) -> bool:
    try:
        conversation(sample)
    except MessageError:
        return False
    return True


def test_the_samples_are_those_of_the_sdks() -> None:
    """The installed SDKs have no type that is not recorded, and each of theirs obeys the law as they have it."""
    names = {sample.name for sample in recorded()}
    fresh = generated()
    assert {sample.name for sample in fresh} == names, "run python scripts/write_blocks.py"
    for sample in fresh:
        if _is_taken(sample):
            session = conversation(sample)
            assert "LOST" not in [outcome(sample, session, to) for to in TARGETS] or sample.kind == "cachePoint"


def test_the_page_has_the_table() -> None:
    """docs/blocks.md says what becomes of every block, as the code has it."""
    written = runpy.run_path(str(ROOT / "scripts" / "write_blocks.py"))
    assert written["table"](recorded()) in (ROOT / "docs" / "blocks.md").read_text("utf-8"), (
        "run scripts/write_blocks.py"
    )


@pytest.mark.parametrize("to", TARGETS)
def test_a_conversation_of_every_block_only_grows(to: Target) -> None:
    """Each request begins with the one before it, and is the one that is built at once, whatever was left out."""
    session = Session(PROMPT)
    target: dict[str, Any] = {"to": to, "model": MODELS[to]}
    last: list[Any] = []
    for sample in ANSWERS.values():
        session.user(sample.name)
        if sample.answers_call:
            session.append(CALL)
        session.extend(sample.messages)
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Seen."} for call in session.open_calls]
        session.user({"role": "user", "content": [*results, "On."]})
        body = session.request(**target).body
        talk = unmarked(body.get("messages") or body.get("input") or body["contents"])
        assert json.dumps(talk[: len(last)]) == json.dumps(last)
        last = talk
        session.append({"role": "assistant", "content": "Yes."})
    session.user("Last.")
    whole = RequestBuilder(PROMPT, Conversation(session.messages), **target).build(Options(marks="none"))
    assert whole.body == session.request(**target, marks="none").body


def test_a_pause_is_continued() -> None:
    """A paused response goes back as the last message to Anthropic, and the rest of it stands behind it."""
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    said = {"type": "text", "text": "Found."}
    for paused in (
        {"role": "assistant", "content": [use]},
        {"role": "assistant", "content": [said], "stop_reason": "pause_turn"},
    ):
        session = Session(PROMPT)
        session.user("Search.")
        session.append(paused)
        first = session.request(to="anthropic", model="claude-opus-5-5").body["messages"]
        assert (first[-1]["role"], unmarked(first[-1]["content"])) == ("assistant", paused["content"])
        session.append({"role": "assistant", "content": [said], "stop_reason": "end_turn"})
        with pytest.raises(MessageError, match="the conversation ends with the assistant"):
            session.request(to="anthropic", model="claude-opus-5-5")
        session.user("And?")
        later = session.request(to="anthropic", model="claude-opus-5-5").body["messages"]
        assert unmarked(later[: len(first)]) == unmarked(first)
        assert holds(later[2], said)


def test_arguments_that_are_no_json_are_sent() -> None:
    """Every provider gets arguments that the model got wrong: as text where an object has to be, with a note."""
    wrong = {"name": "look", "arguments": '{"path": '}
    session = Session(PROMPT)
    session.user("Look.")
    session.append({"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": wrong}]})
    session.append({"role": "tool", "tool_call_id": "a", "content": "no JSON"})
    for to in TARGETS:
        request = session.request(to=to, model=MODELS[to])
        assert json.dumps(wrong["arguments"]) in json.dumps(request.body, ensure_ascii=False)
        told = "the arguments of tool call 'a' are not a JSON object: sent as the text 'arguments'"
        assert (told in [note.detail for note in request.notes]) == (to in ("anthropic", "bedrock", "gemini"))


def test_a_call_by_a_strange_name_is_sent() -> None:
    """A name that a provider refuses is written with other characters, with a note."""
    session = Session(PROMPT)
    session.user("Look.")
    function = {"name": "look at/it", "arguments": "{}"}
    session.append({"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]})
    session.append({"role": "tool", "tool_call_id": "a", "content": "none"})
    for to in TARGETS:
        request = session.request(to=to, model=MODELS[to])
        assert '"tool_look_at_it"' in json.dumps(request.body)
        assert any("takes names like tool_look_at_it" in note.detail for note in request.notes)
