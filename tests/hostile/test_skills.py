"""N: folders of skills that make the index huge, or that change while they are listed."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from deepprompt import Note, load_skills
from deepprompt.sources import files as files_module
from deepprompt.sources import skills as skills_module
from deepprompt.sources.skills import INDEX_LIMIT
from tests.support.hostile.doors import gathered
from tests.support.layout import lay_out

pytestmark = pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")


def skill(name: str, tools: int = 0) -> str:
    """The file of a skill, with some tools of long names."""
    listed = ",".join(f"{number:03}" + "t" * 250 for number in range(tools))
    return f"---\nname: {name}\ndescription: x\nallowed-tools: {listed}\n---\nbody\n"


def test_n13_many_skills_with_long_fields(tmp_path: Path) -> None:
    """The index has a limit in bytes for all skills together, and a note says how many are not listed."""
    lay_out(tmp_path, {f"skills/{number:04}/SKILL.md": skill(f"s{number:04}", 60) for number in range(40)})
    store = load_skills(tmp_path)
    index = store.index_text()
    assert len(index.encode()) <= INDEX_LIMIT
    listed = index.count("\n")
    assert 0 < listed < 40 == len(store.skills)
    detail = f"{40 - listed} skills are not listed: the index may have {INDEX_LIMIT} bytes"
    assert index.notes[-1] == Note("cut", "skills", detail)
    assert len(gathered(tmp_path).text) < INDEX_LIMIT + 50_000
    assert store.body("s0039") == "body"


def test_n13_one_long_line_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skill whose line does not fit is left out; the ones after it are listed if they fit."""
    monkeypatch.setattr(skills_module, "INDEX_LIMIT", 500)
    lay_out(tmp_path, {"skills/a/SKILL.md": skill("a", 10), "skills/b/SKILL.md": skill("b")})
    index = load_skills(tmp_path).index_text()
    assert index.startswith("b | x | direct | ")
    assert index.notes[-1].detail == "1 skill is not listed: the index may have 500 bytes"


@pytest.mark.slow
def test_n13_ordinary_numbers_are_all_listed(tmp_path: Path) -> None:
    """A thousand ordinary skills fit, without a note."""
    lay_out(tmp_path, {f"skills/{number}/SKILL.md": skill(f"skill-{number}") for number in range(1_000)})
    index = load_skills(tmp_path).index_text()
    assert (index.count("\n"), index.notes) == (1_000, ())


class Swaps:
    """Every look at the file system, counted; before two of them a folder becomes a link out, and a folder again."""

    def __init__(self, folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.outside, self.aside = folder, outside, folder.parent.parent / "aside"
        self.looks, self.turns = 0, (0, 0)
        self.real = {name: getattr(os, name) for name in ("open", "lstat", "stat", "scandir")}
        for name in self.real:
            monkeypatch.setattr(os, name, partial(self._look, name))
        monkeypatch.setattr(os, "supports_fd", {*os.supports_fd, os.scandir})

    def _look(self, name: str, *arguments: object, **options: object) -> object:
        self.looks += 1
        if self.looks == self.turns[0]:
            self._to_link()
        if self.looks == self.turns[1]:
            self._to_folder()
        return self.real[name](*arguments, **options)

    def _to_link(self) -> None:
        os.rename(self.folder, self.aside)
        os.symlink(self.outside, self.folder)

    def _to_folder(self) -> None:
        os.unlink(self.folder)
        os.rename(self.aside, self.folder)

    def load(self, cwd: Path, begin: int, end: int) -> tuple[int, set[str]]:
        """Load the skills while the folder is a link from one look to another; return how many, and their notes."""
        self.looks, self.turns = 0, (begin, end)
        store = load_skills(cwd)
        if begin and begin <= self.looks < end:
            self._to_folder()
        return len(store.skills), {str(note) for note in store.notes}


@pytest.mark.parametrize("careful", [True, False], ids=["", "by name, as the control"])
def test_n14_folder_swapped_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, careful: bool) -> None:
    """A folder that is a link from any moment of a search to any other shows no name of what lies outside.

    The control lists folders by their names, which is what systems without descriptors of folders are left with: there
    some moment shows the names.
    """
    if careful and not files_module._WALKS:
        pytest.skip("this system cannot open relative to a folder")
    monkeypatch.setattr(files_module, "_WALKS", careful)
    outside = lay_out(tmp_path / "outside", {"private/x": ""})
    (outside / "secret").symlink_to("private")
    cwd = lay_out(tmp_path / "cwd", {"skills/a/b/SKILL.md": skill("b")})
    swaps = Swaps(cwd / "skills/a", outside, monkeypatch)
    assert swaps.load(cwd, 0, 0) == (1, set())
    moments = range(1, swaps.looks + 1)
    seen = [swaps.load(cwd, begin, end) for begin in moments for end in range(begin + 1, moments[-1] + 2)]
    assert {count for count, _ in seen} == {0, 1}
    shown = {note for _, notes in seen for note in notes if "secret" in note or "private" in note}
    assert bool(shown) != careful
