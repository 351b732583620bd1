"""Engines for large logs: two processes beside one, and Ray by file beside two processes, its start aside."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.fleet_logs import write_logs
from benchmarks.measure import Row, Settings
from deepprompt import report


def rows(settings: Settings) -> Iterator[Row]:
    """Measure all three on the same logs, in turns."""
    requests, files = (6_000, 12) if settings.quick else (20_000, 24)
    ways: dict[str, dict[str, Any]] = {"one": {"jobs": 1}, "two": {"jobs": 2}}
    if importlib.util.find_spec("ray") is not None:
        from deepprompt.fleet.ray_engine import on_ray

        list(on_ray(["warm"], len))
        ways["ray"] = {"engine": "ray"}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        write_logs(Path(folder), requests, files)
        for _ in range(settings.rounds(3) if not settings.quick else 1):
            for name, options in ways.items():
                begin = time.perf_counter()
                report(folder, **options)
                seconds[name].append(time.perf_counter() - begin)
    one, two = min(seconds["one"]), min(seconds["two"])
    name = f"{requests:,} requests on two processes; the limit is one process, 1.8 times as fast"
    yield Row(name, f"{two:.3g} s", f"{one / 1.8:.3g} s", two / (one / 1.8), 1)
    if "ray" in ways:
        ours = min(seconds["ray"])
        yield Row("the same on Ray, beside two processes", f"{ours:.3g} s", f"{two:.3g} s", ours / two, 2.5)
