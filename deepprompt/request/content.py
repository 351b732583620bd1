"""Read one message into neutral values: texts, images, tool calls and their results, reasoning.

A message may be written as in OpenAI's Chat Completions or as in Anthropic's Messages, or as a mixture of both. The
modules of Gemini, Bedrock and Responses read their own forms. A block of a response that nobody knows is kept as it is.
The caller's objects are never changed.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.prompt import Note
from deepprompt.providers import anthropic, bedrock, gemini, openai, responses
from deepprompt.providers.draft import plain_text
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.neutral import (
    Block,
    Image,
    Message,
    Native,
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    required,
)
from deepprompt.providers.recognise import MARK_FIELDS
from deepprompt.text.hygiene import scrub
from deepprompt.tools import as_dict

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user",
}  # fmt: skip
"""The roles that a caller can give a message, each with its neutral one."""

_TEXT_TYPES = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_KNOWN_FIELDS = frozenset(
    ("role", "content", "tool_calls", "refusal", "reasoning_content", "thinking_blocks", "provider_specific_fields",
     "parsed", *openai.OWN_FIELDS, *anthropic.ENVELOPE, *MARK_FIELDS)
)  # fmt: skip
"""The fields of a response that are read, or that say nothing to a model."""

_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def read_message(message: Mapping[str, object], index: int) -> Message:
    """Return one message in neutral values, or say what in it cannot be sent and why."""
    notes: list[Note] = []
    place = f"messages[{index}]"
    try:
        if not isinstance(message, Mapping):
            raise MessageError(f"a message is a mapping with a role and content, not {type(message).__name__}", place)
        is_item = responses.is_item(message)
        if is_item:
            role, blocks = _item(_plain(message, place, notes), index, notes)
        elif reader := _reader(message):
            role, blocks = reader(json.loads(_json(message, place, notes, as_wire)), index)
        else:
            role, blocks = _read(message, place, notes)
    except RecursionError:
        raise MessageError("nested too deeply", place) from None
    _check_role(role, blocks, place)
    # Providers want tool results before anything else in a message.
    blocks.sort(key=lambda block: not isinstance(block, ToolResult))
    paused = role == "assistant" and anthropic.is_paused(message, blocks)
    name = "" if role == "assistant" or is_item else _name(message, place, notes)
    return Message(role, tuple(blocks), index, tuple(notes), is_item, paused, name)


def _name(message: Mapping[str, object], place: str, notes: list[Note]) -> str:
    """Return the name of the speaker of a user's or system message. A tool's message needs none: its call has it."""
    name = message.get("name")
    if name is None or message.get("role") == "tool":
        return ""
    if not isinstance(name, str):
        raise MessageError(f"the name of a speaker is text, not {type(name).__name__}", place)
    return scrub(name, place, notes)


def is_wire_form(message: Mapping[str, object]) -> bool:
    """Whether a message is Gemini's or Bedrock's, whose SDKs have bytes where JSON has base64."""
    return _reader(message) is not None


def _reader(message: Mapping[str, object]) -> Callable[[Payload, int], tuple[Role, list[Block]]] | None:
    """Return the function that reads a message in a provider's own form."""
    if "parts" in message:
        return gemini.read_content
    return bedrock.read_message if bedrock.is_message(message) else None


def _item(item: Payload, index: int, notes: list[Note]) -> tuple[Role, list[Block]]:
    """Return the role and the block of an item of Responses."""
    place = f"messages[{index}]"
    if item["type"] not in _OUTPUTS:
        return responses.read_item(item, index)
    inner = _result_content(_content(item.get("output"), place, notes, "output"), place)
    return "user", [ToolResult(required(item, "call_id", place), inner, own=Native(item, api="openai-responses"))]


