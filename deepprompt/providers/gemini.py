"""Gemini's generateContent, with its implicit cache or with cached content that was made beforehand.

A request that names cached content may set neither a system instruction nor tools, because those are part of the cached
content. The text of a system prompt that changes then goes to the start of the conversation.
"""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import Any, TypedDict

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace
from deepprompt.providers.dialect import Body, Dialect, UsageShape
from deepprompt.providers.draft import Draft
from deepprompt.providers.neutral import (
    Block,
    Image,
    Message,
    Native,
    Outline,
    Payload,
    Role,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    as_text,
    own_form,
    required,
)
from deepprompt.providers.readable import plain_text

# The fields that only Gemini's bodies have.
_FIELDS = ("contents", "systemInstruction", "system_instruction", "cachedContent", "generationConfig")

# The fields of a body that google-genai takes in its `config`.
_CONFIG = {"systemInstruction": "system_instruction", "tools": "tools", "cachedContent": "cached_content"}

_ROLES: dict[str, Role] = {"model": "assistant", "user": "user", "function": "user"}

# The kinds of part that only Gemini has, and a user may send.
_PARTS = (
    "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "videoMetadata",
    "mediaResolution", "partMetadata", "audioTranscription", "mediaProcessing", "speechMetadata",
)  # fmt: skip

_KNOWN = ("functionCall", "functionResponse", *_PARTS)


class GenerateBody(TypedDict, total=False):
    """The body of `POST /v1beta/models/MODEL:generateContent`."""

    cachedContent: str
    tools: list[Payload]
    systemInstruction: Payload
    contents: list[Payload]
    generationConfig: Payload


class CachedContentBody(GenerateBody, total=False):
    """The body of `POST /v1beta/cachedContents`."""

    model: str
    ttl: str


def write(outline: Outline, draft: Draft) -> GenerateBody:
    """Return the body of a request."""
    body: GenerateBody = {}
    if outline.options.cached_content:
        cached, rest = split(outline, draft)
        if outline.messages and len(cached.messages) == len(outline.messages):
            raise MessageError(
                "all up to this mark is in the cached content: append the next message", outline.messages[-1].place
            )
        body["cachedContent"] = outline.options.cached_content
        body["contents"] = _contents(rest.messages, draft, continued=bool(cached.messages))
    else:
        _write_prefix(body, outline, draft)
        body["contents"] = _contents(outline.messages, draft)
    if outline.options.max_tokens:
        body["generationConfig"] = {"maxOutputTokens": outline.options.max_tokens}
    return body


def write_cached(outline: Outline, draft: Draft, lifetime: str) -> CachedContentBody:
    """Return the body that makes cached content: everything that does not change from turn to turn."""
    cached, _ = split(outline, draft)
    body: CachedContentBody = {"model": f"models/{outline.model.removeprefix('models/')}"}
    _write_prefix(body, cached, draft)
    if contents := _contents(cached.messages, draft):
        body["contents"] = contents
    if len(body) == 1:
        raise MessageError("there is nothing to cache: no static prefix, no tools, no marked message")
    body["ttl"] = lifetime
    return body


def arguments(model: str, body: Payload) -> Payload:
    """Return the arguments of google-genai's `generate_content`, or of `caches.create`."""
    if "ttl" in body:
        config = {"ttl": body["ttl"], **{name: body[key] for key, name in _CONFIG.items() if key in body}}
        if "contents" in body:
            config["contents"] = body["contents"]
        return {"model": model, "config": config}
    config = {name: body[key] for key, name in _CONFIG.items() if key in body}
    if "generationConfig" in body:
        config["max_output_tokens"] = body["generationConfig"]["maxOutputTokens"]
    return {"model": model, "contents": body["contents"], "config": config}


