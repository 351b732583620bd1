"""LiteLLM's StandardLoggingPayload, as its callbacks and loggers write it.

It has the messages and the tools before LiteLLM's own rewriting of marks, so marks may differ from what was sent. A raw
request body in it counts more. Complete enough for blame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import parsed, text_of, time_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line

NAME = "LiteLLM"
COMPLETE = "blame"


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is a payload of LiteLLM's loggers."""
    return "model_parameters" in value and "messages" in value and ("startTime" in value or "litellm_call_id" in value)


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each payload."""
    for line in lines:
        value = line.value
        if not isinstance(value, Mapping) or not sniff(value):
            yield Unread(line.where, "not a payload of LiteLLM")
            continue
        started, ended = time_of(value.get("startTime")), time_of(value.get("endTime"))
        provider = text_of(value.get("custom_llm_provider"))
        session = next((value[name] for name in ("session_id", "trace_id") if isinstance(value.get(name), str)), "")
        yield Record(
            line.where,
            started,
            body_of(value),
            usage=_usage(value),
            session=session,
            agent=text_of(value.get("user_agent")) or "litellm",
            provider=provider,
            model=text_of(value.get("model")),
            status=200 if value.get("status") in (None, "success") else None,
            end="done" if value.get("status") in (None, "success") else text_of(value.get("status")),
            ms=round((ended - started) * 1000) if started is not None and ended is not None else None,
        )


def body_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the request: as it was sent if the payload has it, or else put together from messages and parameters."""
    extra = value.get("additional_args")
    raw = parsed(extra.get("complete_input_dict")) if isinstance(extra, Mapping) else None
    if isinstance(raw, Mapping) and raw:
        return {"model": value.get("model"), **raw}
    parameters, messages = parsed(value.get("model_parameters")), parsed(value.get("messages"))
    if isinstance(messages, Mapping):  # as the proxy's log has it
        messages = messages.get("messages", [])
    known = parameters if isinstance(parameters, Mapping) else {}
    texts = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    return {"model": value.get("model"), **known, "messages": texts or []}


def _usage(value: Mapping[str, Any]) -> Any:
    for holder in (value.get("metadata"), value.get("hidden_params"), value):
        if isinstance(holder, Mapping) and (found := usage_of(holder.get("usage_object"))) is not None:
            return found
    answer = parsed(value.get("response"))
    return usage_of(answer) if isinstance(answer, Mapping) and "usage" in answer else usage_of(value)
