"""`deepprompt diff PART --parts DIR`: an override, the bundled text, and the one that it was written against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import bundled
from deepprompt.catalog import from_folder
from deepprompt.cli import main
from deepprompt.prompt import sha256_hex
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

FOLDER = "claude_code/2.1.37"
GLOB = bundled().text("claude_code", "2.1.37", "glob")

OLD, NEW, YOURS = "One.\nTwo.\n", "One.\n2.\n", "1.\nTwo.\n"

MOVED = """\
--- written against
+++ bundled 2.0
@@ -1,2 +1,2 @@
 One.
-Two.
+2.
"""

EDITED = """\
--- written against
+++ yours
@@ -1,2 +1,2 @@
-One.
+1.
 Two.
"""

UNKNOWN = "the text that it was written against is not recorded, or no longer bundled\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bundle a part in two versions, and return an empty folder for overrides of it."""
    theirs = lay_out(tmp_path / "bundled", {"f/1.0/one.md": OLD, "f/2.0/one.md": NEW, "f/0.9/other.md": ""})
    monkeypatch.setattr("deepprompt.commands.diff.bundled", lambda: from_folder(theirs))
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def differ(capture: CaptureBytes, *arguments: str) -> str:
    """Run `diff` without failure, and return what it prints."""
    assert main(["diff", *arguments]) == 0
    out, err = capture.readouterr()
    assert err == b""
    return out.decode()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("ask", ["one", "f/one", "f/one@2.0"])
def test_moved(ask: str, version: str, own: Path, capsysbinary: CaptureBytes) -> None:
    """What changed in the bundled text and what the override changes are shown, each from the common start."""
    lay_out(own, {f"f/{version}/one.md": YOURS, f"f/{version}/overrides.toml": f'one = "{sha256_hex(OLD)}"\n'})
    assert differ(capsysbinary, ask, "--parts", str(own)) == MOVED + EDITED


def test_not_moved(own: Path, capsysbinary: CaptureBytes) -> None:
    """A bundled text that is still the same is said to be."""
    lay_out(own, {"f/1.0/one.md": YOURS, "f/1.0/overrides.toml": f'one = "{sha256_hex(OLD)}"\n'})
    expected = "the bundled text has not changed since\n" + EDITED
    assert differ(capsysbinary, "one@1.0", "--parts", str(own)) == expected


def test_not_edited(own: Path, capsysbinary: CaptureBytes) -> None:
    """An override that is the text it was written against is said to change nothing."""
    lay_out(own, {"f/1.0/one.md": OLD, "f/1.0/overrides.toml": f'one = "{sha256_hex(OLD)}"\n'})
    assert differ(capsysbinary, "one", "--parts", str(own)) == MOVED + "the override changes nothing\n"


@pytest.mark.parametrize("table", [None, 'other = "0"\n', f'one = "{"0" * 64}"\n'])
def test_start_unknown(table: str | None, own: Path, capsysbinary: CaptureBytes) -> None:
    """Where the common start is not known, the bundled text and the override are compared with each other."""
    lay_out(own, {"f/2.0/one.md": YOURS} | ({"f/2.0/overrides.toml": table} if table else {}))
    shown = differ(capsysbinary, "one", "--parts", str(own))
    assert shown.startswith(UNKNOWN + "--- bundled 2.0\n+++ yours\n@@ -1,2 +1,2 @@\n")
    assert shown.endswith("-One.\n-2.\n+1.\n+Two.\n")


@pytest.mark.parametrize(("table", "start"), [(f'one = "{sha256_hex(OLD)}"\n', OLD), ("", None)])
def test_json(table: str, start: str | None, own: Path, capsysbinary: CaptureBytes) -> None:
    """`--json` gives the three texts whole."""
    lay_out(own, {"f/2.0/one.md": YOURS, "f/2.0/overrides.toml": table})
    found: Any = json.loads(differ(capsysbinary, "one", "--parts", str(own), "--json"))
    assert found == {"part": "f/one", "version": "2.0", "written against": start, "bundled": NEW, "yours": YOURS}


@pytest.mark.parametrize("part", ["glob", "tools/Glob", "agents/task"])
def test_what_show_started(part: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """An override that `show --override-in` started has its record, wherever in the catalogue the part is."""
    assert main(["show", part, "--override-in", str(tmp_path)]) == 0
    text = differ(capsysbinary, f"claude_code/{part}", "--parts", str(tmp_path))
    assert text == "the bundled text has not changed since\nthe override changes nothing\n"


def test_what_the_note_says(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """The command that a build names when a bundled text has moved works."""
    lay_out(tmp_path, {f"{FOLDER}/glob.md": "Mine.\n", f"{FOLDER}/overrides.toml": f'glob = "{"0" * 64}"\n'})
    assert main(["build", "--preset", "claude_code@2.1.37", "--tool", "Glob", "--parts", str(tmp_path)]) == 0
    said = capsysbinary.readouterr().err.decode()
    command = f"deepprompt diff claude_code/glob --parts {tmp_path}"
    detail = f"an override of a text that has changed since; see '{command}'"
    assert f"deepprompt: kept: {tmp_path}:{FOLDER}/glob.md: {detail}\n" in said
    assert differ(capsysbinary, *command.split()[2:]).startswith(UNKNOWN + "--- bundled 2.1.37\n+++ yours\n")


def test_no_override(own: Path, capsysbinary: CaptureBytes) -> None:
    """A part that the folder does not override is an error that names both."""
    lay_out(own, {"f/2.0/two.md": ""})
    assert main(["diff", "one", "--parts", str(own)]) == 1
    assert capsysbinary.readouterr() == (b"", f"deepprompt: {own} has no override of f/one\n".encode())


def test_unknown_part(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A part that is not bundled is an error that asks for close matches."""
    assert main(["diff", "globb", "--parts", str(tmp_path)]) == 1
    message = b"deepprompt: no part named 'globb'; did you mean claude_code/glob or claude_code/tools/Glob?\n"
    assert capsysbinary.readouterr() == (b"", message)


def test_no_folder(capsysbinary: CaptureBytes) -> None:
    """A folder that is not there is an error that names it."""
    assert main(["diff", "glob", "--parts", "/nowhere"]) == 1
    assert capsysbinary.readouterr() == (b"", b"deepprompt: no folder of parts at '/nowhere'\n")


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A part alone, without the folder of its override, is wrong usage, and the message says what to add."""
    with pytest.raises(SystemExit) as caught:
        main(["diff", "glob"])
    assert caught.value.code == 2
    message = "a part alone is compared with its override: say where that is, with --parts DIR\n"
    assert capsys.readouterr().err.startswith(f"deepprompt diff: error: {message}")


def test_one_version_alone(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version of a family in the folder, with the other forgotten, is wrong usage, and the versions are listed."""
    lay_out(own, {"pilot/1.0.0/one.md": "", "pilot/1.1.0/one.md": ""})
    with pytest.raises(SystemExit) as caught:
        main(["diff", "pilot@1.0.0", "--parts", str(own)])
    assert caught.value.code == 2
    message = "pilot@1.0.0 is a version: name the other, NEW, to compare it with; pilot has: 1.0.0, 1.1.0\n"
    assert capsys.readouterr().err.startswith(f"deepprompt diff: error: {message}")


def test_family_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A version alone is no part, and the error lists the parts that it has."""
    assert main(["diff", "base@1.0.0", "--parts", str(tmp_path)]) == 1
    parts = "base/identity, base/style, base/tools, base/verify"
    assert capsys.readouterr().err == f"deepprompt: no part named 'base'; there are: {parts}\n"
