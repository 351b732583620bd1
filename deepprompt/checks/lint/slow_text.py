"""The slow text of a subject, which should not change, and the forms of it without code, examples and keys.

A comment that makes an exception is part of the text, but does not excuse the text around it. Every form of a text has
its characters in the same positions, with blanks for what is left out, so a position in one is valid in all. Time is in
proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from deepprompt.checks.lint.findings import Subject
from deepprompt.checks.lint.keys import keys
from deepprompt.checks.lint.lines import lines_with, small_letters
from deepprompt.checks.static import prefix_end
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.providers.segments import Segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.checks.lint.moving_text import Movement

_FENCE = re.compile(r"[ \t>]{0,12}+(?:[-*+]|\d{1,3}[.)])?[ \t]{0,4}+(`{3,}+|~{3,}+)[ \t]*+([^\s`{]*+)[^`]*+")
_WITHOUT_LANGUAGE = ("", "text", "txt", "plain", "plaintext", "env")
_FRONT = re.compile(r"---\n(?:[^\n]{0,1000}+\n){0,400}?---(?:\n|$)")
_EXAMPLES = re.compile(r"<(/?)(?:[\w-]{0,20}[_-])?examples?(?=[\s>])", re.IGNORECASE)
_INLINE = re.compile(r"(?<!`)(`{1,2}+)(?!`)([^`\n]{1,300}+)\1(?!`)")
_LOG = re.compile(r"^[ \t>]{0,12}\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\n]*+", re.MULTILINE)
_OWN_LABEL = re.compile(r"(?<!\w)[A-Za-z][\w-]{1,60}+['\"]?[ \t]{0,4}[:=]")
_INDENTED = re.compile(r"^(?: {4}|\t)[^\n]*+", re.MULTILINE)
_COMMENT = re.compile(r"(?:<!--|#|//) ?deepprompt: allow\b[^\n]*?(?:-->|$)", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t>]*+\n")

SHOWN = re.compile(
    r"\b(?:e\.?g\b|for (?:example|instance)|examples?\b|sample|such as|looks? like|like [`'\"(]|format|pattern|z\. ?B\."
    r"|zB\b|Beispiel|par exemple|ejemplo|exemplo|например"
    r"|(?:answer|reply|respond|return|output|print|emit)\b[^\n.:]{0,40}: ?`?[\[{])|例|예[:시]",
    re.IGNORECASE,
)
"""The words that announce an example in the rest of their sentence."""

# A sentence ends at a blank line, at its final mark, and at the end of a line, unless the line is only wrapped: then it
# is long, and the next line begins neither with a capital letter nor as a list item or with a label of its own.
_BROKEN = r"(?<=[^\n]{40})\n[ \t>]{0,12}+(?=[a-z0-9`'\"(])(?!\d{1,3}[.)] |[\w -]{1,30}+[:=])"
SENTENCE = re.compile(
    r"\n[ \t]{0,40}\n|(?<!\.\w)[.!?:][\"')`*]{0,3}(?:[ \t]{0,9}\n|(?<!:) {1,2}(?=[A-Z<'\"`]))" rf"|(?!{_BROKEN})\n"
)
"""The end of a sentence."""

_ANNOUNCES = re.compile(
    rf"(?:{SHOWN.pattern}|\b(?:answer|reply|respond|return|output|print|emit)\b[^\n.:]{{0,60}}json\b)", re.IGNORECASE
)
_COLON = re.compile(r"[:：][*_ \t]{0,4}$")
_TITLE = re.compile(r"[ \t]{0,8}(?:[-*+] )?[*_]{0,3}Examples?\b[^\n:]{0,20}:", re.IGNORECASE)  # of the fence below it
_NEAR = 160  # characters before a colon that may say what it announces
_LINE = re.compile(r"(?P<indent>[ \t]*+)(?P<item>(?:[-*+•]|\d{1,3}[.)])[ \t])?")


_ESCAPE = re.compile(r'\\(?:u00([01][0-9a-fA-F])|([nrt"/\\]))')
_ESCAPED = {
    "n": " \n",
    "r": " \r",
    "t": " \t",
    '"': ' "',
    "/": " /",
    "\\": "\\\\",
}  # an escaped backslash stays: what follows it is no escape

BOUNDARY_LINE = DYNAMIC_CONTEXT_BOUNDARY.strip("\n")
REAL_BOUNDARY = re.compile(rf"(?:^|(?<=\n)){re.escape(BOUNDARY_LINE)}(?= ?\n|$)")
"""The boundary as the builder writes it, on a line of its own."""


class SlowText:
    """The text of a segment that should not change, in forms with the same positions that are made when needed."""

    def __init__(self, segment: Segment, text: str, *, authored: bool = False, reference: bool = False) -> None:
        self.segment = segment
        self.text = text
        """The text up to the boundary, without keys."""
        self.authored = authored
        """Whether a person wrote it as a document."""
        self.reference = reference
        """Whether a tool reads it when an agent needs it: then only what is wrong for other users counts."""

    @cached_property
    def low(self) -> str:
        """The text in small letters."""
        return small_letters(self.text)

    @cached_property
    def stated(self) -> str:
        """The text without announced examples, lists and code, and without code that has a language or a label."""
        return self._forms[0]

    @cached_property
    def unfenced(self) -> str:
        """The stated text without blocks of code."""
        return _blank(self.stated, list(_fenced(without_comments(self.stated))))

    @cached_property
    def prose(self) -> str:
        """The stated text without any code, indented block or front matter."""
        return self._forms[1]

    @cached_property
    def movements(self) -> tuple[Movement, ...]:
        """The pieces of it that change."""
        from deepprompt.checks.lint.moving_text import find_movements

        return tuple(find_movements(self))

    @cached_property
    def _forms(self) -> tuple[str, str]:
        text = self.text
        heard = without_comments(text)
        shown = [*_fenced(heard, languages=True), *_examples(heard)]
        heard = _blank(heard, shown)
        more = [*_announced(heard), *(f.span() for f in _INLINE.finditer(heard) if _OWN_LABEL.search(f[2]))]
        more += [found.span() for block in _fenced(heard) for found in _LOG.finditer(heard, *block)]
        stated, heard = _blank(text, shown + more), _blank(heard, more)
        code = code_spans(heard)
        heard = _blank(heard, code)
        code += [found.span() for pattern in (_INLINE, _INDENTED) for found in pattern.finditer(heard)]
        return stated, _blank(stated, code)


def slow_texts(subject: Subject) -> tuple[SlowText, ...]:
    """Return the slow texts of a subject, which keeps them for the next rule that asks."""
    kept = vars(subject)
    if "slow texts" not in kept:
        kept["slow texts"] = tuple(_slow_texts(subject))
    found: tuple[SlowText, ...] = kept["slow texts"]
    return found


def _slow_texts(subject: Subject) -> Iterator[SlowText]:
    """Yield the slow texts of a subject; the boundary ends them."""
    for segment in subject.segments[: prefix_end(subject.segments)]:
        kind = subject.kind(segment)
        if segment.changing or segment.kind == "setting" or kind in ("document", "output"):
            continue
        text = plain(segment)
        boundary = REAL_BOUNDARY.search(text) if BOUNDARY_LINE in text else None
        text = text[: boundary.start()] if boundary else text
        reference = kind == "reference"
        yield SlowText(segment, without_keys(text), authored=subject.is_authored(segment), reference=reference)
        if boundary:
            return


def plain(segment: Segment) -> str:
    r"""Return a segment's text as a model reads it, with the same positions: a `\n` in JSON becomes a line end."""
    text = segment.text
    if "\r" in text:
        text = text.replace("\r\n", " \n")
    if segment.kind not in ("tool", "tool_use") or "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)).ljust(6) if found[1] else _ESCAPED[found[2]], text)


