"""Conversations in neutral values: both shapes read alike, results beside their calls, every refusal by its place."""

from __future__ import annotations

import copy
import json
import re
import time
from collections import UserDict
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import DeepPromptError, Note
from deepprompt.errors import MessageError
from deepprompt.providers.neutral import Block, Image, Message, Native, Role, Text, Thinking, ToolCall, ToolResult
from deepprompt.request.conversation import Conversation
from tests.support.examples import examples

PIXEL = "iVBORw0KGgo="
NAN = float("nan")
DATA_URL = f"data:image/png;base64,{PIXEL}"
HTTPS = "https://example.com/boat.png"
USER = {"role": "user", "content": "Go."}
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "c2VjcmV0"}


def read(*messages: Any) -> list[Message]:
    """Messages as neutral values."""
    conversation = Conversation(messages)
    conversation.check_answered()
    return conversation.messages


def notes_on(messages: Iterable[Message]) -> list[Note]:
    """What reading them noted."""
    return [note for message in messages for note in message.notes]


def said(*blocks: Any) -> tuple[Block, ...]:
    """The blocks of a user's message."""
    return read({"role": "user", "content": list(blocks)})[0].blocks


def answered(**message: Any) -> tuple[Block, ...]:
    """The blocks of an assistant's message, to which the user says something."""
    return read({"role": "assistant", **message}, USER)[0].blocks


def calls(*ids: str, **function: Any) -> dict[str, Any]:
    """An assistant's message that calls a tool, once for each id, as Chat Completions writes it."""
    whole = {"name": "look", "arguments": "{}"} | function
    return {"role": "assistant", "tool_calls": [{"id": name, "type": "function", "function": whole} for name in ids]}


def uses(*ids: str) -> dict[str, Any]:
    """The same as Anthropic writes it."""
    blocks = [{"type": "tool_use", "id": name, "name": "look", "input": {}} for name in ids]
    return {"role": "assistant", "content": blocks}


def result(name: str, content: object = "seen") -> dict[str, Any]:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": name, "content": content}


def outcome(name: str, content: object = "seen", **rest: object) -> dict[str, Any]:
    """The same as a block."""
    return {"type": "tool_result", "tool_use_id": name, "content": content, **rest}


CHAT = [
    {"role": "system", "content": "You are Ada."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "This?"}, {"type": "image_url", "image_url": {"url": HTTPS}}],
    },
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "list", "arguments": "{}"}},
            {"id": "b", "type": "function", "function": {"name": "look", "arguments": '{"at":"boat"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "one boat"},
    {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "red"}]},
    {"role": "assistant", "content": "A red boat."},
    {"role": "user", "content": "Thanks."},
]
ANTHROPIC = [
    {"role": "system", "content": [{"type": "text", "text": "You are Ada."}]},
    {
        "role": "user",
        "content": [{"type": "text", "text": "This?"}, {"type": "image", "source": {"type": "url", "url": HTTPS}}],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "list", "input": {}},
            {"type": "tool_use", "id": "b", "name": "look", "input": {"at": "boat"}},
        ],
    },
    {"role": "user", "content": [outcome("a", "one boat"), outcome("b", [{"type": "text", "text": "red"}])]},
    {"role": "assistant", "content": [{"type": "text", "text": "A red boat."}]},
    {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
]
NEUTRAL: list[tuple[str, tuple[Block, ...]]] = [
    ("system", (Text("You are Ada."),)),
    ("user", (Text("This?"), Image(HTTPS))),
    ("assistant", (Text("I look."), ToolCall("a", "list", "{}"), ToolCall("b", "look", '{"at":"boat"}'))),
    (
        "user",
        (ToolResult("a", (Text("one boat"),), name="list"), ToolResult("b", (Text("red"),), name="look")),
    ),
    ("assistant", (Text("A red boat."),)),
    ("user", (Text("Thanks."),)),
]


