"""Fixtures that several test modules share: exact-byte snapshots, repositories, folders that are left clean."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from syrupy.assertion import SnapshotAssertion
from syrupy.location import PyTestLocation

from deepprompt.testing.prompt_file import PromptFile
from tests.support import examples
from tests.support.browser import NEEDED, launched, missing
from tests.support.paths import TESTS, memory_folder
from tests.support.repositories import make_repository, processes_with

# Our own plugin not by its entry point (see pyproject.toml), but here, where coverage has begun to measure.
pytest_plugins = ["pytester", "deepprompt.testing"]

# Else pytest reads test*.txt as doctests, and would run what a prompt shows behind `>>>`.
collect_ignore = ["snapshots"]


# A shell lets what it starts with & ignore interrupts, and the processes that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests write some 100,000 small files: in memory where it has room for them and programs may be run from it, as that
# takes a fraction of the time that a busy disk takes.
if in_memory := memory_folder():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", in_memory)

# The same examples every time: a failure that comes and goes stops the wrong change. HYPOTHESIS_PROFILE=default looks
# for new ones.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)


@pytest.hookimpl(tryfirst=True)  # before xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run everything on every core, if everything is asked for: `pytest` and nothing that selects tests."""
    options, whole = config.option, config.args_source is pytest.Config.ArgsSource.TESTPATHS
    chosen = options.markexpr or options.keyword or options.collectonly or options.usepdb
    if whole and not chosen and getattr(options, "numprocesses", 0) is None and not hasattr(config, "workerinput"):
        options.numprocesses = (os.cpu_count() or 1) + 1  # many tests wait for a process
        options.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples of all properties, and few of them for the inner loop."""
    examples.FEW = "not slow" in config.option.markexpr
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
    if examples.FEW:
        settings.register_profile("few", settings(), max_examples=settings().max_examples // examples.FEWER)
        settings.load_profile("few")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector leave the thousands of tests alone, and look less often: a tenth of the time."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    return result


class OwnFile(PromptFile):
    """Stores a prompt at `tests/snapshots/<room>/<test module>/<test>.txt`."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test module's snapshots."""
        module = Path(test_location.filepath).relative_to(TESTS)
        return str(TESTS / "snapshots" / module.parent / module.stem)


@pytest.fixture
def prompt_file(prompt_snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compare a prompt with the snapshot file of the test."""
    return prompt_snapshot.use_extension(OwnFile)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep temporary folders apart, and see that every test leaves neither a folder nor a process."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert os.listdir(folder) == []
    assert processes_with(str(folder)) == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with `a.txt` and `sub/b.txt` in one commit."""
    return make_repository(tmp_path / "repository")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for a module: while it runs, no other event loop can. Without one, a skip that says why."""
    if reason := missing():
        if NEEDED:
            pytest.fail(f"DEEPPROMPT_NEED_BROWSER=1, and this {reason}")
        pytest.skip(reason)
    with launched() as started:
        yield started
