"""The pages under docs/reference: every name has a summary, its errors, and an example that works by itself."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import deepprompt
from deepprompt import errors
from tests.support.pages import Block, read_blocks
from tests.support.paths import ROOT
from tests.support.raises import raised

PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "write_reference.py"))


def split(page: Path) -> tuple[str, list[tuple[str, str]]]:
    """Return what stands before the first name of a page, and each name with what the page says about it."""
    head, *rest = SCRIPT["MARKER"].split(page.read_text("utf-8"))
    return head, list(zip(rest[::2], rest[1::2], strict=True))


def code(text: str) -> list[Block]:
    """Return the Python that a test of the pages types, see `test_pages.py`."""
    blocks = read_blocks(text)
    return [block for block in blocks if block.language == "python" and not block.said.startswith("not run")]


def described(name: str) -> str:
    """Return the docstring of a name, as the script that writes the pages finds it."""
    return str(SCRIPT["_found"](name)[1])


def entries() -> list[tuple[str, str]]:
    """Return every name of the reference with its text."""
    return [entry for page in PAGES for entry in split(page)[1]]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in entries()])
def test_each_name_has_an_example(text: str) -> None:
    """The example is short, it is run, and it shows what comes out of it."""
    (example,) = code(text.partition("<!-- example -->\n")[2])
    lines = [line for line in example.text.splitlines() if line.strip()]
    assert 2 <= len(lines) <= 12
    assert example.output, "the example prints nothing"


def test_each_name_has_a_summary() -> None:
    """The docstring of a name starts with one line that is a sentence, and it fits into the line."""
    summaries = {name: described(name).split("\n\n")[0] for name, _ in entries()}
    assert {name: text for name, text in summaries.items() if not re.fullmatch(r"[A-Z\"`].*\.", text)} == {}


def undocumented(name: str) -> Iterator[str]:
    """Yield the errors that a function, or a method of a class, raises and that its documentation does not name."""
    module, _, member = name.rpartition(".")
    value = getattr(importlib.import_module(module), member)
    if not isinstance(value, type | FunctionType):
        return
    tree = ast.parse(Path(inspect.getfile(value)).read_text("utf-8"))
    (node,) = [one for one in tree.body if getattr(one, "name", "") == member]
    owner = node if isinstance(node, ast.ClassDef) else None
    above = ast.get_docstring(owner) if owner else ""
    methods = [one for one in (owner.body if owner else [node]) if isinstance(one, ast.FunctionDef)]
    methods = [one for one in methods if one.name[0] != "_" or one.name in ("__init__", "__post_init__")]
    for method in methods:
        said = f"{above} {ast.get_docstring(method)}"
        known = tuple(error for word in re.findall(r"\w+Error", said) if (error := getattr(errors, word, None)))
        for error in raised(method, tree, owner):
            if not issubclass(error, known):
                yield f"{name}, {method.name}: {error.__name__}"


def test_errors_are_documented() -> None:
    """The documentation of a function or method names every error that it raises, or a base of it."""
    assert [error for name, _ in entries() for error in undocumented(name)] == []


def test_an_error_that_is_not_documented_is_found() -> None:
    """The error may stand in a function that is called, or in a method of the same class."""
    text = "class A:\n def one(self): self.two()\n def two(self): three()\n\ndef three(): raise ToolError('x')\n"
    module = ast.parse(text)
    owner = module.body[0]
    assert isinstance(owner, ast.ClassDef)
    assert isinstance(owner.body[0], ast.FunctionDef)
    assert raised(owner.body[0], module, owner) == {errors.ToolError}


def test_signatures_are_real() -> None:
    """The page shows the arguments of every public function and class that Python has, in their order."""
    wrong, seen = {}, 0
    for name, text in entries():
        value: Any = getattr(deepprompt, name.rpartition(".")[2], None)
        is_made = isinstance(value, type) and not issubclass(value, int | BaseException) and "class " not in text[:200]
        if name.count(".") > 1 or not (is_made or isinstance(value, FunctionType)):
            continue
        shown = re.sub(r"^(async )?def |: \.\.\.$", "", read_blocks(text)[0].text.strip())
        arguments = ast.parse(f"def {shown}: ...").body[0]
        assert isinstance(arguments, ast.FunctionDef)
        given = arguments.args
        listed = [*given.posonlyargs, *given.args, *filter(None, [given.vararg]), *given.kwonlyargs]
        names = [one.arg for one in [*listed, *filter(None, [given.kwarg])]]
        if names != [one for one in inspect.signature(value).parameters if one[0] != "_"]:
            wrong[name] = names
        seen += 1
    assert wrong == {}
    assert seen > 60


def bound(tree: ast.AST) -> set[str]:
    """Return the names that code binds anywhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            names.add(node.name or "")
    return names


def unknown() -> Iterator[str]:
    """Yield the names that examples use, and that neither they nor the start of their page bind."""
    for page in PAGES:
        head, named = split(page)
        before = set(dir(builtins)).union(*(bound(ast.parse(block.text)) for block in code(head)))
        for name, text in named:
            for block in code(text):
                tree = ast.parse(block.text)
                used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
                yield from (f"{name}: {word}" for word in sorted(used - bound(tree) - before))


def test_examples_stand_alone() -> None:
    """A reader can paste any example after the start of its page: it needs no example before it."""
    assert list(unknown()) == []
