"""Claude Code's transcripts, `~/.claude/projects/*/*.jsonl`: one session a file.

A transcript has neither the system prompt nor the tools, so it says what was read and written, and when, but no cause.
One answer may be several lines with one id; it is counted once. Complete enough for usage only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import text_of, time_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line

NAME = "Claude Code transcript"
COMPLETE = "usage"

_TYPES = (
    "user",
    "assistant",
    "system",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "attachment",
    "progress",
)
_REMEMBERED = 1000


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is a line of a transcript."""
    return value.get("type") in _TYPES and ("sessionId" in value or "leafUuid" in value) and "payload" not in value


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each answer; its last line has the final count."""
    waiting: Record | None = None
    waits_for = ""
    done: deque[str] = deque(maxlen=_REMEMBERED)
    for line in lines:
        value = line.value
        if not isinstance(value, Mapping):
            yield Unread(line.where, "not a whole JSON object")
            continue
        message = value.get("message")
        if value.get("type") != "assistant" or not isinstance(message, Mapping):
            continue
        found = _record(line.where, value, message)
        answer = text_of(message.get("id")) or text_of(value.get("requestId")) or line.where
        if answer in done or found.usage is None:
            continue
        if waiting is not None and answer != waits_for:
            done.append(waits_for)
            yield waiting
        elif waiting is not None:
            found.at = waiting.at  # the first line is nearest to the request
        waiting, waits_for = found, answer
    if waiting is not None:
        yield waiting


def _record(where: str, value: Mapping[str, Any], message: Mapping[str, Any]) -> Record:
    return Record(
        where,
        time_of(value.get("timestamp")),
        usage=usage_of(message),
        complete="usage",
        session=text_of(value.get("sessionId")),
        agent="claude-code",
        version=text_of(value.get("version")),
        provider="anthropic",
        model=text_of(message.get("model")),
        end="done",
    )
