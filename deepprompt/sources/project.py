"""The project context that changes from turn to turn: what it holds, how it reads, and how it is found out."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, fields, replace

from deepprompt.prompt import CONTEXT_HEADINGS, Note
from deepprompt.sources.files import path_text, shown_path
from deepprompt.text.hygiene import escape_boundary, escape_roles, is_blank, one_line, scrub
from deepprompt.text.secrets import redact

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.git.snapshot import GitSnapshot


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Where the agent runs and what git says about it. An empty field is left out of the prompt."""

    cwd: str = ""
    current_date: str = ""
    git_status: str = ""
    git_diff: str = ""
    active_branch: str = ""
    os_name: str = ""
    os_version: str = ""
    shell: str = ""

    def with_git(self, git: GitSnapshot) -> ProjectContext:
        """Return the same project with what git says now."""
        try:
            return replace(self, git_status=git.status, git_diff=git.diff, active_branch=git.active_branch)
        except AttributeError:
            from deepprompt.arguments import wrong

            raise wrong("ProjectContext.with_git", "what read_git(cwd) returns", git) from None


def discover_project_context(cwd: str | os.PathLike[str]) -> ProjectContext:
    """Fill in what holds for a session: folder, date (UTC), operating system and shell. Git is per turn."""
    return ProjectContext(
        cwd=shown_path(path_text(cwd, "discover_project_context: cwd"), []),
        current_date=time.strftime("%Y-%m-%d", time.gmtime()),
        os_name="windows" if sys.platform == "win32" else sys.platform.rstrip("0123456789"),
        os_version=_os_version(),
        shell=shown_path(os.environ.get("SHELL", ""), []) or "unknown",
    )


def _os_version() -> str:
    try:
        return os.uname().release or "unknown"
    except AttributeError:  # Windows
        import platform

        return platform.version() or "unknown"
    except OSError:
        return "unknown"


def render_project_context(project: ProjectContext) -> str:
    """Return the project, git status and git diff sections as one text."""
    return "".join(render_sections(project, []))


# Sections that needed no change, by the texts they were made of: most are the same in the next turn, and looking for
# keys takes longer than everything else here. One that needed a change is never kept, nor is the key it may hold.
_known_projects: dict[object, str] = {}
_known_statuses: dict[object, str] = {}
_known_diffs: dict[object, str] = {}
_MOST_KNOWN = 64
_MOST_KEPT = 1 << 14


def render_sections(project: ProjectContext, notes: list[Note]) -> tuple[str, str, str]:
    """Return the project, git status and git diff sections, each with the newline that sets it apart."""
    try:
        short = (
            project.cwd, project.current_date, project.os_name, project.os_version, project.shell, project.active_branch
        )  # fmt: skip
        status, diff = project.git_status, project.git_diff
        return (
            _known_projects.get(short) or _project_section(short, notes),
            _known_statuses.get(status) or _status_section(status, notes),
            _known_diffs.get(diff) or _diff_section(diff, notes),
        )
    except (AttributeError, TypeError):  # looked into only now: this runs every turn
        refuse_project(project)
        raise


def refuse_project(project: object) -> None:
    """Refuse what stands in the place of a project and lacks a field of one, or has one that is no text."""
    from deepprompt.arguments import expect, wrong

    for field in fields(ProjectContext):
        if not hasattr(project, field.name):
            takes = "a ProjectContext, such as discover_project_context(cwd).with_git(read_git(cwd))"
            raise wrong("SystemPromptBuilder: project", takes, project)
        expect(getattr(project, field.name), str, f"ProjectContext: {field.name}", "text")


def remember_git(status: str, diff: str) -> None:
    """Look at what git said before a prompt is built with it: what needs no change is taken as it is then."""
    if status not in _known_statuses:
        _status_section(status, [])
    if diff not in _known_diffs:
        _diff_section(diff, [])


def forget() -> None:
    """Forget the sections that are known: the next ones are looked at anew."""
    _known_projects.clear()
    _known_statuses.clear()
    _known_diffs.clear()


def _project_section(short: tuple[str, ...], notes: list[Note]) -> str:
    cwd, date, system, version, shell, branch = short
    if system and version:
        system = f"{system} {version}"
    fields = (("cwd", cwd), ("date", date), ("os", system), ("shell", shell), ("branch", branch))
    found: list[Note] = []
    lines = [f"- {label}: {_field(value, label, found)}\n" for label, value in fields if value]
    section = CONTEXT_HEADINGS["project"] + "".join(lines)
    return _kept(_known_projects, short, section, found, notes)


def _status_section(text: str, notes: list[Note]) -> str:
    found: list[Note] = []
    section = CONTEXT_HEADINGS["git status"] + _body(text, "(clean)\n", "git status", found)
    return _kept(_known_statuses, text, section, found, notes)


def _diff_section(text: str, notes: list[Note]) -> str:
    found: list[Note] = []
    section = CONTEXT_HEADINGS["git diff"] + _body(text, "(no diff)\n", "git diff", found)
    return _kept(_known_diffs, text, section, found, notes)


def _kept(known: dict[object, str], key: object, section: str, found: list[Note], notes: list[Note]) -> str:
    """Return a section, and remember it if nothing was found in it; a full memory forgets its older half."""
    notes += found
    if not found and len(section) <= _MOST_KEPT:
        if len(known) >= _MOST_KNOWN:
            for old in list(known)[: _MOST_KNOWN // 2]:
                known.pop(old, None)  # another thread may have done so
        known[key] = section
    return section


def _field(value: str, source: str, notes: list[Note]) -> str:
    return escape_boundary(one_line(_tame(value, source, notes), source, notes), source, notes)


def _body(text: str, placeholder: str, source: str, notes: list[Note]) -> str:
    if is_blank(text):
        return placeholder
    text = escape_boundary(_tame(text, source, notes), source, notes)
    return text if text.endswith("\n") else text + "\n"


def _tame(text: str, source: str, notes: list[Note]) -> str:
    """Return what a repository may have named, disarmed; who read it has made the hidden visible."""
    return escape_roles(redact(scrub(text, source, notes), source, notes), source, notes)