def _read(message: Mapping[str, object], place: str, notes: list[Note]) -> tuple[Role, list[Block]]:
    given = message.get("role")
    if given is None:
        raise MessageError(f"no role; its fields are {_fields(message)}, and the roles are {', '.join(ROLES)}", place)
    if not isinstance(given, str) or given not in ROLES:
        raise MessageError(f"unknown role {given!r}; the roles are {', '.join(ROLES)}", place)
    role = ROLES[given]
    if role != "assistant" and "content" not in message:
        raise MessageError(f"no content; its fields are {_fields(message)}", place)
    blocks = _content(message.get("content"), place, notes)
    if given == "tool":
        call_id = message.get("tool_call_id")
        if not isinstance(call_id, str) or not call_id:
            raise MessageError("a tool message needs the tool_call_id of its call", place)
        call_id = scrub(call_id, place, notes)
        blocks = [ToolResult(call_id, _result_content(blocks, place), mark=_last_mark(blocks))]
    if role == "assistant":
        blocks = [*_reasoning(message, place, notes), *blocks]
        if message.get("refusal"):
            blocks.append(Text(_string(message, "refusal", place, notes)))
        blocks += _calls(message.get("tool_calls"), place, notes)
        blocks += _own_fields(message, place, notes)
    # A mark beside the content, as LiteLLM takes it, means the last block.
    if (mark := _mark(message, place)) is not None and blocks:
        blocks[-1] = replace(blocks[-1], mark=mark)
    return role, blocks


def _own_fields(message: Mapping[str, object], place: str, notes: list[Note]) -> list[Block]:
    """Return what an answer of Chat Completions has beside its content, and note what cannot go back."""
    if lost := [key for key, value in message.items() if value and key not in _KNOWN_FIELDS]:
        notes.append(Note("skipped", place, f"fields that are not sent: {', '.join(map(str, lost[:8]))}"))
    found: list[Block] = []
    for field in openai.OWN_FIELDS:
        if message.get(field):
            own = Native(_plain({field: message[field]}, place, notes), api="openai")
            found.append(openai.read_audio(own) if field == "audio" else own)
    return found


def check_known(message: Message) -> None:
    """Refuse a user's block with a type that no provider takes."""
    if message.role != "user":
        return
    results = [inner for result in message.of(ToolResult) for inner in result.content]
    for block in (*message.blocks, *results):
        if isinstance(block, Native) and block.api == "anthropic" and block.kind not in _known_kinds():
            raise MessageError(f"no provider takes a block of type {block.kind!r}", message.place)


@cache
def _known_kinds() -> frozenset[str]:
    """Return the types of blocks that a user can give, by the bundled facts and of engines."""
    facts = bundled_facts()
    rules = [facts.rules(provider, "") for provider in facts.providers()]
    return frozenset(openai.PARTS_OF_ENGINES).union(*[one.carriers | one.blocks for one in rules])


def _fields(message: Mapping[str, object]) -> str:
    return ", ".join(str(key)[:40] for key in list(message)[:8]) or "none"


def _check_role(role: Role, blocks: list[Block], place: str) -> None:
    """Refuse blocks that a role cannot have."""
    for block in blocks:
        if isinstance(block, ToolCall | Thinking) and role != "assistant":
            raise MessageError(f"only the assistant's messages have {block.kind} blocks", place)
        if isinstance(block, ToolResult) and role != "user":
            raise MessageError("a tool result belongs in a user's or a tool's message", place)
        if not isinstance(block, Text) and role == "system":
            raise MessageError(f"a system message is text, not {block.kind}", place)
        if isinstance(block, Image) and role == "assistant":
            raise MessageError("an image belongs in a user's message or in a tool result", place)


def _reasoning(message: Mapping[str, object], place: str, notes: list[Note]) -> list[Block]:
    """Return the reasoning beside an assistant's content: LiteLLM's signed blocks, or DeepSeek's text."""
    if blocks := _content(message.get("thinking_blocks"), place, notes, "thinking_blocks"):
        return blocks
    reasoning = message.get("reasoning_content")
    return [Thinking(scrub(reasoning, place, notes))] if isinstance(reasoning, str) and reasoning else []


def _content(content: object, place: str, notes: list[Note], key: str = "content") -> list[Block]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(scrub(content, place, notes))]
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        raise MessageError(f"{key} is text or a list of blocks, not {type(content).__name__}", place)
    return [_block(block, f"{place}.{key}[{number}]", notes) for number, block in enumerate(content)]


