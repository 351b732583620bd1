"""`deepprompt compile`: all prompts of all workflows are written, or all that is wrong is said and nothing written."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from deepprompt.cli import main
from deepprompt.commands.compiled import LIST
from deepprompt.prompt import sha256_hex
from deepprompt.text.display import counted
from tests.support.layout import lay_out

CaptureText = pytest.CaptureFixture[str]

SHAPE = "a node needs a task_ref that is text, and includes that map names to paths"

# A workflow's text, and what is said of it after its path.
WORKFLOWS: dict[str, tuple[str | bytes, list[str]]] = {
    "not-json": ('{\n"nodes": [\n}', [":3: not JSON: Expecting value"]),
    "empty": ("", [":1: not JSON: Expecting value"]),
    "not-utf-8": (b'{"nodes": "\xff"}', [": not UTF-8 at byte 11"]),
    "too-deep": ("[" * 100_000, [": nested too deeply"]),
    "too-many-digits": (f'{{"nodes": [{"9" * 5000}]}}', [": a number has too many digits"]),
    "list": ("[]", [":1: a workflow is an object with a list of nodes"]),
    "no-nodes": ("{}", [":1: a workflow is an object with a list of nodes"]),
    "nodes-object": ('{"nodes": {}}', [":1: a workflow is an object with a list of nodes"]),
    "node-text": ('{"nodes": ["x"]}', [":1: nodes[0] is not an object"]),
    "no-id": ('{"nodes": [{"task_ref": "t"}]}', [":1: nodes[0]: node_id None is not a plain file name"]),
    "id-number": ('{"nodes": [{"node_id": 5, "task_ref": "t"}]}', [":1: nodes[0]: node_id 5 is not a plain file name"]),
    "no-task-ref": (
        '{"nodes": [\n{"node_id": "n", "includes": {}}]}',
        [":2: node 'n' has no task_ref that is text"],
    ),
    "twice": (
        '{"nodes": [\n{"node_id": "n", "task_ref": "t"},\n{"node_id": "n", "task_ref": "t"},\n'
        '{"node_id": "n", "task_ref": "t"}]}',
        [":3: node_id 'n' is there twice", ":4: node_id 'n' is there twice"],
    ),
    "twice-without-prompt": (
        '{"nodes": [\n{"node_id": "n"},\n{"node_id": "n", "task_ref": "t"}]}',
        [":3: node_id 'n' is there twice"],
    ),
    "includes-list": (
        '{"nodes": [{"node_id": "n", "task_ref": "t", "includes": []}]}',
        [f":1: node 'n': node: {SHAPE}"],
    ),
    "include-number": (
        '{"nodes": [{"node_id": "n", "task_ref": "u", "includes": {"A": 5}}]}',
        [":1: node 'n': u.txt:2: $$A: a path is text, not int"],
    ),
    "up": (
        '{"nodes": [\n\n{"node_id": "n", "task_ref": "../t"}]}',
        [":3: node 'n': task_ref '../t': ../t: a path is relative and stays below the root"],
    ),
}


def workflow(*nodes: dict[str, object]) -> str:
    """The text of a workflow, a node a line."""
    return '{"nodes": [\n' + ",\n".join(json.dumps(node) for node in nodes) + "\n]}\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with templates t and u and an include, and the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    return lay_out(tmp_path / "root", {"t.txt": "T\n", "u.txt": "x\n$$A\n", "a.json": "[1, 2]\n"})


def written(folder: Path) -> dict[str, str]:
    """The files below a folder, by their paths, but for the list of them."""
    files = [path for path in folder.rglob("*") if path.is_file() and path != folder / LIST]
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def run(*arguments: str) -> int:
    """Compile into out."""
    return main(["compile", *arguments, "--root", "root", "--out", "out"])


@pytest.mark.seed("002.15")
def test_written(root: Path, capsys: CaptureText) -> None:
    """Every node with a prompt is written beside its hash, below its workflow; other nodes and keys are ignored."""
    nodes: tuple[dict[str, object], ...] = (
        {"node_id": "n1", "type": "x", "task_ref": "t"},
        {"node_id": "start", "type": "gate"},
        {"node_id": "n-2.b", "task_ref": "u", "includes": {"A": "a.json"}, "more": [1]},
    )
    lay_out(root.parent / "flows", {"one.v1.json": workflow(*nodes), "deep/two.json": "\ufeff" + workflow(nodes[0])})
    lay_out(root.parent / "flows", {"README.md": "not a workflow"})
    assert run("flows", "--minify-json") == 0
    content = {"one.v1/n1": "T\n", "one.v1/n-2.b": "x\n[1,2]\n", "two/n1": "T\n"}
    assert written(root.parent / "out") == {
        **{f"{name}.txt": text for name, text in content.items()},
        **{f"{name}.sha256": f"{sha256_hex(text)}\n" for name, text in content.items()},
    }
    assert capsys.readouterr() == ("", "deepprompt: 3 prompts of 2 workflows written to out\n")


@pytest.mark.seed("002.15")
def test_default_folder(root: Path, capsys: CaptureText) -> None:
    """Without --out, prompts go to build/prompts."""
    lay_out(root.parent, {"w.json": workflow({"node_id": "n", "task_ref": "t"})})
    assert main(["compile", "w.json", "--root", "root"]) == 0
    assert sorted(written(root.parent / "build" / "prompts")) == ["w/n.sha256", "w/n.txt"]
    assert capsys.readouterr().err == "deepprompt: 1 prompt of 1 workflow written to build/prompts\n"


def test_check(root: Path, capsys: CaptureText) -> None:
    """With --check nothing is written, and the exit code says whether all is right."""
    lay_out(root.parent, {"w.json": workflow({"node_id": "n", "task_ref": "t"}), "bad.json": "x"})
    assert run("w.json", "--check") == 0
    assert capsys.readouterr() == ("", "deepprompt: 1 prompt of 1 workflow is right\n")
    assert run("w.json", "bad.json", "--check") == 1
    assert not (root.parent / "out").exists()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_wrong_workflow(name: str, root: Path, capsys: CaptureText) -> None:
    """What is wrong with a workflow is said with its file and line, and nothing is written."""
    text, says = WORKFLOWS[name]
    lay_out(root.parent, {"w.json": text, "right.json": workflow({"node_id": "n", "task_ref": "t"})})
    assert run("w.json", "right.json") == 1
    lines = [*(f"w.json{one}" for one in says), f"{counted(len(says), 'problem')}; nothing was written"]
    assert capsys.readouterr() == ("", "".join(f"deepprompt: {line}\n" for line in lines))
    assert not (root.parent / "out").exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../n", "a/b", "a\\b", ".hidden", "-n", "a b", "é", "n\n", "a\0", "C:n"]
)
def test_id_is_not_a_file_name(name: str, root: Path, capsys: CaptureText) -> None:
    """A node's id that is not a plain file name is an error, never a path."""
    lay_out(root.parent, {"w.json": workflow({"node_id": name, "task_ref": "t"})})
    assert run("w.json") == 1
    says = f"deepprompt: w.json:2: nodes[0]: node_id {name!r} is not a plain file name"
    assert capsys.readouterr().err.splitlines()[0] == says
    assert not (root.parent / "out").exists()


