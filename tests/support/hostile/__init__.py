"""The parts of the hostile corpus: scenes, attacks, and the properties that must survive them."""

import pytest

# Their asserts explain themselves, as those of a test do.
pytest.register_assert_rewrite(
    *(f"{__name__}.{corpus}" for corpus in ("scene", "programs", "places", "processes", "words", "waits"))
)