def _block(block: object, place: str, notes: list[Note]) -> Block:
    if isinstance(block, str):
        return Text(scrub(block, place, notes))
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(kind, str):
        raise MessageError(
            f"neither text nor a block with a type, such as text, image_url or tool_result: {block!r:.60}", place
        )
    mark = _mark(block, place)
    if kind in _TEXT_TYPES:
        text = _string(block, _TEXT_TYPES[kind], place, notes)
        return Text(text, mark, _own(block, kind, place, notes))
    if kind in ("image_url", "input_image", "image"):
        image = replace(_image(block, place, notes), mark=mark)
        return image if isinstance(image, Native) else replace(image, own=_own(block, kind, place, notes))
    if kind == "tool_use":
        arguments = block.get("input", {})
        if not isinstance(arguments, Mapping):
            raise MessageError("the input of a tool_use block is an object", place)
        text = _json(arguments, place, notes)
        call_id, name = _string(block, "id", place, notes), _string(block, "name", place, notes)
        return ToolCall(call_id, name, text, mark=mark, own=_own(block, kind, place, notes))
    if kind == "tool_result":
        inner = _content(block.get("content"), place, notes)
        mark = _last_mark(inner) if mark is None else mark
        call_id = _string(block, "tool_use_id", place, notes)
        own = _own(block, kind, place, notes)
        return ToolResult(call_id, _result_content(inner, place), bool(block.get("is_error")), mark=mark, own=own)
    if kind in ("thinking", "redacted_thinking"):
        return replace(_thinking(_plain(block, place, notes), place, notes), mark=mark)
    plain, inner_marks = _without_marks(_plain(block, place, notes), place)
    mark = inner_marks[-1] if mark is None and inner_marks else mark
    is_item = responses.is_kind(kind) and any(isinstance(plain.get(key), str) for key in ("id", "call_id"))
    return Native(plain, mark, "openai-responses" if is_item else "anthropic")


def _own(block: Mapping[str, object], kind: str, place: str, notes: list[Note]) -> Native | None:
    """Return the fields of a block that only Anthropic knows, and note those that nobody does."""
    if kind not in anthropic.BLOCK_FIELDS:
        return None
    known, kept = anthropic.BLOCK_FIELDS[kind]
    more = [key for key, value in block.items() if value and key not in known and key not in MARK_FIELDS]
    if lost := [key for key in more if key not in kept]:
        notes.append(Note("skipped", place, f"fields that are not sent: {', '.join(map(str, lost[:8]))}"))
    own = {key: block[key] for key in more if key in kept}
    return Native(_plain(own, place, notes)) if own else None


def _thinking(block: Payload, place: str, notes: list[Note]) -> Thinking:
    """Return Anthropic's reasoning. Without its signature, no provider can verify it, and it is kept as text only."""
    if block["type"] == "redacted_thinking":
        _string(block, "data", place, notes)
        return Thinking("", block)
    block["thinking"] = block.get("thinking") or ""
    if isinstance(parts := block["thinking"], list):  # as Mistral has it
        return Thinking(plain_text(tuple(_content(parts, place, notes, "thinking"))))
    text = _string(block, "thinking", place, notes)
    return Thinking(text, block if isinstance(block.get("signature"), str) and block["signature"] else None)


def _last_mark(blocks: list[Block]) -> str | None:
    return next((block.mark for block in reversed(blocks) if block.mark is not None), None)


def _result_content(blocks: list[Block], place: str) -> tuple[Block, ...]:
    """Return the content of a tool result, without marks: a mark in it belongs to the whole result."""
    if wrong := [block.kind for block in blocks if isinstance(block, ToolCall | ToolResult | Thinking)]:
        raise MessageError(f"a tool result cannot hold a {wrong[0]} block", place)
    return tuple(replace(block, mark=None) for block in blocks)


def _calls(calls: object, place: str, notes: list[Note]) -> list[Block]:
    """Return the tool calls of an assistant's message in the form of Chat Completions."""
    if calls is None:
        return []
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise MessageError("tool_calls is a list", place)
    read: list[Block] = []
    for number, call in enumerate(calls):
        where = f"{place}.tool_calls[{number}]"
        if isinstance(call, Mapping) and isinstance(call.get("custom"), Mapping):
            read.append(openai.read_custom_call(_plain(call, where, notes), where))
            continue
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise MessageError('a tool call is {"id", "type": "function", "function": {"name", "arguments"}}', where)
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else _json(arguments, where, notes)
        signature = _signature(call, "extra_content", "google") or _signature(call, "provider_specific_fields")
        read.append(
            ToolCall(
                _string(call, "id", where, notes),
                _string(function, "name", where, notes),
                scrub(arguments, where, notes),
                scrub(signature, where, notes),
            )
        )
    return read


