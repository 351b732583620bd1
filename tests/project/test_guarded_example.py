"""examples/guarded: its workflow's own steps pass as it stands, and each change that they are there for fails one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection
from pathlib import Path

import pytest
import yaml

from deepprompt.checks.perturb.moves import MOVES
from tests.support.nested import ITS_PLUGINS
from tests.support.paths import ROOT
from tests.support.repositories import ENVIRONMENT, git

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "guarded"
CHECK, SNAPSHOTS, SARIF = "Lint, lock and perturbation", "Snapshots", "Findings as SARIF"


def run_steps() -> dict[str, str]:
    """The steps of the workflow that run something, but for the one that installs."""
    workflow = yaml.safe_load((EXAMPLE / ".github/workflows/prompts.yml").read_text("utf-8"))
    steps = workflow["jobs"]["guard"]["steps"]
    return {step["name"]: step["run"] for step in steps if not step.get("run", "pip install").startswith("pip install")}


class Repository:
    """A copy of the example as a repository of its own, which perturbs with some of the moves."""

    def __init__(self, folder: Path, moves: Collection[str]) -> None:
        self.folder = folder / "repository"
        shutil.copytree(EXAMPLE, self.folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache", "*.sarif"))
        (folder / "home").mkdir()
        self.environment = ENVIRONMENT | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "LC_ALL": "C.UTF-8",
            "CI": "true",
            **ITS_PLUGINS,
        }
        if skip := [move for move in MOVES if move not in ("again", *moves)]:
            self.change("pyproject.toml", ("\nleave = ", f"\nskip = {skip}\nleave = "))
            self.change("tests/test_prompts.py", ("_stable(triage)", f"_stable(triage, skip={skip})"))
        git(self.folder, "init", "--quiet", "--initial-branch=main")
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message=Guarded")

    def run(self, command: str) -> tuple[bool, str]:
        """Run a command as a workflow does; return whether it ended well, and all that it printed."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
        return done.returncode == 0, done.stdout.decode()

    def step(self, name: str) -> tuple[bool, str]:
        """Run a step of the workflow."""
        return self.run(run_steps()[name])

    def change(self, name: str, *replacements: tuple[str, str]) -> None:
        """Replace text that a file has exactly once."""
        path = self.folder / name
        text = path.read_text("utf-8")
        for old, new in replacements:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text, "utf-8")

    def changed(self) -> list[str]:
        """The files that are not as they were committed."""
        return [line[3:] for line in git(self.folder, "status", "--porcelain").splitlines()]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The example as a repository, which makes as good as no move; test_all_is_well makes all of them."""
    return Repository(tmp_path, ())


def test_the_steps_are_those_that_are_tried() -> None:
    """The workflow has the three steps that the tests here run, and installs an extra that there is."""
    assert list(run_steps()) == [CHECK, SNAPSHOTS, SARIF]
    (extra,) = re.findall(r"deepprompt\[(\w+)\]", (EXAMPLE / ".github/workflows/prompts.yml").read_text("utf-8"))
    assert extra in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def test_all_is_well(tmp_path: Path) -> None:
    """As it is committed every step passes, and leaves no file but those that git ignores."""
    repository = Repository(tmp_path, MOVES)
    for name in run_steps():
        well, printed = repository.step(name)
        assert well, printed
    assert repository.changed() == []
    assert json.loads((repository.folder / "deepprompt.sarif").read_text("utf-8"))["runs"][0]["results"] == []


def test_a_word(repository: Repository) -> None:
    """A word is found with what the README shows; locked and updated, the change passes, and shows in both files."""
    repository.change("AGENTS.md", ("twice", "carefully"))
    printed = []
    for command, said in [
        (f"{run_steps()[CHECK]} --only lint --only lock", "FAILED: lock"),
        (f"{run_steps()[SNAPSHOTS]} -k 'agent or request'", "FAILED tests/test_prompts.py::test_agent"),
    ]:  # test_all_is_well and test_a_change run the steps whole
        well, output = repository.run(command)
        assert not well
        assert said in output
        printed.append(output)
    shown = re.findall(r"^```text\n(.*?)^```$", (EXAMPLE / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    for block in shown:
        assert any(block in output for output in printed), "".join(printed)

    well, output = repository.run("deepprompt lock && pytest --snapshot-update")
    assert well, output
    assert repository.changed() == [
        "AGENTS.md",
        "deepprompt.lock",
        "tests/__snapshots__/test_prompts/test_agent.txt",
        "tests/__snapshots__/test_prompts/test_request.txt",
    ]
    # The third test has just run, and nothing of it was changed.
    well, output = repository.run("deepprompt check --only lint --only lock && pytest -k 'agent or request'")
    assert well, output


DATED = (
    ("from pathlib import Path", "from datetime import date\nfrom pathlib import Path"),
    ("portable=True)).compose()", 'portable=True), append=f"Today is {date.today()}.").compose()'),
)


@pytest.mark.parametrize(
    ("written", "name", "replacements", "move", "said", "failed"),
    [
        pytest.param(
            'append=f"Today is {date.today()}."',
            "prompts.py",
            DATED,
            "clock",
            ["agent: append, line 3: DP101 a time", "clock, a day later: ", "FAILED: lint, lock, perturb\n"],
            ["test_agent", "test_request"],
            id="a clock",
        ),
        pytest.param(
            r"printf '\342\200\213' >> AGENTS.md",
            "AGENTS.md",
            [("on the ticket.\n", "on the ticket.\n\u200b")],
            "",
            ["AGENTS.md:7:1: DP301 a hidden character: U+200B", "FAILED: lint, lock\n"],
            ["test_agent", "test_request"],
            id="a hidden character",
        ),
        pytest.param(
            'marks="none"',
            "prompts.py",
            [('model="claude-opus-5-5")', 'model="claude-opus-5-5", marks="none")')],
            "",
            ["request: request: DP615 no mark in about ", "mark default -> none", "FAILED: lint, lock\n"],
            ["test_request"],
            id="no cache marks",
        ),
        pytest.param(
            "in set(QUEUES.items())",
            "prompts.py",
            [("in QUEUES.items()", "in set(QUEUES.items())")],
            "hash seed",
            ["prompts:triage: the static prefix (234 bytes) changed", "hash seed, to ", "perturb\n"],
            ["test_triage"],
            id="a set",
        ),
    ],
)
def test_a_change(
    tmp_path: Path,
    written: str,
    name: str,
    replacements: list[tuple[str, str]],
    move: str,
    said: list[str],
    failed: list[str],
) -> None:
    """Each row of the README's table: the change fails both steps, is named, and no test fails that is not in it."""
    (row,) = [line for line in (EXAMPLE / "README.md").read_text("utf-8").splitlines() if f"`{written}`" in line]
    repository = Repository(tmp_path, [move])  # the one that finds it, if there is one
    repository.change(name, *replacements)
    well, printed = repository.run(run_steps()[CHECK])
    assert not well
    for line in said:
        assert line in printed
    well, printed = repository.step(SNAPSHOTS)
    assert not well
    assert re.findall(r"^FAILED tests/test_prompts.py::(\w+)", printed, re.MULTILINE) == failed
    assert row.endswith(f"| {', '.join(f'`{test}`' for test in failed)} |")


