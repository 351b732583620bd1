"""HAR 1.2, as browsers and mitmproxy write it: whole requests, with their answers and headers.

Keys in headers are never looked at. Complete enough for everything.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import SESSION_HEADERS, events_in, text_of, time_of, usage_in_events, usage_of
from deepprompt.fleet.record import Record, Unread, agent_of
from deepprompt.fleet.streams import Line

NAME = "HAR"
COMPLETE = "blame"


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is an entry of a HAR file."""
    request = value.get("request")
    return isinstance(request, Mapping) and "startedDateTime" in value and "method" in request


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each entry that posts JSON to a model."""
    for line in lines:
        entry = line.value
        if not isinstance(entry, Mapping) or not sniff(entry):
            yield Unread(line.where, "not an entry of a HAR file")
            continue
        request = entry["request"]
        data = request.get("postData")
        text = text_of(data.get("text")) if isinstance(data, Mapping) else ""
        if not text.lstrip().startswith("{"):
            yield Unread(line.where, f"{text_of(request.get('method'))[:10]}, with no JSON posted")
            continue
        headers = _headers(request.get("headers"))
        agent, version = agent_of(headers.get("user-agent", ""))
        response = entry.get("response")
        response = response if isinstance(response, Mapping) else {}
        took = entry.get("time")
        yield Record(
            line.where,
            time_of(entry.get("startedDateTime")),
            None,
            text,
            usage_of(usage_in_events(events_in(_content(response)))),
            session=next((headers[name] for name in SESSION_HEADERS if name in headers), ""),
            agent=agent,
            version=version,
            path=text_of(request.get("url")).partition("?")[0],
            status=response["status"] if isinstance(response.get("status"), int) else None,
            ms=round(took) if isinstance(took, int | float) and 0 <= took < 1e9 else None,
        )


def _headers(headers: object) -> dict[str, str]:
    rows = headers if isinstance(headers, list) else []
    return {text_of(row.get("name")).lower(): text_of(row.get("value")) for row in rows if isinstance(row, Mapping)}


def _content(response: Mapping[str, Any]) -> str:
    content = response.get("content")
    if not isinstance(content, Mapping):
        return ""
    text = text_of(content.get("text"))
    if content.get("encoding") != "base64":
        return text
    try:
        return b64decode(text).decode("utf-8", "replace")
    except ValueError:
        return ""
