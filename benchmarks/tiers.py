"""A repository in tiers, turn after turn: beside plain git, parsing in process, and first starts."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.measure import Row, Settings, compare, row
from deepprompt import Tiers, load_repository
from deepprompt.prompt import NotedText
from deepprompt.sources.code import CodeRepository
from deepprompt.sources.symbols.outline import outline
from deepprompt.sources.symbols.reader import OutlineReader, is_installed

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip
SOURCE = "".join(
    f'class Part{n}:\n    """A part."""\n\n    def total(self, prices: list[int], rate: float = 0.{n}) -> float:\n'
    "        found = [price * rate for price in prices if price > 0]\n        return sum(found) + len(prices)\n\n\n"
    for n in range(12)
)


def rows(settings: Settings) -> Iterator[Row]:
    """Measure repositories of 1,000 and 20,000 files, and the work of one turn by its size."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        for files in (200, 1_000) if settings.quick else (1_000, 20_000):
            top = make_sources(Path(folder, str(files)), files)
            yield from _later_turns(top, files, settings.rounds(20 if files < 5_000 else 10))
            if is_installed():
                yield from _starts(top, files, 3 if files < 5_000 else 1)  # a first start takes half a minute
    if is_installed():
        yield _worker(settings)
    yield _growth(settings)


def _later_turns(top: Path, files: int, rounds: int) -> Iterator[Row]:
    names = [os.path.join(top, name) for name in _plain(top)]
    selected = [os.path.relpath(name, top) for name in names[:20]]
    number = count()

    def limit() -> None:
        _plain(top)
        for name in names:
            os.lstat(name)

    state = load_repository(top)
    tiers = Tiers()
    tiers.next(state, selected, user_prompt="x")

    def turn() -> None:
        nonlocal state
        Path(names[0]).write_text(f"{SOURCE}last = {next(number)}\n")
        state = state.refreshed()
        tiers.next(state, selected, user_prompt="x")

    samples = compare({"git ls-files and lstat": limit, "ours": turn}, rounds)
    yield row(f"a later turn with an edit, {files:,} files", samples, target=3)


def _starts(top: Path, files: int, rounds: int) -> Iterator[Row]:
    samples = compare(
        {"first": lambda: load_repository(top, cache=False), "ours": lambda: load_repository(top)}, rounds
    )
    yield row(f"a start with the outlines of the last one, {files:,} files", samples, target=0.2)


def _worker(settings: Settings) -> Row:
    sources = [f"{SOURCE}last = {n}\n".encode() for n in range(100 if settings.quick else 400)]

    def in_process() -> None:
        for data in sources:
            outline(data, ".py")

    def by_worker() -> None:
        with OutlineReader() as reader:
            for _ in reader.read_all((data, ".py") for data in sources):
                pass

    works: dict[str, Callable[[], object]] = {"in process": in_process, "ours": by_worker}
    return row(f"outlines of {len(sources)} files by the worker", compare(works, settings.rounds(20)), target=1.3)


def _growth(settings: Settings) -> Row:
    small, large = _turn_of(50), _turn_of(200)
    works: dict[str, Callable[[], object]] = {"four of 50 files": lambda: [small() for _ in range(4)], "ours": large}
    return row("one turn with 200 files, beside four with 50", compare(works, settings.rounds(20)), target=1.3)


def _turn_of(files: int) -> Callable[[], object]:
    paths = tuple(f"part_{n:03}.py" for n in range(files))
    texts = {path: ((0, 0, n), NotedText(SOURCE)) for n, path in enumerate(paths)}
    known = {path: texts[path][0] for path in paths}
    state = CodeRepository("/", paths, {}, paths, signatures=known, texts=texts)
    return lambda: Tiers().next(state, paths, user_prompt="x", system_prompt="You review.")


def make_sources(folder: Path, files: int) -> Path:
    """Make a repository of many source files."""
    for n in range(files):
        path = folder / f"part_{n % 200}" / f"file_{n}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{SOURCE}number = {n}\n")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "All of it"), ("status",)):
        subprocess.run(["git", *words], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)
    return folder


def _plain(folder: Path) -> list[str]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()
