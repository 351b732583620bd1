"""DP3: what a reader cannot see, or what a model could take for the structure around the text.

What is hidden and what forges structure is `sources.text`'s to say, by which the builder acts as well. Here is only
what of that no prompt is worse for: the types and the placeholders of ordinary documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepprompt.checks.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.places import BOUNDARY
from deepprompt.checks.rules.secret import Lines
from deepprompt.checks.segments import Segment
from deepprompt.prompt import Note
from deepprompt.sources.instructions import WHITELIST
from deepprompt.sources.text import escape_boundary, escape_roles, reveal

RULES = (
    Rule(
        "DP301",
        "hidden-character",
        "The text has characters that no reader sees and the model reads.",
        "Delete them, or load the text through the builder, which makes them visible.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP302",
        "bidirectional-control",
        "The text has characters that make it look to a reader like another one.",
        "Delete them; a text that is written from right to left needs none.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP303",
        "forged-boundary",
        "The text has what could be taken for the boundary before the part of the prompt that changes.",
        "Write it in another way, or load the text through the builder, which puts a backslash before it.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP304",
        "forged-speaker",
        "The text has what a model could take for the end of a turn or for another speaker.",
        "Write it in another way, or load the text through the builder, which escapes it.",
        error=True,
        excusable=False,
    ),
)

_DIRECTIONS = {f"U+{code:04X}" for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_MOST_NAMED = 3

_ESCAPE = re.compile(r'\\(?:u00([01][0-9a-fA-F])|([nrt"/]))')
_ESCAPED = {"n": " \n", "r": " \r", "t": " \t", '"': ' "', "/": " /"}

_LINE = BOUNDARY.strip("\n")
REAL_BOUNDARY = re.compile(rf"(?:^|(?<=\n)){re.escape(_LINE)}(?= ?\n|$)")
"""The boundary as the builder writes it, on a line of its own."""

# A type between brackets after the name of another, as `List<User>`; a component, as `<Tool label="Undo" />`; and a
# placeholder in a path or an address, as `<user>@<host>`. All are spelled as no template spells a speaker, and none is
# believed where the text also closes such a tag.
_SPEAKER = r"(?:System|Developer|Assistant|User|Tool|Function|Human)"
_TYPE = re.compile(rf"(?<=\w)<(?={_SPEAKER}(?:\[\]|[?,|<>& ]))")
_COMPONENT = re.compile(rf"<(?={_SPEAKER}(?: [^<>/\n]{{0,200}}+)?/>)")
_PLACEHOLDER = re.compile(
    r"(?<=[/\\@=\"'`])<(?=(?:user|tool|function)>)"
    r"|<(?=(?:user|tool|function)(?:>[/\\@]| (?:name|id|email|input|query)>))"
)
_CLOSED = re.compile(r"</\s{0,9}(?:system|developer|assistant|user|tool|function|human)\b", re.IGNORECASE)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is hidden or forged in any text of a subject: one finding a rule and place, with its count."""
    real = not is_instruction_file(subject)  # in a rendered prompt the boundary stands once, in a file never
    for segment in subject.segments:
        text = plain(segment)
        if real and segment.role == "system" and (match := REAL_BOUNDARY.search(text)):
            text, real = _blanked(text, match.start(), match.end()), False
        if subject.is_file:  # which is read without it
            text = " " + text[1:] if text.startswith("\ufeff") else text
        found = [*_hidden(text), *_forged(text)]
        lines = Lines(segment.text if found else "")
        for code, offset, message in found:
            yield Finding(code, message, subject.name, segment.place, *lines.at(offset))


def plain(segment: Segment) -> str:
    r"""Return a segment's text as a model reads it, character under character: of JSON the `\n` are line ends."""
    text = segment.text.replace("\r\n", " \n")
    if segment.kind not in ("tool", "tool_use") or "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)).ljust(6) if found[1] else _ESCAPED[found[2]], text)


def is_instruction_file(subject: Subject) -> bool:
    """Whether a subject is a file that the builder takes for instructions."""
    name = subject.name.replace("\\", "/")
    return subject.is_file and any(f"/{name}".endswith(f"/{known}") for known in WHITELIST)


def _hidden(text: str) -> Iterator[tuple[str, int, str]]:
    notes: list[Note] = []
    reveal(text, "", notes)
    kinds: dict[str, list[Note]] = {}
    for note in notes:
        if note.kind == "neutralised":
            character = note.detail.removeprefix("hidden ")
            kinds.setdefault("DP302" if character in _DIRECTIONS else "DP301", []).append(note)
    for code, same in kinds.items():
        same.sort(key=lambda note: note.offset or 0)
        names = [note.detail.removeprefix("hidden ") for note in same]
        more = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
        what = "hidden character" if code == "DP301" else "direction control"
        count = sum(note.count for note in same)
        yield code, same[0].offset or 0, _counted(count, what) + f": {', '.join(names[:_MOST_NAMED])}{more}"


def _forged(text: str) -> Iterator[tuple[str, int, str]]:
    notes: list[Note] = []
    escape_boundary(text, "", notes)
    for note in notes:
        yield "DP303", note.offset or 0, _counted(note.count, "look-alike") + " of the dynamic context boundary"
    notes = []
    if not _CLOSED.search(text):
        for pattern in (_TYPE, _COMPONENT, _PLACEHOLDER):
            text = pattern.sub(" ", text)
    escape_roles(text, "", notes)
    for note in notes:
        at = note.offset or 0
        shown = re.match(r"<[^<>\n]{0,20}>?", text[at:].replace("\uff1c", "<", 1)[:24])
        what = f", the first '{shown[0]}'" if shown and shown[0].isprintable() else ""
        yield "DP304", at, _counted(note.count, "look-alike") + f" of a special token or a speaker's tag{what}"


def _counted(count: int, what: str) -> str:
    return f"a {what}" if count == 1 else f"{count} {what}s"


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]
