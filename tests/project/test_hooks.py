"""The pre-commit hooks and the GitHub Action, run as pre-commit and a runner run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from deepprompt.checks.lint.kinds import is_sent_whole
from tests.support.repositories import make_repository

TOP = Path(__file__).parents[2]
HOOKS: list[dict[str, Any]] = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text("utf-8"))
ACTION: dict[str, Any] = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
FILES = {
    "AGENTS.md": "Run the tests.   \n",
    "notes.md": "Today is 2026-11-16.\n",
    ".claude/commands/day.md": "Today is 2026-11-16.\n",
    "spare.prompt": "Be kind.\n",
}

# They install the package as a user's machine would, with what pip brings: only where pre-commit is installed too.
installed = pytest.mark.skipif(
    find_spec("pre_commit") is None or not (TOP / ".git").exists(),
    reason="pre-commit is not installed, or this is no clone",
)


NAMES = [
    "AGENTS.md", "a/AGENT.md", "CLAUDE.local.md", "AGENTS.override.md", "skills/x/SKILL.md", ".cursorrules",
    "a/.windsurfrules", "x.mdc", ".github/copilot-instructions.md", "x.instructions.md", ".claude/agents/a.md",
    ".codex/prompts/b.md", "x.prompt.md", "README.md", "docs/guide.md", "agents/a.md", "NOTAGENTS.md", "src/x.py",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_hooks_take_the_files_that_agents_send_whole(name: str) -> None:
    """By the same names as lint; and files that end in `.prompt`."""
    for hook in HOOKS:
        assert bool(re.search(hook["files"], name)) == is_sent_whole(name)
        assert re.search(hook["files"], "x.prompt")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of the present files of this one, as a hook or an action is fetched."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP, capture_output=True, check=True,
    ).stdout.decode().split("\0")  # fmt: skip
    wanted = ("deepprompt/", "pyproject.toml", "README.md", "LICENSE", "action.yml", ".pre-commit-hooks.yaml")
    files = {
        name: (TOP / name).read_text("utf-8") for name in names if name.startswith(wanted) and (TOP / name).is_file()
    }
    return make_repository(tmp_path_factory.mktemp("source") / "deepprompt", files)


@installed
@pytest.mark.slow
def test_the_hooks(source: Path, tmp_path: Path) -> None:
    """Pre-commit installs them, gives them the right files, shows the findings, and stops the commit."""
    top = make_repository(tmp_path / "root", FILES)
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True)
    hooks = [{"repo": str(source), "rev": revision.stdout.strip(), "hooks": [{"id": hook["id"]} for hook in HOOKS]}]
    (top / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": hooks}))
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")}
    subprocess.run(["git", "add", "--all"], cwd=top, check=True)
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"]
    done = subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert ".claude/commands/day.md:1:10: DP101 a time, '2026-11-16'" in done.stdout
    assert "1 finding in 3 targets" in done.stdout
    assert "notes.md" not in done.stdout
    assert "AGENTS.md: fixed: 1 line with blanks at its end" in done.stdout
    assert (top / "AGENTS.md").read_text() == "Run the tests.\n"
    (top / ".claude/commands/day.md").write_text("Ask git for the date.\n")
    subprocess.run(["git", "add", "--all"], cwd=top, check=True)
    done = subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def steps(inputs: dict[str, str], source: Path) -> list[tuple[str, dict[str, str]]]:
    """Return the shell steps of the action with their variables, as a runner fills them in."""
    values = {f"inputs.{name}": given.get("default", "") for name, given in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(source)}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: values[found[1]], text)

    shell = [step for step in ACTION["runs"]["steps"] if "run" in step]
    assert all(step["shell"] == "bash" for step in shell)
    return [(step["run"], {name: filled(value) for name, value in step.get("env", {}).items()}) for step in shell]


def test_no_input_is_pasted_into_a_script() -> None:
    """A runner pastes `${{ }}` into a script as it is, so inputs reach the scripts as variables only."""
    assert all("${{" not in step["run"] for step in ACTION["runs"]["steps"] if "run" in step)


@installed
@pytest.mark.slow
def test_the_action(source: Path, tmp_path: Path) -> None:
    """Its steps install and run lint: annotations and a failure, then a baseline that lets it pass."""
    top = make_repository(tmp_path / "root", FILES)
    (tmp_path / "temp").mkdir()

    def run(inputs: dict[str, str], only_last: bool = False) -> subprocess.CompletedProcess[str]:
        for script, variables in steps(inputs, source)[-1 if only_last else 0 :]:
            environment = {**os.environ, "RUNNER_TEMP": str(tmp_path / "temp"), **variables}
            environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                cwd=top, env=environment, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                break
        return done

    done = run({})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::warning file=.claude/commands/day.md,line=1," in done.stdout
    done = run({"arguments": "--write-baseline=lint.json"}, only_last=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run({"arguments": "--baseline=lint.json"}, only_last=True).returncode == 0
    assert run({"targets": "AGENTS.md\nspare.prompt"}, only_last=True).returncode == 0
    marker = tmp_path / "marker"
    assert run({"targets": f"$(touch {marker})"}, only_last=True).returncode == 1
    assert not marker.exists()
