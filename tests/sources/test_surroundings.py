"""`gather` reads everything of a real folder; what it returns is read again in part, or whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deepprompt import ProjectContext, Surroundings, SystemPromptBuilder, gather
from deepprompt.errors import SourceError
from deepprompt.prompt import Note, NotedText
from deepprompt.sources import surroundings as module
from deepprompt.sources.git.snapshot import GitSnapshot
from deepprompt.sources.instructions import InstructionFiles
from deepprompt.sources.skills import SkillStore
from deepprompt.words import GitState
from tests.support.repositories import commit, git, make_repository, write

DATE = "2031-02-03"
SKILL = "---\nname: release\ndescription: Cut a release\n---\nSteps.\n"
NONE = "(not a git repository)"
UNKNOWN = "(unknown: git could not be read)"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a clean repository with an instruction file, a skill and a CLAUDE.md."""
    files = {"AGENTS.md": "Use tabs.\n", "skills/release/SKILL.md": SKILL, "CLAUDE.md": "Be Claude.\n", "a.txt": "a\n"}
    return make_repository(tmp_path / "project", files)


def _dirty(folder: Path) -> None:
    write(folder, {"a.txt": "b\n"})


def _none(folder: Path) -> None:
    (folder / ".git").rename(folder.parent / "elsewhere")


def _unreadable(folder: Path) -> None:
    (folder / ".git/HEAD").write_text("nonsense\n")


def _detached(folder: Path) -> None:
    git(folder, "checkout", "--quiet", "--detach")


DIFF = " a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"
# What happens to a clean repository, and then: the state of git, status, diff and branch of the project.
STATES: dict[str, tuple[Callable[[Path], None], tuple[GitState, str, str, str]]] = {
    "clean": (lambda _: None, ("read", "", "", "main")),
    "dirty": (_dirty, ("read", " M a.txt\n", DIFF, "main")),
    "none": (_none, ("none", NONE, NONE, "")),
    "unreadable": (_unreadable, ("unreadable", UNKNOWN, UNKNOWN, "")),
    "detached": (_detached, ("read", "", "", "(detached)")),
}


def _git_fields(around: Surroundings) -> tuple[GitState, str, str, str]:
    assert around.git is not None
    project = around.project
    return around.git.state, project.git_status, project.git_diff, project.active_branch


@pytest.mark.parametrize(("happens", "expected"), STATES.values(), ids=STATES)
def test_the_state_of_git(
    repository: Path, happens: Callable[[Path], None], expected: tuple[GitState, str, str, str]
) -> None:
    """Each state of a repository has its own words, both when it is gathered and when it is refreshed into."""
    before = gather(repository, date=DATE)
    happens(repository)
    assert _git_fields(gather(repository, date=DATE)) == expected
    assert _git_fields(before.refreshed()) == expected
    text = SystemPromptBuilder(project=before.refreshed().project).build()
    assert ("(clean)" in text) == (expected[:2] == ("read", ""))


def test_why_git_could_not_be_read_is_noted(repository: Path) -> None:
    """The reason is in the notes, because it varies and may be hostile; the prompt only says that it is unknown."""
    _unreadable(repository)
    (note,) = gather(repository).notes
    assert (note.kind, note.source) == ("skipped", "git")
    assert note.detail.startswith("no git context: ")


def test_everything_is_gathered(repository: Path, tmp_path: Path) -> None:
    """Instruction files, skills, project and git come from one call, and CLAUDE.md only if you ask for it."""
    write(tmp_path / "home", {"DEEPSEEK.md": "I read German.\n"})
    around = gather(repository, tmp_path / "home", date=DATE)
    assert [(file.path, file.content) for file in around.instructions] == [
        ("AGENTS.md", "Use tabs.\n"),
        ("~/DEEPSEEK.md", "I read German.\n"),
    ]
    assert around.skills.names() == ["release"]
    assert (around.project.cwd, around.project.current_date) == (str(repository), DATE)
    assert around.claude_md == ""
    assert around.shows_git
    assert gather(repository, claude_md=True).claude_md == "Be Claude.\n"


def test_what_is_not_wanted_is_not_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git no process is started and the project has no branch; without skills no folder is searched."""
    monkeypatch.setattr(module, "load_skills", None)
    monkeypatch.setenv("PATH", "/nowhere")
    around = gather(repository, git=False, skills=False)
    assert (around.git, around.shows_git, around.project.active_branch) == (None, False, "")
    assert around.skills == SkillStore()
    assert around.notes == ()
    assert around.refreshed().git is None


def test_paths_as_they_are(repository: Path) -> None:
    """Without `portable`, instruction files are shown by their whole path."""
    (file,) = gather(repository, portable=False).instructions
    assert file.path == str(repository / "AGENTS.md")


def test_no_higher_than_the_root(repository: Path) -> None:
    """A repository above the root is not read, and neither is a CLAUDE.md above it."""
    around = gather(repository / "skills", root=repository / "skills", claude_md=True)
    assert _git_fields(around) == ("none", NONE, NONE, "")
    assert around.claude_md == ""
    assert gather(repository / "skills", claude_md=True).claude_md == "Be Claude.\n"


def test_refreshed_sees_a_commit(repository: Path) -> None:
    """A commit and a change of branch show at the next turn."""
    around = gather(repository)
    git(repository, "checkout", "--quiet", "-b", "topic")
    commit(repository, "second", {"b.txt": "b\n"})
    now = around.refreshed()
    assert now.git is not None
    assert now.git.recent_commits[0].endswith(" second")
    assert now.project.active_branch == "topic"


def test_refreshed_sees_another_day(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The date is read again every turn, unless it was given."""
    today, fixed = gather(repository), gather(repository, date=DATE)
    monkeypatch.setattr("deepprompt.sources.project.time.gmtime", lambda: (2040, 5, 6, 7, 8, 9, 6, 127, 0))
    assert today.refreshed().project.current_date == "2040-05-06"
    assert today.reloaded().project.current_date == "2040-05-06"
    assert fixed.refreshed().project.current_date == DATE
    assert fixed.reloaded().project.current_date == DATE


