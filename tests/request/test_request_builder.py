"""Requests of a conversation that grows: the same as building each of them from scratch, in time for what is new."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import Note, Pace, Part, Prompt, Request, build_request
from deepprompt.errors import MessageError
from deepprompt.providers import TARGETS, neutral
from deepprompt.providers.draft import Draft
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.neutral import Options
from deepprompt.request.conversation import Conversation
from deepprompt.request.request import RequestBuilder
from deepprompt.words import Target
from tests.support.conversations import Message, long_scenes, scenes
from tests.support.examples import examples
from tests.support.growing import as_prompt, outcome
from tests.support.growth import steps
from tests.support.models import MODELS, Model
from tests.support.wire_rules import marks

MANY = examples(12)

OPUS: dict[str, Any] = {"to": "anthropic", "model": "claude-opus-5-5"}
SONNET_ON_BEDROCK: dict[str, Any] = {"to": "bedrock", "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}
NOVA: dict[str, Any] = {"to": "bedrock", "model": "amazon.nova-pro-v1:0"}
GEMINI: dict[str, Any] = {"to": "gemini", "model": "gemini-3.8-flash"}
GPT: dict[str, Any] = {"to": "openai", "model": "gpt-5.6-sol"}

RULES = Prompt((Part("rules", "Be brief.", Pace.RELEASE, "test"),))
BASH = {"name": "Bash", "description": "Runs a command."}


class Growing:
    """A conversation and the builder of its requests."""

    def __init__(self, prompt: Prompt, **target: Any) -> None:
        self.conversation = Conversation(prompt.messages)
        self.builder = RequestBuilder(prompt, self.conversation, **target)
        self.extend = self.conversation.extend

    @property
    def size(self) -> int:
        """How many messages it has."""
        return self.conversation.size

    def request(self, sent: int = 0, **options: Any) -> Request:
        """Return the next request."""
        return self.builder.build_next(Options(**{"marks": "auto", **options}), sent)


def user(text: str) -> Message:
    """Say something."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """Answer."""
    return {"role": "assistant", "content": text}


def system(text: str) -> Message:
    """Remind."""
    return {"role": "system", "content": text}


def call(name: str, said: str = "") -> list[Message]:
    """Call a tool, and its result."""
    use = {"type": "tool_use", "id": name, "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": name, "content": "done"}
    text = [{"type": "text", "text": said}] if said else []
    return [{"role": "assistant", "content": [*text, use]}, {"role": "user", "content": [result]}]


def same(grown: Request | str, built: Request | str) -> bool:
    """Whether two requests are sent alike, marks and all; their notes aside."""
    if isinstance(grown, str) or isinstance(built, str):
        return grown == built
    return replace(grown, notes=()) == replace(built, notes=())


@pytest.mark.parametrize("to", TARGETS)
@MANY
@given(data=st.data())
def test_a_grown_request_is_the_one_that_is_built(to: Target, data: st.DataObject) -> None:
    """However a conversation comes in, and wherever it is sent, each request is that of the whole; none changes."""
    model: Model = data.draw(st.sampled_from(MODELS[to]))
    scene = data.draw(st.one_of(scenes(model.kinds), scenes(model.kinds), long_scenes(model.kinds)))
    prompt, messages = as_prompt(scene), scene.messages()
    options: dict[str, Any] = {
        "marks": data.draw(st.sampled_from(["auto", "auto", "none"])),
        "prefix_lifetime": data.draw(st.sampled_from(model.lifetimes)),
        "lifetime": data.draw(st.sampled_from(model.lifetimes)),
        "max_tokens": data.draw(st.sampled_from([None, 100])),
        "stream": data.draw(st.booleans()),
        "cache_key": data.draw(st.sampled_from(["", "us"])),
    }
    kept = grow(prompt, messages, to, model.name, options, lambda: data.draw(st.integers(0, 2)) == 0)
    assert kept, "nothing could be sent"


def grow(
    prompt: Prompt, messages: list[Message], to: Target, model: str, options: dict[str, Any], now: Callable[[], bool]
) -> list[Request]:
    """Send a conversation whenever it is time, at its end at last, and hold each request to the one that is built."""
    growing = Growing(prompt, to=to, model=model)
    brought, sent = len(prompt.messages), 0
    kept: list[Request] = []
    copies: list[Request] = []
    for end in range(len(messages) + 1):
        growing.extend(messages[max(end - 1, 0) : end])
        assert growing.size == brought + end
        if end < len(messages) and not now():
            continue
        options = {"marks": "auto", **options}
        grown = outcome(partial(growing.request, sent=sent and brought + sent, **options))
        built = outcome(partial(build_request, prompt, messages[:end], to=to, model=model, sent=sent, **options))
        assert same(grown, built)
        if isinstance(grown, Request):
            sent = end
            kept.append(grown)
            copies.append(copy.deepcopy(grown))
            assert [mark.place for mark in grown.marks] == [place for place, _ in marks(grown.body)]
    assert kept == copies, "a body that was returned has changed"
    return kept


def test_a_first_request_may_end_with_what_carries_no_mark() -> None:
    """Nova marks no tool results: the next request finds the mark before them, although that message is settled."""
    now = iter([False, False, False, True, False])
    messages = [user("1"), *call("a"), *call("b")]
    first, second = grow(
        replace(RULES, tools=(BASH,)), messages, "bedrock", "amazon.nova-pro-v1:0", {}, lambda: next(now)
    )
    assert [mark.place for mark in first.marks] == [mark.place for mark in second.marks]
    assert "messages[0].content[0]" in [mark.place for mark in first.marks]


# Conversations in which what was settled could be taken for something else, for each provider.
TRICKY: dict[str, list[Message]] = {
    "ids that start again": [user("1"), *call("call_0"), *call("call_0"), *call("call_0"), assistant("2"), user("3")],
    "an answer of several": [user("1"), assistant("2"), *call("a"), assistant("3"), *call("b"), *call("c"), user("4")],
    "a blank between": [user("1"), assistant("2"), user(" "), assistant("3"), user("4"), assistant("5"), user("6")],
    "blank answers": [user("1"), assistant(" "), user("2"), assistant(""), user("3"), assistant("4"), user("5")],
    "blanks first": [user(" "), assistant("1"), user("2"), assistant("3"), user("4"), assistant("5"), user("6")],
    "the assistant first": [assistant("1"), user("2"), assistant("3"), user("4"), assistant("5"), user("6")],
    "users in a row": [user("1"), user("2"), assistant("3"), user("4"), user("5"), assistant("6"), user("7")],
    "tools and the user": [user("1"), *call("a"), user("2"), *call("b", "now"), user("3"), *call("c"), user("4")],
    "nothing but tools": [user("1"), *call("a"), *call("b"), *call("c"), *call("d"), *call("e")],
    "the system first": [system("S"), user("1"), assistant("2"), user("3"), assistant("4"), user("5")],
    "only the system first": [system("S"), assistant("2"), user("3"), assistant("4"), user("5")],
    "the system inside": [
        user("1"), system("S"), assistant("2"), user("3"), system("T"), assistant("4"), user("5"), system("U"),
        assistant("6"), user("7"),
    ],
    "reasoning only": [
        user("1"), {**assistant(""), "reasoning_content": "hm"}, user("2"), assistant("3"), user("4"),
        {**assistant("5"), "reasoning_content": "hm"}, user("6"), assistant("7"), user("8"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("messages", TRICKY.values(), ids=TRICKY)
def test_tricky_conversations(messages: list[Message], to: Target) -> None:
    """Sent after each message that can be answered, for several models; with a prompt and without, or brought by it."""
    prompt = replace(RULES, tools=(BASH,))
    for model in MODELS[to][:3]:
        assert len(grow(prompt, messages, to, model.name, {}, lambda: True)) > 1
    assert grow(Prompt((), (BASH,)), messages, to, MODELS[to][0].name, {}, lambda: True)
    brought = replace(prompt, messages=tuple(messages[:-1]))
    assert grow(brought, messages[-1:], to, MODELS[to][0].name, {}, lambda: True)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("messages", TRICKY.values(), ids=TRICKY)
def test_the_start_of_a_conversation(messages: list[Message], to: Target) -> None:
    """The request for the first messages is the one that a conversation of only these has, built whole or grown."""
    prompt, model = replace(RULES, tools=(BASH,)), MODELS[to][0].name
    builder = RequestBuilder(prompt, Conversation(messages), to=to, model=model)
    grown = RequestBuilder(prompt, Conversation(messages), to=to, model=model)
    options, sent = Options(marks="auto"), 0
    for end in range(1, len(messages)):
        built = outcome(partial(build_request, prompt, messages[:end], to=to, model=model, sent=sent, marks="auto"))
        if isinstance(built, Request):
            assert same(builder.build(options, sent, end), built)
            assert same(grown.build_next(options, sent, end), built)
            sent = end


def test_neighbours_are_one_message_across_turns() -> None:
    """Where roles take turns, an answer that nobody sees joins what stands around it, after any number of requests."""
    messages = [user("1"), assistant(" "), user("2"), assistant("3"), user("4"), assistant("5"), user("6")]
    *_, last = grow(RULES, messages, options={"marks": "none"}, now=lambda: True, **SONNET_ON_BEDROCK)
    texts = [[block["text"] for block in message["content"]] for message in last.body["messages"]]
    assert texts == [["1", "2"], ["3"], ["4"], ["5"], ["6"]]
    *_, last = grow(RULES, messages, options={"marks": "none"}, now=lambda: True, **GEMINI)
    assert [[part["text"] for part in content["parts"]] for content in last.body["contents"]] == texts


def test_ids_are_told_apart_across_turns() -> None:
    """A call whose id was taken by one that is settled long since gets another, the same in every later request."""
    messages = [user("1"), *call("call_0"), *call("call_0"), *call("call_0")]
    *_, last = grow(replace(RULES, tools=(BASH,)), messages, options={}, now=lambda: True, **OPUS)
    ids = [block["id"] for message in last.body["messages"] for block in message["content"] if "id" in block]
    assert ids == ["call_0", "call_0_2", "call_0_3"]


def test_marks_find_a_text_that_is_far_back() -> None:
    """Nova's marks stand on texts only: the last of them stays in reach, however many calls follow it."""
    messages = [user("1" * 8000), *call("a"), *call("b"), *call("c"), *call("d")]
    requests = grow(replace(RULES, tools=(BASH,)), messages, options={}, now=lambda: True, **NOVA)
    assert {mark.place for mark in requests[-1].marks} == {"system[0]", "messages[0].content[0]"}


