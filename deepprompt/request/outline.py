"""Read a prompt and its tools into an `Outline`, from which any provider's request is written.

Tools may be written plainly, for OpenAI, for Anthropic or for MCP: they become one kind of value here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deepprompt.errors import MessageError, ToolError
from deepprompt.prompt import Note, Pace, Prompt
from deepprompt.providers.neutral import Message, Outline, Payload, SystemBlock, Text, Tool
from deepprompt.text.hygiene import is_blank, scrub
from deepprompt.tools import as_dict, tool_name, why_not_json

_SCHEMAS = ("input_schema", "parameters", "inputSchema")  # the names that Anthropic, OpenAI and MCP use


def not_a_prompt(value: object) -> str:
    """Return the end of an error message: what was passed instead of a prompt, and how to get a prompt from it."""
    way = way_to_prompt(value)
    return f"not {type(value).__name__}" + (f"; {way}" if way else "")


def way_to_prompt(value: object) -> str:
    """Return how to get a prompt from a value, "" if there is no way."""
    if hasattr(value, "compose"):
        return "its compose() returns a Prompt"
    if isinstance(getattr(value, "prompt", None), Prompt):
        return "its attribute prompt is a Prompt"
    return "call it" if callable(value) else "await it" if hasattr(value, "__await__") else ""


def read_prompt(
    prompt: Prompt | str, tools: Iterable[Mapping[str, object]] | None, model: str, notes: list[Note]
) -> Outline:
    """Return the outline of a prompt and its tools, without messages."""
    if isinstance(prompt, Prompt):
        tools = prompt.tools if tools is None else tools
        return Outline(tuple(_stretches(prompt, notes)), _tools(tools), (), model)
    return Outline((SystemBlock(scrub(prompt, "prompt", notes), Pace.RELEASE),), _tools(tools or ()), (), model)


def with_messages(outline: Outline, read: Sequence[Message]) -> Outline:
    """Return an outline with its messages. System messages at the start become part of the system prompt."""
    first = next((number for number, message in enumerate(read) if message.role != "system"), len(read))
    pace = max([Pace.PROJECT, *(block.pace for block in outline.system)])
    leading = [
        SystemBlock(block.text, pace, block.mark, gap="\n\n")
        for message in read[:first]
        for block in message.blocks
        if isinstance(block, Text)
    ]
    system = tuple(block for block in (*outline.system, *leading) if not is_blank(block.text))
    if not system and not read[first:]:
        raise MessageError("there is nothing to send: no system prompt and no message")
    return replace(outline, system=system, messages=tuple(read[first:]))


def _stretches(prompt: Prompt, notes: list[Note]) -> list[SystemBlock]:
    """Return the system prompt in blocks of one pace. Everything after the boundary has pace TURN."""
    static = len(prompt.static_parts)
    stretches: list[SystemBlock] = []
    for number, (part, pace) in enumerate(zip(prompt.parts, prompt.effective_paces, strict=True)):
        pace = pace if number < static else Pace.TURN
        text = scrub(part.text, part.name, notes)
        # Providers refuse a block of only white space, so it stays with the block before it.
        if stretches and (stretches[-1].pace == pace or is_blank(stretches[-1].text) or is_blank(text)):
            pace = max(stretches[-1].pace, pace) if not is_blank(text) else stretches[-1].pace
            text = stretches.pop().text + text
        stretches.append(SystemBlock(text, pace))
    return stretches


def _tools(tools: Iterable[Mapping[str, object]]) -> tuple[Tool, ...]:
    """Return tools sorted by name, whether they are written plainly, for OpenAI, for Anthropic or for MCP."""
    read: dict[str, Tool] = {}
    for definition in tools:
        tool = read_tool(definition)
        if tool.name in read:
            raise ToolError(f"two tools are called {tool.name!r}; a name may stand once in a request")
        read[tool.name] = tool
    return tuple(read[name] for name in sorted(read))


def read_tool(definition: Mapping[str, object]) -> Tool:
    """Return a tool, whether its definition is plain, OpenAI's, Anthropic's or MCP's."""
    return _tool(_plain_tool(definition))


def _plain_tool(definition: Mapping[str, object]) -> Payload:
    """Return a copy of a definition as plain JSON values. Its keys keep their order, because the model reads them."""
    if not isinstance(definition, Mapping):
        raise ToolError(f"a tool is a mapping with a name, not {type(definition).__name__}")
    try:
        text = json.dumps(dict(definition), ensure_ascii=False, allow_nan=False, default=as_dict)
        plain: Payload = json.loads(scrub(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"a tool is not JSON: {why_not_json(error)}") from None
    return plain


def _tool(definition: Payload) -> Tool:
    inner = definition.pop("function", None)
    fields = inner if isinstance(inner, dict) else definition
    for holder in (definition, fields):
        holder.pop("cache_control", None)  # the planner places the marks
    kind = definition.pop("type", None) or "function"
    if not isinstance(kind, str):
        raise ToolError(f"the type of a tool is text, not {kind!r:.60}")
    if kind not in ("function", "custom"):
        return Tool(_native_name(kind, definition), "", {}, {}, {"type": kind, **definition})
    of_openai = isinstance(inner, dict) or "parameters" in definition
    of_mcp = "inputSchema" in fields
    name = tool_name({"name": fields.pop("name", None)})
    description = fields.pop("description", None)
    schema = {"type": "object", "properties": {}}
    _check_spelling(name, fields)
    for key in _SCHEMAS:
        schema = fields.pop(key, None) or schema
    if not isinstance(description, str | None) or not isinstance(schema, dict):
        raise ToolError(f"tool {name!r}: its description is text and its schema an object")
    # MCP allows both to be missing; Anthropic requires the first and OpenAI the second.
    if schema.setdefault("type", "object") == "object":
        schema.setdefault("properties", {})
    # The other fields of MCP are for the client, and providers refuse them in a definition.
    extra = {} if of_mcp else {"openai" if of_openai else "anthropic": fields}
    return Tool(name, description or "", schema, extra)


def _check_spelling(name: str, fields: Mapping[str, object]) -> None:
    """Refuse a schema under an unknown name: the tool would have no arguments."""
    if any(key in fields for key in _SCHEMAS):
        return
    for key, value in fields.items():
        is_schema = isinstance(value, dict) and ("properties" in value or value.get("type") == "object")
        if is_schema and "output" not in key.lower():  # MCP's
            raise ToolError(f"tool {name!r}: its schema is called {key!r}; it is read as {', '.join(_SCHEMAS)}")


def _native_name(kind: str, definition: Payload) -> str:
    """Return the name of a tool that only its provider knows, or else its type and server."""
    if "name" in definition:
        return tool_name(definition)
    server = definition.get("server_label") or definition.get("mcp_server_name")
    return f"{kind} {server}" if server else kind
