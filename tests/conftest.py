"""Fixtures that several test modules share: exact-byte snapshots, one readable file a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
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
