"""How things are measured here: side by side in one loop, so that noise hits all of them, and told as ratios.

A `Row` is one line of a table: our figure, the limit it is held against, and each rival's. Nothing here knows what
is measured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context

LEAST_SECONDS = 0.0003  # a sample shorter than this says more about the clock than about the work

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the caller asked for: few rounds and small inputs, and the Python of an environment to start."""

    quick: bool = False
    python: str = ""

    def rounds(self, usual: int) -> int:
        """How often to measure what is usually measured that often."""
        return max(3, usual // 10) if self.quick else usual


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: `ratio` is ours over the limit, `rivals` theirs; a `target` is the most it may be."""

    name: str
    ours: str
    limit: str
    ratio: float
    target: float | None = None
    unit: str = "x"
    rivals: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the target is met; "" where there is none."""
        if self.target is None:
            return ""
        return "met" if self.ratio <= self.target else "missed"


@dataclass(frozen=True, slots=True)
class Sample:
    """One piece of work: its median time, and the median of its ratio to the limit, round by round."""

    seconds: float
    ratio: float


def measured(group: str, settings: Settings) -> list[Row]:
    """Measure a group in a process of its own, so that it does not pay for what another one left in memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_rows, group, settings).result()


def _rows(group: str, settings: Settings) -> list[Row]:
    rows: Iterable[Row] = import_module(f"benchmarks.{group}").rows(settings)
    return list(rows)


def compare(works: Mapping[str, Work], rounds: int, *, least: float = LEAST_SECONDS) -> dict[str, Sample]:
    """Time each piece of work in every round; the first of them is the limit that the others are held against."""
    times = {name: _times_at_once(work, least) for name, work in works.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(_seconds(work, times[name]))
    limit = next(iter(seconds.values()))
    return {
        name: Sample(
            statistics.median(own), statistics.median(one / other for one, other in zip(own, limit, strict=True))
        )
        for name, own in seconds.items()
    }


def row(name: str, samples: Mapping[str, Sample], *, target: float | None = None, note: str = "") -> Row:
    """Make a row of the samples: the limit first, ours second, rivals after them."""
    (_, limit), (_, ours), *rivals = samples.items()
    return Row(
        name,
        shown(ours.seconds),
        shown(limit.seconds),
        ours.ratio,
        target,
        rivals={rival: sample.ratio for rival, sample in rivals},
        note=note,
    )


def shown(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _times_at_once(work: Work, least: float) -> int:
    """Return how often work has to be done for a sample to be long enough; it is warm afterwards."""
    times = 1
    while _seconds(work, times) * times < least:
        times *= 2
    return times


def _seconds(work: Work, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begin) / times
