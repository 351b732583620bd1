"""Lint: plain instruction text and request bodies, beside a bare scan with the same patterns and beside ruff.

The ratio is the time for a megabyte over the limit's: 1/20 s of plain text, 1/5 s of request bodies. The bare scan runs
each pattern of the rules about moving text over the whole text and looks at nothing around a match; ruff checks Python
files of the same size with the rules of this project.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, Settings, shown
from deepprompt import Session, SystemPromptBuilder, tool_definitions
from deepprompt.checks.lint.linter import lint
from deepprompt.checks.lint.moving_text import LOOKS
from deepprompt.checks.lint.subjects import subject_of, subject_of_files

_PLAIN, _BODIES = 1 / 20, 1 / 5  # the most seconds for a megabyte
_FILE = 8_000  # characters of one file, as instruction files have
_ASSETS = Path(__file__).parent.parent / "deepprompt" / "assets"


def rows(settings: Settings) -> Iterator[Row]:
    """Measure plain text and request bodies on one core."""
    texts = _texts(2 if settings.quick else 8)
    size = sum(len(text.encode()) for text in texts) / 1e6
    runs = settings.rounds(7)
    ours = _least(lambda: [lint(subject_of_files("AGENTS.md", [("AGENTS.md", text)])) for text in texts], runs) / size
    bare = _least(lambda: [sum(1 for _ in look.pattern.finditer(text)) for text in texts for look in LOOKS], 3) / size
    rivals = {"bare re": bare / _PLAIN}
    ruff = _ruff(size)
    if ruff:
        rivals["ruff"] = ruff / size / _PLAIN
    yield Row(
        f"{size:.1f} MB of plain instructions, a megabyte", shown(ours), shown(_PLAIN), ours / _PLAIN, 1.0, "x", rivals
    )
    bodies = _bodies(20 if settings.quick else 60)
    read = [json.dumps(body) for body in bodies]
    size = sum(map(len, read)) / 1e6
    ours = _least(lambda: [lint(subject_of(json.loads(text), "body")) for text in read], runs) / size
    yield Row(f"{size:.1f} MB of request bodies, a megabyte", shown(ours), shown(_BODIES), ours / _BODIES, 1.0)


def _texts(times: int) -> list[str]:
    """Return our own wording in files of the usual size, none like another."""
    whole = "\n\n".join(path.read_text("utf-8") for path in sorted(_ASSETS.rglob("*.md")))
    pieces = [whole[start : start + _FILE] for start in range(0, len(whole), _FILE)]
    return [f"# Part {number} of round {turn}\n\n{text}" for turn in range(times) for number, text in enumerate(pieces)]


def _bodies(turns: int) -> list[dict[str, object]]:
    """Return the requests of a session that grows by results of tools."""
    session = Session(SystemPromptBuilder("Be careful.").compose(tool_definitions(["Bash", "Edit", "Read"])))
    bodies: list[dict[str, object]] = []
    for turn in range(turns):
        session.user(f"Go on with step {turn}. " + "Read the file before you edit it, and run the tests. " * 40)
        bodies.append(dict(session.request(to="anthropic", model="claude-opus-5-5").body))
        session.append({"role": "assistant", "content": "Done. " * 60})
    return bodies


def _least(work: object, runs: int) -> float:
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()  # type: ignore[operator]
        times.append(time.process_time() - begin)
    return min(times)


def _ruff(size: float) -> float:
    """Return the seconds of ruff on one core for so many megabytes of Python; 0 if it is not installed."""
    program = shutil.which("ruff")
    if not program:
        return 0.0
    source = (Path(__file__).parent / "measure.py").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(max(1, round(size * 1e6 / len(source)))):
            (Path(folder) / f"part_{number}.py").write_text(source, "utf-8")
        command = [program, "check", "--isolated", "--no-cache", "--exit-zero", "--quiet", "--select", "ALL", folder]
        begin = time.perf_counter()
        subprocess.run(command, check=False, capture_output=True, env={"RAYON_NUM_THREADS": "1", "PATH": "/usr/bin"})
        return time.perf_counter() - begin
