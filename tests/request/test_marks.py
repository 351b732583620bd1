"""Where marks go and why: laws for any conversation and every provider, then the planner's choices by example."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import Note, Pace, Part, ProjectContext, Prompt, Request, SystemPromptBuilder, build_request
from deepprompt.errors import MessageError
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from deepprompt.request.marks import CHOICES, Mark
from deepprompt.words import Target
from tests.support.conversations import Message, Scene, long_scenes, scenes
from tests.support.examples import examples
from tests.support.models import DATA, MODELS, rest, said
from tests.support.paths import ROOT
from tests.support.wire_rules import check, marks, unmarked

MANY = examples(14)


# Whose entries are found by looking back from a mark: the positions, and whether a run of tool blocks is one.
LOOKBACKS: dict[str, tuple[Target, str, int, bool]] = {
    "claude": ("anthropic", "claude-opus-5-5", 20, True),
    "claude on bedrock": ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 20, False),
    "nova": ("bedrock", "amazon.nova-pro-v1:0", 1, False),
}


@dataclass(frozen=True)
class Case:
    """A scene, and how its requests are built."""

    to: Target
    model: str
    scene: Scene
    options: dict[str, Any]

    def request(self, turns: int | None = None, **options: Any) -> Request:
        """Build the request of the first turns, or of all."""
        scene = self.scene
        return build_request(
            scene.prompt, scene.messages(turns), to=self.to, model=self.model, tools=scene.tools,
            **self.options, **options,
        )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, to: Target) -> Case:
    """Anything that a target may be asked for."""
    model = draw(st.sampled_from(MODELS[to]))
    options = {
        "marks": draw(st.sampled_from(CHOICES)),
        "prefix_lifetime": draw(st.sampled_from(model.lifetimes)),
        "lifetime": draw(st.sampled_from(model.lifetimes)),
    }
    return Case(to, model.name, draw(scenes(model.kinds)), options)


def test_every_target_is_here() -> None:
    """The laws below are for all that a request can be written for."""
    assert sorted(MODELS) == sorted(TARGETS)


@pytest.mark.parametrize("to", TARGETS)
@MANY
@given(data=st.data())
def test_no_rule_of_a_provider_is_broken(to: Target, data: st.DataObject) -> None:
    """Whatever is said, and whatever is asked for, the provider takes the request; after each turn."""
    case = data.draw(cases(to))
    for turns in range(1, len(case.scene.turns) + 1):
        check(to, case.model, case.request(turns).body)


@pytest.mark.parametrize("to", TARGETS)
@MANY
@given(data=st.data())
def test_a_turn_more_changes_nothing_that_was_sent(to: Target, data: st.DataObject) -> None:
    """All that was sent before stands first, byte for byte, but for the marks."""
    case = data.draw(cases(to))
    bodies = [unmarked(case.request(turns).body) for turns in range(1, len(case.scene.turns) + 1)]
    for before, after in pairwise(bodies):
        sent, now = list(said(to, before)), list(said(to, after))
        assert json.dumps(now[: len(sent)]) == json.dumps(sent)
        assert json.dumps(rest(before)) == json.dumps(rest(after))


@MANY
@given(case=cases("gemini"))
def test_no_rule_is_broken_beside_cached_content(case: Case) -> None:
    """What follows Gemini's cached content has neither system instruction nor tools, and starts where that ends."""
    more: list[Message] = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}]
    longer = Scene(case.scene.prompt, case.scene.tools, [*case.scene.turns, more])
    request = Case(case.to, case.model, longer, case.options).request(cached_content="cachedContents/abc")
    check(case.to, case.model, request.body)
    assert request.body["cachedContent"] == "cachedContents/abc"


@pytest.mark.parametrize("to", TARGETS)
@MANY
@given(data=st.data())
def test_marks_stand_where_they_are_said_to(to: Target, data: st.DataObject) -> None:
    """Every mark of the body is in the plan, with its place, its lifetime and a reason, and no other is."""
    request = data.draw(cases(to)).request()
    default = next(iter(request.rules.lifetimes), "")
    assert [(mark.place, mark.lifetime) for mark in request.marks] == [
        (place, lifetime or default) for place, lifetime in marks(request.body)
    ]
    assert all(mark.why for mark in request.marks)
    assert [mark.tokens for mark in request.marks] == sorted(mark.tokens for mark in request.marks)
    assert all(mark.tokens <= request.tokens for mark in request.marks)


