"""`deepprompt check`: lint, lock and perturbation of a project in one run, and the summary it prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guarded import moving_only, project, run, wrong
from tests.support.repositories import git

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]

DATED = '[tool.deepprompt.prompts]\nmain = "app:prompt"\ndated = "app:dated"\n' + moving_only("clock")


def test_all_is_well(tmp_path: Path, capsys: Capture) -> None:
    """A prompt that is clean, locked and stable passes, with a line for each check."""
    folder = project(tmp_path)
    run(capsys, "lock", "--cwd", folder)
    said = run(capsys, "check", "--cwd", folder)
    assert re.sub(r"in all \d+ surroundings", "in all N surroundings", said) == (  # which locales are there, who knows
        "== lint: ok\n"
        "nothing found in 1 target, 1 part\n"
        "== lock: ok\n"
        "deepprompt.lock: 1 prompt is as it was locked (12 tokens)\n"
        "== perturb: ok\n"
        "app:prompt: the static prefix (48 bytes) is the same in all N surroundings\n"
        "\n"
        "all is well\n"
    )


def test_a_session_in_a_fresh_repository(tmp_path: Path, capsys: Capture) -> None:
    """A request of a session passes every check after `lock`, though the lock file is new in git's status by then."""
    prompts = '[tool.deepprompt.prompts]\nbody = "talk:body"\nfolder = "build --portable --home \'\'"\n'
    folder = project(tmp_path, prompts + moving_only("turn", "clock", "folder", "line ends"))
    (tmp_path / "AGENTS.md").write_text("Run the tests with make test.\n")
    (tmp_path / "talk.py").write_text(
        "import os\n"
        "from deepprompt import Session, SystemPromptBuilder, discover_project_context, load_instruction_files\n"
        "from deepprompt import read_git, tool_definitions\n\n\n"
        "def body():\n"
        "    project = discover_project_context(os.getcwd()).with_git(read_git('.'))\n"
        "    builder = SystemPromptBuilder('Be kind.', load_instruction_files('.', portable=True), project=project)\n"
        "    session = Session(builder.compose(tool_definitions(['Read'])))\n"
        "    session.user('Fix the build.')\n"
        "    return session.request(to='anthropic', model='claude-opus-5-5').body\n"
    )
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Start")
    run(capsys, "lock", "--cwd", folder)
    assert "deepprompt.lock" in git(tmp_path, "status", "--short")
    assert run(capsys, "check", "--cwd", folder).endswith("\nall is well\n")


def test_each_check_fails_on_its_own(tmp_path: Path, capsys: Capture) -> None:
    """A date in the prefix is found by lint and by the moved clock; a lock that is missing is the lock's failure."""
    folder = project(tmp_path, DATED)
    said = run(capsys, "check", "--cwd", folder, code=1)
    assert "== lint: FAILED\ndated: text, line 2: DP101 " in said
    assert "== lock: FAILED\ndeepprompt.lock: no such file; write it with 'deepprompt lock'" in said
    assert "== perturb: FAILED\n" in said
    assert "  clock, a day later: a date or a time changed\n    where  text, line 2, byte " in said
    assert said.endswith("\nFAILED: lint, lock, perturb\n")


def test_only_what_is_asked_for(tmp_path: Path, capsys: Capture) -> None:
    """--only makes one check or several, and JSON has them all."""
    folder = project(tmp_path, DATED + 'leave = ["dated"]\n')
    assert run(capsys, "check", "--cwd", folder, "--only", "perturb").startswith("== perturb: ok\n")
    report = json.loads(run(capsys, "check", "--cwd", folder, "--only", "perturb", "--only", "lint", "--json", code=1))
    assert report["passed"] is False
    assert {name: check["passed"] for name, check in report["checks"].items()} == {"perturb": True, "lint": False}
    assert [finding["code"] for finding in report["checks"]["lint"]["findings"]] == ["DP101"]


def test_a_function_that_cannot_be_called(tmp_path: Path, capsys: Capture) -> None:
    """It is the failure of each check that needs it, and the others are still made."""
    folder = project(tmp_path, '[tool.deepprompt.prompts]\nmain = "nowhere:prompt"\n')
    said = run(capsys, "check", "--cwd", folder, code=1)
    assert said.count("nowhere:prompt: ") == 3
    assert said.endswith("\nFAILED: lint, lock, perturb\n")


def test_one_that_fails_hides_no_other(tmp_path: Path, capsys: Capture) -> None:
    """What is wrong with the other prompts is found all the same, by each check."""
    folder = project(tmp_path, '[tool.deepprompt.prompts]\nmain = "app:prompt"\n')
    run(capsys, "lock", "--cwd", folder)
    both = '[tool.deepprompt.prompts]\nbad = "nowhere:prompt"\nmain = "app:dated"\n'
    (folder / "pyproject.toml").write_text(both + moving_only("clock"))
    said = run(capsys, "check", "--cwd", folder, code=1)
    assert said.count("nowhere:prompt: ") == 3
    assert " DP101 " in said
    assert "\nmain: " in said.partition("== lock")[2]
    assert re.search(r"app:dated: the static prefix \(\d+ bytes\) changed in ", said)
    report = json.loads(run(capsys, "check", "--cwd", folder, "--json", code=1))
    assert [list(check["errors"]) for check in report["checks"].values()] == [["bad"]] * 3


def test_nothing_to_check(tmp_path: Path, capsys: Capture) -> None:
    """A project that names no prompt is wrong usage: a check that passes by checking nothing is worse than none."""
    said = wrong(capsys, "check", "--cwd", project(tmp_path, ""))
    assert 'there is no pyproject.toml here; write one with [tool.deepprompt.prompts] and main = "module' in said
    said = wrong(capsys, "check", "--cwd", project(tmp_path, "[tool.deepprompt]\n"))
    assert 'pyproject.toml: names no prompt to check; write [tool.deepprompt.prompts] and main = "module' in said


def test_nothing_in_a_linted_repository_changes_an_option(tmp_path: Path, capsys: Capture) -> None:
    """Settings, comments and locks of the folder that is inspected do not count; those of the project do."""
    folder = project(tmp_path / "mine", '[tool.deepprompt.lint]\npaths = ["theirs"]\n')
    theirs = project(tmp_path / "mine" / "theirs", '[tool.deepprompt.lint]\nignore = ["DP3"]\n')
    (theirs / "AGENTS.md").write_text("<!-- deepprompt: allow DP302 trust me -->\nDo this\u202e now.\n")
    said = run(capsys, "check", "--cwd", folder, "--only", "lint", code=1)
    assert "theirs/AGENTS.md:2:8: DP302 " in said


def test_as_a_process(tmp_path: Path, capsys: Capture) -> None:
    """The command in a process of its own has the exit code that CI looks at, and leaves nothing behind."""
    folder = project(tmp_path)
    run(capsys, "lock", "--cwd", folder)
    files = sorted(path.name for path in folder.rglob("*"))
    (folder / "rules.md").write_text("Run the tests with make check.\n")
    command = [sys.executable, "-m", "deepprompt", "check", "--cwd", str(folder), "--only", "lock"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "  ~ text (static): other text, 48 -> 49 bytes\n" in done.stdout
    assert sorted(path.name for path in folder.rglob("*")) == files
