"""Where the static prefix of a prompt or a request ends, and what after it may change with the turn.

The parts of a `Prompt` say it themselves. In a request the prefix ends with the last mark, because a mark asks the
provider to keep all that stands before it; without marks it ends before the first message. In any text the boundary
ends it, ours or the user's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deepprompt.checks.segments import read_request
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.providers.segments import Segment


def prefix_end(segments: Sequence[Segment]) -> int:
    """Return how many segments a request asks to keep: up to its last mark, or else all before its first message."""
    marks = [number for number, segment in enumerate(segments) if segment.mark is not None]
    if marks:
        return marks[-1] + 1
    return next((n for n, segment in enumerate(segments) if segment.role not in ("", "system")), len(segments))


def split_static(value: object, boundary: str = DYNAMIC_CONTEXT_BOUNDARY) -> tuple[list[Segment], list[Segment]]:
    """Return the segments of the static prefix, settings among them, and those after it.

    `value` is whatever `read_request` takes.
    """
    segments = read_request(value)
    end = prefix_end(segments)
    end = next((number for number, segment in enumerate(segments[:end]) if segment.changing), end)
    # Tools are not cut: half of a JSON object means nothing.
    found = _cut(segments[:end], boundary, ("system", "text"))
    if found is None:
        return segments[:end], segments[end:]
    number, before, after = found
    return [*segments[:number], *before], [*after, *segments[number + 1 :]]


def mark_changing(segments: Sequence[Segment]) -> list[Segment]:
    """Return segments in which all that follows the boundary of a system prompt is marked as changing.

    The segment with the boundary is cut in two, without the boundary. The later piece keeps its line numbers: it begins
    with as many line ends as stood before it. Segments that are marked already stay as they are.
    """
    marked = any(segment.changing for segment in segments)
    found = None if marked else _cut(segments, DYNAMIC_CONTEXT_BOUNDARY, ("system",))
    if found is None:
        return list(segments)
    number, before, after = found
    if after:
        whole = segments[number].text
        lines = whole.count("\n", 0, len(whole) - len(after[0].text))
        after = [replace(after[0], text="\n" * lines + after[0].text)]
        before = [replace(piece, mark=None, ends_message=False) for piece in before]  # both are the later piece's
    rest = [replace(segment, changing=segment.kind == "system") for segment in segments[number + 1 :]]
    return [*segments[:number], *before, *after, *rest]


def _cut(
    segments: Sequence[Segment], boundary: str, kinds: tuple[str, ...]
) -> tuple[int, list[Segment], list[Segment]] | None:
    """Return the number of the first segment that has the boundary, and its pieces before and after, if not empty."""
    for number, segment in enumerate(segments):
        if boundary and segment.kind in kinds and boundary in segment.text:
            before, _, after = segment.text.partition(boundary)
            pieces = replace(segment, text=before), replace(segment, text=after, changing=True)
            return number, [pieces[0]] if before else [], [pieces[1]] if after else []
    return None
