"""OpenTelemetry's spans as JSON (OTLP), with the attributes of the GenAI conventions in every published spelling.

A span has no marks and no settings, and its messages may be shortened: enough to sum up usage and to say which text
changed, not to say why a cache missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import nanoseconds, parsed, text_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line
from deepprompt.providers.dialect import items

NAME = "OTLP"
COMPLETE = "text"

_MODELS = ("gen_ai.request.model", "gen_ai.response.model")
_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id")


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is an export of spans."""
    return isinstance(value.get("resourceSpans") or value.get("resource_spans"), list)


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each span of a model's inference."""
    for line in lines:
        if not isinstance(line.value, Mapping) or not sniff(line.value):
            yield Unread(line.where, "not an export of spans")
            continue
        for number, span in enumerate(_spans(line.value), 1):
            attributes = {text_of(one.get("key")): _plain(one.get("value")) for one in items(span.get("attributes"))
                          if isinstance(one, Mapping)}  # fmt: skip
            if any(name in attributes for name in _MODELS):
                yield _record(f"{line.where}#{number}", span, attributes)


def _spans(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in items(value.get("resourceSpans") or value.get("resource_spans")):
        for scope in items(resource.get("scopeSpans") or resource.get("scope_spans")):
            yield from (span for span in items(scope.get("spans")) if isinstance(span, Mapping))


def _plain(value: object) -> Any:
    """Return an attribute's value without the object that names its type."""
    if not isinstance(value, Mapping):
        return value
    for name, inner in value.items():
        if name in ("intValue", "int_value"):
            return int(inner) if str(inner).lstrip("-").isdecimal() else None
        if name in ("arrayValue", "array_value"):
            return [_plain(one) for one in items(inner.get("values"))] if isinstance(inner, Mapping) else []
        if name in ("kvlistValue", "kvlist_value"):
            rows = items(inner.get("values")) if isinstance(inner, Mapping) else []
            return {text_of(row.get("key")): _plain(row.get("value")) for row in rows if isinstance(row, Mapping)}
        return inner
    return None


def _record(where: str, span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Record:
    body = _body(attributes)
    started = nanoseconds(span.get("startTimeUnixNano") or span.get("start_time_unix_nano"))
    ended = nanoseconds(span.get("endTimeUnixNano") or span.get("end_time_unix_nano"))
    name, version = (text_of(attributes.get(f"gen_ai.prompt.{one}")) for one in ("name", "version"))
    provider = text_of(attributes.get("gen_ai.provider.name")) or text_of(attributes.get("gen_ai.system"))
    return Record(
        where,
        started,
        body,
        usage=usage_of(attributes),
        complete="text" if body else "usage",
        session=next((text_of(attributes[one]) for one in _SESSIONS if attributes.get(one)), ""),
        agent=text_of(attributes.get("gen_ai.agent.name")),
        provider=provider,
        model=next((text_of(attributes[one]) for one in _MODELS if attributes.get(one)), ""),
        prompt=f"{name}@{version}" if name and version else name,
        ms=round((ended - started) * 1000) if started is not None and ended is not None else None,
    )


def _body(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the messages, the system prompt and the tools that the span was told to carry, if any."""
    messages = parsed(attributes.get("gen_ai.input.messages") or attributes.get("gen_ai.prompt"))
    if not isinstance(messages, list):
        return None
    body: dict[str, Any] = {"messages": [_message(one) for one in messages if isinstance(one, Mapping)]}
    system = parsed(attributes.get("gen_ai.system_instructions"))
    if isinstance(system, list):
        body["system"] = [_part(one) for one in system if isinstance(one, Mapping)]
    elif isinstance(system, str) and system:
        body["system"] = system
    if isinstance(tools := parsed(attributes.get("gen_ai.tool.definitions")), list):
        body["tools"] = [tool for tool in map(parsed, tools) if isinstance(tool, Mapping)]
    return body


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    parts = message.get("parts")
    content = (
        [_part(one) for one in parts if isinstance(one, Mapping)] if isinstance(parts, list) else message.get("content")
    )
    return {"role": text_of(message.get("role")) or "user", "content": content}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a message; a text has it under `content` there."""
    if part.get("type") == "text":
        return {"type": "text", "text": text_of(part.get("content")) or text_of(part.get("text"))}
    return dict(part)
