"""Checking prompts: `deepprompt check` of our own, a perturbation test, blame and the simulation of a session."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import packaging
import yaml

from benchmarks.coding_session import coding_session
from benchmarks.measure import Row, Settings, compare, row, shown
from deepprompt import Session, blame, perturb, simulate
from deepprompt.providers.facts import bundled_facts

ROOT = Path(__file__).parent.parent
CHECK_SECONDS = 3.0
IMPORT_SECONDS = 0.1
MODEL = "claude-opus-5-5"

FUNCTION = '''"""A prompt whose module takes a while to import."""
for _ in range({turns}):
    pass


def prompt() -> str:
    return "Be brief. " * 200
'''


def rows(settings: Settings) -> Iterator[Row]:
    """Measure the commands that CI runs, then the functions that explain a cache."""
    yield _check(1 if settings.quick else 3)
    yield _perturbation()
    yield from _explained(settings)


def _check(runs: int) -> Row:
    """Measure `deepprompt check` in a clone of our own repository, as CI has it, with the settings of two prompts."""
    with tempfile.TemporaryDirectory() as folder:
        # With all objects in one pack: check copies the project, and a folder where people work may have thousands.
        subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, folder], check=True)
        # With compiled bytecode, as installed packages have it; some installers leave that to the first import.
        packages = [os.path.join(folder, "deepprompt"), *packaging.__path__, *yaml.__path__]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *packages], check=True)
        command = [sys.executable, "-m", "deepprompt", "check"]
        environment = {**os.environ, "PYTHONPATH": folder}
        times = [
            _seconds(
                lambda: subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
            )
            for _ in range(runs)
        ]
    ours = statistics.median(times)
    name = "deepprompt check of our own two prompts"
    return Row(name, shown(ours), shown(CHECK_SECONDS), ours / CHECK_SECONDS, 1)


def _perturbation() -> Row:
    """Measure the perturbation test of a slow module, beside starting it as often with nothing around it."""
    with tempfile.TemporaryDirectory() as folder:
        per_turn = min(_seconds(lambda: _loop(1_000_000)) for _ in range(5)) / 1_000_000
        Path(folder, "slow.py").write_text(FUNCTION.format(turns=int(IMPORT_SECONDS / per_turn)))
        start = statistics.median(
            _seconds(lambda: subprocess.run([sys.executable, "-c", "import slow"], cwd=folder, check=True))
            for _ in range(5)
        )
        begin = time.perf_counter()
        stable = perturb("slow:prompt", folder=folder)
        ours = time.perf_counter() - begin
    moves, cores = len(stable.outcomes), os.cpu_count() or 1
    limit = moves * start / cores
    return Row(
        f"perturbation, {moves} moves, a module that imports in 0.1 s", shown(ours), shown(limit), ours / limit, 1.5
    )


def _explained(settings: Settings) -> Iterator[Row]:
    """Measure blame and simulation, beside parsing the same bodies from JSON."""
    turns = coding_session()[: 10 if settings.quick else 50]
    session = Session(turns[0].prompt)
    bodies = []
    for number, turn in enumerate(turns):
        session.user(f"Step {number}.", turn.prompt)
        bodies.append(dict(session.request(to="anthropic", model=MODEL).body))
        session.append({"role": "assistant", "content": "Done. " * 100})
    texts = [json.dumps(body) for body in bodies]
    rounds = settings.rounds(50)
    read: dict[str, Callable[[], object]] = {"json.loads": lambda: [json.loads(text) for text in texts[-2:]]}
    samples = compare(read | {"ours": lambda: blame(bodies[-2], bodies[-1])}, rounds)
    yield row(f"blame of the last two of {len(bodies)} requests, over json.loads of both", samples)
    rules = bundled_facts().rules("anthropic", MODEL)
    read_all: dict[str, Callable[[], object]] = {"json.loads": lambda: [json.loads(text) for text in texts]}
    samples = compare(read_all | {"ours": lambda: simulate(bodies, rules)}, max(3, rounds // 5))
    yield row(f"simulate of {len(bodies)} requests, over json.loads of all", samples)


def _loop(turns: int) -> None:
    for _ in range(turns):
        pass


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
