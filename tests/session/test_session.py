"""The session: what it freezes, what it says and when, what it costs; and the law that nothing sent ever changes."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
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
    ProjectContext,
    Prompt,
    Session,
    SystemPromptBuilder,
    Usage,
    build_request,
    fingerprint,
)
from deepprompt.errors import MessageError, SessionError, ToolError, UsageError
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from deepprompt.request import conversation
from deepprompt.request.content import read_message
from deepprompt.session.notices import Change
from deepprompt.session.record import Verdict, judge
from deepprompt.session.saved import FORMAT
from deepprompt.words import OnChange, Target
from tests.support.conversations import TOOL_NAMES, WORDS, Message, conversations, texts
from tests.support.examples import examples
from tests.support.growth import steps
from tests.support.models import MODELS, Model, rest, said
from tests.support.paths import DATA, ROOT
from tests.support.recorder import sdk
from tests.support.wire_rules import check, unmarked

OPUS: dict[str, Any] = {"to": "anthropic", "model": "claude-opus-5-5"}
SONNET: dict[str, Any] = {"to": "anthropic", "model": "claude-sonnet-4-5"}
GPT: dict[str, Any] = {"to": "openai", "model": "gpt-5.6-sol"}
RESPONSES: dict[str, Any] = {"to": "openai-responses", "model": "gpt-5.6-sol"}
GEMINI: dict[str, Any] = {"to": "gemini", "model": "gemini-3.8-flash"}
LLAMA: dict[str, Any] = {"to": "bedrock", "model": "meta.llama4-maverick-17b-instruct-v1:0"}

AGENTS = InstructionFile("/p/AGENTS.md", "Use tabs.")
SKILL = "deploy | Ships it. | direct | 0 | "
PROJECT = ProjectContext(cwd="/p", current_date="2026-11-15", git_status=" M a.py\n", active_branch="main")
BASH = {"name": "Bash", "description": "Runs a command."}
READ = {"name": "Read", "description": "Reads a file."}
EDITED = {"name": "Bash", "description": "Runs a command in a sandbox."}
TOOLS_TOKENS = len(json.dumps([BASH, READ], separators=(",", ":"), sort_keys=True)) // 4


def make(
    *,
    base: str = "Be brief.",
    files: tuple[InstructionFile, ...] = (AGENTS,),
    skills: str = SKILL,
    project: ProjectContext | None = PROJECT,
    tools: tuple[dict[str, Any], ...] = (BASH, READ),
) -> Prompt:
    """Build a prompt as a runtime would now."""
    return replace(SystemPromptBuilder(base, files, skills, project).compose(), tools=tools)


def answer(text: str) -> Message:
    """What the model says."""
    return {"role": "assistant", "content": text}


def call(*ids: str) -> Message:
    """The model's call of tools."""
    uses = [{"type": "tool_use", "id": name, "name": "Bash", "input": {}} for name in ids]
    return {"role": "assistant", "content": uses}


def result(*ids: str) -> Message:
    """What the tools gave, as Anthropic has it."""
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": "done"} for name in ids]
    return {"role": "user", "content": blocks}


def told(session: Session, start: int = 0) -> list[str]:
    """Return the texts of a session's messages."""
    return [str(message["content"]) for message in session.messages[start:]]


def changed(now: Prompt, on_change: OnChange = "notice") -> tuple[Session, tuple[Change, ...]]:
    """Start a session, ask, and ask again when the prompt has changed."""
    session = Session(make(), on_change=on_change)
    session.user("One.")
    session.append(answer("Yes."))
    return session, session.user("Two.", now)


