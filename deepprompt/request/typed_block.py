"""Read the typed blocks that Chat Completions and Messages share: `{"type": "text", ...}` and so on.

In a response (`said`), a block keeps every field, because its own provider gets it back as it came. In a user's
message, a field that nobody takes is left out, with a note.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepprompt.errors import MessageError, ToolError
from deepprompt.prompt import Note
from deepprompt.providers import anthropic, responses
from deepprompt.providers.neutral import (
    Api,
    Block,
    Image,
    Native,
    Payload,
    Text,
    Thinking,
    ToolCall,
    ToolChange,
    ToolResult,
)
from deepprompt.providers.readable import plain_text
from deepprompt.providers.recognise import MARK_FIELDS
from deepprompt.request.outline import read_tool
from deepprompt.text.hygiene import scrub
from deepprompt.tools import as_dict

_TEXT_TYPES = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_IMAGE_TYPES = ("image_url", "input_image")
_MARKS = frozenset(MARK_FIELDS)


def read_content(
    content: object, place: str, notes: list[Note], key: str = "content", said: Api | None = None
) -> list[Block]:
    """Return the blocks of a message's content. `said` is the API that a response came from, None for a user's."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(scrub(content, place, notes))]
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        raise MessageError(f"{key} is text or a list of blocks, not {type(content).__name__}", place)
    return [_block(block, f"{place}.{key}[{number}]", notes, said) for number, block in enumerate(content)]


def _block(block: object, place: str, notes: list[Note], said: Api | None) -> Block:
    if isinstance(block, str):
        return Text(scrub(block, place, notes))
    kind = block.get("type") if isinstance(block, (dict, Mapping)) else None
    if not isinstance(block, (dict, Mapping)) or not isinstance(kind, str):
        raise MessageError(
            f"neither text nor a block with a type, such as text, image_url or tool_result: {block!r:.60}", place
        )
    mark = mark_of(block, place)
    if kind in _TEXT_TYPES:
        text = text_of(block, _TEXT_TYPES[kind], place, notes)
        return Text(text, mark, _own(block, kind, place, notes, said))
    if kind == "tool_use":
        arguments = block.get("input", {})
        if not isinstance(arguments, Mapping):
            raise MessageError("the input of a tool_use block is an object", place)
        text = as_json(arguments, place, notes)
        call_id, name = text_of(block, "id", place, notes), text_of(block, "name", place, notes)
        return ToolCall(call_id, name, text, mark=mark, own=_own(block, kind, place, notes, said))
    if kind in ("thinking", "redacted_thinking"):
        return replace(_thinking(plain(block, place, notes), place, notes), mark=mark)
    if kind in _IMAGE_TYPES or (kind == "image" and said is None):
        image = replace(_image(block, place, notes), mark=mark)
        return image if isinstance(image, Native) else replace(image, own=_own(block, kind, place, notes, said))
    if kind == "tool_result":
        inner = read_content(block.get("content"), place, notes)
        mark = last_mark(inner) if mark is None else mark
        call_id = text_of(block, "tool_use_id", place, notes)
        own = _own(block, kind, place, notes, said)
        return ToolResult(call_id, result_content(inner, place), bool(block.get("is_error")), mark=mark, own=own)
    if kind in ("tool_addition", "tool_removal") and said is None:
        return replace(_tool_change(plain(block, place, notes), kind == "tool_addition", place), mark=mark)
    unmarked, inner_marks = _without_marks(plain(block, place, notes), place)
    mark = inner_marks[-1] if mark is None and inner_marks else mark
    is_item = responses.is_kind(kind) and any(isinstance(unmarked.get(key), str) for key in ("id", "call_id"))
    return Native(unmarked, mark, "openai-responses" if is_item else said or "anthropic")


def _own(block: Mapping[str, object], kind: str, place: str, notes: list[Note], said: Api | None) -> Native | None:
    """Return the fields of a block that only its own API knows, and note those of a user's that nobody does."""
    known, kept = anthropic.BLOCK_FIELDS.get(kind, (("type", "text", "refusal"), ()))
    more = [key for key, value in block.items() if value is not None and key not in known and key not in MARK_FIELDS]
    if said is None:
        more = [key for key in more if block[key]]
        if lost := [key for key in more if key not in kept]:
            notes.append(Note("skipped", place, f"fields that are not sent: {', '.join(map(str, lost[:8]))}"))
        more = [key for key in more if key in kept]
    if not more:
        return None
    if said == "openai":  # a part of Chat Completions goes back whole
        return Native(plain(block, place, notes), api=said)
    return Native(plain({key: block[key] for key in more}, place, notes))


def _thinking(block: Payload, place: str, notes: list[Note]) -> Thinking:
    """Return Anthropic's reasoning. Without its signature, no provider can verify it, and it is kept as text only."""
    if block["type"] == "redacted_thinking":
        text_of(block, "data", place, notes)
        return Thinking("", block)
    block["thinking"] = block.get("thinking") or ""
    if isinstance(parts := block["thinking"], list):  # as Mistral has it
        return Thinking(plain_text(tuple(read_content(parts, place, notes, "thinking"))))
    text = text_of(block, "thinking", place, notes)
    return Thinking(text, block if isinstance(block.get("signature"), str) and block["signature"] else None)


