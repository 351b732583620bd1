"""Reading git, hardened, beside the slowest of the plain git commands that it replaces, in one round after another."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Row, Settings, compare, row
from deepprompt import gather, read_git
from deepprompt.sources.git import snapshot as git_module

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip
PLAIN = {
    "status": ("status", "--short"),
    "diff": ("diff", "--stat"),
    "staged diff": ("diff", "--cached", "--stat"),
    "log": ("log", "-3", "--format=%h %s"),
    "branch": ("rev-parse", "--abbrev-ref", "HEAD"),
}


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a small repository, and one of 50,000 files of which 200 are changed."""
    with tempfile.TemporaryDirectory() as folder:
        small = make_small(Path(folder, "small"))
        yield from _measured(small, "20 files", settings.rounds(100), 1.5, 4)
        files, dirty = (2_000, 20) if settings.quick else (50_000, 200)
        large = make_large(Path(folder, "large"), files, dirty)
        yield from _measured(large, f"{files:,} files, {dirty} dirty", settings.rounds(30), 1.25, None)


def _measured(repository: Path, name: str, rounds: int, again: float, first: float | None) -> Iterator[Row]:
    plain = {command: _plain(repository, *words) for command, words in PLAIN.items()}
    took = compare(plain, max(3, rounds // 5))
    slowest = max(took, key=lambda command: took[command].seconds)

    def read() -> None:
        read_git(repository, timeout=60)

    def read_first() -> None:
        git_module._known.cache_clear()
        read()

    limit = {f"plain git {slowest}": plain[slowest]}
    note = f"the slowest plain command is {slowest}"
    yield row(f"read_git again, {name}", compare(limit | {"ours": read}, rounds), target=again, note=note)
    yield row(f"read_git for the first time, {name}", compare(limit | {"ours": read_first}, rounds), target=first)
    around = gather(repository, timeout=60)
    refreshing = compare({"read_git": read, "ours": around.refreshed}, rounds)
    yield row(f"refreshed() beside read_git, {name}", refreshing, target=1.1)
    one_by_one = compare(limit | {"all": lambda: [work() for work in plain.values()]}, rounds)
    yield row(f"the five plain commands one by one, {name}", one_by_one)


def _plain(repository: Path, *words: str) -> Callable[[], object]:
    return lambda: subprocess.run(["git", *words], cwd=repository, env=ENVIRONMENT, capture_output=True, check=True)


def make_small(folder: Path) -> Path:
    """Make a repository of 20 files with three commits, a changed and an untracked file."""
    _write(folder, {f"source/module_{n}.py": f"number = {n}\n" * 20 for n in range(20)})
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(3):
        _write(folder, {"README.md": f"# Version {number}\n"})
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", f"Version {number}")
    _write(folder, {"README.md": "# Changed\n", "new.py": "new = True\n"})
    _settle(folder)
    return folder


def make_large(folder: Path, files: int, dirty: int) -> Path:
    """Make a repository of many files, some of them changed."""
    _write(folder, {f"part_{n % 500}/file_{n}.txt": f"{n}\n" for n in range(files)})
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "All of it")
    _write(folder, {f"part_{n % 500}/file_{n}.txt": "changed\n" for n in range(0, files, files // dirty)})
    _settle(folder)
    return folder


def _settle(folder: Path) -> None:
    """Let the index be a second newer than the files that it names, as it is where people work.

    Before that, every plain `git status` rewrites the index, and each snapshot after it counts as a first one.
    """
    time.sleep(1.1)
    _git(folder, "status")


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)