@pytest.mark.seed("002.16")
def test_all_problems(root: Path, capsys: CaptureText) -> None:
    """All problems of all workflows are in one report."""
    lay_out(root, {"two.txt": "$$A\n\n$$B\n", "nested": "x\n$$A\n"})
    one = workflow(
        {"node_id": "a", "task_ref": "two"},
        {"node_id": "b", "task_ref": "none"},
        {"node_id": "c", "task_ref": "t"},
        {"node_id": "d", "task_ref": "u", "includes": {"A": "nested"}},
    )
    lay_out(root.parent, {"flows/one.json": one, "flows/two.json": "{", "flows/a b.json": "{}", "more/one.json": one})
    os.mkfifo(root.parent / "flows" / "pipe.json")
    assert run("flows", "more", "missing.json") == 1
    assert capsys.readouterr().err.splitlines() == [
        "deepprompt: flows/a b.json: 'a b' is not a plain name for a folder of prompts",
        "deepprompt: flows/pipe.json: not a regular file",
        "deepprompt: flows/two.json:1: not JSON: Expecting property name enclosed in double quotes",
        "deepprompt: more/one.json: another workflow is called 'one': flows/one.json",
        "deepprompt: missing.json: No such file or directory",
        "deepprompt: flows/one.json:2: node 'a': two.txt:1: $$A has no include; given: none",
        "deepprompt: flows/one.json:2: node 'a': two.txt:3: $$B has no include; given: none",
        "deepprompt: flows/one.json:3: node 'b': none.txt: template is not there",
        "deepprompt: flows/one.json:5: node 'd': nested:2: an include may not include: $$A",
        "deepprompt: 9 problems; nothing was written",
    ]
    assert not (root.parent / "out").exists()


