"""The session: what it freezes, what it says and when, what it costs; and the law that nothing sent ever changes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from deepprompt import (
    InstructionFile,
    Note,
    Pace,
    Part,
    Prompt,
    Session,
    SystemPromptBuilder,
    build_request,
    fingerprint,
)
from deepprompt.errors import MessageError, SessionError, ToolError
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from deepprompt.request import conversation
from deepprompt.request.content import read_message
from deepprompt.session.notices import Change
from deepprompt.words import Target
from tests.support.conversations import TOOL_NAMES, WORDS, Message, conversations, texts
from tests.support.examples import examples
from tests.support.growth import steps
from tests.support.models import MODELS, Model
from tests.support.recorder import sdk
from tests.support.sessions import (
    AGENTS,
    BASH,
    FORGED,
    GEMINI,
    GPT,
    LLAMA,
    OPUS,
    PROJECT,
    READ,
    RESPONSES,
    SKILL,
    SONNET,
    TOOLS_TOKENS,
    answer,
    call,
    changed,
    make,
    result,
    saved,
    starts_with,
    told,
)
from tests.support.wire_rules import check

# What a session says


def test_a_short_session(prompt_file: SnapshotAssertion) -> None:
    """Its last request: an edit, a skill that went, a tool that went, and midnight, each said where it happened."""
    session = Session(make())
    session.user("What is new?", make())
    session.request(**OPUS)
    session.append(call("call_1"))
    session.append(result("call_1"))
    session.request(**OPUS)
    session.append(answer("Nothing."))
    edited = InstructionFile("/p/AGENTS.md", "Use tabs.\nNo </notice> here.")
    session.user("I edited AGENTS.md.", make(files=(edited,), tools=(READ,)))
    session.request(**OPUS)
    session.append(answer("I see."))
    midnight = replace(PROJECT, current_date="2026-11-16")
    session.user("Still there?", make(files=(edited,), skills="", project=midnight, tools=(READ,)))
    body = session.request(**OPUS).body
    assert (json.dumps(in_lines(body), indent=1, ensure_ascii=False) + "\n").encode() == prompt_file


def in_lines(value: Any) -> Any:
    """Return a body with each text of several lines as a list of them, for a reviewer to read."""
    if isinstance(value, list):
        return [in_lines(item) for item in value]
    if isinstance(value, dict):
        return {key: in_lines(item) for key, item in value.items()}
    return value.split("\n") if isinstance(value, str) and "\n" in value else value


def test_the_layout_of_the_seed_stays() -> None:
    """`build()` and a request of the prompt itself have the context at the end of the system prompt."""
    builder = SystemPromptBuilder("Be brief.", (AGENTS,), SKILL, PROJECT)
    assert builder.build() == builder.compose().text
    body = build_request(builder.compose(), [{"role": "user", "content": "Hi"}], **OPUS).body
    assert "".join(block["text"] for block in body["system"]) == builder.build()
    session = Session(builder.compose())
    session.user("Hi")
    frozen = "".join(block["text"] for block in session.request(**OPUS).body["system"])
    assert frozen == builder.compose().static_prefix


def test_what_is_frozen() -> None:
    """The prefix and the tools as they were at the start, whatever becomes of the caller's objects."""
    tools: Any = [copy.deepcopy(BASH)]
    messages: Any = [{"role": "user", "content": "The map"}, {"role": "assistant", "content": "Ok."}]
    prompt = replace(make(), tools=tuple(tools), messages=tuple(messages))
    session = Session(prompt)
    assert session.fingerprint == fingerprint(prompt.static_prefix, tools)
    frozen = session.fingerprint
    tools[0]["description"] = "Something else."
    messages[0]["content"] = "Another map"
    assert session.fingerprint == frozen
    assert told(session) == ["The map", "Ok."]
    assert (session.epoch, session.on_change, session.waiting) == (1, "notice", ())


def test_a_frozen_part_may_be_cached_whatever_its_pace() -> None:
    """What stands before the boundary is frozen, so it does not change with the turn, and no resume changes that."""
    parts = (
        Part("rules", "Be brief.\n", Pace.RELEASE, "test"),
        Part("now", "It is noon.\n", Pace.TURN, "test"),
        Part("boundary", "===", Pace.TURN, "test"),
    )
    session = Session(Prompt(parts))
    session.user("Hi")
    request = session.request(**OPUS)
    assert "".join(block["text"] for block in request.body["system"]) == "Be brief.\nIt is noon.\n"
    assert [note for note in request.notes if note.kind == "pace"] == []
    assert session.derive("Go on.").session.request(**OPUS).body["system"] == request.body["system"]


def test_on_change_is_checked() -> None:
    """Anything else is refused."""
    with pytest.raises(SessionError) as refused:
        Session(make(), on_change="never")  # type: ignore[arg-type]
    assert str(refused.value) == "on_change is one of 'notice', 'wait', 'native', not 'never'"


