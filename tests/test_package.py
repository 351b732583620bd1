"""The package as a whole: its public names, which way its imports point, and that every asset is used."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import subprocess
import sys
import unicodedata
from fnmatch import fnmatch
from pathlib import Path

import pytest

import deepprompt
from deepprompt.catalog import bundled
from deepprompt.manifest import MANIFEST, manifest_text
from deepprompt.systems.bundled_presets import PRESETS
from deepprompt.systems.changes import every_file
from deepprompt.systems.presets import load_preset
from tests.support.paths import TESTS

PACKAGE = Path(deepprompt.__file__).parent
ASSETS = PACKAGE / "assets"

# The rooms in the order in which they may know each other: each knows itself and what stands before it.
ROOMS = (
    "frozen",
    "errors",
    "arguments",
    "manifest",
    "prompt",
    "words",
    "text",
    "tokens",
    "counters",
    "tools",
    "sources",
    "catalog",
    "systems",
    "providers",
    "request",
    "batch",
    "checks",
    "session",
    "inspector",
    "fleet",
    "recorder",
    "adapters",
    "testing",
    "commands",
    "cli",
    "__main__",
)
MAY_IMPORT = {room: {*ROOMS[: number + 1]} for number, room in enumerate(ROOMS)} | {"__init__": set[str]()}
for _face in ("manifest", "commands", "cli"):
    MAY_IMPORT[_face].add("")  # the version


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def layer(module: str) -> str:
    """The first component of a module's name below the package, "" for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def test_imports_point_one_way() -> None:
    """A module imports only from the rooms that its own may know, wherever in it the import stands."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {', '.join(sorted(upwards))}"
        for path in modules()
        if (upwards := rooms_imported(path) - MAY_IMPORT[path.relative_to(PACKAGE).with_suffix("").parts[0]])
    ]
    assert wrong == []


def rooms_imported(path: Path) -> set[str]:
    """Return the rooms that a module imports when it runs."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {node for block in ast.walk(tree) if _is_type_checking(block) for node in ast.walk(block)}
    known = set()
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            known.add(node.module)
        elif isinstance(node, ast.Import):
            known |= {alias.name for alias in node.names}
    return {layer(module) for module in known if module.split(".")[0] == "deepprompt"}


def test_no_test_imports_a_test() -> None:
    """Test modules share through `tests/support/`, so that one can be read, moved and run without another."""
    imports = re.compile(r"^\s*(?:from|import) (tests\b(?!\.support\b)(?! import support\b).*)", re.MULTILINE)
    modules = sorted(TESTS.rglob("*.py"))
    wrong = [f"{path.relative_to(TESTS)}: {found}" for path in modules for found in imports.findall(path.read_text())]
    assert wrong == []


def test_every_test_is_collected(pytestconfig: pytest.Config) -> None:
    """No folder with tests has a name that pytest leaves out: such as `build`, if it is not told otherwise."""
    left_out = pytestconfig.getini("norecursedirs")
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    assert Path("commands/build") in folders
    assert [str(path) for path in folders for name in path.parts for one in left_out if fnmatch(name, one)] == []


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_all_is_the_truth() -> None:
    """Every name in `__all__` can be had, is public, and is offered by dir()."""
    assert deepprompt.__all__ == sorted(deepprompt.__all__)
    for name in deepprompt.__all__:
        assert not name.startswith("_")
        assert getattr(deepprompt, name) is not None
    assert set(deepprompt.__all__) <= set(dir(deepprompt))


