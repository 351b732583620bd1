"""Input that means harm, built while the tests run: repositories, files, names and programs."""

import pytest

pytest.register_assert_rewrite("hostile.scene", "hostile.programs", "hostile.places", "hostile.words", "hostile.waits")
