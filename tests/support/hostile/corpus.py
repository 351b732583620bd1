"""Which tests there are of each case of the hostile corpus, by its id."""

from __future__ import annotations

import ast
import re

from tests.support.paths import TESTS

_NAME = re.compile(r"test_([a-z]\d\d)_")


def named() -> dict[str, list[str]]:
    """Return the tests of each case, by its id."""
    found: dict[str, list[str]] = {}
    for path in sorted((TESTS / "hostile").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and (match := _NAME.match(node.name)):
                found.setdefault(match[1].upper(), []).append(node.name)
    return found
