"""OpenAI's Responses API: items in `input`.

The system prompt is the first item, never `instructions`, because that field cannot carry a mark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

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
    ToolChange,
    ToolResult,
    own_form,
    required,
)
from deepprompt.providers.openai import SETTINGS, image_address, put_mark
from deepprompt.providers.readable import plain_text, without_blank_texts

# The parts of a message that the model said, with the field of their text.
_SAID = {"output_text": "text", "refusal": "refusal"}
# The items that a caller adds, besides the outputs of calls; and the model's that are neither calls nor outputs.
_GIVEN = (
    "additional_tools", "compaction_trigger", "configuration_update", "item_reference", "mcp_approval_response",
)  # fmt: skip
_ANSWERED = (
    "reasoning", "compaction", "mcp_approval_request", "mcp_list_tools", "program", "program_output",
    "tool_search_output",
)  # fmt: skip
KNOWN_ITEMS = frozenset((*_GIVEN, *_ANSWERED))
"""The types of item that are neither messages nor calls nor outputs."""

# The blocks with an id that are no items.
_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use", "message")
# The fields that the SDK adds when it parses a response.
_PARSED = ("parsed", "parsed_arguments")


class ResponsesBody(TypedDict):
    """The body of `POST /v1/responses`."""

    model: str
    tools: NotRequired[list[Payload]]
    input: NotRequired[list[Payload]]
    max_output_tokens: NotRequired[int]
    prompt_cache_key: NotRequired[str]
    stream: NotRequired[bool]


def write(outline: Outline, draft: Draft) -> ResponsesBody:
    """Return the body of a request."""
    body: ResponsesBody = {"model": outline.model}
    if tools := draft.tools(outline, write_tool, functions=False):
        body["tools"] = tools
        draft.tools_spot(("tools", len(tools) - 1))
    items: list[Payload] = []
    if outline.system:
        parts = [{"type": "input_text", "text": block.text} for block in outline.system]
        items.append({"role": draft.rules.system_role, "content": parts})
        for number, block in enumerate(outline.system):
            draft.system_spot(("input", 0, "content", number), block, put_mark)
    draft.begin(items)
    for message in draft.each(outline.messages):
        items += _items(draft.readable(message), len(items), draft)
    if not items and not draft.continued:
        raise draft.blank(outline.messages[-1])
    body["input"] = items
    if outline.options.max_tokens:
        body["max_output_tokens"] = outline.options.max_tokens
    if outline.options.cache_key:
        body["prompt_cache_key"] = outline.options.cache_key
    if outline.options.stream:
        body["stream"] = True
    return body


def write_tool(tool: Tool) -> Payload:
    """Return a tool's definition. The default of `strict` is true, which refuses most schemas, so it is always set."""
    if tool.native is not None:
        return dict(tool.native)
    described = {"description": tool.description} if tool.description else {}
    own = {"strict": False, **tool.extra.get("openai", {})}
    return {"type": "function", "name": tool.name, **described, "parameters": tool.schema, **own}


def _items(message: Message, start: int, draft: Draft) -> list[Payload]:
    """Return the items of one message: its content, and an item for each call and each result."""
    if message.role == "assistant":
        return _answer(message, start, draft)
    items: list[Payload] = []
    said: list[Block] = []
    if added := [change.tool for change in message.of(ToolChange) if change.tool is not None]:
        draft.spot(("input", start), message.of(ToolChange)[0], message)
        items.append({"type": "additional_tools", "role": "developer", "tools": [write_tool(tool) for tool in added]})
    for block in message.blocks:
        if isinstance(block, ToolResult):
            items.append(_result(block, start + len(items), message, draft))
        elif isinstance(block, ToolChange):
            continue
        elif (own := own_form(block, "openai-responses")) is not None:
            draft.spot(("input", start + len(items)), block, message)
            items.append(own)
        else:
            said.append(block)
    if not said and items:
        return items
    parts = [_part(block, f"{message.place}.content[{place}]", draft) for place, block in enumerate(said)]
    role = draft.rules.system_role if message.role == "system" else "user"
    for place, block in enumerate(said):
        put = put_mark if without_blank_texts((block,)) else None
        draft.spot(("input", start + len(items), "content", place), block, message, put)
    return [*items, {"role": role, "content": parts or ""}]


def _answer(message: Message, start: int, draft: Draft) -> list[Payload]:
    """Return the items of an assistant's message, its own ones in their order. None of them may carry a mark."""
    if not draft.says_something(message):
        return []
    own_forms = (own_form(block, "openai-responses") for block in message.blocks)
    ordered = not message.common and any(form is not None for form in own_forms)
    blocks: tuple[Block, ...] = message.blocks if ordered else (*message.of(Text), *message.of(ToolCall))
    items: list[Payload] = []
    text = ""
    for block in blocks:
        own = own_form(block, "openai-responses") or {}
        draft.spot(("input", start + len(items) if ordered else start), block, message)
        if isinstance(block, Text) and not own:
            text += block.text
            continue
        if text:
            items.append({"role": "assistant", "content": text})
            text = ""
        if isinstance(block, ToolCall):
            call = {"call_id": draft.call_id(block.id), "name": draft.call_name(block, message.place)}
            own = {**own, **call} if own else {"type": "function_call", **call, "arguments": block.arguments or "{}"}
        items.append(own)
    return [*items, {"role": "assistant", "content": text}] if text else items


