"""What lint can fix in a file without a decision: line ends, blanks, hidden characters and repeated paragraphs.

The rest of the text stays as it is, byte for byte. Blanks at the end of a line stay in code, and so do the two that
are a line break in Markdown.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from deepprompt.checks.lint.dp4_size import repeated_paragraphs
from deepprompt.checks.lint.findings import Limits
from deepprompt.checks.lint.slow_text import code_spans
from deepprompt.providers.segments import Segment
from deepprompt.text.hidden import find_hidden

_BOM = "\ufeff"
_BLANKS = re.compile(r"[ \t]+$", re.MULTILINE)
_BREAK = "  "


def fix_text(
    text: str, *, paragraphs: bool = True, shortest: int = Limits().repeated_characters
) -> tuple[str, Counter[str]]:
    """Return the fixed text, and how many fixes of each kind were made.

    Without `paragraphs`, repeated ones stay: only a file that is sent whole is a prompt of its own. With it, those of
    fewer than `shortest` characters stay.
    """
    done: Counter[str] = Counter()
    if text.startswith(_BOM):
        text = text.removeprefix(_BOM)
        done["byte order mark"] += 1
    if "\r" in text:
        ends = text.count("\r\n")
        done["Windows line end"] += ends
        text = text.replace("\r\n", "\n")
    found, _ = find_hidden(text)
    if found:
        places = sorted(place for all_of_one in found.values() for place in all_of_one)
        done["hidden character"] += len(places)
        text = _without(text, [(place, place + 1) for place in places])
    blanks = _blanks(text)
    if blanks:
        done["line with blanks at its end"] += len(blanks)
        text = _without(text, blanks)
    copies = _copies(text, shortest) if paragraphs else []
    if copies:
        done["repeated paragraph"] += len(copies)
        text = _without(text, copies)
    return text, +done


def _blanks(text: str) -> list[tuple[int, int]]:
    """Return where blanks end a line, outside code and but for a line break of Markdown."""
    code = sorted(code_spans(text))
    starts = [start for start, _ in code]
    spans = []
    for match in _BLANKS.finditer(text):
        start, end = match.span()
        block = bisect_right(starts, start) - 1
        in_code = block >= 0 and start < code[block][1]
        a_break = match[0] == _BREAK and text[start - 1 : start] not in ("", "\n") and text[end : end + 1] == "\n"
        if not in_code and not a_break:
            spans.append((start, end))
    return spans


def _copies(text: str, shortest: int) -> list[tuple[int, int]]:
    """Return where the later copies of paragraphs are, each with the blank lines that follow it."""
    segment = Segment("text", "system", "system", text, joins=True)
    spans = []
    for _, (_, *others) in repeated_paragraphs([segment], shortest):
        for _, start, copy in others:
            end = start + len(copy)
            while end < len(text) and text[end] in " \t\n":
                end += 1
            if end == len(text):  # the blank line before it goes, and the file's last line end stays
                start, end = len(text[:start].rstrip()), len(text) - text.endswith("\n")
            spans.append((start, end))
    return [(start, end) for start, end in sorted(spans) if start < end]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces.append(text[done:start])
        done = end
    return "".join([*pieces, text[done:]])
