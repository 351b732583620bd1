"""Work on many parts, in one process or in several, and add up what comes of them.

This is the only place that starts workers. What is added up must not depend on the order, so that any number of workers
gives the same sum. A worker that is killed costs one more try of the part it had; if that is killed too, the error
names the part.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Protocol, Self, TypeVar

from deepprompt.errors import SourceError
from deepprompt.words import Engine


class Sum(Protocol):
    """What can be added up: in any order and any grouping with the same result."""

    def add(self, other: Self, /) -> None:
        """Add another one to this one."""


_SAFE = "PYTHONSAFEPATH"

P = TypeVar("P")
S = TypeVar("S", bound=Sum)


def run(
    parts: Sequence[P],
    work: Callable[[P], S],
    zero: S,
    *,
    engine: Engine = "process",
    jobs: int = 1,
    told: Callable[[int, int], None] | None = None,
) -> S:
    """Return `zero` with the results of all parts added to it.

    `work` and the parts are pickled if there is more than one worker, so `work` is a function of a module, or a
    `partial` of one. `str(part)` names a part in an error. `told` is called with the number of parts that are done, and
    with how many there are. Raises `SourceError` if a part kills its worker twice. With the engine `ray`, Ray decides
    how many workers there are.
    """
    if jobs < 1:
        raise SourceError(f"jobs is a number of processes, 1 or more, not {jobs!r:.40}")
    if engine not in _ENGINES:
        raise SourceError(f"no engine {engine!r:.40}; there are: {', '.join(_ENGINES)}")
    for number, result in enumerate(_ENGINES[engine](parts, work, min(jobs, len(parts))), 1):
        zero.add(result)
        if told is not None:
            told(number, len(parts))
    return zero


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(parts: Sequence[P], work: Callable[[P], S], jobs: int) -> Iterator[S]:
    if jobs < 2:
        yield from map(work, parts)
        return
    waiting = deque(parts)
    while waiting:
        running: dict[Future[S], P] = {}
        with _pool(jobs) as pool:
            try:
                yield from _fed(pool, waiting, running, work, jobs)
            except BrokenProcessPool:
                pass  # what was running is tried again below, each part alone
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        for part in running.values():
            yield _alone(part, work)


def _fed(
    pool: ProcessPoolExecutor, waiting: deque[P], running: dict[Future[S], P], work: Callable[[P], S], jobs: int
) -> Iterator[S]:
    """Yield results as they come. No more parts are handed out than there are workers: these are the suspects."""
    while waiting or running:
        while waiting and len(running) < jobs:
            running[pool.submit(work, waiting[0])] = waiting[0]
            waiting.popleft()
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            result = future.result()
            del running[future]
            yield result


def _alone(part: P, work: Callable[[P], S]) -> S:
    with _pool(1) as pool:
        try:
            return pool.submit(work, part).result()
        except BrokenProcessPool:
            raise SourceError(f"{part}: its worker process was killed, twice; is there too little memory?") from None


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Start workers in the same way on every system, and not by fork: the caller may have threads."""
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"  # a worker must not import a stranger's json.py from the current folder
    try:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
    finally:
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before


def _on_ray(parts: Sequence[P], work: Callable[[P], S], jobs: int) -> Iterator[S]:  # noqa: ARG001 - Ray has its own
    from deepprompt.fleet.ray_engine import on_ray

    return on_ray(parts, work)


_ENGINES = {"process": _in_processes, "ray": _on_ray}