def test_own_marks_are_not_looked_for() -> None:
    """They could stand in what is settled, so they cannot be asked for."""
    growing = Growing(RULES, **OPUS)
    growing.extend([user("Hi")])
    for choice in ("own", "", "all"):
        with pytest.raises(MessageError) as refused:
            growing.request(marks=choice)
        assert (
            str(refused.value)
            == f"in a conversation that grows, marks is one of 'auto', 'automatic', 'none', not {choice!r}"
        )
    assert growing.request(marks="none").marks == ()


def test_nothing_to_send() -> None:
    """The same error as for any request; what is said later can be sent."""
    growing = Growing(Prompt(()), **OPUS)
    with pytest.raises(MessageError) as refused:
        growing.request()
    assert str(refused.value) == "there is nothing to send: no system prompt and no message"
    growing.extend([user("Hi")])
    assert growing.request().body["messages"][0]["content"][0]["text"] == "Hi"


def test_what_is_refused_is_refused_again() -> None:
    """A message that the provider does not take is named by its place each time, also among what would be settled."""
    image = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    growing = Growing(replace(RULES, tools=(BASH,)), **SONNET_ON_BEDROCK, strict=True)
    growing.extend([user("1"), *call("a"), {"role": "user", "content": [image]}, assistant("2"), user("3")])
    for _ in range(2):
        with pytest.raises(MessageError) as refused:
            growing.request()
        assert str(refused.value).startswith("messages[3].content[0]: bedrock takes no URL of an image")
    assert growing.size == 6


