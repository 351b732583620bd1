"""Anthropic's Messages API. Content is always a list of blocks, so that a mark changes no other byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

from deepprompt.providers.dialect import (
    Body,
    Dialect,
    UsageShape,
    blocks,
    has_mark,
    is_chat,
    items,
    model_named,
    time_of,
    value_at,
)
from deepprompt.providers.draft import Draft
from deepprompt.providers.neutral import (
    Block,
    Image,
    Native,
    Outline,
    Payload,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChange,
    ToolResult,
    own_form,
)
from deepprompt.providers.readable import without_blank_texts
from deepprompt.providers.segments import Segment
from deepprompt.providers.spots import AUTOMATIC, Spot

# The types of a tool choice, the fields and the types of block that are Anthropic's.
_CHOICES = ("auto", "any", "tool", "none")
_FIELDS = ("system", "anthropic_version", "anthropic_beta", "thinking", "cache_control")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")

# The features in trial by which tools change in the middle of a conversation: by name, and by definition.
_TOOL_CHANGES, _INLINE_TOOLS = "mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15"

ENVELOPE = (
    "id", "type", "model", "usage", "stop_reason", "stop_sequence", "stop_details", "container", "context_management",
    "diagnostics",
)  # fmt: skip
"""The fields of a response around its content."""

BLOCK_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": (("type", "text", "parsed_output"), ("citations",)),
    "output_text": (("type", "text", "parsed"), ()),
    "tool_use": (("type", "id", "name", "input"), ("caller", "toolset_name")),
    "tool_result": (("type", "tool_use_id", "content", "is_error"), ("toolset_name",)),
    "image": (("type", "source"), ("transformations",)),
    "image_url": (("type", "image_url"), ()),
    "input_image": (("type", "image_url", "detail"), ()),
}
"""The fields of blocks that every provider is sent, and those that only Anthropic has. Others are left out."""


class MessagesBody(TypedDict):
    """The body of `POST /v1/messages`."""

    model: str
    max_tokens: int
    tools: NotRequired[list[Payload]]
    system: NotRequired[list[Payload]]
    messages: NotRequired[list[Payload]]
    stream: NotRequired[bool]


def write(outline: Outline, draft: Draft) -> MessagesBody:
    """Return the body of a request, in the order in which the provider caches it."""
    body: MessagesBody = {"model": outline.model, "max_tokens": outline.options.max_tokens or draft.rules.max_tokens}
    if tools := draft.tools(outline, write_tool, functions=False, apart=True):
        body["tools"] = tools
        # A tool that is loaded by tool search is not part of the prefix, and Anthropic refuses a mark on it.
        if loaded := [number for number, tool in enumerate(tools) if not tool.get("defer_loading")]:
            draft.tools_spot(("tools", loaded[-1]), put_mark)
    if outline.system:
        body["system"] = [{"type": "text", "text": block.text} for block in outline.system]
        for number, block in enumerate(outline.system):
            draft.system_spot(("system", number), block, put_mark)
    messages = body["messages"] = draft.begin([])
    for message in draft.each(draft.turns(outline.messages, signed=True)):
        content = []
        for place, part in enumerate(message.blocks):
            written = _write(part, f"{message.place}.content[{place}]", draft, answer=message.role == "assistant")
            content.append(written)
            put = None if isinstance(part, Thinking) else put_mark
            draft.spot(("messages", len(messages), "content", place), part, message, put)
        messages.append({"role": message.role, "content": content})
    if outline.options.stream:
        body["stream"] = True
    if outline.options.marks == "automatic":
        draft.spots.append(Spot(("cache_control",), AUTOMATIC, 0, _put_automatic))
    return body


def write_tool(tool: Tool) -> Payload:
    """Return a tool's definition."""
    if tool.native is not None:
        return dict(tool.native)
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": tool.schema, **tool.extra.get("anthropic", {})}


def _write(block: Block, place: str, draft: Draft, *, answer: bool = False) -> Payload:
    """Return a block. In a response, any block of Anthropic's own goes back as it came."""
    block = draft.image(block, place) if isinstance(block, Image) else block
    own = own_form(block, "anthropic") or {}
    if isinstance(block, Text):
        return {"type": "text", "text": block.text, **own}
    if isinstance(block, Image):
        return {**_write_image(block), **own}
    if isinstance(block, ToolCall):
        name, given = draft.call_name(block, place), draft.call_input(block, place)
        return {"type": "tool_use", "id": draft.call_id(block.id), "name": name, "input": given, **own}
    if isinstance(block, ToolResult):
        content = [_write(inner, place, draft) for inner in without_blank_texts(block.content)]
        written: Payload = {"type": "tool_result", "tool_use_id": draft.call_id(block.call_id)}
        if content:
            written["content"] = content
        if block.is_error:
            written["is_error"] = True
        return {**written, **own}
    if isinstance(block, Thinking) and block.block is not None:
        return dict(block.block)
    if isinstance(block, ToolChange):
        draft.betas.add(_TOOL_CHANGES if block.tool is None else _INLINE_TOOLS)
        return own or _write_change(block)
    if isinstance(block, Native) and own and (answer or block.kind in draft.rules.carriers | draft.rules.blocks):
        return own
    return _write(draft.replaced(block, place), place, draft)


