"""The names and ages that git tells, from repositories that cannot be trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepprompt.errors import SourceError
from deepprompt.sources.git.names import list_names
from tests.support.repositories import git, make_repository


def test_names_that_cannot_be_shown(tmp_path: Path) -> None:
    """A name with a line break or with bytes that are not UTF-8 is left out, with one note."""
    folder = make_repository(tmp_path / "root", {"a.py": "1\n", "größe.py": "2\n"})
    (folder / "a\nb.py").write_text("x")
    with open(os.path.join(os.fsencode(folder), b"\xff.py"), "w") as file:
        file.write("x")
    names, ages, notes = list_names(str(folder), 10)
    assert (names, ages) == (["a.py", "größe.py"], {})
    assert [(note.kind, note.count) for note in notes] == [("refused", 2)]


def test_an_index_that_leads_out(tmp_path: Path) -> None:
    """A name in the index that leads out of the folder is not listed."""
    folder = make_repository(tmp_path / "root", {"a.py": "1\n", "aaa/b.py": "2\n"})
    index = folder / ".git/index"
    index.write_bytes(index.read_bytes().replace(b"aaa/b.py", b"../b.pyy"))
    try:
        names, _, _ = list_names(str(folder), 10)
    except SourceError:
        return  # git itself refuses it
    assert names == ["a.py", "aaa/b.py"]  # which is now an untracked file


def test_nothing_of_the_repository_runs(tmp_path: Path) -> None:
    """Programs that the repository's settings name are not started."""
    folder = make_repository(tmp_path / "root", {"a.py": "1\n", ".gitattributes": "*.py diff=evil filter=evil\n"})
    ran = tmp_path / "ran"
    for name in ("core.fsmonitor", "diff.evil.textconv", "diff.external", "filter.evil.clean", "core.sshCommand"):
        git(folder, "config", name, f"touch {ran}; true")
    names, ages, _ = list_names(str(folder), 10, ages=True)
    assert (names, ages, ran.exists()) == ([".gitattributes", "a.py"], {".gitattributes": 0, "a.py": 0}, False)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    """Before the first commit there are names and no ages."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.py").write_text("x")
    assert list_names(str(tmp_path), 10, ages=True) == (["a.py"], {}, [])


def test_no_time(tmp_path: Path) -> None:
    """If git is not done in time, that is an error, not an empty list."""
    folder = make_repository(tmp_path / "root", {"a.py": "1\n"})
    with pytest.raises(SourceError, match="git could not list the files within 0 seconds"):
        list_names(str(folder), 0)
