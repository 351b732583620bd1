"""The syrupy extension behind `prompt_snapshot`: one file of exact bytes for each scenario.

Syrupy decides where the file stands and when it is written: `__snapshots__/<test module>/<test>.txt` beside the test,
and only with `--snapshot-update`. `readable` makes its content, and `contrast` the report of a failure. This module is
imported only when a test asks for the fixture, because syrupy is optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from inspect import unwrap
from typing import Any

import pytest
import syrupy
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation
from syrupy.terminal import context_style, received_style, reset, snapshot_style

from deepprompt.errors import MessageError
from deepprompt.testing.contrast import first_difference, visible_diff
from deepprompt.testing.readable import Stored, store

# In bytes. File systems allow 255 with the extension, and a test parameter may be a whole prompt.
_LONGEST_NAME = 200
_PREVIEW = 5

_STYLES = {"-": snapshot_style, "+": received_style, " ": context_style}


class PromptFile(SingleFileSnapshotExtension):
    """Stores a string, bytes, a `Prompt`, a message array or a request body, and reports how another one differs."""

    file_extension = _file_extension = "txt"  # the second is its name in syrupy 4

    def serialize(self, data: Any, *, exclude: Any = None, include: Any = None, matcher: Any = None) -> Any:  # noqa: ARG002
        """Return the content of the file."""
        if exclude is not None or include is not None:
            raise MessageError("exact bytes take no include or exclude: replace what varies before you compare")
        try:
            return store(data)
        except MessageError as error:  # without its traceback, so that syrupy does not print one
            raise error.with_traceback(None) from None

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Return the name of a test's file. If syrupy drops characters from it, a hash keeps it unique."""
        whole = AbstractSyrupyExtension.get_snapshot_name(test_location=test_location, index=index)
        name = super().get_snapshot_name(test_location=test_location, index=index)
        if name == whole and len(name.encode()) <= _LONGEST_NAME:
            return name
        digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{name.encode()[: _LONGEST_NAME - 9].decode('utf-8', 'ignore')}-{digest}"

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        """Yield the first difference, and then the diff."""
        new = serialized_data if isinstance(serialized_data, Stored) else store(serialized_data)
        if not isinstance(snapshot_data, bytes):  # syrupy passes "" for a missing file
            yield from _how_to_create(new)
            return
        yield reset(first_difference(snapshot_data, new))
        for sign, text in visible_diff(snapshot_data, new):
            yield _styled(sign, text)


class _OwnLocation(PyTestLocation):
    """A location that accepts the extension's file names; syrupy would expect the test's parameters in them."""

    def matches_snapshot_location(self, snapshot_location: str) -> bool:  # noqa: ARG002
        return True


def prompt_assertion(request: pytest.FixtureRequest) -> SnapshotAssertion:
    """Return the assertion that a test compares its prompts with."""
    # Not the fixture `snapshot`: the project may have overridden it.
    assertion: SnapshotAssertion = unwrap(syrupy.snapshot)(request)
    assertion.test_location = _OwnLocation(request.node)
    return assertion.use_extension(PromptFile)


def _how_to_create(new: Stored) -> Iterator[str]:
    yield reset("look at the value, then create its file with: pytest --snapshot-update")
    lines = list(visible_diff(b"", new))[1:]
    for sign, text in lines[:_PREVIEW]:
        yield _styled(sign, text)
    if len(lines) > _PREVIEW:
        yield reset(f"and more: {len(new):,} bytes in all")


def _styled(sign: str, text: str) -> str:
    line = f"@@ {text} @@" if sign == "@" else f"{sign} {text}"
    return reset(_STYLES.get(sign, str)(line.rstrip()))
