"""The pytest plugin: fixtures that guard any prompt, however it was built.

pytest imports this module when it starts, in every project that has deepprompt installed. So this module imports only
pytest itself; a fixture imports what it needs when a test asks for it.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from syrupy.assertion import SnapshotAssertion

    from deepprompt.checks.perturb.perturb import Stability


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define syrupy's option if syrupy is missing, so that the fixture can say so instead of a usage error."""
    from importlib.util import find_spec

    if find_spec("syrupy") is None:
        parser.addoption("--snapshot-update", action="store_true", help="needs syrupy, which is not installed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keep pytest from running snapshots: it takes every `test*.txt` for a doctest, and a prompt may contain `>>>`."""
    folder = config.getoption("snapshot_dirname", "__snapshots__")
    return True if collection_path.suffix == ".txt" and folder in collection_path.parts else None


@pytest.fixture
def prompt_snapshot(request: pytest.FixtureRequest) -> SnapshotAssertion:
    """Compare a prompt, a message array or a request body with its file, byte for byte: `assert value == ...`."""
    try:
        import syrupy  # noqa: F401
    except ModuleNotFoundError:
        pytest.fail("prompt_snapshot needs syrupy: pip install syrupy, or deepprompt[snapshot]", pytrace=False)
    if not request.config.pluginmanager.hasplugin("syrupy"):
        pytest.fail(
            "prompt_snapshot needs syrupy's plugin, which is not loaded: leave out -p no:syrupy, or add -p syrupy "
            "where plugins are not loaded by themselves",
            pytrace=False,
        )
    from deepprompt.testing.prompt_file import prompt_assertion

    return prompt_assertion(request)


@pytest.fixture
def assert_prefix_stable() -> Callable[..., Stability]:
    """Call a function that returns a prompt in changed surroundings, and fail if its static prefix changes."""

    def check(target: str | Callable[[], object], **options: Any) -> Stability:
        from deepprompt.checks.perturb.perturb import perturb
        from deepprompt.errors import DeepPromptError

        try:
            result = perturb(target, **options)
        except DeepPromptError as error:
            wrong = str(error)  # the message is enough
        else:
            if result.stable:
                return result
            wrong = result.report()
        pytest.fail(wrong, pytrace=False)  # outside the handler: pytest would print the handled error too

    return check
