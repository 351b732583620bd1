"""`python -m benchmarks.replay`: the cost table of a history that the user names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import replay
from tests.support.repositories import commit, make_repository


def source(name: str, version: int) -> str:
    """Return a source of some size."""
    lines = "".join(f"def {name}_{line}(x: int) -> int:\n    return x + {line}\n\n\n" for line in range(60))
    return f"{lines}VERSION = {version}\n"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a history: one file changes often, the others seldom, and some commits change no source."""
    dice = random.Random(29)
    names = [f"part_{letter}" for letter in "abcdefgh"]
    folder = make_repository(
        tmp_path_factory.mktemp("replay") / "root", {f"src/{name}.py": source(name, 0) for name in names}
    )
    for number in range(1, 25):
        name = names[0] if number % 3 else dice.choice(names)
        commit(folder, f"commit {number}", {f"src/{name}.py": source(name, number)})
        if number % 8 == 0:
            commit(folder, "notes", {"notes.txt": f"{number}\n"})
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("work", ["files", "map"])
def test_the_table(work: str, history: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each provider; strict and ledger cost less than one block of the same texts."""
    if work == "map":
        pytest.importorskip("tree_sitter", reason="the symbol map needs deepprompt[map]")
    assert replay.main([str(history), "--turns", "12", "--work", work]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:3] for row in rows] == [[work, model, "12"] for _, model in replay.PROVIDERS]
    for row in rows[:2]:
        assert float(row[6]) < 1
        assert float(row[7]) < 1


@pytest.mark.slow
def test_the_texts_are_those_of_the_commits(history: Path) -> None:
    """Each turn shows the files as they were before its commit, and the last answer is the commit's diff."""
    made = replay.replay(str(history), 4, 0, "files", {"one block": replay.one_block})["one block"]
    versions = [context.tiers["L0"].files["src/part_a.py"].rpartition("VERSION = ")[2].strip() for context in made]
    assert versions == ["20", "20", "22", "23"]
    assert "+VERSION = 23" in str(made[-1].tiers["L0"].history[-1]["content"])


def test_no_history(tmp_path: Path) -> None:
    """Without a commit that changes sources it says so."""
    folder = make_repository(tmp_path / "root", {"notes.txt": "x\n"})
    with pytest.raises(SystemExit, match="no commit changes one to 8 source files"):
        replay.main([str(folder)])
