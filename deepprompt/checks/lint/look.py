"""A look is one pattern for text that changes between runs, with the conditions under which a match counts.

The pattern is tried only on lines that contain one of its literals. The words around a value decide whether it counts:
"for example" before it makes it an example.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from deepprompt.checks.lint.slow_text import SENTENCE, SHOWN

CASELESS, LINES = re.IGNORECASE, re.IGNORECASE | re.MULTILINE
NEAR = 160
"""The characters around a value that may say what it is."""

LABEL_END = r"[*`\"'_]{0,3}[ \t]?(?:is(?: now| currently| set to)?\b[ \t]?[:=]?|[:=>：|])[ \t*`\"'(]{0,6}"
"""Between a label and its value."""
LINE_START = r"^[ \t>*<`#|•–-]{0,8}(?:\d{1,3}[.)][ \t]{1,3}[*`_]{0,3})?"
"""The start of a line, with what Markdown may put there."""
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
ROW = "\1" + "a" * 14
"""As one of the words of a look: so many letters, digits, `-` or `_` side by side."""
HEX_ROW = "\2" + "a" * 7
"""As one of the words of a look: so many digits and letters from `a` to `f` side by side."""
PATH = "\3"
"""As one of the words of a look that needs no digit: a slash at the start of a path."""
SHAPE = "\0"
"""Begins a word of a look in which `0` stands for any digit."""

Holds = Callable[["re.Match[str]", str], bool]


class Look(NamedTuple):
    """How one kind of changing text is recognised. The value is the group `value` of its pattern."""

    code: str
    what: str
    words: tuple[str, ...]
    """Only lines with one of these, in lower case, are searched. `ROW`, `HEX_ROW` and shapes need `digits`."""
    pattern: re.Pattern[str]
    holds: Holds
    """A further test of a match and the text around it."""
    digits: bool = True
    """Whether a line must also have a digit."""
    only_prose: bool = False
    """Whether code does not count."""
    only_rendered: bool = False
    """Whether it counts only in rendered prompts, not in documents that a person wrote."""
    in_blocks: bool = False
    """Whether it also counts in a document's code blocks, as a person's home folder does."""
    elsewhere: bool = False
    """Whether it also counts in a text that only a tool reads, because it is wrong for every other user."""
    head: bool = False
    """Whether only the first lines of a text count, whatever words they have."""
    once: bool = False
    """Whether several values with the same group `name` in one text are one finding."""


def said_before(place: int, text: str) -> str:
    """Return the text before a position in its sentence."""
    before = text[max(0, place - NEAR) : place]
    return before[max((end.end() for end in SENTENCE.finditer(before)), default=0) :]


def before(match: re.Match[str], text: str) -> str:
    """Return the text before a value in its sentence."""
    return said_before(match.start("value"), text)


def line_around(match: re.Match[str], text: str) -> str:
    """Return the line around a match, without the match."""
    start = text[max(0, match.start() - NEAR) : match.start()].rpartition("\n")[2]
    return start + " " + text[match.end() : match.end() + NEAR].partition("\n")[0]


def is_stated(match: re.Match[str], text: str) -> bool:
    """Whether nothing before a value says that it is an example."""
    return SHOWN.search(before(match, text)) is None
