"""The README keeps its word: its example prints what it says, and its commands are ones that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepprompt.cli import main

EXAMPLE = Path(__file__).parent.parent / "examples" / "templates"
README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    """The first example, run in the folder that is described, gives the output that is shown; the second follows it."""
    (tmp_path / "AGENTS.md").write_text("Run the tests with make test.\n")
    run = subprocess.run(
        [sys.executable, "-c", "".join(blocks("python"))], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == blocks("text")[0]


def test_the_two_commands_are_there() -> None:
    """One command line installs and runs the main job, one installs what the tests need and runs them."""
    run, test = blocks("sh")
    assert run.endswith(".venv/bin/python -m deepprompt build\n")
    assert test.endswith(".venv/bin/python -m pytest\n")


@pytest.mark.parametrize("line", re.findall(r"^\| `deepprompt (.*?)`", README, re.MULTILINE))
def test_every_command_of_the_table_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Each command in the table of commands does what it is said to do, without an error."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    (tmp_path / "F").write_text("base")
    (tmp_path / "agent.json").write_text('{"identity": "You are Ada."}')
    talk = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]'
    for name in ("talk.json", "before.json", "after.json"):
        (tmp_path / name).write_text(talk)
    (tmp_path / "AGENTS.md").write_text("Run the tests with make test.\n")
    (tmp_path / "app.py").write_text("def prompt():\n    return 'You are careful.'\n")
    (tmp_path / "pyproject.toml").write_text('[tool.deepprompt.prompts]\nmain = "app:prompt"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["lock"]) == 0
    assert main(line.split()) == 0
    assert any(capsysbinary.readouterr())


def test_it_stays_short() -> None:
    """The README is under 150 lines."""
    assert README.count("\n") < 150
