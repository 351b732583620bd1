"""The examples do what they say: the template project compiles, gives the prompts that are shown, and replays."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from deepprompt import AuditLog, PromptAssembler
from deepprompt.cli import main
from tests.support.paths import ROOT

TEMPLATES = ROOT / "examples" / "templates"
LAYOUT = ["--template-root", "seed/prompts/tasks", "--minify-json"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the template project to be in."""
    shutil.copytree(TEMPLATES, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def node(project: Path) -> dict[str, object]:
    """The node of the first workflow that has a prompt."""
    nodes: list[dict[str, object]] = json.loads((project / "seed/workflows/pm_discovery.v1.json").read_text())["nodes"]
    return next(node for node in nodes if "task_ref" in node)


@pytest.mark.seed("002.1")
def test_worked_example(project: Path, prompt_file: SnapshotAssertion) -> None:
    """The worked example of the specification, with a schema of our own, byte for byte."""
    assembler = PromptAssembler(str(project), "seed/prompts/tasks", minify_json=True)
    assert assembler.assemble_node(node(project)).content.encode() == prompt_file


@pytest.mark.seed("002.3")
@pytest.mark.usefixtures("project")
def test_compile(capsys: pytest.CaptureFixture[str]) -> None:
    """The project compiles: a prompt for each workflow, with its hash."""
    assert main(["compile", "seed/workflows", *LAYOUT, "--check"]) == 0
    assert not Path("build").exists()
    assert main(["compile", "seed/workflows", *LAYOUT]) == 0
    assert "2 prompts of 2 workflows written to build/prompts" in capsys.readouterr().err
    written = sorted(path.as_posix() for path in Path("build").rglob("pgc.*"))
    assert written == [
        f"build/prompts/{workflow}.v1/pgc.{kind}"
        for workflow in ("pm_discovery", "technical_arch")
        for kind in ("sha256", "txt")
    ]


@pytest.mark.seed("002.17")
def test_002_d_a_ready_workflow_compiles_on_every_push(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The workflow of GitHub Actions runs for pushes to the prompts: its step passes, and fails if a file is gone."""
    ready = yaml.load((project / ".github/workflows/prompts.yml").read_text("utf-8"), yaml.BaseLoader)
    assert all("seed/**" in ready["on"][event]["paths"] for event in ("push", "pull_request"))
    (command,) = [step["run"] for step in ready["jobs"]["compile"]["steps"] if step.get("name") == "Compile"]
    program, *arguments = shlex.split(command)
    assert program == "deepprompt"
    assert main(arguments) == 0
    kept = next(step["with"]["path"] for step in ready["jobs"]["compile"]["steps"] if "upload-artifact" in str(step))
    assert sorted(path.name for path in (project / kept).iterdir())[-2:] == ["pm_discovery.v1", "technical_arch.v1"]
    (project / "seed/schemas/clarification_question_set.v2.json").unlink()
    capsys.readouterr()
    assert main(arguments) == 1
    assert "clarification_question_set.v2.json is not there" in capsys.readouterr().err


def test_replay(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A logged prompt replays; after an edit of its context, replay names that file and shows the change."""
    assembler = PromptAssembler(str(project), "seed/prompts/tasks", minify_json=True)
    log = tmp_path / "log.jsonl"
    AuditLog(str(log), workspace=str(project)).append(assembler.assemble_node(node(project)))
    assert main(["replay", str(log)]) == 0
    context = project / "seed/prompts/pgc-contexts/project_discovery.v1.txt"
    context.write_text(context.read_text().replace("who decides", "who pays"))
    capsys.readouterr()
    assert main(["replay", str(log)]) == 1
    shown = capsys.readouterr().out
    assert "seed/prompts/pgc-contexts/project_discovery.v1.txt moved" in shown
    assert "+Purpose: Explore solution space, validate assumptions, and find out who pays." in shown


@pytest.mark.usefixtures("project")
def test_a_misspelt_token_breaks_the_build(capsys: pytest.CaptureFixture[str]) -> None:
    """A typo in the template is a failure of both workflows, with file and line, and nothing is written."""
    template = Path("seed/prompts/tasks/Clarification Questions Generator v1.0.txt")
    template.write_text(template.read_text().replace("$$PGC_CONTEXT", "$$PGC_CONTEX"))
    assert main(["compile", "seed/workflows", *LAYOUT]) == 1
    said = capsys.readouterr().err
    assert said.count("v1.0.txt:7: $$PGC_CONTEX has no include; given: OUTPUT_SCHEMA, PGC_CONTEXT") == 2
    assert "seed/workflows/pm_discovery.v1.json:6: node 'pgc'" in said
    assert not Path("build").exists()
