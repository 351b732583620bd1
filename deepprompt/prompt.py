"""The values of the whole package: `Part`, `Pace`, `Prompt`, and the `Note`s that report on them.

A prompt is an ordered list of parts, slow to fast. Joining the texts of its parts, with nothing in between,
gives the prompt's text: a part carries its own separators, so the code that makes a part writes every byte of it.
Nothing here reads a file, a clock or the environment, and nothing here knows where a part came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property

from deepprompt.errors import PaceError
from deepprompt.frozen import dataclass, field

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import TypeVar

    from deepprompt.words import NoteKind

    _T = TypeVar("_T")

_SUCH_AS = "parts, such as Part('base', text, Pace.RELEASE, origin)"

BOUNDARY_PART = "boundary"
"""The name of the part that separates the static prefix from the dynamic suffix, in prompts that have one."""

BOUNDARY_TITLE = "DYNAMIC CONTEXT"
DYNAMIC_CONTEXT_BOUNDARY = f"\n=== {BOUNDARY_TITLE} (per-turn, do not cache) ===\n"
"""The exact text of the boundary."""

INSTRUCTIONS_HEADING = "\n\n## Instruction Files (session-once)\n"
SKILLS_HEADING = "\n\n## Skills\n"
CONTEXT_HEADINGS = {"project": "\n## Project\n", "git status": "\n## Git status\n", "git diff": "\n## Git diff\n"}
"""The sections after the boundary, in order: the name of each part and the heading that its text starts with."""


class Pace(IntEnum):
    """How often a part may change, slowest first."""

    RELEASE = 0
    """With a release of the wording."""
    PROJECT = 1
    """With the project: instruction files, skills, an agent's own configuration."""
    SESSION = 2
    """With the machine, the folder or the day."""
    TURN = 3
    """With every turn."""


@dataclass(frozen=True, slots=True)
class Part:
    """A named piece of a prompt: its exact text, how often it may change, and where it came from."""

    name: str
    text: str
    pace: Pace
    origin: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader of the prompt should know, such as a file that was skipped or truncated."""

    kind: NoteKind
    """One of the words of `NoteKind`, such as `skipped`, `cut`, `neutralised`, `model` or `requires`."""
    source: str
    """The file, field or part that the note is about."""
    detail: str
    offset: int | None = None
    """The first position in the source's text, in code points, if there is one."""
    count: int = 1

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at {self.offset}"
        times = "" if self.count == 1 else f" ({self.count} times)"
        return f"{self.kind}: {self.source}{where}: {self.detail}{times}"


class NotedText(str):
    """Text that a loader read, with the loader's notes. A prompt that uses the text includes the notes."""

    notes: tuple[Note, ...]

    def __new__(cls, text: str, notes: Iterable[Note] = ()) -> NotedText:
        """Return the text, equal to any other `str` of the same characters."""
        noted = super().__new__(cls, text)
        noted.notes = tuple(notes)
        return noted


def notes_of(value: object) -> tuple[Note, ...]:
    """Return the notes that a value carries, none if it is a plain text or list."""
    notes: tuple[Note, ...] = getattr(value, "notes", ())
    return notes


