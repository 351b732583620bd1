"""Everything that a prompt shows of the outside world, gathered in one call, and read again as it changes.

Each loader knows how to read one kind of input. This module knows which of them a session reads once, which it reads
every turn, and with which arguments.
"""

from __future__ import annotations

import os

from deepprompt.errors import SourceError
from deepprompt.frozen import dataclass, field, replace
from deepprompt.prompt import Note, notes_of
from deepprompt.sources.files import is_folder, path_text, shown_path
from deepprompt.sources.instructions import DEFAULT_PROFILE, InstructionFiles, load_instruction_files
from deepprompt.sources.project import ProjectContext, discover_project_context, today
from deepprompt.sources.skills import SkillStore, load_skills

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.git.snapshot import GitSnapshot


class _Asked:
    """The arguments of `gather`, with absolute paths, so that a later `os.chdir` changes nothing."""

    __slots__ = (
        "claude_md", "cwd", "date", "git", "home", "instructions_limit", "portable", "profile", "root", "skills",
        "timeout",
    )  # fmt: skip

    def __init__(
        self,
        cwd: str,
        home: str,
        root: str | None,
        *,
        portable: bool,
        git: bool,
        skills: bool,
        claude_md: bool,
        timeout: float,
        date: str,
        profile: str | os.PathLike[str],
        instructions_limit: int | None,
    ) -> None:  # not a dataclass: making one takes as long as importing a module
        self.cwd = cwd
        self.home = home
        self.root = root
        self.portable = portable
        self.git = git
        self.skills = skills
        self.claude_md = claude_md
        self.timeout = timeout
        self.date = date
        self.profile = profile
        self.instructions_limit = instructions_limit


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The inputs of a prompt that come from outside. Get them from `gather`, or fill in the fields by hand for a test.

    Inputs that are not read again stay the same objects, so that a prompt can reuse what it built from them.
    """

    instructions: InstructionFiles = field(default_factory=InstructionFiles)
    skills: SkillStore = field(default_factory=SkillStore)
    project: ProjectContext = field(default_factory=ProjectContext)
    """Folder, date, system, shell, and what git says: as `SystemPromptBuilder` takes it."""
    git: GitSnapshot | None = None
    """None if git was not asked for. A prompt then has no sections about git."""
    claude_md: str = ""
    _asked: _Asked | None = field(default=None, compare=False, repr=False)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of all loaders, once each: instruction files, skills, CLAUDE.md, project, git."""
        noted = [notes_of(source) for source in (self.instructions, self.skills, self.claude_md, self.project)]
        noted += (self.project.git_notes, notes_of(self.git))  # the same ones, unless you filled them in
        if not any(noted):
            return ()
        return tuple(dict.fromkeys(note for notes in noted for note in notes))

    @property
    def shows_git(self) -> bool:
        """Whether a prompt has sections for git's status and diff: git was asked for, or you filled them in."""
        return self.git is not None or bool(self.project.git_status or self.project.git_diff)

    @property
    def searched(self) -> tuple[str, str]:
        """The project's folder and the home folder that were searched, "" for each that is not known."""
        return (self._asked.cwd, self._asked.home) if self._asked else ("", "")

    def refreshed(self) -> Surroundings:
        """Return them with what changes from turn to turn read again: date, branch, status and diff.

        Raises `SourceError` if you filled in the fields by hand, so that no folder is known.
        """
        asked = self._ask("refreshed")
        project, git = _with_git(replace(self.project, current_date=asked.date or today()), asked)
        return replace(self, project=project, git=git)

    def reloaded(self) -> Surroundings:
        """Return them with everything read again: instruction files, skills and CLAUDE.md as well.

        Raises `SourceError` if you filled in the fields by hand, so that no folder is known.
        """
        return _read(self._ask("reloaded"))

    def _ask(self, method: str) -> _Asked:
        if self._asked is None:
            raise SourceError(
                f"Surroundings.{method}: these were made by hand; only gather(cwd) returns ones to read again"
            )
        return self._asked


def gather(
    cwd: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = "",
    *,
    root: str | os.PathLike[str] | None = None,
    portable: bool = True,
    git: bool = True,
    skills: bool = True,
    claude_md: bool = False,
    timeout: float = 2.0,
    date: str = "",
    profile: str | os.PathLike[str] = DEFAULT_PROFILE,
    instructions_limit: int | None = None,
) -> Surroundings:
    """Read everything that a prompt shows of a folder: instruction files, skills, project and git.

    `home` is searched after `cwd` for instruction files and skills. The repository, and CLAUDE.md files where they are
    asked for, are looked for no higher than `root`. `portable` shows instruction files by paths that are the same on
    every machine. Git has `timeout` seconds in total. `date` takes the place of today's. Instruction files and skills
    are those of a `profile`, see `plan_instructions`; `instructions_limit`, in bytes, replaces its limits. Raises
    `SourceError` if `cwd` is not a folder. A file that cannot be read is a note, not an error.
    """
    cwd = _absolute(cwd, "cwd")
    if not cwd:
        raise SourceError("gather: empty cwd; pass the project's folder")
    if not is_folder(cwd):
        raise SourceError(f"gather: cwd {shown_path(cwd)!r} is not a folder")
    if root is not None and not (root := _absolute(root, "root")):
        raise SourceError("gather: empty root; pass a folder, or leave it out for no limit")
    return _read(
        _Asked(
            cwd,
            _absolute(home or "", "home"),
            root,
            portable=portable,
            git=git,
            skills=skills,
            claude_md=claude_md,
            timeout=timeout,
            date=date,
            profile=profile,
            instructions_limit=instructions_limit,
        )
    )


def _absolute(path: str | os.PathLike[str], name: str) -> str:
    """Return an argument as an absolute path, "" if it is empty."""
    text = path_text(path, f"gather: {name}")
    try:
        return os.path.abspath(text) if text else ""
    except FileNotFoundError:
        raise SourceError(f"gather: {name} {shown_path(text)!r}: the current folder no longer exists") from None


def _read(asked: _Asked) -> Surroundings:
    project = discover_project_context(asked.cwd)
    project, git = _with_git(replace(project, current_date=asked.date) if asked.date else project, asked)
    return Surroundings(
        instructions=_instructions(asked),
        skills=_skills(asked),
        project=project,
        git=git,
        claude_md=_claude_md(asked),
        _asked=asked,
    )


def _instructions(asked: _Asked) -> InstructionFiles:
    return load_instruction_files(
        asked.cwd,
        asked.home,
        portable=asked.portable,
        profile=asked.profile,
        root=asked.root,
        file_limit=asked.instructions_limit,
        total_limit=asked.instructions_limit,
    )


def _skills(asked: _Asked) -> SkillStore:
    if not asked.skills:
        return SkillStore()
    return load_skills(asked.cwd, asked.home, profile=asked.profile, root=asked.root)


def _with_git(project: ProjectContext, asked: _Asked) -> tuple[ProjectContext, GitSnapshot | None]:
    if not asked.git:
        return project, None
    from deepprompt.sources.git.snapshot import read_git  # a process that leaves git out does not pay for it

    git = read_git(asked.cwd, asked.timeout, asked.root)
    return project.with_git(git), git


def _claude_md(asked: _Asked) -> str:
    if not asked.claude_md:
        return ""
    from deepprompt.sources.claude_md import load_claude_md

    return load_claude_md(asked.cwd, asked.root)
