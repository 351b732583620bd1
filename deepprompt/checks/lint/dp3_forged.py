"""DP3: what a reader cannot see, or what a model could take for the structure around the text.

What is hidden and what forges structure is `sources.text`'s to say, by which the builder acts as well. Here is only
what of that no prompt is worse for: the types and the placeholders of ordinary documentation; and the signs of a
template that has no names of speakers in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepprompt.checks.lint.findings import Finding, Limits, Lines, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.slow_text import BOUNDARY_LINE, REAL_BOUNDARY, plain
from deepprompt.prompt import Note
from deepprompt.providers.segments import Segment
from deepprompt.text.hygiene import escape_boundary, escape_roles, find_hidden

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
        "Write it in another way, or load the text through the builder, which escapes all but '[INST]' and '<<SYS>>'.",
        error=True,
        excusable=False,
    ),
)

_DIRECTIONS = {chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_MOST_NAMED = 3

# A type between brackets after the name of another, as `List<User>`; a component, as `<Tool label="Undo" />`; and a
# placeholder in a path or an address, as `<user>@<host>`. All are spelled as no template spells a speaker, and none is
# believed where the text also closes such a tag.
_SPEAKER = r"(?:System|Developer|Assistant|User|Tool|Function|Human)"
_TYPE = re.compile(rf"(?<=\w)<(?={_SPEAKER}(?:\[\]|[?,|<>& ]))")
_COMPONENT = re.compile(rf"<(?={_SPEAKER}(?: [^<>/\n]{{0,200}}+)?/>)")
_PLACEHOLDER = re.compile(
    r"(?<=[/\\@=\"'`])<(?=(?:user|tool|function)>)"
    r"|<(?=(?:user|tool|function)(?:>[/\\@]| (?:name|id|email|input|query)>)|function [\w.<>]{1,80} at 0x)"
)
# Of Llama 2 and Mistral; in capital letters only, as the templates have them.
_TEMPLATE = re.compile(r"\[/?INST\]|<</?SYS>>")
_CLOSED = re.compile(r"</\s{0,9}(?:system|developer|assistant|user|tool|function|human)\b", re.IGNORECASE)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is hidden or forged in any text of a subject: one finding a rule and place, with its count."""
    real = True  # in a rendered prompt the boundary stands once
    before = Segment("", "", "", "")
    for segment in subject.segments:
        text = plain(segment)
        if subject.is_instruction_file(segment):
            if segment.changing:  # it was cut at what it took for the boundary, which is in neither piece
                line = before.text.count("\n") + 2 if before.place == segment.place else 2
                yield Finding("DP303", "a boundary in an instruction file", subject.name, segment.place, line, 1)
        elif real and segment.role == "system":
            # A text that was cut there has it no more; of a prompt it is a part of its own.
            match = None if segment.changing and text.strip() != BOUNDARY_LINE else REAL_BOUNDARY.search(text)
            if match:
                text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
            real = not match and not segment.changing
        if subject.is_file and text.startswith("\ufeff"):  # a file is read without it
            text = " " + text[1:]
        found = [*_hidden(text), *_forged(text)]
        lines = Lines(segment.text if found else "")
        for code, offset, message in found:
            yield Finding(code, message, subject.name, segment.place, *lines.at(offset))
        before = segment


def _hidden(text: str) -> Iterator[tuple[str, int, str]]:
    found, _ = find_hidden(text)
    for code, what in (("DP301", "hidden character"), ("DP302", "direction control")):
        same = [(places[0], name) for name, places in found.items() if (name in _DIRECTIONS) == (code == "DP302")]
        if same:
            names = [f"U+{ord(name):04X}" for _, name in sorted(same)]
            more = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
            count = sum(len(found[name]) for _, name in same)
            yield code, min(same)[0], _counted(count, what) + f": {', '.join(names[:_MOST_NAMED])}{more}"


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
        start = note.offset or 0
        tag = re.match(r".[^<>\n]{0,240}>?", text[start : start + 242])
        what = f"look-alike{'s' if note.count > 1 else ''} of a special token or a speaker's tag"
        first = f", {'the first ' if note.count > 1 else ''}{excerpt(tag[0])}" if tag else ""
        yield "DP304", start, f"{note.count if note.count > 1 else 'a'} {what}{first}"
    signs = list(_TEMPLATE.finditer(text))
    if signs:
        first = f"{'the first ' if len(signs) > 1 else ''}'{signs[0][0]}'"
        yield "DP304", signs[0].start(), _counted(len(signs), "sign") + f" of a model's template, {first}"


def _counted(count: int, what: str) -> str:
    return f"a {what}" if count == 1 else f"{count} {what}s"