def _signature(call: Mapping[str, object], *keys: str) -> str:
    """Return Gemini's signature of a call from where Google's OpenAI endpoint or LiteLLM puts it; "" without one."""
    found: object = call
    for key in (*keys, "thought_signature"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""


def _image(block: Mapping[str, object], place: str, notes: list[Note]) -> Image | Native:
    """Return an image. One that was uploaded to a provider is that provider's own."""
    source = block.get("source")
    if isinstance(source, Mapping):
        if source.get("type") == "url":
            return Image.at(_string(source, "url", place, notes), place)
        if source.get("type") == "base64":
            media_type = _string(source, "media_type", place, notes)
            return Image.of_bytes(media_type, _string(source, "data", place, notes), place)
        if source.get("type") == "file":
            _string(source, "file_id", place, notes)
            return Native(_plain(block, place, notes))
        raise MessageError(f"the source of an image is base64, url or file, not {source.get('type')!r}", place)
    address = block.get("image_url")
    if address is None and isinstance(block.get("file_id"), str):
        return Native(_plain(block, place, notes), api="openai-responses")
    url = address.get("url") if isinstance(address, Mapping) else address
    detail = (address if isinstance(address, Mapping) else block).get("detail")
    if not isinstance(url, str) or not url:
        raise MessageError('an image is {"type": "image_url", "image_url": {"url": URL}}', place)
    return replace(Image.at(scrub(url, place, notes), place), detail=detail if isinstance(detail, str) else "")


def _string(block: Mapping[str, object], key: str, place: str, notes: list[Note]) -> str:
    value = block.get(key)
    if not isinstance(value, str) or (not value and key not in ("text", "thinking")):
        raise MessageError(f"{key} is {'empty' if value == '' else 'missing or no text'}", place)
    return scrub(value, place, notes)


def _mark(holder: Mapping[str, object], place: str) -> str | None:
    """Return the lifetime of the mark on a message or a block, "" for the default; None without a mark."""
    mark = next((holder[field] for field in MARK_FIELDS if field in holder), None)
    if mark is None:
        return None
    lifetime = mark.get("ttl", "") if isinstance(mark, Mapping) else None
    if not isinstance(lifetime, str):
        raise MessageError(f'a mark is {{"type": "ephemeral"}}, perhaps with a ttl, not {mark!r:.60}', place)
    return lifetime


def as_wire(value: object) -> object:
    """Return a value of an SDK as JSON has it: bytes as base64, a mapping as a dict."""
    return b64encode(value).decode() if isinstance(value, bytes) else as_dict(value)


def _json(value: object, place: str, notes: list[Note], default: Callable[[object], object] = as_dict) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)
    except (TypeError, ValueError) as error:
        raise MessageError(f"not JSON: {error}", place) from None
    return scrub(text, place, notes)


def _plain(block: Mapping[str, object], place: str, notes: list[Note]) -> Payload:
    """Return a copy of a block as plain JSON values, without its mark."""
    unmarked = {key: value for key, value in block.items() if key not in MARK_FIELDS}
    plain: Payload = json.loads(_json(unmarked, place, notes))
    return plain


def _without_marks(value: Any, place: str) -> tuple[Any, list[str]]:
    """Return a value without the marks in its own blocks, such as a document's, and the lifetimes of those marks.

    Here such a mark belongs to the whole block that contains it.
    """
    if isinstance(value, list):
        items = [_without_marks(item, place) for item in value]
        return [item for item, _ in items], [lifetime for _, lifetimes in items for lifetime in lifetimes]
    if not isinstance(value, dict):
        return value, []
    mark = _mark(value, place)
    found = [] if mark is None else [mark]
    kept = {key: item for key, item in value.items() if key not in MARK_FIELDS}
    for key in ("content", "source"):  # other fields are data, whatever their keys are
        if key in kept:
            kept[key], lifetimes = _without_marks(kept[key], place)
            found += lifetimes
    return kept, found
