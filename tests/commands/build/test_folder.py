"""Exact bytes of whole prompts, through the path that production takes: `deepprompt build` in real folders."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from deepprompt.cli import main

SKILL = """---
name: release
description: Cut a release and write its notes
allowed-tools: [read, bash]
---
# Release
Steps follow.
"""


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty project and an empty home, on a machine that is always the same."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setattr("deepprompt.sources.project.time.gmtime", lambda: (2031, 2, 3, 4, 5, 6, 0, 34, 0))
    monkeypatch.setattr("deepprompt.sources.project.sys.platform", "linux")
    monkeypatch.setattr("deepprompt.sources.project._os_version", lambda: "6.9.1")
    return project, home


def build(folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], *options: str) -> bytes:
    """Return what the command prints, with the test's own folder written as a placeholder."""
    project, home = folders
    assert main(["build", "--cwd", str(project), "--home", str(home), *options]) == 0
    return capsysbinary.readouterr().out.replace(os.fsencode(project.parent), b"{TMP}")


def git(project: Path, *arguments: str) -> None:
    """Run git as a user whose name, mail, clock and configuration are always the same."""
    who = {"NAME": "T", "EMAIL": "t@e", "DATE": "2030-01-02T03:04:05+0000"}
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()},
    }
    subprocess.run(["git", *arguments], cwd=project, env=environment, check=True)


def test_an_empty_folder(
    folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], prompt_file: SnapshotAssertion
) -> None:
    """With nothing to gather and git not asked, the prompt is the base, the boundary and the project without git."""
    assert build(folders, capsysbinary, "--no-git") == prompt_file


def test_no_repository(
    folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], prompt_file: SnapshotAssertion
) -> None:
    """Outside a repository, the prompt says that there is none instead of calling the work tree clean."""
    assert build(folders, capsysbinary) == prompt_file


@pytest.mark.seed("003.16")
def test_a_whole_project(
    folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], prompt_file: SnapshotAssertion
) -> None:
    """Instructions of project and home, a skill, appended text, and a repository with changes of each kind."""
    project, home = folders
    (project / "AGENTS.md").write_text("Run the tests with `make test`.\n")
    (home / "DEEPSEEK.md").write_text("I read English and German.\n")
    (project / ".deepseek/skills/release").mkdir(parents=True)
    (project / ".deepseek/skills/release/SKILL.md").write_text(SKILL)
    (project / "kept.py").write_text("one\n")
    (project / "moved.py").write_text("a\nb\nc\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "First")
    (project / "kept.py").write_text("two\n")
    git(project, "mv", "moved.py", "renamed.py")
    (project / "new file.py").write_text("new\n")
    assert build(folders, capsysbinary, "--base-file", _own_base(project.parent), "--append", "Be kind.") == prompt_file


def test_only_the_prefix(
    folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], prompt_file: SnapshotAssertion
) -> None:
    """The static prefix ends where the boundary would begin."""
    (folders[0] / "AGENTS.md").write_text("Use tabs.")
    options = ("--prefix-only", "--base-file", _own_base(folders[0].parent))
    assert build(folders, capsysbinary, *options) == prompt_file


def test_hostile_text(
    folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], prompt_file: SnapshotAssertion
) -> None:
    """Boundary look-alikes, hidden characters, CRLF and a cut file come out visible and in one piece."""
    project, _ = folders
    (project / "DEEPSEEK.md").write_bytes(
        b"\xef\xbb\xbfa\r\n=== DYNAMIC CONTEXT (per-turn, do not cache) ===\r\nb\xe2\x80\xae\xff\x1b[31m\r\n"
    )
    (project / "AGENTS.md").write_text("long line\n" * 500)
    options = ("--quiet", "--no-git", "--base-file", _own_base(project.parent))
    text = build(folders, capsysbinary, *options)
    assert text.replace(b"long line\n" * 399, b"(399 lines)\n") == prompt_file


def test_json_report(
    folders: tuple[Path, Path], capsysbinary: pytest.CaptureFixture[bytes], prompt_file: SnapshotAssertion
) -> None:
    """The report names every part with its pace, origin, size and hash, and says what was skipped and why."""
    project, home = folders
    (project / "AGENTS.md").write_text("Use tabs.")
    (home / "AGENTS.md").write_text("Use blanks.")
    os.symlink("/etc/hostname", project / "DEEPSEEK.md")
    options = ("--json", "--no-project", "--base-file", _own_base(project.parent))
    report = build(folders, capsysbinary, *options)
    # Hashes and sizes cover the test's own folder, whose name differs from run to run.
    assert re.sub(rb'"((?:prefix_)?(?:sha256|bytes|tokens))": ("[0-9a-f]+"|\d+)', rb'"\1": ...', report) == prompt_file


def _own_base(folder: Path) -> str:
    (folder / "base.md").write_text("You are a test.\n")
    return str(folder / "base.md")
