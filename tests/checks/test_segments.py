"""Requests of every provider, prompts and texts as segments: tools, system, messages, whatever the JSON looks like."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import DeepPromptError, Pace, Part, Prompt, Session, build_cached_content, build_request, read_request
from deepprompt.errors import MessageError
from deepprompt.providers import TARGETS
from deepprompt.providers.segments import Segment
from deepprompt.words import Target
from tests.support.conversations import Kinds, scenes
from tests.support.examples import examples
from tests.support.planted import MODELS, SEEN, TALK, body, built, said

MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
DIGEST = "sha256:" + "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd"  # of the letter A

SHORT: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"path": "a"}'}}
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "One.\nTwo."},
]  # fmt: skip
TOOL = {"name": "Read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}}

SCHEMA = '{"type":"object","properties":{}}'
# What each provider is sent for the same prompt, tool and conversation: place, kind, role and text of each segment.
READ: dict[str, list[tuple[str, str, str, str]]] = {
    "anthropic": [
        ("model", "setting", "", "claude-opus-5-5"),
        ("tools[0] Read", "tool", "", f'{{"name":"Read","description":"Reads.","input_schema":{SCHEMA}}}'),
        ("system[0]", "system", "system", "Be brief."),
        ("messages[0].content[0]", "text", "user", "Hi."),
        ("messages[1].content[0]", "text", "assistant", "I look."),
        ("messages[1].content[1]", "tool_use", "assistant",
         '{"type":"tool_use","id":"c1","name":"Read","input":{"path":"a"}}'),
        ("messages[2].content[0]", "tool_result", "user", '{"type":"tool_result","tool_use_id":"c1"}\nOne.\nTwo.'),
    ],
    "bedrock": [
        ("toolConfig.tools[0] Read", "tool", "",
         f'{{"toolSpec":{{"name":"Read","description":"Reads.","inputSchema":{{"json":{SCHEMA}}}}}}}'),
        ("system[0]", "system", "system", "Be brief."),
        ("messages[0].content[0]", "text", "user", "Hi."),
        ("messages[1].content[0]", "text", "assistant", "I look."),
        ("messages[1].content[1]", "tool_use", "assistant",
         '{"toolUse":{"toolUseId":"c1","name":"Read","input":{"path":"a"}}}'),
        ("messages[2].content[0]", "tool_result", "user", '{"toolResult":{"toolUseId":"c1"}}\nOne.\nTwo.'),
    ],
    "deepseek": [
        ("model", "setting", "", "deepseek-v4-pro"),
        ("tools[0] Read", "tool", "",
         f'{{"type":"function","function":{{"name":"Read","description":"Reads.","parameters":{SCHEMA}}}}}'),
        ("messages[0].content", "system", "system", "Be brief."),
        ("messages[1].content", "text", "user", "Hi."),
        ("messages[2].content", "text", "assistant", "I look."),
        ("messages[2].tool_calls[0]", "tool_use", "assistant",
         '{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\\"path\\": \\"a\\"}"}}'),
        ("messages[3]", "tool_result", "user", '{"role":"tool","tool_call_id":"c1"}\nOne.\nTwo.'),
    ],
    "gemini": [
        ("tools[0].functionDeclarations[0] Read", "tool", "",
         f'{{"name":"Read","description":"Reads.","parametersJsonSchema":{SCHEMA}}}'),
        ("systemInstruction.parts[0]", "system", "system", "Be brief."),
        ("contents[0].parts[0]", "text", "user", "Hi."),
        ("contents[1].parts[0]", "text", "assistant", "I look."),
        ("contents[1].parts[1]", "tool_use", "assistant",
         '{"functionCall":{"id":"c1","name":"Read","args":{"path":"a"}},"thoughtSignature":"SIGNATURE"}'),
        ("contents[2].parts[0]", "tool_result", "user",
         '{"functionResponse":{"id":"c1","name":"Read","response":"output"}}\nOne.\nTwo.'),
    ],
    "openai-responses": [
        ("model", "setting", "", "gpt-5.6-sol"),
        ("tools[0] Read", "tool", "",
         f'{{"type":"function","name":"Read","description":"Reads.","parameters":{SCHEMA},"strict":false}}'),
        ("input[0].content[0]", "system", "system", "Be brief."),
        ("input[1].content[0]", "text", "user", "Hi."),
        ("input[2].content", "text", "assistant", "I look."),
        ("input[3]", "tool_use", "assistant",
         '{"type":"function_call","call_id":"c1","name":"Read","arguments":"{\\"path\\": \\"a\\"}"}'),
        ("input[4]", "tool_result", "user", '{"type":"function_call_output","call_id":"c1"}\nOne.\nTwo.'),
    ],
}  # fmt: skip
READ["openai"] = [("model", "setting", "", "gpt-5.6-sol"), *READ["deepseek"][1:]]
READ["litellm"] = [("model", "setting", "", "anthropic/claude-opus-5-5"), *READ["deepseek"][1:]]


def short(to: Target) -> dict[str, Any]:
    """Return a short request."""
    return build_request("Be brief.", SHORT, to=to, model=MODELS[to], tools=[TOOL]).body


def told(segments: list[Segment]) -> list[tuple[str, str, str, str]]:
    """Return what is compared of segments, and their places."""
    return [(segment.place, segment.kind, segment.role, segment.text) for segment in segments]


def texts(value: Any) -> list[str]:
    """Return the texts of a value, settings aside."""
    return [segment.text for segment in read_request(value) if segment.kind != "setting"]


def only(value: Any) -> Segment:
    """Return the one segment that a value has beside its settings."""
    (segment,) = [segment for segment in read_request(value) if segment.kind != "setting"]
    return segment


@pytest.mark.parametrize("to", TARGETS)
def test_what_a_provider_is_sent(to: Target) -> None:
    """Tools come first, then the system prompt, then the messages, each block with its place and its text."""
    segments = told(read_request(json.loads(json.dumps(short(to)))))
    if to == "gemini":
        signature = json.loads(segments[4][3])["thoughtSignature"]
        segments[4] = (*segments[4][:3], segments[4][3].replace(signature, "SIGNATURE"))
    if to in ("openai", "litellm"):  # which take texts as parts
        segments = [(place.replace("content[0]", "content"), *rest) for place, *rest in segments]  # type: ignore[misc]
    assert segments == READ[to]


@pytest.mark.slow
@pytest.mark.parametrize("to", TARGETS)
def test_a_request_as_the_command_prints_it(to: Target, tmp_path: Path) -> None:
    """The report of `build --to` has the body inside, and the model where the body has none."""
    arguments = ["build", "--to", to, "--model", MODELS[to], "--message", "Hi.", "--custom-file", "system.md", "--json"]
    (tmp_path / "system.md").write_text("Be brief.")
    ran = subprocess.run(
        [sys.executable, "-m", "deepprompt", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    segments = read_request(json.loads(ran.stdout))
    assert segments[0] == Segment("model", "setting", "", MODELS[to])
    assert [segment.text for segment in segments[1:]] == ["Be brief.", "Hi."]


class TestPrompts:
    """What is no request yet."""

    def test_a_text(self) -> None:
        """A text is one piece, of which nobody knows what it was sent with."""
        assert read_request("Be brief.") == [Segment("text", "system", "system", "Be brief.", joins=True)]

    def test_a_prompt(self, tmp_path: Path) -> None:
        """Parts keep their names and origins, and those behind the boundary are known to change."""
        prompt = built(tmp_path)
        segments = read_request(prompt)
        assert [(segment.place, segment.text, segment.origin) for segment in segments] == [
            (part.name, part.text, part.origin) for part in prompt.parts
        ]
        changing = [segment.place for segment in segments if segment.changing]
        assert changing == ["boundary", "project", "git status", "git diff"]
        assert [segment.ends_message for segment in segments] == [False] * 8 + [True]

    def test_a_prompt_with_all_it_may_have(self) -> None:
        """Tools come before the parts, and the prompt's messages after them."""
        prompt = Prompt((Part("a", "Be brief.", Pace.TURN, "test"),), ({"name": "Read"},), messages=(SHORT[0],))
        assert told(read_request(prompt)) == [
            ("tools[0] Read", "tool", "", '{"name":"Read"}'),
            ("a", "system", "system", "Be brief."),
            ("messages[0].content", "text", "user", "Hi."),
        ]
        assert read_request(prompt)[1].changing
        assert read_request(Prompt(())) == []

    def test_what_build_prints(self, tmp_path: Path) -> None:
        """The JSON of `build --json` says how many bytes each part has, and so has the same parts."""
        prompt = built(tmp_path, ["Mind the é.", "日本語 🎉"])
        assert read_request(report(prompt)) == read_request(prompt)
        tools = ({"name": "Read"},)
        prompt = Prompt((Part("a", "é", Pace.TURN, "x"), Part("b", "", Pace.TURN, "")), tools)
        assert read_request(report(prompt)) == read_request(prompt)

    @pytest.mark.parametrize(
        "parts",
        [
            [],
            [{"name": "a", "bytes": 1}, {"name": "b", "bytes": 2}],
            [{"name": "a", "bytes": 2}],
            [{"name": "a", "bytes": 4}],
            [{"name": "a", "bytes": "3"}],
            [{"name": "a", "bytes": -1}, {"name": "b", "bytes": 4}],
            [{"name": "a"}],
            ["a"],
        ],
    )
    def test_parts_that_are_not_those_of_the_text(self, parts: Any) -> None:
        """Where somebody changed the text, the sizes of its parts say nothing."""
        assert read_request({"text": "éa", "parts": parts}) == read_request("éa")

    def test_a_saved_session(self, tmp_path: Path) -> None:
        """A session is its frozen prefix, its tools and its messages."""
        session = Session(built(tmp_path))
        session.user("Hi.")
        session.save(tmp_path / "session.json")
        segments = read_request(json.loads((tmp_path / "session.json").read_text()))
        prefix = Prompt(session.prefix.parts, messages=session.messages)
        assert [segment.text for segment in segments] == [segment.text for segment in read_request(prefix)]
        assert all(segment.joins for segment in segments if segment.role == "system")

    @pytest.mark.parametrize("row", ["abc", ["a", "b", 0], ["a", 1, 0, "c"], [1, "b", 0, "c"], ["a", "b", 0, None]])
    def test_a_damaged_session(self, row: Any) -> None:
        """A part that is none is named."""
        message = r"session.parts\[1\]: expected \[name, text, pace, origin\]"
        with pytest.raises(MessageError, match=message):
            read_request({"sha256": "", "session": {"parts": [["a", "b", 3, "c"], row]}})

    def test_an_empty_session(self) -> None:
        """A session may have nothing."""
        assert read_request({"sha256": "", "session": {}}) == []


