"""`deepprompt diff`: what changed between two versions, and what that costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt.cli import main
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

ROWS = 'format = 1\nrows = [{{ part = "who" }}, {{ part = "how" }}, {{ part = "{}" }}, {{ part = "hint" }}]\n'
FILES = {
    "own/1.0.0/preset.toml": ROWS.format("old"),
    "own/1.0.0/who.md": "You are an agent.\nYou help.\n",
    "own/1.0.0/how.md": "Work well.\n",
    "own/1.0.0/old.md": "Drop this.\n",
    "own/1.0.0/hint.md": "Hint.\n",
    "own/1.1.0/preset.toml": ROWS.format("new"),
    "own/1.1.0/who.md": "You are a careful agent.\nYou help.\n",
    "own/1.1.0/how.md": "Work well.\n",
    "own/1.1.0/new.md": "Mind the é.\n",
    "own/1.1.0/hint.md": "Hint.\n",
}

DIFF = """\
who: changed, +1 tokens
--- old/who
+++ new/who
@@ -1,2 +1,2 @@
-You are an agent.
+You are a careful agent.
 You help.
old: removed, -2 tokens
--- old/old
+++ new/old
@@ -1 +0,0 @@
-Drop this.
new: added, +3 tokens
--- old/new
+++ new/new
@@ -0,0 +1 @@
+Mind the é.
3 of 5 parts changed, +2 tokens in all (estimated)
"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return a folder of parts with two versions of one family."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def differ(capture: CaptureBytes, parts: Path, old: str, new: str, *options: str) -> str:
    """Run `diff` without failure, and return what it prints."""
    assert main(["diff", old, new, "--parts", str(parts), *options]) == 0
    said = capture.readouterr()
    assert said.err == b""
    return said.out.decode()


@pytest.mark.parametrize(("old", "new"), [("own@1.0.0", "own@1.1.0"), ("own@1.0.0", "own"), ("own~=1.0.0", "own>1.0")])
def test_text(old: str, new: str, parts: Path, capsysbinary: CaptureBytes) -> None:
    """Each changed, removed and added part is shown as a unified diff with its token difference, then the sum."""
    assert differ(capsysbinary, parts, old, new) == DIFF


def test_backwards(parts: Path, capsysbinary: CaptureBytes) -> None:
    """The other way round what was added is removed, and the sum has the other sign."""
    text = differ(capsysbinary, parts, "own@1.1.0", "own@1.0.0")
    assert "new: removed, -3 tokens\n" in text
    assert "old: added, +2 tokens\n" in text
    assert text.endswith("3 of 5 parts changed, -2 tokens in all (estimated)\n")


def test_same(parts: Path, capsysbinary: CaptureBytes) -> None:
    """Between a version and itself nothing changed."""
    assert differ(capsysbinary, parts, "own@1.0.0", "own@1.0") == (
        "0 of 4 parts changed, +0 tokens in all (estimated)\n"
    )


@pytest.mark.seed("004.27")
def test_bundled(capsysbinary: CaptureBytes) -> None:
    """Without a folder the bundled versions are compared."""
    assert main(["diff", "base@1.0.0", "base@1.0.0"]) == 0
    assert capsysbinary.readouterr() == (b"0 of 4 parts changed, +0 tokens in all (estimated)\n", b"")


def test_json(parts: Path, capsysbinary: CaptureBytes) -> None:
    """`--json` gives the changes part by part, with the same diffs and differences."""
    found: Any = json.loads(differ(capsysbinary, parts, "own@1.0.0", "own@1.1.0", "--json"))
    changes = found.pop("changes")
    assert found == {"old": "own@1.0.0", "new": "own@1.1.0", "reordered": False, "declared": [], "tokens": 2}
    assert [(change["part"], change["kind"], change["tokens"]) for change in changes] == [
        ("who", "changed", 1),
        ("old", "removed", -2),
        ("new", "added", 3),
    ]
    assert changes[0]["diff"] in DIFF


