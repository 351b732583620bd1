"""`run`: the same sum for any number of workers, a killed worker that is survived or named, and nothing that hangs."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from deepprompt.errors import MessageError, SourceError
from deepprompt.fleet.engines import cores, run
from tests.support.fleet_work import PARTS, WANTED, Seen, killed, length, refused

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_number_of_workers(jobs: int) -> None:
    """Every part is worked on once, and the number of those that are done is told."""
    told: list[tuple[int, int]] = []
    found = run(PARTS, length, Seen(), jobs=jobs, told=lambda *pair: told.append(pair))
    assert found.parts == WANTED
    assert told == [(number, 6) for number in range(1, 7)]


def test_no_parts() -> None:
    """Nothing to do is no error."""
    assert run([], length, Seen(), jobs=4).parts == {}
    assert cores() >= 1


@needs_signals
def test_a_worker_killed_once(tmp_path: Path) -> None:
    """A part whose worker is killed is tried again, and nothing is counted twice."""
    work = partial(killed, at="c", once=str(tmp_path / "killed"))
    assert run(PARTS, work, Seen(), jobs=2).parts == WANTED
    assert (tmp_path / "killed").exists()


@needs_signals
def test_a_worker_killed_twice() -> None:
    """A part that kills its worker again is named."""
    with pytest.raises(SourceError, match=r"dddd: its worker process was killed, twice"):
        run(PARTS, partial(killed, at="dddd"), Seen(), jobs=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error(jobs: int) -> None:
    """An error of the work is raised as it is."""
    with pytest.raises(MessageError, match="c: not today"):
        run(PARTS, refused, Seen(), jobs=jobs)


def test_wrong_use() -> None:
    """Numbers and names that make no sense are told."""
    with pytest.raises(SourceError, match="jobs is a number of processes, 1 or more, not 0"):
        run(PARTS, length, Seen(), jobs=0)
    with pytest.raises(SourceError, match=r"no engine 'spark'; there are: process"):
        run(PARTS, length, Seen(), engine="spark")  # type: ignore[arg-type]


def test_workers_ignore_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's json.py in the current folder is not imported by a worker, and the environment stays as it was."""
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "pickle.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    assert run(PARTS, length, Seen(), jobs=2).parts == WANTED
    assert not (tmp_path / "ran").exists()
    assert "PYTHONSAFEPATH" not in os.environ
