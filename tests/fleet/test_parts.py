"""Parts of logs: made of the content alone, with conversations and shared starts kept together."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from deepprompt import report
from deepprompt.errors import SourceError
from deepprompt.fleet import parts as module
from deepprompt.fleet import report as report_module
from deepprompt.fleet.parts import Part, parts_of
from deepprompt.fleet.tally import Tally

LONG = "Guideline: prefer small steps, and say what you did. " * 40


def talk(agent: str, session: str, turns: int, start: float, clock: bool = False) -> list[dict[str, Any]]:
    """Return the records of one conversation."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Task of {session}."}]
    found = []
    for turn in range(turns):
        system = [{"type": "text", "text": f"You are {agent}. {LONG}", "cache_control": {"type": "ephemeral"}}]
        system += [{"type": "text", "text": f"It is {turn} past ten."}] if clock else []
        body = {"model": "claude-opus-5-5", "system": system, "messages": list(messages)}
        found.append({"at": start + 20 * turn, "session": session, "agent": agent, "body": body})
        messages += [{"role": "assistant", "content": f"{session} {turn}"}, {"role": "user", "content": "Go on."}]
    return found


def fleet(folder: Path, agents: int, files: int) -> list[Path]:
    """Write logs: each agent has its own files, and each file its own conversations."""
    folder.mkdir(exist_ok=True)
    written = []
    for agent in range(agents):
        for number in range(files):
            records = [
                one
                for session in range(3)
                for one in talk(f"agent{agent}", f"{agent}-{number}-{session}", 5, 1e9 + 500 * number, session == 0)
            ]
            written.append(folder / f"{agent}-{number}.jsonl")
            written[-1].write_text("".join(json.dumps(record) + "\n" for record in records))
    return written


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts of about two files."""
    monkeypatch.setattr(module, "SIZE", 100_000)


def test_small_logs_are_one_part(tmp_path: Path) -> None:
    """Nothing is cut, and no file is read twice, if all is small."""
    paths = fleet(tmp_path, 2, 3)
    assert parts_of([tmp_path]) == ([Part(tuple(map(str, paths)))], "")


def test_by_what_they_begin_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that share a start are together, if a part can hold them."""
    paths = fleet(tmp_path, 3, 2)
    monkeypatch.setattr(module, "SIZE", sum(path.stat().st_size for path in paths[:2]) + 100)
    parts, how = parts_of([tmp_path])
    assert sorted(part.files for part in parts) == [tuple(map(str, paths[at : at + 2])) for at in (0, 2, 4)]
    assert "3 parts, cut by what requests begin with" in how


@pytest.mark.usefixtures("tiny")
def test_by_conversation(tmp_path: Path) -> None:
    """Files that share a start but are too many are cut, but never between files that share a conversation."""
    paths = fleet(tmp_path, 1, 8)
    crossing = talk("agent0", "0-0-0", 7, 1e9 + 4000)[5:]
    with paths[6].open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in crossing)
    parts, how = parts_of([tmp_path])
    assert len(parts) > 2
    assert sorted(file for part in parts for file in part.files) == sorted(map(str, paths))
    assert any({str(paths[0]), str(paths[6])} <= set(part.files) for part in parts)
    assert "cut by conversation" in how
    assert "empty cache" in how


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("jobs", [1, 3])
def test_any_workers_any_order(tmp_path: Path, jobs: int) -> None:
    """The tally is the same to the last integer, for any number of workers and any order of the files."""
    paths = fleet(tmp_path, 3, 4)
    wanted = report(tmp_path).tally
    assert wanted.total.requests == 3 * 4 * 15
    assert wanted.causes
    random.Random(jobs).shuffle(paths)
    assert report(paths, jobs=jobs).tally == wanted


def test_parts_by_start_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut by what requests begin with, the logs give the same tally as in one piece."""
    paths = fleet(tmp_path, 3, 2)
    whole = report(tmp_path).tally
    monkeypatch.setattr(module, "SIZE", sum(path.stat().st_size for path in paths[:2]) + 100)
    found = report(tmp_path)
    assert found.parts
    assert found.tally.assumed.keys() == whole.assumed.keys()
    found.tally.assumed = whole.assumed  # counts simulations, of which there are more
    assert found.tally == whole


@pytest.mark.usefixtures("tiny")
def test_packed_and_unreadable_files(tmp_path: Path) -> None:
    """A file that is damaged, half-written or not there any more is told, and the others are summed up."""
    paths = fleet(tmp_path, 1, 4)
    wanted = report(paths[2:]).tally.total
    packed = gzip.compress(paths[0].read_bytes())
    (tmp_path / "0-0.jsonl").write_bytes(packed[: len(packed) // 2])
    paths[1].unlink()
    paths[1].symlink_to(tmp_path / "gone")
    found = report(tmp_path, jobs=2)
    assert found.tally.total.requests >= wanted.requests
    said = {os.path.basename(one.where): one.why for one in found.tally.examples}
    assert "No such file" in said["0-1.jsonl"]
    assert "end-of-stream" in said["0-0.jsonl"]


def test_the_only_file_is_an_error(tmp_path: Path) -> None:
    """One log that cannot be read is an error, as there is nothing to report."""
    with pytest.raises(SourceError, match="No such file"):
        report(tmp_path / "none.jsonl")


def dies(part: Part, **_: Any) -> Tally:
    """Kill the worker that has the third file."""
    if any(file.endswith("0-2.jsonl") for file in part.files):
        os.kill(os.getpid(), signal.SIGKILL)
    return Tally()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_worker_names_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever kills workers is named by its file."""
    paths = fleet(tmp_path, 1, 4)
    monkeypatch.setattr(module, "SIZE", paths[0].stat().st_size)
    monkeypatch.setattr(report_module, "sum_up", dies)
    with pytest.raises(SourceError, match=r"0-2\.jsonl: its worker process was killed"):
        report(tmp_path, jobs=2)