@dataclass(frozen=True)
class Prompt:
    """Parts from slow to fast, the tools that a provider caches with them, and the notes about both.

    `messages` come after the system prompt, such as the pairs of a tiered context; they are not part of the text. A
    mark `cache_control` in them is a breakpoint: everything before it is slower. `fixed_order` is for systems whose
    specification puts a fast part early: the prompt is built, and a note says what the order costs. Without it, such an
    order is a `PaceError`.
    """

    parts: tuple[Part, ...]
    tools: tuple[Mapping[str, object], ...] = field(default_factory=tuple)
    notes: tuple[Note, ...] = ()
    fixed_order: bool = False
    messages: tuple[Mapping[str, object], ...] = ()

    def __post_init__(self) -> None:
        """Accept any iterables, and check the order of the parts."""
        object.__setattr__(self, "parts", expect_parts(self.parts, "Prompt: parts", _SUCH_AS))
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "messages", tuple(self.messages))
        notes = tuple(self.notes)
        if not self.fixed_order:
            check_order(self.parts)
        for fast, slow in _fast_before_slow(self.parts) if self.fixed_order else ():
            detail = f"{fast.pace.name} text here makes {slow.name!r} ({slow.pace.name}) change as often"
            note = Note("pace", fast.name, detail)
            if note not in notes:  # a copy made by dataclasses.replace carries it already
                notes += (note,)
        object.__setattr__(self, "notes", notes)

    @classmethod
    def of_checked(
        cls,
        parts: tuple[Part, ...],
        tools: tuple[Mapping[str, object], ...],
        notes: tuple[Note, ...],
        *,
        fixed_order: bool,
    ) -> Prompt:
        """Return a prompt of parts whose order was checked before, without checking it again.

        Several prompts can share `tools`: each makes copies of its own when you ask for them.
        """
        prompt = object.__new__(cls)
        prompt.__dict__.update(parts=parts, shared_tools=tools, notes=notes, fixed_order=fixed_order, messages=())
        return prompt

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name):
            if name != "tools" or "shared_tools" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            tools = self.__dict__["tools"] = copied(self.__dict__["shared_tools"])
            return tools

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """The whole prompt."""
        return "".join([part.text for part in self.parts])

    @cached_property
    def static_prefix(self) -> str:
        """The text that may be cached: everything before the boundary, or else before the first part of pace TURN."""
        return "".join([part.text for part in self.static_parts])

    @cached_property
    def dynamic_suffix(self) -> str:
        """The text that changes: everything after the boundary, or else from the first part of pace TURN on."""
        start = len(self.static_parts)
        if start < len(self.parts) and self.parts[start].name == BOUNDARY_PART:
            start += 1
        return "".join([part.text for part in self.parts[start:]])

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the text's UTF-8 bytes, in hex."""
        return sha256_hex(self.text)

    @cached_property
    def prefix_sha256(self) -> str:
        """SHA-256 of the static prefix's UTF-8 bytes, in hex."""
        return sha256_hex(self.static_prefix)

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 in hex of the text from each origin, in order. A host can ask again when one changes."""
        texts: dict[str, list[str]] = {}
        for part in self.parts:
            texts.setdefault(part.origin, []).append(part.text)
        return {origin: sha256_hex("".join(parts)) for origin, parts in texts.items()}

    @property
    def effective_paces(self) -> tuple[Pace, ...]:
        """The fastest pace up to and including each part, which is the pace that a prefix cache sees."""
        paces: list[Pace] = []
        for part in self.parts:
            paces.append(part.pace if not paces else max(paces[-1], part.pace))
        return tuple(paces)

    @cached_property
    def static_parts(self) -> tuple[Part, ...]:
        """The parts of the static prefix."""
        for index, part in enumerate(self.parts):
            if part.name == BOUNDARY_PART:
                return self.parts[:index]
        for index, part in enumerate(self.parts):
            if part.pace is Pace.TURN:
                return self.parts[:index]
        return self.parts


def copied(value: _T) -> _T:
    """Return a copy of JSON-like data in which no list and no mapping is the original's."""
    if isinstance(value, Mapping):
        return {key: copied(each) for key, each in value.items()}  # type: ignore[return-value]
    if isinstance(value, list | tuple):
        return type(value)([copied(each) for each in value])
    return value


def write_part(part: Part) -> list[object]:
    """Return a part as JSON stores it: `[name, text, pace, origin]`."""
    return [part.name, part.text, int(part.pace), part.origin]


def file_of(origin: str) -> str:
    """Return the path in the origin of a text that came from a file, "" for any other origin."""
    scheme, _, path = origin.partition(":")
    return path if scheme == "file" else ""


def read_part(row: object) -> Part:
    """Return the part that `write_part` wrote. Anything else is a `ValueError`."""
    if isinstance(row, list | tuple) and len(row) == 4:
        name, text, pace, origin = row
        texts = isinstance(name, str) and isinstance(text, str) and isinstance(origin, str)
        if texts and isinstance(pace, int) and Pace.RELEASE <= pace <= Pace.TURN:
            return Part(name, text, Pace(pace), origin)
    raise ValueError("expected [name, text, pace, origin]")


def sha256_hex(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hex."""
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()


def expect_parts(given: Iterable[Part], what: str, takes: str) -> tuple[Part, ...]:
    """Return parts as a tuple. For anything else, raise an error that says what the argument `what` takes."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        from deepprompt.arguments import wrong

        raise wrong(what, takes, given)
    parts = tuple(given)
    for part in parts:
        try:
            usable = isinstance(part.pace, Pace) and isinstance(part.text, str)
        except AttributeError:
            usable = False
        if not usable:
            _refuse(part, what, takes)
    return parts


def _refuse(part: object, what: str, takes: str) -> None:
    from deepprompt.arguments import expect, wrong

    if not isinstance(part, Part):
        raise wrong(what, takes, part, " in it")
    expect(part.pace, Pace, f"Part {part.name!r}: pace", "a Pace, such as Pace.PROJECT")
    expect(part.text, str, f"Part {part.name!r}: text", "text")


def check_order(parts: Sequence[Part]) -> None:
    """Raise if a part stands before one that is slower."""
    for fast, slow in _fast_before_slow(parts):
        raise PaceError(
            f"part {fast.name!r} (pace {fast.pace.name}) comes before part {slow.name!r} "
            f"(pace {slow.pace.name}); put slow parts first, or every change to {fast.name!r} "
            f"breaks the cache of {slow.name!r}"
        )


def _fast_before_slow(parts: Sequence[Part]) -> list[tuple[Part, Part]]:
    """Return each part that is faster than a later one, with the slowest later one."""
    pairs: list[tuple[Part, Part]] = []
    slowest: Part | None = None
    for part in reversed(parts):
        if slowest is None or part.pace <= slowest.pace:
            slowest = part
        else:
            pairs.append((part, slowest))
    pairs.reverse()
    return pairs
