"""The pieces that a preset is made of, as values: files, rows, variables, lists, tools, agents and reminders."""

from __future__ import annotations

from collections.abc import Callable

from deepprompt.catalog import Catalog
from deepprompt.prompt import Note, Pace

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Self, TypeVar, dataclass_transform

    _T = TypeVar("_T")

    @dataclass_transform(frozen_default=True, eq_default=False)
    def value(cls: type[_T]) -> type[_T]:
        """Make a class of values, with its annotations as fields."""
else:

    def value(cls):
        """Make a class of values, with its annotations as fields: in a tenth of the time that a dataclass takes."""
        cls.fields = tuple(cls.__annotations__)
        return cls


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


class Value:
    """Something that never changes: a copy with other fields is made by `but`."""

    if not TYPE_CHECKING:
        fields = ()

        def __init__(self, *given, **named):
            self.__dict__.update(zip(self.fields, given, strict=False))
            self.__dict__.update(named)

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__} never changes; make another")

    def but(self, **changes: object) -> Self:
        """Return a copy with other values in some fields."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def __repr__(self) -> str:
        shown = [f"{name}={each!r}" for name, each in self.__dict__.items() if isinstance(each, str)]
        return f"{type(self).__name__}({', '.join(shown)})"


@value
class File(Value):
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


@value
class Row(Value):
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
    requires: tuple[str, ...] = ()
    """What a host must provide for it; `requires.py` has the words."""

    def file(self, role: str) -> File | None:
        """Return the file of a role, None if the row has none."""
        return next((file for known, file in self.files if known == role), None)

    def with_files(self, swap: Callable[[File], File]) -> Row:
        """Return the row with each of its files replaced."""
        return self.but(files=tuple((role, swap(file)) for role, file in self.files)) if self.files else self


@value
class Case(Value):
    """A text that the preset's author wrote for a variable, and the condition under which it is used."""

    when: str = "always"
    text: str = ""
    part: File | None = None


@value
class Variable(Value):
    """A variable that a preset declares: a value with or without a default, cases, a list, or a literal name."""

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
    tool: str = ""
    """The tool whose name it stands for: as the runtime enabled it, or as the caller renamed it by a value."""


@value
class OwnList(Value):
    """A list that a preset declares: the fields and flags of its items, and the field that it is sorted by."""

    name: str
    fields: tuple[str, ...]
    flags: tuple[str, ...] = ()
    sort: str = ""
    pace: Pace = Pace.PROJECT


@value
class Tool(Value):
    """A tool of a preset: its description, its schema, its other names, and the variable that texts name it by."""

    name: str
    description: File
    schema: File
    names: tuple[str, ...] = ()
    variable: str = ""
    requires: tuple[str, ...] = ()


@value
class Agent(Value):
    """An agent of a preset: what it is for, the tools it may use, what starts it, and its prompt."""

    name: str
    part: File
    about: str = ""
    tools: tuple[str, ...] = ()
    when_used: str = ""
    requires: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The prompt, with its variables as they stand in the file."""
        return self.part.text


@value
class PresetReminder(Value):
    """A reminder of a preset: the event that calls for it, and its text."""

    name: str
    part: File
    trigger: str = ""
    about: str = ""
    requires: tuple[str, ...] = ()