def test_notes_are_those_of_new_messages() -> None:
    """What the prompt brings with it is said each time; what was noted of a message, in the first request that has it.

    A message that this first request settles is no exception, and the same request again has the same notes.
    """
    prompt = Prompt((Part("rules", "Be\ud800 brief.", Pace.RELEASE, "test"), Part("now", "Noon.", Pace.TURN, "test")))
    growing = Growing(prompt, **OPUS)
    assert [note.source for note in growing.request().notes] == ["rules", "messages", "system[0]"]
    growing.extend([user("1\ud800"), assistant("2"), user("3")])
    first, again = growing.request(), growing.request()
    assert first == again
    growing.extend([assistant("4"), user("5")])
    later = growing.request(sent=3)
    said = Note("replaced", "messages[0]", "lone surrogates, by U+FFFD", 1)
    assert (said in first.notes, said in later.notes) == (True, False)
    assert "the end of the system prompt" in [note.source for note in later.notes]


def test_own_facts() -> None:
    """A request is built by the facts that are given."""
    own = {"providers": {"openai": {"models": [{"names": ["gpt-4o"], "minimum": 7}]}}}
    growing = Growing(RULES, to="openai", model="gpt-4o", facts=bundled_facts().overlaid(own, "mine"))
    growing.extend([user("Hi")])
    assert growing.request().rules.minimum == 7


