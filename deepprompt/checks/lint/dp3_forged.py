"""DP3: text that a reader cannot see, or that a model could take for the structure of the prompt.

`deepprompt.text.hygiene`, which the builder uses too, decides what is hidden or forged. This module adds exceptions for
the types and placeholders of ordinary documentation, and the template tokens that do not name a speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.lines import Lines
from deepprompt.checks.lint.slow_text import BOUNDARY_LINE, REAL_BOUNDARY, plain, without_code
from deepprompt.prompt import Note
from deepprompt.providers.segments import Segment
from deepprompt.text.disarm import SPEAKER, TAG, TOKEN, escape_boundary, escape_roles
from deepprompt.text.hidden import find_hidden

RULES = (
    Rule(
        "DP301",
        "hidden-character",
        "The text has characters that a reader does not see, but the model reads.",
        "Delete them, or load the text with the builder, which makes them visible.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP302",
        "bidirectional-control",
        "The text has characters that make it look different to a reader.",
        "Delete them; right-to-left text does not need them.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP303",
        "forged-boundary",
        "The text has something that looks like the boundary before the changing part of the prompt.",
        "Reword it, or load the text with the builder, which puts a backslash before it.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP304",
        "forged-speaker",
        "The text has something that a model could take for the end of a turn or for another speaker.",
        "Reword it, or load the text with the builder, which puts a backslash into it.",
        error=True,
        excusable=False,
    ),
)

_DIRECTIONS = {chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_MOST_NAMED = 3
_STRUCK = re.compile(r"<s>[^<>\n]{1,400}+</s>")  # HTML's crossed-out text
_CODE_SPAN = re.compile(r"(?<!`)(`{1,2}+)(?!`)[^`\n]{1,300}+\1(?!`)")
_OWN_BLOCK = re.compile(r"\s*<(?P<name>[\w-]{2,60})(?:\s[^<>\n]{0,200})?>")
# What hides nothing in a document: the control characters of a terminal.
_UNPRINTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SIDE_BY_SIDE = 3  # the fewest hidden characters in a row that hide something in a document; fewer come from copying
_SEVERAL = {
    TOKEN: "control tokens of a model's vocabulary",
    SPEAKER: "speakers' tags on lines of their own",
    TAG: "look-alikes of a tag",
}


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is hidden or forged in a subject: one finding for each rule and place, with a count."""
    real = True  # a rendered prompt has one real boundary
    before = Segment("", "", "", "")
    for segment in subject.segments:
        kind = subject.kind(segment)
        if kind == "output":  # programs print colors and other encodings
            continue
        text = plain(segment)
        if subject.is_instruction_file(segment):
            if segment.changing:  # the file was cut at a boundary, which is in neither piece
                line = before.text.count("\n") + 2 if before.place == segment.place else 2
                yield Finding("DP303", "a boundary in an instruction file", subject.name, segment.place, line, 1)
        elif real and segment.role == "system":
            # A text that was cut there no longer has it; in a prompt it is a part of its own.
            known = BOUNDARY_LINE in text and not (segment.changing and text.strip() != BOUNDARY_LINE)
            match = REAL_BOUNDARY.search(text) if known else None
            if match:
                text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
            real = not match and not segment.changing
        if subject.is_file and text.startswith("\ufeff"):  # files are read without a byte order mark
            text = " " + text[1:]
        found = [*_hidden(text, least=_SIDE_BY_SIDE if kind == "document" else 1), *_forged(text, subject, segment)]
        lines = Lines(segment.text if found else "")
        for code, offset, message in found:
            yield Finding(code, message, subject.name, segment.place, *lines.at(offset))
        before = segment


def _is_outside(text: str, subject: Subject, segment: Segment) -> bool:
    """Whether somebody else than the author of the request may have written a segment, so that a tag in it is forged.

    The author of a system prompt structures it by tags. So does a runtime that begins a user's block with one.
    """
    if segment.role in ("", "system"):
        return subject.is_instruction_file(segment)
    return segment.kind == "tool_result" or _OWN_BLOCK.match(text) is None


def _hidden(text: str, *, least: int) -> Iterator[tuple[str, int, str]]:
    found, _ = find_hidden(_UNPRINTED.sub(" ", text) if least > 1 else text)
    if least > 1:
        found = _in_rows(found, least)
    for code, what in (("DP301", "hidden character"), ("DP302", "direction control")):
        same = [(places[0], name) for name, places in found.items() if (name in _DIRECTIONS) == (code == "DP302")]
        if same:
            names = [f"U+{ord(name):04X}" for _, name in sorted(same)]
            more = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
            count = sum(len(found[name]) for _, name in same)
            yield code, min(same)[0], _counted(count, what) + f": {', '.join(names[:_MOST_NAMED])}{more}"


def _in_rows(found: dict[str, list[int]], least: int) -> dict[str, list[int]]:
    """Return the characters that stand in rows of at least so many, and every control of direction."""
    places = sorted(place for of_one in found.values() for place in of_one)
    rows: list[list[int]] = []
    for place in places:
        if rows and place == rows[-1][-1] + 1:
            rows[-1].append(place)
        else:
            rows.append([place])
    kept = {place for row in rows if len(row) >= least for place in row}
    of_each = {name: [p for p in of_one if p in kept or name in _DIRECTIONS] for name, of_one in found.items()}
    return {name: of_one for name, of_one in of_each.items() if of_one}


def _forged(text: str, subject: Subject, segment: Segment) -> Iterator[tuple[str, int, str]]:
    notes: list[Note] = []
    escape_boundary(text, "", notes)
    for note in notes:
        yield "DP303", note.offset or 0, _counted(note.count, "look-alike") + " of the dynamic context boundary"
    notes = []
    escape_roles(text, "", notes)
    if not notes:
        return
    own = segment.role in ("", "system")
    if own:  # what an author shows in code is shown, and no provider reads it as a token
        notes = []
        escape_roles(_without_markup(text), "", notes)
    if subject.is_found and subject.is_authored(segment) and not subject.is_instruction_file(segment):
        return  # a document about models names their tokens
    # Where a token is, a tag beside it is no structure of the author's.
    forged = any(note.detail == TOKEN for note in notes) or _is_outside(text, subject, segment)
    for note in notes if forged else ():
        start = note.offset or 0
        tag = re.match(r".[^<>\[\]\n]{0,240}[>\]]?", text[start : start + 242])
        first = f", {'the first ' if note.count > 1 else ''}{excerpt(tag[0])}" if tag else ""
        what = f"a {note.detail}" if note.count == 1 else f"{note.count} {_SEVERAL[note.detail]}"
        yield "DP304", start, what + first


def _without_markup(text: str) -> str:
    """Return a text with blanks in place of code and of the tags of HTML that look like tokens."""
    text = _STRUCK.sub(lambda found: " " * len(found[0]), without_code(text))
    return _CODE_SPAN.sub(lambda found: " " * len(found[0]), text)


def _counted(count: int, what: str) -> str:
    return f"a {what}" if count == 1 else f"{count} {what}s"