def _tool_change(block: Payload, added: bool, place: str) -> ToolChange:
    """Return a change of tools in the middle of a conversation: by a definition, or by a name or server."""
    tool = block.get("tool")
    if not isinstance(tool, dict):
        raise MessageError('a change of tools has its tool: {"type": "tool_reference", "name": NAME}', place)
    if added and isinstance(definition := tool.get("definition"), dict):
        try:
            read = read_tool(definition)
        except ToolError as error:
            raise MessageError(str(error), place) from None
        return ToolChange(read.name, True, read)
    names = [tool[key] for key in ("name", "server_name", "mcp_server_name") if isinstance(tool.get(key), str)]
    if not names or not names[0]:
        raise MessageError("a change of tools names its tool or the server of its tools", place)
    return ToolChange(names[0], added, own=Native(block))


def last_mark(blocks: list[Block]) -> str | None:
    """Return the lifetime of the last mark in blocks, None without one."""
    for block in reversed(blocks):
        if block.mark is not None:
            return block.mark
    return None


def result_content(blocks: list[Block], place: str) -> tuple[Block, ...]:
    """Return the content of a tool result, without marks: a mark in it belongs to the whole result."""
    for block in blocks:
        if isinstance(block, (ToolCall, ToolResult, ToolChange, Thinking)):
            raise MessageError(f"a tool result cannot hold a {block.kind} block", place)
    return tuple([replace(block, mark=None) if block.mark is not None else block for block in blocks])


def _image(block: Mapping[str, object], place: str, notes: list[Note]) -> Image | Native:
    """Return an image. One that was uploaded to a provider is that provider's own."""
    source = block.get("source")
    if isinstance(source, Mapping):
        if source.get("type") == "url":
            return Image.at(text_of(source, "url", place, notes), place)
        if source.get("type") == "base64":
            media_type = text_of(source, "media_type", place, notes)
            return Image.of_bytes(media_type, text_of(source, "data", place, notes), place)
        if source.get("type") == "file":
            text_of(source, "file_id", place, notes)
            return Native(plain(block, place, notes))
        raise MessageError(f"the source of an image is base64, url or file, not {source.get('type')!r}", place)
    address = block.get("image_url")
    if address is None and isinstance(block.get("file_id"), str):
        return Native(plain(block, place, notes), api="openai-responses")
    url = address.get("url") if isinstance(address, Mapping) else address
    detail = (address if isinstance(address, Mapping) else block).get("detail")
    if not isinstance(url, str) or not url:
        raise MessageError('an image is {"type": "image_url", "image_url": {"url": URL}}', place)
    return replace(Image.at(scrub(url, place, notes), place), detail=detail if isinstance(detail, str) else "")


def text_of(block: Mapping[str, object], key: str, place: str, notes: list[Note]) -> str:
    """Return a text of a block that has to be there."""
    value = block.get(key)
    if not isinstance(value, str) or (not value and key not in ("text", "thinking")):
        raise MessageError(f"{key} is {'empty' if value == '' else 'missing or no text'}", place)
    return scrub(value, place, notes)


def mark_of(holder: Mapping[str, object], place: str) -> str | None:
    """Return the lifetime of the mark on a message or a block, "" for the default; None without a mark."""
    if _MARKS.isdisjoint(holder):
        return None
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


def as_json(value: object, place: str, notes: list[Note], default: Callable[[object], object] = as_dict) -> str:
    """Return a value as JSON text, or refuse it."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)
    except (TypeError, ValueError) as error:
        raise MessageError(f"not JSON: {error}", place) from None
    return scrub(text, place, notes)


def plain(block: Mapping[str, object], place: str, notes: list[Note]) -> Payload:
    """Return a copy of a block as plain JSON values, without its mark."""
    unmarked = {key: value for key, value in block.items() if key not in MARK_FIELDS}
    copied: Payload = json.loads(as_json(unmarked, place, notes))
    return copied


def _without_marks(value: Any, place: str) -> tuple[Any, list[str]]:
    """Return a value without the marks in its own blocks, such as a document's, and the lifetimes of those marks.

    Here such a mark belongs to the whole block that contains it.
    """
    if isinstance(value, list):
        items = [_without_marks(item, place) for item in value]
        return [item for item, _ in items], [lifetime for _, lifetimes in items for lifetime in lifetimes]
    if not isinstance(value, dict):
        return value, []
    mark = mark_of(value, place)
    found = [] if mark is None else [mark]
    kept = {key: item for key, item in value.items() if key not in MARK_FIELDS}
    for key in ("content", "source"):  # other fields are data, whatever their keys are
        if key in kept:
            kept[key], lifetimes = _without_marks(kept[key], place)
            found += lifetimes
    return kept, found
