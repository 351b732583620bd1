"""Objects that lie in another repository are never shown, however a repository borrows them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deepprompt import read_git
from deepprompt.sources.git.objects import find_borrowed, find_linked
from tests.support.repositories import commit, git, make_repository, write

SECRET = "the secret plan"


def by_alternates(own: Path, private: Path) -> None:
    """A file names the other object folder."""
    write(own, {".git/objects/info/alternates": f"{private}/.git/objects\n"})


def by_linked_alternates(own: Path, private: Path) -> None:
    """The file that names it is a link."""
    write(private, {"elsewhere": f"{private}/.git/objects\n"})
    (own / ".git/objects/info/alternates").symlink_to(private / "elsewhere")


def by_linked_folders(own: Path, private: Path) -> None:
    """Folders of objects are links."""
    for folder in (private / ".git/objects").glob("??"):
        here = own / ".git/objects" / folder.name
        if not here.is_dir():
            here.symlink_to(folder)
            continue
        for path in folder.iterdir():
            if not (here / path.name).exists():
                (here / path.name).symlink_to(path)


def by_linked_files(own: Path, private: Path) -> None:
    """Single objects are links."""
    for path in (private / ".git/objects").glob("??/*"):
        here = own / ".git/objects" / path.parent.name / path.name
        here.parent.mkdir(exist_ok=True)
        if not here.exists():
            here.symlink_to(path)


def by_linked_packs(own: Path, private: Path) -> None:
    """Packs are links."""
    git(private, "repack", "-adq")
    for path in (private / ".git/objects/pack").iterdir():
        (own / ".git/objects/pack" / path.name).symlink_to(path)


WAYS = (by_alternates, by_linked_alternates, by_linked_folders, by_linked_files, by_linked_packs)


@pytest.mark.parametrize("borrow", WAYS, ids=lambda way: way.__name__)
def test_nothing_of_another_repository_is_shown(tmp_path: Path, borrow: Callable[[Path, Path], None]) -> None:
    """A ref to another repository's commit shows its subject in plain git, and nothing of it in ours."""
    private = make_repository(tmp_path / "private")
    commit(private, SECRET, {"plan.txt": "plan\n" * 30})
    own = make_repository(tmp_path / "own")
    borrow(own, private)
    (own / ".git/refs/heads/main").write_text(git(private, "rev-parse", "HEAD") + "\n")
    assert SECRET in git(own, "log", "--format=%s"), "plain git does not show it, so this test proves nothing"

    snapshot = read_git(own)

    assert SECRET not in repr(snapshot)
    assert "plan.txt" not in repr(snapshot)
    assert snapshot.state == "unreadable"
    [note] = [note for note in snapshot.notes if note.kind == "refused"]
    assert note.detail.endswith("objects that lie outside the repository are not read")


@pytest.mark.parametrize("borrow", WAYS, ids=lambda way: way.__name__)
def test_own_objects_are_still_read(tmp_path: Path, borrow: Callable[[Path, Path], None]) -> None:
    """A repository that borrows more than it needs is shown as plain git shows it, with a note."""
    private = make_repository(tmp_path / "private")
    commit(private, SECRET, {"plan.txt": "plan\n"})
    own = make_repository(tmp_path / "own")
    borrow(own, private)
    write(own, {"a.txt": "changed\n"})

    snapshot = read_git(own)

    assert (snapshot.state, snapshot.status) == ("read", " M a.txt\n")
    assert snapshot.recent_commits == tuple(git(own, "log", "-3", "--format=%h %s").split("\n"))
    assert [note.kind for note in snapshot.notes] == ["refused"]


def test_an_ordinary_repository_borrows_nothing(repository: Path) -> None:
    """Loose objects, packs and an empty file of alternates are no reason for a note."""
    git(repository, "gc", "--quiet")
    commit(repository, "more", {"c.txt": "c\n"})
    (repository / ".git/objects/info/alternates").touch()
    objects = os.fspath(repository / ".git/objects")

    assert (find_borrowed(objects), find_linked(objects, float("inf"))) == ([], [])
    assert read_git(repository).notes == ()
