"""Streams: the raw events of each provider become the response that it would have sent at once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from deepprompt import Session, StreamedResponse, read_usage
from deepprompt.errors import DeepPromptError, MessageError
from tests.support.block_law import MODELS, PROMPT
from tests.support.mutated import mutated
from tests.support.recorder import sdk
from tests.support.sdk_types import Sample, recorded

CITATION = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0, "end_char_index": 1}
USAGE = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0}


def started(index: int, block: dict[str, Any]) -> dict[str, Any]:
    """Return Anthropic's event that starts a block."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Return Anthropic's event that continues a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stopped(index: int) -> dict[str, Any]:
    """Return Anthropic's event that ends a block."""
    return {"type": "content_block_stop", "index": index}


START = {
    "type": "message_start",
    "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": USAGE,
    },
}  # fmt: skip
MESSAGES = [
    START,
    {"type": "ping"},
    started(0, {"type": "thinking", "thinking": "", "signature": ""}),
    delta(0, "thinking_delta", thinking="Let me "),
    delta(0, "thinking_delta", thinking="look."),
    delta(0, "signature_delta", signature="c2ln"),
    stopped(0),
    started(1, {"type": "text", "text": "", "citations": None}),
    delta(1, "text_delta", text="It is "),
    delta(1, "text_delta", text="here."),
    delta(1, "citations_delta", citation=CITATION),
    stopped(1),
    started(2, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}),
    delta(2, "input_json_delta", partial_json=""),
    delta(2, "input_json_delta", partial_json='{"path": '),
    delta(2, "input_json_delta", partial_json='null, "ü": [1]}'),
    stopped(2),
    started(3, {"type": "compaction", "content": None, "encrypted_content": None}),
    delta(3, "compaction_delta", content="Short.", encrypted_content="ZW4="),
    stopped(3),
    started(4, {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}}),
    stopped(4),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 40}},
    {"type": "message_stop"},
]  # fmt: skip


def collected(events: list[Any]) -> tuple[dict[str, Any], str]:
    """Return the response that events make, and the text that they added."""
    stream = StreamedResponse()
    said = "".join([stream.add(event) for event in events])
    return stream.response, said


def test_messages() -> None:
    """Text, reasoning with its signature, citations, calls and unknown deltas of Anthropic."""
    response, said = collected(MESSAGES)
    assert said == "It is here."
    assert response["content"] == [
        {"type": "thinking", "thinking": "Let me look.", "signature": "c2ln"},
        {"type": "text", "text": "It is here.", "citations": [CITATION]},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"path": None, "ü": [1]}},
        {"type": "compaction", "content": "Short.", "encrypted_content": "ZW4="},
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
    ]
    assert response["stop_reason"] == "tool_use"
    assert read_usage(response).output == 40
    assert read_usage(response).cached_read == 5


def test_messages_are_what_the_sdk_makes_of_them() -> None:
    """The same events, as objects, give what Anthropic's own accumulator gives."""
    beta = sdk("anthropic.types.beta")
    construct = sdk("anthropic._models").construct_type
    accumulate = sdk("anthropic.lib.streaming._beta_messages").accumulate_event
    events = [construct(type_=beta.BetaRawMessageStreamEvent, value=event) for event in MESSAGES]
    events.pop(1)  # the ping
    whole: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        whole = accumulate(event=event, current_snapshot=whole, json_bufs=buffers, request_headers=None)
    assert whole is not None
    ours = beta.BetaMessage.model_validate(collected(events)[0]).model_dump(mode="json", exclude_none=True)
    theirs = whole.model_dump(mode="json", exclude_none=True, warnings=False)
    assert ours == theirs


@pytest.mark.parametrize(
    "sample", [one for one in recorded() if (one.api, one.side) == ("anthropic", "answer")], ids=lambda one: one.kind
)
def test_a_block_that_starts_whole_stays_so(sample: Sample) -> None:
    """Results of Anthropic's own tools arrive with their start, and every type is kept."""
    assert collected([START, started(0, sample.block), stopped(0)])[0]["content"] == [sample.block]


