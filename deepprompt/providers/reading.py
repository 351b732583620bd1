"""Read a request body of any provider into segments, in the order in which its cache reads it.

That order is tools, system prompt, messages. The settings that a cache depends on are segments too. Each comes before
everything that can no longer be read from the cache once the setting changes. The dialects of all providers count
together, so that a body of an unknown provider, or one that mixes two dialects, can be read as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from deepprompt.errors import MessageError
from deepprompt.providers.blocks import as_json, kind_of, lifetime, read_block, read_result, unmarked
from deepprompt.providers.dialect import Body, items, time_of
from deepprompt.providers.recognise import DIALECTS, MARK_FIELDS, MESSAGES, MODELS, names
from deepprompt.providers.responses import KNOWN_ITEMS
from deepprompt.providers.segments import Segment

_SETTINGS = (*MODELS, *names(lambda dialect: dialect.settings))
_SETTINGS_AFTER_TOOLS = names(lambda dialect: dialect.settings_after_tools)
_SYSTEM = names(lambda dialect: dialect.system)
_TOOLS = names(lambda dialect: dialect.tools)
_TOOL = names(lambda dialect: [dialect.tool] if dialect.tool else [])
_TOOL_GROUPS = names(lambda dialect: dialect.tool_groups)
_CONTENT = names(lambda dialect: [dialect.content])
_MARK_ELEMENTS = names(lambda dialect: [dialect.mark_element] if dialect.mark_element else [])
_ROLES = dict(chain.from_iterable(dialect.roles.items() for dialect in DIALECTS))
_BEFORE_CONTENT = dict(chain.from_iterable(dialect.before_content.items() for dialect in DIALECTS))
_AFTER_CONTENT = dict(chain.from_iterable(dialect.after_content.items() for dialect in DIALECTS))

_PROMPT = "prompt"  # of plain completions, which engines still take
_DEFERRED = "defer_loading"
_KNOWN = frozenset(
    path.partition(".")[0]
    for path in (
        *_SETTINGS, *_SETTINGS_AFTER_TOOLS, *_SYSTEM, *_TOOLS, _PROMPT, *MESSAGES,
        *names(lambda dialect: dialect.unread),
    )
)  # fmt: skip
# The fields of a message that the model does not read: what an API calls it, and what an SDK adds to a response.
_UNREAD = frozenset((
    "role", "type", "id", "status", "model", "usage", "stop_reason", "stop_sequence", "stop_details", "parsed",
    *_CONTENT, *_BEFORE_CONTENT, *_AFTER_CONTENT, *MARK_FIELDS,
))  # fmt: skip


def read_body(body: Body) -> list[Segment]:
    """Return the segments of a body. Raises `MessageError` if it has neither messages nor a prompt nor tools."""
    key = next((key for key in MESSAGES if key in body), "")
    if not key and not any(name.partition(".")[0] in body for name in (*_SYSTEM, *_TOOLS, _PROMPT)):
        fields = ", ".join(map(str, list(body)[:8])) or "none"
        raise MessageError(f"not a request of any provider: no messages, contents or input; its fields are {fields}")
    messages = body.get(key) or ()
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    found = read_head(body) + read_messages(messages, key)
    put_own_marks(body, found)
    return found


def read_head(body: Body) -> list[Segment]:
    """Return the segments of a body before its messages."""
    found = _settings(body, _SETTINGS) + read_tools(body) + _settings(body, _SETTINGS_AFTER_TOOLS)
    for name in _SYSTEM:
        found += _ended(_system(body.get(name), name))
    if isinstance(prompt := body.get(_PROMPT), str):
        found.append(Segment(_PROMPT, "system", "system", prompt, joins=True))
    for dialect in DIALECTS:
        if dialect.tool_choice is not None and (choice := dialect.tool_choice(body)) is not None:
            found.append(_setting(*choice))
    return found


def put_own_marks(body: Body, segments: list[Segment]) -> None:
    """Put the marks that a provider adds by itself on the segments of a body."""
    for dialect in DIALECTS:
        if dialect.mark_by_itself is not None:
            dialect.mark_by_itself(body, segments)


def unknown_fields(body: Body) -> dict[str, str]:
    """Return the fields of a body that no provider's file knows, as JSON. Most are the caller's own."""
    return {name: as_json(value) for name, value in body.items() if name not in _KNOWN and value is not None}


def _settings(body: Body, paths: Iterable[str]) -> list[Segment]:
    values = [(path, _at(body, path)) for path in paths]
    return [_setting(path, value) for path, value in values if value is not None]


def _setting(path: str, value: object) -> Segment:
    text = value if isinstance(value, str) else as_json(value)
    return Segment(path, "setting", "", text, owner=path.partition(".")[0])


def _at(body: Body, path: str) -> object:
    """Return the value at a dotted path, None if it is not there."""
    outer, _, inner = path.partition(".")
    value = body.get(outer)
    return value if not inner else value.get(inner) if isinstance(value, Mapping) else None


def _system(system: object, name: str) -> list[Segment]:
    """Return the system prompt, which is a text, a list of blocks, or an object that has one."""
    if isinstance(system, Mapping):
        inner = next((key for key in _CONTENT if key != "content" and key in system), "")
        if inner:
            return _content(system[inner], f"{name}.{inner}", "system", name)
    return _content(system, name, "system")


def read_tools(body: Body) -> list[Segment]:
    """Return one segment for each tool, without those that are only loaded when the model searches for them."""
    key, tools = next(((path, tools) for path in _TOOLS if (tools := _at(body, path))), ("", ()))
    return _tools(tools, key)


def _tools(tools: object, key: str) -> list[Segment]:
    found: list[Segment] = []
    for number, tool in enumerate(_mappings(tools, key)):
        place = f"{key}[{number}]"
        if _is_mark(tool, found) or tool.get(_DEFERRED) is True:
            continue
        group = next((name for name in _TOOL_GROUPS if name in tool), "")
        rest = {name: value for name, value in tool.items() if name != group}
        for inner, function in enumerate(_mappings(tool[group], f"{place}.{group}") if group else ()):
            found.append(_tool(function, f"{place}.{group}[{inner}]", inner))
        if rest or not group:
            found.append(_tool(rest, place, number))
    return found


def _tool(tool: Body, place: str, number: int) -> Segment:
    inner: Body = next((tool[key] for key in _TOOL if isinstance(tool.get(key), Mapping)), {})
    named = (tool.get("name"), inner.get("name"), tool.get("type"), next(iter(tool), ""))
    name = next((name for name in named if isinstance(name, str)), "")
    mark = lifetime(tool)
    mark = lifetime(inner) if mark is None else mark
    text = as_json(unmarked(tool))
    return Segment(f"{place} {name}", "tool", "", text, mark, owner=place, index=number, tool=name)


def read_messages(messages: object, key: str, start: int = 0) -> list[Segment]:
    """Return the segments of a list of messages. The first message has the number `start`."""
    found = []
    for number, message in enumerate(_mappings(messages, key, "content"), start):
        found += _ended(_message(message, f"{key}[{number}]", number))
    return found


def _message(message: Body, place: str, number: int) -> list[Segment]:
    key = next((key for key in reversed(_CONTENT) if key in message), "content")
    role = message.get("role")
    if not isinstance(role, str):
        if key not in message:
            return [_item(message, place, number)]
        role = "user"
    if key not in message and isinstance(message.get("tools"), list):  # tools that join in the conversation
        return _tools(message["tools"], f"{place}.tools")
    meant = _ROLES.get(role, role)
    if meant == "tool_result" and key == "content":
        header = {name: value for name, value in message.items() if name != "content"}
        return [read_result(header, message.get("content"), place, lifetime(message), place, number)]
    role = role if meant == "tool_result" else meant
    found = _fields(message, _BEFORE_CONTENT, role, place, number)
    found += _content(message.get(key), f"{place}.{key}", role, place, number)
    found += _fields(message, _AFTER_CONTENT, role, place, number)
    found += _unknown(message, role, place, number)
    if found and (mark := lifetime(message)) is not None:
        found[-1] = replace(found[-1], mark=mark)
    return found


def _unknown(message: Body, role: str, owner: str, index: int) -> list[Segment]:
    """Return the fields of a message that no provider's file knows. SDKs write every possible field, most empty."""
    extra = [(name, value) for name, value in message.items() if name not in _UNREAD and value]
    return [
        Segment(f"{owner}.{name}", name, role, as_json(unmarked(value)), owner=owner, index=index, unknown=True)
        for name, value in extra
    ]


