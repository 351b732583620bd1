"""The cache-stable builder: static prefix, boundary, per-turn project context, in that exact order.

The text before the boundary is fixed when a builder is made; the text after it changes each turn. Content can never
forge the boundary: a look-alike gets a backslash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.errors import DeepPromptError, SourceError
from deepprompt.prompt import (
    CONTEXT_HEADINGS,
    DYNAMIC_CONTEXT_BOUNDARY,
    Note,
    Pace,
    Part,
    Prompt,
    check_order,
    expect_parts,
    notes_of,
)
from deepprompt.sources.project import ProjectContext
from deepprompt.systems.compose import prefix
from deepprompt.systems.context import refuse_project, render_project_context, render_sections
from deepprompt.systems.inputs import Inputs
from deepprompt.systems.presets import load_preset
from deepprompt.text.disarm import escape_boundary, escape_roles
from deepprompt.text.hygiene import scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from hashlib import _Hash as HASH
    from typing import TypeVar

    from deepprompt.sources.instructions import InstructionFile

    _T = TypeVar("_T")

DEEPSEEK_V1 = "deepseek@1.0.0"

# What an argument takes, for messages: the calls that return it.
_BASE = "text (files go to instructions=, parts to base_parts=)"
_PARTS = "parts, such as Part('base', text, Pace.RELEASE, origin)"
_FILES = "InstructionFiles, as load_instruction_files(cwd) returns"
_TOOLS = "definitions, as tool_definitions(['Bash']) returns"

_NOTHING: tuple[ProjectContext | None, str] = (None, "")

BASE_PROMPT_V1: str
"""The bundled base prompt, three sections joined by one newline. Its bytes never change: new wording is V2."""


if not TYPE_CHECKING:  # which know the one name that there is

    def __getattr__(name: str) -> str:
        if name != "BASE_PROMPT_V1":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return load_preset(DEEPSEEK_V1).compose().static_prefix


class _Given:
    """The files and skills that a builder was given, as a preset asks for them."""

    __slots__ = ("_directory", "instructions")

    def __init__(self, instructions: list[InstructionFile], directory: str) -> None:
        self.instructions = instructions
        self._directory = directory

    @property
    def skills(self) -> _Given:
        return self

    def index_text(self) -> str:
        return self._directory


class SystemPromptBuilder:
    """Builds the system prompt of one agent. You may assign a new `project` each turn; the rest is fixed.

    The base is `static_base`; or `base_parts`, joined with one newline; or, where both are empty, the bundled base
    prompt V1. `append` is the caller's own text, or parts, at the end of the static prefix. Raises `SourceError` for
    two bases, or an argument of a wrong type.
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
        if not isinstance(static_base, str):
            raise _wrong("SystemPromptBuilder: static_base", _BASE, static_base)
        if not isinstance(skill_directory, str):
            takes = "text, as load_skills(cwd).index_text() returns"
            raise _wrong("SystemPromptBuilder: skill_directory", takes, skill_directory)
        notes: list[Note] = [
            note for given in (static_base, instructions, skill_directory, append) for note in notes_of(given)
        ]
        base = expect_parts(base_parts, "SystemPromptBuilder: base_parts", _PARTS)
        if static_base and base:
            raise SourceError("SystemPromptBuilder: static_base and base_parts are two bases; give one of them")
        if static_base:
            base = (Part("base", static_base, Pace.RELEASE, "argument:static_base"),)
        if not isinstance(append, str):
            append = expect_parts(append, "SystemPromptBuilder: append", f"text, or {_PARTS}")
        # A caller's own class with these fields will do, so the type is not checked.
        files = _each(instructions, "content", "SystemPromptBuilder: instructions", _FILES)
        given = _Given(files, skill_directory)
        parts = prefix(load_preset(DEEPSEEK_V1), given, Inputs(base=base, append=append), notes)
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
            text = self._prefix + render_project_context(project)
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
            suffix = render_project_context(project)
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
        known, text = self._built
        # Most hash what they have just built. To cut it out of that is faster than to render it again.
        suffix = text[len(self._prefix) :] if known is not None and known is self.project else self.build_pair()[1]
        if self._hash is None:
            from hashlib import sha256

            self._hash = sha256(self._prefix.encode())
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
    return prompt + escape_boundary(scrub(escape_roles(recalled)))


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
