"""Find out where a piece of a request comes from: a file and its line, a section, a message or a tool.

A part of a prompt knows its origin. In a plain text, files and sections are found by the layouts of bundled presets:
the builder's, which puts a file below its path in brackets, and that of `slots`, which puts it into a tag. A file that
imitates a layout can mislead about the place, but about nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepprompt.prompt import CONTEXT_HEADINGS, DYNAMIC_CONTEXT_BOUNDARY, INSTRUCTIONS_HEADING, SKILLS_HEADING, file_of
from deepprompt.providers.segments import Segment

CATALOGUED = re.compile(r"(?!file:)(?P<whose>.+):(?P<family>[^/:]+)/(?P<version>\d[^/:]*)/.+\.md")
"""The origin of a catalogue part: whose it is, its family, its version and its file. Other files do not match."""

_NOTIFICATION = "<context>\n"
_TAGGED = re.compile(r"<instructions>\nFile: (.*)\n\n")
_TAG_END = "\n</instructions>"
_FILE_NAMES = (".md", ".mdc", ".rst", ".txt")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands, and what it belongs to."""

    place: str
    """The block of the request, or the part of the prompt."""
    source: str
    line: int
    """The line in the source, from 1; 0 for all of it, or if it has no lines."""
    block: str
    changing: bool = False
    value: str = ""
    """The path of one value in it, if the block is JSON and one value is meant."""


def whole(segment: Segment) -> Place:
    """Return the place of a whole segment."""
    return Place(segment.place, segment.origin or _owner(segment), 0, segment.kind, segment.changing)


def of_value(segment: Segment, path: str, line: int) -> Place:
    """Return the place of one value in a segment that is JSON."""
    source = f"{_owner(segment)}: {path}" if path else _owner(segment)
    return Place(segment.place, source, line if path else 0, segment.kind, value=path)


def of_text(segments: Sequence[Segment], number: int, at: int) -> Place:
    """Return the place of a character in the text of a segment, given all segments of the prompt up to it."""
    segment = segments[number]
    if segment.origin:
        line = _line_of_part(segments, number, at)
        return Place(segment.place, segment.origin, line, segment.kind, segment.changing)
    if segment.kind == "tool_result":  # its first line is the header
        return Place(segment.place, _owner(segment), segment.text.count("\n", 0, at), segment.kind)
    source, start, changing = _section(segment.text, at)
    line = segment.text.count("\n", start, at) + 1 if at >= start else 0
    return Place(segment.place, source or _owner(segment), line, segment.kind, changing or segment.changing)


def _owner(segment: Segment) -> str:
    """Return the name of the message, tool or field that a segment belongs to."""
    if segment.kind == "tool":
        return f"tool {segment.tool}"
    return segment.owner or segment.place


def _line_of_part(segments: Sequence[Segment], number: int, at: int) -> int:
    """Return the line in the file, asset or argument that a part was made from; 0 in text that was put around it."""
    segment = segments[number]
    text, start = segment.text, 0
    lead = len(text) - len(text.lstrip("\n"))  # what separates it from the part before
    header = f"[{file_of(segment.origin) or segment.origin}]\n"
    tagged = _TAGGED.match(text, lead)
    if lead and text.startswith(header, lead):
        start = lead + len(header)
    elif tagged and tagged[1] == file_of(segment.origin):
        start = tagged.end()
    elif file_of(segment.origin) and segment.place != "append":
        # A template's own text is cut into pieces by its includes.
        pieces = [piece.text for piece in segments[:number] if piece.origin == segment.origin]
        return sum(piece.count("\n") for piece in pieces) + text.count("\n", 0, at) + 1
    elif number:
        start = min(lead, 2)
    if text[start : start + len(segment.place) + 3].lower() == f"<{segment.place}>\n":
        start += len(segment.place) + 3
    return text.count("\n", start, at) + 1 if at >= start else 0


def _section(text: str, at: int) -> tuple[str, int, bool]:
    """Return the file or section at a position, where it begins, and whether it changes with the turn."""
    begin = text.rfind(DYNAMIC_CONTEXT_BOUNDARY, 0, at)
    if begin >= 0 or text.startswith(_NOTIFICATION):
        headings = CONTEXT_HEADINGS.items()
        found, name = max((text.rfind(heading, max(begin, 0), at + 1), name) for name, heading in headings)
        return (name, found + 1, True) if found >= 0 else ("", 0, True)
    if (tagged := _tagged_file(text, at)) is not None:
        return f"file:{tagged[1]}", tagged.end(), False
    begin = text.find(INSTRUCTIONS_HEADING, 0, at)
    skills = text.rfind(SKILLS_HEADING, max(begin, 0), at)
    if skills >= 0:
        return "skills", skills + 2, False
    return _file(text, begin, at) if begin >= 0 else ("", 0, False)


def _tagged_file(text: str, at: int) -> re.Match[str] | None:
    """Return the start of the instruction file in whose tag a position is, None if it is in none."""
    begin = text.rfind("<instructions>\nFile: ", 0, at + 1)
    end = text.find(_TAG_END, begin)
    return _TAGGED.match(text, begin) if begin >= 0 and (end < 0 or at < end + len(_TAG_END)) else None


def _file(text: str, begin: int, at: int) -> tuple[str, int, bool]:
    """Return the instruction file at a position in the section of instruction files."""
    end = at + 1
    while (found := text.rfind("\n\n[", begin, end)) >= 0:
        if path := _path(text, found + 1):
            return f"file:{path}", found + len(path) + 5, False
        end = found + 2
    return "instructions", begin + 2, False


def tagged_files(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the path of each instruction file that stands in a tag."""
    for match in _TAGGED.finditer(text):
        end = text.find(_TAG_END, match.end() - 1)
        if end >= 0:
            yield match.start(), end + len(_TAG_END), match[1]


def file_headers(text: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the start and the path of each instruction file in a section."""
    found = text.find("\n\n[", begin, end)
    while found >= 0:
        if path := _path(text, found + 1):
            yield found + 1, path
        found = text.find("\n\n[", found + 1, end)


def _path(text: str, start: int) -> str:
    """Return the path in the header of an instruction file that starts here, "" if it is not one."""
    path, bracket, _ = text[start + 2 : text.find("\n", start + 2)].rpartition("]")
    return path if bracket and ("/" in path or "\\" in path or path.lower().endswith(_FILE_NAMES)) else ""
