"""`deepprompt plan`: the table, the comparison, the JSON, and what a touch adds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder `a` of a repository with nested files, and change to it."""
    lay_out(
        tmp_path,
        {
            "home/.codex/AGENTS.md": "global\n",
            "p/.git/HEAD": "",
            "p/AGENTS.md": "root\n" * 8_000,
            "p/CLAUDE.md": "claude\n",
            "p/a/AGENTS.md": "near\n",
            "p/a/b/CLAUDE.md": "below\n",
            "p/a/b/x.py": "",
        },
    )
    monkeypatch.chdir(tmp_path / "p" / "a")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Path(os.path.realpath(tmp_path)) / "p"


def run(capture: CaptureBytes, *arguments: str) -> str:
    """Run `plan` and return what it prints; nothing goes to standard error."""
    assert main(["plan", *arguments]) == 0
    printed = capture.readouterr()
    assert printed.err == b""
    return printed.out.decode()


def test_the_table(project: Path, capsysbinary: CaptureBytes) -> None:
    """Each file has its state, kind, bytes and reason; then the sum."""
    lines = run(capsysbinary, "--profile", "codex").splitlines()
    assert lines[:3] == ["profile codex (Codex 0.169.0, recorded 2026-11-17)", f"root {project}", ""]
    assert [line.split()[:5] for line in lines[3:7]] == [
        ["kind", "bytes", "of", "file", "why"],
        ["loaded", "global", "6", "7", "~/.codex/AGENTS.md"],
        ["cut", "project", "32,689", "40,000", "AGENTS.md"],
        ["over", "limit", "project", "5", "a/AGENTS.md"],
    ]
    assert lines[7:] == ["included: 32,764 bytes of 2 files"]


@pytest.mark.usefixtures("project")
def test_all(capsysbinary: CaptureBytes) -> None:
    """`--all` lists the names that were looked for and are not there."""
    assert "AGENTS.override.md" not in run(capsysbinary, "--profile", "codex")
    assert "missing     project" in run(capsysbinary, "--profile", "codex", "--all")


@pytest.mark.usefixtures("project")
def test_the_comparison(capsysbinary: CaptureBytes) -> None:
    """`--compare` says for each file what every profile does with it, and in which order."""
    lines = run(capsysbinary, "--profile", "codex", "--compare", "claude-code,opencode").splitlines()
    assert lines[2].split() == ["file", "codex", "claude-code", "opencode"]
    table = {cells[0]: cells[1:] for cells in (line.split("  ") for line in lines[3:])}
    shown = {name: [cell.strip() for cell in cells if cell.strip()] for name, cells in table.items()}
    assert shown["AGENTS.md"] == ["2 cut", "-", "2 loaded"]
    assert shown["a/AGENTS.md"] == ["over limit", "-", "1 loaded"]
    assert shown["CLAUDE.md"] == ["-", "1 loaded", "shadowed"]
    assert "dsh" in run(capsysbinary, "--compare", "all")


def test_json(project: Path, capsysbinary: CaptureBytes) -> None:
    """`--json` has the texts, the digests and what a touch adds."""
    report = json.loads(run(capsysbinary, "--profile", "claude-code", "--json", "--touch", "b/x.py"))
    assert (report["profile"], report["root"]) == ("claude-code", str(project))
    assert [(entry["path"], entry["text"]) for entry in report["entries"]] == [(str(project / "CLAUDE.md"), "claude")]
    assert [entry["text"] for entry in report["touched"][0]["entries"]] == ["below"]


@pytest.mark.usefixtures("project")
def test_touch(capsysbinary: CaptureBytes) -> None:
    """`--touch` adds a table for each file."""
    printed = run(capsysbinary, "--profile", "claude-code", "--touch", "b/x.py")
    assert printed.index("on touch 1:") < printed.index("a/b/CLAUDE.md")


def test_deviations(project: Path, capsysbinary: CaptureBytes) -> None:
    """What the guard refuses and the agent would load is said below the table."""
    (project / "a" / "GEMINI.md").symlink_to("/etc/passwd")
    assert run(capsysbinary, "--profile", "gemini-cli").splitlines()[-1] == (
        "deviation: a/GEMINI.md: a link that leads out of the root is refused; the agent follows it"
    )


def test_an_unknown_profile(capsysbinary: CaptureBytes) -> None:
    """The message names the profiles that are near."""
    assert main(["plan", "--profile", "claude"]) == 1
    said = capsysbinary.readouterr().err.decode()
    assert said.startswith("deepprompt: no profile 'claude'; ")
