"""Helicone's export as JSON Lines. With `--include-body` complete enough for everything, else for usage only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import parsed, text_of, time_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line

NAME = "Helicone"
COMPLETE = "blame"


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is a request of Helicone's export."""
    return "request_created_at" in value and ("request_id" in value or "request_path" in value)


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each request."""
    for line in lines:
        value = line.value
        if not isinstance(value, Mapping) or not sniff(value):
            yield Unread(line.where, "not a request of Helicone's export")
            continue
        body, answer = parsed(value.get("request_body")), parsed(value.get("response_body"))
        whole = isinstance(body, Mapping) and bool(body)
        properties = value.get("request_properties")
        sessions = {**(properties if isinstance(properties, Mapping) else {}), **value}
        names = ("Helicone-Session-Id", "helicone-session-id", "session_id", "helicone_session")
        took = value.get("delay_ms")
        yield Record(
            line.where,
            time_of(value.get("request_created_at")),
            body if whole else None,
            usage=usage_of(answer) or _counted(value),
            complete="blame" if whole else "usage",
            session=next((text_of(sessions[name]) for name in names if sessions.get(name)), ""),
            provider=text_of(value.get("provider")).lower(),
            model=text_of(value.get("request_model")) or text_of(value.get("model")),
            path=text_of(value.get("request_path")),
            status=value["response_status"] if isinstance(value.get("response_status"), int) else None,
            ms=took if isinstance(took, int) else None,
        )


def _counted(value: Mapping[str, Any]) -> Any:
    """Return the usage out of the export's own columns."""
    if not isinstance(value.get("prompt_tokens"), int):
        return None
    cached = {"cached_tokens": value.get("prompt_cache_read_tokens") or 0}
    written = {"cache_write_tokens": value.get("prompt_cache_write_tokens") or 0}
    return usage_of({**value, "completion_tokens": value.get("completion_tokens") or 0,
                     "prompt_tokens_details": cached | written})  # fmt: skip