def _write_change(change: ToolChange) -> Payload:
    """Return a change of tools: by its definition, or by the name of a tool that the request lists."""
    tool: Payload = {"type": "tool_reference", "name": change.name}
    if change.tool is not None:
        tool = {"type": "tool_definition", "definition": write_tool(change.tool)}
    return {"type": change.kind, "tool": tool}


def _write_image(image: Image) -> Payload:
    if image.url:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def put_mark(holder: Any, key: Any, lifetime: str) -> None:
    """Put Anthropic's mark on a block or a tool in a list."""
    holder[key] = {**holder[key], "cache_control": _mark(lifetime)}


def _put_automatic(body: Payload, field: str, lifetime: str) -> None:
    """Let Anthropic itself mark the newest block: the mark is a field of the body."""
    body[field] = _mark(lifetime)


def _mark(lifetime: str) -> Payload:
    return {"type": "ephemeral", "ttl": lifetime} if lifetime else {"type": "ephemeral"}


def is_paused(message: Mapping[str, object], blocks: list[Block]) -> bool:
    """Whether a response stopped in the middle, to be continued: it says so, or its last block is an open call."""
    if message.get("stop_reason") == "pause_turn":
        return True
    last = blocks[-1] if blocks else None
    return isinstance(last, Native) and last.kind in ("server_tool_use", "mcp_tool_use") and last.api == "anthropic"


def recognise(body: Body) -> bool:
    """Whether a body with `messages` is Anthropic's: by its model, its fields, its marks or its blocks."""
    if model_named(body).startswith("claude"):
        return True
    if is_chat(body):
        return False
    typed = any(block.get("type") in _BLOCKS for block in blocks(body))
    return typed or any(key in body for key in _FIELDS) or has_mark(body, "cache_control")


def _tool_choice(body: Body) -> tuple[str, object] | None:
    """Return Anthropic's tool choice, which is an object. OpenAI's field of the same name does not affect its cache."""
    choice = body.get("tool_choice")
    return ("tool_choice", choice) if isinstance(choice, Mapping) and choice.get("type") in _CHOICES else None


def _mark_by_itself(body: Body, segments: list[Segment]) -> None:
    """Mark the last block that may carry a mark, as Anthropic does if the body itself has `cache_control`."""
    able = [number for number, segment in enumerate(segments) if segment.kind not in ("thinking", "setting")]
    if body.get("cache_control") is not None and able and segments[able[-1]].mark is None:
        segments[able[-1]] = replace(segments[able[-1]], mark=time_of(body["cache_control"]))


def _is_image(block: Body) -> bool:
    return block.get("type") == "image" and isinstance(block.get("source"), Mapping)


DIALECT = Dialect(
    "anthropic",
    recognise,
    models="claude",
    settings=("thinking", "output_config"),
    settings_after_tools=("speed",),
    tool_choice=_tool_choice,
    system=("system",),
    kinds={
        "text": "text", "image": "image", "tool_use": "tool_use", "tool_result": "tool_result",
        "thinking": "thinking", "redacted_thinking": "thinking",
    },
    mark="cache_control",
    own_data=("input", "input_schema"),
    files=("data",),
    unread=(
        "anthropic_beta", "anthropic_version", "betas", "cache_control", "container", "context_management",
        "diagnostics", "fallbacks", "inference_geo", "mcp_servers", "stop_sequences",
    ),
    is_image=_is_image,
    mark_by_itself=_mark_by_itself,
)  # fmt: skip


def _compactions(usage: object) -> list[object]:
    """Return the usage of each compaction, which is paid in addition.

    anthropic 2.8.0 on `BetaUsage.iterations`: "A `compaction` entry's tokens are not included in the top-level `usage`
    fields". Other entries break down the top level, except `advisor_message`: that is another model at another price,
    which would falsify a sum.
    """
    return [part for part in items(value_at(usage, "iterations")) if value_at(part, "type") == "compaction"]


USAGE = UsageShape(
    known_by=("input_tokens", "output_tokens"),  # a mere token count has no output, an old message_delta no input
    read=("cache_read_input_tokens",),
    written=("cache_creation_input_tokens",),
    written_for=("cache_creation.ephemeral_*_input_tokens",),
    input_has_cached=False,
    further=_compactions,
)
