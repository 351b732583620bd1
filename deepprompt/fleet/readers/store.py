"""Our own store, and any JSON Lines of request bodies, each alone or beside its time and its answer.

`{"v":1,"at":...,"body":{...}}` is what `deepprompt record` writes. Any line with a body, as an object or as text, under
`body` or `request`, or that is a body itself, is read the same way. Complete enough for everything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from deepprompt.fleet.readers.shared import text_of, time_of, usage_of
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import Line
from deepprompt.providers.recognise import MESSAGES, MODELS

NAME = "recorded requests"
COMPLETE = "blame"

_BODIES = ("body", "request", "request_body")
_ANSWERS = ("usage", "answer", "response", "response_body")
_TIMES = ("at", "time", "timestamp", "start_time", "created_at")
# Our own lines begin with their version and end with the body, so that can be cut out without parsing it.
_OURS = '{"v":1,'
_HEAD = re.compile(r'\s*\{(?P<head>.*?),?\s*"body"\s*:\s*(?=\{)', re.DOTALL)
_DECODE = json.JSONDecoder().raw_decode
_PROMPTS = ("prompt", "system", "instructions", "systemInstruction", "tools")


def sniff(value: Mapping[str, Any]) -> bool:
    """Whether a value is a request, or has one in it."""
    return _is_body(value) or any(_body_of(value, name) is not None for name in _BODIES) or "lost" in value


def read(lines: Iterable[Line]) -> Iterator[Record | Unread]:
    """Yield a record for each line."""
    for line in lines:
        yield _cut(line) or _any(line)


def _cut(line: Line) -> Record | None:
    """Return a line with a body as an object, cut out as it is written; None for any other line."""
    text = line.text.rstrip()
    if (found := _HEAD.match(text)) is None:
        return None
    start = found.end()
    try:
        head = json.loads("{" + found["head"] + "}")
        if text.startswith(_OURS) and text.endswith("}}"):
            return _record(line.where, head, None, text[start:-1])
        body, end = _DECODE(text, start)
        head |= json.loads("{" + text[end:].lstrip().removeprefix(","))
    except (ValueError, RecursionError):  # damaged, or the word "body" was inside a text
        return None
    return _record(line.where, head, body, text[start:end]) if _body_of({"body": body}, "body") is not None else None


def _any(line: Line) -> Record | Unread:
    value = line.value
    if not isinstance(value, Mapping):
        return Unread(line.where, "not a whole JSON object")
    if isinstance(lost := value.get("lost"), int):
        return Unread(line.where, f"{lost} requests that the recorder could not keep")
    if _is_body(value):
        return _record(line.where, {name: value[name] for name in _TIMES if name in value}, value, "")
    for name in _BODIES:
        if (body := _body_of(value, name)) is not None:
            if isinstance(body, str):
                return _record(line.where, value, None, body)
            return _record(line.where, value, body, "")
    if isinstance(value.get("size"), int) and "sha256" in value:
        return Unread(line.where, "a body too large to be kept")
    return Unread(line.where, "no request in it")


def _is_body(value: Mapping[str, Any]) -> bool:
    return any(isinstance(value.get(key), list) for key in MESSAGES) and "type" not in value and "sha256" not in value


def _body_of(value: Mapping[str, Any], name: str) -> Mapping[str, Any] | str | None:
    """Return the body under a name: an object, or the text of one."""
    body = value.get(name)
    if isinstance(body, str) and body.lstrip().startswith("{"):
        return body
    known = isinstance(body, Mapping) and any(key in body for key in (*MESSAGES, *_PROMPTS))
    return body if known else None


def _record(where: str, head: Mapping[str, Any], body: Mapping[str, Any] | None, raw: str) -> Record:
    found = next((head[name] for name in _ANSWERS if isinstance(head.get(name), Mapping)), None)
    model = next((text_of(head[name]) for name in MODELS if name in head), "")
    agent = text_of(head.get("agent"))
    return Record(
        where,
        next((time for name in _TIMES if (time := time_of(head.get(name))) is not None), None),
        body,
        raw,
        usage_of(found),
        session=text_of(head.get("session")) or text_of(head.get("session_id")),
        agent=agent,
        version=text_of(head.get("version")),
        provider=text_of(head.get("provider")),
        model=model,
        prompt=text_of(head.get("prompt")),
        path=text_of(head.get("path")),
        status=head["status"] if isinstance(head.get("status"), int) else None,
        end=text_of(head.get("end")),
        ms=head["ms"] if isinstance(head.get("ms"), int) else None,
        retry=head["retry"] if isinstance(head.get("retry"), int) else 0,
        said=text_of(head.get("said")),
    )
