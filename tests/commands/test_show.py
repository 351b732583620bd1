"""`deepprompt show`: the exact text of one prompt part, and the start of an override of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt import bundled
from deepprompt.catalog import from_folder
from deepprompt.cli import main
from deepprompt.prompt import sha256_hex
from deepprompt.systems.changes import recorded
from deepprompt.systems.rows import File
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

FOLDER = "claude_code/2.1.37"
GLOB = bundled().text("claude_code", "2.1.37", "glob")
RECORD = f"glob {sha256_hex(GLOB)}\n"


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        ("glob", f"{FOLDER}/glob"),
        ("claude_code/glob", f"{FOLDER}/glob"),
        ("glob@2.1.37", f"{FOLDER}/glob"),
        ("claude_code/glob@2.1.37", f"{FOLDER}/glob"),
        ("base/tools", "base/1.0.0/tools"),
        ("tools@1.0.0", "base/1.0.0/tools"),
        ("tools@1", "base/1.0.0/tools"),
        ("tools/Bash", f"{FOLDER}/tools/Bash"),
        ("agents/explore", f"{FOLDER}/agents/explore"),
        ("claude_code/reminders/date_changed@2.1.37", f"{FOLDER}/reminders/date_changed"),
    ],
)
def test_text(ask: str, path: str, capsysbinary: CaptureBytes) -> None:
    """A part is printed byte for byte, named with its family and version or without."""
    assert main(["show", ask]) == 0
    family, version, part = path.split("/", 2)
    assert capsysbinary.readouterr() == (bundled().text(family, version, part).encode(), b"")


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        ("providers/facts.json", "providers/2026.11.18.1/facts.json"),
        ("facts.json", "providers/2026.11.18.1/facts.json"),
        ("providers/facts.json@2026.11.18", "providers/2026.11.18/facts.json"),
        ("tiers/preset.table", "tiers/1.0.0/preset.table"),
        ("tools/Bash.json", f"{FOLDER}/tools/Bash.json"),
        ("tiers/commit.md", "tiers/1.0.0/commit.md"),
        ("commit", "tiers/1.0.0/commit.md"),
    ],
)
def test_file(ask: str, path: str, capsysbinary: CaptureBytes) -> None:
    """What is no part, such as facts or a table, is printed byte for byte by its file's name."""
    assert main(["show", ask]) == 0
    assert capsysbinary.readouterr() == (bundled().file(*path.split("/", 2)).encode(), b"")


