"""How long an event loop stands still, measured so that a busy machine does not count as our doing.

- A step is what the loop runs between two looks at its queue. Its processor time is what it computes, whatever else the
  machine does; its time by the clock also has what it waits for, such as a git that hangs.
- A beat is late by the clock. Ours is at most the processor time that this process spent meanwhile, in any thread: a
  loop that waits for the interpreter, which another thread holds, waits for that long. Time that other processes take
  is not in it.
"""

from __future__ import annotations

import asyncio
import time
from asyncio.events import Handle
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

BEAT = 0.001


@dataclass(slots=True)
class Lateness:
    """What was measured of one loop, in seconds."""

    computed: list[float] = field(default_factory=list)
    """The processor time of each step."""
    stood: list[float] = field(default_factory=list)
    """The time of each step by the clock."""
    late: list[float] = field(default_factory=list)
    """How late each beat was."""
    ours: list[float] = field(default_factory=list)
    """The part of it that this process may have caused."""

    def share_over(self, limit: float) -> float:
        """Return the share of the beats that we made late by more than a limit."""
        return sum(one > limit for one in self.ours) / max(1, len(self.ours))


def lateness(work: Callable[[], Awaitable[object]]) -> Lateness:
    """Run some work in a loop of its own, beside a heartbeat."""
    found = Lateness()
    run = Handle._run

    def measured(handle: Handle) -> None:
        clock, processor = time.perf_counter(), time.thread_time()
        run(handle)
        found.computed.append(time.thread_time() - processor)
        found.stood.append(time.perf_counter() - clock)

    Handle._run = measured  # type: ignore[method-assign, assignment]
    try:
        asyncio.run(_beside_a_heartbeat(work, found))
    finally:
        Handle._run = run  # type: ignore[method-assign]
    return found


async def _beside_a_heartbeat(work: Callable[[], Awaitable[object]], found: Lateness) -> None:
    done = asyncio.Event()

    async def beat() -> None:
        while not done.is_set():
            clock, processor = time.perf_counter(), time.process_time()
            await asyncio.sleep(BEAT)
            late = time.perf_counter() - clock - BEAT
            found.late.append(late)
            found.ours.append(min(late, time.process_time() - processor))

    beating = asyncio.create_task(beat())
    await work()
    done.set()
    await beating
