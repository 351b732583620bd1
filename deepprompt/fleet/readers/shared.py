"""What several readers share: usage, times and texts as logs write them, and the answer in a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from deepprompt.errors import MessageError, UsageError
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.text.parse import parse_time

# The headers that say whose request it is, by the names that agents use.
SESSION_HEADERS = (
    "x-claude-code-session-id", "session-id", "session_id", "thread-id", "x-session-id", "x-session-affinity",
    "x-litellm-session-id", "helicone-session-id",
)  # fmt: skip


def usage_of(answer: object) -> Usage | None:
    """Return the usage in an answer, None if there is none that can be read."""
    try:
        return read_usage(answer) if answer is not None else None
    except UsageError:
        return None


def usage_in_events(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return what the events of a streamed answer say about tokens: the last word on each number."""
    found: dict[str, Any] = {}
    for event in events:
        for holder in (event, *(event.get(name) for name in ("message", "response"))):
            if not isinstance(holder, Mapping):
                continue
            for name in ("usage", "usageMetadata"):
                if isinstance(usage := holder.get(name), Mapping):
                    known = found.setdefault(name, {})
                    known |= {key: value for key, value in usage.items() if value is not None}
            if isinstance(timings := holder.get("timings"), Mapping):
                found["timings"] = dict(timings)
    return found or None


def events_in(text: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a stream of server-sent events, or of an array as Gemini streams it."""
    try:
        whole = json.loads(text)
        return [one for one in (whole if isinstance(whole, list) else [whole]) if isinstance(one, dict)]
    except (ValueError, RecursionError):
        pass
    found: list[Mapping[str, Any]] = []
    for line in text.splitlines():
        if line.startswith("data:"):
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            found += [event] if isinstance(event, dict) else []
    return found


def time_of(value: object) -> float | None:
    """Return a time in seconds: seconds, milliseconds, or a date and time as text; None for anything else."""
    if isinstance(value, str) and value.strip().replace(".", "", 1).isdecimal():
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return value / 1000 if value > 1e11 else float(value)
    try:
        return parse_time(value)
    except MessageError:
        return None


def nanoseconds(value: object) -> float | None:
    """Return a time that is written in nanoseconds, as a number or as text."""
    try:
        time = int(value) / 1e9  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return None
    return time if time > 0 else None


def parsed(value: object) -> Any:
    """Return a value that may be JSON as text; a text that is none stays as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def text_of(value: object) -> str:
    """Return a text, "" for anything else."""
    return value if isinstance(value, str) else ""


def day_of(at: float | None) -> str:
    """Return the day of a time in UTC, "" without one."""
    try:
        return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return ""