def test_an_unknown_delta_continues_its_fields() -> None:
    """A kind of delta that nobody knows: its texts continue those of the block, its other values replace them."""
    events = [
        START,
        started(0, {"type": "new", "said": "a"}),
        delta(0, "new_delta", said="b", more={"c": 1}),
        stopped(0),
    ]
    assert collected(events)[0]["content"] == [{"type": "new", "said": "ab", "more": {"c": 1}}]


def test_a_stream_that_breaks_off_leaves_its_text() -> None:
    """Of a block that was not finished, only text is kept: a call without its arguments could not be sent."""
    events = [START, started(0, {"type": "text", "text": ""}), delta(0, "text_delta", text="It i")]
    assert collected(events)[0]["content"] == [{"type": "text", "text": "It i"}]
    events += [started(1, {"type": "tool_use", "id": "a", "name": "b", "input": {}})]
    events += [delta(1, "input_json_delta", partial_json='{"pa')]
    assert collected(events)[0]["content"] == [{"type": "text", "text": "It i"}]


def chunk(**fields: Any) -> dict[str, Any]:
    """Return a chunk of Chat Completions."""
    choice = {"index": 0, "delta": fields, "finish_reason": None}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt", "choices": [choice]}


FUNCTION = {"name": "look", "arguments": "{}"}
CHAT = [
    chunk(role="assistant", content="", refusal=None),
    chunk(reasoning_content="Let me "),
    chunk(reasoning_content="look."),
    chunk(content="It is "),
    chunk(content="here."),
    chunk(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {**FUNCTION, "arguments": ""}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"path"'}}]),
    chunk(tool_calls=[{"index": 1, "id": "call_2", "type": "function", "function": FUNCTION}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": ': "a"}'}}]),
    {**chunk(), "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {**chunk(), "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}},
]  # fmt: skip


@pytest.mark.parametrize("parsed", [False, True])
def test_chat(parsed: bool) -> None:
    """Chunks of Chat Completions, as JSON and as the SDK's objects: text, reasoning, calls side by side, usage."""
    events: list[Any] = CHAT
    if parsed:
        types, construct = sdk("openai.types.chat"), sdk("openai._models").construct_type
        events = [construct(type_=types.ChatCompletionChunk, value=event) for event in CHAT]
    response, said = collected(events)
    assert said == "It is here."
    message = response["choices"][0]["message"]
    assert {key: message[key] for key in ("role", "content", "reasoning_content")} == {
        "role": "assistant", "content": "It is here.", "reasoning_content": "Let me look.",
    }  # fmt: skip
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"path": "a"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]
    assert response["choices"][0]["finish_reason"] == "tool_calls"
    assert read_usage(response).input == 9


def test_chat_with_several_choices() -> None:
    """A stream of several choices is refused: nobody knows which is meant."""
    with pytest.raises(MessageError, match=r"^a stream with several choices: ask for one, or append the message of"):
        collected([{"choices": [{"index": 1, "delta": {"content": "x"}}]}])


ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW4="}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"}


def test_responses() -> None:
    """The last event of Responses has the whole response; without it, the items that are done."""
    events = [
        {"type": "response.created", "response": {"id": "resp_1", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "encrypted_content": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "So."},
        {"type": "response.output_item.done", "output_index": 1, "item": CALL},
    ]
    response, said = collected(events)
    assert (response["output"], said) == ([ITEM, CALL], "So.")
    whole = {"id": "resp_1", "output": [CALL], "usage": {"input_tokens": 7, "input_tokens_details": {}}}
    response, _ = collected([*events, {"type": "response.completed", "response": whole}])
    assert response == whole


def parts(*given: dict[str, Any], **beside: Any) -> dict[str, Any]:
    """Return a chunk of Gemini."""
    return {"candidates": [{"content": {"role": "model", "parts": [*given]}, "index": 0}], **beside}


def test_gemini() -> None:
    """Gemini's parts: plain texts in a row become one, reasoning and signed parts stay apart, in their order."""
    call = {"functionCall": {"name": "look", "args": {"path": None}}, "thoughtSignature": "c2ln"}
    events = [
        parts({"text": "Hm", "thought": True}),
        parts({"text": "m.", "thought": True}),
        parts({"text": "It "}),
        parts({"text": "is."}, call),
        parts({"text": "", "thoughtSignature": "c2lnMg=="}),
        {**parts(), "candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7}},
    ]
    response, said = collected(events)
    assert said == "It is."
    assert response["candidates"] == [
        {
            "index": 0,
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hmm.", "thought": True},
                    {"text": "It is."},
                    call,
                    {"text": "", "thoughtSignature": "c2lnMg=="},
                ],
            },
        }
    ]
    assert read_usage(response).input == 7


