"""The engine on Ray: the same sums as processes, killed workers, errors as they are, and a stranger's folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.fleet_logs import write_logs
from deepprompt.errors import MessageError, SourceError
from deepprompt.fleet.engines import run
from tests.support.fleet_work import PARTS, WANTED, Seen, killed, length, refused
from tests.support.paths import ROOT
from tests.support.ray import cluster, need_ray

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def here(part: str) -> Seen:
    """Say where relative paths start in a worker."""
    return Seen({f"{part} in {os.getcwd()}": 1})


@pytest.fixture(scope="class")
def two_cpus() -> Iterator[None]:
    """A cluster for several tests."""
    with cluster():
        yield


@pytest.mark.usefixtures("two_cpus")
class TestOnACluster:
    """What runs on a cluster that is there."""

    def test_every_part_once(self) -> None:
        """Every part is worked on once, and the number of those that are done is told."""
        told: list[tuple[int, int]] = []
        found = run(PARTS, length, Seen(), engine="ray", told=lambda *pair: told.append(pair))
        assert found.parts == WANTED
        assert told == [(number, 6) for number in range(1, 7)]
        assert run([], length, Seen(), engine="ray").parts == {}

    def test_a_worker_killed_once(self, tmp_path: Path) -> None:
        """A part whose worker is killed is tried again, and nothing is counted twice."""
        work = partial(killed, at="c", once=str(tmp_path / "killed"))
        assert run(PARTS, work, Seen(), engine="ray").parts == WANTED
        assert (tmp_path / "killed").exists()

    def test_a_worker_killed_each_time(self) -> None:
        """A part that kills every worker is named, and nothing hangs."""
        with pytest.raises(SourceError, match=r"^dddd: its Ray worker was killed, again and again"):
            run(PARTS, partial(killed, at="dddd"), Seen(), engine="ray")

    def test_an_error(self) -> None:
        """An error of the work is raised as it is."""
        with pytest.raises(MessageError, match=r"^c: not today$"):
            run(PARTS, refused, Seen(), engine="ray")

    def test_relative_paths(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A relative path means the same to a worker."""
        monkeypatch.chdir(tmp_path)
        assert run(["a"], here, Seen(), engine="ray").parts == {f"a in {tmp_path}": 1}


def command(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-P", "-m", "deepprompt", "report", "logs", "--json", *options]
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_command_starts_ray_itself(tmp_path: Path) -> None:
    """It reports the same as processes, from relative paths, and imports nothing from a stranger's folder."""
    need_ray()
    write_logs(tmp_path / "logs", 6_000, 12)
    for name in ("json", "pickle", "numpy", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    plain, on_ray = command(tmp_path, "--jobs", "2"), command(tmp_path, "--engine", "ray")
    assert (plain.returncode, on_ray.returncode) == (0, 0), on_ray.stderr
    assert on_ray.stdout == plain.stdout
    assert json.loads(plain.stdout)["requests"] == 6_000
    ours = [[line for line in ran.stderr.splitlines() if line.startswith("deepprompt")] for ran in (plain, on_ray)]
    assert ours[0] == ours[1]  # on a busy machine Ray itself complains of it
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "127.0.0.1:99999"])
def test_a_cluster_that_cannot_be_reached(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is Ray's own setting. A wrong one is one sentence at once, and Ray is not started."""
    need_ray()
    import ray

    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(SourceError, match=r"^no Ray cluster answers at RAY_ADDRESS=.+: ."):
        run(PARTS, length, Seen(), engine="ray")
    assert not ray.is_initialized()


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray it is an error that says what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SourceError, match=r"the engine ray needs Ray Data: 'pip install deepprompt\[ray\]'"):
        run(PARTS, length, Seen(), engine="ray")
