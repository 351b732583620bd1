"""A recorded request of any provider as segments in the order in which its cache reads them: tools, system, messages.

The body is recognised by its own fields. A segment is one block: its place in the body, what it is, its text as it
was sent, and whether a mark stands at its end. What compares segments needs to know no provider's JSON. Settings are
segments too, without a text of the prompt: each stands before what cannot be read once it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepprompt.checks.blocks import as_json, items, kind_of, lifetime, read_block, read_result, time_of, unmarked
from deepprompt.errors import MessageError
from deepprompt.prompt import BOUNDARY_PART, Pace, Prompt, read_part
from deepprompt.providers.segments import BARE, Segment

# Beside the prompt these decide whether a cache entry can be read at all; as paths in a body.
_SETTINGS = (
    "model", "modelId", "thinking", "output_config", "additionalModelRequestFields", "reasoning.effort",
    "reasoning_effort", "verbosity", "text", "response_format", "service_tier", "prompt_cache_key",
    "prompt_cache_options", "cachedContent", "cached_content", "user_id", "cache_salt", "extra_key",
    "chat_template_kwargs",
)  # fmt: skip
# With these the tools can still be read, or tools and system prompt. A choice of OpenAI's costs nothing.
_AFTER_TOOLS = ("speed",)
_BEFORE_MESSAGES = ("tool_choice", "toolConfig.toolChoice")
_CHOICES = ("auto", "any", "tool", "none")

# Where a request holds its messages, and what else makes a body one.
_MESSAGES = ("messages", "input", "contents")
_CONTENTS = ("system", "systemInstruction", "system_instruction", "instructions", "prompt", "tools", "toolConfig")

# A pace as a saved session has it, and as `build --json` does.
_PACES = {pace.name.lower(): pace for pace in Pace}

# What a message has beside its content, in the order in which a chat template writes it.
_BEFORE_CONTENT = {
    "name": "name", "reasoning": "thinking", "reasoning_content": "thinking", "thinking_blocks": "thinking",
}  # fmt: skip
_AFTER_CONTENT = {"refusal": "text", "function_call": "tool_use", "tool_calls": "tool_use"}


def read_request(value: object) -> list[Segment]:
    """Return the segments of a request or its body, a message array, a `Prompt`, a text, or what commands wrote of one.

    Those are the JSON of `deepprompt build --json`, with or without `--to`, and a saved session.
    """
    try:
        return _read(value)
    except RecursionError:
        raise MessageError("a request that is nested too deeply to be read") from None


def as_segments(request: object) -> list[Segment]:
    """Return segments as they are, and of anything else what `read_request` returns."""
    if isinstance(request, Sequence) and not isinstance(request, str | bytes) and len(request) > 0:
        segments = [item for item in request if isinstance(item, Segment)]
        if len(segments) == len(request):
            return segments
    return read_request(request)


def _read(value: object) -> list[Segment]:
    if isinstance(value, Prompt):
        static = len(value.static_parts)
        rows = [(p.name, p.text, p.origin, number >= static, p.pace) for number, p in enumerate(value.parts)]
        return _tools({"tools": value.tools}) + _parts(rows) + _messages(value.messages, "messages")
    if isinstance(value, str):
        return [_bare(value)]
    if isinstance(value, Mapping):
        return _read_object(value)
    if isinstance(body := getattr(value, "body", None), Mapping):  # a Request
        return _read_object(body)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        if value and all(isinstance(item, Mapping) and _is_recorded(item) for item in value):
            raise MessageError(
                "a list of requests, not one: give one of them, or what takes them all: cache, lint, inspect"
            )
        return _messages(value, "messages")
    raise MessageError(f"not a request: {type(value).__name__}; expected a body, a list of messages or a text")


def _is_recorded(item: Mapping[str, Any]) -> bool:
    """Whether an object of a list is a request of its own, and no message."""
    return "role" not in item and any(isinstance(item.get(key), list | Mapping) for key in (*_MESSAGES, "body"))


def _read_object(value: Mapping[str, Any]) -> list[Segment]:
    if isinstance(session := value.get("session"), Mapping) and "sha256" in value:
        rows = [_row(row, number) for number, row in enumerate(items(session.get("parts")))]
        return _tools(session) + _parts(rows) + _messages(session.get("messages") or (), "messages")
    if isinstance(text := value.get("text"), str) and isinstance(value.get("parts"), list):
        return _tools(value) + _cut(text, value["parts"])
    body = next((value[key] for key in ("body", "request") if isinstance(value.get(key), Mapping)), None)
    if body is not None and not any(key in value for key in _MESSAGES):
        own = {} if "model" in body or "modelId" in body else {"model": value["model"]} if "model" in value else {}
        return _read_object({**own, **body})
    return _body(value)


def _body(body: Mapping[str, Any]) -> list[Segment]:
    key = next((key for key in _MESSAGES if key in body), "")
    if not key and not any(name in body for name in _CONTENTS):
        fields = ", ".join(map(str, list(body)[:8])) or "none"
        raise MessageError(f"not a request of any provider: no messages, contents or input; its fields are {fields}")
    found = _settings(body, _SETTINGS) + _tools(body) + _settings(body, _AFTER_TOOLS)
    for name in ("system", "systemInstruction", "system_instruction", "instructions"):
        place, owner, instruction = name, "", body.get(name)
        if isinstance(instruction, Mapping) and "parts" in instruction:  # Gemini's
            place, owner, instruction = f"{name}.parts", name, instruction["parts"]
        found += _ended(_content(instruction, place, "system", owner))
    if isinstance(prompt := body.get("prompt"), str):
        found.append(_piece("prompt", prompt))
    messages = body.get(key) or ()
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    found += _settings(body, _BEFORE_MESSAGES)
    found += _messages(messages, key)
    if "cache_control" in body:  # Anthropic's own choice: the last block that may carry a mark
        last = next((n for n in range(len(found) - 1, -1, -1) if found[n].kind not in ("thinking", "setting")), None)
        if last is not None and found[last].mark is None:
            found[last] = replace(found[last], mark=lifetime(body))
    return found


def _settings(body: Mapping[str, Any], names: Iterable[str]) -> list[Segment]:
    found = []
    for name in names:
        outer, _, inner = name.partition(".")
        value = body.get(outer)
        if inner:
            value = value.get(inner) if isinstance(value, Mapping) else None
        if name == "tool_choice" and not (isinstance(value, Mapping) and value.get("type") in _CHOICES):
            value = None
        if value is not None:
            text = value if isinstance(value, str) else as_json(value)
            found.append(Segment(name, "setting", "", text, owner=outer))
    return found


# A part's name, its text, its origin, whether it changes with the turn, and its pace.
_Row = tuple[str, str, str, bool, Pace | None]


def _piece(place: str, text: str, origin: str = "", changing: bool = False, pace: Pace | None = None) -> Segment:
    return Segment(place, "system", "system", text, origin=origin, joins=True, changing=changing, pace=pace)


def _bare(text: str) -> Segment:
    return replace(_piece(BARE, text), bare=True)


def _parts(rows: Iterable[_Row]) -> list[Segment]:
    """Return the parts of a prompt."""
    pieces = [_piece(*row) for row in rows]
    if pieces:
        pieces[-1] = replace(pieces[-1], ends_message=True)
    return pieces


def _row(row: object, number: int) -> _Row:
    """Return a part of a saved session."""
    try:
        part = read_part(row)
    except ValueError as error:
        raise MessageError(f"session.parts[{number}]: {error}") from None
    return part.name, part.text, part.origin, part.pace is Pace.TURN, part.pace


def _cut(text: str, parts: Sequence[Any]) -> list[Segment]:
    """Return a text cut into the parts whose sizes are given, or whole if they are not those of this text."""
    data = text.encode("utf-8", "surrogatepass")
    rows: list[_Row] = []
    start, behind = 0, False
    for part in parts:
        size = part.get("bytes") if isinstance(part, Mapping) else None
        if not isinstance(size, int) or size < 0:
            return [_bare(text)]
        behind = behind or part.get("name") == BOUNDARY_PART or part.get("pace") == Pace.TURN.name.lower()
        try:
            piece = data[start : start + size].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return [_bare(text)]
        pace = _PACES.get(str(part.get("pace")))
        rows.append((str(part.get("name", "")), piece, str(part.get("origin", "")), behind, pace))
        start += size
    return _parts(rows) if rows and start == len(data) else [_bare(text)]


def _tools(body: Mapping[str, Any]) -> list[Segment]:
    """Return one segment a tool, wherever the provider has them; those that are only searched for are not sent."""
    config = body.get("toolConfig")
    key, tools = next(((key, body[key]) for key in ("tools", "functions") if body.get(key)), ("", ()))
    if not tools and isinstance(config, Mapping):
        key, tools = "toolConfig.tools", config.get("tools") or ()
    found: list[Segment] = []
    for number, tool in enumerate(_mappings(tools, key)):
        place = f"{key}[{number}]"
        if "cachePoint" in tool:
            _mark_last(found, tool["cachePoint"])
            continue
        if tool.get("defer_loading") is True:
            continue
        declared = next((name for name in ("functionDeclarations", "function_declarations") if name in tool), "")
        rest = {name: value for name, value in tool.items() if name != declared}
        for inner, function in enumerate(_mappings(tool[declared], f"{place}.{declared}") if declared else ()):
            found.append(_tool(function, f"{place}.{declared}[{inner}]", inner))
        if rest or not declared:
            found.append(_tool(rest, place, number))
    return found


def _tool(tool: Mapping[str, Any], place: str, number: int) -> Segment:
    inner: Mapping[str, Any] = next(
        (tool[key] for key in ("function", "toolSpec") if isinstance(tool.get(key), Mapping)), {}
    )
    names = (tool.get("name"), inner.get("name"), tool.get("type"), next(iter(tool), ""))
    name = next((name for name in names if isinstance(name, str)), "")
    mark = lifetime(tool)
    mark = lifetime(inner) if mark is None else mark
    text = as_json(unmarked(tool))
    return Segment(f"{place} {name}", "tool", "", text, mark, owner=place, index=number, tool=name)


def _messages(messages: object, key: str) -> list[Segment]:
    found = []
    for number, message in enumerate(_mappings(messages, key, "content")):
        owner = f"{key}[{number}]"
        found += [replace(segment, owner=owner, index=number) for segment in _ended(_message(message, owner))]
    return found


def _message(message: Mapping[str, Any], place: str) -> list[Segment]:
    key = "parts" if "parts" in message else "content"
    role = message.get("role")
    if not isinstance(role, str):
        if key not in message:
            return [_item(message, place)]
        role = "user"
    if role in ("tool", "function") and key == "content":
        header = {name: value for name, value in message.items() if name != "content"}
        return [
            read_result(header, message.get("content"), Segment(place, "tool_result", "user", "", lifetime(message)))
        ]
    role = {"developer": "system", "model": "assistant"}.get(role, role)
    found = _fields(message, _BEFORE_CONTENT, place, role)
    found += _content(message.get(key), f"{place}.{key}", role)
    found += _fields(message, _AFTER_CONTENT, place, role)
    if found and (mark := lifetime(message)) is not None:
        found[-1] = replace(found[-1], mark=mark)
    return found


def _fields(message: Mapping[str, Any], names: Mapping[str, str], place: str, role: str) -> list[Segment]:
    """Return what a message has beside its content."""
    found = []
    for name, kind in names.items():
        value = message.get(name)
        several = isinstance(value, list | tuple)
        for number, item in enumerate(items(value) if several else [value] if value else ()):
            where = f"{place}.{name}[{number}]" if several else f"{place}.{name}"
            text = item if isinstance(item, str) else as_json(unmarked(item))
            found.append(Segment(where, kind, role, text))
    return found


def _item(item: Mapping[str, Any], place: str) -> Segment:
    """Return an item of OpenAI's Responses that is no message. What the answer called it is not read by the model."""
    if item.get("type") != "item_reference":
        item = {name: value for name, value in item.items() if name not in ("id", "status")}
    kind = kind_of(item)
    if kind == "tool_result":
        return read_block(item, place, "user")
    return Segment(place, kind, "assistant", as_json(unmarked(item)), lifetime(item))