@pytest.mark.parametrize("to", TARGETS)
@examples(8)
@given(data=st.data())
def test_what_is_given_stays_as_it_was(to: Target, data: st.DataObject) -> None:
    """The caller's messages and tools are only read, and nothing in the body is theirs."""
    case = data.draw(cases(to))
    given_before = copy.deepcopy(case.scene)
    body = case.request().body
    assert case.scene == given_before
    ruin(body)
    assert case.scene == given_before


def ruin(value: Any) -> None:
    """Empty all that can be emptied."""
    if isinstance(value, dict | list):
        for item in list(value.values() if isinstance(value, dict) else value):
            ruin(item)
        value.clear()


@pytest.mark.parametrize("to", TARGETS)
@examples(8)
@given(data=st.data())
def test_the_order_of_tools_does_not_matter(to: Target, data: st.DataObject) -> None:
    """Tools stand in one order, however they were given."""
    case = data.draw(cases(to))
    defined = case.scene.tools or []
    shuffled = data.draw(st.permutations(defined))
    other = Case(to, case.model, Scene(case.scene.prompt, shuffled, case.scene.turns), case.options)
    assert json.dumps(other.request().body) == json.dumps(case.request().body)


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    """Neither a second time nor another hash seed changes a byte of a body, a mark or a note."""
    collected: list[Case] = []

    @examples(25)
    @given(case=st.sampled_from(TARGETS).flatmap(cases))
    def collect(case: Case) -> None:
        collected.append(case)

    collect()
    file = tmp_path / "cases"
    file.write_bytes(pickle.dumps(collected))
    here = [fingerprint(case) for case in collected]
    assert here == [fingerprint(case) for case in collected]
    script = (
        "import pickle, sys; from tests.request.test_marks import fingerprint\n"
        "print(*map(fingerprint, pickle.loads(open(sys.argv[1], 'rb').read())), sep='\\n')"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(file)],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.split() == here


def fingerprint(case: Case) -> str:
    """Return a digest of all that a request is."""
    request = case.request()
    text = json.dumps(request.body) + repr((request.marks, request.notes, request.tokens))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@pytest.mark.parametrize("whose", LOOKBACKS)
@examples(14)
@given(data=st.data())
def test_the_previous_request_is_found_however_long_the_turn(whose: str, data: st.DataObject) -> None:
    """Looking back from some mark finds the newest entry that the previous request wrote, after any turn."""
    to, model, lookback, runs = LOOKBACKS[whose]
    scene = data.draw(long_scenes(DATA))
    said_so = data.draw(st.booleans())  # unless it is, the last answer says where the previous request ended
    case = Case(to, model, scene, {"marks": "auto"})
    before: Cache | None = None
    for turns in range(1, len(scene.turns) + 1):
        sent = scene.sent(turns - 1) if said_so or answers(scene.turns[turns - 1]) != 1 else None
        body = case.request(turns, sent=sent).body
        now = Cache(body, runs)
        assert now.marked[-1] >= now.prefix, "no mark in the conversation"
        if before is not None:
            assert now.found(before, lookback) == before.marked[-1], "the previous request's newest entry"
        before = now


def answers(turn: list[Message]) -> int:
    """Return how many times the model is asked in a turn: each run of the assistant's messages is one answer."""
    roles = ["", *(message["role"] for message in turn)]
    return sum(role == "assistant" != before for before, role in pairwise(roles))


class Cache:
    """What a provider keeps of a request: an entry for all up to each mark, and only there."""

    def __init__(self, body: dict[str, Any], runs: bool) -> None:
        self.runs = runs
        self.kinds: list[str] = []
        self.keys: list[str] = []
        self.marked: list[int] = []
        self._key = hashlib.sha256()
        for block in body.get("toolConfig", body).get("tools", []):
            self._add(block, "tools")
        for block in body.get("system", []):
            self._add(block, "system")
        self.prefix = len(self.keys)
        for message in body["messages"]:
            for block in message["content"]:
                self._add(block, message["role"])

    def _add(self, block: dict[str, Any], role: str) -> None:
        if "cachePoint" not in block:
            self._key.update(f"{role} {json.dumps(unmarked(block))}".encode())
            self.kinds.append(block.get("type", "") if self.runs else "")
            self.keys.append(self._key.hexdigest())
        if "cachePoint" in block or "cache_control" in block:
            self.marked.append(len(self.keys) - 1)

    def found(self, before: Cache, lookback: int) -> int:
        """Return the last block that an entry of an earlier request is read up to, -1 without any."""
        entries = {before.keys[index] for index in before.marked}
        return max((self._look_back(mark, entries, lookback) for mark in self.marked), default=-1)

    def _look_back(self, mark: int, entries: set[str], lookback: int) -> int:
        for _ in range(lookback):
            if mark < 0:
                break
            if self.keys[mark] in entries:
                return mark
            kind = self.kinds[mark]
            mark -= 1
            while kind in ("tool_use", "tool_result") and mark >= 0 and self.kinds[mark] == kind:
                mark -= 1
        return -1


