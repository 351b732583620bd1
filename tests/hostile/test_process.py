"""P: programs that do not end, do not stop talking or cannot be started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hostile.processes import CASES, Stage
from tests.support.hostile.scene import change
from tests.support.repositories import make_repository

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """An empty stage, that nobody is left on."""
    repository = make_repository(tmp_path / "stage/repository")
    change(repository)
    stage = Stage(tmp_path / "stage", repository, temporary, monkeypatch)
    yield stage
    stage.end()


@pytest.mark.parametrize("name", CASES)
def test_process(stage: Stage, name: str) -> None:
    """The case is held."""
    CASES[name](stage)
