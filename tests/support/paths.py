"""Folders that tests read, and the one that they write to."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"


def memory_folder(name: str = "/dev/shm", room: int = 1 << 30) -> str:
    """Return a folder that is kept in memory, if there is one with enough room that lets programs be run, or ""."""
    if not (os.path.isdir(name) and os.access(name, os.W_OK)):
        return ""
    status = os.statvfs(name)
    fits = status.f_bavail * status.f_frsize >= room and status.f_favail >= 500_000
    return name if fits and not status.f_flag & os.ST_NOEXEC else ""
