"""The sections after the boundary: how a prompt shows a `ProjectContext`."""

from __future__ import annotations

from functools import lru_cache

from deepprompt.prompt import CONTEXT_HEADINGS, Note
from deepprompt.sources.project import ProjectContext
from deepprompt.text.disarm import escape_boundary, escape_roles, may_forge
from deepprompt.text.hygiene import is_blank, one_line, scrub
from deepprompt.text.plain import odd_characters
from deepprompt.text.secrets import may_hold_key, redact

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_KEPT = 1 << 14
_FIELDS = ("cwd", "current_date", "git_status", "git_diff", "active_branch", "os_name", "os_version", "shell")


class _NotKeptError(Exception):
    """Carries a section out of its cache: one that needed a change may hold a key, and a large one needs room."""

    def __init__(self, section: str, notes: list[Note]) -> None:
        self.section = section
        self.notes = notes


def render_project_context(project: ProjectContext) -> str:
    """Return the project, git status and git diff sections as one text."""
    try:
        return _all_sections(
            project.cwd, project.current_date, project.os_name, project.os_version, project.shell,
            project.active_branch, project.git_status, project.git_diff,
        )  # fmt: skip
    except _NotKeptError:
        return "".join(render_sections(project))
    except (AttributeError, TypeError):  # checked only now, because this runs every turn
        refuse_project(project)
        raise


def render_sections(project: ProjectContext, notes: list[Note] | None = None) -> tuple[str, str, str]:
    """Return the project, git status and git diff sections, each starting with the newline that separates it."""
    try:
        short = (
            project.cwd, project.current_date, project.os_name, project.os_version, project.shell, project.active_branch
        )  # fmt: skip
        return (
            _rendered(_project_section, short, notes),
            _rendered(_status_section, (project.git_status,), notes),
            _rendered(_diff_section, (project.git_diff,), notes),
        )
    except (AttributeError, TypeError):
        refuse_project(project)
        raise


def refuse_project(project: object) -> None:
    """Raise if a value lacks a field of a project, or has one that is not text."""
    from deepprompt.arguments import expect, wrong

    for name in _FIELDS:
        if not hasattr(project, name):
            takes = "a ProjectContext, such as discover_project_context(cwd).with_git(read_git(cwd))"
            raise wrong("SystemPromptBuilder: project", takes, project)
        expect(getattr(project, name), str, f"ProjectContext: {name}", "text")


def forget() -> None:
    """Clear the caches of sections."""
    for section in (_all_sections, _project_section, _status_section, _diff_section):
        section.cache_clear()


def _rendered(section: Callable[..., str], texts: tuple[str, ...], notes: list[Note] | None) -> str:
    try:
        return section(*texts)
    except _NotKeptError as error:
        if notes is not None:
            notes += error.notes
        return error.section


# Most sections are the same in the next turn, and looking for keys takes longer than everything else here.
@lru_cache(maxsize=64)
def _all_sections(
    cwd: str, date: str, system: str, version: str, shell: str, branch: str, status: str, diff: str
) -> str:
    if len(status) > _MOST_KEPT or len(diff) > _MOST_KEPT:
        raise _NotKeptError("", [])
    return _project_section(cwd, date, system, version, shell, branch) + _status_section(status) + _diff_section(diff)


@lru_cache(maxsize=64)
def _project_section(cwd: str, date: str, system: str, version: str, shell: str, branch: str) -> str:
    if system and version:
        system = f"{system} {version}"
    fields = (("cwd", cwd), ("date", date), ("os", system), ("shell", shell), ("branch", branch))
    notes: list[Note] = []
    section = "".join([f"- {label}: {value}\n" for label, value in fields if value])
    # All at once: a few short fields would take as long as a long text. Only printable ones stand on one line.
    if not "".join([value for _, value in fields]).isprintable() or not _is_harmless(section):
        lines = [f"- {label}: {_field(value, label, notes)}\n" for label, value in fields if value]
        section = "".join(lines)
    return _kept(CONTEXT_HEADINGS["project"] + section, notes)


@lru_cache(maxsize=64)
def _status_section(text: str) -> str:
    return _git_section("git status", text, "(clean)\n")


@lru_cache(maxsize=64)
def _diff_section(text: str) -> str:
    return _git_section("git diff", text, "(no diff)\n")


def _git_section(name: str, text: str, placeholder: str) -> str:
    notes: list[Note] = []
    return _kept(CONTEXT_HEADINGS[name] + _body(text, placeholder, name, notes), notes)


def _kept(section: str, notes: list[Note]) -> str:
    """Return a section for its cache. One that must not be kept is raised instead, which no cache stores."""
    if notes or len(section) > _MOST_KEPT:
        raise _NotKeptError(section, notes)
    return section


def _field(value: str, source: str, notes: list[Note]) -> str:
    return escape_boundary(one_line(_tame(value, source, notes), source, notes), source, notes)


def _body(text: str, placeholder: str, source: str, notes: list[Note]) -> str:
    if is_blank(text):
        return placeholder
    if not _is_harmless(text):
        text = escape_boundary(_tame(text, source, notes), source, notes)
    return text if text.endswith("\n") else text + "\n"


def _is_harmless(text: str) -> bool:
    """Whether a text needs no change: the same answer as `_tame` and `escape_boundary` give, in a fraction of the time.

    It says no to any text that it is not sure about.
    """
    return text.isascii() and not may_forge(text) and not odd_characters(text) and not may_hold_key(text)


def _tame(text: str, source: str, notes: list[Note]) -> str:
    """Return a repository's text without keys and forged speakers. Its reader has made hidden characters visible."""
    return escape_roles(redact(scrub(text, source, notes), source, notes), source, notes)
