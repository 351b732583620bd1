"""OpenAI's Responses API: items in `input`.

The system prompt is the first item, never `instructions`, because that field cannot carry a mark.
"""

from __future__ import annotations

import json
from typing import NotRequired, TypedDict

from deepprompt.providers.dialect import Body, Dialect, UsageShape
from deepprompt.providers.draft import Draft, plain_text, without_blank_texts
from deepprompt.providers.neutral import (
    Block,
    Image,
    Message,
    Native,
    Outline,
    Payload,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from deepprompt.providers.openai import SETTINGS, image_address, marking


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
    if tools := [write_tool(tool) for tool in draft.check_tools(outline)]:
        body["tools"] = tools
        draft.spot(f"tools[{len(tools) - 1}]", json.dumps(tools, ensure_ascii=False), None)
    items: list[Payload] = []
    if outline.system:
        parts = [{"type": "input_text", "text": block.text} for block in outline.system]
        items.append({"role": draft.rules.system_role, "content": parts})
        for number, (block, part) in enumerate(zip(outline.system, parts, strict=True)):
            draft.spot(f"input[0].content[{number}]", block, marking(part))
    draft.begin(items)
    for message in outline.messages:
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
    items: list[Payload] = []
    said: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            call = {"call_id": draft.call_id(block.id), "name": draft.call_name(block, message.place)}
            items.append({"type": "function_call", **call, "arguments": block.arguments or "{}"})
        elif isinstance(block, ToolResult):
            items.append(_result(block, f"input[{start + len(items)}]", message, draft))
        else:
            said.append(block)
    if message.role == "assistant":
        return _answer(tuple(said), message, start, draft) + items
    if not said and items:
        return items
    parts = [_part(block, f"{message.place}.content[{place}]", draft) for place, block in enumerate(said)]
    role = draft.rules.system_role if message.role == "system" else "user"
    for place, (block, part) in enumerate(zip(said, parts, strict=True)):
        put = marking(part) if without_blank_texts((block,)) else None
        draft.spot(f"input[{start + len(items)}].content[{place}]", block, put, message)
    return [*items, {"role": role, "content": parts or ""}]


def _answer(said: tuple[Block, ...], message: Message, start: int, draft: Draft) -> list[Payload]:
    """Return the item of an assistant's text, if there is any. It may not carry a mark."""
    calls = message.of(ToolCall)
    for block in (*said, *calls):
        if not isinstance(block, Text | ToolCall):
            raise draft.refuse(block, message.place)
    if not draft.says_something(message):
        return []
    for block in (*said, *calls):
        draft.spot(f"input[{start}]", block, None, message)
    text = plain_text(said)
    return [{"role": "assistant", "content": text}] if text else []


def _result(result: ToolResult, place: str, message: Message, draft: Draft) -> Payload:
    parts = [_part(inner, message.place, draft) for inner in without_blank_texts(result.content)]
    written: Payload = {"type": "function_call_output", "call_id": draft.call_id(result.call_id)}
    written["output"] = parts if parts else plain_text(result.content)
    end = f"{place}.output[{len(parts) - 1}]" if parts else f"{place}.output"
    draft.spot(end, result, marking(parts[-1]) if parts else None, message)
    return written


def _part(block: Block, place: str, draft: Draft) -> Payload:
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    if isinstance(block, Image):
        return {"type": "input_image", "detail": "auto", "image_url": image_address(draft.image(block, place))}
    if isinstance(block, Native) and block.kind == "input_file":
        return dict(block.block)
    raise draft.refuse(block, place)


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
    without_names=_without_names,
)  # fmt: skip


USAGE = UsageShape(
    known_by=("input_tokens", "input_tokens_details"),
    read=("input_tokens_details.cached_tokens",),
    written=("input_tokens_details.cache_write_tokens",),
    written_for=("input_tokens_details.cache_write_tokens_details.ttl_*_tokens",),
)