FACTS = f"facts of {bundled_facts().as_of}"
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TOOLS = [{"name": "Write", "description": "Writes a file."}, {"name": "Bash", "description": "Runs a command."}]
PNG = "data:image/png;base64,AAAA"
RULES = "Be brief. " * 2000
"""More than any provider's minimum."""

OPUS: dict[str, Any] = {"to": "anthropic", "model": "claude-opus-5-5"}
CLAUDE_ON_BEDROCK: dict[str, Any] = {"to": "bedrock", "model": "us.anthropic.claude-opus-5-5-v1:0"}
NOVA: dict[str, Any] = {"to": "bedrock", "model": "amazon.nova-pro-v1:0"}
GPT: dict[str, Any] = {"to": "openai", "model": "gpt-5.6-sol"}
GPT_RESPONSES: dict[str, Any] = {"to": "openai-responses", "model": "gpt-5.6-sol"}

NEWEST = "the newest message: the next request reads up to here"
PREVIOUS = "the previous request ended here: its entry is found however much is new"
RELEASED = "the released wording ends here: other projects share it"
STATIC = "the static prefix ends here"
TOOLS_END = "the tools end here: they stay when the system prompt changes"
ONLY_TOOLS = "the tools end here, and no static text follows them"
OWN = "your own mark"


def user(text: str, **beside: Any) -> Message:
    """Return a user's message."""
    return {"role": "user", "content": text, **beside}


def assistant(text: str, **beside: Any) -> Message:
    """Return an assistant's message."""
    return {"role": "assistant", "content": text, **beside}


def calls(*ids: str) -> Message:
    """Return an assistant's message that calls tools."""
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in ids],
    }


def results(*ids: str) -> Message:
    """Return what the tools gave."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "ok"} for call in ids]}


def lines(count: int) -> Message:
    """Return a user's message of so many texts."""
    return {"role": "user", "content": [{"type": "text", "text": f"line {number}"} for number in range(count)]}


def plan(request: Request) -> list[tuple[str, str]]:
    """Return where the marks of a request stand, and why."""
    check(request.to, request.model, request.body)
    return [(mark.place, mark.why) for mark in request.marks]


def notes(request: Request, kind: str = "cache") -> list[str]:
    """Return the notes of one kind as they are shown."""
    return [str(note) for note in request.notes if note.kind == kind]


LOOP = [user("Why does the build fail?"), calls("call_1"), results("call_1")]


