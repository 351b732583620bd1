"""What each provider refuses, as its own documents say it: checks of a request's body, no tests.

Written from the providers' documents and SDK types, not from our code: nothing here is imported from `deepprompt`.
`check` asserts every rule that is known to end in an error, or in marks that are dropped unsaid. `marks` and
`unmarked` find and leave out the marks of any body.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

Body = dict[str, Any]

MARK_KEYS = ("cache_control", "prompt_cache_breakpoint")
OPAQUE = ("input", "args", "json", "input_schema", "parameters", "parametersJsonSchema", "response")
"""Fields whose object is a tool's own data: what is called like a mark in it is none."""

# Who takes a system message inside the conversation, and whose models cache at marks.
SYSTEM_INSIDE = re.compile(r"claude-(fable|mythos)-5|claude-opus-(4-8|5)|claude-(sonnet|haiku)-5-5")
GPT_WITH_MARKS = re.compile(r"(^|/)gpt-(5\.6|6)")
BEDROCK_CLAUDE = re.compile(r"anthropic\.claude-(opus|sonnet|haiku|fable|mythos)-[45]|anthropic\.claude-3-5-haiku")
BEDROCK_NOVA = re.compile(r"amazon\.nova-(micro|lite|pro|premier)")

CARRIERS = {"text", "image", "document", "search_result", "tool_use", "tool_result"}
IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


def check(to: str, model: str, body: Body) -> None:
    """Assert that a provider takes a body."""
    _plain_json(body)
    _CHECKS[to](model, body)


def marks(body: Body) -> list[tuple[str, str]]:
    """Return the place and the lifetime ("" for the default) of every mark in a body, in its order.

    Where a mark is an element of its own, its place is that of the element before it, counted without marks.
    """
    inner = [mark for mark in _marks(body, "") if mark[0]]
    # Anthropic's automatic mark is a field of the body, and means the end of the newest message.
    return [*inner, *[("cache_control", life) for place, life in _marks(body, "") if not place]]