def report(prompt: Prompt) -> dict[str, object]:
    """Return what `build --json` prints of a prompt, as far as it is read."""
    parts = [
        {"name": part.name, "pace": part.pace.name.lower(), "origin": part.origin, "bytes": len(part.text.encode())}
        for part in prompt.parts
    ]
    return {"text": prompt.text, "parts": parts, "tools": list(prompt.tools)}


class TestBodies:
    """What a body may look like beside what we write."""

    def test_settings_stand_where_they_count(self) -> None:
        """A model costs all, a speed all but the tools, a choice of tools only the messages."""
        request = short("anthropic") | {
            "speed": "fast",
            "tool_choice": {"type": "any"},
            "thinking": {"type": "adaptive"},
        }
        places = [segment.place for segment in read_request(request)]
        assert places[:6] == ["model", "thinking", "tools[0] Read", "speed", "system[0]", "tool_choice"]

    @pytest.mark.parametrize(
        ("given", "place"),
        [
            ({"toolConfig": {"tools": [], "toolChoice": {"any": {}}}}, "toolConfig.toolChoice"),
            ({"reasoning": {"effort": "low", "summary": "auto"}}, "reasoning.effort"),
            ({"prompt_cache_options": {"mode": "explicit"}}, "prompt_cache_options"),
            ({"user_id": "ann"}, "user_id"),
            ({"reasoning": None}, ""),
            ({"reasoning": {"summary": "auto"}}, ""),
            ({"tool_choice": "auto"}, ""),
            ({"tool_choice": {"type": "function", "function": {"name": "a"}}}, ""),
            ({"service_tier": None}, ""),
        ],
    )
    def test_settings(self, given: dict[str, Any], place: str) -> None:
        """What the cache depends on is a setting; what it does not is none."""
        found = [segment.place for segment in read_request({"messages": [], **given}) if segment.kind == "setting"]
        assert found == ([place] if place else [])

    def test_gemini_as_its_sdk_writes_it(self) -> None:
        """Snake case is Gemini's too; a text alone is a user's message; beside functions a tool may have more."""
        request = {
            "system_instruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"function_declarations": [{"name": "a"}], "google_search": {}}, {"url_context": {}}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "contents": [{"parts": [{"text": "Hi."}]}, {"role": "model", "parts": [{"text": "Hm.", "thought": True}]}],
        }
        assert told(read_request(request)) == [
            ("tools[0].function_declarations[0] a", "tool", "", '{"name":"a"}'),
            ("tools[0] google_search", "tool", "", '{"google_search":{}}'),
            ("tools[1] url_context", "tool", "", '{"url_context":{}}'),
            ("system_instruction.parts[0]", "system", "system", "Be brief."),
            ("contents[0].parts[0]", "text", "user", "Hi."),
            ("contents[1].parts[0]", "thinking", "assistant", 'Hm.{"thought":true}'),
        ]
        assert texts({"contents": "Hi."}) == texts({"contents": ["Hi."]}) == ["Hi."]

    def test_gemini_cached_content(self) -> None:
        """The request that makes cached content, and the one that uses it."""
        made = build_cached_content("Be brief.", SHORT[:1], model="gemini-3.8-flash", tools=[TOOL]).body
        assert [segment.place for segment in read_request(made)][:1] == ["model"]
        used = {"cachedContent": "cachedContents/1", "contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
        assert [segment.place for segment in read_request(used)] == ["cachedContent", "contents[0].parts[0]"]

    @pytest.mark.parametrize(
        ("response", "text"),
        [
            ({"output": [1]}, '\n{"output":[1]}'),
            ({"output": "a", "more": 1}, '\n{"output":"a","more":1}'),
            ([1], "\n1"),
            (1, ""),
            (None, ""),
        ],
    )
    def test_gemini_responses(self, response: Any, text: str) -> None:
        """A response that is not one text is JSON, if it is anything."""
        call = {"functionResponse": {"name": "a", "response": response}}
        segment = only({"contents": [{"role": "user", "parts": [call]}]})
        assert segment.text == '{"functionResponse":{"name":"a"}}' + text

    def test_instructions_and_texts(self) -> None:
        """OpenAI's instructions come before the input, which may be a text."""
        request = {"instructions": "Be brief.", "input": "Hi."}
        assert [(s.kind, s.role, s.text) for s in read_request(request)] == [
            ("system", "system", "Be brief."),
            ("text", "user", "Hi."),
        ]
        assert told(read_request({"prompt": "Once"})) == [("prompt", "system", "system", "Once")]

    def test_items_of_responses(self) -> None:
        """Items are told by their type; the ids and states that an answer gave them are not read by the model."""
        items = [
            {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "Hm."}]},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
            {"type": "custom_tool_call", "id": "i", "status": "completed", "call_id": "c", "name": "a", "input": "b"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "d"}]},
            {"type": "item_reference", "id": "x"},
            {"type": "compaction", "encrypted_content": "y"},
        ]
        assert told(read_request({"input": items})) == [
            ("input[0].content[0]", "text", "assistant", "Hm."),
            ("input[1]", "thinking", "assistant", '{"type":"reasoning","summary":[],"encrypted_content":"x"}'),
            ("input[2]", "tool_use", "assistant", '{"type":"custom_tool_call","call_id":"c","name":"a","input":"b"}'),
            ("input[3]", "tool_result", "user", '{"type":"custom_tool_call_output","call_id":"c"}\nd'),
            ("input[4]", "item_reference", "assistant", '{"type":"item_reference","id":"x"}'),
            ("input[5]", "compaction", "assistant", '{"type":"compaction","encrypted_content":"y"}'),
        ]

    def test_what_a_message_has_beside_its_content(self) -> None:
        """Names and reasoning come before what was said, calls after it, and the last of all ends the message."""
        message = {
            "role": "assistant", "name": "Ada", "content": "So.", "refusal": "No.", "reasoning_content": "Hm.",
            "thinking_blocks": [{"type": "thinking", "thinking": "Well.", **MARK}, "x"], "function_call": {"name": "a"},
            "tool_calls": [], "audio": None,
        }  # fmt: skip
        segments = read_request([message])
        assert told(segments) == [
            ("messages[0].name", "name", "assistant", "Ada"),
            ("messages[0].reasoning_content", "thinking", "assistant", "Hm."),
            ("messages[0].thinking_blocks[0]", "thinking", "assistant", '{"type":"thinking","thinking":"Well."}'),
            ("messages[0].thinking_blocks[1]", "thinking", "assistant", "x"),
            ("messages[0].content", "text", "assistant", "So."),
            ("messages[0].refusal", "text", "assistant", "No."),
            ("messages[0].function_call", "tool_use", "assistant", '{"name":"a"}'),
        ]
        assert [segment.ends_message for segment in segments] == [False] * 6 + [True]
        assert read_request([{"role": "assistant", "content": None, **MARK}]) == []

    def test_texts_with_more(self) -> None:
        """What else a text block says is part of it; a field that says nothing is not."""
        plain: dict[str, Any] = {"type": "text", "text": "a", "citations": None, "annotations": []}
        cited = {"type": "text", "text": "a", "citations": [{"cited_text": "b"}]}
        assert only([{"role": "user", "content": [plain]}]).text == "a"
        assert only([{"role": "user", "content": [cited]}]).text == 'a{"citations":[{"cited_text":"b"}]}'
        assert (
            only([{"role": "user", "content": [{"type": "text", "text": None}]}]).text == '{"type":"text","text":null}'
        )

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (None, ""),
            (7, ""),
            ("a", "\na"),
            ([{"type": "text", "text": "a"}], "\na"),
            (["a"], "\na"),
            (
                [{"type": "text", "text": "a", "citations": None}, {"type": "text", "text": "b"}],
                '\na\n{"type":"text"}\nb',
            ),
            ([{"type": "text", "text": "a", "x": 1}], '\n{"type":"text","text":"a","x":1}'),
            ([{"type": "image", "source": {"data": "A"}}], f'\n{{"type":"image","source":{{"data":"{DIGEST}"}}}}'),
        ],
    )
    def test_results(self, content: object, text: str) -> None:
        """A result is one line on whose it is, then its own lines."""
        block = {"type": "tool_result", "tool_use_id": "c", "content": content}
        assert only([{"role": "user", "content": [block]}]).text == '{"type":"tool_result","tool_use_id":"c"}' + text

    @pytest.mark.parametrize(
        ("block", "kind", "text"),
        [
            ({"type": "image", "source": {"type": "base64", "data": "A"}}, "image", f'"data":"{DIGEST}"'),
            ({"image": {"format": "png", "source": {"bytes": "A"}}}, "image", f'"bytes":"{DIGEST}"'),
            ({"image": {"format": "png", "source": {"bytes": b"A"}}}, "image", f'"bytes":"{DIGEST}"'),
            ({"inlineData": {"mimeType": "image/png", "data": "A"}}, "image", f'"data":"{DIGEST}"'),
            ({"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}, "image", f"base64,{DIGEST}"),
            ({"type": "input_image", "image_url": "https://a/b.png"}, "image", "https://a/b.png"),
            ({"type": "document", "pages": [{"data": "A"}]}, "document", f'"data":"{DIGEST}"'),
            ({"type": "tool_use", "input": {"data": "A", **MARK}}, "tool_use", '"data":"A","cache_control"'),
            ({"reasoningContent": {"reasoningText": {"text": "a"}}}, "thinking", '"text":"a"'),
            ({"type": 7}, "type", '{"type":7}'),
            ({}, "", "{}"),
        ],
    )
    def test_blocks(self, block: dict[str, Any], kind: str, text: str) -> None:
        """A block is told by its type or its field; of a file only the hash is kept, and tools' data stay theirs."""
        segment = only([{"role": "user", "content": [block]}])
        assert segment.kind == kind
        assert text in segment.text

    def test_the_same_image_is_the_same_however_it_is_held(self) -> None:
        """Bytes, and the texts that stand for them, tell images apart."""
        images = [only([{"role": "user", "content": [SEEN[1]]}]).text for _ in range(2)]
        assert images[0] == images[1]
        assert len(images[0]) < 200

    @pytest.mark.parametrize(
        ("tool", "place"),
        [
            ({"type": "web_search_20250305", "name": "web_search"}, "tools[0] web_search"),
            ({"type": "mcp", "server_label": "x"}, "tools[0] mcp"),
            ({"googleSearch": {}}, "tools[0] googleSearch"),
            ({"name": 7, "function": 8}, "tools[0] name"),
            ({}, "tools[0] "),
        ],
    )
    def test_the_name_of_a_tool(self, tool: dict[str, Any], place: str) -> None:
        """A tool without a name of its own is called by its type, or by what it has."""
        assert only({"tools": [tool], "messages": []}).place == place

    def test_tools_that_are_not_sent(self) -> None:
        """A tool that is loaded when it is searched for is no part of the prefix; old functions are tools."""
        tools = [{"name": "a"}, {"name": "b", "defer_loading": True}, {"name": "c", "defer_loading": False}]
        assert [segment.place for segment in read_request({"tools": tools})] == ["tools[0] a", "tools[2] c"]
        assert only({"functions": [{"name": "a"}], "messages": []}).place == "functions[0] a"


class TestMarks:
    """Marks are told, and no part of any text."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_marks_change_no_text(self, to: Target) -> None:
        """The same request with and without marks has the same segments but for them."""
        marked = build_request("Be brief.", TALK, to=to, model=MODELS[to], tools=[TOOL], marks="auto").body
        plain = build_request("Be brief.", TALK, to=to, model=MODELS[to], tools=[TOOL], marks="none").body
        assert texts(marked) == texts(plain)
        assert all(segment.mark is None for segment in read_request(plain))

    def test_where_they_stand(self) -> None:
        """A mark belongs to the block that it is on, or that it stands behind."""
        marks = (
            {"cachePoint": {"type": "default", "ttl": "1h"}},
            {"cachePoint": {"type": "default"}},
            {"cachePoint": None},
        )
        request = {
            "toolConfig": {"tools": [marks[0], {"toolSpec": {"name": "a"}}, marks[0]]},
            "system": [{"text": "b"}, marks[1]],
            "messages": [{"role": "user", "content": [{"text": "c"}, {"text": "d"}, marks[2]]}],
        }
        assert [segment.mark for segment in read_request(request)] == ["1h", "", None, ""]

    @pytest.mark.parametrize(
        "request_",
        [
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", **MARK}]}]},
            {"messages": [{"role": "user", "content": "a", **MARK}]},
            {"messages": [{"role": "tool", "content": "a", **MARK}]},
            {"messages": [{"role": "tool", "content": [{"type": "text", "text": "a", **MARK}]}]},
            {"tools": [{"name": "a", **MARK}]},
            {"tools": [{"type": "function", "function": {"name": "a", **MARK}}]},
            {"input": [{"type": "function_call_output", "output": [{"text": "a"}, {"text": "b", **MARK}]}]},
            {"input": [{"role": "user", "content": [{"text": "a", "prompt_cache_breakpoint": {"ttl": "1h"}}]}]},
            {"cache_control": {"ttl": "1h"}, "messages": [{"role": "user", "content": "a"}]},
        ],
    )
    def test_lifetimes(self, request_: dict[str, Any]) -> None:
        """A mark has the lifetime that it asks for, whoever's it is."""
        assert [segment.mark for segment in read_request(request_)] == ["1h"]
        assert "1h" not in "".join(texts(request_))

    def test_a_mark_that_asks_for_nothing(self) -> None:
        """A mark of any other make is one of the default lifetime; one on a block that is not the last is no end."""
        block = {"type": "text", "text": "a", "cache_control": True}
        assert only([{"role": "user", "content": [block]}]).mark == ""
        assert only([{"role": "user", "content": [block | {"cache_control": None}]}]).mark is None
        assert only([{"role": "tool", "content": [block, {"type": "text", "text": "b"}]}]).mark is None

    def test_the_providers_own_choice(self) -> None:
        """Anthropic's mark of the whole request stands on the last block that may carry one, if that has none."""
        thought = {"type": "thinking", "thinking": "a"}
        said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [thought]}]
        request = {"cache_control": {"type": "ephemeral"}, "messages": said}
        assert [segment.mark for segment in read_request(request)] == ["", None]
        request["messages"] = [{"role": "user", "content": [{"type": "text", "text": "a", **MARK}]}]
        assert [segment.mark for segment in read_request(request)] == ["1h"]
        assert read_request({"cache_control": {"type": "ephemeral"}, "messages": []}) == []

    def test_data_that_is_called_like_a_mark(self) -> None:
        """In what a tool takes or gives, a field of that name is the tool's."""
        schema = {"type": "object", "properties": {"cache_control": {"type": "string"}}}
        assert "cache_control" in only({"tools": [{"name": "a", "input_schema": schema}]}).text
        assert "cache_control" in only({"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": schema}}}]}).text


