"""Where the static prefix of a prompt or a request ends: the one notion of slow text for lint, lock and perturb.

The parts of a `Prompt` say it themselves. In a request, tools and system prompt are slow; a mark among them ends the
prefix, unless messages are marked too. Messages are not slow: they are sent once, and stay as they were sent. Only the
beginning of the first user turn is, if a mark inside that turn asks to keep it. In any text the boundary ends the
prefix, ours or the user's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deepprompt.checks.segments import read_request
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.providers.segments import Segment


def prefix_end(segments: Sequence[Segment]) -> int:
    """Return how many segments of a request are slow: its tools, its system prompt, and a marked opening of the talk.

    A mark at the end of the newest turn moves on with every request, so it makes no message slow.
    """
    spoken = [number for number, segment in enumerate(segments) if segment.role not in ("", "system")]
    first = spoken[0] if spoken else len(segments)
    opening = next((n for n in spoken if segments[n].role == "assistant"), len(segments))
    marks = [number for number, segment in enumerate(segments) if segment.mark is not None]
    inside = [number for number in marks if first <= number < opening - 1]
    if inside:
        return inside[-1] + 1
    # With a mark behind it, the whole system prompt is cached, whatever is marked within.
    return marks[-1] + 1 if marks and marks[-1] < first else first


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
