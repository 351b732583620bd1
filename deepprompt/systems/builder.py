"""The cache-stable builder: static prefix, boundary, per-turn project context, in that exact order.

The text before the boundary is fixed when a builder is made; the text after it changes each turn. Content can never
forge the boundary: a look-alike gets a backslash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.catalog import bundled
from deepprompt.errors import DeepPromptError, SourceError
from deepprompt.prompt import (
    BOUNDARY_PART,
    CONTEXT_HEADINGS,
    DYNAMIC_CONTEXT_BOUNDARY,
    INSTRUCTIONS_HEADING,
    SKILLS_HEADING,
    Note,
    Pace,
    Part,
    Prompt,
    check_order,
    expect_parts,
    notes_of,
)
from deepprompt.sources.project import ProjectContext
from deepprompt.systems.context import refuse_project, render_sections
from deepprompt.text.disarm import escape_boundary, escape_roles
from deepprompt.text.hygiene import is_blank, one_line, scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from hashlib import _Hash as HASH
    from typing import TypeVar

    from deepprompt.sources.instructions import InstructionFile

    _T = TypeVar("_T")

BASE_V1 = "base@1.0.0"

# What an argument takes, for messages: the calls that return it.
_BASE = "text (files go to instructions=, parts to base_parts=)"
_PARTS = "parts, as bundled().parts('base~=1.0') returns"
_FILES = "InstructionFiles, as load_instruction_files(cwd) returns"
_TOOLS = "definitions, as tool_definitions(['Bash']) returns"

_NOTHING: tuple[ProjectContext | None, str] = (None, "")

BASE_PROMPT_V1: str
"""The bundled base prompt, three sections joined by one newline. Its bytes never change: new wording is V2."""


if not TYPE_CHECKING:  # which know the one name that there is

    def __getattr__(name: str) -> str:
        if name != "BASE_PROMPT_V1":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return "".join(part.text for part in _joined(bundled().parts(BASE_V1)))


class SystemPromptBuilder:
    """Builds the system prompt of one agent. You may assign a new `project` each turn; the rest is fixed.

    The base is `static_base`; or `base_parts`, such as another version out of a catalogue; or, where both are empty,
    the bundled base prompt V1. `append` is the caller's own text, or parts, at the end of the static prefix.
    """

    __slots__ = ("_built", "_hash", "_notes", "_parts", "_prefix", "_prefix_bytes", "_suffix", "project")

    def __init__(
        self,
        static_base: str = "",
        instructions: Iterable[InstructionFile] = (),
        skill_directory: str = "",
        project: ProjectContext | None = None,
        *,
        base_parts: Iterable[Part] = (),
        append: str | Iterable[Part] = "",
    ) -> None:
        if project is not None and not hasattr(project, "git_status"):
            refuse_project(project)
        notes: list[Note] = [
            note for given in (static_base, instructions, skill_directory, append) for note in notes_of(given)
        ]
        parts = _base_parts(static_base, expect_parts(base_parts, "SystemPromptBuilder: base_parts", _PARTS), notes)
        # A caller's own class with these fields will do, so the type is not checked.
        parts += _instruction_parts(_each(instructions, "content", "SystemPromptBuilder: instructions", _FILES), notes)
        parts += _skill_parts(skill_directory, notes)
        if isinstance(append, str):
            append = [Part("append", append, Pace.PROJECT, "argument:append")] if append else []
        own_parts = expect_parts(append, "SystemPromptBuilder: append", f"text, or {_PARTS}")
        parts += [Part(own.name, "\n\n" + _kept(own.text, own.name, notes), own.pace, own.origin) for own in own_parts]
        parts.append(Part(BOUNDARY_PART, DYNAMIC_CONTEXT_BOUNDARY, Pace.TURN, "deepprompt"))
        check_order(parts)
        self._parts = tuple(parts)
        self._notes = tuple(notes)
        self._prefix = "".join([part.text for part in parts])
        self._prefix_bytes: bytes | None = None
        self._hash: HASH | None = None
        # The last context and its text, in one tuple: another thread never sees one without the other.
        self._built = self._suffix = _NOTHING
        self.project = project

    def build(self) -> str:
        """Return the system prompt."""
        project = self.project
        if project is None:
            return self._prefix
        known, text = self._built
        if known is not project:
            self._built = _NOTHING  # before the new text is made: its memory is at hand then, and in the cache
            first, second, third = render_sections(project)
            text = f"{self._prefix}{first}{second}{third}"
            if type(project) is ProjectContext:  # frozen: as long as it is the same one, so is the prompt
                self._built = (project, text)
        return text

    def build_pair(self) -> tuple[str, str]:
        """Return the two texts that `build` joins: the prefix with the boundary, always the same one, and the rest."""
        project = self.project
        if project is None:
            return self._prefix, ""
        known, suffix = self._suffix
        if known is not project:
            self._suffix = _NOTHING
            first, second, third = render_sections(project)
            suffix = f"{first}{second}{third}"
            if type(project) is ProjectContext:
                self._suffix = (project, suffix)
        return self._prefix, suffix

    def build_bytes(self) -> bytes:
        """Return the UTF-8 bytes of the system prompt, without building its text."""
        if self._prefix_bytes is None:
            self._prefix_bytes = self._prefix.encode()
        sections = () if self.project is None else render_sections(self.project)
        return b"".join((self._prefix_bytes, *[section.encode() for section in sections]))

    def sha256(self) -> str:
        """Return the SHA-256 of the system prompt's UTF-8 bytes, in hex. The prefix is hashed only once."""
        prefix, suffix = self.build_pair()
        if self._hash is None:
            from hashlib import sha256

            self._hash = sha256(prefix.encode())
        state = self._hash.copy()
        state.update(suffix.encode())
        return state.hexdigest()

    def compose(self, tools: Iterable[Mapping[str, object]] = ()) -> Prompt:
        """Return the system prompt as parts, with notes on text that was neutralised, truncated or left out.

        `tools` are the definitions that a provider caches with it; they are no part of the text.
        """
        notes = list(self._notes)
        parts = self._parts
        if self.project is not None:
            notes += (*notes_of(self.project), *getattr(self.project, "git_notes", ()))
            texts = render_sections(self.project, notes)
            named = zip(CONTEXT_HEADINGS, texts, strict=True)
            parts += tuple(Part(name, text, Pace.TURN, "project") for name, text in named)
        definitions = _each(tools, "keys", "SystemPromptBuilder.compose: tools", _TOOLS)
        return Prompt(parts, tuple(definitions), notes=tuple(notes))