def test_refreshed_reads_nothing_that_is_slow(repository: Path) -> None:
    """Edited instruction files, skills and CLAUDE.md wait for `reloaded`; until then they are the same objects."""
    around = gather(repository, claude_md=True)
    edited = {"AGENTS.md": "Use blanks.\n", "skills/other/SKILL.md": "# Other\n", "CLAUDE.md": "Be somebody else.\n"}
    write(repository, edited)
    now = around.refreshed()
    assert now.instructions is around.instructions
    assert now.skills is around.skills
    assert now.claude_md is around.claude_md
    assert now.project.git_status == " M AGENTS.md\n M CLAUDE.md\n?? skills/other/\n"
    again = now.reloaded()
    assert [file.content for file in again.instructions] == ["Use blanks.\n"]
    assert again.skills.names() == ["Other", "release"]
    assert again.claude_md == "Be somebody else.\n"
    assert again == again.refreshed() == again.reloaded() != now


def test_the_working_folder_may_change(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths are those of the moment of the call, and the prompt shows them whole."""
    write(tmp_path / "home", {"DEEPSEEK.md": "I read German.\n"})
    monkeypatch.chdir(repository)
    around = gather(".", "../home", root="..")
    monkeypatch.chdir("/")
    assert around.project.cwd == str(repository)
    assert around.refreshed() == around
    assert around.reloaded() == around
    assert len(around.instructions) == 2


def test_notes_of_all_loaders(repository: Path) -> None:
    """Every loader's notes are there, once each: instruction files, skills, CLAUDE.md, git."""
    write(repository, {"DEEPSEEK.md": "", "skills/more/SKILL.md": SKILL, "CLAUDE.local.md": ""})
    _unreadable(repository)
    around = gather(repository, claude_md=True)
    expected = [
        ("skipped", "DEEPSEEK.md"),
        ("skipped", "skills/release/SKILL.md"),
        ("skipped", str(repository / "CLAUDE.local.md")),
        ("skipped", "git"),
    ]
    assert [(note.kind, note.source) for note in around.notes] == expected
    (repository / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert [(note.kind, note.source) for note in around.refreshed().notes] == expected[:-1]


def test_notes_are_told_once() -> None:
    """Two loaders that say the same thing say it once, and the notes of git come last."""
    notes = [Note("redacted", name, "a key") for name in ("path", "skill", "claude", "project", "git")]
    around = Surroundings(
        instructions=InstructionFiles(notes=notes[:1]),
        skills=SkillStore(notes=notes[:2]),
        claude_md=NotedText("", notes[2:3]),
        project=ProjectContext(notes=(notes[0], notes[3])),
        git=GitSnapshot(notes=(notes[4],)),
    )
    assert around.notes == tuple(notes)
    again = replace(around, git=None, project=ProjectContext().with_git(GitSnapshot(notes=(notes[4],))))
    assert again.notes == (*notes[:3], notes[4])


def test_made_by_hand() -> None:
    """Surroundings of a test need no folder, show git if its fields are filled in, and cannot be read again."""
    around = Surroundings(project=ProjectContext(cwd="/p", git_status=" M a\n"))
    assert around.shows_git
    assert not Surroundings(project=ProjectContext(cwd="/p")).shows_git
    reason = r"these were made by hand; only gather\(cwd\) returns ones to read again"
    with pytest.raises(SourceError, match=rf"Surroundings\.refreshed: {reason}"):
        around.refreshed()
    with pytest.raises(SourceError, match=rf"Surroundings\.reloaded: {reason}"):
        around.reloaded()


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "empty cwd": (lambda: gather(""), "gather: empty cwd; pass the project's folder"),
    "no folder": (lambda: gather("/no/such"), "gather: cwd '/no/such' is not a folder"),
    "null byte": (lambda: gather("/\0"), "gather: cwd .* is not a folder"),
    "a number": (lambda: gather(3), "gather: cwd takes the path of a folder, not 3"),  # type: ignore[arg-type]
    "home": (lambda: gather(".", 3), "gather: home takes the path of a folder, not 3"),  # type: ignore[arg-type]
    "root": (lambda: gather(".", root=3), "gather: root takes the path of a folder, not 3"),  # type: ignore[arg-type]
    "empty root": (lambda: gather(".", root=""), "gather: empty root; pass a folder, or leave it out for no limit"),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(call: Callable[[], object], message: str) -> None:
    """A wrong argument is refused by name."""
    with pytest.raises(SourceError, match=message):
        call()


@pytest.mark.skipif(os.name == "nt", reason="a folder in use cannot be removed there")
def test_a_working_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path means nothing in a folder that was removed."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(SourceError, match=r"gather: cwd '\.': the current folder no longer exists"):
        gather(".")
