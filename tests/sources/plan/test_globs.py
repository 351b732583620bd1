"""Globs over paths."""

from __future__ import annotations

import pytest

from deepprompt.sources.plan.globs import matches

GLOBS = [
    ("*.py", "x.py", True),
    ("*.py", "a/x.py", False),
    ("**/*.py", "x.py", True),
    ("**/*.py", "a/b/x.py", True),
    ("src/**", "src/a/b", True),
    ("src/**", "srcs/a", False),
    ("src/**/*.{ts,py}", "src/x.py", True),
    ("src/**/*.{ts,py}", "src/x.js", False),
    ("{a,b/{c,d}}/x", "b/d/x", True),
    ("./a", "a", True),
    ("a/**/b", "a/b", True),
    ("a?", "ab", True),
    ("*", ".hidden", True),
    ("{a", "{a", True),
    ("", "a", False),
]


@pytest.mark.parametrize(("pattern", "path", "wanted"), GLOBS)
def test_a_glob(pattern: str, path: str, wanted: bool) -> None:
    """`*` stays within a folder, `**` crosses folders, braces are choices."""
    assert matches(pattern, path) is wanted


def test_hostile_patterns_end() -> None:
    """Nested braces and long runs of stars match nothing, at once."""
    assert not matches("{a,b}" * 40, "a" * 40)
    assert not matches("**/a/" * 500 + "b", "a/" * 500)
    assert not matches("*a" * 2_000 + "b", "a" * 5_000)