class TestShapes:
    """Chat Completions and Anthropic's Messages, and both at once."""

    @pytest.mark.parametrize(
        "messages", [CHAT, ANTHROPIC, CHAT[:3] + ANTHROPIC[3:], ANTHROPIC[:3] + CHAT[3:]],
        ids=["chat", "anthropic", "anthropic answers chat", "chat answers anthropic"],
    )  # fmt: skip
    def test_alike(self, messages: list[dict[str, Any]]) -> None:
        """Both shapes are read as the same values, and one may go on where the other stopped."""
        assert [(message.role, message.blocks) for message in read(*messages)] == NEUTRAL

    @pytest.mark.parametrize(("given", "role"), [("system", "system"), ("developer", "system"), ("user", "user")])
    def test_roles(self, given: str, role: Role) -> None:
        """A developer is a system under another name."""
        assert read({"role": given, "content": "x"}) == [Message(role, (Text("x"),), 0)]

    @pytest.mark.parametrize("content", [None, "", []])
    @pytest.mark.parametrize("role", ["system", "user", "assistant"])
    def test_nothing_said(self, role: Role, content: object) -> None:
        """A message with nothing in its content has no blocks; only an answer may leave the content out."""
        assert read({"role": role, "content": content}) == [Message(role, (), 0)]
        assert read({"role": "assistant"}) == [Message("assistant", (), 0)]

    @pytest.mark.parametrize(
        "block",
        [
            "x",
            {"type": "text", "text": "x"},
            {"type": "input_text", "text": "x"},
            {"type": "output_text", "text": "x", "annotations": []},
            {"type": "refusal", "refusal": "x"},
        ],
    )
    def test_texts(self, block: object) -> None:
        """Every way to write a text is read as one."""
        assert said(block) == (Text("x"),)

    def test_refusal_of_a_message(self) -> None:
        """What OpenAI's models decline stands beside the content, and is what the model said."""
        assert answered(content=None, refusal="No.") == (Text("No."),)
        assert answered(content="Yes.", refusal=None) == (Text("Yes."),)

    def test_blank_texts_stay(self) -> None:
        """Whether a blank text may be sent is the provider's to say."""
        assert said("", {"type": "text", "text": ""}, " \n") == (Text(""), Text(""), Text(" \n"))

    def test_any_mapping_and_sequence(self) -> None:
        """Messages and blocks may be any mapping, content any sequence, arguments any of both."""
        use = MappingProxyType({"type": "tool_use", "id": "a", "name": "look", "input": UserDict({"at": ("b", 1)})})
        messages = iter([MappingProxyType({"role": "assistant", "content": (use,)}), UserDict(result("a"))])
        assert read(*messages)[0].blocks == (ToolCall("a", "look", '{"at":["b",1]}'),)

    def test_places(self) -> None:
        """A message is named by its place among the caller's, a run of results by the last of them."""
        assert [message.place for message in read(*CHAT)] == [f"messages[{index}]" for index in (0, 1, 2, 4, 5, 6)]

    def test_of(self) -> None:
        """A message gives its blocks of one kind."""
        message = read(*CHAT)[2]
        assert message.of(Text) == [Text("I look.")]
        assert [call.id for call in message.of(ToolCall)] == ["a", "b"]

    @pytest.mark.parametrize(
        ("block", "kind"),
        [
            (Text(""), "text"), (Image(), "image"), (ToolCall("", "", ""), "tool_use"), (ToolResult(""), "tool_result"),
            (Thinking(), "thinking"), (Native({"type": "document"}), "document"),
        ],
    )  # fmt: skip
    def test_kinds(self, block: Block, kind: str) -> None:
        """A block says what it is in Anthropic's words."""
        assert block.kind == kind


class TestCalls:
    """Tool calls, their arguments and their ids."""

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ('{ "b":1,  "a":2}', '{ "b":1,  "a":2}'),
            ("", ""),
            (None, ""),
            ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
            ({}, "{}"),
            ([1], "[1]"),
            ("{broken", "{broken"),
            ({"é": "船"}, '{"é":"船"}'),
            ({1: 2}, '{"1":2}'),
        ],
    )  # fmt: skip
    def test_arguments(self, arguments: object, text: str) -> None:
        """A text stays as the model wrote it, to the byte; an object becomes JSON in its own order."""
        message, _ = read(calls("a", arguments=arguments), result("a"))
        assert message.blocks == (ToolCall("a", "look", text),)

    def test_arguments_left_out(self) -> None:
        """A call without arguments has none, in both shapes."""
        call = {"id": "a", "function": {"name": "look"}}
        assert read({"role": "assistant", "tool_calls": [call]}, result("a"))[0].blocks == (ToolCall("a", "look", ""),)
        use = {"type": "tool_use", "id": "a", "name": "look"}
        assert read({"role": "assistant", "content": [use]}, result("a"))[0].blocks == (ToolCall("a", "look", "{}"),)

    @pytest.mark.parametrize(
        ("arguments", "value"),
        [
            ("", {}),
            ("{}", {}),
            (' {"a": {"b": [1, 2.5, null]}} ', {"a": {"b": [1, 2.5, None]}}),
            ('{"a": "\\u8239"}', {"a": "船"}),
            ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
            ('{"a": "\\ud800", "\\udfff": 1}', {"a": "\ufffd", "\ufffd": 1}),
            ('{"a": "\\\\ud800"}', {"a": "\\ud800"}),
        ],
    )
    def test_input(self, arguments: str, value: dict[str, Any]) -> None:
        """Arguments are an object where a provider wants one, of text that encodes."""
        assert ToolCall("a", "look", arguments).input("messages[0]") == value

    @pytest.mark.parametrize(
        "arguments",
        [
            "{", "[]", "null", "1", '"{}"', " ", "{'a': 1}", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', "{}{}",
            '{"a": 1' + "1" * 5000 + "}", '{"a":' * 200_000 + "1" + "}" * 200_000,
        ],
        ids=lambda arguments: arguments[:12],
    )  # fmt: skip
    def test_not_an_object(self, arguments: str) -> None:
        """Arguments that are no JSON object are refused where one is needed, with the place and the call."""
        expected = r"^messages\[3\]: the arguments of tool call 'a' are not a JSON object$"
        with pytest.raises(MessageError, match=expected):
            ToolCall("a", "look", arguments).input("messages[3]")

    @pytest.mark.parametrize(
        ("extra", "signature"),
        [
            ({"extra_content": {"google": {"thought_signature": "c2ln"}}}, "c2ln"),
            ({"extra_content": {"google": {"thought_signature": 5}}}, ""),
            ({"extra_content": {"google": {}}}, ""),
            ({"extra_content": {"google": "x"}}, ""),
            ({"extra_content": None}, ""),
            ({}, ""),
        ],
    )
    def test_signature(self, extra: dict[str, Any], signature: str) -> None:
        """Gemini's signature is read where Google's own OpenAI endpoint puts it."""
        message = calls("a")
        message["tool_calls"][0] |= extra
        assert read(message, result("a"))[0].blocks == (ToolCall("a", "look", "{}", signature),)

    def test_text_before_calls(self) -> None:
        """What was said stands before the calls, wherever the message has them."""
        message = {"tool_calls": calls("a")["tool_calls"], "role": "assistant", "content": "I look."}
        assert [block.kind for block in read(message, result("a"))[0].blocks] == ["text", "tool_use"]

    def test_reused_id(self) -> None:
        """An id that comes again in a later turn is another one there, and so is that of its result."""
        messages = [calls("a"), result("a"), uses("a_2", "a"), result("a"), result("a_2"), calls("a"), result("a")]
        found = read(*messages)
        ids = [[call.id for call in message.of(ToolCall)] for message in found[::2]]
        assert ids == [["a"], ["a_2", "a_3"], ["a_4"]]
        assert [[one.call_id for one in message.of(ToolResult)] for message in found[1::2]] == [
            ["a"], ["a_3", "a_2"], ["a_4"],
        ]  # fmt: skip
        assert notes_on(found) == [
            Note("replaced", "messages[2]", "tool call id 'a' is an earlier call's too: sent as 'a_3'"),
            Note("replaced", "messages[5]", "tool call id 'a' is an earlier call's too: sent as 'a_4'"),
        ]

    def test_reused_id_keeps_what_was_sent(self) -> None:
        """One more turn changes no id of an earlier one."""
        messages = [message for _ in range(5) for message in (calls("a"), result("a"))]
        whole = read(*messages)
        assert all(read(*messages[:end]) == whole[:end] for end in range(0, 11, 2))


