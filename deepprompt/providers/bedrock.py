"""Amazon Bedrock's Converse API: roles alternate, and a mark is an element of its own after a block."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from deepprompt.errors import MessageError
from deepprompt.providers.dialect import Body, Dialect, UsageShape, objects
from deepprompt.providers.draft import Draft, without_blank_texts
from deepprompt.providers.neutral import Block, Image, Outline, Payload, Text, Thinking, Tool, ToolCall, ToolResult

# The fields and the untyped blocks that only Converse has.
_FIELDS = ("modelId", "toolConfig", "inferenceConfig", "additionalModelRequestFields")
_BLOCKS = ("text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint")


class ConverseBody(TypedDict, total=False):
    """The body of `POST /model/MODEL/converse`. Bytes are base64 in it, as they are sent."""

    toolConfig: Payload
    system: list[Payload]
    messages: list[Payload]
    inferenceConfig: Payload


def write(outline: Outline, draft: Draft) -> ConverseBody:
    """Return the body of a request."""
    body: ConverseBody = {}
    if tools := [write_tool(draft.function(tool)) for tool in draft.check_tools(outline)]:
        body["toolConfig"] = {"tools": tools}
        last = tools[-1]
        text = json.dumps(tools, ensure_ascii=False)
        draft.spot(f"toolConfig.tools[{len(tools) - 1}]", text, _marking(tools, last))
    if outline.system:
        body["system"] = [{"text": block.text} for block in outline.system]
        for number, (block, written) in enumerate(zip(outline.system, list(body["system"]), strict=True)):
            draft.spot(f"system[{number}]", block, _marking(body["system"], written))
    messages = body["messages"] = draft.begin([])
    for message in draft.turns(outline.messages, signed=True):
        if not messages or messages[-1]["role"] != message.role:
            messages.append({"role": message.role, "content": []})
        content: list[Payload] = messages[-1]["content"]  # neighbours of one role are one message
        for place, part in enumerate(message.blocks):
            written = _write(part, f"{message.place}.content[{place}]", draft)
            put = None if isinstance(part, Thinking) else _marking(content, written)
            draft.spot(f"messages[{len(messages) - 1}].content[{len(content)}]", part, put, message)
            content.append(written)
    if outline.options.max_tokens:
        body["inferenceConfig"] = {"maxTokens": outline.options.max_tokens}
    return body


def write_tool(tool: Tool) -> Payload:
    """Return a tool's definition."""
    described = {"description": tool.description} if tool.description else {}
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": {"json": tool.schema}}}


def arguments(model: str, body: Payload) -> Payload:
    """Return the arguments of botocore's `converse`: the body with the model, and with bytes instead of base64."""
    return {"modelId": model, **_with_bytes(body)}


def _with_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"bytes"} or set(value) == {"redactedContent"}:
        return {key: base64.b64decode(data) for key, data in value.items()}
    # The input and the schema of a tool are data, whatever their keys are.
    return {key: item if key in ("input", "json") else _with_bytes(item) for key, item in value.items()}


def _write(block: Block, place: str, draft: Draft) -> Payload:
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Image):
        image = draft.image(block, place)
        return {"image": {"format": image.media_type.removeprefix("image/"), "source": {"bytes": image.data}}}
    if isinstance(block, ToolCall):
        name, given = draft.call_name(block, place), block.input(place)
        return {"toolUse": {"toolUseId": draft.call_id(block.id), "name": name, "input": given}}
    if isinstance(block, ToolResult):
        content = [_write(inner, place, draft) for inner in without_blank_texts(block.content)]
        status = {"status": "error"} if block.is_error else {}
        return {"toolResult": {"toolUseId": draft.call_id(block.call_id), "content": content, **status}}
    if isinstance(block, Thinking) and block.block is not None:
        return {"reasoningContent": _reasoning(block.text, block.block, place)}
    raise draft.refuse(block, place)


def _reasoning(text: str, block: Mapping[str, Any], place: str) -> Payload:
    if block["type"] == "thinking":
        return {"reasoningText": {"text": text, "signature": block["signature"]}}
    try:
        base64.b64decode(block["data"], validate=True)
    except ValueError:
        raise MessageError("the data of redacted_thinking is not base64", place) from None
    return {"redactedContent": block["data"]}


def _marking(blocks: list[Payload], block: Payload) -> Callable[[str], None]:
    def put(lifetime: str) -> None:
        place = next(number for number, other in enumerate(blocks) if other is block)
        blocks.insert(place + 1, {"cachePoint": {"type": "default", **({"ttl": lifetime} if lifetime else {})}})

    return put


def recognise(body: Body) -> bool:
    """Whether a body is Converse's: by its fields, or by blocks that have one field and no type."""
    if any(key in body for key in _FIELDS):
        return True
    blocks = [block for message in objects(body.get("messages")) for block in objects(message.get("content"))]
    return any(len(block) == 1 and next(iter(block)) in _BLOCKS for block in blocks)


def _tool_choice(body: Body) -> tuple[str, object] | None:
    config = body.get("toolConfig")
    choice = config.get("toolChoice") if isinstance(config, Mapping) else None
    return None if choice is None else ("toolConfig.toolChoice", choice)


DIALECT = Dialect(
    "bedrock",
    recognise,
    model="modelId",
    settings=("additionalModelRequestFields",),
    tool_choice=_tool_choice,
    tools=("toolConfig.tools",),
    tool="toolSpec",
    system=("system",),
    kinds={
        "text": "text",
        "image": "image",
        "toolUse": "tool_use",
        "toolResult": "tool_result",
        "reasoningContent": "thinking",
    },
    results={"toolResult": "content"},
    mark_element="cachePoint",
    own_data=("input", "json"),
    files=("bytes",),
)  # fmt: skip


USAGE = UsageShape(
    known_by=("input_tokens", "output_tokens"),
    read=("cache_read_input_tokens",),
    written=("cache_write_input_tokens",),
    written_details=("cache_details",),
    input_has_cached=False,
)
