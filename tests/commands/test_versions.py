"""`deepprompt versions`: which families there are, in which versions."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from deepprompt.cli import main


def lay_out(root: Path, *names: str) -> Path:
    """Write small files below a folder."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    return root


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return a folder of parts with two families."""
    return lay_out(tmp_path, "b/1.10/x.md", "b/1.9/x.md", "b/2.0rc1/x.md", "b/2.0/x.md", "a/1.0/x.md", "README.md")


def test_bundled(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The bundled families are listed one a line with their versions."""
    assert main(["versions"]) == 0
    lines = b"agents 2026.11.18\nbase 1.0.0 1.1.0\nbatch 2026.11.18 2026.11.18.1\n"
    lines += b"claude_code 2.1.37 2.1.37.post1 2.1.37.post2\n"
    lines += b"coder 1.0.0 1.1.0\ndeepseek 1.0.0 1.1.0 1.2.0\nprices 2026.11.18\nprofiles 2026.11.17\n"
    lines += b"providers 2026.11.15 2026.11.18 2026.11.18.1\nrequest 1.0.0\nsession 1.0.0 1.1.0 1.2.0\nslots 1.0.0\n"
    lines += b"strict 2026.11.18\n"
    lines += b"tagged 1.0.0\ntelemetry 2026.11.18\n"
    assert capsysbinary.readouterr() == (lines + b"text 2026.11.18 2026.11.18.1\ntiers 1.0.0\n", b"")


def test_folder(parts: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The families of a folder are sorted by name, their versions oldest first."""
    assert main(["versions", "--parts", str(parts)]) == 0
    assert capsysbinary.readouterr() == (b"a 1.0\nb 1.9 1.10 2.0rc1 2.0\n", b"")


def test_json(parts: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """`--json` gives the same as an object of lists."""
    assert main(["versions", "--json", "--parts", str(parts)]) == 0
    said = capsysbinary.readouterr()
    assert json.loads(said.out) == {"a": ["1.0"], "b": ["1.9", "1.10", "2.0rc1", "2.0"]}
    assert (said.out[-1:], said.err) == (b"\n", b"")


def test_nothing_there(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A folder without any family is a failure that says so, not an empty success."""
    assert main(["versions", "--parts", str(tmp_path)]) == 1
    said = capsysbinary.readouterr()
    assert said.out == b""
    assert str(tmp_path).encode() in said.err


def test_no_folder(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A folder that is not there is an error that names it."""
    assert main(["versions", "--parts", str(tmp_path / "nowhere")]) == 1
    assert capsysbinary.readouterr() == (b"", f"deepprompt: no folder of parts at '{tmp_path}/nowhere'\n".encode())


def test_invalid_version(parts: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A folder that is not named by a version is an error that names it."""
    lay_out(parts, "b/latest/x.md")
    assert main(["versions", "--parts", str(parts)]) == 1
    said = capsysbinary.readouterr()
    assert said.out == b""
    assert b"'latest' is not a version; name the folder as PEP 440 has it, such as 1.0.0\n" in said.err


def test_malformed_manifest(parts: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A malformed manifest is an error that names its line."""
    lay_out(parts, "MANIFEST")
    assert main(["versions", "--parts", str(parts)]) == 1
    said = capsysbinary.readouterr()
    assert said == (b"", f"deepprompt: {parts}: MANIFEST:1: a line is SHA256 SIZE PATH\n".encode())


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are UTF-8 here")
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_name_not_utf8(form: list[str], parts: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A family whose name is not UTF-8 is no traceback."""
    lay_out(parts, os.fsdecode(b"caf\xe9/1.0/x.md"))
    assert main(["versions", *form, "--parts", str(parts)]) in (0, 1)
    capsysbinary.readouterr().out.decode()
