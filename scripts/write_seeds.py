"""Write docs/seeds.md: every statement of the five seeds, what holds it, and which tests prove it.

The statements are in tests/data/seeds.toml. A test names those that it proves by its marker, such as
`@pytest.mark.seed("002.7")`. Run it after you change either: `python scripts/write_seeds.py`. A test checks that the
page is up to date.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
DATA = TESTS / "data" / "seeds.toml"
PAGE = ROOT / "docs" / "seeds.md"

_OPENING = """\
# The seeds, statement by statement

deepprompt began with five descriptions of how agents assemble their prompts, the *seeds*. This page lists their
statements in our own words, with the function that implements each one and the tests that prove it. "Decided" marks a
point that a seed leaves open or describes in two ways.

`scripts/write_seeds.py` writes this page from `tests/data/seeds.toml` and from the markers of the tests, and a test
checks that it is up to date.
"""


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(read_seeds(), proofs()), encoding="utf-8", newline="\n")
    return 0


def read_seeds() -> dict[str, Any]:
    """Return the statements by seed."""
    return tomllib.loads(DATA.read_text("utf-8"))


def proofs() -> dict[str, list[str]]:
    """Return the tests that prove each statement, as pytest names them, by the statement's number."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text("utf-8")
        if "pytest.mark.seed(" not in source:
            continue
        for name, numbers in _marked(ast.parse(source).body, path.relative_to(ROOT).as_posix()):
            for number in numbers:
                found.setdefault(number, []).append(name)
    return found


def _marked(body: list[ast.stmt], place: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the tests with a marker, each with the statements that it names."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _marked(node.body, f"{place}::{node.name}")
        elif isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.seed":
                    yield f"{place}::{node.name}", [ast.literal_eval(number) for number in mark.args]


def page(seeds: Mapping[str, Any], proved: Mapping[str, list[str]]) -> str:
    """Return the text of the page."""
    lines = [_OPENING]
    for seed, content in seeds.items():
        lines += [
            f"## {seed}: {content['title']}\n",
            "| | statement | implemented by | proved by |",
            "|---|---|---|---|",
        ]
        for count, statement in enumerate(content["statements"], 1):
            number = f"{seed}.{count}"
            text = statement["text"]
            if "decided" in statement:
                text += f" Decided: {statement['decided']}."
            held = ", ".join(f"`{name}`" for name in statement["held"])
            tests = "<br>".join(f"`{name.removeprefix('tests/')}`" for name in proved.get(number, []))
            lines.append(f"| {number} | {text} | {held} | {tests} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