def test_a_tool_loop_under_the_seed_prompt() -> None:
    """Four marks: what projects share, what stays in a session, what the last request read, what the next will."""
    builder = SystemPromptBuilder(append="Use make.", project=ProjectContext(cwd="/work"))
    request = build_request(builder.compose(), LOOP, tools=TOOLS, prefix_lifetime="1h", **OPUS)
    check(request.to, request.model, request.body)
    assert [(mark.place, mark.lifetime, mark.why) for mark in request.marks] == [
        ("system[0]", "1h", RELEASED),
        ("system[1]", "1h", STATIC),
        ("messages[0].content[0]", "5m", PREVIOUS),
        ("messages[2].content[0]", "5m", NEWEST),
    ]
    assert request.body["system"][1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert request.body["messages"][2]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in request.body["system"][2], "what changes with the turn"


PREFIXES = {
    "no system prompt": ("", [("tools[1]", ONLY_TOOLS)]),
    "a text": (RULES, [("tools[1]", TOOLS_END), ("system[0]", STATIC)]),
    "the system's messages": (
        [{"role": "system", "content": RULES}, {"role": "developer", "content": "Ask first."}],
        [("tools[1]", TOOLS_END), ("system[1]", STATIC)],
    ),
    "only what changes": (
        Prompt((Part("now", "It is noon.", Pace.TURN, "test"),)),
        [("tools[1]", ONLY_TOOLS)],
    ),
    "slow, then what changes": (
        Prompt((Part("rules", RULES, Pace.PROJECT, "test"), Part("now", "It is noon.", Pace.TURN, "test"))),
        [("tools[1]", TOOLS_END), ("system[0]", STATIC)],
    ),
}


@pytest.mark.parametrize(("prompt", "expected"), PREFIXES.values(), ids=PREFIXES)
def test_the_end_of_the_prefix(prompt: Prompt | str | list[Message], expected: list[tuple[str, str]]) -> None:
    """Before the conversation a mark stands where what does not change ends, and where the tools do."""
    request = build_request(prompt, [user("Hi")], tools=TOOLS, **OPUS)
    assert plan(request) == [*expected, ("messages[0].content[0]", NEWEST)]


def test_a_deferred_tool_carries_no_mark() -> None:
    """Anthropic refuses one there: the last tool that is loaded carries it."""
    deferred = {"name": "Zip", "input_schema": {"type": "object"}, "defer_loading": True}
    request = build_request("", [user("Hi")], tools=[*TOOLS, deferred], **OPUS)
    assert plan(request) == [("tools[1]", ONLY_TOOLS), ("messages[0].content[0]", NEWEST)]
    request = build_request("", [user("Hi")], tools=[deferred], **OPUS)
    assert plan(request) == [("messages[0].content[0]", NEWEST)]


def test_own_marks_are_kept_and_none_is_added_beside_them() -> None:
    """Who marks messages chooses where: the planner adds only the end of the prefix."""
    messages = [user("One", **MARK), assistant("Two"), user("Three"), assistant("Four"), user("Five")]
    request = build_request(RULES, messages, **OPUS)
    assert plan(request) == [("system[0]", STATIC), ("messages[0].content[0]", OWN)]
    assert plan(build_request(RULES, messages, marks="own", **OPUS)) == plan(request)
    unmarked_ones = build_request(RULES, [user("One")], marks="own", **OPUS)
    assert plan(unmarked_ones) == [("system[0]", STATIC)]
    replanned = build_request(RULES, messages, marks="auto", **OPUS)
    assert [why for _, why in plan(replanned)] == [STATIC, PREVIOUS, NEWEST]
    assert not notes(request) + notes(replanned)


@pytest.mark.parametrize(("count", "kept"), [(4, [0, 1, 2, 3]), (5, [0, 2, 3, 4]), (7, [0, 4, 5, 6])])
def test_too_many_own_marks(count: int, kept: list[int]) -> None:
    """The first, which holds the slowest, and the latest stay; each other is noted."""
    texts = [{"type": "text", "text": f"part {number}", **MARK} for number in range(count)]
    request = build_request(RULES, [{"role": "user", "content": texts}], **OPUS)
    assert plan(request) == [(f"messages[0].content[{number}]", OWN) for number in kept]
    assert notes(request) == [
        f"cache: messages[0].content[{number}]: more than 4 marks: this one is left out"
        for number in range(count)
        if number not in kept
    ]


def test_a_longer_lifetime_after_a_shorter_one() -> None:
    """The earlier mark lives as long as the later one, since the other way round is refused."""
    messages = [user("One", **MARK), assistant("Two"), user("Three", **HOUR_MARK), assistant("Four"), user("5", **MARK)]
    request = build_request("", messages, **OPUS)
    check(request.to, request.model, request.body)
    assert [mark.lifetime for mark in request.marks] == ["1h", "1h", "5m"]
    assert notes(request)[0] == (
        "cache: messages[0].content[0]: lives 1h, as a later mark does: longer lifetimes come first"
    )


def test_a_lifetime_that_a_mark_cannot_have() -> None:
    """It gets the provider's own, and a note."""
    odd = {"cache_control": {"type": "ephemeral", "ttl": "1w"}}
    request = build_request(RULES, [user("Hi", **odd)], **OPUS)
    assert [mark.lifetime for mark in request.marks] == ["5m", "5m"]
    assert notes(request) == [
        f"cache: messages[0].content[0]: anthropic (claude-opus-5-5, {FACTS}) has no lifetime '1w': 5m"
    ]


# Where own marks cannot stand, and what becomes of them: what is sent, and the marks and notes.
MOVED: dict[str, tuple[dict[str, Any], list[Message], list[tuple[str, str]], list[str]]] = {
    "thinking": (
        OPUS,
        [
            user("One"),
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Two"},
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln", **MARK},
                    {"type": "text", "text": "Three"},
                ],
            },
            user("Four"),
        ],
        [("system[0]", STATIC), ("messages[1].content[0]", OWN)],
        ["cache: messages[1].content[1]: a mark cannot go on this thinking: moved back to messages[1].content[0]"],
    ),
    "what the model said, for OpenAI": (
        GPT,
        [user("One"), assistant("Two", **MARK), user("Three")],
        [("messages[0].content[0]", STATIC), ("messages[1].content[0]", OWN)],
        ["cache: messages[2]: a mark cannot go on this text: moved back to messages[1].content[0]"],
    ),
    "a tool's answer, for Chat Completions": (
        GPT,
        [user("One"), calls("a"), {"role": "tool", "tool_call_id": "a", "content": "ok", **MARK}],
        [("messages[0].content[0]", STATIC), ("messages[1].content[0]", OWN)],
        ["cache: messages[3]: a mark cannot go on this tool_result: moved back to messages[1].content[0]"],
    ),
    "a blank text, for OpenAI": (
        GPT,
        [{"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": " ", **MARK}]}],
        [("messages[0].content[0]", STATIC), ("messages[1].content[0]", OWN)],
        ["cache: messages[1].content[1]: a mark cannot go on this text: moved back to messages[1].content[0]"],
    ),
    "an image, for Nova": (
        NOVA,
        [{"role": "user", "content": ["One", {"type": "image_url", "image_url": {"url": PNG}, **MARK}]}],
        [("system[0]", STATIC), ("messages[0].content[0]", OWN)],
        ["cache: messages[0].content[1]: a mark cannot go on this image: moved back to messages[0].content[0]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("to", "messages", "expected", "said_so"), MOVED.values(), ids=MOVED)
def test_an_own_mark_where_none_may_stand(
    to: dict[str, Any], messages: list[Message], expected: list[tuple[str, str]], said_so: list[str]
) -> None:
    """It moves back to what may carry it, and a note says so."""
    request = build_request(RULES, messages, tools=TOOLS, **to)
    assert plan(request) == expected
    assert notes(request) == said_so


def test_an_own_mark_with_nothing_before_it() -> None:
    """Where nothing may carry it, it is left out."""
    request = build_request("", [assistant("One", **MARK), user("Two")], marks="own", **GPT)
    assert plan(request) == []
    assert notes(request)[0] == "cache: messages[0]: a mark cannot go on this text: left out"


def test_own_marks_inside_a_block() -> None:
    """They count for the whole of it, as the provider would count them: no more than it takes."""
    found = [
        {
            "type": "search_result",
            "source": "a.md",
            "title": "A",
            "content": [{"type": "text", "text": text, **HOUR_MARK}],
        }
        for text in "abcde"
    ]
    cited = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "f", **MARK}]}}
    request = build_request(RULES, [{"role": "user", "content": [*found, cited]}], **OPUS)
    assert plan(request) == [(f"messages[0].content[{number}]", OWN) for number in (0, 3, 4, 5)]
    assert [mark.lifetime for mark in request.marks] == ["1h", "1h", "1h", "5m"]