def test_a_mere_text_is_a_prompt() -> None:
    """A text is a prompt without tools or boundary; when it changes, the model is told, and the prefix stays."""
    session = Session("You are careful.")
    session.user("Hi", "You are careful.")
    before = session.request(to="anthropic", model="claude-opus-5-5").body
    session.append({"role": "assistant", "content": "Hello."})
    (change,) = session.user("And?", "You are bold.")
    assert (change.kind, change.source) == ("replaced", "prompt")
    after = session.request(to="anthropic", model="claude-opus-5-5").body
    assert after["system"][0]["text"] == before["system"][0]["text"] == "You are careful."
    assert "You are bold." in json.dumps(after["messages"])
    assert session.new_epoch("You are bold.").epoch == 2
    assert session.derive("Sum up.", prompt="You sum up.").session.prefix.text == "You sum up."


def test_a_whole_answer() -> None:
    """An answer of Chat Completions is its message, and all that stands beside that is left out."""
    session = Session("You are careful.")
    session.user("Hi.")
    said = {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."}
    session.append({"id": "chatcmpl-1", "choices": [{"index": 0, "message": said}], "usage": {"prompt_tokens": 3}})
    assert session.messages[-1] == said


def test_a_text_and_a_prompt_are_not_compared() -> None:
    """The parts of the one are not in the other: the model would be told that all its instructions are gone."""
    builder = SystemPromptBuilder("You are careful.", [InstructionFile("AGENTS.md", "Run the tests.")])
    for began, now, kinds in (
        (builder.build(), builder.compose(), ("a text", "a Prompt")),
        (builder.compose(), builder.build(), ("a Prompt", "a text")),
    ):
        session = Session(began)
        said = f"this session began with {kinds[0]}, and cannot be compared with {kinds[1]}; give the same kind"
        with pytest.raises(SessionError) as found:
            session.user("Hi.", now)
        assert str(found.value) == said
        with pytest.raises(SessionError) as found:
            session.update(now)
        assert str(found.value) == said
        assert session.messages == ()
        session.new_epoch(now)
        assert session.user("Hi.", now) == ()


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_user_who_says_nothing(text: str) -> None:
    """A blank text is no message: it would be left out of some requests, and the model would answer nothing."""
    session = Session("You are careful.")
    with pytest.raises(MessageError) as found:
        session.user(text)
    assert str(found.value) == "a user's message has text, and this one is blank; update() sends only what changed"
    assert session.messages == ()


def test_what_is_no_prompt() -> None:
    """Anything else is refused, with what would be right."""
    builder = SystemPromptBuilder("You are careful.")
    with pytest.raises(SessionError) as found:
        Session(builder)  # type: ignore[arg-type]
    assert str(found.value) == (
        "a session takes a Prompt or a text, not SystemPromptBuilder; its compose() returns a Prompt"
    )


def test_the_context_is_said_with_the_first_message() -> None:
    """All that stands behind the boundary, before what the user says; nothing without any."""
    session = Session(make())
    assert session.user("Hi") == ()
    context, own = told(session)
    assert context.startswith("<context>\n")
    assert [line for line in context.split("\n") if line.startswith("## ")] == [
        "## Project",
        "## Git status",
        "## Git diff",
    ]
    assert own == "Hi"
    bare = Session(make(project=None))
    bare.user("Hi", make(project=None))
    assert told(bare) == ["Hi"]


def test_only_what_moved_in_the_context_is_said() -> None:
    """One section, once; what did not move is not repeated."""
    session = Session(make())
    session.user("One.", make())
    session.user("Two.", make())
    now = make(project=replace(PROJECT, git_status=""))
    assert session.user("Three.", now) == ()
    session.user("Four.", now)
    _, one, two, moved, three, four = told(session)
    assert (one, two, three, four) == ("One.", "Two.", "Three.", "Four.")
    assert "## Git status\n(clean)" in moved
    assert "## Project" not in moved
    assert "## Git diff" not in moved


def test_a_section_that_vanished_is_said() -> None:
    """Once; and when it is back, it is said again."""
    parts = (Part("rules", "Be brief.", Pace.RELEASE, "test"), Part("boundary", "=", Pace.TURN, "test"))
    weather = Part("the\nweather", "\nRain.\n", Pace.TURN, "test")
    session = Session(Prompt((*parts, weather)))
    session.user("One.")
    for prompt in (Prompt(parts), Prompt(parts), Prompt((*parts, replace(weather, text="\n \n")))):
        session.user("And now?", prompt)
    session.user("Again?", Prompt((*parts, weather)))
    context = [text for text in told(session) if text.startswith("<context>")]
    assert ["Rain." in text for text in context] == [True, False, True]
    assert context[1].endswith("(nothing is known of the weather any more)\n</context>")


def test_a_blank_section_is_not_said() -> None:
    """Nothing is known of it, and nothing was."""
    prompt = Prompt((Part("rules", "Be brief.", Pace.RELEASE, "test"), Part("memory", "\n", Pace.TURN, "test")))
    session = Session(prompt)
    session.user("Hi", prompt)
    assert told(session) == ["Hi"]


# What is said between


def test_what_moved_during_a_tool_loop_is_said_there() -> None:
    """`update` needs no user's message; what a call waits for stands first."""
    session = Session(make(project=None))
    session.user("Go.")
    session.append(call("a"))
    with pytest.raises(MessageError) as refused:
        session.update(make())
    assert str(refused.value) == (
        "messages[1]: tool call 'a' has no result; answer every call in the next message before the "
        "conversation continues"
    )
    session.append(result("a"))
    session.update(make())
    assert told(session)[-1].startswith("<context>")
    check("anthropic", OPUS["model"], session.request(**OPUS).body)


def test_the_results_of_calls_come_first() -> None:
    """A user's message that brings them stands before what moved."""
    session = Session(make())
    session.user("Go.")
    session.append(call("a"))
    message = {"role": "user", "content": [*result("a")["content"], {"type": "text", "text": "And hurry."}]}
    session.user(message, make(skills=""))
    assert session.messages[-2] == message
    assert told(session)[-1].startswith('<notice kind="removed" source="skills">')
    check("anthropic", OPUS["model"], session.request(**OPUS).body)


def test_results_may_come_one_by_one() -> None:
    """As Chat Completions has them; what could never be sent is refused, and the session is as it was."""
    session = Session(make(project=None))
    session.user("Go.")
    calls = [{"id": name, "type": "function", "function": {"name": "Bash", "arguments": "{}"}} for name in "ab"]
    session.append({"role": "assistant", "content": None, "tool_calls": calls})
    session.append({"role": "tool", "tool_call_id": "b", "content": "done"})
    for wrong in ({"role": "user", "content": "Stop."}, {"role": "tool", "tool_call_id": "b", "content": "done"}):
        with pytest.raises(MessageError):
            session.append(wrong)
    with pytest.raises(MessageError, match=r"^messages\[1\]: tool call 'a' has no result"):
        session.user("Stop.", make())
    session.append({"role": "tool", "tool_call_id": "a", "content": "done"})
    assert session.user("Go on.") == ()
    assert told(session)[-2].startswith("<context>")
    check("openai", GPT["model"], session.request(**GPT).body)


NO_MESSAGE = "a message is a mapping with a role, or an SDK's object with one, "

# Messages that are refused at once, and why.
WRONG: dict[str, tuple[Any, str]] = {
    "a text": (
        "Hi",
        f"{NO_MESSAGE}not a text; user(text) appends it as the user's, "
        '{"role": "assistant", "content": text} as a response',
    ),
    "no role": ({"content": "Hi", "text": "Hi"}, f"{NO_MESSAGE}not one with the fields content, text"),
    "nothing": ({}, f"{NO_MESSAGE}not one with the fields (none)"),
    "a number": (5, f"{NO_MESSAGE}not int"),
    "the content of an answer": (
        [{"type": "text", "text": "Hi"}],
        f"{NO_MESSAGE}not a list; append a response whole, and several messages with extend()",
    ),
    "a result by itself": (
        {"type": "tool_result", "tool_use_id": "x", "content": "Hi"},
        f'{NO_MESSAGE}not a block of one; {{"role": "user", "content": [block, ...]}} is one, '
        "with all results of a response",
    ),
    "two choices": (
        {"choices": [{"message": {"role": "assistant", "content": text}} for text in "ab"]},
        "a response with 2 choices: append the message of one, choices[N].message",
    ),
    "a choice without a message": ({"choices": [{}]}, f"{NO_MESSAGE}not NoneType"),
    "no content": ({"role": "user", "text": "Hi"}, "messages[0]: no content; its fields are role, text"),
    "no parts": ({"role": "user", "parts": []}, "messages[0]: no parts; a user's content has at least one"),
    "another role": (
        {"role": "model", "content": "Hi"},
        "messages[0]: unknown role 'model'; the roles are system, developer, user, assistant, tool",
    ),
    "no JSON": (
        {"role": "user", "content": {1, 2}},
        "a message is not JSON: Object of type set is not JSON serializable",
    ),
    "no number": (
        {"role": "user", "content": float("nan")},
        "a message is not JSON: Out of range float values are not JSON compliant",
    ),
    "no call": (result("x"), "messages[0]: tool result 'x' has no call of that id in the message before it"),
}


@pytest.mark.parametrize(("message", "why"), WRONG.values(), ids=WRONG)
def test_a_message_that_could_never_be_sent(message: Any, why: str) -> None:
    """It is refused when it comes, with all that came with it."""
    session = Session(make(project=None))
    with pytest.raises(MessageError) as refused:
        session.append(message)
    assert str(refused.value).startswith(why)
    with pytest.raises(MessageError) as refused:
        session.extend([answer("Fine."), message])
    assert str(refused.value).startswith(why.replace("[0]", "[1]"))
    assert session.messages == ()


def test_a_users_message_is_the_users() -> None:
    """Anything else is appended."""
    with pytest.raises(MessageError) as refused:
        Session(make()).user(answer("Yes."))
    assert str(refused.value) == "the role of a user's message is user, not 'assistant'; append() takes any"


class Block:
    """What an SDK has for a block or a message: pydantic's way to say what is in it."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, *, exclude_none: bool, mode: str, by_alias: bool, warnings: bool) -> dict[str, Any]:
        """Return the fields, those that are there."""
        assert (mode, by_alias, warnings) == ("json", True, False)
        return {key: value for key, value in self.fields.items() if value is not None or not exclude_none}


def test_what_an_sdk_gave() -> None:
    """A whole message of an SDK, a list of its blocks, or another mapping than dict: all become plain values."""
    use = Block(type="tool_use", id="a", name="Bash", input=SimpleMapping({"x": 1}), citations=None)
    forms: list[Any] = [
        Block(role="assistant", content=[use], stop_reason="tool_use"),
        {"role": "assistant", "content": [use]},
        SimpleMapping({"role": "assistant", "content": [use]}),
    ]
    for form in forms:
        session = Session(make(project=None))
        session.user("Go.")
        session.append(form)
        session.append(result("a"))
        (block,) = session.request(**OPUS).body["messages"][1]["content"]
        assert block == {"type": "tool_use", "id": "a", "name": "Bash", "input": {"x": 1}}


class SimpleMapping(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, items: dict[str, Any]) -> None:
        self.items_ = items

    def __getitem__(self, key: str) -> Any:
        return self.items_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


@pytest.mark.slow
def test_messages_of_the_real_sdks() -> None:
    """Anthropic's and OpenAI's own objects can be appended as they come."""
    message = sdk("anthropic.types").Message.model_validate(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "stop_sequence": None,
            "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"},
                {"type": "text", "text": "I look.", "citations": None},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
            ],
        }
    )  # fmt: skip
    session = Session(make(project=None))
    session.user("Go.")
    session.append(message)
    session.append(result("toolu_1"))
    body = session.request(**OPUS).body
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "text", "tool_use"]
    called = sdk("openai.types.chat").ChatCompletionMessage.model_validate(
        {
            "role": "assistant", "content": None, "refusal": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}],
        }
    )  # fmt: skip
    session.append(called)
    session.append({"role": "tool", "tool_call_id": "c", "content": "done"})
    check("openai", GPT["model"], session.request(**GPT).body)
    said = {"role": "assistant", "content": "Done.", "reasoning_content": "Hm."}  # which OpenAI's types do not know
    whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "deepseek-v4-pro"}
    whole["choices"] = [{"index": 0, "finish_reason": "stop", "message": said}]
    session.append(sdk("openai.types.chat").ChatCompletion.model_validate(whole))
    assert session.messages[-1] == said


# Requests


def test_a_request_is_the_same_until_something_is_said() -> None:
    """A second attempt has the marks of the first, so it finds what the first would have found."""
    session = Session(make())
    for number in range(4):
        session.user(f"{number}" * 4000)
        first = session.request(**OPUS)
        assert session.request(**OPUS) == first
        assert session.request(**OPUS, max_tokens=9).body == {**first.body, "max_tokens": 9}
        session.append(answer("Yes."))


def test_two_models_in_turn() -> None:
    """Each finds what it was sent before; the first request to another model says that it finds nothing."""
    session = Session(make())
    alone = {name: Session(make()) for name in ("opus", "gpt")}
    options = {"opus": OPUS, "gpt": GPT}
    for number in range(3):
        for one in (session, *alone.values()):
            one.user(f"{number}" * 8000)
        for name, target in options.items():
            both, single = session.request(**target), alone[name].request(**target)
            assert (both.body, both.marks) == (single.body, single.marks)
            note = Note(
                "cache",
                "request",
                "all so far went to anthropic, claude-opus-5-5: openai, gpt-5.6-sol has none of it in its cache",
            )
            assert (note in both.notes) == ((number, name) == (0, "gpt"))
        for one in (session, *alone.values()):
            one.append(answer("Yes."))


def test_options_of_a_request() -> None:
    """Those of `build_request`, by name; a request with its own facts is built by them."""
    session = Session(make(project=None))
    session.user("Hi" * 4000)
    options: dict[str, Any] = {"max_tokens": 7, "stream": True, "lifetime": "1h", "prefix_lifetime": "1h"}
    built = build_request(session.prefix, session.messages, sent=0, **OPUS, **options)
    assert session.request(**OPUS, **options) == built
    assert session.request(**OPUS, marks="none").marks == ()
    keyed = build_request(session.prefix, session.messages, sent=0, cache_key="us", **GPT)
    assert session.request(**GPT, cache_key="us").body == keyed.body
    own = {"providers": {"anthropic": {"models": [{"names": ["claude-opus-5-5"], "minimum": 9}]}}}
    facts = bundled_facts().overlaid(own, "mine")
    for _ in range(2):
        assert session.request(**OPUS, facts=facts).rules.minimum == 9
        assert session.request(**OPUS).rules.minimum == 512


def test_a_turn_costs_what_is_new() -> None:
    """A message more is checked, told and sent in as many steps after two thousand messages as after two hundred."""
    costs = []
    for size in (50, 500):
        session = Session(make())
        session.user("Go.")
        for n in range(size):
            session.extend([call(f"c{n}"), result(f"c{n}"), answer("a"), answer("b")])
        session.user("On.", make())
        session.request(**OPUS)
        session.append(answer("Yes."))
        session.user("More.", make(project=replace(PROJECT, git_status="1")))
        session.request(**OPUS)
        now = make(project=replace(PROJECT, git_status="2"))

        def turn(session: Session = session, now: Prompt = now) -> None:
            session.append(answer("Yes."))
            session.user("More.", now)
            session.request(**OPUS)

        costs.append(steps(turn))
    assert costs[1] <= 1.02 * costs[0]


def test_the_representation_is_short() -> None:
    """A session shows how large it is and where it was last sent, and no text of it."""
    session = Session(make(base="Secret rules."))
    assert repr(session) == "Session(epoch=1, messages=0, parts=4, tools=2)"
    session.user("Secret question.")
    session.request(**GPT)
    session.request(**OPUS)
    assert repr(session) == "Session(epoch=1, messages=2, parts=4, tools=2, to='anthropic', model='claude-opus-5-5')"
    session.request(to="openai", model="\x1b[31m" + "m" * 500)
    assert len(repr(session)) < 150
    assert "\x1b" not in repr(session)
    assert "Secret" not in repr(session)


@pytest.mark.parametrize("targets", [[OPUS], [OPUS, GPT]], ids=len)
def test_a_message_is_read_once(targets: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message is read when it is appended, and never again, for however many requests and models; loaded too."""
    read: list[int] = []

    def counted(message: Any, index: int) -> Any:
        read.append(index)
        return read_message(message, index)

    monkeypatch.setattr(conversation, "read_message", counted)
    session = Session(make())
    for number in range(4):
        session.user(f"{number}", make(project=replace(PROJECT, git_status=f"{number}")))
        for target in targets:
            session.request(**target)
        session.extend([call(f"c{number}", "b"), result("b"), result(f"c{number}")])
        for target in targets:
            session.request(**target)
        session.append(answer("Yes."))
    assert read == list(range(len(session.messages)))
    session.user("On.")
    session.save(tmp_path / "session")
    read.clear()
    loaded = Session.load(tmp_path / "session")
    for target in targets:
        assert loaded.request(**target).body == session.request(**target).body
    assert read == list(range(len(session.messages)))


# Epochs


def test_a_new_epoch() -> None:
    """The prefix is the new one, the conversation stays, and it says what it changed and what is paid again."""
    session = Session(make())
    session.user("One.")
    session.append(answer("Yes."))
    before = session.messages
    now = make(base="Be very brief.", files=(), tools=(READ,))
    cost = session.epoch_cost(now)
    switch = session.new_epoch(now)
    assert (switch.epoch, switch.tokens) == (2, cost)
    assert switch.changes == (
        Change("replaced", "base", "Be very brief."),
        Change("removed", "instructions /p/AGENTS.md"),
        Change("removed", "tool Bash"),
    )
    assert session.epoch == 2
    assert session.messages == before
    assert session.fingerprint == fingerprint(now.static_prefix, now.tools)
    assert session.user("Two.", now) == ()
    assert told(session)[-2:] == ["Yes.", "Two."]
    body = session.request(**OPUS).body
    assert body["system"][0]["text"].startswith("Be very brief.")


def test_what_an_epoch_costs() -> None:
    """Its prefix and tools and all that was said, by estimate."""
    session = Session(make(project=None, tools=()))
    session.user("x" * 4000)
    said_so_far = len(json.dumps(session.messages[0], separators=(",", ":"))) // 4
    assert session.epoch_cost() == said_so_far + len(make(tools=()).static_prefix) // 4
    larger = make(base="y" * 8000)
    assert session.epoch_cost(larger) == said_so_far + len(larger.static_prefix) // 4 + TOOLS_TOKENS
    cost = session.epoch_cost(larger)
    assert session.new_epoch(larger).tokens == cost == session.epoch_cost()
    assert session.epoch_cost(larger) == 0


def test_an_epoch_with_the_same_prefix_costs_nothing() -> None:
    """Nothing that was sent is lost, and the next request is marked as if there had been no epoch."""
    session, other = Session(make()), Session(make())
    for one in (session, other):
        one.user("1" * 8000)
        one.request(**OPUS)
        one.append(answer("Yes."))
    switch = session.new_epoch(make())
    assert (switch.epoch, switch.changes, switch.tokens) == (2, (), 0)
    for one in (session, other):
        one.user("2" * 8000)
    assert session.request(**OPUS) == other.request(**OPUS)


def test_the_context_is_said_again_only_if_it_moved() -> None:
    """An epoch that brings other state has it said with the next message, also without a prompt."""
    session = Session(make())
    session.user("One.")
    session.new_epoch(make(base="Other."))
    session.user("Two.")
    assert told(session)[-2:] == ["One.", "Two."]
    session.new_epoch(make(project=replace(PROJECT, git_status="", current_date="2026-11-16")))
    session.user("Three.")
    assert told(session)[-2].startswith("<context>")
    assert "## Git status\n(clean)" in told(session)[-2]
    assert "## Git diff" not in told(session)[-2]
    session.new_epoch(Prompt(make().static_parts, make().tools))
    session.user("Four.")
    assert told(session)[-2].count("(nothing is known of ") == 3


def test_a_notice_that_no_longer_holds_is_taken_back() -> None:
    """It stands behind the new prefix in the conversation, so what the prefix says now has to be said after it."""
    edited = make(files=(InstructionFile("/p/AGENTS.md", "Use blanks."),), tools=(READ, {"name": "Fly"}))
    session, _ = changed(edited)
    session.new_epoch(edited)
    assert session.user("Three.") == (Change("added", "tool Fly"),)
    session.new_epoch(make(tools=(READ,)))
    tabs = Change("replaced", "instructions /p/AGENTS.md", "[/p/AGENTS.md]\nUse tabs.")
    assert session.user("Four.") == (tabs, Change("removed", "tool Fly"))
    assert "[/p/AGENTS.md]\nUse tabs.\n</notice>" in told(session)[-2]
    session.new_epoch(make())
    assert session.user("Five.", make()) == (Change("added", "tool Bash"),)
    session.new_epoch(make(base="Other."))
    assert session.user("Six.", make(base="Other.")) == ()


def test_an_epoch_that_fails_changes_nothing() -> None:
    """A prompt whose tools cannot be sent is refused."""
    session, other = changed(make())[0], changed(make())[0]
    with pytest.raises(ToolError):
        session.new_epoch(make(base="Other.", tools=({"description": "no name"},)))
    assert (session.epoch, session.fingerprint) == (1, other.fingerprint)
    assert session.user("Three.", make(skills="")) == other.user("Three.", make(skills=""))
    assert session.request(**OPUS) == other.request(**OPUS)


# Sessions out of sessions


@pytest.mark.parametrize("target", [OPUS, GPT, RESPONSES, GEMINI], ids=lambda target: target["to"])
def test_a_compaction_starts_with_all_that_was_sent(target: dict[str, Any]) -> None:
    """So the provider reads it from the cache; the parent goes on as if nothing had been."""
    session, other = changed(make(skills=""))[0], changed(make(skills=""))[0]
    before = session.request(**target)
    other.request(**target)
    session.append(answer("Done."))
    other.append(answer("Done."))
    compaction = session.compaction()
    request = compaction.session.request(**target)
    assert starts_with(target["to"], request.body, before.body)
    assert told(compaction.session)[-1].startswith("Write a summary that replaces this conversation")
    last = f"{target['to']}, {target['model']}"
    assert compaction.note == f"the prefix and 5 of 6 messages stay in the cache of {last}"
    size = sum(len(json.dumps(m, separators=(",", ":"))) // 4 for m in session.messages[:-1])
    assert compaction.shared == size + len(make().static_prefix) // 4 + TOOLS_TOKENS
    assert compaction.session.epoch == session.epoch
    session.user("Three.", make(skills=""))
    other.user("Three.", make(skills=""))
    assert session.request(**target) == other.request(**target)


def test_a_child_knows_what_was_told() -> None:
    """Notices and context of the parent are not said again; what the parent was about to say is said."""
    now = make(skills="")
    session = changed(now)[0]
    child = session.derive("Go on.").session
    assert child.user("Two.", now) == ()
    assert told(child)[-2:] == ["Go on.", "Two."]
    silent = Session(make())
    derived = silent.derive("Begin.")
    assert [text[:9] for text in told(derived.session)] == ["<context>", "Begin."]
    assert (derived.shared, derived.note) == (0, "nothing of it was sent yet, so no cache has it")
    assert silent.messages == ()


def test_a_child_of_a_waiting_call() -> None:
    """An answer whose calls have no results yet is left out: it was not sent, and cannot be."""
    session = Session(make())
    session.user("Go.")
    sent = session.request(**OPUS)
    session.append(call("a", "b"))
    session.append({"role": "tool", "tool_call_id": "a", "content": "done"})
    child = session.derive("Look around.").session
    request = child.request(**OPUS)
    assert starts_with("anthropic", request.body, sent.body)
    assert told(child)[-2:] == ["Go.", "Look around."]
    check("anthropic", OPUS["model"], request.body)


def test_another_model_shares_nothing() -> None:
    """The child's request says so, and so does a provider that caches nothing."""
    session = changed(make())[0]
    session.request(**OPUS)
    request = session.derive("Go on.").session.request(**SONNET)
    assert str(request.notes[-1]) == (
        "cache: request: all so far went to anthropic, claude-opus-5-5: anthropic, claude-sonnet-4-5 has none of it "
        "in its cache"
    )
    session = changed(make())[0]
    session.request(**LLAMA)
    derived = session.derive("Go on.")
    assert (derived.shared, derived.note) == (0, f"bedrock, {LLAMA['model']} caches nothing")


LONG_BASE = "Be brief. " * 100
ANOTHER = "another system prompt, another cache"

# A subagent's own prompt: what it shares with the parent's, in tokens, and what is said of that.
SUBAGENTS: dict[str, tuple[Prompt, int, str]] = {
    "the same": (make(base=LONG_BASE), 0, "the whole prefix is shared, and nothing of the conversation"),
    "the same start": (
        make(base=f"{LONG_BASE}Review.", files=(), skills=""),
        len(LONG_BASE) // 4 + TOOLS_TOKENS,
        f"the tools and the start of the system prompt shared at most: {ANOTHER}",
    ),
    "the same tools": (make(base="Review."), TOOLS_TOKENS, f"the tools shared at most: {ANOTHER}"),
    "other tools": (make(base=LONG_BASE, tools=(READ,)), 0, "nothing is shared: different tools, so a different cache"),
}


@pytest.mark.parametrize(("prompt", "shared", "note"), SUBAGENTS.values(), ids=SUBAGENTS)
def test_a_subagent_with_a_prompt_of_its_own(prompt: Prompt, shared: int, note: str) -> None:
    """It starts over, with its own context, and says what it shares at most."""
    session = Session(make(base=LONG_BASE), on_change="wait")
    session.user("One.")
    derived = session.derive("Review a.py.", prompt=prompt)
    if derived.session.fingerprint == session.fingerprint:
        shared = len(session.prefix.text) // 4 + TOOLS_TOKENS
    assert (derived.shared, derived.note) == (shared, note)
    assert [text[:9] for text in told(derived.session)] == ["<context>", "Review a."]
    assert (derived.session.epoch, derived.session.on_change) == (1, "wait")
    assert derived.session.prefix.text == prompt.static_prefix


def test_a_subagent_without_tools() -> None:
    """Only what is there can be shared."""
    session = Session(make(tools=()))
    assert session.derive("Go.", prompt=make(base="Be", tools=())).note == (
        f"the start of the system prompt shared at most: {ANOTHER}"
    )
    assert session.derive("Go.", prompt=make(base="Review.", tools=())).note == f"nothing shared at most: {ANOTHER}"


# The law


@st.composite
def worlds(draw: st.DrawFn) -> Prompt:
    """A prompt as it may be built now: parts of all paces, tools, sections of context, some of them gone."""
    parts = []
    for name, pace in (
        ("rules", Pace.RELEASE),
        ("file a", Pace.PROJECT),
        ("file b", Pace.PROJECT),
        ("day", Pace.SESSION),
    ):
        if draw(st.integers(0, 5)):
            parts.append(Part(name, draw(st.sampled_from((*WORDS, "", "\n\nOne.\n", FORGED))), pace, "test"))
    if draw(st.integers(0, 3)):
        parts.append(Part("boundary", "\n===\n", Pace.TURN, "deepprompt"))
        for name in ("git", "date"):
            if draw(st.integers(0, 3)):
                parts.append(Part(name, draw(texts()), Pace.TURN, "test"))
    # Bedrock refuses calls without any tools.
    names = draw(st.lists(st.sampled_from(TOOL_NAMES), unique=True, min_size=1, max_size=4))
    tools = [{"name": name, "description": draw(st.sampled_from(["One.", "Two."]))} for name in names]
    return Prompt(tuple(parts), tuple(tools))


class Run:
    """A session with random things done to it, and what has to hold after each."""

    def __init__(self, data: st.DataObject, to: Target, model: Model, folder: Path) -> None:
        self.data, self.to, self.model, self.file = data, to, model, folder / "session"
        self.now = data.draw(worlds())
        self.session = Session(self.now, on_change=data.draw(st.sampled_from(["notice", "wait"])))
        self.others: list[tuple[Target, str]] = [(to, model.name)]
        self.others += [("openai", "gpt-5.6-sol")] if data.draw(st.booleans()) else []
        self.sent: dict[tuple[str, str], dict[str, Any]] = {}

    def one_in(self, many: int) -> bool:
        """Whether it is time for something."""
        return self.data.draw(st.integers(1, many)) == 1

    def turn(self, messages: list[Message]) -> None:
        """Say some messages, with whatever moves in between, and send all of it."""
        for message in messages:
            if self.one_in(3):
                self.now = self.data.draw(worlds())
            results = message["role"] == "tool" or "tool_use_id" in str(message["content"])
            if message["role"] == "user" and not results:
                self.session.user(message, self.now if self.one_in(2) else None)
            elif message["role"] == "user" and self.one_in(2):
                self.session.user(message, self.now)
            else:
                self.session.append(message)
        if self.one_in(3):
            self.session.update(self.now)
            size = len(self.session.messages)
            self.resume()
            assert self.session.update(self.now) == ()
            assert len(self.session.messages) == size, "something was told twice"
        for target in self.others:
            self.send(*target)

    def send(self, to: Target, model: str) -> None:
        """Send all; it starts with what was sent before, and the provider takes it, twice the same."""
        request = self.session.request(to=to, model=model)
        check(to, model, request.body)
        if before := self.sent.get((to, model)):
            assert starts_with(to, request.body, before)
        self.sent[to, model] = copy.deepcopy(request.body)
        assert self.session.request(to=to, model=model) == request

    def resume(self) -> None:
        """Go on in what another process would have, now and then."""
        if self.one_in(2):
            self.session = saved(self.session, self.file)

    def derive(self) -> None:
        """Make another session of it, which starts with what was sent; this one stays as it is."""
        if self.session.messages[-1]["role"] in ("system", "developer"):
            return  # Anthropic takes one last or before an answer: there is no going on from it without one
        child = self.session.derive("Sum up.").session
        for to, model in self.others:
            request = child.request(to=to, model=model)
            check(to, model, request.body)
            assert starts_with(to, request.body, self.sent[to, model])


@pytest.mark.parametrize("to", TARGETS)
@examples(8)
@given(data=st.data())
def test_what_was_sent_starts_what_is_sent_next(to: Target, data: st.DataObject, tmp_path_factory: Any) -> None:
    """Whatever is said and whatever moves, through resumes and children: within an epoch nothing sent ever changes."""
    model = data.draw(st.sampled_from(MODELS[to]))
    run = Run(data, to, model, tmp_path_factory.getbasetemp())
    turns = data.draw(conversations(model.kinds, names=tuple(TOOL_NAMES)))
    if not run.session.prefix.text and turns[0][0]["role"] == "system":
        run.session.user("First of all.")
    for turn in turns:
        run.turn(turn)
        run.resume()
        if run.one_in(4):
            run.derive()
        if run.one_in(5):
            run.now = data.draw(worlds())
            messages = run.session.messages
            switch = run.session.new_epoch(run.now)
            assert switch.epoch == run.session.epoch
            assert run.session.messages == messages
            if switch.tokens:
                run.sent = {}


def test_a_users_message_may_be_blocks() -> None:
    """A list is the content of a message, and a block that no provider takes is refused at once."""
    session = Session(make())
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    session.user([{"type": "text", "text": "What is this?"}, image], make())
    assert session.messages[-1] == {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
    with pytest.raises(MessageError, match="no provider takes a block of type 'video'"):
        session.user([{"type": "video", "data": "x"}])
    with pytest.raises(MessageError, match="a message is a mapping with a role"):
        session.user(b"x")  # type: ignore[arg-type]


def test_appending_a_users_message_tells_the_state() -> None:
    """`append` and `extend` say what changed before a user's message, as `user` does, and say it once."""
    by_user, by_append, by_extend = Session(make()), Session(make()), Session(make())
    by_user.user("One.")
    by_append.append({"role": "user", "content": "One."})
    by_extend.extend([{"role": "user", "content": "One."}, answer("Yes.")])
    assert len(by_user.messages) == 2
    assert by_user.messages == by_append.messages == by_extend.messages[:2]
    by_append.append(answer("Yes."))
    by_append.append({"role": "user", "content": "Two."})
    assert told(by_append)[2:] == ["Yes.", "Two."]


@pytest.mark.parametrize("lifetime", ["", "1h"])
def test_anthropic_marks_the_newest_message_itself(lifetime: Any) -> None:
    """The body asks for it, the prefix keeps its own marks, and a verdict knows what was cached."""
    session = Session(make(base="A long rule. " * 400))
    session.user("One.")
    request = session.request(**OPUS, marks="automatic", lifetime=lifetime)
    mark = {"type": "ephemeral", "ttl": lifetime} if lifetime else {"type": "ephemeral"}
    assert request.body["cache_control"] == mark
    assert all("cache_control" not in block for one in request.body["messages"] for block in one["content"])
    assert "cache_control" in request.body["system"][-1]
    assert request.marks[-1].place == "cache_control"
    assert request.marks[-1].tokens == request.tokens
    session.append(answer("Yes."))
    session.user("Two.")
    session.request(**OPUS, marks="automatic", lifetime=lifetime)
    nothing = {"input_tokens": 9, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 2000, "output_tokens": 1}
    verdict = session.record(nothing)
    assert verdict.kind == "unknown"
    assert verdict.expected > 0.9


@pytest.mark.parametrize("to", TARGETS)
def test_automatic_marks_elsewhere_are_ours(to: Target) -> None:
    """A provider that places no marks itself gets those of the planner."""
    session = Session(make(base="A long rule. " * 400))
    session.user("One.")
    one = {"to": to, "model": MODELS[to][0].name}
    automatic, auto = session.request(**one, marks="automatic"), session.request(**one)  # type: ignore[arg-type]
    assert (automatic.body == auto.body) == (to != "anthropic")
