"""The cache-stable builder: static prefix, boundary, per-turn project context, in that exact order.

What stands before the boundary is fixed when a builder is made and never moves; what stands after it is new
each turn. Content can never forge the boundary: a look-alike in any of it gets a backslash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.catalog import bundled
from deepprompt.errors import SourceError
from deepprompt.prompt import BOUNDARY_PART, Note, Pace, Part, Prompt
from deepprompt.sources.project import ProjectContext, render_sections
from deepprompt.sources.text import escape_boundary, escape_roles, is_blank, one_line, scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from hashlib import _Hash as HASH

    from deepprompt.sources.instructions import InstructionFile

DYNAMIC_CONTEXT_BOUNDARY = "\n=== DYNAMIC CONTEXT (per-turn, do not cache) ===\n"

BASE_V1 = "base@1.0.0"

_NOTHING: tuple[ProjectContext | None, str] = (None, "")

BASE_PROMPT_V1: str
"""The bundled base prompt, three sections joined by one newline. Its bytes never change: new wording is V2."""


if not TYPE_CHECKING:  # which know the one name that there is

    def __getattr__(name: str) -> str:
        if name != "BASE_PROMPT_V1":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return "".join(part.text for part in _joined(bundled().parts(BASE_V1)))


class SystemPromptBuilder:
    """Builds the system prompt of one agent. `project` may be assigned anew each turn; the rest is fixed.

    The base is `static_base`; or, when that is empty, `base_parts`, such as another version out of a catalogue;
    or the bundled base prompt V1. `append` is the caller's own text, or parts, at the end of the static prefix.
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
            raise _wrong("project", "a ProjectContext", "discover_project_context(cwd)", project)
        notes: list[Note] = list(getattr(instructions, "notes", ()))
        parts = _base_parts(static_base, tuple(base_parts), notes)
        parts += _instruction_parts(_instruction_files(instructions), notes)
        parts += _skill_parts(skill_directory, notes)
        if isinstance(append, str):
            append = [Part("append", append, Pace.PROJECT, "argument:append")] if append else []
        parts += [Part(own.name, "\n\n" + _kept(own.text, own.name, notes), own.pace, own.origin) for own in append]
        parts.append(Part(BOUNDARY_PART, DYNAMIC_CONTEXT_BOUNDARY, Pace.TURN, "deepprompt"))
        self._parts = tuple(parts)
        self._notes = tuple(notes)
        self._prefix = "".join([part.text for part in parts])
        self._prefix_bytes: bytes | None = None
        self._hash: HASH | None = None
        # The last context, and what was made of it; together, so that another thread never sees one without the other.
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
            first, second, third = render_sections(project, [])
            text = f"{self._prefix}{first}{second}{third}"
            if type(project) is ProjectContext:  # frozen: as long as it is the same one, so is the prompt
                self._built = (project, text)
        return text

    def build_pair(self) -> tuple[str, str]:
        """Return what `build` joins: the prefix with the boundary, the same string each time, and what changes."""
        project = self.project
        if project is None:
            return self._prefix, ""
        known, suffix = self._suffix
        if known is not project:
            self._suffix = _NOTHING
            first, second, third = render_sections(project, [])
            suffix = f"{first}{second}{third}"
            if type(project) is ProjectContext:
                self._suffix = (project, suffix)
        return self._prefix, suffix

    def build_bytes(self) -> bytes:
        """Return the UTF-8 bytes of what `build` returns, without making that text."""
        if self._prefix_bytes is None:
            self._prefix_bytes = self._prefix.encode()
        sections = () if self.project is None else render_sections(self.project, [])
        return b"".join((self._prefix_bytes, *[section.encode() for section in sections]))

    def sha256(self) -> str:
        """Return the SHA-256 of what `build_bytes` returns, in hex; the prefix is hashed only once."""
        prefix, suffix = self.build_pair()
        if self._hash is None:
            from hashlib import sha256

            self._hash = sha256(prefix.encode())
        state = self._hash.copy()
        state.update(suffix.encode())
        return state.hexdigest()

    def compose(self, tools: Iterable[Mapping[str, object]] = ()) -> Prompt:
        """Return the system prompt as parts, with notes on what was neutralised, cut or left out.

        `tools` are the definitions that a provider caches with it; they are no part of the text.
        """
        notes = list(self._notes)
        parts = self._parts
        if self.project is not None:
            texts = render_sections(self.project, notes)
            names = ("project", "git status", "git diff")
            parts += tuple(Part(name, text, Pace.TURN, "project") for name, text in zip(names, texts, strict=True))
        return Prompt(parts, tuple(tools), notes=tuple(notes))


