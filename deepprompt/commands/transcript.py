"""Reading a transcript: recorded requests, or the requests that a conversation was made of, as segments with times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from deepprompt.checks.lint.subjects import seconds_of
from deepprompt.commands.options import own_text
from deepprompt.commands.rebuilding import ends_of, rebuild, segments_of
from deepprompt.errors import MessageError, ToolError, UsageError
from deepprompt.prompt import Pace, Part, Prompt
from deepprompt.providers.facts import Facts, Rules
from deepprompt.providers.segments import Segment
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.session.record import Recorded, read_recorded

_EXPECTED = 'expected request bodies, a list of messages, {"messages": [...]} or a saved session'
_OF_BODIES = ("body", "messages", "input", "contents")
# Where a record may have what its answer cost, beside its body.
_ANSWERED = ("usage", "answer", "response")


@dataclass(frozen=True, slots=True)
class Transcript:
    """The requests of a file, in order."""

    name: str
    requests: tuple[Sequence[Segment], ...]
    times: tuple[float, ...]
    """When each of them started, in seconds; none where the file does not say."""
    rebuilt: bool
    """Whether the requests were made again from the conversation."""
    answers: Mapping[int, Recorded | Usage] = field(default_factory=dict)
    """What was recorded of the answers, by the number of the request, from 0."""


def read_transcript(path: str, provider: str, rules: Rules, facts: Facts) -> Transcript:
    """Return the requests in a file, or those that its conversation needs under a provider's rules."""
    return parse_transcript(own_text(path), "standard input" if path == "-" else path, provider, rules, facts)


def parse_transcript(text: str, name: str, provider: str, rules: Rules, facts: Facts) -> Transcript:
    """Return the requests in a text."""
    try:
        data = parse_lines(text, name)
        try:
            return _transcript(name, data, provider, rules, facts)
        except (MessageError, ToolError) as error:
            raise type(error)(f"{name}: {error}") from None
    except RecursionError:
        raise MessageError(f"{name}: nested too deeply") from None


def _transcript(name: str, data: Any, provider: str, rules: Rules, facts: Facts) -> Transcript:
    answers: tuple[Recorded, ...] = ()
    if isinstance(data, Mapping) and "sha256" in data and "session" in data:
        prompt, messages = _session(data["session"])
        answers = _recorded_answers(data["session"])
    elif isinstance(data, Mapping) and "messages" in data and "body" not in data:
        prompt, messages = _conversation(data)
    elif isinstance(data, list) and data and all(_is_message(item) for item in data):
        prompt, messages = Prompt(()), data
    else:
        return _recorded(name, data)
    requests = rebuild(prompt, messages, provider, rules, facts)
    if not requests:
        raise MessageError("no request in it: no message that could be answered")
    sizes = {size: number for number, size in enumerate(ends_of(messages))}
    found = {sizes[answer.messages]: answer for answer in answers if answer.messages in sizes}
    return Transcript(name, tuple(requests), _times(found, len(requests)), True, found)


def _times(answers: Mapping[int, Recorded], requests: int) -> tuple[float, ...]:
    """Return when the requests of a session were started, if that was recorded of each, by one clock."""
    times = [answers[number].at for number in range(requests) if number in answers]
    told = tuple(time for time in times if time is not None and isfinite(time))
    return told if len(told) == requests and list(told) == sorted(told) else ()


def parse_lines(text: str, name: str) -> Any:
    """Return JSON, or the values of JSON Lines as a list."""
    try:
        return json.loads(text)
    except ValueError as error:
        first = error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    values = []
    for number, line in lines:
        try:
            values.append(json.loads(line))
        except ValueError as error:
            # One value over several lines fails where it is wrong; lines of values, at the first that is.
            wrong, number = (error, number) if values else (first, getattr(first, "lineno", 1))
            raise MessageError(f"{name}:{number}: not JSON: {getattr(wrong, 'msg', wrong)}") from None
    if not values:
        raise MessageError(f"{name}: no request in it: nothing but blank lines")
    return values


def _is_message(item: object) -> bool:
    return (
        isinstance(item, Mapping) and ("role" in item or "type" in item) and not any(key in item for key in _OF_BODIES)
    )


def _recorded(name: str, data: Any) -> Transcript:
    """Return requests as they were recorded, and when, if that is said."""
    if isinstance(data, Mapping) and "role" in data:
        raise MessageError(f"{_EXPECTED}, found one message: put it into a list")
    if not isinstance(data, Mapping | list):
        raise MessageError(f"{_EXPECTED}, found {json.dumps(data, ensure_ascii=False)[:40]}")
    items = data if isinstance(data, list) else [data]
    if not items:
        raise MessageError("no request in it: the list is empty")
    requests, times, answers = [], [], {}
    for number, item in enumerate(items, 1):
        try:
            body = item.get("body", item) if isinstance(item, Mapping) else item
            if _is_message(item) or not isinstance(body, Mapping):
                raise MessageError(f"{_EXPECTED}, found {'a message' if _is_message(item) else type(body).__name__}")
            requests.append(segments_of(body))
            times += [seconds_of(item["at"])] if item.get("at") is not None else []
            if (usage := _usage(item)) is not None:
                answers[number - 1] = usage
        except (MessageError, UsageError) as error:
            raise MessageError(f"request {number}: {error}") from None
    if times and len(times) < len(items):
        missing = next(number for number, item in enumerate(items, 1) if item.get("at") is None)
        raise MessageError(f'request {missing} has no "at", and others have; give it to all of them, or to none')
    return Transcript(name, tuple(requests), tuple(times), False, answers)


def _usage(item: Mapping[str, Any]) -> Usage | None:
    """Return what a record says beside its body that the answer cost, None where it says nothing."""
    told = next((item[name] for name in _ANSWERED if isinstance(item.get(name), Mapping)), None)
    return read_usage(told) if told is not None and "body" in item else None


def _session(state: Any) -> tuple[Prompt, list[Any]]:
    """Return the prompt and the messages of a saved session."""
    try:
        parts = [Part(name, _text(text), Pace(pace), origin) for name, text, pace, origin in state["parts"]]
        return Prompt(tuple(parts), tuple(state["tools"]), fixed_order=True), list(state["messages"])
    except (KeyError, TypeError, ValueError) as error:
        raise MessageError(f"not a saved session, or damaged: {error!r:.80}") from None


def _recorded_answers(state: Any) -> tuple[Recorded, ...]:
    """Return what a saved session has recorded of its answers."""
    try:
        return tuple(read_recorded(row) for row in state.get("recorded") or ())
    except (TypeError, ValueError, UsageError) as error:
        raise MessageError(f"not a saved session, or damaged: {error!r:.80}") from None


def _conversation(data: Mapping[str, Any]) -> tuple[Prompt, list[Any]]:
    """Return the system prompt with the tools, and the messages, of an object that has them."""
    messages, tools, system = data["messages"], data.get("tools") or [], data.get("system") or []
    for key, value in (("messages", messages), ("tools", tools)):
        if not isinstance(value, list):
            raise MessageError(f"{key} is a list, not {type(value).__name__}")
    try:
        texts = [system] if isinstance(system, str) else [_text(block["text"]) for block in system]
    except (KeyError, TypeError):
        raise MessageError("system is a text, or a list of blocks that have one") from None
    parts = tuple(Part(f"system[{number}]", text, Pace.PROJECT, "") for number, text in enumerate(texts))
    return Prompt(parts, tuple(tools)), messages


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of a text")
    return value