def split(outline: Outline, draft: Draft) -> tuple[Outline, Outline]:
    """Split an outline into cached content and the rest, after the last user's turn up to the caller's last mark."""
    marked = [
        number for number, message in enumerate(outline.messages) if any(b.mark is not None for b in message.blocks)
    ]
    end = marked[-1] + 1 if marked else 0
    while end and outline.messages[end - 1].role == "assistant":  # cached content ends with a user's turn
        end -= 1
    static = tuple(block for block in outline.system if block.pace is not Pace.TURN)
    changing = replace(outline, system=tuple(block for block in outline.system if block not in static)).system_text
    rest = outline.messages[end:]
    if changing:
        place = "system"
        draft.notes.append(
            Note("replaced", place, "the part of the system prompt that changes opens the conversation instead")
        )
        index = rest[0].index if rest else 0
        rest = (Message("user", (Text(changing),), index), *rest)
    cached = replace(outline, system=static, messages=outline.messages[:end])
    return cached, replace(outline, system=(), tools=(), messages=rest)


def _write_prefix(body: GenerateBody, outline: Outline, draft: Draft) -> None:
    if tools := draft.tools(outline, _write_tool):
        body["tools"] = [{"functionDeclarations": tools}]
        draft.tools_spot(("tools", 0))
    if outline.system:
        body["systemInstruction"] = {"parts": [{"text": outline.system_text}]}
        for block in outline.system:
            draft.system_spot(("systemInstruction",), block)


def _write_tool(tool: Tool) -> Payload:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parametersJsonSchema": tool.schema}


def _contents(messages: tuple[Message, ...], draft: Draft, *, continued: bool = False) -> list[Payload]:
    contents = draft.begin([])
    for message in draft.each(draft.turns(messages, continued=continued)):
        role = "model" if message.role == "assistant" else "user"
        if not contents or contents[-1]["role"] != role:
            contents.append({"role": role, "parts": []})
        parts = contents[-1]["parts"]  # neighbours of one role are one content
        for place, block in enumerate(message.blocks):
            draft.spot(("contents", len(contents) - 1, "parts", len(parts)), block, message)
            first = isinstance(block, ToolCall) and not any("functionCall" in part for part in parts)
            parts.append(_write(block, f"{message.place}.content[{place}]", draft, first_call=first))
    return contents


def _write(block: Block, place: str, draft: Draft, *, first_call: bool) -> Payload:
    block = draft.image(block, place) if isinstance(block, Image) else block
    own = own_form(block, "gemini") or {}
    if isinstance(block, ToolCall):
        name, given = draft.call_name(block, place), draft.call_input(block, place)
        call = {**own.get("functionCall", {}), "id": draft.call_id(block.id), "name": name, "args": given}
        signature = block.signature or (_unsigned(draft) if first_call else "")
        return {**own, "functionCall": call} | ({"thoughtSignature": signature} if signature else {})
    if isinstance(block, ToolResult):
        result = {**own.get("functionResponse", {}), "id": draft.call_id(block.call_id), "name": block.name}
        if not own:
            why = "a tool result is text for gemini; send an image as the user's"
            content = [
                inner if isinstance(inner, Text) else draft.replaced(inner, place, why) for inner in block.content
            ]
            result["response"] = {"error" if block.is_error else "output": plain_text(tuple(content), "\n\n")}
        return {**own, "functionResponse": result}
    if own:
        return own
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Image):
        return {"inlineData": {"mimeType": block.media_type, "data": block.data}}
    return _write(draft.replaced(block, place), place, draft, first_call=False)


def _unsigned(draft: Draft) -> str:
    """Return a signature for a call that another model made, if Gemini insists on one; "" otherwise."""
    given = draft.rules.call_signature
    return base64.b64encode(given.encode()).decode() if given else ""


def read_content(content: Payload, index: int) -> tuple[Role, list[Block]]:
    """Return the role and the blocks of a `Content`, as a response has it or as a caller wrote it.

    Names may be in snake_case. In a response, a part of any kind is kept; a user's has to be a known one.
    """
    place = f"messages[{index}]"
    role = _ROLES.get(content.get("role", ""))
    if role is None:
        raise MessageError(f"unknown role {content.get('role')!r}; the roles of Gemini are {', '.join(_ROLES)}", place)
    parts = content["parts"]
    parts = [_spelled_part(part) for part in parts] if isinstance(parts, list) else parts
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise MessageError("parts is a list of objects", place)
    if role == "user" and not parts:
        raise MessageError("no parts; a user's content has at least one", place)
    read = [
        _read_part(part, role, f"{place}.parts[{number}]", f"call_{index}_{number}")
        for number, part in enumerate(parts)
        if part
    ]
    return role, read


