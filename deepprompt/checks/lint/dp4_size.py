"""DP4: parts that are empty, unfilled, too large or repeated, and instruction files that will be truncated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.lines import Lines
from deepprompt.checks.lint.slow_text import plain, without_code, without_keys
from deepprompt.providers.segments import Segment
from deepprompt.sources.instructions import WHITELIST
from deepprompt.text.display import counted
from deepprompt.text.hygiene import TRUNCATION_MARKER, is_blank
from deepprompt.tokens import estimate_tokens

RULES = (
    Rule("DP401", "empty-part", "A part has no text: something did not fill it.", "Fill it or drop it."),
    Rule(
        "DP402",
        "large-part",
        "A part is so large that the important things in it get lost.",
        "Split it, or let the model read the rest with a tool when it needs it.",
    ),
    Rule(
        "DP403",
        "repeated-passage",
        "The same paragraph stands in two places: it costs twice, and one day only one of them will be updated.",
        "Keep one of them.",
    ),
    Rule(
        "DP404",
        "instructions-cut",
        "An instruction file is longer than what is read of it, so the model never sees its end.",
        "Shorten it, or move details into files that it names.",
    ),
    Rule(
        "DP405",
        "unfilled",
        "A rendered prompt still has a directive or a variable that something should have replaced.",
        "Give it a value; put it into backticks or code if the model should see its name.",
    ),
)

_SECTION = re.compile(r"^#{1,2} ", re.MULTILINE)
# A directive of a template stands alone on its line. A variable stands in prose, not in a word, a path or a command.
_DIRECTIVE = re.compile(r"^[ \t]*+(\$\$(?:[A-Z][A-Z0-9_]*+|include [^\s$]++))[ \t]*$", re.MULTILINE)
_VARIABLE = re.compile(r"(?<!\S)\$\{([A-Z][A-Z0-9_]*+)\}(?=[\s.,;:!?)]|$)")
_OF_A_SHELL = frozenset(("EDITOR", "HOME", "LANG", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"))
_BEGINNING = 80
_BETWEEN = 240  # the most characters between two paragraphs of one repeated passage: a heading, a short line
REFRAIN = 300
"""The fewest characters of a single paragraph that counts as repeated in a file that was found in a folder. A shorter
one may be said again on purpose, at the end of each section."""
_FEWEST = 14  # the fewest different characters in a passage that means something
_GAP = re.compile(r"\n(?:[ \t\r]*+\n|(?=#{1,6} ))[ \t\r\n]*+")
_LINK = re.compile(r"^.{0,40}\[[^\]\n]{1,300}\]\([^)\n]{1,400}\)[.)\s]*$")
_TITLE = re.compile(r"#{1,6} [^\n]*+\n*+")
# Rows of tables, data, templates, links and quotations look alike in many places without being repeated text.
_FORM = re.compile(
    r"[ \t]*+(?:[|{}\[\]<\"'$`%>]|[-*+\d.)\[\] \t]{0,12}(?:`[^`\n]*+`|\[|\*\*[^*\n]*+\*\*:?)[^\w]*+(?:$|https?:))"
)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:
    """Yield parts that are empty, too large, repeated, truncated or not filled."""
    parts = [part for part in subject.segments if part.role in ("", "system") and part.kind != "setting"]
    parts = [part for part in parts if subject.is_sent_whole(part)]
    for part in parts:
        yield from _size(subject, part, limits)
        yield from _cut(subject, part, limits)
        if not subject.is_file:  # a file may be a template, which is where such things belong
            yield from _unfilled(subject, part)
    yield from _repeated(subject, parts, limits.repeated_characters)


def _size(subject: Subject, part: Segment, limits: Limits) -> Iterator[Finding]:
    # A piece of a template may be nothing but the line ends between two includes, and nothing needs to follow the
    # boundary.
    layout = part.changing or (part.joins and part.text and not subject.is_file and len(subject.segments) > 1)
    if is_blank(part.text) and not layout:
        yield Finding("DP401", "an empty part", subject.name, part.place)
    # If the prompt is one text, its sections count as parts.
    whole = part.kind == "tool" or subject.is_file or (part.joins and len(subject.segments) > 1)
    starts = [0] if whole else [0, *(match.start() for match in _SECTION.finditer(part.text) if match.start())]
    for start, end in pairwise([*starts, len(part.text)]):
        tokens = estimate_tokens(part.text[start:end])
        if tokens > limits.part_tokens:
            line = part.text.count("\n", 0, start) + 1 if start else 0
            message = f"about {tokens:,} tokens, more than {limits.part_tokens:,}"
            yield Finding("DP402", message, subject.name, part.place, line)


def _cut(subject: Subject, part: Segment, limits: Limits) -> Iterator[Finding]:
    size = len(part.text.encode(errors="surrogatepass"))
    if subject.is_instruction_file(part) and size > limits.instruction_bytes:
        message = f"{size:,} bytes, of which the first {limits.instruction_bytes:,} are read"
        yield Finding("DP404", message, subject.name, part.place)
    elif part.origin.endswith(WHITELIST) and part.text.rstrip().endswith(TRUNCATION_MARKER):
        line = part.text.count("\n", 0, len(part.text.rstrip())) + 1
        yield Finding("DP404", f"{part.origin} was cut", subject.name, part.place, line)


def _unfilled(subject: Subject, part: Segment) -> Iterator[Finding]:
    if part.kind == "tool" or ("$$" not in part.text and "${" not in part.text):
        return
    text, lines = without_code(plain(part)), Lines(part.text)
    places = {match.start(1): match[1] for match in _DIRECTIVE.finditer(text)}
    for match in _VARIABLE.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        quoted = before.count("`") % 2 or before.count('"') % 2
        if not quoted and match[1] not in _OF_A_SHELL:
            places[match.start()] = match[0]
    for place, said in sorted(places.items()):
        yield Finding("DP405", f"{said} is sent as it stands", subject.name, part.place, *lines.at(place))


def _repeated(subject: Subject, parts: Sequence[Segment], shortest: int) -> Iterator[Finding]:
    """Yield each paragraph that also stands earlier, whatever the blanks between its words.

    Files are prompts of their own, so only what one of them says twice is found; the parts of a prompt stand together.
    """
    groups = [[part] for part in parts] if subject.is_file else [parts]
    for group in groups:
        lines: dict[int, Lines] = {}
        for (part, start, text), (number, place, _), more in _passages(repeated_paragraphs(group, shortest)):
            for n in (part, number):
                lines.setdefault(n, Lines(group[n].text))
            where = f"{group[part].place}, line {lines[part].at(start)[0]}"
            size = len(" ".join(text.split()))
            if subject.is_found and not more and size < REFRAIN:
                continue
            follows = f", and {counted(more, 'paragraph')} after it" if more else ""
            message = f"{excerpt(without_keys(text))}, {size:,} characters{follows}, as in {where}"
            yield Finding("DP403", message, subject.name, group[number].place, *lines[number].at(place))


def _passages(several: Repeated) -> list[tuple[_Paragraph, _Paragraph, int]]:
    """Return each repeated passage: its first paragraph, the copy of that, and how many more paragraphs follow."""
    pairs = sorted(((places[0], copy) for _, places in several for copy in places[1:]), key=lambda pair: pair[1][:2])
    found: list[tuple[_Paragraph, _Paragraph, int]] = []
    ends = ((-1, 0), (-1, 0))
    for first, copy in pairs:
        gaps = [(one[0], one[1] - end) for one, (part, end) in zip((first, copy), ends, strict=True) if one[0] == part]
        if len(gaps) == 2 and all(0 <= gap <= _BETWEEN for _, gap in gaps):
            found[-1] = (*found[-1][:2], found[-1][2] + 1)
        else:
            found.append((first, copy, 0))
        ends = (first[0], first[1] + len(first[2])), (copy[0], copy[1] + len(copy[2]))
    return found


_Paragraph = tuple[int, int, str]  # the number of its part, where it starts there, and its text


Repeated = list[tuple[str, list[_Paragraph]]]


def repeated_paragraphs(parts: Sequence[Segment], shortest: int) -> Repeated:
    """Return the paragraphs of prose that stand in several places, each with all of its places in order."""
    known: dict[str, list[_Paragraph]] = {}
    for number, part in enumerate(parts):
        if part.kind == "tool" or len(part.text) < shortest:  # tools may describe the same thing
            continue
        text = plain(part)
        end = 0
        for gap in _GAP.finditer(text):
            if gap.start() - end >= shortest:
                _note(known, number, end, text[end : gap.start()])
            end = gap.end()
        if len(text) - end >= shortest:
            _note(known, number, end, text[end:])
    several = [same for places in known.values() if len(places) > 1 for same in _alike(places)]
    if not several:
        return []
    prose = [without_code(plain(part)) for part in parts]
    kept = [(key, [p for p in places if prose[p[0]].startswith(p[2], p[1])]) for key, places in several]
    return [(key, places) for key, places in kept if len(places) > 1 and _is_prose(places[0][2], shortest)]


def _note(known: dict[str, list[_Paragraph]], number: int, start: int, text: str) -> None:
    heading = _TITLE.match(text)
    if heading:
        start, text = start + heading.end(), text[heading.end() :]
    shown = text.strip()
    # By its beginning: most paragraphs have no other one that begins like them, and need not be compared.
    known.setdefault("".join(shown[:_BEGINNING].split())[: _BEGINNING // 2], []).append(
        (number, start + text.find(shown[:1]), shown)
    )


def _alike(places: list[_Paragraph]) -> list[tuple[str, list[_Paragraph]]]:
    """Return those of some paragraphs that are the same, whatever the blanks between their words."""
    known: dict[str, list[_Paragraph]] = {}
    for place in places:
        known.setdefault("".join(place[2].split()), []).append(place)
    return [(key, same) for key, same in known.items() if len(same) > 1]


def _is_prose(text: str, shortest: int) -> bool:
    """Whether a paragraph is made of sentences or points, and not of data, a form or links."""
    lines = text.split("\n")
    if "\n" not in text and _LINK.search(text):  # a reference
        return False
    formed = sum(_FORM.match(line) is not None for line in lines)
    words = " ".join(text.split())
    return len(words) >= shortest and len(set(words)) >= _FEWEST and 2 * formed < len(lines)
