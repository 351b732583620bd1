"""Fixtures that several test modules share: exact-byte snapshots, repositories, folders that are left clean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import NEEDED, launched, missing
from repositories import make_repository, processes_with
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation


class PromptFile(SingleFileSnapshotExtension):
    """Stores bytes at `tests/snapshots/<test module>/<test>.txt`."""

    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test module's snapshots."""
        module = Path(test_location.filepath)
        return str(module.parent / "snapshots" / module.stem)


@pytest.fixture
def prompt_file(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compare bytes with the snapshot file of the test."""
    return snapshot.use_extension(PromptFile)


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