def test_a_hidden_character(repository: Repository) -> None:
    """It is found in its file, and stands in the SARIF with file and line, without which code hosts refuse it."""
    repository.change("AGENTS.md", ("Never write", "Never\u200b write"))
    well, printed = repository.run("deepprompt check --only lint")
    assert not well
    assert "AGENTS.md:6:8: DP301 a hidden character: U+200B" in printed
    well, _ = repository.step(SARIF)
    assert not well
    results = json.loads((repository.folder / "deepprompt.sarif").read_text("utf-8"))["runs"][0]["results"]
    places = [
        (result["ruleId"], location["physicalLocation"]) for result in results for location in result["locations"]
    ]
    assert ("DP301", {"artifactLocation": {"uri": "AGENTS.md"}, "region": {"startLine": 6, "startColumn": 8}}) in places


def test_a_finding_in_a_function_has_a_place_too(repository: Repository) -> None:
    """In the SARIF it is where the function begins, without which code hosts refuse the whole file."""
    repository.change("prompts.py", *DATED)
    well, _ = repository.step(SARIF)
    assert not well
    results = json.loads((repository.folder / "deepprompt.sarif").read_text("utf-8"))["runs"][0]["results"]
    before = (repository.folder / "prompts.py").read_text("utf-8")
    begins = [before.split(f"def {name}()")[0].count("\n") + 1 for name in ("agent", "first_request")]
    assert [(result["ruleId"], result["locations"][0]["physicalLocation"]) for result in results] == [
        ("DP101", {"artifactLocation": {"uri": "prompts.py"}, "region": {"startLine": line}}) for line in begins
    ]


def test_no_checkout_converts_what_is_locked(repository: Repository) -> None:
    """Everything whose bytes are hashed or compared is `-text`."""
    snapshots = sorted((repository.folder / "tests/__snapshots__").rglob("*.txt"))
    assert len(snapshots) == 3
    files = ["AGENTS.md", *(path.relative_to(repository.folder).as_posix() for path in snapshots)]
    assert git(repository.folder, "check-attr", "text", *files).splitlines() == [
        f"{name}: text: unset" for name in files
    ]
