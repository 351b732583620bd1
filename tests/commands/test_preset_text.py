"""A resolved preset as TOML: it is the same preset without what it extends."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from deepprompt import load_preset
from deepprompt.catalog import bundled
from deepprompt.commands.preset_text import preset_text
from tests.support.paths import ROOT

LANTERN = ROOT / "examples/lantern/prompts"
GIVEN = {"flags": ["season:open", "review"], "variables": {"CURATOR": "Ada"}, "tools": ["PublishPage", "FileRead"]}


def test_an_extension(tmp_path: Path) -> None:
    """What `show preset` prints for an extension composes to the same prompt, with the preset's own files beside it."""
    preset = load_preset("lantern", LANTERN)
    shutil.copytree(LANTERN, tmp_path / "prompts")
    (tmp_path / "prompts/lantern/1.0.0/preset.toml").write_text(preset_text(preset))
    again = load_preset("lantern", tmp_path / "prompts")
    assert again.extends == ""
    assert again.compose(**GIVEN).text == preset.compose(**GIVEN).text  # type: ignore[arg-type]
    assert [(row.name, row.when, row.pace) for row in again.rows] == [
        (row.name, row.when, row.pace) for row in preset.rows
    ]
    assert again.tools(["PublishPage", "Read"]) == preset.tools(["PublishPage", "Read"])


@pytest.mark.parametrize("name", ["coder", "claude_code", "deepseek@1.0.0", "deepseek@1.1.0"])
def test_bundled(name: str, tmp_path: Path) -> None:
    """Every bundled preset, printed and read again under another name, has the same prefix."""
    preset = load_preset(name)
    home = tmp_path / "mine" / preset.version
    home.mkdir(parents=True)
    data = tomllib.loads(preset_text(preset))
    assert data["format"] == 1
    for file in bundled().files(preset.family, preset.version):
        if file.endswith((".md", ".json")):
            (home / file).parent.mkdir(exist_ok=True)
            (home / file).write_text(bundled().file(preset.family, preset.version, file))
    (home / "preset.toml").write_text(preset_text(preset))
    again = load_preset("mine", tmp_path)
    tools = [*preset.own_tools]
    assert again.compose(tools=tools).static_prefix == preset.compose(tools=tools).static_prefix
    assert again.compose(tools=tools).tools == preset.compose(tools=tools).tools
