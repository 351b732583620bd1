"""Whether time, or the counted work, grows as the input does."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

MOST = 2.6**2
ENOUGH = 0.004  # seconds, for a time that can be compared
TRIES = 3


def processor_time(call: Callable[[], object], runs: int) -> float:
    """Return the least processor time that some runs of a call took."""
    times = []
    gc.disable()
    try:
        for _ in range(runs):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(times)


def ratio(run: Callable[[int], Callable[[], object]], size: int, largest: int) -> float:
    """Return how much longer four times the input takes, at a size that takes long enough to tell.

    A run that is disturbed makes the larger input look worse, and `in_proportion` tries again; so it is run once.
    """
    while (small := processor_time(run(size), 1)) < ENOUGH and 4 * size <= largest:
        size *= 2
    small = min(small, processor_time(run(size), 2))
    large = processor_time(run(4 * size), 1)
    return large / small if large > 2 * ENOUGH else 0.0


def in_proportion(run: Callable[[int], Callable[[], object]], size: int = 4_096, largest: int = 1 << 20) -> None:
    """See that time grows as the input does. The machine may be busy: it has several tries."""
    for attempt in range(TRIES):
        found = ratio(run, size, largest)
        if found <= MOST:
            return
        time.sleep(0.05 * attempt)
    raise AssertionError(f"four times the input takes {found:.1f} times as long")


def steps(call: Callable[[], object]) -> int:
    """Return how many instructions of Python a call takes: the same number on a busy machine and on a quiet one."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
