"""Codex' rollout files, `~/.codex/sessions/**/rollout-*.jsonl`: one session a file.

A file has instructions, items and token counts, but neither the built-in tools nor the other settings. The requests are
rebuilt: everything before each token count. Enough to sum up usage and to say which text changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import text_of, time_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line

NAME = "Codex rollout"
COMPLETE = "text"

_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
# Items of the model; what follows a request up to its token count is the answer to it.
_ANSWERS = ("reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call")


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is a line of a rollout."""
    return value.get("type") in _TYPES and isinstance(value.get("payload"), Mapping)


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each request that was counted."""
    state = _State()
    for line in lines:
        value = line.value
        if not isinstance(value, Mapping) or not isinstance(value.get("payload"), Mapping):
            yield Unread(line.where, "not a line of a rollout")
            continue
        if (found := state.take(line.where, value, value["payload"])) is not None:
            yield found


class _State:
    """What is known of the session so far."""

    def __init__(self) -> None:
        self.session = self.version = self.instructions = self.model = ""
        self.items: list[Mapping[str, Any]] = []
        self.counted = ""

    def take(self, where: str, line: Mapping[str, Any], payload: Mapping[str, Any]) -> Record | None:
        """Take one line, and return the request that it counts, if it does."""
        match line.get("type"):
            case "session_meta":
                self.session = text_of(payload.get("session_id")) or text_of(payload.get("id"))
                self.version = text_of(payload.get("cli_version"))
                given = payload.get("base_instructions") or payload.get("instructions")
                self.instructions = text_of(given.get("text") if isinstance(given, Mapping) else given)
            case "turn_context":
                self.model = text_of(payload.get("model")) or self.model
            case "response_item":
                self.items.append(payload)
            case "compacted":
                history = payload.get("replacement_history")
                summary: Mapping[str, Any] = {"role": "user", "content": text_of(payload.get("message"))}
                self.items = list(history) if isinstance(history, list) else [summary]
            case "event_msg" if payload.get("type") == "token_count":
                return self._counted(where, line, payload.get("info"))
        return None

    def _counted(self, where: str, line: Mapping[str, Any], info: object) -> Record | None:
        """Return the request that a token count is about; one count may be written twice."""
        usage = info.get("last_token_usage") if isinstance(info, Mapping) else None
        if not isinstance(usage, Mapping) or (same := repr(info)) == self.counted:
            return None
        self.counted = same
        end = len(self.items)
        while end and _is_answer(self.items[end - 1]):
            end -= 1
        body: dict[str, Any] = {"model": self.model, "input": self.items[:end]}
        if self.instructions:
            body = {"instructions": self.instructions, **body}
        return Record(
            where,
            time_of(line.get("timestamp")),
            body if end else None,
            usage=usage_of(usage),
            complete="text" if end else "usage",
            session=self.session,
            agent="codex",
            version=self.version,
            provider="openai-responses",
            model=self.model,
        )


def _is_answer(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in _ANSWERS
