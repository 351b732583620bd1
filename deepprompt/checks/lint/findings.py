"""What lint says: the rules by their codes, a finding, and what a rule is given to look at.

A code never changes its meaning and is never used again. The hundreds say what a rule is about: 1 text that moves, 2
order, 3 text that is hidden or forges structure, 4 size, 5 secrets, 6 one request, 7 the requests of a conversation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepprompt.providers.segments import Segment
from deepprompt.sources.instructions import WHITELIST

if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that lint looks for."""

    code: str
    name: str
    summary: str
    """What is wrong when it is found, in one sentence."""
    advice: str
    """What to do about it, in one sentence."""
    error: bool = False
    """Whether it is wrong in any prompt; otherwise it is a warning, which fails a run just the same."""
    excusable: bool = True
    """Whether a comment in the text itself may make an exception; never where the text may be a stranger's attack."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken."""

    code: str
    message: str
    """What was found there, in one line, without any key in it."""
    subject: str
    """The file or function that was linted."""
    place: str
    """The part, block or message."""
    line: int = 0
    """In the place's text, from 1; 0 for all of it. For a file that was linted as it is, the file's line."""
    column: int = 0
    excused: str = ""
    """The reason, where the text or the configuration makes an exception of it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is linted: a prompt, a file, a request, or the newest request of a conversation."""

    name: str
    segments: tuple[Segment, ...]
    """Of the newest request; those that change with the turn say so."""
    body: Mapping[str, Any] | None = None
    """The newest request as it is sent, where it is one."""
    earlier: tuple[Subject, ...] = ()
    """The requests before it, oldest first, each without its own."""
    at: float | None = None
    """When it was sent, in seconds, where that is known."""
    is_file: bool = False
    """Whether the text is a file's, as it is: then places are its lines."""

    def is_instruction_file(self, segment: Segment) -> bool:
        """Whether a segment is a file, or a piece of one, that the builder reads as instructions."""
        name = f"/{segment.place}".replace("\\", "/")
        return self.is_file and name.endswith(tuple(f"/{known}" for known in WHITELIST))


@dataclass(frozen=True, slots=True)
class Limits:
    """What rules are held against, beside the text itself."""

    rules: Rules | None = None
    """What is known of the provider and the model, where they are known."""
    part_tokens: int = 8_000
    """From how many tokens on a part is too large."""
    instruction_bytes: int = 4_000
    """How much of an instruction file the builder takes."""
    repeated_characters: int = 120
    """From how many characters on a passage counts as repeated."""


class Lines:
    """Where the lines of a text begin."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, place: int) -> tuple[int, int]:
        """Return the line and the column of a character, both from 1."""
        line = bisect_right(self._starts, place)
        return line, place - self._starts[line - 1] + 1
