"""Langfuse's export of observations, as JSON, JSON Lines, an array or Parquet.

What an observation holds depends on the SDK that sent it: mostly messages without marks. Enough to sum up usage and to
say which text changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import parsed, text_of, time_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line

NAME = "Langfuse"
COMPLETE = "text"


def _either(value: Mapping[str, Any], name: str) -> Any:
    """Return a field in snake_case or, as the API writes it, in camelCase."""
    head, *rest = name.split("_")
    return value.get(name, value.get(head + "".join(map(str.capitalize, rest))))


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is an observation."""
    return (
        isinstance(value.get("type"), str) and bool(_either(value, "trace_id")) and bool(_either(value, "start_time"))
    )


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each generation."""
    for line in lines:
        value = line.value
        if not isinstance(value, Mapping) or not sniff(value):
            yield Unread(line.where, "not an observation of Langfuse")
        elif value["type"] == "GENERATION":
            yield _record(line.where, value)


def _record(where: str, value: Mapping[str, Any]) -> Record:
    body = _body(value)
    started, ended = time_of(_either(value, "start_time")), time_of(_either(value, "end_time"))
    name, version = _either(value, "prompt_name"), _either(value, "prompt_version")
    details = parsed(_either(value, "usage_details"))
    usage = usage_of({"input": 0, "output": 0, **details}) if isinstance(details, Mapping) and details else None
    return Record(
        where,
        started,
        body,
        usage=usage or usage_of(parsed(value.get("usage"))),
        complete="text" if body else "usage",
        session=text_of(_either(value, "session_id")) or text_of(_either(value, "trace_id")),
        model=text_of(_either(value, "provided_model_name")) or text_of(value.get("model")),
        prompt=f"{name}@{version}" if name and version is not None else text_of(name),
        ms=round((ended - started) * 1000) if started is not None and ended is not None else None,
    )


def _body(value: Mapping[str, Any]) -> dict[str, Any] | None:
    given = parsed(value.get("input"))
    if isinstance(given, Mapping) and any(
        isinstance(given.get(key), list) for key in ("messages", "contents", "input")
    ):
        body = dict(given)
    elif isinstance(given, list) and given and all(isinstance(one, Mapping) and "role" in one for one in given):
        body = {"messages": given}
    else:
        return None
    parameters, tools = parsed(_either(value, "model_parameters")), parsed(_either(value, "tool_definitions"))
    known = parameters if isinstance(parameters, Mapping) else {}
    body = {**known, **body}
    if tools and "tools" not in body:
        rows = tools.values() if isinstance(tools, Mapping) else tools
        body["tools"] = [tool for tool in map(parsed, rows) if isinstance(tool, Mapping)]
    return body
