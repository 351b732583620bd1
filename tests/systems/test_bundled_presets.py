"""The compiled presets are the files, the files are good presets, and a first prompt needs no parser."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deepprompt
from deepprompt import from_folder, load_preset
from deepprompt.catalog import bundled
from deepprompt.systems.bundled_presets import PRESETS
from deepprompt.systems.preset_check import check

PACKAGE = Path(deepprompt.__file__).parent
ASSETS = PACKAGE / "assets"


def test_the_compiled_presets_are_the_files() -> None:
    """Law 3: the module is what its script writes, and that is what the files say."""
    files = {path.parent.relative_to(ASSETS).as_posix(): path for path in ASSETS.rglob("preset.toml")}
    assert {name: tomllib.loads(path.read_text("utf-8")) for name, path in files.items()} == PRESETS
    if shutil.which("ruff", path=os.path.dirname(sys.executable)) is None:
        pytest.skip("the script formats the module with ruff, which is not installed: pip install -e '.[dev]'")
    written = runpy.run_path(str(PACKAGE.parent / "scripts" / "write_manifest.py"))["compiled"]()
    assert (PACKAGE / "systems/bundled_presets.py").read_text("utf-8") == written, "run scripts/write_manifest.py"


def test_every_bundled_preset_is_good() -> None:
    """What is checked of a user's preset holds for ours, although loading them does not check it."""
    for name, data in PRESETS.items():
        family, version = name.split("/")
        preset = load_preset(f"{family}@{version}")
        missing = [
            file.origin
            for row in preset.rows
            for _, file in row.files
            if not bundled().has(file.family, file.version, file.path)
        ]
        assert missing == [], name
        assert check(preset, bundled(), data) == [], name


def test_a_copy_under_another_name_composes_the_same(tmp_path: Path) -> None:
    """The files parsed as a user's preset give the same prompt as the compiled ones."""
    shutil.copytree(ASSETS / "claude_code/2.1.37", tmp_path / "copy/2.1.37")
    copy = load_preset("copy", from_folder(tmp_path))
    ours = load_preset("claude_code@2.1.37")
    tools = [name for tool in ours.own_tools.values() for name in (tool.name, *tool.names)]
    for order in ours.orders:
        first, second = (preset.ordered(order).compose(tools=tools, flags=["memory"]) for preset in (copy, ours))
        assert first.text == second.text
        assert first.tools == second.tools


def test_a_first_prompt_parses_nothing() -> None:
    """Law 12: composing a bundled preset imports neither `tomllib` nor `json` nor `typing`."""
    code = (
        "import sys; before = {*sys.modules}; from deepprompt.systems.presets import load_preset;"
        "load_preset('deepseek@1.0.0').compose();"
        "print([name for name in ('tomllib', 'json', 'typing', 'packaging') if name in {*sys.modules} - before])"
    )
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
