"""Which git is started, and that only one place in the package starts it."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import deepprompt
from deepprompt import read_git
from deepprompt.errors import SourceError
from deepprompt.sources.checkout import copy_project, use_crlf
from deepprompt.sources.git.run import find_program, work_trees
from tests.support.repositories import git, make_repository, write

PACKAGE = Path(deepprompt.__file__).parent


def planted(folder: Path, marker: Path, name: str = "git") -> Path:
    """Write a program that leaves a mark where it runs."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    return folder


def in_the_work_tree(tmp_path: Path) -> tuple[Path, Path]:
    """In the repository itself."""
    top = make_repository(tmp_path / "top")
    return top, top / "bin"


def in_the_main_work_tree(tmp_path: Path) -> tuple[Path, Path]:
    """In the main work tree, seen from a linked one."""
    main = make_repository(tmp_path / "main")
    git(main, "worktree", "add", "--quiet", "../linked")
    return tmp_path / "linked", main / "bin"


def in_an_outer_repository(tmp_path: Path) -> tuple[Path, Path]:
    """In a repository around the one that is read."""
    outer = make_repository(tmp_path / "outer")
    return make_repository(outer / "vendor/inner"), outer / "node_modules/.bin"


def in_a_superproject(tmp_path: Path) -> tuple[Path, Path]:
    """In the project that has this one as a submodule."""
    make_repository(tmp_path / "library")
    top = make_repository(tmp_path / "top")
    git(top, "submodule", "--quiet", "add", str(tmp_path / "library"), "library")
    return top / "library", top / "bin"


def through_a_link(tmp_path: Path) -> tuple[Path, Path]:
    """In the repository, by a link from outside."""
    top = make_repository(tmp_path / "top")
    (top / "bin").mkdir()
    (tmp_path / "elsewhere").symlink_to(top / "bin")
    return top, tmp_path / "elsewhere"


PLACES = (in_the_work_tree, in_the_main_work_tree, in_an_outer_repository, in_a_superproject, through_a_link)


@pytest.mark.parametrize("root", [False, True], ids=["", "with a root"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_git_is_never_a_repositorys_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], tuple[Path, Path]], root: bool
) -> None:
    """A program called git inside any work tree involved is passed over, although PATH names it first."""
    cwd, folder = place(tmp_path)
    marker = tmp_path / "ran"
    planted(folder, marker)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(["git", "status"], cwd=cwd, check=False)
    assert marker.exists(), "a plain search of PATH does not find it, so this test proves nothing"
    marker.unlink()

    snapshot = read_git(cwd, root=cwd if root else None)

    assert (snapshot.state, marker.exists()) == ("read", False)


def test_only_a_repositorys_own_git_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PATH has no other program of that name, the error says where one is looked for."""
    monkeypatch.setenv("PATH", str(planted(tmp_path / "bin", tmp_path / "ran")))

    with pytest.raises(SourceError) as caught:
        find_program("git", work_trees(str(tmp_path)))

    said = "git is not installed, or not in an absolute folder of PATH outside the repository"
    assert str(caught.value) == said


def with_a_nul_in_the_git_file(tmp_path: Path) -> Path:
    """The .git file names no possible path."""
    folder = tmp_path / "folder"
    write(folder, {".git": "gitdir: a\0b\n"})
    return folder


def with_a_nul_in_the_back_link(tmp_path: Path) -> Path:
    """The link back to the work tree is no possible path."""
    main = make_repository(tmp_path / "main")
    git(main, "worktree", "add", "--quiet", "../linked")
    (main / ".git/worktrees/linked/gitdir").write_bytes(b"/a\0b\n")
    return tmp_path / "linked"


def with_a_nul_in_the_work_tree(tmp_path: Path) -> Path:
    """A submodule's setting names no possible path."""
    folder = tmp_path / "folder"
    write(folder, {".git": "gitdir: ../away\n"})
    write(tmp_path / "away", {"config": "[core]\n\tworktree = /a\0b\n", "HEAD": "ref: refs/heads/main\n"})
    return folder


@pytest.mark.parametrize("make", (with_a_nul_in_the_git_file, with_a_nul_in_the_back_link, with_a_nul_in_the_work_tree))
def test_a_nul_in_a_path(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    """A path that no system has ends in a note, not in an exception."""
    snapshot = read_git(make(tmp_path))

    assert (snapshot.state, len(snapshot.notes)) == ("unreadable", 1)
    assert "has a NUL in it" in snapshot.notes[0].detail


def test_line_ends_are_asked_for_without_running_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy with CRLF asks git about attributes, and no monitor of the repository runs."""
    top = make_repository(tmp_path / "top", {".gitattributes": "*.sh eol=lf\n", "a.txt": "a\n", "b.sh": "b\n"})
    marker = tmp_path / "ran"
    git(top, "config", "core.fsmonitor", str(planted(tmp_path / "evil", marker) / "git"))
    planted(top / "bin", marker)
    monkeypatch.setenv("PATH", f"{top / 'bin'}{os.pathsep}{os.environ['PATH']}")
    git(top, "ls-files", "--eol", "--others", check=False)
    assert marker.exists(), "plain git does not run it, so this test proves nothing"
    marker.unlink()
    copy = tmp_path / "copy"
    assert copy_project(str(top), str(copy), str(tmp_path / "private")) == ""

    use_crlf(str(copy), str(top))

    assert ((copy / "a.txt").read_bytes(), (copy / "b.sh").read_bytes()) == (b"a\r\n", b"b\n")
    assert not marker.exists()


def test_one_place_starts_programs() -> None:
    """Only these modules start a program: git's, a user's function's, the list of locales, the parser, `record`'s."""
    starting = set()
    for path in PACKAGE.rglob("*.py"):
        names = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(name=node.module or "")])
        }
        text = path.read_text("utf-8")
        if "subprocess" in names or any(
            call in text for call in ("os.system(", "os.exec", "os.spawn", "os.popen(", "os.posix_spawn")
        ):
            starting.add(path.relative_to(PACKAGE).as_posix())

    # The parser's is Python itself, with our own module: a grammar reads a stranger's files only there, within limits.
    parser = "sources/symbols/reader.py"
    named = "commands/record.py"  # which starts the agent that the user names on the command line
    assert starting == {"sources/git/process.py", "sources/function.py", "checks/perturb/moves.py", parser, named}
    users = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "run_side_by_side" in path.read_text("utf-8")
    ]
    assert sorted(users) == ["sources/git/process.py", "sources/git/run.py"]