@pytest.mark.parametrize(("ask", "text"), [("one", "new"), ("one@1.0", "old"), ("f/one@2.0", "new")])
def test_folder(ask: str, text: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Parts of a folder are shown in the newest version, or the one that is asked for."""
    lay_out(tmp_path, {"f/1.0/one.md": "old", "f/2.0/one.md": "new"})
    assert main(["show", ask, "--parts", str(tmp_path)]) == 0
    assert capsysbinary.readouterr() == (text.encode(), b"")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ("globb", "no part named 'globb'; did you mean claude_code/glob or claude_code/tools/Glob?"),
        ("tools/bash", "no part named 'tools/bash'; did you mean claude_code/tools/Bash?"),
        ("base/tool@1.0.0", "no part named 'base/tool'; did you mean base/tools or claude_code/todo?"),
        ("facts", "no part named 'facts'; did you mean providers/facts.json?"),
        ("providers", "no part named 'providers'; there are: providers/facts.json"),
        ("tagged", "no part named 'tagged'; there are: tagged/background, tagged/storage, tagged/telegram"),
        (
            "providers/facts.json@1",
            "no version '1' of 'providers/facts.json'; providers has: 2026.11.15, 2026.11.18, 2026.11.18.1",
        ),
        (
            "preset.table",
            "'preset.table' is several parts: base/preset.table, claude_code/preset.table, request/preset.table, "
            "session/preset.table, "
            "tagged/preset.table, tiers/preset.table",
        ),
    ],
)  # fmt: skip
def test_unknown(ask: str, message: str, capsysbinary: CaptureBytes) -> None:
    """A part that there is not is an error that names it and asks for close matches."""
    assert main(["show", ask]) == 1
    assert capsysbinary.readouterr() == (b"", f"deepprompt: {message}\n".encode())


@pytest.mark.parametrize("ask", ["glob@9.9", "glob@1.0.0", "claude_code/glob@latest", "glob@"])
def test_unknown_version(ask: str, capsysbinary: CaptureBytes) -> None:
    """A version that a part does not have is an error that says which it has."""
    assert main(["show", ask]) == 1
    out, err = capsysbinary.readouterr()
    assert out == b""
    assert b"2.1.37" in err


def test_several(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A name that several families have is an error that lists them."""
    lay_out(tmp_path, {"a/1.0/one.md": "", "b/1.0/one.md": ""})
    assert main(["show", "one", "--parts", str(tmp_path)]) == 1
    assert capsysbinary.readouterr() == (b"", b"deepprompt: 'one' is several parts: a/one, b/one\n")


def test_nothing_there(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """In an empty folder there are no parts, and the error says so."""
    assert main(["show", "one", "--parts", str(tmp_path)]) == 1
    assert capsysbinary.readouterr() == (b"", b"deepprompt: no part named 'one'; there are: none\n")


@pytest.mark.parametrize("arguments", [[], ["glob", "--parts", ""], ["glob", "--override-in", ""]])
def test_usage(arguments: list[str]) -> None:
    """No part, or an empty folder name, is wrong usage."""
    with pytest.raises(SystemExit) as caught:
        main(["show", *arguments])
    assert caught.value.code == 2


class TestOverride:
    """`--override-in` starts an override."""

    def test_copy(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """The part is copied into the layout that `build --parts` reads, and its hash recorded."""
        assert main(["show", "glob", "--override-in", str(tmp_path / "mine")]) == 0
        assert capsysbinary.readouterr() == (b"", b"")
        found = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
        assert found == {f"mine/{FOLDER}/glob.md": GLOB, f"mine/{FOLDER}/overrides.table": RECORD}

    def test_no_part(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A file that is no part cannot be overridden, and nothing is written."""
        assert main(["show", "providers/facts.json", "--override-in", str(tmp_path)]) == 1
        message = b"deepprompt: providers/facts.json is no prompt part: only a part can have an override\n"
        assert capsysbinary.readouterr() == (b"", message)
        assert list(tmp_path.iterdir()) == []

    def test_second(self, tmp_path: Path) -> None:
        """A second override is recorded below the first, and what was in the table stays."""
        lay_out(tmp_path, {f"{FOLDER}/overrides.table": "# Ours, é\r\n"})
        for part in ("glob", "tools/Glob"):
            assert main(["show", part, "--override-in", str(tmp_path)]) == 0
        tool = bundled().text("claude_code", "2.1.37", "tools/Glob")
        table = f"# Ours, é\r\n{RECORD}tools/Glob {sha256_hex(tool)}\n"
        assert (tmp_path / FOLDER / "overrides.table").read_bytes() == table.encode()
        assert (tmp_path / FOLDER / "tools/Glob.md").read_text() == tool

    def test_a_table_without_a_last_newline(self, tmp_path: Path) -> None:
        """A table that an editor left without a last newline still gets a line of its own for the new part."""
        lay_out(tmp_path, {f"{FOLDER}/overrides.table": f"grep {'0' * 64}", f"{FOLDER}/grep.md": "Mine.\n"})
        assert main(["show", "glob", "--override-in", str(tmp_path)]) == 0
        assert (tmp_path / FOLDER / "overrides.table").read_text() == f"grep {'0' * 64}\n{RECORD}"

    def test_a_table_that_is_not_utf8(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A table that cannot be read is an error of one line, before anything is written."""
        lay_out(tmp_path, {f"{FOLDER}/overrides.table": b"# \xff\n"})
        assert main(["show", "glob", "--override-in", str(tmp_path)]) == 1
        out, err = capsysbinary.readouterr()
        assert out == b""
        assert b"overrides.table" in err
        assert b"not UTF-8" in err
        assert not (tmp_path / FOLDER / "glob.md").exists()

    @pytest.mark.parametrize("kind", ["file", "dangling link"])
    def test_there_already(self, kind: str, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """An override that is there is never overwritten."""
        path = tmp_path / FOLDER / "glob.md"
        path.parent.mkdir(parents=True)
        if kind == "file":
            path.write_text("Mine.\n")
        else:
            path.symlink_to("nowhere")
        assert main(["show", "glob", "--override-in", str(tmp_path)]) == 1
        message = f"deepprompt: {path}: the override exists already; edit it, or remove it first\n"
        assert capsysbinary.readouterr() == (b"", message.encode())
        assert [entry.name for entry in path.parent.iterdir()] == ["glob.md"]

    def test_again(self, tmp_path: Path) -> None:
        """An override that was removed and started again is recorded against the text that it starts from now."""
        own = tmp_path / "own"
        for text in ("First.\n", "Second.\n"):
            lay_out(tmp_path / "theirs", {"f/1.0/one.md": text})
            assert main(["show", "one", "--parts", str(tmp_path / "theirs"), "--override-in", str(own)]) == 0
            digest = recorded(File(from_folder(own), "f", "1.0", "one.md"))
            assert digest == sha256_hex(text)
            (own / "f/1.0/one.md").unlink()

    def test_not_a_folder(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A file where the folder should be is an error of one line."""
        (tmp_path / "file").write_text("")
        assert main(["show", "glob", "--override-in", str(tmp_path / "file")]) == 1
        out, err = capsysbinary.readouterr()
        assert (out, err.count(b"\n"), b"file" in err) == (b"", 1, True)

    def test_an_unchanged_override_changes_nothing(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A build with an override that was just started is the build without it, and nothing is said of it."""
        assert main(["show", "glob", "--override-in", str(tmp_path)]) == 0
        assert main(["build", "--preset", "claude_code", "--tool", "Glob", "--quiet"]) == 0
        plain = capsysbinary.readouterr()
        arguments = ["build", "--preset", "claude_code", "--tool", "Glob", "--parts", str(tmp_path)]
        assert main(arguments) == 0
        out, err = capsysbinary.readouterr()
        assert out == plain.out
        assert b"override" not in err
