"""The project context, which may change from turn to turn: its fields, and where their values come from.

How a prompt shows it is in `systems.context`.
"""

from __future__ import annotations

import os
import sys
import time

from deepprompt.frozen import dataclass, field, replace
from deepprompt.prompt import Note
from deepprompt.sources.files import path_text, shown_path

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.git.snapshot import GitSnapshot


# What a model reads in place of a status or diff that nobody could read. A blank one would say "(clean)".
_UNREAD = {"read": "", "none": "(not a git repository)", "unreadable": "(unknown: git could not be read)"}


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Where the agent runs and what git says about it.

    A prompt leaves out empty fields of the project, and shows a blank status as `(clean)`, a blank diff as `(no diff)`.
    """

    cwd: str = ""
    current_date: str = ""
    git_status: str = ""
    git_diff: str = ""
    active_branch: str = ""
    os_name: str = ""
    os_version: str = ""
    shell: str = ""
    notes: tuple[Note, ...] = field(default=(), compare=False, kw_only=True)
    """Notes on the fields that a loader filled in."""
    git_notes: tuple[Note, ...] = field(default=(), compare=False, kw_only=True)
    """Notes of the snapshot that `with_git` took."""

    def with_git(self, git: GitSnapshot) -> ProjectContext:
        """Return the same project with git's current status, diff and branch, and with the snapshot's notes.

        Outside a repository, or where git could not be read, a blank status or diff is replaced by a text that says so.
        """
        try:
            unread = _UNREAD[git.state]
            return replace(
                self,
                git_status=git.status or unread,
                git_diff=git.diff or unread,
                active_branch=git.active_branch,
                git_notes=git.notes,
            )
        except (AttributeError, KeyError):
            from deepprompt.arguments import wrong

            raise wrong("ProjectContext.with_git", "what read_git(cwd) returns", git) from None


def discover_project_context(cwd: str | os.PathLike[str]) -> ProjectContext:
    """Return the fields that hold for a session: folder, date (UTC), operating system and shell. Git is per turn."""
    notes: list[Note] = []
    return ProjectContext(
        cwd=shown_path(path_text(cwd, "discover_project_context: cwd"), notes),
        current_date=today(),
        os_name="windows" if sys.platform == "win32" else sys.platform.rstrip("0123456789"),
        os_version=_os_version(),
        shell=shown_path(os.environ.get("SHELL", ""), notes) or "unknown",
        notes=tuple(notes),
    )


def repository_top(start: str, notes: list[Note]) -> str:
    """Return the top of the repository that contains a folder, or the folder itself if there is none."""
    folder = start
    while True:
        mark = os.path.join(folder, ".git")
        try:
            os.lstat(mark)
            return folder
        except (FileNotFoundError, NotADirectoryError):
            above = os.path.dirname(folder)
            if above == folder:
                return start
            folder = above
        except OSError as error:  # it may be there: do not go past it
            notes.append(Note("skipped", shown_path(mark), f"cannot be read: {error.strerror}; nothing above counts"))
            return start


def working_project() -> str:
    """Return the folder of the project that this process works in: the top of its repository, or the working folder.

    The home folder and the root of the file system are nobody's project: for them, return "".
    """
    try:
        cwd = os.path.realpath(os.curdir)
    except OSError:  # it was removed
        return ""
    no_projects = (os.path.realpath(os.path.expanduser("~")), os.path.splitdrive(cwd)[0] + os.sep)
    return next((folder for folder in (repository_top(cwd, []), cwd) if folder not in no_projects), "")


def today() -> str:
    """Return the date in UTC, as a prompt shows it."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def _os_version() -> str:
    try:
        return os.uname().release or "unknown"
    except AttributeError:  # Windows
        import platform

        return platform.version() or "unknown"
    except OSError:
        return "unknown"