def inject_recalled(system_prompt: str, recalled: str) -> str:
    """Return the prompt with recalled memory after everything, on a line of its own behind the boundary."""
    prompt = scrub(system_prompt, "system prompt", [])
    if not any(mark in prompt for mark in (DYNAMIC_CONTEXT_BOUNDARY, DYNAMIC_CONTEXT_BOUNDARY.replace("\n", "\r\n"))):
        prompt += DYNAMIC_CONTEXT_BOUNDARY
    if recalled and not prompt.endswith("\n"):
        prompt += "\n"
    return prompt + _kept(escape_roles(recalled, "recalled", []), "recalled", [])


def _kept(text: str, source: str, notes: list[Note]) -> str:
    """Return a caller's text as it is, but for what could not be encoded or could be taken for the boundary."""
    return escape_boundary(scrub(text, source, notes), source, notes)


def _base_parts(static_base: str, base_parts: tuple[Part, ...], notes: list[Note]) -> list[Part]:
    if static_base:
        return [Part("base", _kept(static_base, "base", notes), Pace.RELEASE, "argument:static_base")]
    return [
        Part(part.name, _kept(part.text, part.name, notes), part.pace, part.origin)
        for part in _joined(base_parts or bundled().parts(BASE_V1))
    ]


def _joined(sections: tuple[Part, ...]) -> list[Part]:
    """Return sections with the one newline that stands between them."""
    first, *rest = sections
    return [first, *(Part(part.name, "\n" + part.text, part.pace, part.origin) for part in rest)]


def _instruction_files(given: Iterable[InstructionFile]) -> list[InstructionFile]:
    """Return the files, or say which call returns them. Somebody's own class will do, so the type is not asked for."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise _wrong("instructions", "InstructionFiles", "load_instruction_files(cwd)", given)
    files = list(given)
    for file in files:
        if not hasattr(file, "content"):
            raise _wrong("instructions", "InstructionFiles", "load_instruction_files(cwd)", file, " in it")
    return files


def _wrong(name: str, what: str, call: str, found: object, where: str = "") -> SourceError:
    return SourceError(f"SystemPromptBuilder: {name} takes {what}, as {call} returns, not {found!r:.60}{where}")


def _instruction_parts(files: list[InstructionFile], notes: list[Note]) -> list[Part]:
    if not files:
        return []
    heading = "\n\n## Instruction Files (session-once)\n"
    parts = [Part("instructions", heading, Pace.PROJECT, "deepprompt")]
    for file in files:
        path = _kept(one_line(file.path, "path", notes), "path", notes)
        content = _kept(file.content, path, notes)
        parts.append(Part(f"instructions {path}", f"\n[{path}]\n{content}\n", Pace.PROJECT, f"file:{path}"))
    return parts


def _skill_parts(directory: str, notes: list[Note]) -> list[Part]:
    if is_blank(directory):
        return []
    (help_line,) = bundled().parts(BASE_V1, condition="skills")
    lines = _kept(directory, "skills", notes).rstrip("\n")
    return [Part("skills", f"\n\n## Skills\n{help_line.text}{lines}\n", Pace.PROJECT, "skills")]
