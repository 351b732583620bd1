"""`build` as the target of another command: the same prompt, wrong usage as an error, and a quick start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepprompt.cli import main
from deepprompt.commands.build.target import built
from deepprompt.commands.inputs import target_function
from deepprompt.errors import SourceError
from tests.support.layout import lay_out


def test_the_same_prompt(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """It is what the command prints with these options."""
    lay_out(tmp_path, {"AGENTS.md": "Run make test.\n"})
    options = ["--cwd", str(tmp_path), "--no-git", "--home", "", "--portable"]
    assert main(["build", "--quiet", *options]) == 0
    assert built(options).text == capsysbinary.readouterr().out.decode()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--json"], "--json is only for the command itself; here only the prompt matters"),
        (["--to", "anthropic"], "--to is only for the command itself; here only the prompt matters"),
        (["--out", "a"], "--out is only for the command itself; here only the prompt matters"),
        (["--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_wrong_options(options: list[str], said: str) -> None:
    """Wrong usage is an error, and does not end the process."""
    with pytest.raises(SourceError, match=said):
        built(options)


def test_programs_of_the_project_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of PATH that lie in a work tree are left out, for the programs that this process starts."""
    inside, outside = tmp_path / "project/bin", tmp_path / "bin"
    monkeypatch.setenv("PATH", os.pathsep.join([str(inside), str(outside)]))
    built(["--cwd", str(tmp_path), "--no-git", "--home", ""], [str(tmp_path / "project")])
    assert os.environ["PATH"] == str(outside)


def test_it_imports_little(tmp_path: Path) -> None:
    """A process that calls it imports no provider, nor what only starting processes needs."""
    function = target_function("build --no-git", str(tmp_path))
    assert function is not None
    script = (
        "import sys; before = {*sys.modules}\n"  # coverage imports some of them before us
        f"from {function.module} import {function.name}\n{function.name}(['--no-git', '--home', ''])\n"
        "print(*{*sys.modules} - before)"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = set(ran.stdout.split())
    assert "deepprompt.systems.compose" in imported
    assert not imported & {"dataclasses", "subprocess", "tempfile", "json", "deepprompt.providers.reading"}