class TestResults:
    """Tool results: beside their calls, before anything else, named."""

    def test_neighbours_merge(self) -> None:
        """The messages of several tools are one, in their order, at the last one's place."""
        messages = read(calls("a", "b", "c"), result("c"), result("a"), {"role": "user", "content": [outcome("b")]})
        assert [message.index for message in messages] == [0, 3]
        assert [block.call_id for block in messages[1].of(ToolResult)] == ["c", "a", "b"]

    @pytest.mark.parametrize("between", [USER, {"role": "user", "content": []}])
    def test_others_do_not(self, between: dict[str, Any]) -> None:
        """A user's own message stays one."""
        messages = read(calls("a"), result("a"), between, uses("b"), result("b"))
        assert [message.index for message in messages] == [0, 1, 2, 3, 4]

    def test_results_first(self) -> None:
        """In a message that also says something the results come first, the rest in its order."""
        blocks = ["One.", outcome("b"), {"type": "image_url", "image_url": HTTPS}, outcome("a"), "Two."]
        message = read(uses("a", "b"), {"role": "user", "content": blocks})[1]
        assert [block.kind for block in message.blocks] == ["tool_result", "tool_result", "text", "image", "text"]
        assert [block.call_id for block in message.of(ToolResult)] == ["b", "a"]

    def test_names(self) -> None:
        """Each result has the name of its call."""
        first = {"id": "a", "function": {"name": "list", "arguments": ""}}
        message = {"role": "assistant", "tool_calls": [first, *calls("b")["tool_calls"]]}
        assert [one.name for one in read(message, result("b"), result("a"))[1].of(ToolResult)] == ["look", "list"]

    @pytest.mark.parametrize(
        ("content", "blocks"),
        [
            (None, ()),
            ("", ()),
            ([], ()),
            ("red", (Text("red"),)),
            (["red", {"type": "image_url", "image_url": {"url": DATA_URL}}],
             (Text("red"), Image("", "image/png", PIXEL))),
            ([{"type": "document", "title": "t"}], (Native({"type": "document", "title": "t"}),)),
        ],
    )  # fmt: skip
    def test_content(self, content: object, blocks: tuple[Block, ...]) -> None:
        """A result has texts, images and what only its provider knows, in both shapes alike."""
        assert read(calls("a"), result("a", content))[1].blocks == (ToolResult("a", blocks, name="look"),)
        message = {"role": "user", "content": [outcome("a", content)]}
        assert read(calls("a"), message)[1].blocks == (ToolResult("a", blocks, name="look"),)

    @pytest.mark.parametrize(("given", "failed"), [(True, True), (False, False), (None, False)])
    def test_errors(self, given: object, failed: bool) -> None:
        """A result says that it is an error."""
        message = {"role": "user", "content": [outcome("a", is_error=given)]}
        assert read(calls("a"), message)[1].blocks == (ToolResult("a", (Text("seen"),), failed, "look"),)


