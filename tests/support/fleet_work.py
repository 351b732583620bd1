"""Work for the engines of a fleet: parts that are counted, whose worker is killed, or that are refused."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

from deepprompt.errors import MessageError

PARTS = ["a", "bb", "c", "dddd", "ee", "f"]
WANTED = {part: len(part) for part in PARTS}


@dataclass
class Seen:
    """What was worked on: an integer for each part."""

    parts: dict[str, int] = field(default_factory=dict)

    def add(self, other: Seen) -> None:
        """Add what another worker saw."""
        for name, count in other.parts.items():
            self.parts[name] = self.parts.get(name, 0) + count


def length(part: str) -> Seen:
    """Work on a part."""
    return Seen({part: len(part)})


def killed(part: str, *, at: str, once: str = "") -> Seen:
    """Kill the worker that has a certain part: each time, or only once."""
    if part == at and not (once and os.path.exists(once)):
        if once:
            Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return length(part)


def refused(part: str) -> Seen:
    """Fail as a reader does."""
    if part == "c":
        raise MessageError("c: not today")
    return length(part)
