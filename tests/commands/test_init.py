"""`deepprompt init`: a folder that builds and has a test, and nothing that was there is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepprompt import load_preset
from deepprompt.cli import main
from tests.support.nested import ITS_PLUGINS

FILES = {".gitattributes", "tests/test_pilot.py"}


def made(folder: Path) -> set[str]:
    """The files below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_preset_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The preset loads without a problem, its flag works, and the command says how to see it."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "pilot"]) == 0
    home = "prompts/pilot/1.0.0"
    assert made(tmp_path / "pilot") == FILES | {f"{home}/preset.toml", f"{home}/about.md", f"{home}/rules.md"}
    assert capsys.readouterr().out.splitlines()[-1] == (
        "to see the prompt: deepprompt build --preset pilot --parts pilot/prompts"
    )
    preset = load_preset("pilot", tmp_path / "pilot/prompts")
    assert preset.compose().text.startswith("You are pilot, an agent.")
    assert "# Rules" in preset.compose().text
    assert "# Rules" not in preset.compose(flags=["brief"]).text
    assert main(["lint", "--parts", "pilot/prompts"]) == 0


@pytest.mark.parametrize(
    ("ask", "extends"), [("coder", "coder~=1.1"), ("coder@1.0.0", "coder@1.0.0"), ("claude_code", "claude_code~=2.1")]
)
def test_an_extension(ask: str, extends: str, tmp_path: Path) -> None:
    """The preset has all rows of what it extends, and two of its own after the first."""
    assert main(["init", str(tmp_path), "--extend", ask, "--name", "pilot"]) == 0
    assert f'extends = "{extends}"' in (tmp_path / "prompts/pilot/1.0.0/preset.toml").read_text()
    names = [row.name for row in load_preset("pilot", tmp_path / "prompts").rows]
    parents = [row.name for row in load_preset(ask).rows]
    assert names == [parents[0], "pilot_about", "pilot_rules", *parents[1:]]


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where one of its files exists it writes none of them, and says which."""
    (tmp_path / ".gitattributes").write_text("mine\n")
    assert main(["init", str(tmp_path), "--name", "pilot"]) == 1
    assert capsys.readouterr().err == f"deepprompt: {tmp_path}: .gitattributes exists already; nothing was written\n"
    assert made(tmp_path) == {".gitattributes"}


def test_a_second_preset(tmp_path: Path) -> None:
    """A second preset in the same folder has a test of its own, and shares the attributes."""
    for name in ("pilot", "night-shift"):
        assert main(["init", str(tmp_path), "--name", name]) == 0
    assert {"tests/test_pilot.py", "tests/test_night_shift.py", ".gitattributes"} <= made(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pilot", "'Pilot' is no name for a preset: use small letters, digits, - and _; see --name"),
        ("a/b", "'a/b' is no name for a preset: use small letters, digits, - and _; see --name"),
        ("tiers", "tiers is bundled; choose another --name\n"),
        ("coder", "coder is bundled; choose another --name, and take it with --extend coder"),
    ],
)
def test_names(name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that cannot be a folder's, or that is taken, is wrong usage."""
    with pytest.raises(SystemExit) as ended:
        main(["init", str(tmp_path), "--name", name])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert made(tmp_path) == set()


def test_an_unknown_parent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be extended is an error that lists what can."""
    assert main(["init", str(tmp_path), "--name", "pilot", "--extend", "codr"]) == 1
    assert "no preset named 'codr'; there are: claude_code, coder, deepseek" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("extend", [[], ["--extend", "coder"]])
def test_its_own_test(extend: list[str], tmp_path: Path) -> None:
    """The test fails without snapshots, writes them when told to, and passes from then on."""
    assert main(["init", str(tmp_path), "--name", "pilot", *extend]) == 0

    def run(*options: str) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        environment = os.environ | ITS_PLUGINS
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode

    if not extend:  # with it, the file of the test is the same
        assert run() == 1
    assert [run("--snapshot-update"), run()] == [0, 0]