MARKS = [
    ({"cache_control": {"type": "ephemeral"}}, ""),
    ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, "1h"),
    ({"prompt_cache_breakpoint": {"mode": "explicit"}}, ""),
    ({"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}, "12h"),
    ({"cache_control": None}, None),
    ({}, None),
]


class TestMarks:
    """The caller's own marks, Anthropic's and OpenAI's."""

    @pytest.mark.parametrize(("mark", "lifetime"), MARKS)
    def test_on_a_block(self, mark: dict[str, Any], lifetime: str | None) -> None:
        """A block keeps the lifetime that its mark asks for."""
        assert said({"type": "text", "text": "x"} | mark, "y") == (Text("x", lifetime), Text("y"))
        image = {"type": "image_url", "image_url": HTTPS}
        assert said(image | mark) == (Image(HTTPS, mark=lifetime),)
        assert said({"type": "document"} | mark) == (Native({"type": "document"}, lifetime),)

    @pytest.mark.parametrize(("mark", "lifetime"), MARKS)
    def test_on_a_message(self, mark: dict[str, Any], lifetime: str | None) -> None:
        """A mark beside the content stands for one on the last block."""
        (message,) = read({"role": "user", "content": ["x", "y"]} | mark)
        assert message.blocks == (Text("x"), Text("y", lifetime))
        assert read({"role": "user", "content": ""} | mark)[0].blocks == ()

    @pytest.mark.parametrize(("mark", "lifetime"), MARKS)
    def test_on_a_result(self, mark: dict[str, Any], lifetime: str | None) -> None:
        """A mark on a tool's message, on a result or inside of it counts for the whole result."""
        marked = [{"type": "text", "text": "seen"} | mark]
        wanted = (ToolResult("a", (Text("seen"),), name="look", mark=lifetime),)
        assert read(calls("a"), result("a") | mark)[1].blocks == wanted
        assert read(calls("a"), result("a", marked))[1].blocks == wanted
        assert read(calls("a"), {"role": "user", "content": [outcome("a") | mark]})[1].blocks == wanted
        assert read(calls("a"), {"role": "user", "content": [outcome("a", marked)]})[1].blocks == wanted

    def test_on_a_call(self) -> None:
        """A mark on a call, or on a message that ends with one, is the call's."""
        mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
        assert read(calls("a") | mark, result("a"))[0].blocks == (ToolCall("a", "look", "{}", mark="1h"),)
        used = uses("a")
        used["content"][0] |= mark
        assert read(used, result("a"))[0].blocks == (ToolCall("a", "look", "{}", mark="1h"),)

    def test_on_reasoning(self) -> None:
        """A mark on reasoning is read; that it cannot stand there is for the planner to settle."""
        marked = SIGNED | {"cache_control": {"type": "ephemeral"}}
        assert answered(content=[marked]) == (Thinking("Hm.", SIGNED, ""),)

    def test_not_in_native_blocks(self) -> None:
        """A block that is sent as it is does not carry its mark: the writer puts it, if the planner wants it."""
        block = {"type": "document", "cache_control": {"type": "ephemeral"}, "citations": {"cache_control": 1}}
        assert said(block) == (Native({"type": "document", "citations": {"cache_control": 1}}, ""),)


class TestImages:
    """Images by address and by bytes, as each API writes them."""

    @pytest.mark.parametrize(
        ("block", "image"),
        [
            ({"type": "image_url", "image_url": {"url": HTTPS, "detail": "high"}}, Image(HTTPS, detail="high")),
            ({"type": "input_image", "image_url": HTTPS, "detail": "low"}, Image(HTTPS, detail="low")),
            ({"type": "input_image", "file_id": "f"},
             Native({"type": "input_image", "file_id": "f"}, api="openai-responses")),
            ({"type": "image", "source": {"type": "file", "file_id": "f"}},
             Native({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            ({"type": "image_url", "image_url": HTTPS}, Image(HTTPS)),
            ({"type": "input_image", "image_url": HTTPS}, Image(HTTPS)),
            ({"type": "image_url", "image_url": {"url": "http://a/b"}}, Image("http://a/b")),
            ({"type": "image_url", "image_url": {"url": DATA_URL}}, Image("", "image/png", PIXEL)),
            ({"type": "image_url", "image_url": f"DATA:IMAGE/PNG;name=a.png;BASE64,{PIXEL}"},
             Image("", "image/png", PIXEL)),
            ({"type": "image_url", "image_url": f"data:image/svg+xml;base64,{PIXEL}"},
             Image("", "image/svg+xml", PIXEL)),
            ({"type": "image", "source": {"type": "url", "url": HTTPS}}, Image(HTTPS)),
            ({"type": "image", "source": {"type": "url", "url": DATA_URL}}, Image("", "image/png", PIXEL)),
            ({"type": "image", "source": {"type": "base64", "media_type": "image/PNG", "data": PIXEL}},
             Image("", "image/png", PIXEL)),
        ],
    )  # fmt: skip
    def test_forms(self, block: dict[str, Any], image: Image | Native) -> None:
        """An image is an address, or a type with its bytes; an uploaded one is its provider's own."""
        assert said(block) == (image,)

    @pytest.mark.parametrize(
        ("block", "error"),
        [
            ({"type": "image_url"}, 'an image is {"type": "image_url", "image_url": {"url": URL}}'),
            ({"type": "image_url", "image_url": {}}, 'an image is {"type": "image_url", "image_url": {"url": URL}}'),
            ({"type": "image_url", "image_url": ""}, 'an image is {"type": "image_url", "image_url": {"url": URL}}'),
            ({"type": "input_image", "file_id": 5}, 'an image is {"type": "image_url", "image_url": {"url": URL}}'),
            ({"type": "image", "source": "x"}, 'an image is {"type": "image_url", "image_url": {"url": URL}}'),
            ({"type": "image_url", "image_url": "/tmp/boat.png"},
             "the URL of an image starts with https:// or data:MEDIA_TYPE;base64, not '/tmp/boat.png'"),
            ({"type": "image", "source": {"type": "url", "url": "ftp://a/b"}},
             "the URL of an image starts with https:// or data:MEDIA_TYPE;base64, not 'ftp://a/b'"),
            ({"type": "image_url", "image_url": "data:image/png,raw" + "x" * 90},
             "the URL of an image starts with https:// or data:MEDIA_TYPE;base64, not "
             "'data:image/png,rawxxxxxxxxxxxxxxxxxxxxx"),
            ({"type": "image_url", "image_url": "data:image/png;base64,"}, "the data of the image is not base64"),
            ({"type": "image_url", "image_url": "data:image/png;base64,abc"}, "the data of the image is not base64"),
            ({"type": "image_url", "image_url": "data:image/png;base64,ab==cd=="},
             "the data of the image is not base64"),
            ({"type": "image_url", "image_url": "data:image/png;base64,abc\n"}, "the data of the image is not base64"),
            ({"type": "image_url", "image_url": "data:image/png;base64,ab-_"}, "the data of the image is not base64"),
            ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "not base64"}},
             "the data of the image is not base64"),
            ({"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
             "data is missing or no text"),
            ({"type": "image", "source": {"type": "base64", "data": PIXEL}}, "media_type is missing or no text"),
            ({"type": "image", "source": {"type": "url", "url": ""}}, "url is empty"),
            ({"type": "image", "source": {"type": "file"}}, "file_id is missing or no text"),
            ({"type": "image", "source": {"type": "disk"}},
             "the source of an image is base64, url or file, not 'disk'"),
        ],
    )  # fmt: skip
    def test_wrong(self, block: dict[str, Any], error: str) -> None:
        """What is no image is refused, with its place and what would be one."""
        with pytest.raises(MessageError, match=f"^{re.escape(f'messages[0].content[1]: {error}')}$"):
            said("See:", block)

    def test_in_a_result(self) -> None:
        """The place of a wrong image in a result is named all the way down."""
        message = {"role": "user", "content": [outcome("a", ["x", {"type": "image_url"}])]}
        with pytest.raises(MessageError, match=r"^messages\[1\]\.content\[0\]\.content\[1\]: an image is "):
            read(calls("a"), message)


class TestReasoning:
    """Reasoning: DeepSeek's text, Anthropic's signed blocks, LiteLLM's copy of them."""

    def test_text(self) -> None:
        """DeepSeek's reasoning stands before what the model said."""
        assert answered(content="Yes.", reasoning_content="Hm.") == (Thinking("Hm."), Text("Yes."))

    @pytest.mark.parametrize("reasoning", ["", None, 5, ["Hm."]])
    def test_no_text(self, reasoning: object) -> None:
        """A field that other servers fill with something else, or leave empty, is no reasoning."""
        assert answered(content="Yes.", reasoning_content=reasoning) == (Text("Yes."),)

    @pytest.mark.parametrize("block", [SIGNED, SIGNED | {"thinking": ""}, REDACTED])
    def test_signed(self, block: dict[str, Any]) -> None:
        """A signed block is kept as it is, to the byte."""
        (thinking, _) = answered(content=[block, "Yes."])
        assert isinstance(thinking, Thinking)
        assert json.dumps(thinking.block) == json.dumps(block)
        assert thinking.text == block.get("thinking", "")

    @pytest.mark.parametrize("hidden", [{}, {"thinking": None}])
    def test_hidden(self, hidden: dict[str, Any]) -> None:
        """A signed block whose text the API kept back has the field all the same: without it, it is refused."""
        block = {"type": "thinking", "signature": "c2ln"}
        assert answered(content=[block | hidden]) == (Thinking("", block | {"thinking": ""}),)

    @pytest.mark.parametrize("signature", [{}, {"signature": ""}, {"signature": None}, {"signature": 5}])
    def test_unsigned(self, signature: dict[str, Any]) -> None:
        """Without its signature, reasoning is a text: as a block it would be refused."""
        assert answered(content=[{"type": "thinking", "thinking": "Hm."} | signature]) == (Thinking("Hm."),)

    def test_of_litellm(self) -> None:
        """LiteLLM puts the signed blocks beside the content, and their text once more beside that."""
        blocks = answered(content="Yes.", thinking_blocks=[SIGNED, REDACTED], reasoning_content="Hm.")
        assert blocks == (Thinking("Hm.", SIGNED), Thinking("", REDACTED), Text("Yes."))
        assert answered(content="Yes.", thinking_blocks=[], reasoning_content="Hm.")[0] == Thinking("Hm.")

    @pytest.mark.parametrize(
        ("message", "error"),
        [
            ({"content": [{"type": "redacted_thinking"}]}, ".content[0]: data is missing or no text"),
            ({"content": [{"type": "thinking", "thinking": 5}]}, ".content[0]: thinking is missing or no text"),
            ({"thinking_blocks": 5}, ": thinking_blocks is text or a list of blocks, not int"),
            ({"thinking_blocks": [{"type": "redacted_thinking", "data": ""}]}, ".thinking_blocks[0]: data is empty"),
            ({"refusal": 5}, ": refusal is missing or no text"),
        ],
    )
    def test_wrong(self, message: dict[str, Any], error: str) -> None:
        """Reasoning that is none is refused by its place."""
        with pytest.raises(MessageError, match=f"^{re.escape(f'messages[0]{error}')}$"):
            answered(**message)


class TestNative:
    """Blocks that only some provider knows."""

    @pytest.mark.parametrize("kind", ["document", "search_result", "file", "input_audio", "made_up"])
    def test_kept(self, kind: str) -> None:
        """A block of another type stays as it is, in plain values of our own."""
        block = {"type": kind, "b": {"é": (1, 2.5)}, "a": MappingProxyType({"c": None})}
        (native,) = said(block)
        assert native == Native({"type": kind, "b": {"é": [1, 2.5]}, "a": {"c": None}})
        assert isinstance(native, Native)
        assert json.dumps(native.block) == json.dumps({"type": kind, "b": {"é": [1, 2.5]}, "a": {"c": None}})

    def test_in_an_answer(self) -> None:
        """The assistant may have said one."""
        assert answered(content=[{"type": "server_tool_use"}]) == (Native({"type": "server_tool_use"}),)


NO_BLOCK = "neither text nor a block with a type, such as text, image_url or tool_result: "
A_CALL = 'a tool call is {"id", "type": "function", "function": {"name", "arguments"}}'
WRONG: dict[str, tuple[list[Any], str]] = {
    "a text for a message": (["x"], "messages[0]: a message is a mapping with a role and content, not str"),
    "None for a message": ([USER, None], "messages[1]: a message is a mapping with a role and content, not NoneType"),
    "a number for a message": ([5], "messages[0]: a message is a mapping with a role and content, not int"),
    "a list for a message": ([[USER]], "messages[0]: a message is a mapping with a role and content, not list"),
    "no role": ([{"content": "x"}],
        "messages[0]: no role; its fields are content, and the roles are system, developer, user, assistant, tool"),
    "another role": ([{"role": "model", "content": "x"}],
        "messages[0]: unknown role 'model'; the roles are system, developer, user, assistant, tool"),
    "a list for a role": ([{"role": ["user"], "content": "x"}],
        "messages[0]: unknown role ['user']; the roles are system, developer, user, assistant, tool"),
    "bytes for content": ([{"role": "user", "content": b"x"}],
        "messages[0]: content is text or a list of blocks, not bytes"),
    "a bytearray for content": ([{"role": "user", "content": bytearray(b"x")}],
        "messages[0]: content is text or a list of blocks, not bytearray"),
    "a number for content": ([{"role": "user", "content": 5}],
        "messages[0]: content is text or a list of blocks, not int"),
    "a mapping for content": ([{"role": "user", "content": {"type": "text", "text": "x"}}],
        "messages[0]: content is text or a list of blocks, not dict"),
    "a set for content": ([{"role": "user", "content": {"x"}}],
        "messages[0]: content is text or a list of blocks, not set"),
    "None for a block": ([{"role": "user", "content": ["x", None]}], f"messages[0].content[1]: {NO_BLOCK}None"),
    "bytes for a block": ([{"role": "user", "content": [b"x"]}], f"messages[0].content[0]: {NO_BLOCK}b'x'"),
    "a list for a block": ([{"role": "user", "content": [["x"]]}], f"messages[0].content[0]: {NO_BLOCK}['x']"),
    "no type": ([{"role": "user", "content": [{"txt": "x"}]}],
        f"messages[0].content[0]: {NO_BLOCK}{{'txt': 'x'}}"),
    "a number for a type": ([{"role": "user", "content": [{"type": 5, "text": "a" * 99}]}],
        f"messages[0].content[0]: {NO_BLOCK}{{'type': 5, 'text': '{'a' * 39}"),
    "a text block without text": ([{"role": "user", "content": [{"type": "text"}]}],
        "messages[0].content[0]: text is missing or no text"),
    "a text block of bytes": ([{"role": "user", "content": [{"type": "text", "text": b"x"}]}],
        "messages[0].content[0]: text is missing or no text"),
    "an empty refusal": ([{"role": "assistant", "content": [{"type": "refusal", "refusal": ""}]}],
        "messages[0].content[0]: refusal is empty"),
    "not a mark": ([{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": True}]}],
        'messages[0].content[0]: a mark is {"type": "ephemeral"}, perhaps with a ttl, not True'),
    "a lifetime in seconds": ([{"role": "user", "content": "x", "cache_control": {"ttl": 300}}],
        'messages[0]: a mark is {"type": "ephemeral"}, perhaps with a ttl, not {\'ttl\': 300}'),
    "a call of the user": ([{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "n"}]}],
        "messages[0]: only the assistant's messages have tool_use blocks"),
    "reasoning of the user": ([{"role": "user", "content": [SIGNED]}],
        "messages[0]: only the assistant's messages have thinking blocks"),
    "a result of the assistant": ([uses("a"), {"role": "assistant", "content": [outcome("a")]}],
        "messages[1]: a tool result belongs in a user's or a tool's message"),
    "a result of the system": ([{"role": "system", "content": [outcome("a")]}],
        "messages[0]: a tool result belongs in a user's or a tool's message"),
    "an image of the system": ([{"role": "developer", "content": [{"type": "image_url", "image_url": HTTPS}]}],
        "messages[0]: a system message is text, not image"),
    "a document of the system": ([{"role": "system", "content": [{"type": "document"}]}],
        "messages[0]: a system message is text, not document"),
    "an image of the assistant": ([{"role": "assistant", "content": [{"type": "image_url", "image_url": HTTPS}]}],
        "messages[0]: an image belongs in a user's message or in a tool result"),
    "a tool that answers nothing": ([{"role": "tool", "content": "x"}],
        "messages[0]: a tool message needs the tool_call_id of its call"),
    "a tool with an empty id": ([result("")], "messages[0]: a tool message needs the tool_call_id of its call"),
    "a tool with a number": ([{"role": "tool", "tool_call_id": 5, "content": "x"}],
        "messages[0]: a tool message needs the tool_call_id of its call"),
    "a result in a result": ([calls("a"), result("a", [outcome("b")])],
        "messages[1]: a tool result cannot hold a tool_result block"),
    "a call in a result": (
        [calls("a"), {"role": "user", "content": [outcome("a", [{"type": "tool_use", "id": "b", "name": "n"}])]}],
        "messages[1].content[0]: a tool result cannot hold a tool_use block"),
    "reasoning in a result": ([calls("a"), result("a", [SIGNED])],
        "messages[1]: a tool result cannot hold a thinking block"),
    "a result without id": ([uses("a"), {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}],
        "messages[1].content[0]: tool_use_id is missing or no text"),
    "a text for calls": ([{"role": "assistant", "tool_calls": "look"}], "messages[0]: tool_calls is a list"),
    "a mapping for calls": ([{"role": "assistant", "tool_calls": {"id": "a"}}], "messages[0]: tool_calls is a list"),
    "a text for a call": ([{"role": "assistant", "tool_calls": ["look"]}], f"messages[0].tool_calls[0]: {A_CALL}"),
    "bytes for calls": ([{"role": "assistant", "tool_calls": b"x"}], f"messages[0].tool_calls[0]: {A_CALL}"),
    "a call without function": ([{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}],
        f"messages[0].tool_calls[0]: {A_CALL}"),
    "a call without id": ([{"role": "assistant", "tool_calls": [{"function": {"name": "look"}}]}],
        "messages[0].tool_calls[0]: id is missing or no text"),
    "a call without name": ([{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": ""}}]}],
        "messages[0].tool_calls[0]: name is empty"),
    "arguments that are no JSON": ([calls("a", arguments={"x": {1, 2}})],
        "messages[0].tool_calls[0]: not JSON: Object of type set is not JSON serializable"),
    "a use without id": ([{"role": "assistant", "content": [{"type": "tool_use", "name": "n"}]}],
        "messages[0].content[0]: id is missing or no text"),
    "a use without name": ([{"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}],
        "messages[0].content[0]: name is missing or no text"),
    "a use with a text": (
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": ""}]}],
        "messages[0].content[0]: the input of a tool_use block is an object"),
    "a use with bytes": (
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": {"x": b""}}]}],
        "messages[0].content[0]: not JSON: Object of type bytes is not JSON serializable"),
    "a use with no number": (
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": {"x": NAN}}]}],
        "messages[0].content[0]: not JSON: Out of range float values are not JSON compliant"),
    "a document with a tuple for a key": ([{"role": "user", "content": [{"type": "document", (1,): 2}]}],
        "messages[0].content[0]: not JSON: keys must be str, int, float, bool or None, not tuple"),
    "a result without call": ([USER, result("a")],
        "messages[1]: tool result 'a' has no call of that id in the message before it"),
    "a result of another call": ([calls("a"), result("b")],
        "messages[1]: tool result 'b' has no call of that id in the message before it"),
    "a result twice": ([calls("a"), result("a"), result("a")],
        "messages[2]: tool result 'a' has no call of that id in the message before it"),
    "a result too late": ([calls("a"), result("a"), USER, result("a")],
        "messages[3]: tool result 'a' has no call of that id in the message before it"),
    "a call without result": ([USER, calls("a", "b"), result("a"), USER],
        "messages[1]: tool call 'b' has no result; answer every call in the next message "
        "before the conversation continues"),
    "a call at the end": ([USER, uses("a")],
        "messages[1]: tool call 'a' has no result; answer every call in the next message "
        "before the conversation continues"),
    "a system message before the result": ([calls("a"), {"role": "system", "content": "x"}, result("a")],
        "messages[0]: tool call 'a' has no result; answer every call in the next message "
        "before the conversation continues"),
    "two calls of one id": ([uses("a", "a")], "messages[0]: two tool calls have the id 'a'"),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "error"), WRONG.values(), ids=WRONG)
def test_wrong(messages: list[Any], error: str) -> None:
    """What no provider would take is refused, and the message says where and what would be right."""
    with pytest.raises(MessageError, match=f"^{re.escape(error)}(: nan)?$"):  # from Python 3.12 on it is told
        read(*messages)


def nested(depth: int, wrap: Callable[[Any], Any], value: Any) -> Any:
    """A value inside of itself, many times."""
    for _ in range(depth):
        value = wrap(value)
    return value


def circle() -> dict[str, Any]:
    """A mapping that holds itself."""
    value: dict[str, Any] = {"type": "document"}
    value["again"] = value
    return value


# Made by the test that needs it: each takes a moment.
DEEP: dict[str, Callable[[], Any]] = {
    "results in results": lambda: nested(200_000, lambda inner: outcome("a", [inner]), "x"),
    "an input": lambda: {
        "type": "tool_use",
        "id": "a",
        "name": "n",
        "input": nested(200_000, lambda value: {"a": value}, 1),
    },
    "a document": lambda: {"type": "document", "of": nested(200_000, lambda value: [value], 1)},
    "reasoning": lambda: SIGNED | {"of": nested(200_000, lambda value: {"a": value}, 1)},
    "other mappings": lambda: {
        "type": "document",
        "of": nested(200_000, lambda value: MappingProxyType({"a": value}), 1),
    },
}


class TestHostile:
    """What a caller should never pass, and does."""

    @pytest.mark.parametrize("block", DEEP.values(), ids=DEEP)
    def test_nested_too_deeply(self, block: Callable[[], object]) -> None:
        """Nesting that Python cannot follow is an error like any other, with the message's place."""
        with pytest.raises(MessageError, match=r"^messages\[1\]: nested too deeply$"):
            read(USER, {"role": "assistant", "content": [block()]})

    def test_circle(self) -> None:
        """A block that holds itself is refused."""
        with pytest.raises(MessageError, match=r"^messages\[0\]\.content\[0\]: not JSON: Circular reference detected$"):
            said(circle())

    def test_lone_surrogates(self) -> None:
        """Half a character becomes U+FFFD wherever it stands, so that the request encodes, and a note says so."""
        bad = "\ud800"
        messages = [
            {"role": "user", "content": [bad, {"type": "image_url", "image_url": f"https://{bad}"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": bad, "signature": bad}, bad],
             "tool_calls": [
                 {"id": bad, "function": {"name": bad, "arguments": bad},
                  "extra_content": {"google": {"thought_signature": bad}}},
                 {"id": "b", "function": {"name": "n", "arguments": {bad: bad}}},
             ]},
            result(bad, bad),
            {"role": "user", "content": [outcome("b", [{"type": "document", bad: [bad]}])]},
            {"role": "assistant", "content": bad, "reasoning_content": bad},
        ]  # fmt: skip
        good = "\ufffd"
        thinking = {"type": "thinking", "thinking": good, "signature": good}
        document = Native({"type": "document", good: [good]})
        found = read(*messages)
        assert [message.blocks for message in found] == [
            (Text(good), Image(f"https://{good}")),
            (Thinking(good, thinking), Text(good), ToolCall(good, good, good, good),
             ToolCall("b", "n", f'{{"{good}":"{good}"}}')),
            (ToolResult(good, (Text(good),), name=good), ToolResult("b", (document,), name="n")),
            (Thinking(good), Text(good)),
        ]  # fmt: skip
        notes = notes_on(found)
        assert notes[0] == Note("replaced", "messages[0].content[0]", "lone surrogates, by U+FFFD", 0, 1)
        assert {note.source for note in notes} == {
            "messages[0].content[0]", "messages[0].content[1]", "messages[1].content[0]", "messages[1].content[1]",
            "messages[1].tool_calls[0]", "messages[1].tool_calls[1]", "messages[2]",
            "messages[3].content[0].content[0]", "messages[4]",
        }  # fmt: skip

    def test_only_read(self) -> None:
        """The caller's objects are as they were, and nothing of what is read is one of them."""
        document = {"type": "document", "source": {"of": [1]}}
        messages = [
            *CHAT,
            {"role": "assistant", "content": [SIGNED, "x"]},
            {"role": "user", "content": [document, {"type": "text", "text": "x", "cache_control": {"type": "e"}}]},
        ]
        before = copy.deepcopy(messages)
        first = read(*messages)
        assert messages == before
        assert read(*messages) == first
        native = first[-1].blocks[0]
        assert isinstance(native, Native)
        assert native.block["source"] == document["source"]
        assert native.block["source"] is not document["source"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "messages",
        [
            [USER] * 10_000,
            [{"role": "user", "content": ["x"] * 10_000}],
            [message for _ in range(3_333) for message in (calls("a"), result("a"), USER)],
            [calls(*map(str, range(10_000))), *(result(str(number)) for number in range(10_000))],
            [{"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64," + "A" * 10**7}]}],
            [{"role": "user", "content": [{"type": "image_url", "image_url": "data:a/b" + ";a" * 10**6}]}],
        ],
        ids=["messages", "blocks", "one id", "one run of results", "an image", "half an image"],
    )
    def test_as_long_as_they_are(self, messages: list[Any]) -> None:
        """Ten thousand of anything take a moment: no work grows faster than the conversation."""
        start = time.process_time()
        try:
            read(*messages)
        except MessageError as error:
            assert "the URL of an image starts with" in str(error)
        assert time.process_time() - start < 5


words = st.sampled_from(
    [
        "role", "content", "type", "text", "user", "assistant", "tool", "tool_use", "tool_result", "id", "name",
        "input", "tool_calls", "tool_call_id", "tool_use_id", "cache_control", "a", "",
    ]
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.integers(), inner, max_size=4),
    max_leaves=12,
)
messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool", "system"])}, optional={
        "content": anything, "tool_calls": anything, "tool_call_id": words, "thinking_blocks": anything,
    }) | anything,
    max_size=4,
)  # fmt: skip


@given(messages)
@examples(150)
def test_read_or_refused(messages: list[Any]) -> None:
    """Whatever is passed is read, in texts that encode, or refused with an error of ours."""
    try:
        read(*messages)
    except DeepPromptError as error:
        assert re.match(r"messages\[\d+\]", str(error))