class TestErrors:
    """What cannot be read is refused by its place."""

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (7, "not a request: int; expected a body, a list of messages or a text"),
            (b"abc", "not a request: bytes; expected"),
            ({}, "not a request of any provider: no messages, contents or input; its fields are none"),
            ({"model": "a", "x": 1}, "not a request of any provider: .*; its fields are model, x$"),
            ({"messages": 7}, r"messages: expected a list, not int"),
            ({"messages": {"a": 1}}, r"messages: expected a list, not dict"),
            ({"messages": [7]}, r"messages\[0\]: expected an object, not int"),
            ({"messages": [{"role": "user", "content": 7}]}, r"messages\[0\].content: expected a list, not int"),
            ({"messages": [{"role": "user", "content": [[]]}]}, r"messages\[0\].content\[0\]: expected an object"),
            ({"system": {}, "messages": []}, "system: expected a list, not dict"),
            ({"tools": "abc"}, "tools: expected a list, not str"),
            ({"tools": ["abc"]}, r"tools\[0\]: expected an object, not str"),
            ({"toolConfig": {"tools": {"a": 1}}}, r"toolConfig.tools: expected a list, not dict"),
            ({"tools": [{"functionDeclarations": 7}]}, r"tools\[0\].functionDeclarations: expected a list"),
            ([[]], r"messages\[0\]: expected an object, not list"),
            ({"tools": [{"name": {(1, 2): 3}}]}, "a request that is not JSON: keys must be str"),
        ],
    )
    def test_message(self, value: object, message: str) -> None:
        """The error says what is wrong and where."""
        with pytest.raises(MessageError, match=message):
            read_request(value)

    def test_nested_too_deeply(self) -> None:
        """No depth ends in a traceback."""
        value: Any = []
        for _ in range(100_000):
            value = [value]
        with pytest.raises(MessageError, match="nested too deeply"):
            read_request([{"role": "user", "content": [{"type": "x", "y": value}]}])
        while value:  # or Python itself would go down as deep to free it
            value = value.pop()