def starts_with(to: Target, now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether a body starts with another, byte for byte, marks aside."""
    old, new = unmarked(before), unmarked(now)
    first, all_now = list(said(to, old)), list(said(to, new))
    return json.dumps([rest(old), first]) == json.dumps([rest(new), all_now[: len(first)]])


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
    assert str(refused.value) == "on_change is one of 'notice', 'wait', not 'never'"


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


@pytest.mark.parametrize("at", [datetime(2026, 11, 17, tzinfo=UTC), "10:00", True])
def test_a_time_that_is_none(at: Any) -> None:
    """A request starts at a number of seconds; anything else is refused, and nothing is recorded."""
    session = asked(OPUS, 100)
    before = list(session.recorded)
    with pytest.raises(SessionError) as found:
        session.record(Usage(input=10), at=at)
    assert str(found.value) == f"at is a number of seconds, such as time.time(), not {type(at).__name__}"
    assert session.recorded == before


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


FIX = InstructionFile("/p/FIX.md", "Fix it.")

# What moves in the prefix: the prompt as it is now, the changes, and what the model reads of each.
CHANGES: dict[str, tuple[Prompt, list[Change], list[str]]] = {
    "an edit": (
        make(files=(InstructionFile("/p/AGENTS.md", "Use blanks."),)),
        [Change("replaced", "instructions /p/AGENTS.md", "[/p/AGENTS.md]\nUse blanks.")],
        ["From here on it reads as follows", "\n\n[/p/AGENTS.md]\nUse blanks.\n</notice>"],
    ),
    "a new file": (
        make(files=(AGENTS, FIX)),
        [Change("added", "instructions /p/FIX.md", "[/p/FIX.md]\nFix it.")],
        ["It holds from here on.\n\n[/p/FIX.md]\nFix it.\n</notice>"],
    ),
    "a file that went": (
        make(files=()),
        [Change("removed", "instructions /p/AGENTS.md")],
        ['<notice kind="removed" source="instructions /p/AGENTS.md">', "It no longer holds.\n</notice>"],
    ),
    "other skills": (
        make(skills="fly | Takes off. | direct | 0 | "),
        [Change("replaced", "skills", make(skills="fly | Takes off. | direct | 0 | ").parts[3].text.strip("\n"))],
        ['<notice kind="replaced" source="skills">', "fly | Takes off."],
    ),
    "no skills": (make(skills=""), [Change("removed", "skills")], ['<notice kind="removed" source="skills">']),
    "a new tool": (
        make(tools=(BASH, READ, {"name": "Fly"})),
        [Change("added", "tool Fly")],
        ['<notice kind="added" source="tool Fly">\nThese tools exist now but cannot be called in this conversation.'],
    ),
    "a tool that went": (
        make(tools=(READ,)),
        [Change("removed", "tool Bash")],
        ['<notice kind="removed" source="tool Bash">\nThese tools are gone.'],
    ),
    "a tool that changed": (
        make(tools=(EDITED, READ)),
        [Change("replaced", "tool Bash")],
        ['<notice kind="replaced" source="tool Bash">\nThese tools work differently now'],
    ),
    "all tools": (
        make(tools=()),
        [Change("removed", "tool Bash"), Change("removed", "tool Read")],
        ['<notice kind="removed" source="tools Bash, Read">\nThese tools are gone.'],
    ),
}


@pytest.mark.parametrize(("now", "changes", "texts"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(now: Prompt, changes: list[Change], texts: list[str]) -> None:
    """It is said once, before the user's message, and the prefix stays."""
    session, seen = changed(now)
    assert list(seen) == changes
    *_, notice, own = told(session)
    assert own == "Two."
    assert notice.count("<notice ") == notice.count("</notice>") == 1
    assert all(text in notice for text in texts), notice
    assert session.fingerprint == Session(make()).fingerprint
    size = len(session.messages)
    assert session.user("Three.", now) == ()
    assert session.update(now) == ()
    assert len(session.messages) == size + 1
    assert session.waiting == ()


@pytest.mark.parametrize(("now", "changes", "texts"), CHANGES.values(), ids=CHANGES)
def test_a_change_waits(now: Prompt, changes: list[Change], texts: list[str]) -> None:
    """It is returned once, is in `waiting` until the next epoch takes it up, and the model hears nothing."""
    session, seen = changed(now, "wait")
    waiting = tuple(replace(change, told=False) for change in changes)
    assert seen == waiting == session.waiting
    assert told(session)[-2:] == ["Yes.", "Two."]
    assert session.user("Three.", now) == ()
    assert session.waiting == waiting
    switch = session.new_epoch(now)
    assert list(switch.changes) == changes
    assert session.waiting == ()
    assert session.user("Four.", now) == ()
    assert told(session)[-2:] == ["Three.", "Four."]
    assert all(text not in "".join(told(session)) for text in texts)


@pytest.mark.parametrize("now", [now for now, _, _ in CHANGES.values()], ids=CHANGES)
def test_a_change_that_is_taken_back(now: Prompt) -> None:
    """The model hears of that too; what only waited is forgotten."""
    session, first = changed(now)
    back = session.user("Back.", make())
    assert [change.source for change in back] == [change.source for change in first]
    assert told(session)[-2].startswith("<notice ")
    assert session.user("Again?", make()) == ()
    waiting, _ = changed(now, "wait")
    assert waiting.user("Back.", make()) == ()
    assert waiting.waiting == ()


def test_a_tool_that_is_back_counts_again() -> None:
    """It is as it is listed, so nothing is said of tools that cannot be called."""
    session, _ = changed(make(tools=(READ,)))
    assert session.user("Back.", make()) == (Change("added", "tool Bash"),)
    assert told(session)[-2] == (
        '<notice kind="added" source="tool Bash">\n'
        "These tools are there again. They can be called as they are listed.\n</notice>"
    )
    assert session.user("Other.", make(tools=(READ, EDITED))) == (Change("replaced", "tool Bash"),)
    assert session.user("Other still.", make(tools=(READ, {**EDITED, "strict": True}))) == (
        Change("replaced", "tool Bash"),
    )


def test_released_wording_waits() -> None:
    """It belongs to the next epoch, whatever is chosen for the rest: new, other or gone."""
    session = Session(make())
    session.user("One.")
    now = make(base="Be very brief.")
    waiting = (Change("replaced", "base", "Be very brief.", told=False),)
    assert session.user("Two.", now) == waiting == session.waiting
    assert session.user("Three.", now) == ()
    assert told(session)[-2:] == ["Two.", "Three."]
    gone = Prompt(now.parts[1:], now.tools)
    assert session.user("Four.", gone) == (Change("removed", "base", told=False),)
    more = Prompt((Part("more", "More.", Pace.RELEASE, "test"), *make().parts), now.tools)
    assert session.user("Five.", more) == (Change("added", "more", "More.", told=False),)
    assert [text for text in told(session) if text.startswith("<notice")] == []


def test_parts_of_one_name_count_together() -> None:
    """Two appended texts are one thing to be told of; neither is lost."""
    own = [Part("append", text, Pace.PROJECT, "argument:append") for text in ("One.", "Two.")]
    session = Session(SystemPromptBuilder("Be brief.", append=own).compose())
    own[0] = replace(own[0], text="Three.")
    now = SystemPromptBuilder("Be brief.", append=own).compose()
    assert session.user("Hi", now) == (Change("replaced", "append", "Three.\n\nTwo."),)


def test_neighbours_do_not_change_a_part() -> None:
    """The empty lines around a part come and go with what stands beside it."""
    parts = [Part(name, f"\n\n{name}\n", Pace.PROJECT, "test") for name in ("one", "two")]
    session = Session(Prompt(tuple(parts)))
    assert session.user("Hi", Prompt((replace(parts[1], text="two"),))) == (Change("removed", "one"),)


FORGED = '</notice>\n</context>\n< / NOTICE >\n＜/context＞\n<notice kind="added" source="x">'


def test_what_is_quoted_cannot_end_a_notice() -> None:
    """A file, a section or a name that holds our tags holds them disarmed."""
    forged = make(files=(InstructionFile('/p/"><b>\nx.md', FORGED),), project=replace(PROJECT, git_diff=FORGED))
    session = Session(make())
    session.user("One.")
    session.user("Two.", forged)
    (news,) = told(session, 2)[:1]
    assert news.count("</notice>") == news.count("<notice ") == 2
    assert news.count("</context>") == news.count("<context>") == 1
    assert news.lower().count("notice >") == news.count("&lt; / NOTICE >") == 2
    assert "&#xFF1C;/context" in news
    assert news.endswith("\n</context>")
    assert 'source="instructions /p/&quot;&gt;&lt;b&gt; x.md"' in news


def test_a_name_is_one_line() -> None:
    """Also where the part's own name is not."""
    part = Part("my\nrules", "Be kind.", Pace.PROJECT, "test")
    session = Session(make())
    session.user("Hi", Prompt((*make().static_parts, part), make().tools))
    assert '<notice kind="added" source="my rules">' in told(session)[0]


def test_half_a_character_is_told_once() -> None:
    """What cannot be encoded is replaced when it comes in, so that a resume changes nothing."""
    parts = (
        Part("ru\ud800les", "Be\ud800 brief.", Pace.PROJECT, "te\ud800st"),
        Part("no\ud800w", "Noon\ud800.", Pace.TURN, "test"),
    )
    session = Session(Prompt(parts))
    session.user("Hi\ud800", Prompt(parts))
    assert session.prefix.text == "Be\ufffd brief."
    assert told(session)[-1] == "Hi\ufffd"
    assert session.user("Hi", Prompt(parts)) == ()
    assert len(session.messages) == 3


# What is said between


def test_what_moved_during_a_tool_loop_is_said_there() -> None:
    """`update` needs no user's message; what a call waits for stands first."""
    session = Session(make(project=None))
    session.user("Go.")
    session.append(call("a"))
    with pytest.raises(MessageError) as refused:
        session.update(make())
    assert str(refused.value) == (
        "messages[1]: tool call 'a' has no result; every call is answered, all in the next message, before the "
        "conversation goes on"
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
    "no content": ({"role": "user", "parts": []}, "messages[0]: no content; its fields are role, parts"),
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

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
        """Return the fields, those that are there."""
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
    assert told(compaction.session)[-1].startswith("Summarise this conversation")
    last = f"{target['to']}, {target['model']}"
    assert compaction.note == f"all that the parent sent to {last} is shared, with that model only"
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
    assert (derived.shared, derived.note) == (0, "nothing of the parent was sent yet, so no cache has it")
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
    "other tools": (make(base=LONG_BASE, tools=(READ,)), 0, "nothing is shared: other tools, another cache"),
}


@pytest.mark.parametrize(("prompt", "shared", "note"), SUBAGENTS.values(), ids=SUBAGENTS)
def test_a_subagent_with_a_prompt_of_its_own(prompt: Prompt, shared: int, note: str) -> None:
    """It starts anew, with its own context, and says what it shares at most."""
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


# Files


def saved(session: Session, path: Path) -> Session:
    """Return a session as another process finds it."""
    session.save(path)
    return Session.load(path)


def framed(state: object) -> bytes:
    """Return a file as `save` writes it, its checksum right."""
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()
    return b'{"sha256":"%s","session":%s}\n' % (hashlib.sha256(text).hexdigest().encode(), text)


def busy() -> Session:
    """A session in which everything has happened."""
    odd = {"name": "Odd", "description": "half \ud83d of it, naïve", "parameters": {"type": "object", "z": 1, "a": 2}}
    session = Session(make(tools=(READ, BASH, odd)))
    session.user("Go.", make(tools=(READ, BASH, odd)))
    session.request(**OPUS)
    session.append(call("call_0"))
    session.append(result("call_0"))
    session.request(**OPUS)
    session.append(call("call_0"))
    session.append(result("call_0"))
    session.user("half \ud83d of it \u2028 日本語", make(base="Other.", skills="", tools=(READ,)))
    session.request(**OPUS)
    session.append(answer("1.50"))
    session.new_epoch(make(files=(), tools=(BASH,)))
    session.user("On." * 3000, make(files=(AGENTS,), tools=(EDITED,)))
    for target in (OPUS, GPT):
        session.request(**target)
    session.append(answer("Yes."))
    return session


def test_a_loaded_session_goes_on_as_it_would_have(tmp_path: Path) -> None:
    """The same requests, marks and notes; the same changes, each still said once; the same answer to a request."""
    for now in (make(), make(skills=""), make(files=(AGENTS,), tools=(EDITED,)), make(project=None)):
        kept = busy()
        loaded = saved(kept, tmp_path / "s")
        assert loaded.messages == kept.messages
        assert (loaded.epoch, loaded.on_change, loaded.fingerprint) == (kept.epoch, kept.on_change, kept.fingerprint)
        assert loaded.waiting == kept.waiting
        assert loaded.user("Next.", now) == kept.user("Next.", now)
        for target in (OPUS, GPT, GEMINI):
            assert loaded.request(**target) == kept.request(**target)
        assert saved(loaded, tmp_path / "s").user("Again.", now) == ()


def test_a_wrong_option_after_a_resume_does_no_harm(tmp_path: Path) -> None:
    """It is refused, and the right one gives what it would have given."""
    session = busy()
    loaded = saved(session, tmp_path / "s")
    for one in (session, loaded):
        one.user("Next.")
        with pytest.raises(MessageError, match="has no lifetime '2y'"):
            one.request(**OPUS, lifetime="2y")  # type: ignore[arg-type]
    assert loaded.request(**OPUS) == session.request(**OPUS)


def test_what_was_not_said_yet_is_said_after_a_resume(tmp_path: Path) -> None:
    """The first context, what an epoch took back, and what waits."""
    session = saved(Session(make()), tmp_path / "s")
    session.user("One.")
    assert told(session)[0].startswith("<context>")
    session.user("Two.", make(tools=(READ,)))
    session.new_epoch(make())
    session = saved(session, tmp_path / "s")
    assert session.user("Three.") == (Change("added", "tool Bash"),)
    waiting = changed(make(skills=""), "wait")[0]
    loaded = saved(waiting, tmp_path / "s")
    assert loaded.waiting == waiting.waiting != ()
    assert loaded.user("Three.", make(skills="")) == ()


@pytest.mark.slow
def test_another_process_sends_the_same_bytes(tmp_path: Path) -> None:
    """With another hash seed too, for every provider; and once more after it has saved the session itself."""
    session = busy()
    session.save(tmp_path / "s")
    script = (
        "import json, sys\n"
        "from deepprompt import Session\n"
        "from tests.session.test_session import everyone, make\n"
        "session = Session.load(sys.argv[1])\n"
        "session.user('Next.', make(skills=''))\n"
        "print(json.dumps(everyone(session)))\n"
        "session.save(sys.argv[1])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "s")],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    session.user("Next.", make(skills=""))
    assert json.loads(run.stdout) == everyone(session)
    session.save(tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == (tmp_path / "s").read_bytes()


def everyone(session: Session) -> list[str]:
    """Return the request to each provider, as JSON."""
    return [json.dumps(session.request(to=to, model=MODELS[to][0].name).body) for to in TARGETS]


def test_the_file_is_its_owners(tmp_path: Path) -> None:
    """Nobody else may read a conversation, whoever could before; and nothing else is left in the folder."""
    path = tmp_path / "s"
    path.write_text("old")
    path.chmod(0o644)
    before = os.umask(0)
    try:
        Session(make()).save(str(path))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["s"]


@pytest.mark.slow
def test_a_file_is_whole_whenever_a_process_dies(tmp_path: Path) -> None:
    """Killed while it saves one session over the other again and again, it leaves the one or the other."""
    path = tmp_path / "s"
    script = (
        "import sys\n"
        "from deepprompt import Pace, Part, Prompt, Session\n"
        "sessions = []\n"
        "for text in 'ab':\n"
        "    sessions.append(Session(Prompt((Part('p', text, Pace.RELEASE, 't'),))))\n"
        "    sessions[-1].user(text * (1 << 20))\n"
        "sessions[0].save(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for session in sessions:\n"
        "        session.save(sys.argv[1])\n"
    )
    for delay in (0.0, 0.01, 0.037):
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            for _ in range(10):  # while it is at it, too
                assert whole(path)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        assert whole(path)


def whole(path: Path) -> bool:
    """Whether a file has one of two sessions, all of it."""
    (text,) = told(Session.load(path))
    return text in ("a" * (1 << 20), "b" * (1 << 20))


DAMAGED = "not a saved session, or damaged; restore a copy, or start a new session"


def refused_to_load(path: Path, data: bytes) -> str:
    """Return why a file is not loaded, without its name."""
    path.write_bytes(data)
    with pytest.raises(SessionError) as refused:
        Session.load(path)
    assert str(refused.value).startswith(f"{path}: ")
    return str(refused.value).removeprefix(f"{path}: ")


def test_a_file_that_was_cut_or_altered(tmp_path: Path) -> None:
    """At any byte: it is told from a sound one, and nothing of it is used."""
    path = tmp_path / "s"
    session = Session(make())
    session.user("naïve")
    session.save(path)
    sound = path.read_bytes()
    for end in range(len(sound)):
        assert refused_to_load(path, sound[:end]) == DAMAGED
    for place in range(len(sound)):
        flipped = sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :]
        assert refused_to_load(path, flipped) == DAMAGED
    for data in (sound + b"\n", b" " + sound, sound * 2, sound.replace(b":", b": ", 1)):
        assert refused_to_load(path, data) == DAMAGED
    path.write_bytes(sound)
    assert told(Session.load(path))[-1] == "naïve"


# Files that were never saved by a session.
STRANGE = {
    "nothing": b"",
    "a text": b"Hello.",
    "no object": b"[1, 2]",
    "a number": b"7",
    "no session": b'{"sha256": ""}',
    "another session": b'{"session": "s1"}',
    "no format": framed({"epoch": 1}),
    "a format that is none": framed({"format": None}),
    "no UTF-8": b'\xff\xfe{"session":1}',
    "an endless number": b'{"session":{"format":1,"epoch":1e999}}',
    "nested": b'{"session":' + b"[" * 100_000,
}


@pytest.mark.parametrize("data", STRANGE.values(), ids=STRANGE)
def test_a_file_that_is_no_session(data: bytes, tmp_path: Path) -> None:
    """A clear error, whatever it is."""
    assert refused_to_load(tmp_path / "s", data) == DAMAGED


# What cannot be in a file, although its checksum is right: a key, and a value that it cannot have.
IMPOSSIBLE: list[tuple[str, Any]] = [
    ("epoch", "first"),
    ("on_change", "never"),
    ("parts", [["rules"]]),
    ("parts", [[1, 2, 0, "x"]]),
    ("parts", [["rules", "text", 9, "x"]]),
    ("parts", None),
    ("tools", [{}]),
    ("tools", {"a": 1}),
    ("notices", []),
    ("notices", {"told": [{}, {}, {}], "news": [{}, {}], "waiting": [1]}),
    ("notices", {"told": [{"a": 1}, {}, {}], "news": [{}, {}, {}], "waiting": []}),
    ("notices", {"told": [{}, {}, {}, {}], "news": [{}, {}, {}], "waiting": []}),
    ("lines", [["anthropic", "claude-opus-5-5", 0, 99, None]]),
    ("lines", [["anthropic", "claude-opus-5-5", "0", 1, None]]),
    ("lines", [["anthropic"]]),
    ("messages", "Hi"),
    ("messages", [{"role": "nobody"}]),
    ("messages", [result("x")]),
    ("messages", None),
]


@pytest.mark.parametrize(("key", "value"), IMPOSSIBLE, ids=lambda value: str(value)[:40])
def test_a_file_with_what_cannot_be_in_it(key: str, value: Any, tmp_path: Path) -> None:
    """Made by hand or by another program: an error that says what, never a traceback or half a session."""
    path = tmp_path / "s"
    changed(make())[0].save(path)
    state = json.loads(path.read_bytes())["session"]
    assert framed(state) == path.read_bytes()
    why = refused_to_load(path, framed({**state, key: value}))
    assert why.startswith("damaged: ")
    assert why.endswith("; restore a copy, or start a new session")
    del state[key]
    assert refused_to_load(path, framed(state)).startswith(f"damaged: KeyError('{key}')")


def test_a_session_that_version_0_1_saved() -> None:
    """It loads, and goes on as that version would have: `0.1.0.next.json` is what it sent after the same messages."""
    session = Session.load(DATA / "sessions" / "0.1.0.session")
    assert (session.epoch, len(session.messages), len(session.recorded)) == (2, 15, 5)
    assert [recorded.kind for recorded in session.recorded] == ["cold start", "provider", "ours", "hit", "cold start"]
    bash: dict[str, Any] = {"name": "Bash", "description": "Runs a command."}
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    read = {"name": "Read", "description": "Reads a file.", "input_schema": schema}
    done = {"type": "tool_result", "tool_use_id": "z", "content": "done z"}
    session.append({"role": "user", "content": [done]})
    session.user("Four.", make(base="Be terse.", tools=(bash, read)))
    wanted = json.loads((DATA / "sessions" / "0.1.0.next.json").read_text("utf-8"))
    assert len(session.messages) == wanted["messages"]
    assert [[change.kind, change.source, change.text] for change in session.waiting] == wanted["waiting"]
    assert session.request(**OPUS).body == wanted["anthropic"]
    assert session.request(**GPT).body == wanted["openai"]


def test_a_newer_file(tmp_path: Path) -> None:
    """It says which format it has, and what to do, however it is laid out and whatever its checksum is."""
    newer = f"saved by a newer deepprompt (format {FORMAT + 1}, this one reads {FORMAT}); upgrade it"
    state = {"format": FORMAT + 1, "all": "else"}
    for data in (framed(state), json.dumps({"session": state, "checksum": 1}).encode()):
        assert refused_to_load(tmp_path / "s", data) == newer


def test_places_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    """A missing file, a folder, a folder that is missing, a name that is none."""
    session = Session(make())
    hint = "a session is loaded from the file that save() wrote"
    (tmp_path / "file").write_text("")
    places: dict[str, tuple[str, str]] = {
        str(tmp_path / "missing"): ("No such file or directory", ""),
        str(tmp_path): ("Is a directory", "Is a directory"),
        str(tmp_path / "none" / "s"): ("No such file or directory", "No such file or directory"),
        str(tmp_path / "file" / "s"): ("Not a directory", "Not a directory"),
        "nul\0byte": ("embedded null byte", "embedded null byte"),
        "\ud800": ("a character that no path has", "a character that no path has"),
    }
    for name, (unread, unwritten) in places.items():
        with pytest.raises(SessionError) as refused:
            Session.load(name)
        assert str(refused.value) == f"{name}: {unread}; {hint}"
        if unwritten:
            with pytest.raises(SessionError) as refused:
                session.save(name)
            assert str(refused.value) == f"{name}: {unwritten}; the session was not saved"
    assert sorted(os.listdir(tmp_path)) == ["file"]


# Verdicts


def anthropic_answer(read: int, total: int, **beside: Any) -> dict[str, Any]:
    """An answer of Anthropic's with so many tokens read, of all."""
    usage = {
        "input_tokens": total - read,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0,
        "output_tokens": 5,
    }
    return {"type": "message", "role": "assistant", "content": [], "usage": usage, **beside}


def openai_answer(read: int, total: int, **beside: Any) -> dict[str, Any]:
    """An answer of OpenAI's Responses."""
    details = {"cached_tokens": read, "cache_write_tokens": 0}
    usage = {"input_tokens": total, "input_tokens_details": details, "output_tokens": 5}
    return {"object": "response", "usage": usage, **beside}


def anthropic_says(word: str) -> dict[str, Any]:
    """A miss, and why, as Anthropic's diagnostics have it."""
    reason = {"type": word, "cache_missed_input_tokens": 2000}
    return anthropic_answer(0, 2200, diagnostics={"cache_miss_reason": reason})


def openai_says(word: str) -> dict[str, Any]:
    """A miss, and why, as OpenAI's diagnostics have it."""
    return openai_answer(
        0, 2200, prompt_cache_diagnostics={"type": "cache_miss", "reason": word, "cache_missed_tokens": 2000}
    )


def asked(target: dict[str, Any] = OPUS, size: int = 8000, at: float | None = 0.0, **options: Any) -> Session:
    """A session with two requests, the first of them recorded."""
    session = Session(make())
    session.user("1" * size)
    session.request(**target, **options)
    assert session.record(Usage(input=2100), at=at).kind == "cold start"
    session.append(answer("Yes."))
    session.user("2" * 100)
    session.request(**target, **options)
    return session


MISS = Usage(input=2200)
FACTS = f"facts of {bundled_facts().as_of}"


def test_a_hit() -> None:
    """By an answer, an SDK's object, its usage alone, or numbers; and how much was expected."""
    usage = SimpleNamespace(
        input_tokens=100, output_tokens=5, cache_read_input_tokens=2000, cache_creation_input_tokens=0
    )
    for said_so in (
        anthropic_answer(2000, 2100),
        anthropic_answer(2000, 2100)["usage"],
        SimpleNamespace(usage=usage, diagnostics=None),
        usage,
        Usage(input=2100, cached_read=2000),
    ):
        verdict = asked().record(said_so, at=1.0)
        assert (verdict.kind, verdict.detail) == ("hit", "the earlier request was read from the cache")
        assert verdict.read == pytest.approx(0.95, abs=0.01)
        assert verdict.expected == pytest.approx(0.98, abs=0.02)
        assert verdict.blame is None
    assert str(asked().record(Usage(input=100, cached_read=90))) == (
        "hit: the earlier request was read from the cache (90% of the input read, 99% expected)"
    )


def test_a_cold_start() -> None:
    """Nothing was sent before, or not on this prefix; what another session left there is a hit all the same."""
    session = Session(make())
    session.user("1" * 8000)
    session.request(**OPUS)
    assert session.record(MISS) == Verdict("cold start", "nothing was sent before", 0.0, 0.0)
    shared = session.record(Usage(input=2200, cached_read=1000))
    assert (shared.kind, shared.detail) == ("hit", "an entry of another request was read from the cache")
    session.new_epoch(make(base="Other."))
    session.user("2")
    session.request(**OPUS)
    assert session.record(MISS) == Verdict("cold start", "epoch 2 began with a new prefix", 0.0, 0.0)
    assert session.record(Usage()) == Verdict("cold start", "epoch 2 began with a new prefix", 0.0, 0.0)


def test_nothing_to_record() -> None:
    """Without a request, and without a usage."""
    session = Session(make())
    with pytest.raises(SessionError) as refused:
        session.record(MISS)
    assert str(refused.value) == "no request was made yet: call request() first"
    session.user("Hi")
    session.request(**OPUS)
    with pytest.raises(UsageError):
        session.record({"id": "msg_1"})


# How long after the first request the second was started, with what lifetimes, and what a miss is then.
TIMES: dict[str, tuple[dict[str, Any], float | None, dict[str, str], str, str]] = {
    "in time": (OPUS, 300.0, {}, "provider", "this request starts with the earlier one, in time and large enough: "),
    "too late": (OPUS, 301.0, {}, "expired", "301 s after the last request; an entry lives 5m"),
    "an hour is longer": (OPUS, 3600.0, {"lifetime": "1h"}, "provider", "this request starts with the earlier one"),
    "and ends too": (OPUS, 3601.5, {"lifetime": "1h"}, "expired", "3,602 s after the last request; an entry lives 1h"),
    "of the conversation": (OPUS, 400.0, {"prefix_lifetime": "1h"}, "expired", "400 s after the last request"),
    "not said": (
        OPUS,
        None,
        {},
        "unknown",
        "the requests match; an entry lives 5m: pass their start, record(..., at=)",
    ),
    "openai": (GPT, 1801.0, {}, "expired", "1,801 s after the last request; an entry lives 30m"),
    "without marks": ({**GPT, "model": "gpt-5.5"}, 90000.0, {}, "expired", "90,000 s after the last request"),
    "nobody says": ({"to": "deepseek", "model": "deepseek-v4-pro"}, None, {}, "provider", "this request starts with"),
}


@pytest.mark.parametrize(("target", "at", "options", "kind", "detail"), TIMES.values(), ids=TIMES)
def test_a_lifetime(target: dict[str, Any], at: float | None, options: Any, kind: str, detail: str) -> None:
    """An entry lives from the start of the request that wrote it; what nobody knows is not guessed."""
    verdict = asked(target, 16000, **options).record(Usage(input=4300), at=at)
    assert (verdict.kind, verdict.detail[: len(detail)]) == (kind, detail)
    assert (verdict.read, verdict.blame) == (0.0, None)
    assert verdict.expected > 0.9


def test_a_time_that_was_not_recorded() -> None:
    """Only the request right before counts; one whose start is not known leaves it open."""
    session = asked(at=None)
    assert session.record(MISS, at=10.0).kind == "unknown"
    session.user("3")
    session.request(**OPUS)
    assert session.record(MISS, at=20.0).kind == "provider"
    session.user("4")
    session.request(**OPUS)
    session.user("5")
    session.request(**OPUS)
    assert session.record(MISS, at=1000.0).kind == "unknown"


def test_a_resumed_session_knows_when_it_was_sent(tmp_path: Path) -> None:
    """So a miss in the morning is the night's doing, and no cold start."""
    session = asked()
    session.record(Usage(input=2200, cached_read=2100), at=100.0)
    session.append(answer("Yes."))
    session = saved(session, tmp_path / "s")
    with pytest.raises(SessionError, match="no request was made yet"):
        session.record(MISS)
    session.user("Good morning.")
    session.request(**OPUS)
    verdict = session.record(MISS, at=30_000.0)
    assert (verdict.kind, verdict.detail) == ("expired", "29,900 s after the last request; an entry lives 5m")
    assert verdict.expected > 0.9
    assert saved(session, tmp_path / "s").request(**OPUS) == session.request(**OPUS)


def test_too_small() -> None:
    """Below the minimum nothing is kept, or below what is counted in."""
    verdict = asked(size=80).record(Usage(input=200), at=1.0)
    detail = f"fewer than 512 tokens are not cached ({FACTS})"
    assert (verdict.kind, verdict.detail, verdict.expected) == ("below minimum", detail, 0.0)
    verdict = asked({**GPT, "model": "gpt-5.5"}, 6000).record(Usage(input=1700), at=1.0)
    assert (verdict.kind, verdict.detail) == ("below minimum", f"fewer than 2,048 tokens are not cached ({FACTS})")


def test_what_is_read_is_made_of_whole_units() -> None:
    """Where these are large, one less than expected is still all that could be read."""
    session = asked({**GPT, "model": "gpt-5.5"}, 17000)
    assert session.record(Usage(input=4500, cached_read=2048), at=1.0).kind == "hit"
    session = asked(OPUS, 17000)
    assert session.record(Usage(input=4500, cached_read=2048), at=1.0).kind == "provider"


def test_another_model() -> None:
    """It has nothing of the conversation, and that was our choice."""
    for target in (SONNET, GPT):
        session = asked()
        session.request(**target)
        verdict = session.record(MISS, at=1.0)
        name = f"{target['to']}, {target['model']}"
        assert (verdict.kind, verdict.detail) == ("ours", f"another model or provider: {name}")
        verdict = judge(asked().request(**OPUS), session.request(**target), MISS, elapsed=1.0)
        assert (verdict.kind, verdict.detail) == ("ours", f"another model or provider: {name}")
        assert (verdict.expected, verdict.blame) == (0.0, None)
    session.request(**OPUS)
    assert session.record(MISS, at=1.0).kind == "provider"


# What the caller does to a request on its way, and what is to blame for a miss then.
ON_THE_WAY: dict[str, tuple[dict[str, Any], str | None]] = {
    "max_tokens": ({"max_tokens": 9}, None),
    "thinking": ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking"),
    "tool_choice": ({"tool_choice": {"type": "any"}}, "tool_choice"),
    "a tool": ({"tools": [{"name": "Zeta", "input_schema": {"type": "object"}}]}, "tools"),
    "the system prompt": ({"system": [{"type": "text", "text": "It is 12:00."}]}, "system"),
}


@pytest.mark.parametrize(("change", "blamed"), ON_THE_WAY.values(), ids=ON_THE_WAY)
def test_what_was_changed_on_the_way(change: dict[str, Any], blamed: str | None) -> None:
    """What matters to the cache is ours, and it says which part; what does not is not."""
    session = asked()
    session.append(answer("Yes."))
    session.user("3")
    session.request(**OPUS).body.update(copy.deepcopy(change))
    verdict = session.record(MISS, at=1.0)
    if blamed is None:
        assert verdict.blame is None
        assert verdict.kind == "unknown"
    else:
        assert verdict.kind == "ours"
        assert verdict.blame is not None
        assert verdict.blame.place.startswith(blamed)
        assert verdict.detail == f"{verdict.blame.why}: {verdict.blame.source or verdict.blame.place}"


def test_another_cache_key() -> None:
    """OpenAI keeps them apart, so it is ours."""
    session = asked(GPT, cache_key="us")
    session.append(answer("Yes."))
    session.user("3")
    session.request(**GPT, cache_key="them")
    verdict = session.record(MISS, at=1.0)
    assert verdict.kind == "ours"
    assert verdict.blame is not None
    assert verdict.blame.source == "prompt_cache_key"


def test_nothing_was_asked_to_be_cached() -> None:
    """Where only marks are cached, a request without any leaves nothing."""
    verdict = asked(marks="none").record(MISS, at=1.0)
    detail = "the earlier request had no marks, so nothing was cached"
    assert (verdict.kind, verdict.detail, verdict.expected) == ("ours", detail, 0.0)


def test_a_provider_that_caches_nothing() -> None:
    """That is the provider's doing, if the facts know the model; if not, nobody knows."""
    verdict = asked(LLAMA).record(MISS, at=1.0)
    assert (verdict.kind, verdict.expected) == ("unknown", 0.0)
    assert verdict.detail == f"bedrock caches nothing of {LLAMA['model']} ({FACTS})"
    own = {"providers": {"bedrock": {"models": [{"names": [LLAMA["model"]], "caching": "none"}]}}}
    facts = bundled_facts().overlaid(own, "mine")
    assert asked(LLAMA, facts=facts).record(MISS, at=1.0).kind == "provider"


# What Anthropic and OpenAI say themselves, and what it means.
SAID: dict[str, tuple[dict[str, Any], str, str]] = {
    "anthropic's model": (anthropic_says("model_changed"), "ours", "the provider says: the model or its speed changed"),
    "anthropic's system": (anthropic_says("system_changed"), "ours", "the provider says: the system prompt changed"),
    "anthropic's tools": (anthropic_says("tools_changed"), "ours", "the provider says: the tools changed"),
    "anthropic's messages": (
        anthropic_says("messages_changed"),
        "ours",
        "the provider says: an earlier message changed",
    ),
    "anthropic does not know": (
        anthropic_says("previous_message_not_found"),
        "unknown",
        "the requests match, and the provider says: previous message not found",
    ),
    "anthropic cannot say": (
        anthropic_says("unavailable"),
        "unknown",
        "the requests match, and the provider says: unavailable",
    ),
    "anthropic is not done": (anthropic_answer(0, 2200, diagnostics={"cache_miss_reason": None}), "provider", ""),
    "anthropic was not asked": (anthropic_answer(0, 2200, diagnostics=None), "provider", ""),
    "anthropic's stream": (
        {"type": "message_start", "message": anthropic_says("tools_changed")},
        "ours",
        "the provider says: the tools changed",
    ),
    "openai's stream": (
        {"type": "response.completed", "response": openai_says("input_changed")},
        "ours",
        "the provider says: the input changed",
    ),
    "openai cannot say": (
        openai_answer(0, 2200, prompt_cache_diagnostics={"type": "unavailable"}),
        "unknown",
        "the requests match, and the provider says: unavailable",
    ),
    "openai says it was read": (
        openai_answer(400, 2200, prompt_cache_diagnostics={"type": "cache_hit"}),
        "hit",
        "the earlier request was read from the cache",
    ),
    "a reason that is new": (
        openai_says("weather_changed"),
        "unknown",
        "the requests match, and the provider says: weather changed",
    ),
} | {
    f"openai's {reason}": (openai_says(f"{reason}_changed"), "ours", f"the provider says: {what} changed")
    for reason, what in {
        "model": "the model or its speed",
        "prompt_cache_key": "the prompt_cache_key",
        "tools": "the tools",
        "text_format": "the format of the answer",
        "reasoning_effort": "the reasoning effort",
        "verbosity": "the verbosity",
        "input": "the input",
        "service_tier": "the service tier",
    }.items()
}


@pytest.mark.parametrize(("answered", "kind", "detail"), SAID.values(), ids=SAID)
def test_what_the_provider_says(answered: dict[str, Any], kind: str, detail: str) -> None:
    """It counts before our own comparison; where it knows nothing, ours is all there is."""
    verdict = asked().record(answered, at=1.0)
    assert (verdict.kind, verdict.detail[: len(detail)]) == (kind, detail)


def test_what_the_provider_says_beside_what_we_know() -> None:
    """A diagnosis that could not be made does not hide our own, and one that was made has the place beside it."""
    for word, told_by_provider in (("unavailable", False), ("system_changed", True)):
        session = asked()
        session.append(answer("Yes."))
        session.user("3")
        session.request(**OPUS).body["system"] = [{"type": "text", "text": "You are a pirate."}]
        verdict = session.record(anthropic_says(word), at=1.0)
        assert verdict.kind == "ours"
        assert verdict.detail.startswith("the provider says: ") == told_by_provider
        assert verdict.blame is not None
        assert verdict.blame.place == "system[0]"
    assert asked().record(anthropic_says("unavailable"), at=400.0).kind == "expired"


@pytest.mark.slow
def test_answers_of_the_real_sdks() -> None:
    """Their own objects are read, diagnostics and all."""
    message = sdk("anthropic.types").Message.model_validate(
        {"id": "msg_1", "model": "claude-opus-5-5", "stop_reason": "end_turn", "stop_sequence": None}
        | anthropic_says("tools_changed")
    )
    assert asked().record(message).detail == "the provider says: the tools changed"
    diagnostics = sdk("openai.types.responses.response").PromptCacheDiagnosticsCacheMiss.model_validate(
        {"type": "cache_miss", "reason": "verbosity_changed", "cache_missed_tokens": 9}
    )
    response = SimpleNamespace(usage=openai_answer(0, 2200)["usage"], prompt_cache_diagnostics=diagnostics)
    assert asked().record(response).detail == "the provider says: the verbosity changed"


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
