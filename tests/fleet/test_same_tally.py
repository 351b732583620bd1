"""The same 20,000 requests give one tally: on one process, two, and Ray, in any order, with a worker killed."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from benchmarks.fleet_logs import write_logs
from deepprompt.fleet.engines import run
from deepprompt.fleet.parts import Part, parts_of
from deepprompt.fleet.report import sum_up
from deepprompt.fleet.tally import Tally
from deepprompt.words import Engine
from tests.support.ray import cluster, need_ray

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

REQUESTS, FILES = 20_000, 24
MOST_MEMORY = 400_000  # in KB, as getrusage has it on Linux


@dataclass
class Peak:
    """The most memory that a worker had."""

    kilobytes: int = 0

    def add(self, other: Peak) -> None:
        """Keep the larger one."""
        self.kilobytes = max(self.kilobytes, other.kilobytes)


def dies_in_the_middle(part: Part, *, marker: str) -> Tally:
    """Sum up a part; the first worker that comes here is killed while it does."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return sum_up(part)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL))
    timer.start()
    sum_up(part)
    timer.join()  # however fast it was
    raise AssertionError("not killed")


def measured(part: Part) -> Peak:
    """Sum up a part, and say how much memory this worker took so far, without that of the process that started it."""
    sum_up(part)
    status = Path("/proc/self/status").read_text("utf-8")
    return Peak(int(status.partition("VmHWM:")[2].split()[0]))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of the fleet."""
    folder = tmp_path_factory.mktemp("fleet")
    write_logs(folder, REQUESTS, FILES)
    return sorted(map(str, folder.iterdir()))


@pytest.fixture(scope="module")
def parts(logs: list[str]) -> list[Part]:
    """The parts of these logs."""
    found, _ = parts_of(logs)
    assert len(found) > 4
    return found


@pytest.fixture(scope="module")
def alone(parts: list[Part]) -> Tally:
    """The tally of one process."""
    return run(parts, sum_up, Tally())


@pytest.fixture(scope="module", params=["process", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine, with two workers."""
    if request.param == "ray":
        need_ray()
    with cluster() if request.param == "ray" else nullcontext():
        yield request.param


def test_what_is_in_the_logs(logs: list[str], alone: Tally) -> None:
    """Every request is summed up, the two lines that are none are told, and the planted faults are found."""
    assert len(logs) == FILES
    assert alone.total.requests == REQUESTS
    assert alone.unread == 2
    assert {key[0] for key in alone.causes} >= {"clock", "tool order", "edit", "expired"}


def test_any_order(logs: list[str], alone: Tally, engine: Engine) -> None:
    """The order of the files and of the parts does not matter, to the last integer."""
    mixed = random.Random(7).sample(logs, len(logs))
    parts, _ = parts_of(mixed, engine=engine, jobs=2)
    assert run(parts[::-1], sum_up, Tally(), engine=engine, jobs=2) == alone


def test_a_worker_killed_in_the_middle(parts: list[Part], alone: Tally, engine: Engine, tmp_path: Path) -> None:
    """A worker that is killed while it sums up a part costs time, and nothing is lost or counted twice."""
    work = partial(dies_in_the_middle, marker=str(tmp_path / "marker"))
    assert run(parts, work, Tally(), engine=engine, jobs=2) == alone
    assert (tmp_path / "marker").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_the_memory_of_a_worker(parts: list[Part], engine: Engine) -> None:
    """No worker takes more than 400 MB."""
    peak = run(parts, measured, Peak(), engine=engine, jobs=2)
    assert 0 < peak.kilobytes < MOST_MEMORY