def test_marks_that_meet() -> None:
    """A mark that is moved to where another stands does not shorten it."""
    messages = [user("One", **HOUR_MARK), assistant("Two", **MARK), user("Three")]
    request = build_request("", messages, to="litellm", model="anthropic/claude-opus-5-5")
    check(request.to, request.model, request.body)
    assert [(mark.place, mark.lifetime) for mark in request.marks] == [("messages[0].content[0]", "1h")]


def test_less_than_is_cached() -> None:
    """One note says how many marks cover too little, how much that is, and as of when."""
    request = build_request("Be brief.", [user("Hi"), assistant("Hi!"), user("Go on.")], **OPUS)
    assert len(plan(request)) == 3
    assert notes(request) == [
        f"cache: messages[2].content[0]: about 3 tokens up to here; anthropic (claude-opus-5-5, {FACTS}) "
        "caches nothing below 512 (3 times)"
    ]
    request = build_request(RULES, [user("Hi")], to="anthropic", model="claude-haiku-4-5")
    assert notes(request) == []
    request = build_request("Be brief.", [user("Hi")], to="gemini", model="gemini-2.5-pro")
    assert notes(request) == [f"cache: request: about 2 tokens; gemini caches nothing below 2,048 ({FACTS})"]


def test_an_unknown_model() -> None:
    """It gets the careful rules of its provider, and a note says by which facts."""
    request = build_request(RULES, [user("Hi")], to="anthropic", model="claude-next-9")
    assert plan(request) == [("system[0]", STATIC), ("messages[0].content[0]", NEWEST)]
    detail = f"not in the {FACTS}: built by the careful rules for any model; give your own as facts"
    assert request.notes == (Note("model", "claude-next-9", detail),)
    assert request.rules.minimum == max(
        bundled_facts().rules("anthropic", model).minimum for model in ("claude-opus-5-5", "claude-haiku-4-5")
    )
    others: dict[Target, str] = {"openai": "gpt-next", "bedrock": "meta.llama4-scout-17b-instruct-v1:0"}
    for to, model in others.items():
        assert plan(build_request(RULES, [user("Hi")], to=to, model=model)) == []


