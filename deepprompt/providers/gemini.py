"""Gemini's generateContent, with its implicit cache or with cached content that was made beforehand.

A request that names cached content may set neither a system instruction nor tools, because those are part of the cached
content. The text of a system prompt that changes then goes to the start of the conversation.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TypedDict

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace
from deepprompt.providers.dialect import Body, Dialect, UsageShape
from deepprompt.providers.draft import Draft, plain_text
from deepprompt.providers.neutral import Block, Image, Message, Outline, Payload, Text, Tool, ToolCall, ToolResult

# The fields that only Gemini's bodies have.
_FIELDS = ("contents", "systemInstruction", "system_instruction", "cachedContent", "generationConfig")

# The fields of a body that google-genai takes in its `config`.
_CONFIG = {"systemInstruction": "system_instruction", "tools": "tools", "cachedContent": "cached_content"}


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
    if tools := [_write_tool(draft.function(tool)) for tool in draft.check_tools(outline)]:
        body["tools"] = [{"functionDeclarations": tools}]
        draft.spot("tools[0]", json.dumps(tools, ensure_ascii=False), None)
    if outline.system:
        body["systemInstruction"] = {"parts": [{"text": outline.system_text}]}
        for block in outline.system:
            draft.spot("systemInstruction", block, None)


def _write_tool(tool: Tool) -> Payload:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parametersJsonSchema": tool.schema}


def _contents(messages: tuple[Message, ...], draft: Draft, *, continued: bool = False) -> list[Payload]:
    contents = draft.begin([])
    for message in draft.turns(messages, continued=continued):
        role = "model" if message.role == "assistant" else "user"
        if not contents or contents[-1]["role"] != role:
            contents.append({"role": role, "parts": []})
        parts = contents[-1]["parts"]  # neighbours of one role are one content
        for place, block in enumerate(message.blocks):
            draft.spot(f"contents[{len(contents) - 1}].parts[{len(parts)}]", block, None, message)
            first = isinstance(block, ToolCall) and not any("functionCall" in part for part in parts)
            parts.append(_write(block, f"{message.place}.content[{place}]", draft, first_call=first))
    return contents


def _write(block: Block, place: str, draft: Draft, *, first_call: bool) -> Payload:
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Image):
        image = draft.image(block, place)
        return {"inlineData": {"mimeType": image.media_type, "data": image.data}}
    if isinstance(block, ToolCall):
        name, given = draft.call_name(block, place), block.input(place)
        call = {"functionCall": {"id": draft.call_id(block.id), "name": name, "args": given}}
        signature = block.signature or (_unsigned(draft) if first_call else "")
        return call | ({"thoughtSignature": signature} if signature else {})
    if isinstance(block, ToolResult):
        if not all(isinstance(inner, Text) for inner in block.content):
            raise MessageError("a tool result is text for gemini; send an image as the user's", place)
        text = plain_text(block.content, "\n\n")
        response = {"error" if block.is_error else "output": text}
        return {"functionResponse": {"id": draft.call_id(block.call_id), "name": block.name, "response": response}}
    raise draft.refuse(block, place)


def _unsigned(draft: Draft) -> str:
    """Return a signature for a call that another model made, if Gemini insists on one; "" otherwise."""
    given = draft.rules.call_signature
    return base64.b64encode(given.encode()).decode() if given else ""


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
)  # fmt: skip


USAGE = UsageShape(  # of generateContent; the Live API calls the candidates a response
    known_by=("prompt_token_count",),
    input=("prompt_token_count", "tool_use_prompt_token_count"),
    output=("candidates_token_count", "response_token_count", "thoughts_token_count"),
    read=("cached_content_token_count",),
)
USAGE_OF_INTERACTIONS = UsageShape(
    known_by=("total_input_tokens",),
    input=("total_input_tokens", "total_tool_use_tokens"),
    output=("total_output_tokens", "total_thought_tokens"),
    read=("total_cached_tokens",),
)