def without_keys(text: str) -> str:
    """Return a text with blanks in place of its keys, so that no message quotes one."""
    found = keys(text)
    return _blank(text, [(key.start, key.end) for key in found]) if found else text


def without_comments(text: str) -> str:
    """Return a text with blanks in place of the comments that make exceptions."""
    return _blank(text, [found.span() for found in _COMMENT.finditer(text)]) if "deepprompt: allow" in text else text


def without_code(text: str) -> str:
    """Return a text with blanks in place of its front matter and its blocks of code."""
    return _blank(text, code_spans(text))


def code_spans(text: str) -> list[tuple[int, int]]:
    """Return where the front matter and the blocks of code are."""
    front = _FRONT.match(text)
    return [*_fenced(text), *([front.span()] if front else [])]


def _fenced(text: str, *, languages: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where the fenced blocks of code are; with `languages` only those that name a language.

    One that is never closed ends with its paragraph: else a forgotten fence would hide the rest of a prompt.
    """
    start, opened, named = 0, "", False
    within: list[tuple[int, bool]] = []  # fences that may open a block if the open one never ends
    for place, ends in sorted(lines_with(text, "```") + lines_with(text, "~~~")):
        fence = _FENCE.fullmatch(text, place, ends)
        if fence and not opened:
            start, opened, named = place, fence[1], fence[2].lower() not in _WITHOUT_LANGUAGE
            within = [(start, named)]
        elif fence and fence[1].startswith(opened) and not fence[2]:
            if named or not languages:
                yield start, ends
            opened = ""
        elif fence:
            within.append((place, fence[2].lower() not in _WITHOUT_LANGUAGE))
    end = 0
    for start, named in within if opened else ():
        if start >= end:
            blank = _BLANK_LINE.search(text, start)
            end = blank.start() if blank else len(text)
            if named or not languages:
                yield start, end


def _announced(text: str) -> Iterator[tuple[int, int]]:
    """Yield each block of code, list or quotation that a colon announces as an example."""
    lines = text.split("\n")
    fences = dict(_fenced(text))
    places = [0]
    for line in lines:
        places.append(places[-1] + len(line) + 1)
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        titled = _TITLE.match(line) is not None and places[number] in fences
        if not titled and (not _COLON.search(line[-8:]) or not _announces(line)):
            continue
        first = next((n for n in range(number, min(number + 3, len(lines))) if lines[n].strip()), len(lines))
        last = first
        if first < len(lines):
            end = fences.get(places[first])
            while last < len(lines) and (places[last] < end if end else _goes_on(line, lines[first], lines[last])):
                last += 1
        if last > first:
            yield places[first], places[last] - 1
            number = last


def _announces(line: str) -> bool:
    """Whether the last sentence of a line says that what follows its colon is an example."""
    said = line[-_NEAR:].rstrip("*_ \t")
    start = max((end.end() for end in SENTENCE.finditer(said)), default=0)
    return _ANNOUNCES.search(said, start) is not None


def _goes_on(announcing: str, first: str, line: str) -> bool:
    """Whether a line belongs to the block that starts with `first` below the announcing line."""
    (outer, was), (least, item), (indent, now) = (
        (len(found["indent"].expandtabs(4)), found["item"] is not None)
        for found in (_LINE.match(text) for text in (announcing, first, line))
        if found
    )
    if first.startswith(">"):
        return line.startswith(">") and not announcing.startswith(">")
    if first.startswith(("{", "[")):
        return bool(line.strip())
    if least < outer + (2 if was or not item else 0):
        return False
    return not line.strip() or indent > least or (indent == least and (now or not item))


def _examples(text: str) -> Iterator[tuple[int, int]]:
    """Yield the text between the tags of examples."""
    start, depth = 0, 0
    for tag in _EXAMPLES.finditer(text):
        if not tag[1]:
            start, depth = (tag.start(), 1) if depth == 0 else (start, depth + 1)
        elif depth:
            depth -= 1
            if depth == 0:
                yield start, tag.end()


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with blanks in some places; every other character keeps its position."""
    pieces, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            start = max(start, done)
            pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text