def test_other_containers() -> None:
    """Whatever is a mapping or a sequence can be read; what is no JSON is read by its name."""
    message = MappingProxyType({"role": "user", "content": ({"type": "x", "args": MappingProxyType({"y": 1})},)})
    assert only(deque([message])).text == '{"type":"x","args":{"y":1}}'
    assert only([{"role": "user", "content": [{"type": "x", "y": 1 + 2j}]}]).text == '{"type":"x","y":"(1+2j)"}'


@pytest.mark.parametrize("to", TARGETS)
@examples(20)
@given(data=st.data())
def test_nothing_that_is_sent_is_left_out(to: Target, data: st.DataObject) -> None:
    """Every text of a request stands in the segments, and in the order of the request."""
    scene = data.draw(scenes(Kinds("none", result_images=False)))
    request = build_request(scene.prompt, scene.messages(), to=to, model=MODELS[to], tools=scene.tools, marks="none")
    whole = "\n".join(texts(request.body))
    for text in leaves({key: value for key, value in request.body.items() if key not in ("model", "max_tokens")}):
        assert text in whole or json.dumps(text, ensure_ascii=False)[1:-1] in whole


def leaves(value: object) -> Iterator[str]:
    """Yield the texts in a value of JSON but for what only names a role or a type, and for tools that are not sent."""
    if isinstance(value, Mapping) and not value.get("defer_loading"):
        for key, item in value.items():
            yield from leaves(item) if key not in ("role", "type") else ()
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        yield value