def _content(content: object, place: str, role: str, owner: str = "") -> list[Segment]:
    """Return the blocks of one message or of a system prompt."""
    if content is None:
        return []
    if isinstance(content, str):
        return [Segment(place, "system" if role == "system" else "text", role, content, owner=owner)]
    found: list[Segment] = []
    for number, block in enumerate(_mappings(content, place, "text")):
        if "cachePoint" in block:
            _mark_last(found, block["cachePoint"])
        else:
            found.append(read_block(block, f"{place}[{number}]", role, owner))
    return found


def _ended(segments: list[Segment]) -> list[Segment]:
    """Return the segments of one message, of which the last ends it."""
    if segments:
        segments[-1] = replace(segments[-1], ends_message=True)
    return segments


def _mark_last(found: list[Segment], mark: object) -> None:
    """Put a mark that is an element of its own on what stands before it."""
    if found:
        found[-1] = replace(found[-1], mark=time_of(mark))


def _mappings(value: object, place: str, text_as: str = "") -> Iterable[Mapping[str, Any]]:
    """Yield the objects of a list; with `text_as`, a text stands for an object that has it in that field."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise MessageError(f"{place}: expected a list, not {type(value).__name__}")
    for number, item in enumerate(value):
        if isinstance(item, str) and text_as:
            item = {text_as: item}
        if not isinstance(item, Mapping):
            raise MessageError(f"{place}[{number}]: expected an object, not {type(item).__name__}")
        yield item
