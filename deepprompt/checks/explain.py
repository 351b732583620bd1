"""Explain a prompt or a request: its parts in order, each with its size, and sizes that add up.

A row is one part, block or tool with its separators, so the bytes of the rows add up to the whole. The tokens of a row
are how much it adds to the count of everything before it, so they add up too, even if a token spans two parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

from deepprompt.checks.places import CATALOGUED, file_headers, tagged_files
from deepprompt.checks.segments import as_segments
from deepprompt.counters import ESTIMATE, Counter, size_of
from deepprompt.prompt import (
    BOUNDARY_PART,
    CONTEXT_HEADINGS,
    DYNAMIC_CONTEXT_BOUNDARY,
    INSTRUCTIONS_HEADING,
    SKILLS_HEADING,
    Note,
    Pace,
    notes_of,
)
from deepprompt.providers.segments import Segment

_BUNDLED = "deepprompt"


@dataclass(frozen=True, slots=True)
class Row:
    """One part, block or tool of a prompt or a request."""

    name: str
    """The part's name, or its place in the request."""
    kind: str
    role: str
    pace: Pace | None
    """None if it is unknown."""
    origin: str
    version: str
    """Such as `base@1.0.0`; "" for a part without a version."""
    own: bool
    """Whether a catalogue part is the user's own: an override or another wording."""
    start: int
    """Where it begins, in bytes."""
    bytes: int
    tokens: int
    share: float
    """Its share of all tokens, from 0 to 1."""
    sha256: str
    mark: str | None
    """The lifetime of the cache mark at its end, "" for the default one; None without a mark."""
    changing: bool
    """Whether it is the boundary, comes after it, or is known to change with the turn."""
    text: str = field(repr=False)

    @property
    def is_boundary(self) -> bool:
        """Whether it is the boundary itself."""
        return self.name == BOUNDARY_PART and self.kind == "system"


@dataclass(frozen=True)
class Explanation:
    """A prompt or a request, part by part. The bytes and tokens of the rows add up to the whole exactly."""

    rows: tuple[Row, ...]
    settings: tuple[tuple[str, str], ...]
    """The settings of a request that its cache depends on, such as the model."""
    basis: str
    """How the tokens were counted."""
    exact: bool
    notes: tuple[Note, ...] = ()
    """Anything that was changed, refused, truncated or skipped when the prompt was built, if known."""

    @cached_property
    def bytes(self) -> int:
        """All bytes."""
        return sum(row.bytes for row in self.rows)

    @cached_property
    def tokens(self) -> int:
        """All tokens."""
        return sum(row.tokens for row in self.rows)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all the texts joined, in hex."""
        return _digest("".join([row.text for row in self.rows]))

    @cached_property
    def static(self) -> int:
        """The number of rows before the first that changes with the turn."""
        return next((number for number, row in enumerate(self.rows) if row.changing), len(self.rows))

    def up_to(self, row: int) -> tuple[int, int]:
        """Return the number of bytes and of tokens before a row."""
        before = self.rows[:row]
        return sum(one.bytes for one in before), sum(one.tokens for one in before)


def explain(request: object, counter: Counter = ESTIMATE) -> Explanation:
    """Return the parts of a prompt or a request. Pass anything that `read_request` takes, or segments.

    Raises `MessageError` for a value that is neither.
    """
    given = as_segments(request)
    settings = tuple((segment.place, segment.text) for segment in given if segment.kind == "setting")
    segments = [segment for segment in given if segment.kind != "setting"]
    if len(segments) == 1 and segments[0].bare:
        segments = list(_by_layout(segments[0]))
    texts = [segment.text for segment in segments]
    joined = [False, *(before.joins and segment.joins for before, segment in pairwise(segments))]
    ends = counter.ends(texts, joined[: len(texts)])
    total = ends[-1] if ends else 0
    rows, start, before = [], 0, 0
    for segment, end in zip(segments, ends, strict=True):
        size, tokens = size_of(segment.text), end - before
        rows.append(_row(segment, start, size, tokens, tokens / total if total else 0.0))
        start, before = start + size, end
    return Explanation(tuple(rows), settings, counter.basis, counter.exact, read_notes(request))


def read_notes(request: object) -> tuple[Note, ...]:
    """Return the notes of a prompt or a request: those that it carries, or those that `build --json` printed."""
    if not isinstance(request, Mapping):
        return notes_of(request)
    rows = request.get("notes")
    found = []
    for row in rows if isinstance(rows, list) else ():
        fields = [row.get(name) for name in ("kind", "source", "detail", "offset", "count")] if _is_note(row) else []
        found += [Note(*fields)] if fields else []
    return tuple(found)


def _is_note(row: object) -> bool:
    """Whether a value of a report is a note."""
    if not isinstance(row, Mapping) or not all(isinstance(row.get(name), str) for name in ("kind", "source", "detail")):
        return False
    return isinstance(row.get("offset"), int | None) and isinstance(row.get("count"), int)


def _row(segment: Segment, start: int, size: int, tokens: int, share: float) -> Row:
    match = CATALOGUED.fullmatch(segment.origin)
    return Row(
        name=segment.place,
        kind=segment.kind,
        role=segment.role,
        pace=segment.pace,
        origin=segment.origin,
        version=f"{match['family']}@{match['version']}" if match else "",
        own=match is not None and match["whose"] != _BUNDLED,
        start=start,
        bytes=size,
        tokens=tokens,
        share=share,
        sha256=_digest(segment.text),
        mark=segment.mark,
        changing=segment.changing,
        text=segment.text,
    )


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _by_layout(whole: Segment) -> Iterator[Segment]:
    """Yield a plain text cut into the sections of a bundled preset's layout, or uncut if it has none."""
    text = whole.text
    cuts: dict[int, tuple[str, str, Pace | None, bool]] = {0: (whole.place, "", None, False)}
    boundary = text.find(DYNAMIC_CONTEXT_BOUNDARY)
    prefix = text if boundary < 0 else text[:boundary]
    heading = prefix.find(INSTRUCTIONS_HEADING)
    skills = prefix.rfind(SKILLS_HEADING, max(heading, 0))
    if heading >= 0:
        cuts[heading] = ("instructions", "", Pace.PROJECT, False)
        for place, path in file_headers(prefix, heading, len(prefix) if skills < 0 else skills):
            cuts[place] = (f"instructions {path}", f"file:{path}", Pace.PROJECT, False)
    for place, end, path in tagged_files(prefix):
        cuts[place] = (f"instructions {path}", f"file:{path}", Pace.PROJECT, False)
        cuts.setdefault(end, (whole.place, "", None, False))
    if skills >= 0:
        cuts[skills] = ("skills", "", Pace.PROJECT, False)
    if boundary >= 0:
        cuts[boundary] = (BOUNDARY_PART, "", Pace.TURN, True)
        end = boundary + len(DYNAMIC_CONTEXT_BOUNDARY)
        for name, section in CONTEXT_HEADINGS.items():
            # The boundary ends with the newline that the first heading begins with.
            if (place := text.find(section, end - 1)) >= 0:
                cuts[max(place, end)] = (name, "", Pace.TURN, True)
    places = sorted(cuts)
    for place, end in zip(places, [*places[1:], len(text)], strict=True):
        if place < end or len(places) == 1:
            name, origin, pace, changing = cuts[place]
            piece = replace(whole, place=name, text=text[place:end], origin=origin, changing=changing, pace=pace)
            yield replace(piece, bare=False)