LIFETIMES = {
    "anthropic": (OPUS, "12h", "anthropic (claude-opus-5-5, {}) has no lifetime '12h'; it has 5m, 1h"),
    "nova": (NOVA, "1h", "bedrock (amazon.nova-pro-v1:0, {}) has no lifetime '1h'; it has 5m"),
    "openai": (GPT, "12h", "openai (gpt-5.6-sol, {}) has no lifetime '12h'; it has 30m"),
    "responses": (GPT_RESPONSES, "1h", "openai-responses (gpt-5.6-sol, {}) has no lifetime '1h'; it has 30m, 12h"),
}


@pytest.mark.parametrize("which", ["lifetime", "prefix_lifetime"])
@pytest.mark.parametrize(("to", "asked", "message"), LIFETIMES.values(), ids=LIFETIMES)
def test_a_lifetime_that_is_not_offered(to: dict[str, Any], asked: str, message: str, which: str) -> None:
    """It is refused, with those that are."""
    with pytest.raises(MessageError) as refused:
        build_request(RULES, [user("Hi")], **{**to, which: asked})
    assert str(refused.value) == message.format(FACTS)


def test_a_lifetime_where_there_are_none() -> None:
    """A provider that takes no lifetimes gets none, and a note says so."""
    request = build_request(RULES, [user("Hi")], to="openai", model="gpt-4o", lifetime="1h")
    assert plan(request) == []
    assert notes(request) == [f"cache: lifetime: openai (gpt-4o, {FACTS}) takes no lifetimes: '1h' has no effect"]


def test_choices() -> None:
    """What is none of the choices is refused, with them."""
    with pytest.raises(MessageError) as refused:
        build_request(RULES, [user("Hi")], marks="all", **OPUS)  # type: ignore[arg-type]
    assert str(refused.value) == "marks is one of '', 'auto', 'automatic', 'own', 'none', not 'all'"


def test_no_marks_when_none_are_wanted() -> None:
    """`none` leaves out the caller's own too, without a word."""
    request = build_request(RULES, [user("Hi", **MARK)], marks="none", **OPUS)
    assert plan(request) == []
    assert notes(request) == []


# Who takes no marks: the system's and the user's are left out, and a note says so, at the first.
UNMARKED = {
    "gpt-4o": ("openai", "gpt-4o", "messages[0].content[0]", "openai"),
    "responses": ("openai-responses", "gpt-5.5", "input[0].content[0]", "openai-responses"),
    "deepseek": ("deepseek", "deepseek-v4-pro", "messages[0].content[0]", "deepseek"),
    "gemini": ("gemini", "gemini-3.8-flash", "systemInstruction", "gemini"),
    "llama": ("bedrock", "meta.llama4-scout-17b-instruct-v1:0", "system[0]", "bedrock"),
    "litellm": ("litellm", "gemini/gemini-3.8-flash", "messages[0].content[0]", "gemini"),
}


@pytest.mark.parametrize(("to", "model", "place", "provider"), UNMARKED.values(), ids=UNMARKED)
def test_a_provider_without_marks(to: Target, model: str, place: str, provider: str) -> None:
    """Own marks are left out, and a note says so."""
    messages: list[Message] = [{"role": "system", "content": RULES, **MARK}, user("Hi", **MARK)]
    request = build_request(messages, to=to, model=model)
    assert plan(request) == []
    assert notes(request) == [f"cache: {place}: {provider} ({model}, {FACTS}) takes no marks: left out (2 times)"]


