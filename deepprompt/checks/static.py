"""Which segments of a prompt or a request are its static prefix, and which may change with the turn.

A `Prompt` says it itself. In a request it is all up to the last mark, because that is what it asks a provider to keep;
without marks it is the tools and the system prompt. In any text the boundary ends it, ours or the user's own.
"""

from __future__ import annotations

from dataclasses import replace

from deepprompt.checks.places import BOUNDARY
from deepprompt.checks.segments import read_request
from deepprompt.providers.segments import Segment

_TEXTS = ("system", "text")


def split_static(value: object, boundary: str = BOUNDARY) -> tuple[list[Segment], list[Segment]]:
    """Return the segments of the static prefix, settings among them, and those after it.

    `value` is whatever `read_request` takes.
    """
    segments = read_request(value)
    marks = [number for number, segment in enumerate(segments) if segment.mark is not None]
    if marks:
        end = marks[-1] + 1
    else:  # nothing says how far it goes: the first message does, which is the first that somebody says
        end = next((n for n, segment in enumerate(segments) if segment.role not in ("", "system")), len(segments))
    end = next((number for number, segment in enumerate(segments[:end]) if segment.changing), end)
    for number, segment in enumerate(segments[:end]):
        if segment.kind not in _TEXTS:  # a tool is JSON, and half of it is nothing
            continue
        before, found, after = segment.text.partition(boundary) if boundary else (segment.text, "", "")
        if found:
            static = segments[:number] + ([replace(segment, text=before)] if before else [])
            rest = [replace(segment, text=after, changing=True)] if after else []
            return static, rest + segments[number + 1 :]
    return segments[:end], segments[end:]
