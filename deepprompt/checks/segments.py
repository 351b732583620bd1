"""Read anything that stands for a prompt or a request into segments: our own values and files, or a provider's body.

The segments are in the order in which a cache reads them: tools, system prompt, messages. Bodies are read in
`deepprompt.providers.reading`; here are `Prompt`, plain texts, saved sessions and the output of `build --json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.prompt import BOUNDARY_PART, Pace, Prompt, read_part
from deepprompt.providers.dialect import items
from deepprompt.providers.reading import read_body, read_messages, read_tools
from deepprompt.providers.recognise import MESSAGES, inner_body, with_model
from deepprompt.providers.segments import Segment

# The names of the paces in the output of `build --json`.
_PACES = {pace.name.lower(): pace for pace in Pace}


def read_request(value: object) -> list[Segment]:
    """Return the segments of a prompt or a request.

    Pass a `Request`, the body of any provider, a list of messages, a `Prompt`, the text of a prompt, a saved session,
    or the output of `deepprompt build --json`, with or without `--to`. Raises `MessageError` for anything else.
    """
    try:
        return _read(value)
    except RecursionError:
        raise MessageError("a request that is nested too deeply to be read") from None


def as_segments(request: object) -> list[Segment]:
    """Return a list of segments as it is, and read anything else with `read_request`."""
    if isinstance(request, Sequence) and not isinstance(request, str | bytes) and len(request) > 0:
        segments = [item for item in request if isinstance(item, Segment)]
        if len(segments) == len(request):
            return segments
    return read_request(request)


def _read(value: object) -> list[Segment]:
    if isinstance(value, Prompt):
        static = len(value.static_parts)
        rows = [(p.name, p.text, p.origin, number >= static, p.pace) for number, p in enumerate(value.parts)]
        return read_tools({"tools": value.tools}) + _parts(rows) + read_messages(value.messages, "messages")
    if isinstance(value, str):
        return [_bare(value)]
    if isinstance(value, Mapping):
        return _read_object(value)
    if isinstance(body := getattr(value, "body", None), Mapping):  # a Request
        return _read_object(body)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        if value and all(isinstance(item, Mapping) and _is_recorded(item) for item in value):
            raise MessageError(
                "a list of requests, not one: give one of them, or what takes them all: cache, lint, inspect"
            )
        return read_messages(value, "messages")
    raise MessageError(f"not a request: {type(value).__name__}; expected a body, a list of messages or a text")


def _is_recorded(item: Mapping[str, Any]) -> bool:
    """Whether an object in a list is a whole request, not a message."""
    return "role" not in item and any(isinstance(item.get(key), list | Mapping) for key in (*MESSAGES, "body"))


def _read_object(value: Mapping[str, Any]) -> list[Segment]:
    if isinstance(session := value.get("session"), Mapping) and "sha256" in value:
        rows = [_row(row, number) for number, row in enumerate(items(session.get("parts")))]
        return read_tools(session) + _parts(rows) + read_messages(session.get("messages") or (), "messages")
    if isinstance(text := value.get("text"), str) and isinstance(value.get("parts"), list):
        return read_tools(value) + _cut(text, value["parts"])
    body = inner_body(value)
    return read_body(value) if body is None else _read_object(with_model(body, value))


# The name of a part, its text, its origin, whether it changes with the turn, and its pace.
_Row = tuple[str, str, str, bool, Pace | None]


def _piece(place: str, text: str, origin: str = "", changing: bool = False, pace: Pace | None = None) -> Segment:
    return Segment(place, "system", "system", text, origin=origin, joins=True, changing=changing, pace=pace)


def _bare(text: str) -> Segment:
    return replace(_piece("text", text), bare=True)


def _parts(rows: Iterable[_Row]) -> list[Segment]:
    """Return the parts of a prompt."""
    pieces = [_piece(*row) for row in rows]
    if pieces:
        pieces[-1] = replace(pieces[-1], ends_message=True)
    return pieces


def _row(row: object, number: int) -> _Row:
    """Return a part of a saved session."""
    try:
        part = read_part(row)
    except ValueError as error:
        raise MessageError(f"session.parts[{number}]: {error}") from None
    return part.name, part.text, part.origin, part.pace is Pace.TURN, part.pace


def _cut(text: str, parts: Sequence[Any]) -> list[Segment]:
    """Return a text cut into parts by their sizes, or uncut if the sizes do not fit the text."""
    data = text.encode("utf-8", "surrogatepass")
    rows: list[_Row] = []
    start, behind = 0, False
    for part in parts:
        size = part.get("bytes") if isinstance(part, Mapping) else None
        if not isinstance(size, int) or size < 0:
            return [_bare(text)]
        behind = behind or part.get("name") == BOUNDARY_PART or part.get("pace") == Pace.TURN.name.lower()
        try:
            piece = data[start : start + size].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return [_bare(text)]
        pace = _PACES.get(str(part.get("pace")))
        rows.append((str(part.get("name", "")), piece, str(part.get("origin", "")), behind, pace))
        start += size
    return _parts(rows) if rows and start == len(data) else [_bare(text)]
