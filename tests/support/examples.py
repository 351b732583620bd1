"""How many examples a property is tried with: all of them in a whole run, a sixth in the inner loop.

`tests/conftest.py` says which it is: the inner loop is `pytest -m "not slow"`.
"""

from __future__ import annotations

from hypothesis import settings

FEWER = 6
FEW = False


def examples(count: int) -> settings:
    """Return settings for a property that is tried with some examples, each of which may take its time."""
    return settings(deadline=None, database=None, max_examples=max(2, count // FEWER) if FEW else count)
