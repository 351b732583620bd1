"""Prompts of nodes that are gone: `compile` removes what it wrote, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from deepprompt.cli import main
from deepprompt.commands.compiled import LIST
from tests.support.layout import lay_out

CaptureText = pytest.CaptureFixture[str]


def workflow(*names: str) -> str:
    """Return the text of a workflow with a node for each name."""
    return json.dumps({"nodes": [{"node_id": name, "task_ref": "t"} for name in names]})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project whose two workflows are compiled into `out`, as the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, {"t.txt": "T\n", "flows/one.json": workflow("a", "b"), "flows/two.json": workflow("c")})
    assert run("flows") == 0
    return tmp_path


def run(*arguments: str) -> int:
    """Compile into `out`."""
    return main(["compile", *arguments, "--out", "out"])


def files(folder: Path) -> list[str]:
    """Return the files of a folder but the list, by their paths."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != LIST)


@pytest.mark.seed("002.18")
def test_002_c_removes_outputs_of_nodes_that_are_gone(project: Path, capsys: CaptureText) -> None:
    """The prompts of a removed node and of a removed workflow go, with their hashes and the empty folder."""
    lay_out(project, {"flows/one.json": workflow("b")})
    (project / "flows/two.json").unlink()
    capsys.readouterr()
    assert run("flows") == 0
    assert capsys.readouterr().err == (
        "deepprompt: 1 prompt of 1 workflow written to out; 2 stale prompts removed: one/a, two/c\n"
    )
    assert files(project / "out") == ["one/b.sha256", "one/b.txt"]
    assert not (project / "out/two").exists()
    assert list(json.loads((project / "out" / LIST).read_text())) == ["one/b"]


def test_002_c_a_workflow_without_any_prompt(project: Path) -> None:
    """Where the last node of a workflow loses its prompt, its output goes too."""
    lay_out(project, {"flows/two.json": '{"nodes": [{"node_id": "c"}]}'})
    assert run("flows") == 0
    assert "two/c.txt" not in files(project / "out")


@pytest.mark.seed("002.18")
def test_002_c_touches_nothing_else(project: Path) -> None:
    """Files that compile did not write stay, also in the folder of a workflow that is gone."""
    lay_out(project / "out", {"two/notes.txt": "mine", "README": "mine"})
    (project / "flows/two.json").unlink()
    assert run("flows") == 0
    assert files(project / "out") == [
        "README", "one/a.sha256", "one/a.txt", "one/b.sha256", "one/b.txt", "two/notes.txt",
    ]  # fmt: skip


def test_002_c_a_workflow_that_was_not_compiled_now_is_not_gone(project: Path) -> None:
    """Compiling one workflow, from another folder too, leaves the prompts of the others alone while they exist."""
    assert run("flows/one.json") == 0
    os.chdir(project / "flows")
    assert main(["compile", "one.json", "--root", "..", "--out", "../out"]) == 0
    assert "two/c.txt" in files(project / "out")
    os.chdir(project)
    (project / "flows/two.json").unlink()
    assert run("flows/one.json") == 0
    assert "two/c.txt" not in files(project / "out")


@pytest.mark.parametrize("changed", ["two/c.txt", "two/c.sha256"])
def test_002_c_a_changed_file_is_reported_and_stays(changed: str, project: Path, capsys: CaptureText) -> None:
    """A prompt that somebody edited is not removed: every run says that it is stale."""
    lay_out(project / "out", {changed: "edited"})
    (project / "flows/two.json").unlink()
    capsys.readouterr()
    for _ in range(2):
        assert run("flows") == 0
        says = "deepprompt: out/two/c.txt: its node is gone, and it was changed since; remove it yourself\n"
        assert says in capsys.readouterr().err
    assert {"two/c.txt", "two/c.sha256"} <= {*files(project / "out")}


@pytest.mark.parametrize("linked", ["two", "two/c.txt"])
def test_nothing_is_removed_or_written_through_a_link(linked: str, project: Path, capsys: CaptureText) -> None:
    """Where a link took the place of a folder or prompt, its target stays, even if it has the very bytes."""
    place, elsewhere = project / "out" / linked, project / "elsewhere"
    place.rename(elsewhere)
    os.symlink(elsewhere, place)
    assert run("flows") == 1
    says = f"deepprompt: two/c.txt: {os.path.join('out', *linked.split('/'))} is a link, and nothing is written through"
    assert says in capsys.readouterr().err
    (project / "flows/two.json").unlink()
    assert run("flows") == 0
    assert "c.txt: its node is gone, and it was changed since" in capsys.readouterr().err
    assert (elsewhere / "c.txt" if elsewhere.is_dir() else elsewhere).read_text() == "T\n"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"../x": {"sha256": "", "workflow": ""}}', '{"a/b": {}}', '{"a/b": 1}', '{"a/../b": {}}', "\0"],
)
def test_a_list_that_compile_did_not_write(text: str, project: Path, capsys: CaptureText) -> None:
    """A list with other contents is refused before anything is written or removed."""
    lay_out(project, {f"out/{LIST}": text, "t.txt": "new"})
    capsys.readouterr()
    assert run("flows") == 1
    assert capsys.readouterr().err.startswith(f"deepprompt: {os.path.join('out', LIST)}:")
    assert (project / "out/one/a.txt").read_text() == "T\n"


def test_the_list_holds_no_path_of_the_machine(project: Path) -> None:
    """The list names workflows as seen from its folder, so that it is the same wherever the project lies."""
    listed = json.loads((project / "out" / LIST).read_text())
    assert [(name, fields["workflow"]) for name, fields in listed.items()] == [
        ("one/a", "../flows/one.json"),
        ("one/b", "../flows/one.json"),
        ("two/c", "../flows/two.json"),
    ]