KEYS = st.sampled_from([
    "messages", "input", "contents", "system", "systemInstruction", "tools", "toolConfig", "functionDeclarations",
    "role", "content", "parts", "type", "text", "tool_calls", "cachePoint", "cache_control", "toolResult",
    "functionResponse", "response", "output", "session", "sha256", "body", "request", "bytes", "name", "model",
    "reasoning", "prompt", "data",
])  # fmt: skip
VALUES = st.sampled_from([
    None, True, 0, 7, -1, 1.5, "", "a", "user", "tool", "assistant", "tool_result", "image", "function_call_output",
    "data:a,b", "\ud800", "text",
])  # fmt: skip
ANYTHING = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@examples(300)
@given(st.dictionaries(KEYS, ANYTHING, max_size=4) | ANYTHING)
def test_any_json(value: Any) -> None:
    """No JSON ends in anything but segments or one of our errors."""
    try:
        segments = read_request(value)
    except DeepPromptError as error:
        assert str(error)
    else:
        assert all(isinstance(segment.text, str) for segment in segments)
        assert read_request(json.loads(json.dumps(value))) == segments


def test_large_requests() -> None:
    """A request of many messages and a large image is read in a moment, and its image is not text."""
    image = base64.b64encode(b"x" * 5_000_000).decode()
    source = {"type": "base64", "media_type": "image/png", "data": image}
    messages = [{"role": "user", "content": [{"type": "image", "source": source}]}, *TALK * 2_000]
    segments = read_request({"messages": messages})
    assert len(segments) == 1 + 6 * 2_000
    assert len(segments[0].text) < 200


