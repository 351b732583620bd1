"""Make subjects for lint: from a text, a `Prompt`, the output of a command, a request, or several requests in order.

`read_request` turns a request into segments; the body is kept for the rules that look at its fields. Text after the
boundary of a system prompt is marked as changing. Messages are not: they are appended, and do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepprompt.checks.lint.findings import Subject
from deepprompt.checks.segments import read_request
from deepprompt.checks.static import mark_changing
from deepprompt.errors import MessageError
from deepprompt.providers.recognise import inner_body
from deepprompt.providers.segments import Segment
from deepprompt.text.parse import parse_json_lines, parse_time


def subject_of(value: object, name: str, *, at: float | None = None, is_file: bool = False) -> Subject:
    """Return a subject for anything that `read_request` takes: a text is a prompt, a list is a request's messages."""
    return Subject(name, tuple(mark_changing(read_request(value))), body_of(value), at=at, is_file=is_file)


def subject_of_files(name: str, texts: Iterable[tuple[str, str]]) -> Subject:
    """Return text files as one subject. Each is a path and its text, and is cut at its own boundary."""
    segments = [Segment(path, "system", "system", text, joins=True) for path, text in texts]
    return Subject(name, tuple(piece for segment in segments for piece in mark_changing([segment])), is_file=True)


def subjects_of_requests(recorded: Iterable[object] | str, name: str) -> Subject:
    """Return the newest of several recorded requests as a subject, with the earlier ones.

    Each is a body, or `{"body": BODY, "at": TIME}`; as a text they are a JSON list or JSON Lines.
    """
    subjects = []
    for number, item in enumerate(_values(recorded, name) if isinstance(recorded, str) else recorded, 1):
        try:
            if not isinstance(item, Mapping):
                raise MessageError(f"expected the body of a request, not {type(item).__name__}")
            # `at` is a time only beside a body; inside a body it would be a field of the request.
            at = item.get("at") if isinstance(item.get("body"), Mapping) else None
            subjects.append(subject_of(item, name, at=None if at is None else parse_time(at)))
        except MessageError as error:
            raise MessageError(f"{name}: request {number}: {error}") from None
    if not subjects:
        raise MessageError(f"{name}: no request in it")
    return replace(subjects[-1], earlier=tuple(subjects[:-1]))


def body_of(value: object) -> Mapping[str, Any] | None:
    """Return the body of the request in a value; None for a text, a prompt or a saved session."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {"messages": value}
    while isinstance(value, Mapping):
        if isinstance(value.get("session"), Mapping) and "sha256" in value:
            return None
        if isinstance(value.get("text"), str) and isinstance(value.get("parts"), list):
            return None
        inner = inner_body(value)
        if inner is None:
            return value
        value = inner
    return None


def _values(text: str, name: str) -> list[Any]:
    """Return the values of a JSON list, or of JSON Lines."""
    found = parse_json_lines(text, name)
    return found if isinstance(found, list) else [found]
