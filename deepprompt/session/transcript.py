"""Transcripts: recorded requests, saved sessions, conversations and logs, read as requests with times and answers.

A conversation does not hold its requests. They are rebuilt from its messages, see `session.rebuild`.
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import Any

from deepprompt.checks.cache.simulate import Simulation, simulate
from deepprompt.checks.segments import read_request
from deepprompt.counters import size_of
from deepprompt.errors import AuditError, MessageError, ToolError, UsageError
from deepprompt.prompt import Pace, Part, Prompt, read_part
from deepprompt.providers.dialect import items
from deepprompt.providers.facts import Facts
from deepprompt.providers.recognise import MESSAGES, body_in, model_of
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.session.rebuild import ends_of, rebuild
from deepprompt.session.record import Recorded, read_recorded
from deepprompt.systems.audit import prompt_of, read_log
from deepprompt.text.parse import parse_time
from deepprompt.tokens import estimate_tokens

_GAP = 60.0
_EXPECTED = 'expected request bodies, a list of messages, {"messages": [...]} or a saved session'
_OF_BODIES = ("body", *MESSAGES)
_OF_REQUESTS = (*MESSAGES, "system", "tools", "prompt", "instructions", "systemInstruction", "toolConfig")
# The fields beside a body that may hold what its answer cost.
_ANSWERED = ("usage", "answer", "response")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was recorded of an answer: its usage, the verdict on it and the model; "" for what is unknown."""

    usage: Usage
    kind: str = ""
    detail: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a provider's cache would have done with a transcript."""

    name: str
    times: Sequence[float]
    result: Simulation
    assumed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The requests of a file, in order."""

    name: str
    requests: tuple[Sequence[Segment], ...]
    times: tuple[float, ...]
    """When each of them started, in seconds; empty if the file does not say."""
    rebuilt: bool
    """Whether the requests were rebuilt from the conversation."""
    answers: Mapping[int, Answer] = field(default_factory=dict)
    """What was recorded of the answers, by the number of the request, from 0."""
    labels: tuple[str, ...] = ()
    """What each request was for, if the file says so."""
    doubts: tuple[str, ...] = ()
    """The records of a log that were altered, moved or removed, or are not whole, each with its line."""

    def replay(
        self,
        rules: Rules,
        gap: float | None,
        count: Callable[[str], int] = estimate_tokens,
        cache_tokens: int | None = None,
    ) -> Replay:
        """Simulate the cache. `gap` is the number of seconds between requests if the file has no times."""
        times, assumed = self.times, []
        if not times:
            gap = _GAP if gap is None else gap
            times = tuple(number * gap for number in range(len(self.requests))) if gap else ()
            assumed.append(f"{gap:g} seconds from request to request (--gap)" if gap else "nothing expires (--gap 0)")
        if self.rebuilt:
            marks = ", with the marks that 'deepprompt build --to' puts" if rules.marks else ""
            assumed.append(f"a request is what stands before an answer{marks}")
        if not rules.known and has_price(rules):
            assumed.append(f"{rules.model}, which the facts do not know, has the careful rules for any model")
        try:
            result = simulate(self.requests, rules, times=times, count=count, cache_tokens=cache_tokens)
        except MessageError as error:
            raise MessageError(f"{self.name}: {error}") from None
        return Replay(self.name, times, result, (*assumed, *result.assumed))

    def measured(self, model: str) -> list[tuple[int, int]]:
        """Return the bytes and the input tokens of each answered request of a model, or of any model for ""."""
        sizes = []
        for number, answer in self.answers.items():
            request = [segment for segment in self.requests[number] if segment.kind != "setting"]
            pictured = any(segment.digest for segment in request)  # the size of an image in bytes says nothing
            if not pictured and (not model or answer.model in ("", model)):
                sizes.append((sum(size_of(segment.text) for segment in request), answer.usage.input))
        return sizes


def has_price(rules: Rules) -> bool:
    """Whether a cache read has a price of its own. An engine only saves itself the work."""
    return rules.caching != "automatic" or rules.read_price != 1.0


def read_transcript(data: Any, name: str, provider: str, rules: Rules, facts: Facts) -> Transcript:
    """Return the requests in parsed JSON, or those that a conversation in it needs under a provider's rules."""
    try:
        return _transcript(name, data, provider, rules, facts)
    except (MessageError, ToolError) as error:
        raise type(error)(f"{name}: {error}") from None
    except RecursionError:
        raise MessageError(f"{name}: nested too deeply") from None


def read_log_transcript(path: str, name: str) -> Transcript:
    """Return the prompts of a log as requests, in the order in which they were assembled."""
    requests, times, labels = [], [], []
    contents = read_log(path)
    for number, record in contents.records:
        try:
            requests.append(read_request(prompt_of(record)))
            times.append(datetime.fromisoformat(str(record.get("assembly_timestamp"))).timestamp())
        except (AuditError, MessageError, ValueError, OverflowError) as error:
            raise MessageError(f"{name}:{number}: {error}") from None
        labels.append(str(record.get("task_ref")))
    if not requests:
        raise MessageError(f"{name}: no whole record in it")
    doubts = sorted([*contents.altered, *((number, "not a whole record; skipped") for number in contents.damaged)])
    first = min(times)
    order = sorted(range(len(times)), key=times.__getitem__)  # several processes may have written it
    return Transcript(
        name,
        tuple(requests[at] for at in order),
        tuple(times[at] - first for at in order),
        rebuilt=False,
        labels=tuple(labels[at] for at in order),
        doubts=tuple(f"{name}:{number}: {reason}" for number, reason in doubts),
    )


def is_session(data: Any) -> bool:
    """Whether parsed JSON is a saved session."""
    return isinstance(data, Mapping) and "session" in data and "sha256" in data


