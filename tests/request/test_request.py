"""Requests for each provider: exact bodies of one conversation, and what bad input becomes, target by target."""

from __future__ import annotations

import base64
import copy
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from deepprompt import (
    Note,
    Pace,
    Part,
    Prompt,
    Request,
    SystemPromptBuilder,
    Tier,
    TieredContext,
    assemble_messages,
    build_cached_content,
    build_request,
    compose_messages,
)
from deepprompt.errors import MessageError, ToolError
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from deepprompt.words import Target
from tests.support.harbour import (
    CALLS,
    CONVERSATION,
    FACTS,
    LIST,
    LOOK,
    MODELS,
    PIXEL,
    PNG,
    PROMPT,
    WITHOUT_IMAGE,
    build,
)

DATE = "facts of 2026-11-18"

OWNERS = MODELS | {to: to for to in MODELS} | {"litellm": "anthropic"}
"""Whose rules hold for each target's model above."""
INSISTING = ("anthropic", "bedrock", "gemini", "litellm")
"""Those that want a user first and last, and nothing blank."""

LINKED = {"type": "image_url", "image_url": {"url": "https://example.com/boat.png"}}
GO: dict[str, Any] = {"role": "user", "content": "Go."}
YES: dict[str, Any] = {"role": "assistant", "content": "Yes."}
MARK = {"cache_control": {"type": "ephemeral"}}
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
OPENING = "(The assistant opens this conversation.)"
SKIPPED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def talk(request: Request) -> list[dict[str, Any]]:
    """What follows the system prompt in a body."""
    messages: list[dict[str, Any]] = next(
        request.body[key] for key in ("messages", "contents", "input") if key in request.body
    )
    own = "system" in request.body or not messages or messages[0].get("role") not in ("system", "developer")
    return messages if own else messages[1:]


def use(name: str = "look", call_id: str = "a", arguments: Any = "{}") -> list[dict[str, Any]]:
    """A tool call and its result."""
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call_id, "content": "red"}]


def details(request: Request, kind: str) -> list[str]:
    """The notes of one kind, as `SOURCE: DETAIL`."""
    return [f"{note.source}: {note.detail}" for note in request.notes if note.kind == kind]


