"""The values of lint: a rule, a finding, and the subject and limits that a rule gets.

A code never changes its meaning and is never used again. The hundreds say what a rule is about: 1 text that moves, 2
order, 3 text that is hidden or forges structure, 4 size, 5 secrets, 6 one request, 7 the requests of a conversation, 8
the texts of a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import normpath
from typing import Any

from deepprompt.checks.lint.kinds import Kind, is_sent_whole, is_titled, kind_of
from deepprompt.providers.segments import Segment
from deepprompt.sources.instructions import WHITELIST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules
    from deepprompt.systems.presets import Preset


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that lint looks for."""

    code: str
    name: str
    summary: str
    """The problem, in one sentence."""
    advice: str
    """What to do about it, in one sentence."""
    error: bool = False
    """Whether it is wrong in every prompt; otherwise it is a warning, which fails a run too."""
    excusable: bool = True
    """Whether a comment in the text may make an exception; never for rules that guard against attacks."""
    default: bool = True
    """Whether it runs without being selected; rules that are wrong too often on real files do not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks a rule."""

    code: str
    message: str
    """The problem there, in one line without any key."""
    subject: str
    """The file or function that was linted."""
    place: str
    """The part, block or message."""
    line: int = 0
    """The line in the place's text, from 1; 0 for the whole text. In a linted file it is the file's line."""
    column: int = 0
    excused: str = ""
    """The reason, if the text or the configuration makes an exception."""


@dataclass(frozen=True)
class Subject:
    """What is linted: a prompt, a file, a request, or the newest request of a conversation."""

    name: str
    segments: tuple[Segment, ...]
    """The segments of the newest request; those that change with the turn are marked as changing."""
    body: Mapping[str, Any] | None = None
    """The newest request as it is sent; None if the subject is not a request."""
    earlier: tuple[Subject, ...] = ()
    """The requests before it, oldest first; their own `earlier` is empty."""
    at: float | None = None
    """The time it was sent, in seconds, if known."""
    is_file: bool = False
    """Whether the segments are files; then a finding's place and line are those of a file."""
    unread: tuple[str, ...] = ()
    """The files and folders of a folder that could not be read, each with the reason."""
    is_found: bool = False
    """Whether it is a file that was found in a folder, rather than named: it may be no prompt at all."""
    in_repository: bool = False
    """Whether that folder is more than a folder of parts; then a file that is not known may be a mere document."""
    presets: tuple[Preset, ...] = ()
    """The presets of a folder."""
    problems: tuple[str, ...] = ()
    """What is wrong with presets that cannot be loaded."""

    def kind(self, segment: Segment) -> Kind:
        """Return what a segment is to an agent: a prompt, unless it was found in a repository."""
        if not (self.is_found and self.in_repository):
            return "prompt"
        return kind_of(segment.place, segment.text, normpath(self.name))

    def is_sent_whole(self, segment: Segment) -> bool:
        """Whether a segment is known to be sent as it is: all but the files of a folder that a tool may read."""
        return not self.is_found or is_sent_whole(segment.place)

    def is_authored(self, segment: Segment) -> bool:
        """Whether a person wrote a segment as a document, so that the dates and ids in it are the document's.

        Files of a repository are. In a folder of parts, those are that do not tell a model who it is.
        """
        found = self.is_found and (self.in_repository or is_titled(segment.text))
        return self.is_file and (found or is_sent_whole(segment.place))

    def is_instruction_file(self, segment: Segment) -> bool:
        """Whether a segment is a file, or a piece of one, that the builder reads as instructions."""
        name = f"/{segment.place}".replace("\\", "/")
        return self.is_file and name.endswith(tuple(f"/{known}" for known in WHITELIST))


AGENTS_READ = 32_768
"""The fewest bytes of instruction files that an agent with a limit reads: Codex and Kimi, by their profiles."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that rules check a subject against."""

    rules: Rules | None = None
    """The rules of the provider and the model, if known."""
    part_tokens: int = 8_000
    """The most tokens that a part may have."""
    instruction_bytes: int = 4_000
    """How many bytes of an instruction file are read; 4,000 by our builder."""
    repeated_characters: int = 120
    """The fewest characters that count as a repeated passage."""