def is_log(data: Any) -> bool:
    """Whether parsed JSON is a log of assembled prompts."""
    records = data if isinstance(data, list) else [data]
    return any(isinstance(record, Mapping) and "assembled_prompt_hash" in record for record in records)


def are_requests(data: Any) -> bool:
    """Whether parsed JSON is a list of recorded requests, and neither the messages of one nor another kind of log."""
    return (
        isinstance(data, list)
        and bool(data)
        and all(
            isinstance(item, Mapping) and "role" not in item and any(name in body_in(item) for name in _OF_REQUESTS)
            for item in data
        )
    )


def are_messages(data: Any) -> bool:
    """Whether parsed JSON is a list of messages, and not of a log's own records, which wrap them."""
    return isinstance(data, list) and all(_is_message(item) and not {"message", "payload"} & {*item} for item in data)


def sent_to(data: Any) -> tuple[str, str]:
    """Return the provider and the model of most requests in parsed JSON; "" for what they do not say."""
    if isinstance(data, Mapping) and isinstance(session := data.get("session"), Mapping):
        sent = [row for row in items(session.get("recorded")) or items(session.get("lines")) if isinstance(row, list)]
        named = Tally((str(row[0]), str(row[1])) for row in sent if len(row) > 1)
    else:
        records = data if isinstance(data, list) else [data]
        models = [model_of(record) for record in records if isinstance(record, Mapping)]
        named = Tally(("", model) for model in models if model)
    return named.most_common(1)[0][0] if named else ("", "")


def _transcript(name: str, data: Any, provider: str, rules: Rules, facts: Facts) -> Transcript:
    answers: tuple[Recorded, ...] = ()
    if is_session(data):
        prompt, messages, answers = _session(data["session"])
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
    found = {sizes[answer.messages]: answer for answer in answers if answer.messages in sizes and not answer.past}
    known = {number: Answer(one.usage, one.kind, one.detail, one.model) for number, one in found.items()}
    return Transcript(name, tuple(requests), _times(found, len(requests)), True, known)


def _times(answers: Mapping[int, Recorded], requests: int) -> tuple[float, ...]:
    """Return when the requests of a session started, if each of them has a time by the same clock."""
    times = [answers[number].at for number in range(requests) if number in answers]
    known = tuple(time for time in times if time is not None and isfinite(time))
    return known if len(known) == requests and list(known) == sorted(known) else ()


def _is_message(item: object) -> bool:
    return (
        isinstance(item, Mapping) and ("role" in item or "type" in item) and not any(key in item for key in _OF_BODIES)
    )


def _recorded(name: str, data: Any) -> Transcript:
    """Return requests as they were recorded, with their times if they have any."""
    if isinstance(data, Mapping) and "role" in data:
        raise MessageError(f"{_EXPECTED}, found one message: put it into a list")
    if not isinstance(data, Mapping | list):
        raise MessageError(f"{_EXPECTED}, found {json.dumps(data, ensure_ascii=False)[:40]}")
    records = data if isinstance(data, list) else [data]
    if not records:
        raise MessageError("no request in it: the list is empty")
    requests, times, answers = [], [], {}
    for number, item in enumerate(records, 1):
        try:
            body = item.get("body", item) if isinstance(item, Mapping) else item
            if _is_message(item) or not isinstance(body, Mapping):
                raise MessageError(f"{_EXPECTED}, found {'a message' if _is_message(item) else type(body).__name__}")
            requests.append(read_request(body_in(item)))
            times += [parse_time(item["at"])] if item.get("at") is not None else []
            if (usage := _usage(item)) is not None:
                answers[number - 1] = Answer(usage, model=model_of(requests[-1]))
        except (MessageError, UsageError) as error:
            raise MessageError(f"request {number}: {error}") from None
    if times and len(times) < len(records):
        missing = next(number for number, item in enumerate(records, 1) if item.get("at") is None)
        raise MessageError(f'request {missing} has no "at", and others have; give it to all of them, or to none')
    return Transcript(name, tuple(requests), tuple(times), False, answers)


def _usage(item: Mapping[str, Any]) -> Usage | None:
    """Return the usage that a record has beside its body, None if there is none."""
    found = next((item[name] for name in _ANSWERED if isinstance(item.get(name), Mapping)), None)
    return read_usage(found) if found is not None and "body" in item else None


def _session(state: Any) -> tuple[Prompt, list[Any], tuple[Recorded, ...]]:
    """Return the prompt, the messages and the recorded answers of a saved session."""
    try:
        prompt = Prompt(tuple(map(read_part, state["parts"])), tuple(state["tools"]), fixed_order=True)
        return prompt, list(state["messages"]), tuple(map(read_recorded, state.get("recorded") or ()))
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise MessageError(f"not a saved session, or damaged: {error!r:.80}") from None


def _conversation(data: Mapping[str, Any]) -> tuple[Prompt, list[Any]]:
    """Return the system prompt with the tools, and the messages, of an object that has them."""
    messages, tools, system = data["messages"], data.get("tools") or [], data.get("system") or []
    for key, value in (("messages", messages), ("tools", tools)):
        if not isinstance(value, list):
            raise MessageError(f"{key} is a list, not {type(value).__name__}")
    blocks = system if isinstance(system, list) else [{"text": system}]
    texts = [_text_of(block) for block in blocks]
    parts = tuple(Part(f"system[{number}]", text, Pace.PROJECT, "") for number, text in enumerate(texts))
    return Prompt(parts, tuple(tools)), messages


def _text_of(block: object) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    if not isinstance(text, str):
        raise MessageError("system is a text, or a list of blocks that have one")
    return text
