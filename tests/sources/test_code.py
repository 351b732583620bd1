"""The files of a repository for a model to read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.sources.code import load_repository
from tests.support.layout import lay_out
from tests.support.repositories import commit, make_repository


def test_names_ages_and_texts(tmp_path: Path) -> None:
    """Tracked and untracked files are listed, ignored and deleted ones and links are not; ages count commits."""
    folder = make_repository(
        tmp_path / "root", {"old.py": "1\n", "src/new.py": "2\n", ".gitignore": "*.log\n", "gone.py": ""}
    )
    commit(folder, "second", {"src/new.py": "3\n"})
    lay_out(folder, {"untracked.txt": "x", "a.log": "x"})
    (folder / "gone.py").unlink()
    os.symlink("old.py", folder / "link.py")
    repository = load_repository(folder)
    assert repository.paths == (".gitignore", "old.py", "src/new.py", "untracked.txt")
    assert dict(repository.ages) == {".gitignore": 1, "gone.py": 1, "old.py": 1, "src/new.py": 0}
    assert repository.tree == repository.paths
    assert repository.text("src/new.py") == "3\n"


def test_below_the_top(tmp_path: Path) -> None:
    """In a folder below the top, only what lies below it is listed, by its path from there."""
    folder = make_repository(tmp_path / "root", {"a.py": "1\n", "sub/b.py": "2\n"})
    repository = load_repository(folder / "sub")
    assert (repository.paths, dict(repository.ages)) == (("b.py",), {"b.py": 0})


def test_refreshed(tmp_path: Path) -> None:
    """Only what changed is read again, and a repository that did not change is the same."""
    folder = make_repository(tmp_path / "root", {"a.py": "1\n", "b.py": "1\n"})
    first = load_repository(folder)
    kept = first.text("a.py"), first.text("b.py")
    assert first.refreshed() is first
    (folder / "b.py").write_text("22\n")
    lay_out(folder, {"c.py": "3\n"})
    second = first.refreshed()
    assert second.paths == second.tree == ("a.py", "b.py", "c.py")
    assert second.text("a.py") is kept[0]
    assert (second.text("b.py"), second.text("c.py")) == ("22\n", "3\n")


def test_text_from_outside(tmp_path: Path) -> None:
    """Hidden characters are shown, with a note that the text carries."""
    folder = make_repository(tmp_path / "root", {"a.py": "x = 1  # \u202eevil\r\n"})
    text = load_repository(folder).text("a.py")
    assert (text, text.notes[0].detail) == ("x = 1  # ⟨U+202E⟩evil\n", "hidden U+202E")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no.py", "no.py: there is no such file"),
        ("../out.py", "../out.py: leads out of its root"),
        ("out", "out: leads out of its root"),
        ("image", "image: not a text file: it is a PNG image"),
        ("large", "large: larger than 1048576 bytes"),
        ("sub", "sub: not a regular file"),
    ],
)
def test_what_cannot_be_shown(path: str, reason: str, tmp_path: Path) -> None:
    """A file outside, a binary and a large one are refused."""
    folder = make_repository(tmp_path / "root", {"sub/a": "x"})
    lay_out(tmp_path, {"out.py": "x", "root/image": b"\x89PNG\r\n\x1a\n", "root/large": "x" * (1 << 20) + "x"})
    os.symlink("../out.py", folder / "out")
    with pytest.raises(FileRefusedError) as caught:
        load_repository(folder).text(path)
    assert str(caught.value) == reason


def test_no_repository(tmp_path: Path) -> None:
    """A folder without a repository is an error that says what is missing, and so is no folder."""
    with pytest.raises(SourceError, match="it is not in a git repository"):
        load_repository(tmp_path)
    with pytest.raises(SourceError, match="there is no such folder"):
        load_repository(tmp_path / "no")
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="it is not a folder"):
        load_repository(tmp_path / "file")
    with pytest.raises(SourceError, match="load_repository: tree_budget takes a number of tokens"):
        load_repository(tmp_path, tree_budget="many")  # type: ignore[arg-type]