def test_json_names_the_versions(parts: Path, capsysbinary: CaptureBytes) -> None:
    """The report names the versions that were compared, not only how they were asked for."""
    found: Any = json.loads(differ(capsysbinary, parts, "own~=1.0.0", "own", "--json"))
    assert (found["old"], found["new"]) == ("own@1.0.0", "own@1.1.0")


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        pytest.param('{ part = "who" }, { part = "how" }', '{ part = "how" }, { part = "who" }', "order", id="order"),
        pytest.param('{ part = "hint" }', '{ part = "hint", pace = "project" }', "always -> project", id="pace"),
        pytest.param('{ part = "how" }', '{ part = "how", when = "list:mcp" }', "release list:mcp", id="when"),
    ],
)
def test_only_a_row_changed(old: str, new: str, shown: str, parts: Path, capsysbinary: CaptureBytes) -> None:
    """A change of order, pace or condition changes the prompt too, and is shown."""
    for path, text in FILES.items():
        if path.startswith("own/1.1.0/"):
            other = parts / path.replace("1.1.0", "2.0")
            other.parent.mkdir(exist_ok=True)
            other.write_text(text.replace(old, new))
    assert shown in differ(capsysbinary, parts, "own@1.1.0", "own@2.0")


def test_last_newline(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A last newline that went away is a change that is shown."""
    lay_out(tmp_path, {"texts/1.0/hint.md": "Hint.\n", "texts/1.1/hint.md": "Hint."})
    shown = "hint: changed, +0 tokens\n--- old/hint\n+++ new/hint\n@@ -1 +1,2 @@\n Hint.\n+(no newline at the end)\n"
    assert shown in differ(capsysbinary, tmp_path, "texts@1.0", "texts")


def test_files_of_a_family_without_parts(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Versions that have no parts, such as those of the facts, are compared file by file."""
    for version, text in (("2026.1.1", "{}\n"), ("2027.1.1", '{"as_of": "2027"}\n')):
        (tmp_path / "facts" / version).mkdir(parents=True)
        (tmp_path / "facts" / version / "facts.json").write_text(text)
        (tmp_path / "facts" / version / "same.json").write_text("[]\n")
    found = differ(capsysbinary, tmp_path, "facts@2026.1.1", "facts")
    assert found == (
        "facts.json: changed, +4 tokens\n--- old/facts.json\n+++ new/facts.json\n@@ -1 +1 @@\n"
        '-{}\n+{"as_of": "2027"}\n1 of 2 parts changed, +4 tokens in all (estimated)\n'
    )


@pytest.mark.parametrize("family", ["providers", "tiers"])
def test_bundled_families(family: str, capsysbinary: CaptureBytes) -> None:
    """Every bundled family can be compared, one that has facts for parts too."""
    assert main(["diff", family, family]) == 0
    assert capsysbinary.readouterr().out.startswith(b"0 of ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("own@1.0.0", "own@9", "no version of own is 9; there are: 1.0.0, 1.1.0"),
        ("own~=3.0", "own", "no version of own meets ~=3.0; there are: 1.0.0, 1.1.0"),
        ("@1.0.0", "1.1.0", "cannot read '@1.0.0'; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION"),
        ("", "own", "cannot read ''; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION"),
    ],
)
def test_unknown(old: str, new: str, message: str, parts: Path, capsysbinary: CaptureBytes) -> None:
    """A version that there is not, or that cannot be read, is an error of one line that says what there is."""
    assert main(["diff", old, new, "--parts", str(parts)]) == 1
    assert capsysbinary.readouterr() == (b"", f"deepprompt: {message}\n".encode())


def test_unknown_family(parts: Path, capsysbinary: CaptureBytes) -> None:
    """A family that there is not is an error that lists those there are."""
    assert main(["diff", "own", "other", "--parts", str(parts)]) == 1
    assert capsysbinary.readouterr() == (b"", f"deepprompt: {parts} has no family 'other'; there are: own\n".encode())


def test_no_folder(capsysbinary: CaptureBytes) -> None:
    """A folder that is not there is an error that names it."""
    assert main(["diff", "own", "own", "--parts", "/nowhere"]) == 1
    assert capsysbinary.readouterr() == (b"", b"deepprompt: no folder of parts at '/nowhere'\n")


def test_part_missing(parts: Path, capsysbinary: CaptureBytes) -> None:
    """A part that a row names and the folder lacks is an error that names both."""
    (parts / "own/1.1.0/new.md").unlink()
    assert main(["diff", "own@1.0.0", "own@1.1.0", "--parts", str(parts)]) == 1
    place = f"{parts}:own/1.1.0/preset.toml"
    message = f"deepprompt: {place}: row new: there is no file own/1.1.0/new.md in {parts}\n"
    assert capsysbinary.readouterr() == (b"", message.encode())