def test_how_much_was_sent_before() -> None:
    """Unless it is said, the previous request ended where the assistant last answered."""
    messages = [*LOOP, calls("call_2"), results("call_2"), assistant("Done."), user("Thanks!")]
    assert plan(build_request("", messages, **OPUS)) == [
        ("messages[4].content[0]", PREVIOUS),
        ("messages[6].content[0]", NEWEST),
    ]
    assert plan(build_request("", messages, sent=1, **OPUS)) == [
        ("messages[0].content[0]", PREVIOUS),
        ("messages[6].content[0]", NEWEST),
    ]
    for nothing in (0, len(messages)):
        assert plan(build_request("", messages, sent=nothing, **OPUS)) == [("messages[6].content[0]", NEWEST)]


def test_sent_counts_the_messages_that_were_passed() -> None:
    """What a prompt brings with it was not passed; what an array holds was."""
    brought = [user("The map"), assistant("Ok.")]
    prompt = Prompt((Part("rules", RULES, Pace.RELEASE, "test"),), messages=tuple(brought))
    messages = [user("One"), user("Two")]
    expected = [("system[0]", STATIC), ("messages[2].content[0]", PREVIOUS), ("messages[3].content[0]", NEWEST)]
    assert plan(build_request(prompt, messages, sent=1, **OPUS)) == expected
    system = {"role": "system", "content": RULES}
    assert plan(build_request([system, *brought, *messages], sent=4, **OPUS)) == expected