@pytest.mark.parametrize("to", [OPUS, GPT, SONNET_ON_BEDROCK], ids=lambda to: to["to"])
def test_a_turn_costs_what_is_new(to: dict[str, Any]) -> None:
    """Ten messages more take as many steps after two thousand messages as after two hundred."""
    costs = []
    for size in (50, 500):
        turns = [message for number in range(size) for message in (*call(f"c{number}"), assistant("a"), user("b" * 80))]
        growing = Growing(replace(RULES, tools=(BASH,)), **to)
        growing.extend([user("Go."), *turns])
        growing.request()
        more = [message for number in range(5) for message in call(f"new{number}")]
        growing.extend(more)
        growing.request(sent=growing.size - len(more))
        sent = growing.size
        growing.extend([{**message} for number in range(5) for message in call(f"more{number}")])
        costs.append(steps(partial(growing.request, sent=sent)))
        assert len(growing.request(sent=sent).body["messages"]) >= 4 * size
    assert costs[1] <= 1.02 * costs[0]


def assert_written_a_few_times(monkeypatch: pytest.MonkeyPatch, to: Target, model: str) -> None:
    """Write a long conversation request by request, and count how often a message is written."""
    written: Counter[int] = Counter()
    tools: list[str] = []
    each, dumps = Draft.each, json.dumps

    def counting(draft: Draft, messages: Sequence[neutral.Message]) -> Iterator[neutral.Message]:
        for message in each(draft, messages):
            written[message.index] += 1
            yield message

    def dumping(value: object, **options: Any) -> str:
        tools.append(dumps(value, **options))
        return tools[-1]

    monkeypatch.setattr(Draft, "each", counting)
    growing = Growing(replace(RULES, tools=(BASH,)), to=to, model=model)
    sent = 0
    for turn in range(30):
        growing.extend([user(f"Question {turn}."), *call(f"call_{turn}")])
        monkeypatch.setattr("deepprompt.providers.spots.json.dumps", dumping)
        growing.request(sent)
        monkeypatch.setattr("deepprompt.providers.spots.json.dumps", dumps)
        sent = growing.size
        growing.extend([assistant("Done.")])
    assert max(written.values()) <= 2
    assert len([text for text in tools if "Runs a command." in text]) == 1


@pytest.mark.parametrize("to", TARGETS)
def test_a_message_is_written_at_most_twice_and_tools_once(to: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the conversation is: when it is new, and when it is settled."""
    assert_written_a_few_times(monkeypatch, to, MODELS[to][0].name)
