"""Much of the same: a million prompts on one prefix without keeping them, and an instruction file of 50 GiB."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, Settings, compare, row
from deepprompt import load_instruction_files

# In a process of its own, so that its memory is that of the stream. The contexts differ in their status; what git said
# was looked at when it was read, so that is not part of the time, nor is making the texts for the limit.
STREAM = """
import sys, time
from benchmarks.builds import example_builder
from deepprompt import ProjectContext, render_project_context
builder, prompts, chunk = example_builder(), int(sys.argv[1]), 20
prefix, _ = builder.build_pair()
ours = limit = 0.0
for start in range(0, prompts, chunk):
    contexts = [
        ProjectContext(
            "/home/user/project", "2026-01-31", f" M module_{number}.py\\n", "", "main", "linux", "6.1.0", "/bin/bash"
        )
        for number in range(start, start + chunk)
    ]
    texts = [render_project_context(context) for context in contexts]
    begin = time.perf_counter()
    for text in texts:
        prefix + text
    middle = time.perf_counter()
    for builder.project in contexts:
        builder.build()
    limit += middle - begin
    ours += time.perf_counter() - middle
# Not ru_maxrss, which begins with that of the process that started this one.
status = open("/proc/self/status").read()
print(ours, limit, int(status.partition("VmHWM:")[2].split()[0]) * 1024)
"""


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a stream, where the system says how much memory it took, and a file that is larger than any memory."""
    prompts = 20_000 if settings.quick else 1_000_000
    if os.path.exists("/proc/self/status"):
        done = subprocess.run([sys.executable, "-c", STREAM, str(prompts)], capture_output=True, text=True, check=True)
        ours, limit, memory = map(float, done.stdout.split())
        name = f"{prompts:,} prompts on one prefix, streamed"
        yield Row(name, f"{ours:.3g} s", f"{limit:.3g} s", ours / limit, 2)
        yield Row(f"{name}: memory", f"{memory / 1e6:.3g} MB", "40 MB", memory / 40e6, 1)
    yield from _sparse(settings.rounds(100))


def _sparse(rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        small, huge = Path(folder, "small"), Path(folder, "huge")
        for place in (small, huge):
            place.mkdir()
            (place / "AGENTS.md").write_text("Use tabs, never spaces, in Makefiles.\n" * 300)
        os.truncate(huge / "AGENTS.md", 50 << 30)
        works = {"small": lambda: load_instruction_files(small), "ours": lambda: load_instruction_files(huge)}
        yield row("AGENTS.md of 50 GiB, sparse; the limit is one of 11 KB", compare(works, rounds), target=1.1)
        peaks = [_peak(small), _peak(huge)]
        yield Row("the same: memory", f"{peaks[1]} B", f"{peaks[0]} B", peaks[1] / peaks[0], 1.1)


def _peak(folder: Path) -> int:
    tracemalloc.start()
    load_instruction_files(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
