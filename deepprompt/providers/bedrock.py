"""Amazon Bedrock's Converse API: roles alternate, and a mark is an element of its own after a block."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from deepprompt.errors import MessageError
from deepprompt.prompt import Note
from deepprompt.providers.dialect import Body, Dialect, UsageShape, objects
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
from deepprompt.providers.readable import without_blank_texts

# The fields and the untyped blocks that only Converse has.
_FIELDS = ("modelId", "toolConfig", "inferenceConfig", "additionalModelRequestFields")
_BLOCKS = ("text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint")

# All members of a block.
_MEMBERS = (
    *_BLOCKS, "video", "audio", "guardContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
)  # fmt: skip

# What botocore returns in place of a member that it does not know.
_UNKNOWN = "SDK_UNKNOWN_MEMBER"


class ConverseBody(TypedDict, total=False):
    """The body of `POST /model/MODEL/converse`. Bytes are base64 in it, as they are sent."""

    toolConfig: Payload
    system: list[Payload]
    messages: list[Payload]
    inferenceConfig: Payload


def write(outline: Outline, draft: Draft) -> ConverseBody:
    """Return the body of a request."""
    body: ConverseBody = {}
    if tools := draft.tools(outline, write_tool):
        body["toolConfig"] = {"tools": tools}
        draft.tools_spot(("toolConfig", "tools", len(tools) - 1), _put_mark)
    if outline.system:
        body["system"] = [{"text": block.text} for block in outline.system]
        for number, block in enumerate(outline.system):
            draft.system_spot(("system", number), block, _put_mark)
    messages = body["messages"] = draft.begin([])
    sendable = tuple(_sendable(message, draft) for message in outline.messages)
    for message in draft.each(draft.turns(sendable, signed=True)):
        if not messages or messages[-1]["role"] != message.role:
            messages.append({"role": message.role, "content": []})
        content: list[Payload] = messages[-1]["content"]  # neighbours of one role are one message
        for place, part in enumerate(message.blocks):
            written = _write(part, f"{message.place}.content[{place}]", draft)
            put = None if isinstance(part, Thinking) else _put_mark
            draft.spot(("messages", len(messages) - 1, "content", len(content)), part, message, put)
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
    if (set(value) == {"bytes"} or set(value) == {"redactedContent"}) and all(map(_is_base64, value.values())):
        return {key: base64.b64decode(data) for key, data in value.items()}
    # The input and the schema of a tool are data, whatever their keys are.
    return {key: item if key in ("input", "json") else _with_bytes(item) for key, item in value.items()}


def _write(block: Block, place: str, draft: Draft) -> Payload:
    block = draft.image(block, place) if isinstance(block, Image) else block
    own = own_form(block, "bedrock") or {}
    if isinstance(block, ToolCall):
        name, given = draft.call_name(block, place), draft.call_input(block, place)
        call = {"toolUseId": draft.call_id(block.id), "name": name, "input": given}
        return {"toolUse": {**own.get("toolUse", {}), **call}}
    if isinstance(block, ToolResult):
        content = own.get("toolResult", {}).get("content")
        if content is None:
            content = [_write(inner, place, draft) for inner in without_blank_texts(block.content)]
        status = {"status": "error"} if block.is_error else {}
        result = {"toolUseId": draft.call_id(block.call_id), "content": content, **status}
        return {"toolResult": {**own.get("toolResult", {}), **result}}
    if own:
        return own
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Image):
        return {"image": {"format": block.media_type.removeprefix("image/"), "source": {"bytes": block.data}}}
    if isinstance(block, Thinking) and block.block is not None:
        return {"reasoningContent": _reasoning(block.text, block.block)}
    return _write(draft.replaced(block, place), place, draft)


def _sendable(message: Message, draft: Draft) -> Message:
    """Return a message without what Bedrock or its SDK refuses.

    Redacted reasoning has to be base64, because Bedrock takes it as bytes. Of a block that botocore does not know, it
    keeps only the name, and refuses that name in a request.
    """
    if message.common:
        return message
    draft.at(message)
    wrong = [
        block
        for block in message.of(Thinking)
        if block.block is not None and not _is_base64(block.block.get("data", ""))
    ]
    detail = "the data of redacted_thinking is not base64"
    if wrong and draft.strict:
        raise MessageError(detail, f"{message.place}.content[{message.blocks.index(wrong[0])}]")
    if wrong:
        draft.notes.append(Note("skipped", message.place, f"{detail}: left out", count=len(wrong)))
    unknown = [block for block in message.of(Native) if block.api == "bedrock" and block.kind == _UNKNOWN]
    for block in unknown:
        name = block.block[_UNKNOWN].get("name") if isinstance(block.block[_UNKNOWN], dict) else None
        detail = f"botocore does not know the block {name!r} and dropped its content: left out; upgrade botocore"
        draft.notes.append(Note("skipped", message.place, detail))
    if not wrong and not unknown:
        return message
    return replace(message, blocks=tuple(block for block in message.blocks if block not in (*wrong, *unknown)))


def _is_base64(data: object) -> bool:
    try:
        return isinstance(data, str) and base64.b64decode(data, validate=True) is not None
    except ValueError:
        return False


def _reasoning(text: str, block: Mapping[str, Any]) -> Payload:
    if block["type"] == "thinking":
        return {"reasoningText": {"text": text, "signature": block["signature"]}}
    return {"redactedContent": block["data"]}


def _put_mark(blocks: Any, place: Any, lifetime: str) -> None:
    """Put Bedrock's mark, which is a block of its own, after a block in a list."""
    blocks.insert(place + 1, {"cachePoint": {"type": "default", **({"ttl": lifetime} if lifetime else {})}})