def test_our_own_body_begins_with_its_tools() -> None:
    """What is built for a real conversation has no segment without a text."""
    assert all(segment.text for segment in read_request(said(TALK)))
    assert read_request(body("Be brief.", TALK[:1]))[0].kind == "setting"


class TestFields:
    """What a place and a text say is there as fields too."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_a_tool_has_its_name_and_its_number(self, to: Target) -> None:
        """Whichever provider's shape it has, a tool's segment says its name."""
        other = {**TOOL, "name": "Write"}
        body = build_request("Be brief.", SHORT, to=to, model=MODELS[to], tools=[TOOL, other]).body
        tools = [segment for segment in read_request(body) if segment.kind == "tool"]
        assert [(tool.tool, tool.index) for tool in tools] == [("Read", 0), ("Write", 1)]
        assert [tool.place for tool in tools] == [f"{tool.owner} {tool.tool}" for tool in tools]

    @pytest.mark.parametrize("to", TARGETS)
    def test_a_block_has_its_message_and_its_number(self, to: Target) -> None:
        """Every block of a message says which one it belongs to; nothing else has a number but a tool."""
        body = short(to)
        key = next(key for key in ("messages", "input", "contents") if key in body)
        said = [segment for segment in read_request(body) if segment.index is not None and segment.kind != "tool"]
        assert {segment.index for segment in said} == set(range(len(body[key])))
        assert all(segment.owner == f"{key}[{segment.index}]" for segment in said)
        assert all(segment.place.startswith(segment.owner) for segment in said)

    def test_the_owner_of_what_is_no_message(self) -> None:
        """A setting and Gemini's instruction belong to a field of the body."""
        body = {"contents": [], "systemInstruction": {"parts": [{"text": "Hi."}]}, "reasoning": {"effort": "low"}}
        assert [segment.owner for segment in read_request(body)] == ["reasoning", "systemInstruction"]

    def test_an_image_has_its_digest_and_a_text_about_one_has_none(self) -> None:
        """A tool that prints a SHA-256 has sent no file."""
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        printed = {"type": "tool_result", "tool_use_id": "c1", "content": "sha256:0 a.tar"}
        pictured = {"type": "tool_result", "tool_use_id": "c1", "content": [image]}
        read = read_request([{"role": "user", "content": [image, printed, pictured]}])
        digest = hashlib.sha256(b"aGk=").hexdigest()
        assert [segment.digest for segment in read] == [digest, "", digest]

    def test_only_a_mere_text_is_bare(self) -> None:
        """A prompt with one part is not, whatever the part is called."""
        assert only("Be brief.").bare
        assert not only(Prompt((Part("text", "Be brief.", Pace.RELEASE, ""),))).bare
