"""The same requests give one tally: on one process, two, and Ray, in any order, with a worker killed.

They are 3,000, and 20,000 where Ray has to be: continuous integration runs these tests there too.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from benchmarks.fleet_logs import write_logs
from deepprompt.fleet.engines import run
from deepprompt.fleet.parts import SIZE, Part, parts_of
from deepprompt.fleet.report import sum_up
from deepprompt.fleet.tally import Tally
from deepprompt.words import Engine
from tests.support.ray import NEEDED, cluster, need_ray

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

MANY = 20_000
REQUESTS, FILES = MANY if NEEDED else 3_000, 24


@dataclass
class Measured:
    """A tally, and the most memory that a worker had."""

    tally: Tally = field(default_factory=Tally)
    kilobytes: int = 0

    def add(self, other: Measured) -> None:
        """Add a tally, and keep the larger peak."""
        self.tally.add(other.tally)
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


def measured(part: Part) -> Measured:
    """Sum up a part, and say how much memory this worker took so far, without that of the process that started it."""
    tally = sum_up(part)
    status = Path("/proc/self/status")
    peak = int(status.read_text("utf-8").partition("VmHWM:")[2].split()[0]) if status.exists() else 0
    return Measured(tally, peak)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The files of the fleet."""
    folder = tmp_path_factory.mktemp("fleet")
    write_logs(folder, REQUESTS, FILES)
    with pytest.MonkeyPatch.context() as patch:  # as many parts of fewer requests
        patch.setattr("deepprompt.fleet.parts.SIZE", SIZE * REQUESTS // MANY)
        yield sorted(map(str, folder.iterdir()))


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


@pytest.fixture(scope="module")
def mixed(logs: list[str], engine: Engine) -> Measured:
    """What two workers find, given files and parts in another order."""
    parts, _ = parts_of(random.Random(7).sample(logs, len(logs)), engine=engine, jobs=2)
    return run(parts[::-1], measured, Measured(), engine=engine, jobs=2)


def test_any_order(mixed: Measured, alone: Tally) -> None:
    """The order of the files and of the parts does not matter, to the last integer."""
    assert mixed.tally == alone


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_the_memory_of_a_worker(mixed: Measured, engine: Engine) -> None:
    """No worker takes more than 150 MB; with many requests, or with Ray, which is large before it begins, 400 MB."""
    assert 0 < mixed.kilobytes < (400_000 if NEEDED or engine == "ray" else 150_000)


def test_a_worker_killed_in_the_middle(parts: list[Part], alone: Tally, engine: Engine, tmp_path: Path) -> None:
    """A worker that is killed while it sums up a part costs time, and nothing is lost or counted twice."""
    work = partial(dies_in_the_middle, marker=str(tmp_path / "marker"))
    assert run(parts, work, Tally(), engine=engine, jobs=2) == alone
    assert (tmp_path / "marker").exists()