def _result(result: ToolResult, number: int, message: Message, draft: Draft) -> Payload:
    if result.is_error:
        draft.note_failure(message.place)
    own = own_form(result, "openai-responses") or {}
    parts = [_part(inner, message.place, draft) for inner in without_blank_texts(result.content)]
    written: Payload = {"type": "function_call_output", "call_id": draft.call_id(result.call_id)}
    written["output"] = parts if parts else plain_text(result.content)
    if parts:
        draft.spot(("input", number, "output", len(parts) - 1), result, message, put_mark)
    else:
        draft.spot(("input", number, "output"), result, message)
    return written | {key: value for key, value in own.items() if key not in ("call_id", "output")}


def _part(block: Block, place: str, draft: Draft) -> Payload:
    block = draft.image(block, place) if isinstance(block, Image) else block
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    if isinstance(block, Image):
        return {"type": "input_image", "detail": block.detail or "auto", "image_url": image_address(block)}
    if isinstance(block, Native) and block.kind in ("input_file", "input_image"):
        return dict(block.block)
    return _part(draft.replaced(block, place), place, draft)


def is_item(message: Mapping[str, Any]) -> bool:
    """Whether a message is an item of Responses: known by its type, or one with an id that is no block either.

    An item of a whole response is one of whatever type. If its type says nothing, it is in an `item`, see `as_message`.
    """
    kind = message.get("type")
    if kind is None:
        return "item" in message and isinstance(message["item"], Mapping) and message.get("role") == "assistant"
    if kind == "message":
        parts = objects(message.get("content"))
        said = any(str(part.get("type")) in _SAID for part in parts) or "status" in message
        return said and message.get("role") == "assistant" and "stop_reason" not in message
    if not isinstance(kind, str) or ("role" in message and kind != "additional_tools"):
        return False
    return is_kind(kind) or (isinstance(message.get("id"), str) and kind not in _BLOCKS)


def as_message(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item of a whole response so that it is known as one later: as it is, or as the `item` of a message."""
    return item if is_item(item) else {"role": "assistant", "item": item}


def bare_item(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the item that `as_message` was given."""
    return message["item"] if "type" not in message else message


def is_kind(kind: str) -> bool:
    """Whether a type is that of an item."""
    return kind in _GIVEN or kind in _ANSWERED or kind.endswith(("_call", "_call_output"))


def is_answer(item: Mapping[str, Any]) -> bool:
    """Whether an item is the model's: all are but those that a caller adds."""
    kind = str(item.get("type"))
    return kind not in _GIVEN and not kind.endswith("_call_output")


def read_item(item: Payload, index: int) -> tuple[Role, list[Block]]:
    """Return the role and the block of an item. The outputs of functions are read as messages are."""
    place = f"messages[{index}]"
    own = Native({key: _wire(value) for key, value in item.items() if key not in _PARSED}, api="openai-responses")
    kind = item.get("type")
    if kind == "message":
        parts = objects(item.get("content"))
        said = "".join(str(part.get(_SAID.get(str(part.get("type")), "")) or "") for part in parts)
        return "assistant", [Text(said, own=own) if said else own]
    if kind == "reasoning":
        told = [*objects(item.get("summary")), *objects(item.get("content"))]
        return "assistant", [Thinking("\n\n".join(str(part.get("text") or "") for part in told), own=own)]
    if kind == "function_call":
        arguments = item.get("arguments")
        given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        return "assistant", [ToolCall(required(item, "call_id", place), required(item, "name", place), given, own=own)]
    if kind == "custom_tool_call":
        given = json.dumps({"input": item.get("input")}, ensure_ascii=False)
        return "assistant", [ToolCall(required(item, "call_id", place), required(item, "name", place), given, own=own)]
    return "assistant" if is_answer(item) else "user", [own]


def _wire(value: Any) -> Any:
    """Return a value without what the SDK's own parser added to it."""
    if isinstance(value, list):
        return [_wire(part) for part in value]
    return {key: value[key] for key in value if key not in _PARSED} if isinstance(value, dict) else value


def result_of(call: ToolCall) -> Native | None:
    """Return how the result of a call has to be spelled, None for that of a function."""
    own = own_form(call, "openai-responses")
    if own is None or own.get("type") != "custom_tool_call":
        return None
    return Native({"type": "custom_tool_call_output"}, api="openai-responses")


def recognise(body: Body) -> bool:
    """Whether a body is that of Responses, by its `input`."""
    return "input" in body


def _without_names(item: Body) -> Body:
    """Return an item without its id and status, which the model does not read. A reference has nothing but its id."""
    if item.get("type") == "item_reference":
        return item
    return {name: value for name, value in item.items() if name not in ("id", "status")}


DIALECT = Dialect(
    "openai-responses",
    recognise,
    settings=SETTINGS,
    tool_groups=("tools",),  # a namespace, as Codex sends its tools
    system=("instructions",),
    messages="input",
    kinds={
        "input_text": "text", "output_text": "text", "input_image": "image", "reasoning": "thinking",
        "function_call": "tool_use", "function_call_output": "tool_result",
    },
    # OpenAI has a call and an output for each of its own tools, such as web_search_call.
    kind_endings={"_call": "tool_use", "_call_output": "tool_result"},
    own_data=("parameters",),
    files=("file_data",),
    unread=(
        "background", "client_metadata", "conversation", "include", "max_output_tokens", "max_tool_calls",
        "previous_response_id", "truncation",
    ),
    without_names=_without_names,
)  # fmt: skip


USAGE = UsageShape(
    known_by=("input_tokens", "input_tokens_details"),
    read=("input_tokens_details.cached_tokens",),
    written=("input_tokens_details.cache_write_tokens",),
    written_for=("input_tokens_details.cache_write_tokens_details.ttl_*_tokens",),
)
