"""The project context: what is found out about a session and about git."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deepprompt.prompt import Note
from deepprompt.sources.git.snapshot import GitSnapshot
from deepprompt.sources.project import ProjectContext, discover_project_context
from deepprompt.words import GitState

# What Python calls a system, and what Go does.
SYSTEMS = {
    "linux": "linux",
    "darwin": "darwin",
    "win32": "windows",
    "freebsd14": "freebsd",
    "openbsd7": "openbsd",
    "netbsd10": "netbsd",
}

SHELLS = {
    "path": ("/bin/zsh", "/bin/zsh"),
    "empty": ("", "unknown"),
    "hidden": ("/bin/z\u202esh", "/bin/z⟨U+202E⟩sh"),
}


@pytest.mark.seed("003.13")
def test_what_holds_for_a_session_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folder, date, system and shell are filled in, and git's fields are left for each turn."""
    monkeypatch.setenv("SHELL", "/bin/zsh")
    before = datetime.now(UTC)
    found = discover_project_context(tmp_path)
    dates = {day.strftime("%Y-%m-%d") for day in (before, datetime.now(UTC))}
    assert (found.cwd, found.shell) == (str(tmp_path), "/bin/zsh")
    assert found.current_date in dates
    assert found.os_name in SYSTEMS.values()
    assert (found.git_status, found.git_diff, found.active_branch) == ("", "", "")


@pytest.mark.seed("003.13")
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs time zones by environment")
@pytest.mark.parametrize("zone", ["EARLY+12", "LATE-14"])
def test_the_date_is_that_of_utc(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """The time zone of the machine does not move the date."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before = datetime.now(UTC)
        found = discover_project_context("/w").current_date
        assert found in {day.strftime("%Y-%m-%d") for day in (before, datetime.now(UTC))}
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(("platform", "name"), SYSTEMS.items())
def test_the_system_is_named_as_go_names_it(monkeypatch: pytest.MonkeyPatch, platform: str, name: str) -> None:
    """The name of the operating system has no version and is `windows` on every Windows."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", platform)
        assert discover_project_context("/w").os_name == name


@pytest.mark.parametrize(("value", "shell"), SHELLS.values(), ids=SHELLS)
def test_the_shell_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, value: str, shell: str) -> None:
    """`$SHELL` is shown with nothing hidden, or `unknown` where it is empty."""
    monkeypatch.setenv("SHELL", value)
    assert discover_project_context("/w").shell == shell


def test_without_a_shell_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `$SHELL` is not set, the shell is `unknown`."""
    monkeypatch.delenv("SHELL", raising=False)
    assert discover_project_context("/w").shell == "unknown"


def test_the_cwd_is_shown_with_nothing_hidden() -> None:
    """A folder's name that is not UTF-8 or hides something is made visible."""
    assert discover_project_context(os.fsdecode(b"/\xff\xe2\x80\xae")).cwd == "/\ufffd⟨U+202E⟩"


@pytest.mark.skipif(not hasattr(os, "uname"), reason="needs uname")
def test_the_system_version_is_the_kernel_release() -> None:
    """The version of the system is what `uname -r` prints."""
    assert discover_project_context("/w").os_version == os.uname().release


@pytest.mark.parametrize(("version", "shown"), [("10.0.26100", "10.0.26100"), ("", "unknown")])
def test_without_uname_the_version_is_that_of_the_platform(
    monkeypatch: pytest.MonkeyPatch, version: str, shown: str
) -> None:
    """Windows has no uname: its version comes from the platform, or is `unknown`."""
    with monkeypatch.context() as patch:
        patch.delattr(os, "uname", raising=False)
        patch.setattr("platform.version", lambda: version)
        assert discover_project_context("/w").os_version == shown


@pytest.mark.skipif(not hasattr(os, "uname"), reason="needs uname")
def test_an_empty_kernel_release_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that does not say its version has an unknown one."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host", "", "", "x86_64")))
        assert discover_project_context("/w").os_version == "unknown"


@pytest.mark.seed("003.14")
def test_with_git() -> None:
    """What git says now takes the place of what it said before; everything else stays."""
    project = ProjectContext(
        cwd="/p", current_date="2026-11-16", git_status=" M old", git_diff="old", active_branch="old"
    )
    now = project.with_git(GitSnapshot(status=" M new", diff="new", active_branch="main"))
    assert now == replace(project, git_status=" M new", git_diff="new", active_branch="main")


@pytest.mark.parametrize(
    ("state", "shown"),
    [("none", "(not a git repository)"), ("unreadable", "(unknown: git could not be read)"), ("read", "")],
)
def test_what_could_not_be_read_is_not_called_clean(state: GitState, shown: str) -> None:
    """Only a repository that was read has a blank status and diff, which a prompt shows as clean."""
    project = ProjectContext(cwd="/p", git_status=" M old", git_diff="old", active_branch="old")
    now = project.with_git(GitSnapshot(state=state))
    assert (now.git_status, now.git_diff, now.active_branch) == (shown, shown, "")


def test_half_of_what_git_says_is_kept() -> None:
    """Where git failed in part, what it did say is shown, and the rest is called unknown."""
    now = ProjectContext().with_git(GitSnapshot(status=" M a", active_branch="main", state="unreadable"))
    assert (now.git_status, now.git_diff) == (" M a", "(unknown: git could not be read)")


def test_the_notes_of_git_are_those_of_the_last_snapshot() -> None:
    """A context carries the notes of its own fields and those of the snapshot that it took last."""
    own, first, second = (Note("redacted", "path", name) for name in ("own", "first", "second"))
    project = ProjectContext(notes=(own,)).with_git(GitSnapshot(notes=(first,)))
    assert (project.notes, project.git_notes) == ((own,), (first,))
    again = project.with_git(GitSnapshot(notes=(second,)))
    assert (again.notes, again.git_notes) == ((own,), (second,))
    assert again == ProjectContext()


def test_what_was_changed_in_a_path_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder or shell with a hidden character in it is noted."""
    monkeypatch.setenv("SHELL", "/bin/z\u202esh")
    notes = discover_project_context("/a\u200bb").notes
    assert [note.detail for note in notes] == ["hidden U+200B", "hidden U+202E"]
