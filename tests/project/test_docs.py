"""The pages under docs/: what they promise is held by tests that exist, and what they list is all that there is."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType

import pytest
import yaml

import deepprompt
from tests.support.hostile import places, processes, programs, scene, waits, words
from tests.support.hostile.corpus import named
from tests.support.paths import ROOT, TESTS

DOCS = ROOT / "docs"
SECURITY = (DOCS / "security.md").read_text("utf-8")
HOSTILE = TESTS / "hostile"

assert [places, programs, waits, words]  # they enter their cases


@cache
def cases() -> set[str]:
    """Every case of the hostile corpus that has a test."""
    return {name.partition("-")[0] for name in (*scene.CASES, *processes.CASES)} | set(named())


def promises() -> list[str]:
    """Every promise of the security page: each item of the sections that promise something."""
    promised = SECURITY.partition("## The boundary")[2].partition("## What we do not promise")[0]
    return [
        " ".join(item.split()) for item in re.findall(r"^- (.*?)(?=^- |^$|^#|\Z)", promised, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise[:40])
def test_every_promise_has_its_tests(promise: str) -> None:
    """A promise ends with the cases or test modules that hold it, and they are there."""
    match = re.search(r"\[([^\]]+)\]$", promise)
    assert match, promise
    for held_by in match[1].split(", "):
        module = (HOSTILE / f"{held_by}.py").is_file()
        assert module if held_by.startswith("test_") else held_by in cases(), held_by


def test_there_are_promises() -> None:
    """The page is read as it is meant to be."""
    assert len(promises()) >= 24


def leaves(nav: object) -> list[str]:
    """The pages of the site's navigation, in order."""
    if isinstance(nav, str):
        return [nav]
    return [page for entry in (nav.values() if isinstance(nav, dict) else nav) for page in leaves(entry)]  # type: ignore[attr-defined]


def test_the_site_has_every_page() -> None:
    """The navigation has each page once, and the home page leads to each."""
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    shown = leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    assert sorted(shown) == sorted(pages)
    linked = set(re.findall(r"\]\(([\w/]+\.md)\)", (DOCS / "index.md").read_text("utf-8")))
    assert linked == pages - {"index.md"}


def referenced() -> list[str]:
    """Every name that the reference documents, as it is written there."""
    pages = [page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md"))]
    marker = re.compile(r"^<!-- reference: (deepprompt\.[\w.]+) -->$", re.MULTILINE)
    return [name for page in pages for name in marker.findall(page)]


def test_the_reference_has_every_public_name() -> None:
    """Each public name stands once in the reference; every other name stands there with the module that it is in."""
    names = referenced()
    assert sorted(names) == sorted(set(names))
    top = [name for name in names if name.count(".") == 1]
    assert sorted(top) == sorted([f"deepprompt.{name}" for name in deepprompt.__all__] + ["deepprompt.errors"])
    for name in set(names) - set(top):
        module, _, member = name.rpartition(".")
        assert hasattr(importlib.import_module(module), member), name


def test_the_table_of_modules_is_true() -> None:
    """Every name that the reference lists beside a module can be imported from it."""
    page = (DOCS / "reference" / "prompts.md").read_text("utf-8")
    rows = re.findall(r"^\| `(deepprompt\.[\w.]+)` \| (.*) \|$", page, re.MULTILINE)
    listed = [(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert len(listed) > 20
    top = {"DeepPromptError", "Literal"}
    assert [
        pair for pair in listed if not hasattr(importlib.import_module(pair[0]), pair[1]) and pair[1] not in top
    ] == []


def test_the_reference_is_fresh() -> None:
    """The reference says what the source says."""
    pytest.importorskip("ruff", reason="the reference is formatted by ruff")
    page = runpy.run_path(str(ROOT / "scripts" / "write_reference.py"))["page"]
    texts = {path.name: path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md")}
    outdated = [name for name, text in texts.items() if page(text) != text]
    assert outdated == [], "run scripts/write_reference.py"


def seen(node: ast.AST) -> Iterator[ast.expr]:
    """Every annotation that a user of a class or function sees: its arguments, results and public fields."""
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            if isinstance(member, ast.AnnAssign):
                yield from [] if getattr(member.target, "id", "").startswith("_") else [member.annotation]
            elif isinstance(member, ast.FunctionDef) and (member.name == "__init__" or member.name[0] != "_"):
                yield from seen(member)
    elif isinstance(node, ast.FunctionDef):
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        yield from (argument.annotation for argument in arguments if argument and argument.annotation)
        yield from [node.returns] if node.returns else []


def test_the_reference_has_what_public_signatures_name() -> None:
    """A class of ours that a documented signature names is itself documented, so that a user can import it."""
    package = Path(deepprompt.__file__).parent
    defined = {
        ".".join(("deepprompt", *path.relative_to(package).with_suffix("").parts, node.name)): node
        for path in package.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    ours = {node.name for node in defined.values() if isinstance(node, ast.ClassDef)}
    homes = {f"deepprompt.{name}": f"{module}.{name}" for name, module in deepprompt._MODULES.items()}
    documented = {homes.get(name, name) for name in referenced()}
    known = {name.rpartition(".")[2] for name in documented}
    missing = {
        f"{name}: {part.id}"
        for name in documented & set(defined)
        for annotation in seen(defined[name])
        for part in ast.walk(annotation)
        if isinstance(part, ast.Name) and part.id in ours - known
    }
    assert sorted(missing) == []


def test_every_public_name_is_documented() -> None:
    """What the reference shows of a name is its docstring, so each class and function has one of its own."""
    bare = [
        name
        for name in deepprompt.__all__
        if isinstance(value := getattr(deepprompt, name), type | FunctionType)
        and (not value.__doc__ or value.__doc__.startswith(f"{name}("))  # as dataclasses write it themselves
    ]
    assert bare == []


def test_the_layout_is_the_layout() -> None:
    """The page for contributors names only what exists, and every module and folder at the top of the package."""
    layout = (DOCS / "layout.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)*[\w.]+(?:\.\w+|/))`", layout))
    missing = [name for name in named if not ((ROOT / name).exists() or list((ROOT / "deepprompt").rglob(name)))]
    assert missing == []
    rows = re.findall(r"^\| `(\w+/[\w/]+\.py)`", layout, re.MULTILINE)
    assert sorted(rows) == sorted(set(rows)), "a module has two rows"
    top = {
        f"deepprompt/{path.name}{'/' if path.is_dir() else ''}"
        for path in (ROOT / "deepprompt").iterdir()
        if not path.name.startswith("__") and path.name != "py.typed"
    }
    assert top <= named


@pytest.mark.slow
def test_the_walks_are_real() -> None:
    """The drawings on the page for contributors are what a trace shows."""
    written = runpy.run_path(str(ROOT / "scripts" / "write_walks.py"))["walks"]()
    layout = (DOCS / "layout.md").read_text("utf-8")
    outdated = [
        name for name, drawing in written.items() if f"<!-- walk: {name} -->\n```text\n{drawing}```\n" not in layout
    ]
    assert outdated == [], "run scripts/write_walks.py"
