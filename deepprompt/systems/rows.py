"""The pieces that a preset is made of, as values: files, rows, variables, lists, tools, agents and reminders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from deepprompt.catalog import Catalog
from deepprompt.prompt import Note, Pace

SLOTS = {"append": Pace.PROJECT, "project": Pace.TURN, "environment": Pace.SESSION, "skills": Pace.PROJECT}
"""The slots that code fills in, with their paces. Every other slot is a row of the bundled preset `slots`."""

LISTS: dict[str, tuple[Pace, tuple[str, ...]]] = {
    "instructions": (Pace.PROJECT, ("PATH", "CONTENT")),
    "claude_md": (Pace.PROJECT, ("PATH", "CONTENT")),
    "skills": (Pace.PROJECT, ("NAME", "DESCRIPTION", "RUN_MODE", "HASH", "TOOLS", "PATH")),
    "mcp": (Pace.PROJECT, ("NAME", "TOOLS", "INSTRUCTIONS")),
    "commands": (Pace.PROJECT, ("NAME", "DESCRIPTION")),
    "agents": (Pace.RELEASE, ("NAME", "DESCRIPTION")),
    "tools": (Pace.RELEASE, ("NAME", "SUMMARY")),
}
"""The lists that every preset has, with their paces and fields. The first field names an item."""

BUILT_IN = {
    "CWD": Pace.SESSION,
    "OS": Pace.SESSION,
    "SHELL": Pace.SESSION,
    "DATE": Pace.SESSION,
    "BRANCH": Pace.TURN,
    "MODEL": Pace.SESSION,
    "OUTPUT_STYLE": Pace.PROJECT,
    "CLAUDE_MD": Pace.PROJECT,
    "MCP_SERVERS": Pace.PROJECT,
    "SLASH_COMMANDS": Pace.PROJECT,
}
"""The variables that every preset has, with their paces."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class File:
    """A file of a version in a catalogue. `note` says that it replaces a text that has changed since."""

    catalog: Catalog
    family: str
    version: str
    path: str
    keeps_newline: bool = False
    note: Note | None = None

    @property
    def text(self) -> str:
        """The text as it is sent: without one final newline, unless the preset keeps it."""
        text = self.catalog.file(self.family, self.version, self.path)
        if not self.catalog.is_bundled:  # a user's files may be checked out on Windows; the prefix must be the same
            from deepprompt.text.hygiene import unify_line_ends

            text = unify_line_ends(text.removeprefix("\ufeff"))
        return text if self.keeps_newline else text.removesuffix("\n")

    @property
    def name(self) -> str:
        """The path without the suffix of parts."""
        return self.path.removesuffix(".md")

    @property
    def origin(self) -> str:
        """Where a part with this text comes from."""
        return f"{self.catalog.label}:{self.family}/{self.version}/{self.path}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Row:
    """One row of a preset: what it puts into the prompt, under which name and condition, and how often it may change.

    `kind` is `part`, `text`, `slot`, `each` or `boundary`; `what` is the text, the slot or the list. `files` are those
    that it refers to by role: `part`, `frame`, `item`, `end`, `more`.
    """

    kind: str
    name: str
    what: str = ""
    when: str = "always"
    pace: Pace = Pace.RELEASE
    before: str | None = None
    """The separator to what stands before, None for the preset's."""
    files: tuple[tuple[str, File], ...] = ()
    between: str = "\n"
    raw: bool = False
    limit: int = 0

    def file(self, role: str) -> File | None:
        """Return the file of a role, None if the row has none."""
        return next((file for known, file in self.files if known == role), None)

    def with_files(self, swap: Callable[[File], File]) -> Row:
        """Return the row with each of its files replaced."""
        return replace(self, files=tuple((role, swap(file)) for role, file in self.files)) if self.files else self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Case:
    """A text of the author's for a variable, and when it is taken."""

    when: str = "always"
    text: str = ""
    part: File | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variable:
    """A variable that a preset declares: a value with or without default, cases, a list, or a name that is literal."""

    name: str
    default: str | None = None
    cases: tuple[Case, ...] = ()
    each: str = ""
    between: str = "\n"
    literal: bool = False
    pace: Pace = Pace.PROJECT
    about: str = ""
    offered: bool = False
    """Whether it is there for parts that replace ours, so that no part of the preset itself has to use it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OwnList:
    """A list that a preset declares: the fields and flags of its items, and the field that it is sorted by."""

    name: str
    fields: tuple[str, ...]
    flags: tuple[str, ...] = ()
    sort: str = ""
    pace: Pace = Pace.PROJECT


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tool:
    """A tool of a preset: its description, its schema, and its other names."""

    name: str
    description: File
    schema: File
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """An agent of a preset: what it is for, the tools it may use, what starts it, and its prompt."""

    name: str
    part: File
    about: str = ""
    tools: tuple[str, ...] = ()
    when_used: str = ""

    @property
    def text(self) -> str:
        """The prompt, with its variables as they stand in the file."""
        return self.part.text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PresetReminder:
    """A reminder of a preset: the event that calls for it, and its text."""

    name: str
    part: File
    trigger: str = ""
    about: str = ""
