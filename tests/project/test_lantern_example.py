"""examples/lantern: its own tests pass as it stands, lint finds nothing, and a change of wording fails them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "lantern"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example to be in."""
    shutil.copytree(EXAMPLE, tmp_path / "lantern", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    monkeypatch.chdir(tmp_path / "lantern")
    return tmp_path / "lantern"


def run_tests(project: Path) -> tuple[int, str]:
    """Run the example's own tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.usefixtures("project")
def test_lint(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is found in the preset."""
    assert main(["lint", "--parts", "prompts"]) == 0
    assert capsys.readouterr().out.startswith("nothing found")


def test_check(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`deepprompt check` lints the presets that the settings name, as a set."""
    assert main(["check", "--only", "lint"]) == 0
    part = project / "prompts/lantern/1.0.0/publishing.md"
    part.write_text(part.read_text() + "Use TodoWrit for ${curator}.\n")
    capsys.readouterr()
    assert main(["check", "--only", "lint"]) == 1
    out = capsys.readouterr().out
    assert "DP802 no tool 'TodoWrit' in lantern@1.0.0" in out
    assert "DP806 ${curator} is no variable" in out


@pytest.mark.slow
def test_its_own_tests(project: Path) -> None:
    """They pass as it stands; a changed word fails those whose prompt has it, and no other."""
    assert run_tests(project)[0] == 0
    part = project / "prompts/lantern/1.0.0/publishing.md"
    part.write_text(part.read_text().replace("at once", "now"))
    code, printed = run_tests(project)
    assert code == 1
    assert "FAILED tests/test_prompts.py::test_desk" in printed
    assert "test_night" not in printed.partition("short test summary")[2]
