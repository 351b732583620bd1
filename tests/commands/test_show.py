"""`deepprompt show`: the exact text of one prompt part, and the start of an override of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt import bundled, load_preset, reminder
from deepprompt.catalog import from_folder
from deepprompt.cli import main
from deepprompt.prompt import sha256_hex
from deepprompt.systems.changes import recorded
from deepprompt.systems.rows import File
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

FOLDER = "claude_code/2.1.37"
GLOB = bundled().text("claude_code", "2.1.37", "glob")
RECORD = f'"glob" = "{sha256_hex(GLOB)}"\n'


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        ("glob", f"{FOLDER}/glob"),
        ("claude_code/glob", f"{FOLDER}/glob"),
        ("glob@2.1.37", f"{FOLDER}/glob"),
        ("claude_code/glob@2.1.37", f"{FOLDER}/glob"),
        ("base/tools", "base/1.1.0/tools"),
        ("skills_help@1.0.0", "base/1.0.0/skills_help"),
        ("skills_help@1", "base/1.0.0/skills_help"),
        ("tools/Bash", "claude_code/2.1.37.post2/tools/Bash"),
        ("agents/task", "claude_code/2.1.37.post2/agents/task"),
        ("agents/explore@2.1.37", f"{FOLDER}/agents/explore"),
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
        ("base/preset.toml", "base/1.1.0/preset.toml"),
        ("tools/Bash.json", "claude_code/2.1.37.post2/tools/Bash.json"),
        ("tiers/commit.md", "tiers/1.0.0/commit.md"),
        ("commit", "tiers/1.0.0/commit.md"),
    ],
)
def test_file(ask: str, path: str, capsysbinary: CaptureBytes) -> None:
    """What is no part, such as facts or a preset, is printed byte for byte by its file's name."""
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
        ("base/tol@1.0.0", "no part named 'base/tol'; did you mean base/tools or coder/tools?"),
        ("facts", "no part named 'facts'; did you mean providers/facts.json?"),
        ("providers", "no part named 'providers'; there are: providers/facts.json"),
        ("tagged", "no part named 'tagged'; there are: tagged/background, tagged/storage, tagged/telegram"),
        (
            "providers/facts.json@1",
            "no version '1' of 'providers/facts.json'; providers has: 2026.11.15, 2026.11.18, 2026.11.18.1",
        ),
        (
            "preset.toml",
            "'preset.toml' is several parts: base/preset.toml, claude_code/preset.toml, coder/preset.toml, "
            "deepseek/preset.toml, slots/preset.toml",
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
        assert found == {f"mine/{FOLDER}/glob.md": GLOB, f"mine/{FOLDER}/overrides.toml": RECORD}

    def test_no_part(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A file that is no part cannot be overridden, and nothing is written."""
        assert main(["show", "providers/facts.json", "--override-in", str(tmp_path)]) == 1
        message = b"deepprompt: providers/facts.json is no prompt part: only a part can have an override\n"
        assert capsysbinary.readouterr() == (b"", message)
        assert list(tmp_path.iterdir()) == []

    def test_second(self, tmp_path: Path) -> None:
        """A second override is recorded below the first, and what was in the file stays."""
        lay_out(tmp_path, {f"{FOLDER}/overrides.toml": "# Ours, é\r\n"})
        for part in ("glob", "tools/Glob@2.1.37"):
            assert main(["show", part, "--override-in", str(tmp_path)]) == 0
        tool = bundled().text("claude_code", "2.1.37", "tools/Glob")
        table = f'# Ours, é\r\n{RECORD}"tools/Glob" = "{sha256_hex(tool)}"\n'
        assert (tmp_path / FOLDER / "overrides.toml").read_bytes() == table.encode()
        assert (tmp_path / FOLDER / "tools/Glob.md").read_text() == tool

    def test_a_record_without_a_last_newline(self, tmp_path: Path) -> None:
        """A record that an editor left without a last newline still gets a line of its own for the new part."""
        lay_out(tmp_path, {f"{FOLDER}/overrides.toml": "grep = '00'", f"{FOLDER}/grep.md": "Mine.\n"})
        assert main(["show", "glob", "--override-in", str(tmp_path)]) == 0
        assert (tmp_path / FOLDER / "overrides.toml").read_text() == f"grep = '00'\n{RECORD}"

    def test_a_record_that_is_not_toml(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """A record that cannot be read is an error of one line, before anything is written."""
        lay_out(tmp_path, {f"{FOLDER}/overrides.toml": b"# \xff\n"})
        assert main(["show", "glob", "--override-in", str(tmp_path)]) == 1
        out, err = capsysbinary.readouterr()
        assert out == b""
        assert b"overrides.toml" in err
        assert b"not TOML" in err
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
        assert main(["build", "--preset", "claude_code@2.1.37", "--tool", "Glob", "--quiet"]) == 0
        plain = capsysbinary.readouterr()
        arguments = ["build", "--preset", "claude_code@2.1.37", "--tool", "Glob", "--parts", str(tmp_path)]
        assert main(arguments) == 0
        out, err = capsysbinary.readouterr()
        assert out == plain.out
        assert b"override" not in err


PRESET = 'format = 1\nextends = "coder@1.0.0"\nchanges = [{ add = "house", after = "work" }]\n'


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an extension of `coder`, to be in."""
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, {"prompts/pilot/1.0.0/preset.toml": PRESET, "prompts/pilot/1.0.0/house.md": "House.\n"})
    return tmp_path / "prompts/pilot/1.0.0"


@pytest.mark.usefixtures("mine")
def test_preset(capsys: pytest.CaptureFixture[str]) -> None:
    """A preset is printed with all that it extends, as TOML."""
    assert main(["show", "preset", "pilot", "--parts", "prompts"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# pilot@1.0.0, resolved; it extends coder@1.0.0\nformat = 1\n")
    assert '  { part = "work", from = "coder@1.0.0" },\n  { part = "house" },\n' in out


def test_agent_and_reminder(capsys: pytest.CaptureFixture[str]) -> None:
    """An agent and a reminder are printed with the values of their variables."""
    assert main(["show", "agent", "explore", "--preset", "coder"]) == 0
    assert capsys.readouterr().out == load_preset("coder").agent("explore").text + "\n"
    assert main(["show", "reminder", "date_changed", "--preset", "claude_code@2.1.37", "--set", "DATE=2026-11-18"]) == 0
    assert capsys.readouterr().out == reminder("date_changed", date="2026-11-18") + "\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agent", "explore"], "several presets have the agent 'explore': claude_code@"),
        (["agent", "explor", "--preset", "coder"], "no agent named 'explor'; did you mean explore?"),
        (["agent", "nobody"], "no agent named 'nobody'; there are: "),
        (["reminder", "date_changed"], "needs a value for DATE"),
        (
            ["preset", "codr"],
            "no preset named 'codr'; there are: claude_code, coder, deepseek",
        ),
    ],
)
def test_nothing_to_render(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be rendered is an error that says what there is."""
    assert main(["show", *arguments]) == 1
    assert message.split("; ")[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["glob", "grep"], "two names: the first is one of preset, agent, reminder, not 'glob'"),
        (["agent", "explore", "--override-in", "own"], "only a part can be copied"),
        (["glob", "--set", "A=b"], "--preset and --set are for 'show agent NAME' and 'show reminder NAME'"),
        (["preset", "coder", "--set", "A=b"], "--set is for agents and reminders"),
        (["agent", "explore", "--preset", "coder", "--set", "A"], "--set A: write NAME=VALUE"),
        (["glob", "--replace-in", "pilot"], "--replace-in needs --parts DIR, the folder of your presets"),
    ],
)
def test_wrong_usage_of_rendering(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that would be ignored are wrong usage."""
    with pytest.raises(SystemExit) as ended:
        main(["show", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_replace(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A part is copied into an extension with a record of what it replaces; recorded again, it is not overwritten."""
    replace = ["show", "git", "--parts", "prompts", "--replace-in", "pilot"]
    theirs = bundled().text("coder", "1.0.0", "git")
    assert main(replace) == 0
    assert (mine / "git.md").read_text() == theirs
    assert (mine / "overrides.toml").read_text() == f'"git" = "{sha256_hex(theirs)}"\n'
    assert "add { replace = 'git' } to the changes in preset.toml" in capsys.readouterr().err
    (mine / "preset.toml").write_text(PRESET.replace("changes = [", 'changes = [{ replace = "git" }, '))
    (mine / "git.md").write_text("Mine.\n")
    (mine / "overrides.toml").write_text('git = "0000"\nother = "1"\n')
    (note,) = load_preset("pilot", "prompts").compose().notes
    assert "has changed since" in note.detail
    assert main(replace) == 0
    assert (mine / "git.md").read_text() == "Mine.\n"
    assert (mine / "overrides.toml").read_text() == f'other = "1"\n"git" = "{sha256_hex(theirs)}"\n'
    assert load_preset("pilot", "prompts").compose().notes == ()


def test_nothing_to_replace(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A part that the extended preset does not have, or a preset that extends none, is an error."""
    assert main(["show", "gitt", "--parts", "prompts", "--replace-in", "pilot"]) == 1
    assert "coder@1.0.0 has no part 'gitt'; did you mean git" in capsys.readouterr().err
    (mine / "preset.toml").write_text('format = 1\nrows = [{ part = "house" }]\n')
    assert main(["show", "git", "--parts", "prompts", "--replace-in", "pilot"]) == 1
    assert "pilot@1.0.0 extends no preset" in capsys.readouterr().err