def inject_recalled(system_prompt: str, recalled: str) -> str:
    """Return the prompt with recalled memory at its end, on a new line after the boundary."""
    if not isinstance(system_prompt, str):
        raise _wrong("inject_recalled: system_prompt", "text, such as prompt.text", system_prompt)
    if not isinstance(recalled, str):
        raise _wrong("inject_recalled: recalled", "text", recalled)
    prompt = scrub(system_prompt)
    if not any(mark in prompt for mark in (DYNAMIC_CONTEXT_BOUNDARY, DYNAMIC_CONTEXT_BOUNDARY.replace("\n", "\r\n"))):
        prompt += DYNAMIC_CONTEXT_BOUNDARY
    if recalled and not prompt.endswith("\n"):
        prompt += "\n"
    return prompt + _kept(escape_roles(recalled), "recalled", [])


def _kept(text: str, source: str, notes: list[Note]) -> str:
    """Return a caller's text unchanged, except for lone surrogates and look-alikes of the boundary."""
    return escape_boundary(scrub(text, source, notes), source, notes)


def _base_parts(static_base: str, base_parts: tuple[Part, ...], notes: list[Note]) -> list[Part]:
    if not isinstance(static_base, str):
        raise _wrong("SystemPromptBuilder: static_base", _BASE, static_base)
    if static_base and base_parts:
        raise SourceError("SystemPromptBuilder: static_base and base_parts are two bases; give one of them")
    if static_base:
        return [Part("base", _kept(static_base, "base", notes), Pace.RELEASE, "argument:static_base")]
    return [
        Part(part.name, _kept(part.text, part.name, notes), part.pace, part.origin)
        for part in _joined(base_parts or bundled().parts(BASE_V1))
    ]


def _joined(sections: tuple[Part, ...]) -> list[Part]:
    """Return sections with one newline between them."""
    first, *rest = sections
    return [first, *(Part(part.name, "\n" + part.text, part.pace, part.origin) for part in rest)]


def _each(given: Iterable[_T], attribute: str, what: str, takes: str) -> list[_T]:
    """Return the given values as a list. Raise if one lacks an attribute that every right value has."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise _wrong(what, takes, given)
    each = list(given)
    for one in each:
        if not hasattr(one, attribute):
            raise _wrong(what, takes, one, " in it")
    return each


def _wrong(what: str, takes: str, given: object, where: str = "") -> DeepPromptError:
    from deepprompt.arguments import wrong  # nobody who passes the right thing pays for it

    return wrong(what, takes, given, where)


def _instruction_parts(files: list[InstructionFile], notes: list[Note]) -> list[Part]:
    if not files:
        return []
    parts = [Part("instructions", INSTRUCTIONS_HEADING, Pace.PROJECT, "deepprompt")]
    for file in files:
        path = _kept(one_line(file.path, "path", notes), "path", notes)
        content = _kept(file.content, path, notes)
        parts.append(Part(f"instructions {path}", f"\n[{path}]\n{content}\n", Pace.PROJECT, f"file:{path}"))
    return parts


def _skill_parts(directory: str, notes: list[Note]) -> list[Part]:
    if not isinstance(directory, str):
        raise _wrong(
            "SystemPromptBuilder: skill_directory", "text, as load_skills(cwd).index_text() returns", directory
        )
    if is_blank(directory):
        return []
    (help_line,) = bundled().parts(BASE_V1, condition="skills")
    lines = _kept(directory, "skills", notes).rstrip("\n")
    return [Part("skills", f"{SKILLS_HEADING}{help_line.text}{lines}\n", Pace.PROJECT, "skills")]
