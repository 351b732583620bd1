"""`deepprompt edits`: the diff, the change, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from deepprompt.cli import main
from deepprompt.systems.edits import Edit, render_edit
from tests.support.layout import lay_out

CaptureText = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with two files, and a response beside it that changes one and creates another."""
    answer = (
        "Done.\n\n" + render_edit(Edit("src/a.py", "b = 2\n", "b = 3\n")) + render_edit(Edit("new/b.py", "", "x\n"))
    )
    lay_out(tmp_path, {"root/src/a.py": "a = 1\r\nb = 2\r\nc = 3", "answer.md": answer})
    return tmp_path / "root"


def run(project: Path, *options: str) -> int:
    """Run the command on the response beside the project."""
    return main(["edits", str(project.parent / "answer.md"), "--cwd", str(project), *options])


def test_a_dry_run(project: Path, capsys: CaptureText) -> None:
    """Without --apply the diff is printed, and nothing is written."""
    assert run(project) == 0
    said = capsys.readouterr()
    assert said.out == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n a = 1\r\n-b = 2\r\n+b = 3\r\n c = 3\n"
        "\\ No newline at end of file\n--- /dev/null\n+++ b/new/b.py\n@@ -0,0 +1 @@\n+x\n"
    )
    assert said.err.splitlines() == [
        "deepprompt: src/a.py (line 4): applied",
        "deepprompt: new/b.py (line 10): applied",
        "deepprompt: 2 of 2 blocks would be in place",
    ]
    assert (project / "src/a.py").read_bytes() == b"a = 1\r\nb = 2\r\nc = 3"
    assert not (project / "new").exists()


def test_apply(project: Path, capsys: CaptureText) -> None:
    """--apply writes the files; a second time everything is already there."""
    assert run(project, "--apply") == 0
    assert (project / "src/a.py").read_bytes() == b"a = 1\r\nb = 3\r\nc = 3"
    assert (project / "new/b.py").read_bytes() == b"x\n"
    assert capsys.readouterr().err.endswith("deepprompt: 2 of 2 blocks in place\n")
    assert run(project, "--apply") == 0
    assert capsys.readouterr().err.startswith("deepprompt: src/a.py (line 4): already there\n")
    assert (project / "src/a.py").read_bytes() == b"a = 1\r\nb = 3\r\nc = 3"


def test_some_fail(project: Path, capsys: CaptureText) -> None:
    """A block that fails ends with 1 and changes nothing; the others are applied all the same."""
    (project.parent / "answer.md").write_text(
        render_edit(Edit("src/a.py", "nope\n", "x\n")) + render_edit(Edit("new/b.py", "", "x\n"))
        + "../out\n=@= EDIT =@=\n=@= REPLACE =@=\nx\n=@= END =@=\n"
    )  # fmt: skip
    assert run(project, "--apply", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert [(each["path"], each["status"]) for each in report["results"]] == [
        ("src/a.py", "not found"),
        ("new/b.py", "applied"),
        ("../out", "refused"),
    ]
    assert report["written"] is True
    assert not (project.parent / "out").exists()


@pytest.mark.parametrize("target", ["../outside.py", "src/a.py"])
def test_links_and_binaries(target: str, project: Path, capsys: CaptureText) -> None:
    """A link is not written through, not even by a block that creates a file; a binary is not changed."""
    lay_out(project.parent, {"outside.py": "x\n", "root/image": b"\x89PNG\r\n\x1a\n"})
    os.symlink(target, project / "link")
    blocks = [Edit("link", "x\n", "y\n"), Edit("link", "", "y\n"), Edit("image", "", "y\n"), Edit("src", "", "y\n")]
    (project.parent / "answer.md").write_text("".join(map(render_edit, blocks)))
    assert run(project, "--apply") == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[2] for line in said[:-1]] == ["refused"] * 4
    assert (project.parent / "outside.py").read_text() == "x\n"
    assert (project / "link").is_symlink()


def test_no_blocks(project: Path, capsys: CaptureText) -> None:
    """A response without blocks changes nothing."""
    (project.parent / "answer.md").write_text("All is well.\n")
    assert run(project) == 0
    assert capsys.readouterr() == ("", "deepprompt: 0 of 0 blocks would be in place\n")