CONVERSE = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Let me "}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "look."}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "It is "}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "here."}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "look"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"path": '}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '"a"}'}}}},
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {"contentBlockDelta": {"contentBlockIndex": 3, "delta": {"text": "Said."}}},
    {"contentBlockDelta": {"contentBlockIndex": 3, "delta": {"citation": {"title": "T"}}}},
    {"contentBlockStop": {"contentBlockIndex": 3}},
    {"contentBlockDelta": {"contentBlockIndex": 4, "delta": {"reasoningContent": {"redactedContent": b"\x01"}}}},
    {"contentBlockStop": {"contentBlockIndex": 4}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11}}},
]


def test_converse() -> None:
    """Bedrock's blocks: reasoning, text, calls, citations, bytes."""
    response, said = collected(CONVERSE)
    assert said == "It is here.Said."
    assert response["output"]["message"]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Let me look.", "signature": "c2ln"}}},
        {"text": "It is here."},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"path": "a"}}},
        {"citationsContent": {"content": [{"text": "Said."}], "citations": [{"title": "T"}]}},
        {"reasoningContent": {"redactedContent": b"\x01"}},
    ]
    assert response["stopReason"] == "tool_use"
    assert read_usage(response).input == 9


@pytest.mark.parametrize("events", [MESSAGES, CHAT, CONVERSE])
def test_what_was_collected_can_be_appended(events: list[Any]) -> None:
    """A session takes the response, knows its open calls, and goes on with every provider."""
    session = Session(PROMPT)
    session.user("Look.")
    session.append(collected(events)[0])
    assert [call.name for call in session.open_calls][:1] == ["look"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Seen."} for call in session.open_calls]
    session.append({"role": "user", "content": results})
    for to, model in MODELS.items():
        assert json.dumps(session.request(to=to, model=model).body)


WRONG = {
    "a text": ("hello", "an event of a stream is a mapping or an SDK's object, not str"),
    "no event": ({"role": "user"}, "not the first event of a stream that is known: role"),
    "an error": (
        {"type": "error", "error": {"type": "overloaded_error"}},
        'the stream broke off: {"type": "overloaded_error"}',
    ),
}


@pytest.mark.parametrize(("event", "error"), WRONG.values(), ids=WRONG)
def test_wrong(event: object, error: str) -> None:
    """What is no event is refused, and an error that a stream reports is raised."""
    with pytest.raises(MessageError) as caught:
        StreamedResponse().add(event)
    assert str(caught.value) == error


def test_nothing_arrived() -> None:
    """Before the first event there is no response."""
    stream = StreamedResponse()
    assert stream.add({"type": "ping"}) == ""
    with pytest.raises(MessageError, match=r"^no event of a response has arrived yet$"):
        _ = stream.response
    with pytest.raises(MessageError, match=r"^the stream broke off: throttlingException: "):
        collected([CONVERSE[0], {"throttlingException": {"message": "slow down"}}])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("events", [MESSAGES, CHAT, CONVERSE], ids=["messages", "chat", "converse"])
def test_events_that_no_provider_sends(events: list[dict[str, Any]], seed: int) -> None:
    """Odd, missing, doubled or shuffled: refused with an error of ours, or collected, and then appended or refused."""
    chance = random.Random(seed)
    for _ in range(100):
        odd = [mutated(chance, event) if chance.random() < 0.3 else event for event in events]
        if chance.random() < 0.3:
            chance.shuffle(odd)
        stream, session = StreamedResponse(), Session("Be brief.")
        session.user("Go.")
        try:
            for event in odd[: chance.randint(1, len(odd))]:
                stream.add(event)
            session.append(stream.response)
        except DeepPromptError:
            assert len(session.messages) == 1


def test_an_event_that_does_not_fit() -> None:
    """The error says which."""
    stream = StreamedResponse()
    stream.add(MESSAGES[0])
    with pytest.raises(
        MessageError, match=r"^an event that does not fit those before it: type, index, delta \(KeyError: 7\)$"
    ):
        stream.add({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}})