def is_message(message: Mapping[str, Any]) -> bool:
    """Whether a message is Converse's, by blocks that have one field and no type. A response may have unknown ones."""
    content = message.get("content")
    if not isinstance(content, list) or not content or message.get("role") not in ("user", "assistant"):
        return False
    single = all(isinstance(block, Mapping) and len(block) == 1 and "type" not in block for block in content)
    return single and (message["role"] == "assistant" or all(next(iter(block)) in _MEMBERS for block in content))


def read_message(message: Payload, index: int) -> tuple[Role, list[Block]]:
    """Return the role and the blocks of Converse's message. A cache point is a mark on the block before it."""
    role: Role = "assistant" if message["role"] == "assistant" else "user"
    read: list[Block] = []
    for number, block in enumerate(message["content"]):
        ((member, value),) = block.items()
        if member == "cachePoint" and isinstance(value, dict):
            read[-1:] = [replace(last, mark=str(value.get("ttl") or "")) for last in read[-1:]]
        else:
            read.append(_read(member, value, role, f"messages[{index}].content[{number}]"))
    if role == "user" and not read:
        raise MessageError("nothing but cache points", f"messages[{index}]")
    return role, read


def _read(member: str, value: Any, role: Role, place: str) -> Block:
    own = Native({member: value}, api="bedrock")
    if member == "text" and isinstance(value, str):
        return Text(value)
    if not isinstance(value, dict) and role == "assistant" and member not in _MEMBERS:
        return own
    if not isinstance(value, dict):
        raise MessageError(f"{member} is {'text' if member == 'text' else 'an object'}", place)
    source = value.get("source")
    if isinstance(source, dict) and "bytes" in source and not _is_base64(source["bytes"]):
        raise MessageError(f"the bytes of {member} are not base64", place)
    if member == "toolUse" and "type" not in value:  # one with a type is run by the provider
        given = as_text(value.get("input") or {})
        return ToolCall(required(value, "toolUseId", place), required(value, "name", place), given)
    if member == "toolResult" and role == "user":
        return _read_result(value, own, place)
    if member == "reasoningContent":
        return _read_reasoning(value, own)
    is_image = member == "image" and role == "user" and len(value) == 2
    if is_image and isinstance(source, dict) and isinstance(data := source.get("bytes"), str):
        return Image.of_bytes(f"image/{value.get('format')}", data, place)
    parts = value.get("content") if member == "citationsContent" else [value.get("text")]
    said = "".join(str(part.get("text") or "") for part in objects(parts))
    return Text(said, own=own) if said and member in ("citationsContent", "guardContent") else own


def _read_result(value: Payload, own: Native, place: str) -> ToolResult:
    content: list[Block] = []
    inside = value.get("content")
    if not isinstance(inside, list) or len(objects(inside)) < len(inside):
        raise MessageError("the content of a toolResult is a list of objects", place)
    for block in inside:
        ((member, inner),) = block.items() if len(block) == 1 else [("", None)]
        if member == "json":
            content.append(Text(as_text(inner)))
        elif member in _MEMBERS:
            content.append(_read(member, inner, "user", place))
        else:
            raise MessageError(f"a tool result of Bedrock cannot hold {', '.join(block) or 'an empty block'}", place)
    plain = all(isinstance(block, Text | Image) for block in content) and "json" not in map(_first, inside)
    failed = value.get("status") == "error"
    return ToolResult(required(value, "toolUseId", place), tuple(content), failed, own=None if plain else own)


def _first(block: Mapping[str, Any]) -> str:
    return next(iter(block))


def _read_reasoning(value: Payload, own: Native) -> Block:
    """Return reasoning; what Claude signed is the same for Anthropic's own API."""
    text = value.get("reasoningText")
    thought = (text.get("text") or "") if isinstance(text, dict) else ""
    if not isinstance(thought, str):
        return own
    if isinstance(text, dict) and isinstance(signature := text.get("signature"), str) and signature:
        return Thinking(thought, {"type": "thinking", "thinking": thought, "signature": signature})
    if isinstance(data := value.get("redactedContent"), str):
        return Thinking("", {"type": "redacted_thinking", "data": data})
    return Thinking(thought, own=own)


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
    unread=(
        "additionalModelResponseFieldPaths", "guardrailConfig", "inferenceConfig", "outputConfig", "performanceConfig",
        "promptVariables", "requestMetadata", "serviceTier",
    ),
)  # fmt: skip


USAGE = UsageShape(
    known_by=("input_tokens", "output_tokens"),
    read=("cache_read_input_tokens",),
    written=("cache_write_input_tokens",),
    written_details=("cache_details",),
    input_has_cached=False,
)