def written(value: Any) -> bytes:
    """A body as a reviewer reads it."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


@pytest.mark.parametrize("to", TARGETS)
def test_conversation(to: Target, prompt_file: SnapshotAssertion) -> None:
    """One conversation as each provider is sent it; DeepSeek takes no images."""
    messages = WITHOUT_IMAGE if to == "deepseek" else CONVERSATION
    assert written(build(to, *messages, prompt=PROMPT, cache_key="tenant-42").body) == prompt_file


def test_older_openai(prompt_file: SnapshotAssertion) -> None:
    """A model that takes no marks gets plain texts, and its system prompt under the old name."""
    assert written(build("openai", *CONVERSATION, prompt=PROMPT, model="gpt-4o").body) == prompt_file


def test_gemini_cached_content(prompt_file: SnapshotAssertion) -> None:
    """What is cached at Gemini: the static prefix, the tools, and the messages up to the mark."""
    messages = [CONVERSATION[0] | MARK, *CONVERSATION[1:]]
    request = build_cached_content(PROMPT, messages, model="gemini-3.8-flash", ttl="600s", facts=FACTS)
    assert written(request.body) == prompt_file


def test_gemini_after_cached_content(prompt_file: SnapshotAssertion) -> None:
    """What follows it: the name, what changes in the system prompt, and the rest of the messages."""
    messages = [CONVERSATION[0] | MARK, *CONVERSATION[1:]]
    assert written(build("gemini", *messages, prompt=PROMPT, cached_content="cachedContents/x1").body) == prompt_file


@pytest.mark.parametrize("to", ["anthropic", "openai"])
def test_tiers(to: Target, prompt_file: SnapshotAssertion) -> None:
    """A tiered array, whose breakpoints are marks of the caller."""
    tiers = {
        "L0": Tier(symbols={"fram.py": "fram.py:\n  class Fram"}),
        "L1": Tier(files={"gjoa.py": "RED = True\n"}),
        "L2": Tier(history=({"role": "user", "content": "Is it red?"}, {"role": "assistant", "content": "Yes."})),
    }
    context = TieredContext("You are Ada.", tiers=tiers, file_tree=["fram.py", "gjoa.py"], user_prompt="And Fram?")
    assert written(build_request(assemble_messages(context), to=to, model=MODELS[to], facts=FACTS).body) == prompt_file


@pytest.mark.parametrize("to", ["anthropic", "openai"])
def test_explain(to: Target, prompt_file: SnapshotAssertion) -> None:
    """Where the marks stand and why."""
    assert build(to, *CONVERSATION, prompt=PROMPT).explain().encode() == prompt_file


class TestRequest:
    """What a request says about itself."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_fields(self, to: Target) -> None:
        """It names its target, its model and the rules that it was built by."""
        request = build(to, GO)
        assert (request.to, request.model) == (to, MODELS[to])
        assert (request.rules.provider, request.rules.known) == (OWNERS[to], True)
        assert f"{to}, {MODELS[to]}: about {request.tokens:,} input tokens\n" in request.explain()

    @pytest.mark.parametrize("to", TARGETS)
    def test_facts(self, to: Target) -> None:
        """Unless others are given, the newest facts that the package has are the rules."""
        request = build_request("", [GO], to=to, model=MODELS[to])
        rules = bundled_facts().rules(OWNERS[to], MODELS[to])
        assert request.rules == (replace(rules, system_messages=False) if to == "litellm" else rules)

    @pytest.mark.parametrize("to", TARGETS)
    def test_only_read(self, to: Target) -> None:
        """Neither the caller's messages and tools nor the prompt change, and the body holds none of their values."""
        messages, tools = copy.deepcopy(WITHOUT_IMAGE), copy.deepcopy([LOOK, LIST])
        request = build(to, *messages, tools=tools)
        first = json.dumps(request.body)
        assert (messages, tools) == (WITHOUT_IMAGE, [LOOK, LIST])
        assert not set(map(id, containers(request.body))) & set(map(id, containers([messages, tools])))
        request.body.clear()
        assert json.dumps(build(to, *messages, tools=tools).body) == first

    @pytest.mark.parametrize("to", TARGETS)
    def test_any_mappings(self, to: Target) -> None:
        """An iterator of messages and any kind of mapping make the same body."""
        messages = (MappingProxyType(message) for message in WITHOUT_IMAGE)
        tools = (MappingProxyType(tool) for tool in (LIST, LOOK))
        request = build_request(PROMPT, messages, to=to, model=MODELS[to], tools=tools, facts=FACTS)
        assert request.body == build(to, *WITHOUT_IMAGE, prompt=PROMPT).body

    @pytest.mark.parametrize("to", TARGETS)
    def test_encodes(self, to: Target) -> None:
        """Half a character anywhere becomes U+FFFD, so that the body is UTF-8."""
        bad = "\ud800"
        tool = {"name": "look", "description": bad, "input_schema": {"type": "object", "title": bad}}
        messages = [{"role": "user", "content": bad}, *use(arguments='{"a": "\\ud800"}', call_id=bad), GO]
        request = build(to, *messages, prompt=f"You are {bad}.", tools=[tool])
        assert "\ufffd" in json.dumps(request.body, ensure_ascii=False).encode().decode()
        assert Note("replaced", "prompt", "lone surrogates, by U+FFFD", 8) in request.notes

    @pytest.mark.slow
    @pytest.mark.parametrize("to", TARGETS)
    def test_long(self, to: Target) -> None:
        """Five thousand messages take moments, whoever said them."""
        start = time.process_time()
        build(to, *[GO, YES] * 2500, GO)
        build(to, *[GO] * 5_000)
        build(to, *[message for number in range(1667) for message in use(call_id=str(number))], GO, tools=[LOOK])
        assert time.process_time() - start < 10

    @pytest.mark.parametrize(
        ("to", "model", "line"),
        [
            ("anthropic", "claude-opus-4-6", "caches up to its marks, at most 4, from 4,096 tokens, for 5m or 1h"),
            ("openai", "gpt-6.1",
             "caches up to the newest message and up to its marks, at most 3, from 1,024 tokens, for 30m"),
            ("openai", "gpt-4o", "caches automatically, without marks, from 1,024 tokens"),
            ("deepseek", "deepseek-v4-pro", "caches automatically, without marks"),
            ("bedrock", "meta.llama", "takes no marks here"),
        ],
    )  # fmt: skip
    def test_caching(self, to: Target, model: str, line: str) -> None:
        """The explanation says how the provider caches, and of which day that knowledge is."""
        assert build(to, GO, model=model).explain().splitlines()[1] == f"  {line} ({DATE})"

    def test_tokens(self) -> None:
        """The estimate counts texts, calls, results, tools and native blocks, and no image."""
        base = build("anthropic", GO).tokens
        blocks = [PNG, {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x" * 400}}]
        assert build("anthropic", GO, {"role": "user", "content": blocks[:1]}).tokens == base
        assert build("anthropic", GO, {"role": "user", "content": blocks[1:]}).tokens - base in range(100, 140)
        grown = build("anthropic", *use(arguments={"a": "x" * 400}), GO, tools=[LIST])
        assert grown.tokens - base in range(130, 150)
        thought = {"role": "assistant", "content": [SIGNED | {"thinking": "x" * 400}, "Yes."]}
        assert build("anthropic", GO, thought, GO).tokens - base in range(100, 110)


def containers(value: Any) -> Iterator[Any]:
    """Every list and mapping in a value."""
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


class TestArguments:
    """What the official SDKs take."""

    @pytest.mark.parametrize("to", [to for to in TARGETS if to not in ("bedrock", "gemini")])
    def test_body(self, to: Target) -> None:
        """Most methods take the body as it is."""
        request = build(to, GO)
        assert request.arguments == request.body

    def test_bedrock(self) -> None:
        """The SDK wants the model among the arguments and bytes as bytes, but not in what is a tool's own."""
        thinking = {"type": "redacted_thinking", "data": base64.b64encode(b"secret").decode()}
        own = {"bytes": "x"}
        messages = [
            {"role": "user", "content": [PNG]},
            {"role": "assistant", "content": [thinking, {"type": "tool_use", "id": "a", "name": "look", "input": own}]},
            {"role": "tool", "tool_call_id": "a", "content": [PNG]},
        ]
        tool = {"name": "look", "input_schema": {"type": "object", "properties": own}}
        arguments = build("bedrock", *messages, tools=[tool], max_tokens=9, marks="none").arguments
        image = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PIXEL)}}}
        assert arguments == {
            "modelId": MODELS["bedrock"],
            "toolConfig": {"tools": [
                {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object", "properties": own}}}}
            ]},
            "system": [{"text": "You are Ada."}],
            "messages": [
                {"role": "user", "content": [image]},
                {"role": "assistant", "content": [
                    {"reasoningContent": {"redactedContent": b"secret"}},
                    {"toolUse": {"toolUseId": "a", "name": "look", "input": own}},
                ]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [image]}}]},
            ],
            "inferenceConfig": {"maxTokens": 9},
        }  # fmt: skip

    def test_gemini(self) -> None:
        """The SDK wants all but the contents as its config."""
        request = build("gemini", GO, tools=[LIST], max_tokens=9)
        assert request.arguments == {
            "model": "gemini-3.8-flash",
            "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "config": {
                "system_instruction": {"parts": [{"text": "You are Ada."}]},
                "tools": request.body["tools"],
                "max_output_tokens": 9,
            },
        }

    def test_gemini_cached(self) -> None:
        """Where there is cached content, its name is in the config; what makes it has all in the config."""
        request = build("gemini", GO, cached_content="cachedContents/x1")
        assert request.arguments["config"] == {"cached_content": "cachedContents/x1"}
        request = build_cached_content("You are Ada.", [GO | MARK, YES, GO], model="gemini-3.8-flash", facts=FACTS)
        assert request.arguments == {
            "model": "gemini-3.8-flash",
            "config": {
                "ttl": "3600s",
                "system_instruction": {"parts": [{"text": "You are Ada."}]},
                "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            },
        }
        assert "contents" not in build_cached_content("x", model="gemini-3.8-flash", facts=FACTS).arguments["config"]


class TestBadInput:
    """What a provider would refuse: an error, or what is sent in its place and a note."""

    @pytest.mark.parametrize("content", [5, b"x", {"type": "text", "text": "x"}, [None], [{"txt": "x"}], [["x"]]])
    @pytest.mark.parametrize("to", TARGETS)
    def test_content(self, to: Target, content: object) -> None:
        """Content that is neither text nor blocks is refused by its place."""
        with pytest.raises(
            MessageError, match=r"^messages\[1\](\.content\[0\])?: (content is text or|neither text nor) "
        ):
            build(to, GO, {"role": "user", "content": content})

    @pytest.mark.parametrize("to", TARGETS)
    def test_unknown_block(self, to: Target) -> None:
        """A block that nobody knows is refused with its type and what is written for everyone."""
        with pytest.raises(
            MessageError,
            match=rf"^messages\[0\]\.content\[1\]: {OWNERS[to]} takes no block of type 'video'; text, images, tool "
            r"calls and their results are written for every provider$",
        ):
            build(to, {"role": "user", "content": ["See:", {"type": "video"}]})

    @pytest.mark.parametrize("to", TARGETS)
    def test_unknown_model(self, to: Target) -> None:
        """A model that the facts do not know works by careful rules, and the first note says so."""
        request = build(to, *WITHOUT_IMAGE, prompt=PROMPT, model="made-up")
        detail = f"not in the {DATE}: built by the careful rules for any model; give your own as facts"
        assert request.notes[0] == Note("model", "made-up", detail)
        assert not request.rules.known
        assert bool(request.marks) == (to == "anthropic")
        assert talk(request)

    @pytest.mark.parametrize(
        ("to", "model", "meant"),
        [
            ("anthropic", "claude-opus-55", "claude-opus-5-5"),
            ("bedrock", "eu.anthropic.Claude-Opus-55-v1:0", "eu.anthropic.claude-opus-5-5-v1:0"),
            ("litellm", "anthropic/claude-opus-55", "anthropic/claude-opus-5-5"),
            ("openai-responses", "gpt5.5", "gpt-5.5"),
        ],
    )
    def test_misspelt_model(self, to: Target, model: str, meant: str) -> None:
        """A name that is close to a known model's has that one in its note, written as the caller writes models."""
        note = build(to, GO, model=model).notes[0]
        assert (note.kind, note.source) == ("model", model)
        assert note.detail.endswith(f"; give your own as facts; did you mean {meant!r}?")

    @pytest.mark.parametrize("to", TARGETS)
    def test_too_many_marks(self, to: Target) -> None:
        """Of the caller's marks as many stay as the provider takes; a note names each that does not."""
        request = build(to, *[GO | MARK, YES] * 5, GO | MARK)
        allowed = request.rules.marks
        text = json.dumps(request.body)
        assert sum(map(text.count, ("cache_control", "cachePoint", "prompt_cache_breakpoint"))) == allowed
        assert len(request.marks) == allowed
        notes = [note for note in request.notes if "left out" in note.detail]
        if allowed:
            assert {note.detail for note in notes} == {f"more than {allowed} marks: this one is left out"}
            assert len(notes) == 6 - allowed
        else:
            who = f"{to} ({MODELS[to]}, {DATE})"
            assert [(note.detail, note.count) for note in notes] == [(f"{who} takes no marks: left out", 6)]

    @pytest.mark.parametrize("to", TARGETS)
    def test_image_only(self, to: Target) -> None:
        """A message may be nothing but an image, where images are taken."""
        if to == "deepseek":
            with pytest.raises(
                MessageError, match=rf"^messages\[0\]\.content\[0\]: deepseek takes no images \({DATE}\)$"
            ):
                build(to, {"role": "user", "content": [PNG]})
        else:
            (message,) = talk(build(to, {"role": "user", "content": [PNG]}))
            assert len(message.get("content") or message["parts"]) == 1 + (to == "bedrock")

    @pytest.mark.parametrize("blank", ["", " \n", "\u3000"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_empty_prompt(self, to: Target, blank: str) -> None:
        """A blank system prompt is none; with no message either there is nothing to send."""
        request = build(to, GO, prompt=blank)
        assert len(talk(request)) == 1
        assert not re.search("system|developer", json.dumps(request.body))
        with pytest.raises(MessageError, match=r"^there is nothing to send: no system prompt and no message$"):
            build(to, prompt=blank)

    @pytest.mark.parametrize("content", [None, "", [], " ", ["", "\n"]])
    @pytest.mark.parametrize("to", TARGETS)
    def test_empty_message(self, to: Target, content: object) -> None:
        """Where nothing blank is taken, a conversation of nothing else is an error; elsewhere it is sent."""
        message = {"role": "user", "content": content}
        if to in INSISTING:
            expected = r"^messages\[1\]: only blank text up to here, so there is nothing to answer$"
            with pytest.raises(MessageError, match=expected):
                build(to, message, message)
        else:
            assert [said["role"] for said in talk(build(to, message))] == ["user"]

    @pytest.mark.parametrize("to", TARGETS)
    def test_no_message_yet(self, to: Target) -> None:
        """A prompt alone is written, for the user's message to be appended, and the note says that it must be."""
        request = build(to)
        assert talk(request) == []
        assert details(request, "kept") == ["messages: no message yet: append the user's before this is sent"]

    @pytest.mark.parametrize("to", TARGETS)
    def test_starts_with_the_assistant(self, to: Target) -> None:
        """Where a user comes first, a short message stands before the assistant's, and a note says which."""
        request = build(to, YES, GO)
        roles = [message["role"] for message in talk(request)]
        if to in INSISTING:
            assert roles == ["user", "model" if to == "gemini" else "assistant", "user"]
            assert OPENING in json.dumps(talk(request)[0])
            detail = f"the conversation starts with the assistant: '{OPENING}' is put before it"
            assert details(request, "replaced") == [f"messages[0]: {detail}"]
        else:
            assert roles == ["assistant", "user"]
            assert details(request, "replaced") == []

    @pytest.mark.parametrize("to", TARGETS)
    def test_ends_with_the_assistant(self, to: Target) -> None:
        """Where the last word must not be the assistant's it is an error; OpenAI answers all the same."""
        if to.startswith("openai"):
            assert [message["role"] for message in talk(build(to, GO, YES))] == ["user", "assistant"]
            return
        with pytest.raises(
            MessageError,
            match=rf"^messages\[1\]: the conversation ends with the assistant; {OWNERS[to]} answers a user's message "
            r"or a tool's result: append it$",
        ):
            build(to, GO, YES)

    @pytest.mark.parametrize("blank", ["", "  "])
    @pytest.mark.parametrize("to", TARGETS)
    def test_ends_with_a_blank_answer(self, to: Target, blank: str) -> None:
        """An answer that says nothing is not sent, and so does not end a conversation."""
        request = build(to, GO, {"role": "assistant", "content": blank})
        assert [message["role"] for message in talk(request)] == ["user"]
        assert details(request, "skipped") == ["messages[1]: only blank text: left out"]

    @pytest.mark.parametrize("to", ["deepseek", "openai", "openai-responses"])
    def test_only_a_blank_answer(self, to: Target) -> None:
        """With nothing else to send it is an error there too."""
        expected = r"^messages\[0\]: only blank text up to here, so there is nothing to answer$"
        with pytest.raises(MessageError, match=expected):
            build(to, {"role": "assistant", "content": ""}, prompt="")

    @pytest.mark.parametrize("to", TARGETS)
    def test_result_without_call(self, to: Target) -> None:
        """A result whose call is not there is refused."""
        expected = r"^messages\[1\]: tool result 'a' has no call of that id in the message before it$"
        with pytest.raises(MessageError, match=expected):
            build(to, GO, use()[1])

    @pytest.mark.parametrize("messages", [[use()[0]], [use()[0], GO]])
    @pytest.mark.parametrize("to", TARGETS)
    def test_call_without_result(self, to: Target, messages: list[Any]) -> None:
        """A call that was never answered is refused."""
        with pytest.raises(MessageError, match=r"^messages\[0\]: tool call 'a' has no result; answer every call "):
            build(to, *messages)

    @pytest.mark.parametrize("to", INSISTING)
    def test_blank_texts(self, to: Target) -> None:
        """Blank texts beside others, and messages of nothing else, are left out with a note."""
        empty = {"role": "user", "content": " "}
        request = build(
            to, {"role": "user", "content": ["", "Go.", "\n"]}, YES, empty, {"role": "user", "content": ["And?"]}
        )
        texts = re.findall(r'"(?:text|content)": "(.*?)"', json.dumps(talk(request)))
        assert texts == ["Go.", "Yes.", "And?"]
        assert details(request, "skipped") == [
            "messages[0]: blank text",
            "messages[2]: only blank text: left out",
        ]

    @pytest.mark.parametrize(
        ("to", "message"),
        [
            ("openai", {"role": "user", "content": [
                {"type": "text", "text": ""},
                {"type": "text", "text": "Go."} | {"prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "text", "text": " "},
            ]}),
            ("openai-responses", {"role": "user", "content": [
                {"type": "input_text", "text": ""},
                {"type": "input_text", "text": "Go."} | {"prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_text", "text": " "},
            ]}),
            ("deepseek", {"role": "user", "content": "\n\nGo.\n\n "}),
        ],
    )  # fmt: skip
    def test_blank_texts_elsewhere(self, to: Target, message: dict[str, Any]) -> None:
        """Where blank texts are taken they stay, but carry no mark."""
        texts = [{"type": "text", "text": text} for text in ("", "Go.", " ")]
        texts[2] |= MARK  # type: ignore[arg-type]
        assert talk(build(to, {"role": "user", "content": texts})) == [message]

    @pytest.mark.parametrize(("to", "content"), [
        ("anthropic", {}), ("bedrock", {"content": []}), ("deepseek", {"content": "\n"}), ("gemini", {"output": "\n"}),
        ("litellm", {"content": "\n"}), ("openai", {"content": "\n"}), ("openai-responses", {"output": "\n"}),
    ])  # fmt: skip
    def test_blank_results(self, to: Target, content: dict[str, Any]) -> None:
        """A result may be blank: it is empty where a blank text is refused."""
        call, answer = use()
        message = talk(build(to, GO, call, answer | {"content": "\n"}, tools=[LOOK], marks="none"))[2:][0]
        if to in ("anthropic", "bedrock", "gemini"):
            (part,) = message.get("content") or message["parts"]
            message = part.get("toolResult") or part.get("functionResponse", {}).get("response") or part
        assert {key: value for key, value in message.items() if key in ("content", "output")} == content

    @pytest.mark.parametrize("given", [None, 5, 1.5])
    @pytest.mark.parametrize("to", TARGETS)
    def test_no_list(self, to: Target, given: Any) -> None:
        """A prompt or messages that are no list are refused by name."""
        name = type(given).__name__
        with pytest.raises(MessageError, match=f"^a request takes a Prompt, a text or messages, not {name}$"):
            build_request(given, to=to, model=MODELS[to])
        with pytest.raises(MessageError, match=f"^messages are a list, each with a role and content, not {name}$"):
            build_request("x", given, to=to, model=MODELS[to])

    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            (SystemPromptBuilder("x"), "not SystemPromptBuilder; its compose() returns a Prompt"),
            (SystemPromptBuilder("x").compose, "not method; call it"),
            (SimpleNamespace(prompt=Prompt(())), "not SimpleNamespace; its attribute prompt is a Prompt"),
        ],
        ids=["a builder", "a function", "an assembled prompt"],
    )
    def test_nearly_a_prompt(self, given: Any, meant: str) -> None:
        """What leads to a prompt is not one, and the way from it is told."""
        with pytest.raises(MessageError) as found:
            build_request(given, [GO], to="openai", model="gpt-4o")
        assert str(found.value) == f"a request takes a Prompt, a text or messages, {meant}"

    def test_facts_by_their_path(self) -> None:
        """Facts are read by a call of their own."""
        with pytest.raises(MessageError) as found:
            build_request("x", [GO], to="openai", model="gpt-4o", facts="facts.json")  # type: ignore[arg-type]
        assert str(found.value) == "facts are what load_facts(path) or bundled_facts() returns, not 'facts.json'"

    @pytest.mark.parametrize("to", ["OpenAI", "", "vllm", "azure"])
    def test_unknown_target(self, to: Any) -> None:
        """Another target is refused, with those that there are, and for an engine with the one that it takes."""
        listed = "anthropic, bedrock, deepseek, gemini, litellm, openai, openai-responses"
        listed += "; an engine of your own takes what openai does" if to == "vllm" else ""
        with pytest.raises(MessageError, match=f"^cannot write a request for {to!r}; there are: {listed}$"):
            build_request("x", to=to, model="m")

    @pytest.mark.parametrize("model", ["", "  ", None, 5])
    def test_no_model(self, model: Any) -> None:
        """A request has a model."""
        for to in TARGETS:
            with pytest.raises(MessageError, match=r"^a request needs the name of its model$"):
                build_request("x", to=to, model=model)
        with pytest.raises(MessageError, match=r"^a request needs the name of its model$"):
            build_cached_content("x", model=model)


HEIC = {"type": "image_url", "image_url": {"url": f"data:image/heic;base64,{PIXEL}"}}
GIF = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}
USUAL = "it takes image/gif, image/jpeg, image/png, image/webp"
NO_ADDRESS = "takes no URL of an image; send its bytes as a data: URL"
BASE64 = {"type": "base64", "media_type": "image/png", "data": PIXEL}
IMAGES: list[tuple[str, dict[str, Any], Any]] = [
    ("anthropic", PNG, {"type": "image", "source": BASE64}),
    ("anthropic", LINKED, {"type": "image", "source": {"type": "url", "url": "https://example.com/boat.png"}}),
    ("anthropic", HEIC, f"anthropic takes no image/heic; {USUAL}"),
    ("bedrock", GIF, {"image": {"format": "gif", "source": {"bytes": PIXEL}}}),
    ("bedrock", LINKED, f"bedrock {NO_ADDRESS}"),
    ("bedrock", HEIC, f"bedrock takes no image/heic; {USUAL}"),
    ("deepseek", PNG, f"deepseek takes no images ({DATE})"),
    ("deepseek", LINKED, f"deepseek takes no images ({DATE})"),
    ("gemini", HEIC, {"inlineData": {"mimeType": "image/heic", "data": PIXEL}}),
    ("gemini", LINKED, f"gemini {NO_ADDRESS}"),
    ("gemini", GIF, "gemini takes no image/gif; it takes image/heic, image/heif, image/jpeg, image/png, image/webp"),
    ("litellm", PNG, PNG),
    ("litellm", LINKED, LINKED),
    ("litellm", HEIC, f"anthropic takes no image/heic; {USUAL}"),
    ("openai", PNG, PNG),
    ("openai", {"type": "image", "source": BASE64}, PNG),
    ("openai", LINKED, LINKED),
    ("openai", HEIC, f"openai takes no image/heic; {USUAL}"),
    ("openai-responses", PNG,
     {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"}),
    ("openai-responses", LINKED,
     {"type": "input_image", "detail": "auto", "image_url": "https://example.com/boat.png"}),
    ("openai-responses", HEIC, f"openai-responses takes no image/heic; {USUAL}"),
]  # fmt: skip


class TestImages:
    """Images in the form and of the types that each provider takes."""

    @pytest.mark.parametrize(("to", "image", "wanted"), IMAGES)
    def test_image(self, to: Target, image: dict[str, Any], wanted: Any) -> None:
        """An image is written the provider's way, or refused by its place with what would be taken."""
        message = {"role": "user", "content": ["See:", image]}
        if isinstance(wanted, str):
            with pytest.raises(MessageError, match=f"^{re.escape(f'messages[0].content[1]: {wanted}')}$"):
                build(to, message)
        else:
            (said,) = talk(build(to, message, marks="none"))
            assert (said.get("content") or said["parts"])[1] == wanted

    @pytest.mark.parametrize("to", ["openai", "litellm"])
    def test_of_a_tool_in_chat(self, to: Target) -> None:
        """Where a tool's message is text, its images follow as the user's, after all results."""
        call = {"role": "assistant", "tool_calls": CALLS}
        results = [
            {"role": "tool", "tool_call_id": "call_1", "content": ["See:", PNG, "There."]},
            {"role": "tool", "tool_call_id": "call_2", "content": [PNG]},
        ]
        request = build(to, GO, call, *results, tools=[LIST, LOOK], marks="none")
        assert talk(request)[2:] == [
            {"role": "tool", "tool_call_id": "call_1", "content": "See:\n\nThere."},
            {"role": "tool", "tool_call_id": "call_2", "content": ""},
            {"role": "user", "content": [PNG, PNG]},
        ]
        detail = "messages[3]: a tool result holds only text here: its images follow as the user's"
        assert details(request, "replaced") == [detail, detail]

    def test_of_a_tool_elsewhere(self) -> None:
        """Where a result holds images they stay in it; Gemini's result is text."""
        call, answer = use()
        messages = [GO, call, answer | {"content": ["See:", PNG]}]
        (result,) = talk(build("anthropic", *messages, marks="none"))[2]["content"]
        assert result["content"] == [{"type": "text", "text": "See:"}, {"type": "image", "source": BASE64}]
        item = talk(build("openai-responses", *messages, marks="none"))[2]
        assert [part["type"] for part in item["output"]] == ["input_text", "input_image"]
        expected = r"^messages\[2\]\.content\[0\]: a tool result is text for gemini; send an image as the user's$"
        with pytest.raises(MessageError, match=expected):
            build("gemini", *messages)
        with pytest.raises(MessageError, match=r"^messages\[2\]\.content\[0\]: deepseek takes no images "):
            build("deepseek", *messages)


SCHEMA = {"type": "object", "properties": {"boat": {"type": "string"}}}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"name": "look", "description": "Look.", "parameters": SCHEMA},
    "Anthropic's": {"name": "look", "description": "Look.", "input_schema": SCHEMA},
    "Anthropic's with a type": {"type": "custom", "name": "look", "description": "Look.", "input_schema": SCHEMA},
    "Anthropic's with no type": {"type": None, "name": "look", "description": "Look.", "input_schema": SCHEMA},
    "Chat Completions'": {
        "type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA},
    },
    "LiteLLM's with marks": {
        "type": "function", **MARK, "function": {"name": "look", "description": "Look.", "parameters": SCHEMA, **MARK},
    },
    "Responses'": {"type": "function", "name": "look", "description": "Look.", "parameters": SCHEMA},
    "MCP's": {
        "name": "look", "title": "Look", "description": "Look.", "inputSchema": SCHEMA, "outputSchema": None,
        "annotations": {"readOnlyHint": True}, "_meta": None,
    },
}  # fmt: skip
DEFINITIONS: dict[str, dict[str, Any]] = {
    "anthropic": {"name": "look", "description": "Look.", "input_schema": SCHEMA},
    "bedrock": {"toolSpec": {"name": "look", "description": "Look.", "inputSchema": {"json": SCHEMA}}},
    "deepseek": {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}},
    "gemini": {"functionDeclarations": [{"name": "look", "description": "Look.", "parametersJsonSchema": SCHEMA}]},
    "litellm": {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}},
    "openai": {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}},
    "openai-responses": {
        "type": "function", "name": "look", "description": "Look.", "parameters": SCHEMA, "strict": False,
    },
}  # fmt: skip
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
A_NAME = "[a-zA-Z0-9_-]{1,64}"
NAMES: list[tuple[str, str, str]] = [
    *((to, "a.b", A_NAME) for to in ("bedrock", "deepseek", "openai", "openai-responses")),
    *((to, "a" * 65, A_NAME) for to in ("bedrock", "deepseek", "openai", "openai-responses")),
    *((to, "boot\n", A_NAME) for to in ("bedrock", "deepseek", "openai", "openai-responses")),
    ("anthropic", "a.b", "[a-zA-Z0-9_-]{1,128}"),
    ("anthropic", "船", "[a-zA-Z0-9_-]{1,128}"),
    ("litellm", "a" * 129, "[a-zA-Z0-9_-]{1,128}"),
    ("gemini", "1a", "[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
]


def tools_of(request: Request) -> Any:
    """The definitions in a body."""
    return request.body.get("tools") or request.body["toolConfig"]["tools"]


class TestTools:
    """Definitions of tools in any shape, and the calls of them."""

    @pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
    @pytest.mark.parametrize("to", TARGETS)
    def test_shapes(self, to: Target, shape: dict[str, Any]) -> None:
        """However a tool is written, it is defined the provider's way, and nothing of another's is left in it."""
        assert tools_of(build(to, GO, tools=[shape], marks="none")) == [DEFINITIONS[to]]

    @pytest.mark.parametrize("to", TARGETS)
    def test_least(self, to: Target) -> None:
        """A name is enough; a schema that leaves out what some provider insists on gets it, at its end."""
        tools = [
            {"name": "a"},
            {"name": "b", "input_schema": {"title": "B"}},
            {"name": "c", "parameters": {"type": "array"}},
        ]
        defined = tools_of(build(to, GO, tools=tools, marks="none"))
        if to == "gemini":
            defined = defined[0]["functionDeclarations"]
        schemas = [json.dumps(schema) for one in defined for schema in containers(one) if schema.get("type") in (
            "object", "array")]  # fmt: skip
        assert schemas == [
            '{"type": "object", "properties": {}}',
            '{"title": "B", "type": "object", "properties": {}}',
            '{"type": "array"}',
        ]
        assert "description" not in json.dumps(defined)

    @pytest.mark.parametrize("to", TARGETS)
    def test_sorted(self, to: Target) -> None:
        """Tools are sent by name, in whatever order they come, so that the prefix is the same."""
        names = re.findall(r'"name": "(\w+)"', json.dumps(build(to, GO, tools=[LOOK, LIST]).body))
        assert names == ["list", "look"]
        assert build(to, GO, tools=[LOOK, LIST]).body == build(to, GO, tools=[LIST, LOOK]).body

    @pytest.mark.parametrize("to", TARGETS)
    def test_given_tools_win(self, to: Target) -> None:
        """Tools beside the prompt stand in place of its own, and none of them means none."""
        assert "look" not in json.dumps(build(to, GO, prompt=PROMPT, tools=[LIST]).body)
        assert "list" not in json.dumps(build(to, GO, prompt=PROMPT, tools=[]).body)

    def test_extras(self) -> None:
        """What a definition has beside the usual goes to the provider that it was written for, and to no other."""
        strict = {"type": "function", "function": {"name": "look", "parameters": SCHEMA, "strict": True}}
        late = {"name": "list", "input_schema": SCHEMA, "defer_loading": True}
        for to in TARGETS:
            text = json.dumps(build(to, GO, tools=[strict, late]).body)
            assert ('"strict": true' in text) == (to in ("openai", "openai-responses", "litellm", "deepseek"))
            assert ("defer_loading" in text) == (to == "anthropic")

    def test_native(self) -> None:
        """A tool that only its provider knows is sent there as it is, among the others by its name."""
        request = build("anthropic", GO, tools=[SEARCH | MARK, LIST, {"type": "mcp_toolset", "mcp_server_name": "b"}],
                        marks="none")  # fmt: skip
        assert request.body["tools"] == [LIST, {"type": "mcp_toolset", "mcp_server_name": "b"}, SEARCH]
        request = build("openai-responses", GO, tools=[{"type": "web_search"}])
        assert request.body["tools"] == [{"type": "web_search"}]

    @pytest.mark.parametrize("key", ["server_label", "mcp_server_name"])
    def test_two_servers(self, key: str) -> None:
        """Two entries without a name are told apart by their servers, and stand in those servers' order."""
        one, two = {"type": "mcp", key: "a"}, {"type": "mcp", key: "b"}
        assert build("openai-responses", GO, tools=[two, one]).body["tools"] == [one, two]
        with pytest.raises(ToolError, match=r"^two tools are called 'mcp a'; a name may stand once in a request$"):
            build("openai-responses", GO, tools=[one, one])

    @pytest.mark.parametrize("to", ["bedrock", "deepseek", "gemini", "litellm", "openai"])
    def test_native_elsewhere(self, to: Target) -> None:
        """A provider without such tools gets none."""
        expected = rf"^tool 'web_search' of type 'web_search_20250305' is not one that {OWNERS[to]} takes$"
        with pytest.raises(ToolError, match=expected):
            build(to, GO, tools=[SEARCH])

    @pytest.mark.parametrize(
        ("tools", "error"),
        [
            ([LIST, {"name": "list"}], "two tools are called 'list'; a name may stand once in a request"),
            ([SEARCH, {"name": "web_search"}], "two tools are called 'web_search'; a name may stand once in a request"),
            (["list"], "a tool is a mapping with a name, not str"),
            ([None], "a tool is a mapping with a name, not NoneType"),
            ({"name": "list"}, "a tool is a mapping with a name, not str"),
            ([{}], "a tool needs a name, as 'name' or 'function.name': {'name': None}"),
            ([{"type": "function", "function": {}}],
             "a tool needs a name, as 'name' or 'function.name': {'name': None}"),
            ([{"name": ""}], "a tool needs a name, as 'name' or 'function.name': {'name': ''}"),
            ([{"type": "web_search", "name": 5}],
             "a tool needs a name, as 'name' or 'function.name': {'name': 5}"),
            ([{"type": 5, "name": "list"}], "the type of a tool is text, not 5"),
            ([{"type": ["function"], "name": "list"}], "the type of a tool is text, not ['function']"),
            ([{"name": "list", "description": 5}], "tool 'list': its description is text and its schema an object"),
            ([{"name": "list", "parameters": "x"}], "tool 'list': its description is text and its schema an object"),
            ([{"name": "list", "inputSchema": [1]}], "tool 'list': its description is text and its schema an object"),
            ([{"name": "list", "parameters": {"x": {1}}}],
             "a tool is not JSON: Object of type set is not JSON serializable"),
            ([{"name": "list", "parameters": {"x": float("inf")}}],
             "a tool is not JSON: Out of range float values are not JSON compliant"),
            ([{"name": "list", (1,): 2}],
             "a tool is not JSON: keys must be str, int, float, bool or None, not tuple"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("to", TARGETS)
    def test_wrong(self, to: Target, tools: Any, error: str) -> None:
        """A definition that is none is refused."""
        with pytest.raises(ToolError, match=f"^{re.escape(error)}(: inf)?$"):  # from Python 3.12 on it is told
            build(to, GO, tools=tools)

    @pytest.mark.parametrize("key", ["schema", "input_schem", "inputschema"])
    def test_a_schema_under_another_name(self, key: str) -> None:
        """It would be left out, and the tool have no arguments; what a result looks like is something else."""
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        with pytest.raises(ToolError) as found:
            build("openai", GO, tools=[{"name": "read", key: schema}])
        read_as = "input_schema, parameters, inputSchema"
        assert str(found.value) == f"tool 'read': its schema is called {key!r}; it is read as {read_as}"
        build("openai", GO, tools=[{"name": "read", "outputSchema": schema}])

    def test_nested_too_deeply(self) -> None:
        """Nesting that Python cannot follow is no JSON either."""
        schema: dict[str, Any] = {}
        for _ in range(200_000):
            schema = {"a": schema}
        with pytest.raises(ToolError, match=r"^a tool is not JSON: nested too deeply$"):
            build("openai", GO, tools=[{"name": "list", "parameters": schema}])

    @pytest.mark.parametrize(("to", "name", "pattern"), NAMES)
    def test_names(self, to: Target, name: str, pattern: str) -> None:
        """A name that the provider refuses is an error, in a definition and in a call, with what it takes."""
        takes = re.escape(f"{OWNERS[to]} takes names like {pattern}")
        with pytest.raises(ToolError, match=rf"^tool {name!r}: {takes}$".replace("\\n", r"\\n")):
            build(to, GO, tools=[{"name": name}])
        with pytest.raises(
            MessageError,
            match=rf"^messages\[1\](\.content\[0\])?: tool call 'a' is of {name!r}: {takes}$".replace("\\n", r"\\n"),
        ):
            build(to, GO, *use(name), tools=[LIST])

    def test_names_of_gemini(self) -> None:
        """Gemini takes more than others."""
        assert "mcp.look:a-b" in json.dumps(
            build("gemini", GO, *use("mcp.look:a-b"), tools=[{"name": "mcp.look:a-b"}]).body
        )

    @pytest.mark.parametrize("call_id", ["a|b", "a b", "船", "x" * 65, "a\nb"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_ids(self, to: Target, call_id: str) -> None:
        """An id that a provider refuses is another one, always the same, in the call and in its result."""
        first, second = (build(to, GO, *use(call_id=call_id), *more, tools=[LOOK]) for more in ([], [YES, GO]))
        ids = re.findall(r'"(?:id|call_id|tool_use_id|tool_call_id|toolUseId)": "(.*?)"', json.dumps(first.body))
        assert len(ids) == 2
        assert ids[0] == ids[1]
        own = json.dumps(call_id)[1:-1]
        assert ids[0] == own or re.fullmatch("call_[0-9a-f]{24}", ids[0])
        kept = {"anthropic": [], "bedrock": [], "litellm": []}.get(to, ["a|b", "a b", "船"])
        if OWNERS[to] == "anthropic":
            kept = ["x" * 65]
        assert (ids[0] == own) == (call_id in kept)
        assert ids[0] in json.dumps(second.body)

    @pytest.mark.parametrize("to", ["anthropic", "bedrock", "gemini"])
    def test_arguments_as_an_object(self, to: Target) -> None:
        """Where arguments are an object they must be one."""
        expected = r"^messages\[1\]\.content\[0\]: the arguments of tool call 'a' are not a JSON object$"
        with pytest.raises(MessageError, match=expected):
            build(to, GO, *use(arguments="{broken"), tools=[LOOK])
        assert '{"a": 1}' in json.dumps(build(to, GO, *use(arguments='{"a":1}'), tools=[LOOK]).body)

    @pytest.mark.parametrize("to", ["deepseek", "litellm", "openai", "openai-responses"])
    @pytest.mark.parametrize(
        ("given", "sent"), [('{ "b":1,"a":2 }', '{ "b":1,"a":2 }'), ("", "{}"), ("{broken", "{broken")]
    )
    def test_arguments_as_a_text(self, to: Target, given: str, sent: str) -> None:
        """Where arguments are a text they stay what the model wrote, and an empty one is an empty object."""
        message = talk(build(to, GO, *use(arguments=given), tools=[LOOK]))[1]
        call = message if to == "openai-responses" else message["tool_calls"][0]["function"]
        assert call["arguments"] == sent

    @pytest.mark.parametrize(("to", "model"), [("bedrock", "nova-pro"), ("litellm", "bedrock/claude-opus-5-5")])
    def test_bedrock_without_tools(self, to: Target, model: str) -> None:
        """Bedrock refuses a history of tool calls without the tools, and LiteLLM refuses it for Bedrock."""
        expected = r"^bedrock refuses a conversation with tool calls without their tools; pass them as tools$"
        with pytest.raises(ToolError, match=expected):
            build(to, GO, *use(), model=model)
        assert build(to, GO, *use(), model=model, tools=[LOOK]).body
        assert "tool" not in json.dumps(build(to, GO, model=model).body)

    @pytest.mark.parametrize("to", [to for to in TARGETS if to != "bedrock"])
    def test_others_without_tools(self, to: Target) -> None:
        """Elsewhere a history may have calls of tools that are no more."""
        assert "red" in json.dumps(build(to, GO, *use()).body)

    @pytest.mark.parametrize(
        ("to", "wanted"),
        [
            ("anthropic", '"is_error": true'), ("bedrock", '"status": "error"'), ("gemini", '{"error": "no boat"}'),
            ("openai", '"content": "no boat"'), ("openai-responses", '"text": "no boat"'),
        ],
    )  # fmt: skip
    def test_failed(self, to: Target, wanted: str) -> None:
        """A result that is an error says so where there is a field for it."""
        block = {"type": "tool_result", "tool_use_id": "a", "content": "no boat", "is_error": True}
        request = build(to, GO, use()[0], {"role": "user", "content": [block]}, tools=[LOOK], marks="none")
        assert wanted in json.dumps(request.body)

    def test_results_and_more(self) -> None:
        """What a user says beside results follows them."""
        block = {"type": "tool_result", "tool_use_id": "a", "content": "red"}
        messages = [GO, use()[0], {"role": "user", "content": ["And Fram?", block]}]
        assert [message["role"] for message in talk(build("openai", *messages))] == [
            "user",
            "assistant",
            "tool",
            "user",
        ]
        items = talk(build("openai-responses", *messages))
        assert [item.get("type", item.get("role")) for item in items] == [
            "user", "function_call", "function_call_output", "user",
        ]  # fmt: skip
        kinds = [part["type"] for part in talk(build("anthropic", *messages))[2]["content"]]
        assert kinds == ["tool_result", "text"]

    @pytest.mark.parametrize(
        ("model", "signatures"), [("gemini-3.8-flash", [SKIPPED, "c2ln"]), ("gemini-2.5-pro", [None, "c2ln"])]
    )
    def test_signatures(self, model: str, signatures: list[str | None]) -> None:
        """Gemini's own signature comes back; where one is insisted on, another model's first call has a stand-in."""
        signed = use(call_id="c")
        signed[0]["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "c2ln"}}
        call = {"role": "assistant", "tool_calls": CALLS}
        answers = [{"role": "tool", "tool_call_id": name, "content": "red"} for name in ("call_1", "call_2")]
        parts = [
            part
            for message in talk(build("gemini", GO, call, *answers, *signed, model=model))
            for part in message["parts"]
            if "functionCall" in part
        ]
        assert [part.get("thoughtSignature") for part in parts] == [signatures[0], None, signatures[1]]
        text = json.dumps(build("litellm", GO, *signed, model="gemini/gemini-3.8-flash").body)
        assert '"provider_specific_fields": {"thought_signature": "c2ln"}' in text
        assert "c2ln" not in json.dumps(build("openai", GO, *signed).body)


DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Fram"}}
SERVER_USE = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "Fram"}}


class TestNative:
    """Blocks that only some provider knows."""

    @pytest.mark.parametrize(
        ("to", "block"),
        [
            ("anthropic", DOCUMENT),
            ("litellm", DOCUMENT),
            ("openai", {"type": "file", "file": {"file_id": "f"}}),
            ("openai-responses", {"type": "input_file", "file_id": "f"}),
        ],
    )
    def test_taken(self, to: Target, block: dict[str, Any]) -> None:
        """A block that the provider knows is sent as it is."""
        (message,) = talk(build(to, {"role": "user", "content": [block]}, marks="none"))
        assert message["content"] == [block]

    @pytest.mark.parametrize("to", [to for to in TARGETS if to not in ("anthropic", "litellm")])
    def test_refused(self, to: Target) -> None:
        """Another's is refused in what the user says and in what a tool gave; in a response it is left out."""
        with pytest.raises(
            MessageError, match=rf"^messages\[0\]\.content\[0\]: {to} takes no block of type 'document'; "
        ):
            build(to, {"role": "user", "content": [DOCUMENT]})
        call, answer = use()
        expected = {
            "bedrock": r"messages\[2\]\.content\[0\]: bedrock takes no block of type 'document'; ",
            "gemini": r"messages\[2\]\.content\[0\]: a tool result is text for gemini; send an image as the user's",
            "openai-responses": r"messages\[2\]: openai-responses takes no block of type 'document'; ",
        }.get(to, rf"messages\[2\]: a tool result is text or images for {to}")
        with pytest.raises(MessageError, match=f"^{expected}"):
            build(to, GO, call, answer | {"content": [DOCUMENT]}, tools=[LOOK])
        request = build(to, GO, {"role": "assistant", "content": [SERVER_USE, "Yes.", SERVER_USE]}, GO)
        assert "srv_1" not in json.dumps(request.body)
        assert "Yes." in json.dumps(request.body)
        left_out = Note("skipped", "messages[1]", f"{to} takes no block of type 'server_tool_use': left out", count=2)
        assert left_out in request.notes

    def test_of_the_assistant(self) -> None:
        """What Anthropic's own tools did comes back to Anthropic; no part of LiteLLM's message holds it."""
        message = {"role": "assistant", "content": [SERVER_USE, "Yes."]}
        assert talk(build("anthropic", GO, message, GO))[1]["content"][0] == SERVER_USE
        request = build("litellm", GO, message, GO)
        assert talk(request)[1] == {"role": "assistant", "content": "Yes."}
        assert details(request, "skipped") == [
            "messages[1]: anthropic takes no block of type 'server_tool_use': left out"
        ]


UNREAD = "messages[1]: {} cannot read this reasoning: left out"


class TestReasoning:
    """Reasoning goes back to who can read it."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_signed(self, to: Target) -> None:
        """Anthropic's comes back to Anthropic, by whichever way; elsewhere it is left out, with a note."""
        redacted = {"type": "redacted_thinking", "data": "c2VjcmV0"}
        request = build(to, GO, {"role": "assistant", "content": [SIGNED, redacted, "Yes."]}, GO)
        message = talk(request)[1]
        if to == "anthropic":
            assert message["content"] == [SIGNED, redacted, {"type": "text", "text": "Yes."}]
        elif to == "bedrock":
            assert message["content"] == [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
                {"text": "Yes."},
            ]
        elif to == "litellm":
            assert message == {"role": "assistant", "content": "Yes.", "thinking_blocks": [SIGNED, redacted]}
        else:
            assert "Hm." not in json.dumps(request.body)
            assert (
                Note("skipped", "messages[1]", f"{to} cannot read this reasoning: left out", count=2) in request.notes
            )

    @pytest.mark.parametrize(
        "message",
        [
            {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, "Yes."]},
        ],
        ids=["DeepSeek's", "unsigned"],
    )
    @pytest.mark.parametrize("to", TARGETS)
    def test_plain(self, to: Target, message: dict[str, Any]) -> None:
        """Reasoning without a signature goes to DeepSeek, which insists on it, and to nobody else."""
        request = build(to, GO, message, GO)
        if to == "deepseek":
            assert talk(request)[1] == {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
            assert details(request, "skipped") == []
        else:
            assert "Hm." not in json.dumps(request.body)
            assert details(request, "skipped") == [UNREAD.format(OWNERS[to])]

    @pytest.mark.parametrize("to", ["anthropic", "bedrock", "litellm"])
    def test_at_the_end(self, to: Target) -> None:
        """Reasoning that neither text nor a call follows would be refused: it is left out, with a note."""
        request = build(to, GO, {"role": "assistant", "content": [SIGNED, "Yes.", SIGNED, " ", SIGNED]}, GO)
        assert json.dumps(request.body).count("Hm.") == 1
        assert details(request, "skipped") == [
            "messages[1]: blank text", "messages[1]: reasoning without a response after it: left out",
        ]  # fmt: skip
        request = build(to, GO, {"role": "assistant", "content": [SIGNED]}, GO)
        assert "Hm." not in json.dumps(request.body)
        assert {message["role"] for message in talk(request)} == {"user"}

    @pytest.mark.parametrize("to", ["deepseek", "openai", "openai-responses"])
    def test_alone(self, to: Target) -> None:
        """A message of nothing but reasoning is no message."""
        request = build(to, GO, {"role": "assistant", "content": [SIGNED], "reasoning_content": "Hm."}, GO)
        assert [message["role"] for message in talk(request)] == ["user", "user"]
        assert "messages[1]: only blank text: left out" in details(request, "skipped")

    def test_before_a_call(self) -> None:
        """Reasoning before a call stays before it."""
        call, answer = use()
        (thinking, tool_use) = talk(build("anthropic", GO, call | {"content": [SIGNED]}, answer))[1]["content"]
        assert (thinking, tool_use["type"]) == (SIGNED, "tool_use")
        message = talk(build("deepseek", GO, call | {"reasoning_content": "Hm."}, answer))[1]
        assert (message["content"], message["reasoning_content"]) == (None, "Hm.")

    def test_not_base64(self) -> None:
        """Bedrock takes bytes for what Anthropic redacted."""
        message = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "not base64!"}, "Yes."]}
        expected = r"^messages\[1\]\.content\[0\]: the data of redacted_thinking is not base64$"
        with pytest.raises(MessageError, match=expected):
            build("bedrock", GO, message, GO)


SYSTEM = {"role": "system", "content": "The tide rises."}
MOVED = "messages[{}]: {} takes no system message here: sent as the user's"


class TestSystem:
    """The system prompt, and system messages inside a conversation."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_pieces(self, to: Target) -> None:
        """System messages at the front join the prompt, in texts of their own or apart from each other."""
        front = [{"role": "system", "content": "One."}, {"role": "developer", "content": ["Two.", " "]}]
        request = build(to, *front, GO, prompt="Zero.", marks="none")
        body = request.body
        parts = {
            "anthropic": body.get("system"),
            "bedrock": body.get("system"),
            "gemini": body.get("systemInstruction", {}).get("parts"),
        }.get(to) or (body.get("messages") or body["input"])[0]["content"]
        if to in ("gemini", "deepseek"):
            assert parts in ("Zero.\n\nOne.\n\nTwo.", [{"text": "Zero.\n\nOne.\n\nTwo."}])
        else:
            assert [part["text"] for part in parts] == ["Zero.", "One.", "Two."]
        assert len(talk(request)) == 1

    def test_a_list_for_a_prompt(self) -> None:
        """A message array is a prompt and its messages in one."""
        front = {"role": "system", "content": "You are Ada."}
        request = build_request([front, GO], to="anthropic", model="claude-opus-5-5", facts=FACTS, marks="none")
        assert request.body == build("anthropic", GO, marks="none").body

    @pytest.mark.parametrize(
        ("to", "model", "role"),
        [
            ("anthropic", "claude-opus-5-5", "system"),
            ("anthropic", "claude-sonnet-5", "user"),
            ("bedrock", "claude-opus-5-5", "user"),
            ("deepseek", "deepseek-v4-pro", "system"),
            ("gemini", "gemini-3.8-flash", "user"),
            ("litellm", "anthropic/claude-opus-5-5", "user"),
            ("litellm", "openai/gpt-5.6", "developer"),
            ("litellm", "made-up", "system"),
            ("openai", "gpt-5.6", "developer"),
            ("openai", "gpt-4o", "system"),
            ("openai-responses", "gpt-5.6", "developer"),
        ],
    )
    def test_inside(self, to: Target, model: str, role: str) -> None:
        """Where a system message may stand inside a conversation it does; elsewhere it is the user's, with a note."""
        request = build(to, GO, YES, {"role": "user", "content": "Now?"}, SYSTEM, model=model)
        (message,) = [message for message in talk(request) if "The tide rises." in json.dumps(message)]
        assert message["role"] == role
        moved = [MOVED.format(3, request.rules.provider)] if role == "user" else []
        assert details(request, "replaced") == moved

    @pytest.mark.parametrize(
        ("messages", "roles"),
        [
            ([GO, SYSTEM], ["user", "system"]),
            ([GO, SYSTEM, YES, GO], ["user", "system", "assistant", "user"]),
            ([GO, SYSTEM, GO], ["user", "user", "user"]),
            ([GO, YES, SYSTEM, GO], ["user", "assistant", "user", "user"]),
            ([GO, SYSTEM, SYSTEM], ["user", "user", "user"]),
            ([*use(), SYSTEM], ["user", "assistant", "user", "system"]),
            ([GO, YES, {"role": "user", "content": " "}, SYSTEM], ["user", "assistant", "user"]),
            ([GO, SYSTEM, {"role": "assistant", "content": ""}, GO], ["user", "user", "user"]),
        ],
    )  # fmt: skip
    def test_where_anthropic_takes_it(self, messages: list[Any], roles: list[str]) -> None:
        """It follows what the user said and is last or answered, whatever blank messages stood between."""
        assert [message["role"] for message in talk(build("anthropic", *messages))] == roles

    def test_stretches(self) -> None:
        """The prompt is cut where its pace changes; blank text stays with what stands before it."""
        parts = [
            ("\n", Pace.RELEASE), ("a", Pace.RELEASE), ("b", Pace.RELEASE), ("", Pace.PROJECT), ("c", Pace.PROJECT),
            ("\n\n", Pace.SESSION), ("d", Pace.SESSION), (" ", Pace.TURN), ("e", Pace.TURN),
        ]  # fmt: skip
        prompt = Prompt(tuple(Part(str(number), *part, "test") for number, part in enumerate(parts)))
        system = build("anthropic", GO, prompt=prompt, marks="none").body["system"]
        assert [block["text"] for block in system] == ["\nab", "c\n\n", "d ", "e"]
        assert "".join(block["text"] for block in system) == prompt.text

    def test_blank_at_first(self) -> None:
        """Blank text at the front stays with what follows, at that one's pace."""
        parts = (Part("gap", "\n", Pace.RELEASE, "test"), Part("a", "a", Pace.TURN, "test"))
        request = build("anthropic", GO, prompt=Prompt(parts))
        assert [block["text"] for block in request.body["system"]] == ["\na"]
        assert [mark.place for mark in request.marks] == ["messages[0].content[0]"]

    def test_boundary(self) -> None:
        """All behind the boundary changes with the turn, whatever its parts say."""
        parts = (
            Part("a", "a", Pace.PROJECT, "test"),
            Part("boundary", "===", Pace.PROJECT, "test"),
            Part("b", "b", Pace.PROJECT, "test"),
        )
        request = build("anthropic", GO, prompt=Prompt(parts))
        assert [block["text"] for block in request.body["system"]] == ["a", "===b"]
        assert [mark.place for mark in request.marks] == ["system[0]", "messages[0].content[0]"]

    def test_behind_what_changes(self) -> None:
        """A system message behind a suffix that changes with the turn changes with it, and gets no mark."""
        request = build("anthropic", {"role": "system", "content": "More."}, GO, prompt=PROMPT, tools=[])
        assert [block["text"] for block in request.body["system"]][3:] == ["More."]
        assert "system[3]" not in [mark.place for mark in request.marks]

    @pytest.mark.parametrize("to", TARGETS)
    def test_pace(self, to: Target) -> None:
        """A suffix that changes with the turn costs the cache of all messages, and a note says so."""
        detail = (
            "it changes with the turn, and whenever it does, nothing after it is read from the cache; "
            "a Session sends it at the end of the conversation"
        )
        assert details(build(to, GO, prompt=PROMPT), "pace") == [f"the end of the system prompt: {detail}"]
        assert details(build(to, prompt=PROMPT), "pace") == []
        assert details(build(to, GO), "pace") == []

    def test_messages_of_a_prompt(self) -> None:
        """The messages that a prompt brings stand before those that are given."""
        prompt = compose_messages(TieredContext("You are Ada.", file_tree=["fram.py"], user_prompt="Look."))
        messages = talk(build("openai", YES, GO, prompt=prompt, model="gpt-4o"))
        assert [message["content"] for message in messages[-3:]] == ["Look.", "Yes.", "Go."]


class TestRoles:
    """Neighbours of one role."""

    @pytest.mark.parametrize(("to", "roles"), [
        ("anthropic", ["user", "user", "assistant", "assistant", "user"]),
        ("bedrock", ["user", "assistant", "user"]),
        ("deepseek", ["user", "user", "assistant", "assistant", "user"]),
        ("gemini", ["user", "model", "user"]),
        ("litellm", ["user", "user", "assistant", "assistant", "user"]),
        ("openai", ["user", "user", "assistant", "assistant", "user"]),
        ("openai-responses", ["user", "user", "assistant", "assistant", "user"]),
    ])  # fmt: skip
    def test_neighbours(self, to: Target, roles: list[str]) -> None:
        """They become one message where roles must take turns, and stay apart elsewhere."""
        request = build(to, GO, GO, YES, YES, GO, marks="none")
        assert [message["role"] for message in talk(request)] == roles
        assert json.dumps(request.body).count("Go.") == 3


class TestOptions:
    """What else a request can say."""

    @pytest.mark.parametrize(
        ("to", "wanted"),
        [
            ("anthropic", {"max_tokens": 9}), ("bedrock", {"inferenceConfig": {"maxTokens": 9}}),
            ("deepseek", {"max_tokens": 9}), ("gemini", {"generationConfig": {"maxOutputTokens": 9}}),
            ("litellm", {"max_tokens": 9}), ("openai", {"max_completion_tokens": 9}),
            ("openai-responses", {"max_output_tokens": 9}),
        ],
    )  # fmt: skip
    def test_max_tokens(self, to: Target, wanted: dict[str, Any]) -> None:
        """The limit of the answer has each provider's name; where one is insisted on, there always is one."""
        assert wanted.items() <= build(to, GO, max_tokens=9).body.items()
        unlimited = build(to, GO).body
        assert {key: unlimited[key] for key in wanted if key in unlimited} == (
            {"max_tokens": 4096} if to == "anthropic" else {}
        )

    @pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "9"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_wrong_max_tokens(self, to: Target, wrong: Any) -> None:
        """It is a whole number."""
        with pytest.raises(MessageError, match=f"^max_tokens is a whole number from 1 on, not {wrong!r}$"):
            build(to, GO, max_tokens=wrong)

    @pytest.mark.seed("000.27")
    @pytest.mark.parametrize("to", TARGETS)
    def test_stream(self, to: Target) -> None:
        """A stream is asked for in the body, usage with it; where another method streams, a note says so."""
        request = build(to, GO, stream=True)
        if to in ("bedrock", "gemini"):
            assert request.body == build(to, GO).body
            detail = f"{to} streams by another method, which takes the same request"
            assert details(request, "kept") == [f"stream: {detail}"]
        else:
            asked: dict[str, Any] = {"stream": True}
            if to in ("deepseek", "litellm", "openai"):
                asked["stream_options"] = {"include_usage": True}
            assert request.body == build(to, GO).body | asked
            assert details(request, "kept") == []

    @pytest.mark.parametrize("to", TARGETS)
    def test_cache_key(self, to: Target) -> None:
        """OpenAI takes a key; for others a note says that it was left out."""
        request = build(to, GO, cache_key="tenant-42")
        if to.startswith("openai"):
            assert request.body == build(to, GO).body | {"prompt_cache_key": "tenant-42"}
        else:
            assert request.body == build(to, GO).body
            assert f"cache_key: {OWNERS[to]} takes none: left out" in details(request, "cache")
        assert "cache_key" not in str(build(to, GO).notes)

    @pytest.mark.parametrize("marks", ["all", "None", None, 4])
    @pytest.mark.parametrize("to", TARGETS)
    def test_wrong_marks(self, to: Target, marks: Any) -> None:
        """Whose marks are put is one of a few words."""
        with pytest.raises(
            MessageError, match=f"^marks is one of '', 'auto', 'automatic', 'own', 'none', not {marks!r}$"
        ):
            build(to, GO, marks=marks)

    @pytest.mark.parametrize("to", TARGETS)
    def test_no_marks(self, to: Target) -> None:
        """Without marks there are none, not even the caller's."""
        request = build(to, GO | MARK, prompt=PROMPT, marks="none")
        assert request.marks == ()
        assert not re.search("cache_control|cachePoint|breakpoint", json.dumps(request.body))

    @pytest.mark.parametrize("option", ["lifetime", "prefix_lifetime"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_wrong_lifetimes(self, to: Target, option: str) -> None:
        """A lifetime that the provider does not have is refused, or noted where there are none at all."""
        who = f"{OWNERS[to]} ({MODELS[to]}, {DATE})"
        if to in ("deepseek", "gemini"):
            request = build(to, GO, **{option: "2h"})
            assert f"lifetime: {who} takes no lifetimes: '2h' has no effect" in details(request, "cache")
            return
        has = {"openai": "30m", "openai-responses": "30m, 12h"}.get(to, "5m, 1h")
        with pytest.raises(MessageError, match="^" + re.escape(f"{who} has no lifetime '2h'; it has {has}") + "$"):
            build(to, GO, **{option: "2h"})

    @pytest.mark.parametrize(
        ("to", "wanted"),
        [
            ("anthropic", {"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
            ("bedrock", {"cachePoint": {"type": "default", "ttl": "1h"}}),
            ("litellm", {"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
            ("openai-responses", {"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}),
        ],
    )
    def test_lifetimes(self, to: Target, wanted: dict[str, Any]) -> None:
        """A longer lifetime is said in the mark; the provider's own needs no words."""
        (longer,) = re.findall(r"\d+h", json.dumps(wanted))
        text = json.dumps(build(to, GO, prefix_lifetime=longer).body)
        assert json.dumps(wanted)[1:-1] in text
        assert text.count(longer) == 1

    @pytest.mark.parametrize("wrong", [-1, True, 1.5, "1"])
    @pytest.mark.parametrize("to", TARGETS)
    def test_wrong_sent(self, to: Target, wrong: Any) -> None:
        """How many messages were sent is a number."""
        with pytest.raises(MessageError, match=f"^sent is how many messages were sent before, not {wrong!r}$"):
            build(to, GO, sent=wrong)

    @pytest.mark.parametrize(
        ("messages", "sent", "places"),
        [
            ([GO], None, [0]),
            ([GO, YES, GO], None, [0, 2]),
            ([GO, YES, YES, GO], None, [0, 3]),
            ([YES, GO], None, [2]),
            ([GO, YES, GO], 0, [2]),
            ([GO, YES, GO, GO], 3, [2, 3]),
            ([GO, YES, GO], 99, [2]),
        ],
    )
    def test_sent(self, messages: list[Any], sent: int | None, places: list[int]) -> None:
        """Where the previous request ended is said, or taken to be before the last answer."""
        request = build("anthropic", *messages, prompt="", sent=sent)
        assert [mark.place for mark in request.marks] == [f"messages[{place}].content[0]" for place in places]

    @pytest.mark.parametrize("to", TARGETS)
    def test_too_small(self, to: Target) -> None:
        """A request that is too small to be cached says so."""
        least = {"deepseek": "", "gemini": "4,096", "openai": "1,024", "openai-responses": "1,024"}.get(to, "512")
        request = build(to, GO, marks="none")
        detail = f"request: about {request.tokens} tokens; {to} caches nothing below {least} ({DATE})"
        assert details(request, "cache") == ([detail] if least else [])


class TestLiteLLM:
    """The marks that survive LiteLLM, route by route."""

    @pytest.mark.parametrize(
        ("model", "mark"),
        [
            ("anthropic/claude-opus-5-5", "cache_control"),
            ("vertex_ai/claude-opus-5-5", "cache_control"),
            ("bedrock/eu.anthropic.claude-opus-5-5-v1:0", "cache_control"),
            ("claude-opus-5-5", "cache_control"),
            ("openai/gpt-5.6", "prompt_cache_breakpoint"),
            ("openai/gpt-4o", ""),
            ("deepseek/deepseek-v4-pro", ""),
            ("gemini/gemini-3.8-flash", ""),
            ("hosted_vllm/qwen", ""),
            ("made-up", ""),
        ],
    )
    def test_marks(self, model: str, mark: str) -> None:
        """Each route has the kind of mark that LiteLLM keeps for it, or none."""
        text = json.dumps(build("litellm", GO, prompt=PROMPT, model=model).body)
        assert {name for name in ("cache_control", "prompt_cache_breakpoint") if name in text} == {mark} - {""}

    def test_marked_tools(self) -> None:
        """Where Anthropic answers, the last tool and a tool's message may carry a mark too."""
        request = build("litellm", GO, *use(), prompt="", tools=[LIST, LOOK])
        assert [("cache_control" in tool) for tool in request.body["tools"]] == [False, True]
        assert request.body["messages"][-1] == {"role": "tool", "tool_call_id": "a", "content": "red"} | MARK

    @pytest.mark.parametrize("model", ["gemini/gemini-3.8-flash", "anthropic/claude-opus-5-5"])
    def test_turns(self, model: str) -> None:
        """A conversation is what the provider behind the route insists on."""
        (first, *_) = talk(build("litellm", YES, GO, model=model))
        assert OPENING in json.dumps(first)

    @pytest.mark.parametrize("model", ["openai/gpt-5.6", "made-up"])
    def test_as_it_is(self, model: str) -> None:
        """Where nobody insists, it is sent as it is."""
        assert [message["role"] for message in talk(build("litellm", YES, GO, YES, model=model))] == [
            "assistant", "user", "assistant",
        ]  # fmt: skip


def cached(prompt: Any, *messages: Any, **options: Any) -> Request:
    """The request that makes cached content."""
    given: dict[str, Any] = {"model": "gemini-3.8-flash", "facts": FACTS} | options
    return build_cached_content(prompt, messages, **given)


class TestCachedContent:
    """Gemini's cached content, and the requests that go on after it."""

    @pytest.mark.parametrize("ttl", ["1d", "", "3600", "s", "-1s", "٣s", "1.s", -3600, True, None])
    def test_wrong_ttl(self, ttl: Any) -> None:
        """Its lifetime is a number of seconds."""
        with pytest.raises(
            MessageError, match=f"^ttl is a number of seconds, or such as '3600s', '10m' or '1h', not {ttl!r}$"
        ):
            cached("x", ttl=ttl)

    @pytest.mark.parametrize("ttl", ["300s", "1.5s"])
    def test_ttl(self, ttl: str) -> None:
        """It is the last field of the body; the model is the first, by its full name."""
        assert list(cached("x", ttl=ttl, model="models/gemini-3.8-flash").body.items()) == [
            ("model", "models/gemini-3.8-flash"), ("systemInstruction", {"parts": [{"text": "x"}]}), ("ttl", ttl),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("name", "to", "error"),
        [
            ("x1", "gemini", "the name of cached content is cachedContents/ID, not 'x1'"),
            (5, "gemini", "the name of cached content is cachedContents/ID, not 5"),
            *(
                ("cachedContents/x1", to, f"cached content is Gemini's; {to} takes none")
                for to in TARGETS
                if to != "gemini"
            ),
        ],
    )
    def test_wrong_name(self, name: Any, to: Target, error: str) -> None:
        """Only Gemini has it, under a name of its own."""
        with pytest.raises(MessageError, match=f"^{re.escape(error)}$"):
            build(to, GO, cached_content=name)

    @pytest.mark.parametrize("name", ["cachedContents/x1", "projects/p/locations/eu/cachedContents/x1"])
    def test_name(self, name: str) -> None:
        """A request names it, and has neither a system instruction nor tools, which are in it."""
        body = build("gemini", GO, tools=[LIST], cached_content=name, max_tokens=9).body
        assert body == {
            "cachedContent": name,
            "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "generationConfig": {"maxOutputTokens": 9},
        }

    def test_split(self) -> None:
        """What is cached and what follows are the whole conversation, once; the cache ends on the user's turn."""
        messages = [GO, YES, {"role": "user", "content": "Now?"}, YES | MARK, {"role": "user", "content": "And?"}]
        first = cached("x", *messages).body["contents"]
        rest = build("gemini", *messages, prompt="x", cached_content="cachedContents/x1").body["contents"]
        assert [content["role"] for content in first + rest] == ["user", "model", "user", "model", "user"]
        assert [content["role"] for content in first][-1] == "user"
        assert first + rest == build("gemini", *messages, prompt="x").body["contents"]

    def test_what_changes(self) -> None:
        """What changes in the system prompt is not cached: it opens what follows, and a note says so."""
        detail = "system: the part of the system prompt that changes opens the conversation instead"
        request = cached(PROMPT)
        assert "tide" not in json.dumps(request.body)
        assert details(request, "replaced") == [detail]
        request = build(
            "gemini", {"role": "system", "content": "More."}, GO, prompt=PROMPT, cached_content="cachedContents/x1"
        )
        parts = [{"text": "The tide is low.\n\n\nMore."}, {"text": "Go."}]
        assert request.body["contents"] == [{"role": "user", "parts": parts}]
        assert details(request, "replaced") == [detail]
        assert details(request, "pace") == []
        (alone,) = build("gemini", prompt=PROMPT, cached_content="cachedContents/x1").body["contents"]
        assert alone == {"role": "user", "parts": [{"text": "The tide is low.\n"}]}

    def test_starts_with_the_assistant(self) -> None:
        """A user's message stands before the assistant's at the start of the conversation, and only there."""
        messages = [YES, GO | MARK, YES, GO]
        first = cached("x", *messages).body["contents"]
        assert [content["role"] for content in first] == ["user", "model", "user"]
        assert first[0]["parts"] == [{"text": OPENING}]
        rest = build("gemini", *messages, cached_content="cachedContents/x1").body["contents"]
        assert [content["role"] for content in rest] == ["model", "user"]
        unmarked = build("gemini", YES, GO, cached_content="cachedContents/x1").body["contents"]
        assert [content["role"] for content in unmarked] == ["user", "model", "user"]

    def test_all_of_it(self) -> None:
        """With every message in the cache there is nothing to answer."""
        expected = r"^messages\[0\]: all up to this mark is in the cached content: append the next message$"
        with pytest.raises(MessageError, match=expected):
            build("gemini", GO | MARK, cached_content="cachedContents/x1")

    def test_nothing(self) -> None:
        """Without anything static there is nothing to cache."""
        prompt = Prompt((Part("tide", "The tide is low.", Pace.TURN, "test"),))
        expected = r"^there is nothing to cache: no static prefix, no tools, no marked message$"
        for given, messages in ((prompt, []), ("", [GO]), (prompt, [YES | MARK, GO])):
            with pytest.raises(MessageError, match=expected):
                cached(given, *messages)
        assert "tools" in cached("", GO, tools=[LIST]).body
        assert "contents" in cached("", GO | MARK).body

    def test_too_small(self) -> None:
        """Gemini refuses cached content below a minimum of its own, which a note names."""
        assert details(cached("x"), "cache") == [f"request: about 0 tokens; gemini caches nothing below 1,024 ({DATE})"]
        assert details(cached("x" * 5000), "cache") == []
        assert cached("x", model="made-up").notes[0].kind == "model"

    def test_facts(self) -> None:
        """Unless others are given, the newest facts that the package has are the rules."""
        request = build_cached_content("x", model="gemini-3.8-flash")
        assert request.rules == bundled_facts().rules("gemini", "gemini-3.8-flash")