def _marks(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        number = -1
        for item in value:
            if isinstance(item, dict) and "cachePoint" in item:
                yield f"{path}[{number}]", item["cachePoint"].get("ttl", "")
            else:
                number += 1
                yield from _marks(item, f"{path}[{number}]")
    elif isinstance(value, dict):
        for key in MARK_KEYS:
            if key in value:
                yield path, value[key].get("ttl", "")
        for key, item in value.items():
            if not _is_data(key, item) and key not in MARK_KEYS:
                yield from _marks(item, f"{path}.{key}" if path else key)


def unmarked(value: Any) -> Any:
    """Return a copy of a body without its marks."""
    if isinstance(value, list):
        return [unmarked(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key not in MARK_KEYS}
    return {key: item if _is_data(key, item) else unmarked(item) for key, item in kept.items()}


def _is_data(key: str, value: Any) -> bool:
    return key in OPAQUE and isinstance(value, dict)


def _plain_json(body: Body) -> None:
    """JSON of plain values, without NaN, that encodes to UTF-8."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    text.encode()
    assert json.loads(text) == body, "values or keys that JSON turns into others"


def _spoken(text: Any) -> None:
    assert isinstance(text, str)
    assert text.strip(), "a blank text"


def _names(names: list[str], pattern: str) -> None:
    assert len(names) == len(set(names)), "two tools of one name"
    assert names == sorted(names), "tools in no canonical order"
    for name in names:
        assert re.fullmatch(pattern, name), name


def _schema(schema: Any) -> None:
    assert isinstance(schema, dict)
    assert schema.get("type") == "object"


def _lifetimes(found: list[str], order: tuple[str, ...], most: int) -> None:
    """At most so many marks, none that lives longer than an earlier one; `order` starts with the longest."""
    assert len(found) <= most, f"{len(found)} marks"
    ranks = [order.index(lifetime or order[-1]) for lifetime in found]
    assert ranks == sorted(ranks), f"a longer lifetime after a shorter one: {found}"


# Anthropic Messages


def _anthropic(model: str, body: Body) -> None:
    assert set(body) <= {"model", "max_tokens", "tools", "system", "messages", "stream", "cache_control"}
    assert body["model"] == model
    assert body["max_tokens"] >= 1
    if "tools" in body:
        assert body["tools"]
        for tool in body["tools"]:
            assert set(tool) <= {
                "type",
                "name",
                "description",
                "input_schema",
                "cache_control",
                "strict",
                "defer_loading",
            }
            assert tool.get("type", "custom") == "custom"
            assert not (tool.get("defer_loading") and "cache_control" in tool), "a deferred tool with a mark"
            _schema(tool["input_schema"])
        _names([tool["name"] for tool in body["tools"]], "[a-zA-Z0-9_-]{1,128}")
    if "system" in body:
        assert body["system"]
        for block in body["system"]:
            assert set(block) <= {"type", "text", "cache_control"}
            assert block["type"] == "text"
            _spoken(block["text"])
    messages = body["messages"]
    _turns([message["role"] for message in messages])
    for number, message in enumerate(messages):
        assert set(message) == {"role", "content"}
        assert isinstance(message["content"], list)
        assert message["content"], "a message without content"
        if message["role"] == "system":
            after = messages[number + 1]["role"] if number + 1 < len(messages) else "assistant"
            assert SYSTEM_INSIDE.search(model), "a system message for a model that takes none"
            assert number > 0
            assert messages[number - 1]["role"] == "user", "a system message that follows no user's"
            assert after == "assistant", "a system message that is neither last nor answered"
            assert {block["type"] for block in message["content"]} == {"text"}
        for block in message["content"]:
            _anthropic_block(block, message["role"])
    _answered(
        [
            (
                message["role"],
                [block["id"] for block in message["content"] if block["type"] == "tool_use"],
                [block["tool_use_id"] if block["type"] == "tool_result" else None for block in message["content"]],
            )
            for message in messages
        ],
        "[a-zA-Z0-9_-]+",
    )
    for place, _ in marks(body):
        assert re.fullmatch(r"(tools|system)\[\d+\]|messages\[\d+\]\.content\[\d+\]|cache_control", place), place
    _lifetimes([lifetime for _, lifetime in marks(body)], ("1h", "5m"), 4)


def _anthropic_block(block: Body, role: str) -> None:
    kind = block["type"]
    if "cache_control" in block:
        assert kind in CARRIERS, f"a mark on {kind}"
        assert block["cache_control"]["type"] == "ephemeral"
        assert set(block["cache_control"]) <= {"type", "ttl"}
    if kind == "text":
        assert set(block) <= {"type", "text", "cache_control"}
        _spoken(block["text"])
    elif kind == "image":
        assert role == "user"
        source = block["source"]
        assert source["type"] in ("base64", "url")
        assert source["type"] == "url" or source["media_type"] in IMAGES
    elif kind == "tool_use":
        assert role == "assistant"
        assert isinstance(block["input"], dict)
        assert re.fullmatch("[a-zA-Z0-9_-]{1,128}", block["name"]), block["name"]
    elif kind == "tool_result":
        assert role == "user"
        for inner in block.get("content", []):
            assert inner["type"] in ("text", "image")
            assert "cache_control" not in inner
            _anthropic_block(inner, role)
    elif kind in ("document", "search_result"):
        assert role == "user"
    else:
        assert kind in ("thinking", "redacted_thinking")
        assert role == "assistant"
        assert ("signature" in block) if kind == "thinking" else ("data" in block)


def _turns(roles: list[str]) -> None:
    """A user's message first, none of the assistant's last."""
    assert roles, "no messages"
    assert roles[0] == "user", f"{roles[0]} first"
    assert roles[-1] not in ("assistant", "model"), "the assistant last"


def _answered(messages: list[tuple[str, list[str], list[str | None]]], pattern: str) -> None:
    """Every call is answered in the next message, before anything else in it, and nothing else is.

    Of each message: its role, the ids of its calls, and for each block the id that it answers, if it does.
    """
    every = [call for _, calls, _ in messages for call in calls]
    assert len(every) == len(set(every)), "two calls of one id"
    for call in every:
        assert re.fullmatch(pattern, call), call
    asked: list[str] = []
    for role, calls, answers in messages:
        assert not asked or role == "user", "a call without its result"
        first = answers[: len(asked)]
        assert sorted(map(str, first)) == sorted(asked), "results that do not stand first, or answer no call"
        assert not any(answers[len(asked) :]), "a result without its call"
        asked = calls
    assert not asked, "a call without its result"


# Amazon Bedrock Converse


def _bedrock(model: str, body: Body) -> None:
    assert set(body) <= {"toolConfig", "system", "messages", "inferenceConfig"}
    claude, nova = BEDROCK_CLAUDE.search(model), BEDROCK_NOVA.search(model)
    if "toolConfig" in body:
        specs = [tool["toolSpec"] for tool in body["toolConfig"]["tools"] if "cachePoint" not in tool]
        assert specs
        for spec in specs:
            assert set(spec) <= {"name", "description", "inputSchema", "strict"}
            assert spec.get("description") != ""
            _schema(spec["inputSchema"]["json"])
        _names([spec["name"] for spec in specs], "[a-zA-Z0-9_-]{1,64}")
        _cache_points(body["toolConfig"]["tools"], {"toolSpec"} if claude else set())
    if "system" in body:
        for block in body["system"]:
            assert len(block) == 1
            if "cachePoint" not in block:
                _spoken(block["text"])
        _cache_points(body["system"], {"text"} if claude or nova else set())
    messages = body["messages"]
    _turns([message["role"] for message in messages])
    for before, after in pairwise(messages):
        assert before["role"] != after["role"], "roles that do not take turns"
    for message in messages:
        assert set(message) == {"role", "content"}
        assert unmarked(message["content"]), "a message without content"
        for block in message["content"]:
            _bedrock_block(block, message["role"])
        carriers = {"text"} if nova else {"text", "image", "toolUse", "toolResult"} if claude else set()
        _cache_points(message["content"], carriers)
    contents = [(message["role"], unmarked(message["content"])) for message in messages]
    _answered(
        [
            (
                role,
                [block["toolUse"]["toolUseId"] for block in content if "toolUse" in block],
                [block["toolResult"]["toolUseId"] if "toolResult" in block else None for block in content],
            )
            for role, content in contents
        ],
        "[a-zA-Z0-9_.:-]{1,64}",
    )
    if any("toolUse" in block for _, content in contents for block in content):
        assert "toolConfig" in body, "tool blocks without their tools"
    longest = ("1h", "5m") if claude else ("5m",)
    ordered: Body = {key: body[key] for key in ("toolConfig", "system", "messages") if key in body}
    _lifetimes([lifetime for _, lifetime in marks(ordered)], longest, 4 if claude or nova else 0)


def _cache_points(blocks: list[Body], carriers: set[str]) -> None:
    """A mark is an element of its own, and follows one that may carry it."""
    for number, block in enumerate(blocks):
        if "cachePoint" in block:
            assert set(block) == {"cachePoint"}
            assert block["cachePoint"]["type"] == "default"
            assert set(block["cachePoint"]) <= {"type", "ttl"}
            assert number > 0, "a mark that follows nothing"
            assert set(blocks[number - 1]) <= carriers, f"a mark after {blocks[number - 1]}"


def _bedrock_block(block: Body, role: str) -> None:
    assert len(block) == 1
    (kind,) = block
    value = block[kind]
    if kind == "text":
        _spoken(value)
    elif kind == "image":
        assert role == "user"
        assert value["format"] in ("png", "jpeg", "gif", "webp")
        base64.b64decode(value["source"]["bytes"], validate=True)
    elif kind == "toolUse":
        assert role == "assistant"
        assert isinstance(value["input"], dict)
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", value["name"]), value["name"]
    elif kind == "toolResult":
        assert role == "user"
        assert set(value) <= {"toolUseId", "content", "status"}
        for inner in value["content"]:
            assert set(inner) <= {"text", "image"}
            _bedrock_block(inner, role)
    elif kind == "reasoningContent":
        assert role == "assistant"
        assert len(value) == 1
        assert set(value) <= {"reasoningText", "redactedContent"}
    else:
        assert kind == "cachePoint", kind


# Chat Completions: OpenAI, DeepSeek, LiteLLM


def _openai(model: str, body: Body) -> None:
    assert set(body) <= {
        "model",
        "tools",
        "messages",
        "max_completion_tokens",
        "prompt_cache_key",
        "stream",
        "stream_options",
    }
    marked = bool(GPT_WITH_MARKS.search(model))
    _chat(model, body, "[a-zA-Z0-9_-]{1,64}", ".{1,40}")
    for message in body["messages"]:
        assert "reasoning_content" not in message
        assert "thinking_blocks" not in message
    _breakpoints(body, marked, chat=True)


def _deepseek(model: str, body: Body) -> None:
    assert set(body) <= {"model", "tools", "messages", "max_tokens", "stream", "stream_options"}
    _chat(model, body, "[a-zA-Z0-9_-]{1,64}", ".+")
    assert not marks(body)
    for message in body["messages"]:
        assert isinstance(message["content"], str) or message["role"] == "assistant", "content that is no text"
        assert "thinking_blocks" not in message


def _litellm(model: str, body: Body) -> None:
    assert set(body) <= {"model", "tools", "messages", "max_tokens", "prompt_cache_key", "stream", "stream_options"}
    route = model.partition("/")[0]
    _chat(model, body, "[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", ".+")
    if route == "openai":
        _breakpoints(body, bool(GPT_WITH_MARKS.search(model)), chat=True)
        return
    claude = route == "anthropic" or bool(BEDROCK_CLAUDE.search(model))
    nova = route == "bedrock" and bool(BEDROCK_NOVA.search(model))
    most = 4 if claude or nova else 0
    _lifetimes([lifetime for _, lifetime in marks(body)], ("1h", "5m") if claude else ("5m",), most)
    for place, _ in marks(body):
        _litellm_mark(place, body, claude)
    if route in ("anthropic", "bedrock", "gemini"):
        rest = [message["role"] for message in body["messages"]]
        while rest and rest[0] == "system":
            rest.pop(0)
        _turns(["user" if role == "tool" else role for role in rest])
        if not SYSTEM_INSIDE.search(model) or route != "anthropic":
            assert "system" not in rest, "a system message inside the conversation"
        # LiteLLM puts a sentence of its own in place of a blank text.
        for message in body["messages"]:
            if message["role"] in ("user", "system"):
                parts = message["content"]
                for part in [{"type": "text", "text": parts}] if isinstance(parts, str) else parts:
                    assert part["type"] != "text" or part["text"].strip(), "a blank text"


def _litellm_mark(place: str, body: Body, claude: bool) -> None:
    """Marks stand on tools, on tool messages, and on parts of the system's and the user's."""
    holder = _at(body, place)
    assert "prompt_cache_breakpoint" not in holder, "a mark that only OpenAI takes"
    if match := re.fullmatch(r"messages\[(\d+)\](\.content\[\d+\])?", place):
        role = body["messages"][int(match[1])]["role"]
        assert role in (("system", "user") if match[2] else ("tool",)), f"a mark on {place} of {role}"
        assert claude or match[2], "a mark on a result"
    else:
        assert re.fullmatch(r"tools\[\d+\]", place), place
        assert claude, "a mark on a tool"


def _breakpoints(body: Body, marked: bool, *, chat: bool) -> None:
    """OpenAI's marks: for the models that take them, on parts of what is not the model's own; one is implicit."""
    found = marks(body)
    if not marked:
        assert not found, "a mark for a model that takes none"
        return
    assert len(found) <= 3, "more marks than are written beside the implicit one"
    items = "messages" if chat else "input"
    for place, lifetime in found:
        match = re.fullmatch(rf"{items}\[(\d+)\]\.(content|output)\[\d+\]", place)
        assert match, place
        holder, item = _at(body, place), body[items][int(match[1])]
        assert "cache_control" not in holder, "a mark that OpenAI does not know"
        assert holder["prompt_cache_breakpoint"]["mode"] == "explicit"
        assert lifetime in (("",) if chat else ("", "12h"))
        assert holder["type"] in ({"text", "image_url"} if chat else {"input_text", "input_image"})
        assert holder["type"] not in ("text", "input_text") or holder["text"].strip(), "a mark on a blank text"
        assert item.get("role") != "assistant", "a mark on what the model said"
        assert not chat or item["role"] != "tool"


def _at(body: Any, place: str) -> Any:
    """Return what stands at a place of a body, found by walking there."""
    for key, number in re.findall(r"([A-Za-z]+)|\[(\d+)\]", place):
        body = body[key] if key else body[int(number)]
    return body


def _chat(model: str, body: Body, name: str, call_id: str) -> None:
    assert body["model"] == model
    if "tools" in body:
        assert body["tools"]
        for tool in body["tools"]:
            assert tool["type"] == "function"
            assert set(tool) <= {"type", "function", "cache_control"}
            assert set(tool["function"]) <= {"name", "description", "parameters", "strict"}
            _schema(tool["function"]["parameters"])
        _names([tool["function"]["name"] for tool in body["tools"]], name)
    assert body["messages"], "no messages"
    asked: list[str] = []
    for message in body["messages"]:
        role, content = message["role"], message["content"]
        assert role in ("system", "developer", "user", "assistant", "tool")
        if role == "tool":
            assert message["tool_call_id"] in asked, "a result without its call"
            asked.remove(message["tool_call_id"])
            assert isinstance(content, str)
            continue
        assert not asked, "a call without its result"
        if role == "assistant":
            assert isinstance(content, str) or (content is None and message.get("tool_calls"))
            for call in message.get("tool_calls", []):
                assert call["type"] == "function"
                assert isinstance(call["function"]["arguments"], str)
                assert re.fullmatch(name, call["function"]["name"]), call["function"]["name"]
                assert re.fullmatch(call_id, call["id"]), call["id"]
                asked.append(call["id"])
            assert len(asked) == len(set(asked))
        elif not isinstance(content, str):
            assert content, "an empty list of parts"
            for part in content:
                assert part["type"] in ("text", "image_url")
                assert part["type"] == "text" or role == "user"
    assert not asked, "a call without its result"


# OpenAI Responses


def _responses(model: str, body: Body) -> None:
    assert set(body) <= {"model", "tools", "input", "max_output_tokens", "prompt_cache_key", "stream"}, "instructions?"
    assert body["model"] == model
    if "tools" in body:
        assert body["tools"]
        for tool in body["tools"]:
            assert tool["type"] == "function"
            assert set(tool) <= {"type", "name", "description", "parameters", "strict"}
            assert "strict" in tool, "without it the schema is held to rules that few keep"
            _schema(tool["parameters"])
        _names([tool["name"] for tool in body["tools"]], "[a-zA-Z0-9_-]{1,64}")
    assert body["input"], "no input"
    asked: set[str] = set()
    for item in body["input"]:
        if item.get("type") == "function_call":
            assert isinstance(item["arguments"], str)
            assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", item["name"]), item["name"]
            assert re.fullmatch(".{1,64}", item["call_id"]), item["call_id"]
            assert item["call_id"] not in asked
            asked.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            assert item["call_id"] in asked, "a result without its call"
            asked.remove(item["call_id"])
            _parts(item["output"])
        else:
            assert not asked, "a call without its result"
            assert item["role"] in ("system", "developer", "user", "assistant")
            if item["role"] == "assistant":
                assert isinstance(item["content"], str)
            else:
                _parts(item["content"])
    assert not asked, "a call without its result"
    _breakpoints(body, bool(GPT_WITH_MARKS.search(model)), chat=False)


def _parts(content: Any) -> None:
    if isinstance(content, str):
        return
    assert content, "an empty list of parts"
    for part in content:
        assert part["type"] in ("input_text", "input_image")


# Gemini generateContent


def _gemini(model: str, body: Body) -> None:
    assert set(body) <= {"systemInstruction", "tools", "contents", "generationConfig", "cachedContent"}
    assert not marks(body)
    if "cachedContent" in body:
        assert not {"systemInstruction", "tools", "toolConfig"} & set(body), "cached content beside its own parts"
    if "tools" in body:
        (tool,) = body["tools"]
        for declared in tool["functionDeclarations"]:
            assert set(declared) <= {"name", "description", "parametersJsonSchema"}
            _schema(declared["parametersJsonSchema"])
        _names([declared["name"] for declared in tool["functionDeclarations"]], "[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
    if "systemInstruction" in body:
        for part in body["systemInstruction"]["parts"]:
            _spoken(part["text"])
    contents = body["contents"]
    roles = [content["role"] for content in contents]
    _turns(["user", *roles] if "cachedContent" in body else roles)
    for before, after in pairwise(roles):
        assert before != after, "roles that do not take turns"
    for content in contents:
        assert content["role"] in ("user", "model")
        assert content["parts"], "a content without parts"
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not model.startswith("gemini-2"):
            assert "thoughtSignature" in calls[0], "a call without a signature"
        for part in content["parts"]:
            _gemini_part(part, content["role"])
    _answered(
        [
            (
                content["role"],
                [part["functionCall"]["id"] for part in content["parts"] if "functionCall" in part],
                [part["functionResponse"]["id"] if "functionResponse" in part else None for part in content["parts"]],
            )
            for content in contents
        ],
        ".+",
    )


def _gemini_part(part: Body, role: str) -> None:
    (kind,) = set(part) - {"thoughtSignature"}
    value = part[kind]
    if kind == "text":
        _spoken(value)
    elif kind == "inlineData":
        assert role == "user"
        assert value["mimeType"] in IMAGES - {"image/gif"}
    elif kind == "functionCall":
        assert role == "model"
        assert isinstance(value["args"], dict)
        assert re.fullmatch("[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", value["name"]), value["name"]
        base64.b64decode(part.get("thoughtSignature", ""), validate=True)
    else:
        assert kind == "functionResponse"
        assert role == "user"
        assert isinstance(value["response"], dict)


_CHECKS: dict[str, Callable[[str, Body], None]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "deepseek": _deepseek,
    "gemini": _gemini,
    "litellm": _litellm,
    "openai": _openai,
    "openai-responses": _responses,
}
