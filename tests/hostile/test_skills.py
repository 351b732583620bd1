"""N: folders of skills that make the index huge, or that change while they are listed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from deepprompt import Note, load_skills
from deepprompt.sources import skills as skills_module
from deepprompt.sources.skills import INDEX_LIMIT
from tests.support.hostile.doors import gathered
from tests.support.layout import lay_out

pytestmark = pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")


def skill(name: str, tools: int = 0) -> str:
    """The file of a skill, with some tools of long names."""
    listed = ",".join(f"{number:03}" + "t" * 250 for number in range(tools))
    return f"---\nname: {name}\ndescription: x\nallowed-tools: {listed}\n---\nbody\n"


@pytest.mark.slow
def test_n13_many_skills_with_long_fields(tmp_path: Path) -> None:
    """The index has a limit in bytes for all skills together, and a note says how many are not listed."""
    lay_out(tmp_path, {f"skills/{number:04}/SKILL.md": skill(f"s{number:04}", 60) for number in range(300)})
    store = load_skills(tmp_path)
    index = store.index_text()
    assert len(index.encode()) <= INDEX_LIMIT
    listed = index.count("\n")
    assert 0 < listed < 300 == len(store.skills)
    detail = f"{300 - listed} skills are not listed: the index may have {INDEX_LIMIT} bytes"
    assert index.notes[-1] == Note("cut", "skills", detail)
    assert len(gathered(tmp_path).text) < INDEX_LIMIT + 50_000
    assert store.body("s0299") == "body"


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


@pytest.mark.slow
def test_n14_folder_swapped_while_it_is_listed(tmp_path: Path) -> None:
    """A folder that becomes a link in the middle of a search shows no name of what lies outside."""
    outside = lay_out(tmp_path / "outside", {"private/x": ""})
    for number in range(50):
        (outside / f"secret-{number}").symlink_to("private")
    cwd = lay_out(tmp_path / "cwd", {"skills/a/b/SKILL.md": skill("b")})
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (cwd / "skills/a").rename(cwd / "aside")
            (cwd / "skills/a").symlink_to(outside)
            (cwd / "skills/a").unlink()
            (cwd / "aside").rename(cwd / "skills/a")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = set()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            store = load_skills(cwd)
            seen.add(len(store.skills))
            assert not [note for note in store.notes if "secret" in str(note) or "private" in str(note)]
    finally:
        stop.set()
        swapper.join()
    assert seen >= {0, 1}, "nothing was swapped, so this test proves nothing"
