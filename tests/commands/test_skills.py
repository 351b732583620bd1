"""`deepprompt skills`: the list, the faults, the index and the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]
GOOD = "---\nname: good\ndescription: Use when all is well.\nallowed-tools: Read Grep\nlicense: MIT\n---\nBODY\n"
BAD = "---\nname: Bad One\n---\nBODY\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a right skill and a wrong one."""
    return lay_out(tmp_path, {".agents/skills/good/SKILL.md": GOOD, ".agents/skills/bad/SKILL.md": BAD})


def test_the_list(project: Path, capsysbinary: CaptureBytes) -> None:
    """Each skill has its description, its file and its faults; then the sum."""
    assert main(["skills", "--cwd", str(project), "--home", ""]) == 0
    assert capsysbinary.readouterr().out.decode().splitlines() == [
        "Bad One: ",
        f"    {project}/.agents/skills/bad/SKILL.md",
        "    fault: name may have a-z, 0-9 and single hyphens between them",
        "    fault: name is not the name of its folder",
        "    fault: description is missing",
        "good: Use when all is well.",
        f"    {project}/.agents/skills/good/SKILL.md; tools: Read Grep",
        "2 skills, 1 with faults; the index has 103 bytes",
    ]


def test_a_profile(project: Path, capsysbinary: CaptureBytes) -> None:
    """Another profile lists its own skills and says on standard error what it leaves out; a check ends with 1."""
    assert main(["skills", "--cwd", str(project), "--home", "", "--profile", "codex", "--check", "--json"]) == 0
    said = capsysbinary.readouterr()
    (skill,) = json.loads(said.out)
    assert (skill["name"], skill["tools"], skill["license"], skill["faults"]) == ("good", ["Grep", "Read"], "MIT", [])
    assert said.err == b"deepprompt: skipped: .agents/skills/bad/SKILL.md: it has no description\n"
    assert main(["skills", "--cwd", str(project), "--home", "", "--check"]) == 1


def test_the_index(project: Path, capsysbinary: CaptureBytes) -> None:
    """`--index` prints the lines that a prompt has."""
    assert main(["skills", "--cwd", str(project), "--home", "", "--profile", "agents", "--index"]) == 0
    (line,) = capsysbinary.readouterr().out.decode().splitlines()
    assert line.startswith("good | Use when all is well. | direct | ") and line.endswith(" | Grep,Read")