def _fields(message: Body, kinds: Mapping[str, str], role: str, owner: str, index: int) -> list[Segment]:
    """Return the fields of a message beside its content."""
    found = []
    for name, kind in kinds.items():
        value = message.get(name)
        several = isinstance(value, list | tuple)
        for number, item in enumerate(items(value) if several else [value] if value else ()):
            where = f"{owner}.{name}[{number}]" if several else f"{owner}.{name}"
            text = item if isinstance(item, str) else as_json(unmarked(item))
            found.append(Segment(where, kind, role, text, owner=owner, index=index))
    return found


def _item(item: Body, place: str, number: int) -> Segment:
    """Return an item of a conversation that is not a message."""
    for dialect in DIALECTS:
        item = dialect.without_names(item) if dialect.without_names is not None else item
    kind = kind_of(item)
    if kind == "tool_result":
        return read_block(item, place, "user", place, number)
    text = as_json(unmarked(item))
    unknown = kind == item.get("type", kind) and kind not in KNOWN_ITEMS
    return Segment(place, kind, "assistant", text, lifetime(item), owner=place, index=number, unknown=unknown)


def _content(content: object, place: str, role: str, owner: str = "", index: int | None = None) -> list[Segment]:
    """Return the blocks of a message or of a system prompt."""
    if content is None:
        return []
    if isinstance(content, str):
        kind = "system" if role == "system" else "text"
        return [Segment(place, kind, role, content, owner=owner, index=index)]
    found: list[Segment] = []
    for number, block in enumerate(_mappings(content, place, "text")):
        if not _is_mark(block, found):
            found.append(read_block(block, f"{place}[{number}]", role, owner, index))
    return found


def _is_mark(element: Body, before: list[Segment]) -> bool:
    """Whether an element is nothing but a mark; if so, put that on the segment before it."""
    mark = next((name for name in _MARK_ELEMENTS if name in element), "")
    if mark and before:
        before[-1] = replace(before[-1], mark=time_of(element[mark]))
    return bool(mark)


def _ended(segments: list[Segment]) -> list[Segment]:
    """Return the segments of one message, with its end noted on the last of them."""
    if segments:
        segments[-1] = replace(segments[-1], ends_message=True)
    return segments


def _mappings(value: object, place: str, text_as: str = "") -> Iterator[Body]:
    """Yield the objects of a list. With `text_as`, a text counts as an object that has it in that field."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise MessageError(f"expected a list, not {type(value).__name__}", place)
    for number, item in enumerate(value):
        if isinstance(item, str) and text_as:
            item = {text_as: item}
        if not isinstance(item, Mapping):
            raise MessageError(f"{place}[{number}]: expected an object, not {type(item).__name__}")
        yield item