@pytest.mark.seed("002.22")
def test_002_a_a_token_inside_a_line(root: Path, capsys: CaptureText) -> None:
    """A token inside a line never passes as text while its include is given: compile fails and says what to do."""
    lay_out(root, {"inline.txt": "Context: $$PGC_CONTEXT\n"})
    node: dict[str, object] = {"node_id": "n", "task_ref": "inline", "includes": {"PGC_CONTEXT": "a.json"}}
    lay_out(root.parent, {"w.json": workflow(node)})
    assert run("w.json") == 1
    assert capsys.readouterr().err.splitlines() == [
        "deepprompt: w.json:2: node 'n': inline.txt:1: $$PGC_CONTEXT inside a line is plain text, so a.json is not "
        "included: put $$PGC_CONTEXT alone on its line",
        "deepprompt: 1 problem; nothing was written",
    ]
    assert not (root.parent / "out").exists()


@pytest.mark.seed("002.22")
def test_002_b_an_include_that_nothing_uses(root: Path, capsys: CaptureText) -> None:
    """An include that no directive uses is drift, and breaks the build, whether its file is there or not."""
    node: dict[str, object] = {"node_id": "n", "task_ref": "t", "includes": {"A": "a.json", "GONE": "none.txt"}}
    lay_out(root.parent, {"w.json": workflow(node)})
    assert run("w.json", "--check") == 1
    assert capsys.readouterr().err.splitlines()[:-1] == [
        f"deepprompt: w.json:2: node 'n': t.txt: no line is $${name}, so {path} is not included: add the line, or "
        "remove the include"
        for name, path in [("A", "a.json"), ("GONE", "none.txt")]
    ]


def test_no_workflows(root: Path, capsys: CaptureText) -> None:
    """A folder without workflows is a failure: a guardrail that checks nothing is none."""
    assert run("root/../root/tpl") == 1
    capsys.readouterr()
    (root / "tpl").mkdir()
    assert run("root/tpl") == 1
    assert capsys.readouterr().err == "deepprompt: no workflows in root/tpl: a workflow is a .json file\n"


def test_out_is_a_file(root: Path, capsys: CaptureText) -> None:
    """A folder that cannot be made is an error of one line."""
    lay_out(root.parent, {"w.json": workflow({"node_id": "n", "task_ref": "t"}), "out": "in the way"})
    assert run("w.json") == 1
    assert capsys.readouterr().err == f"deepprompt: {os.path.join('out', 'w')}: Not a directory\n"


@pytest.mark.parametrize("given", [[], ["w.json", "--out", ""]])
def test_usage(given: list[str], capsys: CaptureText) -> None:
    """Wrong usage exits 2."""
    with pytest.raises(SystemExit) as caught:
        main(["compile", *given])
    assert caught.value.code == 2
    says = "argument --out: is empty" if given else "the following arguments are required: WORKFLOWS"
    assert capsys.readouterr().err.splitlines()[0] == f"deepprompt compile: error: {says}"


def test_many_nodes(root: Path, capsys: CaptureText) -> None:
    """Ten thousand nodes of one workflow take no more time than their size, and each has its own line."""
    nodes: list[dict[str, object]] = [{"node_id": f"n{number}", "task_ref": "t"} for number in range(10_000)]
    lay_out(root.parent, {"w.json": workflow(*nodes, {"node_id": "last", "task_ref": "none"})})
    assert run("w.json", "--check") == 1
    says = "deepprompt: w.json:10002: node 'last': none.txt: template is not there"
    assert capsys.readouterr().err.splitlines()[0] == says


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


@pytest.mark.parametrize(("count", "shown"), [(99, ""), (250, "\r100 of 250\r200 of 250\r250 of 250\n")])
def test_progress(count: int, shown: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run says how far it is, where that is a terminal."""
    nodes: list[dict[str, object]] = [{"node_id": f"n{number}", "task_ref": "t"} for number in range(count)]
    lay_out(root.parent, {"w.json": workflow(*nodes)})
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run("w.json", "--check") == 0
    assert terminal.getvalue() == f"{shown}deepprompt: {count:,} prompts of 1 workflow are right\n"
