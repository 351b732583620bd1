"""The README keeps its word: its test passes, its commands exist, and it stays short. `test_pages` follows the rest."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.pages import read_blocks
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "templates"
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = read_blocks(README)


@pytest.mark.slow
def test_the_test_passes(tmp_path: Path) -> None:
    """The test that the README shows fails without its snapshot, and passes with the flag that writes it."""
    (block,) = [block for block in BLOCKS if block.title == "test_prompt.py"]
    (tmp_path / block.title).write_text(block.text)
    for flags, code in (([], 1), (["--snapshot-update"], 0)):
        done = subprocess.run([sys.executable, "-m", "pytest", *flags], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == code, done.stdout.decode()


def test_the_two_commands_are_there() -> None:
    """One command line installs and runs the main job, one installs what the tests need and runs them."""
    _, run, test = [block.text for block in BLOCKS if block.language == "sh"]
    assert run.endswith(".venv/bin/python -m deepprompt build\n")
    assert test.endswith(".venv/bin/python -m pytest\n")


def test_every_link_leads_somewhere() -> None:
    """Pages and pictures that the README links are in the repository."""
    links = re.findall(r"\]\(([^)]+)\)", README)
    headings = {f"#{heading.lower().replace(' ', '-')}" for heading in re.findall(r"^## (.+)$", README, re.MULTILINE)}
    assert len(links) > 20
    assert [link for link in links if link not in headings and not (ROOT / link).is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("line", re.findall(r"^\| `deepprompt (?!record)(.*?)`", README, re.MULTILINE))
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