def _spelled(value: Any, key: str = "") -> Any:
    """Return a value with its names in camelCase, as on the wire. A tool's own data stays as it is."""
    if key in ("args", "response", "partMetadata"):
        return value
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_camel(name): _spelled(item, _camel(name)) for name, item in value.items()}


def _spelled_part(part: Any) -> Any:
    """Return a part spelled as on the wire. The value of an unknown field stays as it is."""
    if not isinstance(part, dict):
        return part
    names = {name: _camel(name) for name in part}
    return {names[name]: _spelled(item, names[name]) if names[name] in _KNOWN else item for name, item in part.items()}


def _camel(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])_([a-z])", lambda found: found[1].upper(), name)


def _read_part(part: Payload, role: Role, place: str, given_id: str) -> Block:
    own = Native(part, api="gemini")
    text = part.get("text")
    if isinstance(text, str) and part.get("thought"):
        return Thinking(text, own=own)
    if isinstance(text, str) and (len(part) == 1 or text.strip()):
        return Text(text, own=own if len(part) > 1 else None)
    if isinstance(call := part.get("functionCall"), dict):
        arguments = as_text(call.get("args") or {})
        signature = part.get("thoughtSignature")
        signed = signature if isinstance(signature, str) else ""
        return ToolCall(_id(call) or given_id, required(call, "name", place), arguments, signed, own=own)
    if role == "user" and isinstance(result := part.get("functionResponse"), dict):
        response = result.get("response")
        failed = isinstance(response, dict) and [*response] == ["error"]
        name = required(result, "name", place)
        return ToolResult(_id(result), (Text(_said(response)),), failed, name, own=own)
    data = part.get("inlineData")
    if role == "user" and isinstance(data, dict) and str(data.get("mimeType")).startswith("image/") and len(part) == 1:
        base64_text = str(data.get("data")).replace("-", "+").replace("_", "/")
        return Image.of_bytes(data["mimeType"], base64_text, place)
    if role == "user" and not any(name in _PARTS for name in part):
        raise MessageError(f"no part that Gemini takes: {', '.join(part)}; there are text, {', '.join(_PARTS)}", place)
    return own


def _id(call: Payload) -> str:
    given = call.get("id")
    return given if isinstance(given, str) else ""


def _said(response: object) -> str:
    """Return the response of a function as text: its only value if that is a text, else as JSON."""
    if isinstance(response, dict) and len(response) == 1 and isinstance(text := next(iter(response.values())), str):
        return text
    return as_text(response)


def recognise(body: Body) -> bool:
    """Whether a body is Gemini's, by fields that only Gemini has."""
    return any(key in body for key in _FIELDS)


DIALECT = Dialect(
    "gemini",
    recognise,
    models="gemini",
    settings=("cachedContent", "cached_content"),
    tool_groups=("functionDeclarations", "function_declarations"),
    system=("systemInstruction", "system_instruction"),
    messages="contents",
    content="parts",
    roles={"model": "assistant"},
    kinds={
        "inlineData": "image", "inline_data": "image", "functionCall": "tool_use",
        "functionResponse": "tool_result", "function_response": "tool_result",
    },
    results={"functionResponse": "response", "function_response": "response"},
    own_data=("args", "parameters", "parametersJsonSchema", "response"),
    files=("data",),
    unread=(
        "generationConfig", "generation_config", "labels", "safetySettings", "safety_settings", "toolConfig",
        "tool_config",
    ),
)  # fmt: skip


USAGE = UsageShape(  # of generateContent; the Live API calls the candidates a response
    known_by=("prompt_token_count",),
    input=("prompt_token_count", "tool_use_prompt_token_count"),
    output=("candidates_token_count", "response_token_count", "thoughts_token_count"),
    read=("cached_content_token_count",),
    leaves_out_zero=True,
)
USAGE_OF_INTERACTIONS = UsageShape(
    known_by=("total_input_tokens",),
    input=("total_input_tokens", "total_tool_use_tokens"),
    output=("total_output_tokens", "total_thought_tokens"),
    read=("total_cached_tokens",),
    leaves_out_zero=True,
)
