"""Which text of a subject is slow, and what of it its author tells: not what is only shown, as code and examples are.

Every form of a text has its characters in the same places, with blanks for what is left out, so that what is found in
one is found in all. Time is in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deepprompt.checks.findings import Subject
from deepprompt.checks.rules.forged import REAL_BOUNDARY, plain
from deepprompt.checks.rules.secret import keys
from deepprompt.checks.segments import Segment

_FENCE = re.compile(r"[ \t>]{0,12}+(?:[-*+]|\d{1,3}[.)])?[ \t]{0,4}+(`{3,}+|~{3,}+)[ \t]*+([^\s`{]*+)[^`]*+")
_WITHOUT_LANGUAGE = ("", "text", "txt", "plain", "plaintext", "env")
_FRONT = re.compile(r"---\n(?:[^\n]{0,1000}+\n){0,60}?---(?:\n|$)")
_EXAMPLES = re.compile(r"<(/?)(?:[\w-]{0,20}[_-])?examples?(?=[\s>])", re.IGNORECASE)
_INLINE = re.compile(r"(?<!`)(`{1,2}+)(?!`)([^`\n]{1,300}+)\1(?!`)")
_LOG = re.compile(r"^[ \t>]{0,12}\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\n]*+", re.MULTILINE)
_OWN_LABEL = re.compile(r"[A-Za-z][\w-]{1,60}+['\"]?[ \t]{0,4}[:=]")
_INDENTED = re.compile(r"^(?: {4}|\t)[^\n]*+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SlowText:
    """The text of a segment that should not change, in the same places: what its author told, and that without code."""

    segment: Segment
    text: str
    """As it was sent, up to the boundary."""
    told: str
    """Without keys, examples, and code that has a language or a label of its own."""
    prose: str
    """Without any code, indented block or front matter either."""


def slow_segments(subject: Subject) -> list[Segment]:
    """Return the segments that should not change, as `checks.static` has it; settings are no text."""
    segments = [segment for segment in subject.segments if segment.kind != "setting"]
    marks = [number for number, segment in enumerate(segments) if segment.mark is not None]
    end = marks[-1] + 1 if marks else 0
    return [
        segment
        for number, segment in enumerate(segments)
        if not segment.changing and (number < end or (not marks and segment.role in ("", "system")))
    ]


def slow_texts(subject: Subject) -> Iterator[SlowText]:
    """Yield the slow texts of a subject; the boundary ends them."""
    for segment in slow_segments(subject):
        text = plain(segment)
        boundary = REAL_BOUNDARY.search(text)
        text = text[: boundary.start()] if boundary else text
        text = without_keys(text)
        told = _blank(text, [*_fenced(text, languages=True), *_examples(text)])
        shown = [found.span() for found in _INLINE.finditer(told) if _OWN_LABEL.search(found[2])]
        shown += [found.span() for block in _fenced(told) for found in _LOG.finditer(told, *block)]
        told = _blank(told, shown)
        prose = without_code(told)
        prose = _blank(prose, [found.span() for pattern in (_INLINE, _INDENTED) for found in pattern.finditer(prose)])
        yield SlowText(segment, text, told, prose)
        if boundary:
            return


def without_keys(text: str) -> str:
    """Return a text with blanks in place of its keys, so that no message quotes one."""
    return _blank(text, [(key.start, key.end) for key in keys(text)])


def without_code(text: str) -> str:
    """Return a text with blanks in place of its front matter and its blocks of code."""
    front = _FRONT.match(text)
    return _blank(text, [*_fenced(text), *([front.span()] if front else [])])


def _fenced(text: str, *, languages: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where blocks of code are; with `languages` only those that name theirs."""
    start, opened, named = 0, "", False
    place = 0
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if fence and not opened:
            start, opened, named = place, fence[1], fence[2].lower() not in _WITHOUT_LANGUAGE
        elif fence and fence[1].startswith(opened) and not fence[2]:
            if named or not languages:
                yield start, place + len(line)
            opened = ""
        place += len(line) + 1
    if opened and (named or not languages):
        yield start, len(text)


def _examples(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between the tags of examples."""
    start, depth = 0, 0
    for tag in _EXAMPLES.finditer(text):
        if not tag[1]:
            start, depth = (tag.start(), 1) if depth == 0 else (start, depth + 1)
        elif depth:
            depth -= 1
            if depth == 0:
                yield start, tag.end()


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with blanks in some places, in which every other character keeps its own."""
    pieces, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            start = max(start, done)
            pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text
