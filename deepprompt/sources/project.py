"""The project context that changes from turn to turn: what it holds, how it reads, and how it is found out."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

from deepprompt.prompt import Note
from deepprompt.sources.files import shown_path
from deepprompt.sources.secrets import redact
from deepprompt.sources.text import escape_boundary, escape_roles, is_blank, one_line, scrub


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


def discover_project_context(cwd: str | os.PathLike[str]) -> ProjectContext:
    """Fill in what holds for a session: folder, date (UTC), operating system and shell. Git is per turn."""
    return ProjectContext(
        cwd=shown_path(os.fspath(cwd), []),
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


def render_sections(project: ProjectContext, notes: list[Note]) -> tuple[str, str, str]:
    """Return the project, git status and git diff sections, each with the newline that sets it apart."""
    system = project.os_name
    if system and project.os_version:
        system = f"{system} {project.os_version}"
    fields = (
        ("cwd", project.cwd),
        ("date", project.current_date),
        ("os", system),
        ("shell", project.shell),
        ("branch", project.active_branch),
    )
    lines = [f"- {label}: {_field(value, label, notes)}\n" for label, value in fields if value]
    return (
        "\n## Project\n" + "".join(lines),
        "\n## Git status\n" + _body(project.git_status, "(clean)\n", "git status", notes),
        "\n## Git diff\n" + _body(project.git_diff, "(no diff)\n", "git diff", notes),
    )


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