@pytest.mark.parametrize("sent", [-1, True, "1", 1.0])
def test_sent_is_a_number(sent: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(MessageError) as refused:
        build_request("", [user("Hi")], sent=sent, **OPUS)
    assert str(refused.value) == f"sent is how many messages were sent before, not {sent!r}"


def test_an_answer_of_several_messages() -> None:
    """The previous request ended before all of them."""
    messages = [user("One"), assistant("Two"), calls("a"), results("a")]
    request = build_request("", messages, tools=TOOLS, **OPUS)
    assert plan(request)[1:] == [("messages[0].content[0]", PREVIOUS), ("messages[3].content[0]", NEWEST)]


def test_an_answer_that_says_nothing() -> None:
    """Where roles take turns, two messages become one, and the end of the previous request is still known."""
    request = build_request("", [user("One"), assistant(" "), lines(30)], **CLAUDE_ON_BEDROCK)
    assert plan(request) == [("messages[0].content[0]", PREVIOUS), ("messages[0].content[30]", NEWEST)]
    content = request.body["messages"][0]["content"]
    assert content[:2] == [{"text": "One"}, {"cachePoint": {"type": "default"}}]
    assert content[-1] == {"cachePoint": {"type": "default"}}


# How many blocks follow the previous request's end, up to the caller's own mark, and whether that is too many.
GAPS: dict[str, tuple[dict[str, Any], list[Message], bool]] = {
    "within reach": (OPUS, [assistant("Yes."), lines(18)], False),
    "out of reach": (OPUS, [assistant("Yes."), lines(19)], True),
    "a run of tool blocks is one position": (OPUS, [calls(*"abcdefghijklmnop"), results(*"abcdefghijklmnop")], False),
    "but not on Bedrock": (CLAUDE_ON_BEDROCK, [calls(*"abcdefghijklmnop"), results(*"abcdefghijklmnop")], True),
    "nova looks at the mark only": (NOVA, [assistant("Yes."), lines(1)], True),
}


@pytest.mark.parametrize(("to", "new", "too_far"), GAPS.values(), ids=GAPS)
def test_a_long_gap_before_an_own_mark(to: dict[str, Any], new: list[Message], too_far: bool) -> None:
    """Where looking back from the caller's mark does not reach, the previous request's end is marked too."""
    *before, last = new
    *blocks, end = last["content"]
    messages = [user("One"), *before, {**last, "content": [*blocks, {**end, **MARK}]}]
    request = build_request(RULES, messages, tools=TOOLS, **to)
    added = f"the previous request ended here, {request.rules.lookback} positions or more before yours"
    assert [why for _, why in plan(request)] == [STATIC, *([added] if too_far else []), OWN]


def test_openai_caches_the_newest_message_itself() -> None:
    """A mark there would pay twice; one where the previous request ended finds its entry."""
    request = build_request(RULES, [user("One"), assistant("Two"), lines(2)], **GPT)
    assert plan(request) == [("messages[0].content[0]", STATIC), ("messages[1].content[0]", PREVIOUS)]
    assert request.body["messages"][1]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


def test_openai_finds_an_entry_only_at_the_very_end_of_what_was_sent() -> None:
    """What cannot carry a mark there, a tool's answer or a blank text, is not stood in for by what is before it."""
    blank = {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": ""}]}
    for sent in ([*LOOP], [blank]):
        request = build_request(RULES, [*sent, assistant("Two"), user("Three")], tools=TOOLS, **GPT)
        assert plan(request) == [("messages[0].content[0]", STATIC)]


def test_responses_mark_a_tools_answer() -> None:
    """Its last part carries the mark, and is the place."""
    request = build_request(RULES, [*LOOP, assistant("Two"), user("Three")], tools=TOOLS, **GPT_RESPONSES)
    assert plan(request) == [("input[0].content[0]", STATIC), ("input[3].output[0]", PREVIOUS)]
    marked = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    assert request.body["input"][3]["output"] == [{"type": "input_text", "text": "ok", **marked}]
    request = build_request(RULES, [user("Hi")], prefix_lifetime="12h", **GPT_RESPONSES)
    assert request.body["input"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit", "ttl": "12h"}


def test_nova() -> None:
    """Marks stand on texts only, never on tools or their results."""
    request = build_request(RULES, [*LOOP, assistant("Done."), user("Thanks!")], tools=TOOLS, **NOVA)
    assert plan(request) == [
        ("system[0]", STATIC),
        ("messages[0].content[0]", PREVIOUS),
        ("messages[4].content[0]", NEWEST),
    ]
    assert request.body["system"] == [{"text": RULES}, {"cachePoint": {"type": "default"}}]


def test_litellm_marks_by_the_route() -> None:
    """Each provider's own kind of mark, where LiteLLM lets it through."""
    claude = build_request(RULES, LOOP, tools=TOOLS, to="litellm", model="anthropic/claude-opus-5-5")
    assert plan(claude) == [
        ("tools[1]", TOOLS_END),
        ("messages[0].content[0]", STATIC),
        ("messages[1].content[0]", PREVIOUS),
        ("messages[3]", NEWEST),
    ]
    assert claude.body["messages"][3]["cache_control"] == {"type": "ephemeral"}
    gpt = build_request(RULES, [user("Hi")], tools=TOOLS, to="litellm", model="openai/gpt-5.6-sol")
    assert plan(gpt) == [("messages[0].content[0]", STATIC)]
    assert gpt.body["messages"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


REMINDER = {"role": "system", "content": "Mind the time."}

# Conversations with a system message in them, and the roles as they are sent.
REMINDED: dict[str, tuple[list[Message], list[str]]] = {
    "answered": ([user("1"), REMINDER, assistant("2"), user("3")], ["user", "system", "assistant", "user"]),
    "last": ([user("1"), assistant("2"), user("3"), REMINDER], ["user", "assistant", "user", "system"]),
    "after nothing that is sent": ([user(" "), REMINDER, assistant("2"), user("3")], ["user", "assistant", "user"]),
    "before nothing that is sent": ([user("1"), REMINDER, assistant(" "), user("3")], ["user", "user", "user"]),
    "after the answer": ([user("1"), assistant("2"), REMINDER, user("3")], ["user", "assistant", "user", "user"]),
}


@pytest.mark.parametrize(("messages", "roles"), REMINDED.values(), ids=REMINDED)
def test_a_system_message_inside_a_conversation(messages: list[Message], roles: list[str]) -> None:
    """It stays one after a user's message that is answered next; elsewhere it is sent as the user's."""
    request = build_request(RULES, messages, **OPUS)
    check(request.to, request.model, request.body)
    assert [message["role"] for message in request.body["messages"]] == roles


def test_a_mark_is_a_value() -> None:
    """Marks are equal by content, in the order in which the provider caches."""
    request = build_request(RULES, [user("Hi")], **OPUS)
    assert request.marks == (
        Mark("system[0]", STATIC, "5m", 5000),
        Mark("messages[0].content[0]", NEWEST, "5m", 5000),
    )
