"""`deepprompt map`: the blocks, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.repositories import make_repository


def test_the_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks go to standard output, and what they are of to standard error."""
    pytest.importorskip("tree_sitter", reason="the symbol map needs deepprompt[map]")
    folder = make_repository(tmp_path / "root", {"a.py": "def f(): pass\n", "b.txt": "x"})
    assert main(["map", str(folder), "--no-cache", "--budget", "100"]) == 0
    assert capsys.readouterr() == ("a.py\n  def f()\n", "deepprompt: 1 file of 2, about 3 tokens\n")
    assert main(["map", str(folder), "--no-cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"a.py": "a.py\n  def f()"}