def test_type_checkers_see_the_same_names() -> None:
    """The stub beside the table of public names is what the script writes from that table."""
    stub = runpy.run_path(str(PACKAGE.parent / "scripts" / "write_stub.py"))["stub"]
    assert (PACKAGE / "__init__.pyi").read_text("utf-8") == stub(deepprompt._NAMES), "run scripts/write_stub.py"


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Lazy loading does not hide a misspelt name."""
    with pytest.raises(AttributeError, match="module 'deepprompt' has no attribute 'PromptBuilder'"):
        deepprompt.PromptBuilder  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_nothing_of_it() -> None:
    """`import deepprompt` costs next to nothing: no module of the package is loaded by it."""
    code = "import deepprompt, sys; print([name for name in sys.modules if name.startswith('deepprompt.')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_importing_the_package_imports_no_framework() -> None:
    """No adapter is imported with the package, and none of the names that it gives out leads to one."""
    code = (
        "import deepprompt, sys; [getattr(deepprompt, name) for name in deepprompt.__all__]; print(sorted(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ast.literal_eval(run.stdout)}
    frameworks = {"agents", "claude_agent_sdk", "google", "langchain", "langchain_core", "litellm", "pydantic_ai"}
    assert loaded & frameworks == set()
    assert not [name for name in ast.literal_eval(run.stdout) if name.startswith("deepprompt.adapters")]


def test_every_module_has_a_docstring() -> None:
    """A module says what lives there."""
    for path in modules():
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


def test_the_manifest_lists_every_asset() -> None:
    """The manifest is exactly what the asset folder holds: nothing missing, nothing extra, nothing changed."""
    files = {
        path.relative_to(ASSETS).as_posix(): path.read_bytes()
        for path in ASSETS.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }
    assert (ASSETS / MANIFEST).read_text("utf-8") == manifest_text(files), "run scripts/write_manifest.py"


def test_no_part_is_unreferenced() -> None:
    """Every part beside a bundled preset is one that a preset refers to."""
    versions = [name.split("/") for name in PRESETS]
    presets = [load_preset("@".join(version)) for version in versions]
    used = {(file.family, file.version, file.name) for preset in presets for file in every_file(preset)}
    parts = {(family, version, name) for family, version in versions for name in bundled().names(family, version)}
    assert parts - used == set()


def test_every_tool_has_its_schema() -> None:
    """Each tool has a description and a schema, and nothing else lies beside them."""
    tools = load_preset("claude_code@2.1.37").own_tools
    files = {path.name for path in (ASSETS / "claude_code/2.1.37/tools").iterdir()}
    assert files == {f"{tool}.{kind}" for tool in tools for kind in ("md", "json")}


def test_assets_are_plain_text() -> None:
    """A part is printable text that ends in one newline, with no trailing blanks and nothing invisible."""
    parts = sorted(ASSETS.rglob("*.md"))
    wrong = [f"{path.relative_to(ASSETS)}: {found}" for path in parts for found in impurities(path.read_bytes())]
    assert parts
    assert wrong == []


def impurities(content: bytes) -> list[str]:
    """Return what keeps a part from being plain text."""
    text = content.decode()
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")} - {"\n"}
    ends = text.endswith("\n") and not text.endswith("\n\n")
    return [
        *([] if ends else ["it does not end in one newline"]),
        *(f"line {number} ends in a blank" for number, line in enumerate(text.split("\n"), 1) if line != line.rstrip()),
        *(f"U+{ord(character):04X}" for character in sorted(hidden)),
    ]


def test_typed() -> None:
    """The package says that it is typed."""
    assert (PACKAGE / "py.typed").is_file()
    assert importlib.import_module("deepprompt").__version__


# What a process must not import, by what it does: each of these takes longer than all that it is needed for.
START = """
import sys
before = set(sys.modules)
{code}
print(*sorted({{name.partition('.')[0] for name in set(sys.modules) - before}}))
"""
HEAVY = {
    "argparse",
    "hashlib",
    "importlib_resources",
    "json",
    "packaging",
    "subprocess",
    "typing",
    "unicodedata",
    "yaml",
}
STARTS = {
    "first prompt": (
        "from deepprompt import SystemPromptBuilder, ProjectContext\n"
        "assert SystemPromptBuilder(project=ProjectContext(cwd='/project')).build()",
        HEAVY,
    ),
    "build command": (
        "from deepprompt.cli import main\n"
        "assert main(['build', '--no-git', '--home=', '--quiet', '--out', sys.argv[1]]) == 0",
        HEAVY - {"argparse"} | {"difflib", "datetime", "shutil"},
    ),
}


@pytest.mark.parametrize(("code", "heavy"), STARTS.values(), ids=STARTS)
def test_a_start_imports_no_more_than_it_needs(tmp_path: Path, code: str, heavy: set[str]) -> None:
    """Up to its first prompt a process imports nothing that takes long and has no part in it."""
    command = [sys.executable, "-c", START.format(code=code), str(tmp_path / "prompt")]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert not set(run.stdout.split()) & heavy


def test_no_group_is_possessive() -> None:
    """Up to Python 3.11.4 (Debian 12 has 3.11.2) `(?:...)*+` loses its place and misses matches: `(?>(?:...)*)`."""
    possessive = re.compile(r"\)(?:[*+?]|\{+[\d,]+\}+)\+")
    assert [str(path) for path in modules() if possessive.search(path.read_text("utf-8"))] == []
