"""`deepprompt build --preset`: what the options of a preset choose, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepprompt import DYNAMIC_CONTEXT_BOUNDARY, bundled, estimate_tokens
from deepprompt.catalog import from_folder
from deepprompt.cli import main
from deepprompt.commands.build.options import ORDERS
from deepprompt.providers import TARGETS
from deepprompt.systems.preset import (
    McpServer,
    PromptAssemblyConfig,
    SlashCommand,
    compose_system_prompt,
)
from deepprompt.words import Order, Target
from tests.support.examples import examples
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

VERSION = ("claude_code", "2.1.37")
PRESET = ("--preset", "claude_code")
ALWAYS = [
    "main", "censoring", "environment", "conversational_style", "proactive", "conventions", "tool_formatting",
    "verify", "no_litter", "large_files", "file_read_limits",
]  # fmt: skip

# Options, then the part that they bring in and the one that it comes after.
OPTIONAL = {
    "sessions": (["--sessions"], "past_sessions", "environment"),
    "memory": (["--memory"], "agent_memory", "environment"),
    "glob": (["--tool", "Glob"], "glob", "environment"),
    "grep": (["--tool", "Grep"], "grep", "environment"),
    "edit": (["--tool", "FileEdit"], "search_replace", "environment"),
    "edit-by-its-other-name": (["--tool", "Edit"], "search_replace", "environment"),
    "todo": (["--tool", "TodoWrite"], "todo", "environment"),
    "mcp": (["--mcp", "db"], "mcp_servers", "environment"),
    "slash-command": (["--slash-command", "deploy"], "slash_commands", "environment"),
    "claude-md": (["--claude-md"], "claude_md", "file_read_limits"),
    "output-style": (["--output-style-file", "style.txt"], "output_style", "file_read_limits"),
    "append": (["--append", "More."], "append", "file_read_limits"),
}

USAGE = {
    "base": ([*PRESET, "--base", "1.0.0"], "--base and --base-file do not go with --preset claude_code"),
    "base-file": ([*PRESET, "--base-file", "f"], "--base and --base-file do not go with --preset claude_code"),
    "custom-and-append": (
        [*PRESET, "--custom-file", "f", "--append", "x"],
        "--custom-file is printed as it is: --append and --append-file cannot add to it",
    ),
    "tool": (["--tool", "Glob"], "--tool needs --preset claude_code"),
    "mcp": (["--mcp", "x"], "--mcp needs --preset claude_code"),
    "slash-command": (["--slash-command", "x"], "--slash-command needs --preset claude_code"),
    "sessions": (["--sessions"], "--sessions needs --preset claude_code"),
    "memory": (["--memory"], "--memory needs --preset claude_code"),
    "claude-md": (["--claude-md"], "--claude-md needs --preset claude_code"),
    "output-style-file": (["--output-style-file", "f"], "--output-style-file needs --preset claude_code"),
    "environment-last": (["--environment-last"], "--environment-last needs --preset claude_code"),
    "max-tokens": (["--max-tokens", "5"], "--max-tokens needs --preset claude_code"),
    "max-tokens-of-nothing": (["--max-tokens", "0"], "--max-tokens needs --preset claude_code"),
    "order": (["--order", "catalog"], "--order needs --preset claude_code"),
    "deepseek": (["--preset", "deepseek", "--tool", "Glob"], "--tool needs --preset claude_code"),
    "parts": (
        ["--preset", "deepseek", "--parts", "x"],
        "--parts needs --base FAMILY@VERSION, to say which parts to take from the folder",
    ),
    "empty-preset": (["--preset", ""], "argument --preset: is empty"),
    "number": ([*PRESET, "--max-tokens", "many"], "argument --max-tokens: invalid int value: 'many'"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project with a CLAUDE.md and a style the current folder, and an empty folder the user's home."""
    lay_out(tmp_path, {"project/CLAUDE.md": "Rules of the house.", "project/style.txt": "Rhyme.", "home/x": ""})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SHELL", "/bin/zsh")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def build(capture: CaptureBytes, *options: str) -> str:
    """Build the preset without failure, and return the prompt."""
    assert main(["build", *PRESET, "--quiet", *options]) == 0
    out, err = capture.readouterr()
    assert err == b""
    return out.decode()


def report(capture: CaptureBytes, *options: str) -> Any:
    """Build the preset without failure, and return the report."""
    return json.loads(build(capture, "--json", *options))


def failure(capture: CaptureBytes, *arguments: str) -> str:
    """Fail to build, and return the one line that is said about it."""
    assert main(["build", *arguments]) == 1
    out, err = capture.readouterr()
    assert (out, err.count(b"\n")) == (b"", 1)
    return err.decode().removeprefix("deepprompt: ").removesuffix("\n")


def names(found: Any) -> list[str]:
    """Return the names of a report's parts."""
    return [part["name"] for part in found["parts"]]


class TestParts:
    """What the options choose."""

    @pytest.mark.seed("004.2")
    def test_default(self, capsysbinary: CaptureBytes) -> None:
        """Without options only what is always there is in the prompt."""
        assert names(report(capsysbinary)) == ALWAYS

    @pytest.mark.seed("004.7")
    @pytest.mark.parametrize(("options", "part", "after"), OPTIONAL.values(), ids=OPTIONAL)
    def test_optional(self, options: list[str], part: str, after: str, capsysbinary: CaptureBytes) -> None:
        """An option brings in its part and no other, in its place."""
        expected = [*ALWAYS]
        expected.insert(ALWAYS.index(after) + 1, part)
        assert names(report(capsysbinary, *options)) == expected

    @pytest.mark.seed("004.8")
    def test_environment(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The folder, the system and the shell are those of the machine."""
        text = build(capsysbinary)
        assert f"\n- Working directory: {folder}\n" in text
        assert f"\n- Operating system: {os.uname().sysname.lower()}" in text
        assert "\n- Shell: /bin/zsh\n" in text

    def test_other_folder(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """`--cwd` is where the environment and the CLAUDE.md files come from."""
        lay_out(folder, {"sub/CLAUDE.md": "Sub rules."})
        text = build(capsysbinary, "--cwd", "sub", "--claude-md")
        assert f"\n- Working directory: {folder / 'sub'}\n" in text
        assert text.endswith("\n\nSub rules.")

    @pytest.mark.seed("004.15")
    def test_values(self, capsysbinary: CaptureBytes) -> None:
        """Servers, commands, style, instructions and appended texts are in the prompt, in that order."""
        text = build(
            capsysbinary, "--append", "One.", "--append", "", "--append-file", "style.txt", "--output-style-file",
            "style.txt", "--claude-md", "--slash-command", "/ship=Ship it=now", "--slash-command", "a", "--mcp", "db",
        )  # fmt: skip
        places = [text.index(wanted) for wanted in ("## db", "- /a\n- /ship: Ship it=now\n", "Rules of the house.")]
        assert places == sorted(places)
        assert text.endswith("\n\nRhyme.\n\nOne.\n\nRhyme.")

    def test_tool_descriptions_stay_out(self, capsysbinary: CaptureBytes) -> None:
        """No tool's description is in the prompt, whatever tools are enabled."""
        tools = [name.removeprefix("tools/") for name in bundled().names(*VERSION) if name.startswith("tools/")]
        text = build(capsysbinary, *(option for tool in tools for option in ("--tool", tool)))
        for tool in tools:
            assert bundled().text(*VERSION, f"tools/{tool}").strip() not in text

    def test_catalogue_order(self, capsysbinary: CaptureBytes) -> None:
        """`--order catalog` is the seed's table."""
        found = names(report(capsysbinary, "--order", "catalog", "--tool", "Glob", "--append", "x"))
        assert found == [
            "main", "censoring", "conversational_style", "no_litter", "environment", "file_read_limits", "glob",
            "large_files", "proactive", "conventions", "tool_formatting", "verify", "append",
        ]  # fmt: skip

    def test_environment_last(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """`--environment-last` puts the environment alone behind the boundary, so that the prefix is shared."""
        found = report(capsysbinary, "--environment-last", "--append", "=== DYNAMIC CONTEXT", "--claude-md")
        assert names(found)[-2:] == ["boundary", "environment"]
        prefix, _, suffix = found["text"].partition(DYNAMIC_CONTEXT_BOUNDARY)
        assert str(folder) not in prefix
        assert str(folder) in suffix
        assert prefix.endswith("\n\n\\=== DYNAMIC CONTEXT")
        assert build(capsysbinary, "--environment-last", "--prefix-only", "--claude-md").endswith("Rules of the house.")

    @pytest.mark.seed("004.26")
    @pytest.mark.parametrize("preset", ["claude_code@2.1.37", "claude_code~=2.1", "claude_code==2.1.37"])
    def test_version(self, preset: str, capsysbinary: CaptureBytes) -> None:
        """A preset can be asked for by its version."""
        assert main(["build", "--preset", preset, "--quiet"]) == 0
        assert capsysbinary.readouterr().out.decode() == build(capsysbinary)

    def test_deepseek(self, capsysbinary: CaptureBytes) -> None:
        """The preset `deepseek` is what is built without one."""
        assert main(["build", "--no-project"]) == 0
        plain = capsysbinary.readouterr()
        assert main(["build", "--no-project", "--preset", "deepseek"]) == 0
        assert capsysbinary.readouterr() == plain

    def test_overrides(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """`--parts` replaces part by part, and the report says where each comes from."""
        parts = lay_out(tmp_path / "parts", {"claude_code/2.1.37/verify.md": "Verify.\n"})
        found = report(capsysbinary, "--parts", str(parts))
        origins = {part["name"]: part["origin"] for part in found["parts"]}
        assert origins.pop("verify") == f"{parts}:claude_code/2.1.37/verify.md"
        assert set(origins.values()) == {f"deepprompt:claude_code/2.1.37/{name}.md" for name in origins}
        assert "\n\nVerify.\n\n" in found["text"]

    @pytest.mark.seed("004.1")
    def test_custom(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A custom file is the whole prompt, one blank included."""
        lay_out(folder, {"custom": " "})
        assert build(capsysbinary, "--custom-file", "custom", "--tool", "Glob") == " "

    def test_servers_of_one_name(self) -> None:
        """Two servers that differ in their tools alone give the same bytes in either order."""
        servers = (McpServer("a", tools=("t",)), McpServer("a", tools=("u",)))
        one, other = (PromptAssemblyConfig(mcp_servers=order) for order in (servers, servers[::-1]))
        assert compose_system_prompt(one) == compose_system_prompt(other)

    @settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_order_given_does_not_matter(self, data: st.DataObject) -> None:
        """Tools, servers and commands in any order give the same bytes."""
        tools = st.lists(st.sampled_from(["Glob", "Edit", "FileEdit", "Bash", "mine", "mcp__a__b"]), max_size=6)
        servers = st.lists(
            st.builds(McpServer, st.sampled_from(["a", "b", "/a"]), st.sampled_from(["", "x"]),
                      st.lists(st.sampled_from(["t", "u"]), max_size=2).map(tuple)),
            max_size=4,
        )  # fmt: skip
        commands = st.lists(
            st.builds(SlashCommand, st.sampled_from(["a", "/a", "b"]), st.sampled_from(["", "x"])), max_size=4
        )
        given_tools, given_servers, given_commands = data.draw(tools), data.draw(servers), data.draw(commands)
        one = PromptAssemblyConfig(enabled_tools=given_tools, mcp_servers=given_servers, slash_commands=given_commands)
        other = PromptAssemblyConfig(
            enabled_tools=data.draw(st.permutations(given_tools)),
            mcp_servers=data.draw(st.permutations(given_servers)),
            slash_commands=data.draw(st.permutations(given_commands)),
        )
        assert compose_system_prompt(one) == compose_system_prompt(other)

    def test_appended_file(self, capsysbinary: CaptureBytes) -> None:
        """The origin of text that was appended from a file names the file, as it does without a preset."""
        assert report(capsysbinary, "--append-file", "style.txt")["parts"][-1]["origin"] == "file:style.txt"


class TestReport:
    """`--json` and the notes."""

    def test_conditions(self, capsysbinary: CaptureBytes) -> None:
        """The report has every part of the table, its condition, and whether it is in."""
        found = report(capsysbinary, "--tool", "Edit", "--sessions")
        table = bundled().table(*VERSION)
        assert [(row["part"], row["condition"], row["variable"]) for row in found["conditions"]] == [
            (row.part, row.condition, row.variable) for row in table
        ]
        chosen = [row["part"] for row in found["conditions"] if row["in"]]
        assert [name for name in chosen if name not in ("focus_engineering", "security_policy")] == names(found)

    def test_output_style_changes_the_main_prompt(self, capsysbinary: CaptureBytes) -> None:
        """The main prompt's clause is one of two, chosen by the table."""
        rows = report(capsysbinary, "--output-style-file", "style.txt")["conditions"]
        assert {row["part"]: row["in"] for row in rows if row["variable"] == "FOCUS"} == {
            "focus_style": True,
            "focus_engineering": False,
        }

    def test_tools(self, capsysbinary: CaptureBytes) -> None:
        """The report has the definitions of the enabled tools, without which the prompt is half of what is sent."""
        assert [tool["name"] for tool in report(capsysbinary, "--tool", "Edit")["tools"]] == ["Edit"]

    def test_no_conditions_elsewhere(self, capsysbinary: CaptureBytes) -> None:
        """A prompt that no table chose has no conditions in its report."""
        assert main(["build", "--json", "--no-project"]) == 0
        assert "conditions" not in json.loads(capsysbinary.readouterr().out)

    def test_near_miss(self, capsysbinary: CaptureBytes) -> None:
        """A near miss of a tool's name is said on standard error."""
        assert main(["build", *PRESET, "--tool", "glob"]) == 0
        detail = "taken for a tool of your own, which has no bundled text; did you mean 'Glob'?"
        assert f"deepprompt: kept: tool glob: {detail}\n" in capsysbinary.readouterr().err.decode()

    def test_pace(self, capsysbinary: CaptureBytes) -> None:
        """What the seed's place for the environment costs is said, and nothing where it is last."""
        assert main(["build", *PRESET]) == 0
        assert b"deepprompt: pace: environment: SESSION text here makes " in capsysbinary.readouterr().err
        assert main(["build", *PRESET, "--environment-last"]) == 0
        assert capsysbinary.readouterr().err == b""

    def test_claude_md_notes(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """What was refused while loading CLAUDE.md files is said."""
        (folder / "CLAUDE.local.md").symlink_to("/etc/hostname")
        assert main(["build", *PRESET, "--claude-md"]) == 0
        wanted = f"deepprompt: refused: {folder}/CLAUDE.local.md: leads out of its root\n"
        assert wanted in capsysbinary.readouterr().err.decode()

    @pytest.mark.parametrize(
        "options", [["--mcp", "a\nb"], ["--slash-command", "a\nb=c"], ["--slash-command", "a=b\nc"]]
    )
    def test_one_line_fields(self, options: list[str], capsysbinary: CaptureBytes) -> None:
        """A line break in a one-line field becomes a blank, and the notes say so."""
        found = report(capsysbinary, *options)
        details = [note["detail"] for note in found["notes"] if note["kind"] == "neutralised"]
        assert details == ["line breaks in a one-line field"]

    def test_not_utf8(self, capsysbinary: CaptureBytes) -> None:
        """Bytes that are not UTF-8 in an argument become U+FFFD, noted once."""
        found = report(capsysbinary, "--mcp", "a\udcff")
        assert "## a\ufffd" in found["text"]
        assert [note["source"] for note in found["notes"] if note["kind"] == "replaced"] == ["mcp"]

    def test_surrogates_are_noted_once(self) -> None:
        """A lone surrogate in a value is noted once, however many parts there are."""
        prompt = compose_system_prompt(PromptAssemblyConfig(cwd="/\ud800"))
        assert [note.source for note in prompt.notes if note.kind == "replaced"] == ["CWD"]


class TestBudget:
    """`--max-tokens`."""

    def test_at_the_limit(self, capsysbinary: CaptureBytes) -> None:
        """A prompt of just the limit is built; one token less and it fails with both numbers and the largest parts."""
        tokens = estimate_tokens(build(capsysbinary))
        assert build(capsysbinary, "--max-tokens", str(tokens))
        message = failure(capsysbinary, *PRESET, "--max-tokens", str(tokens - 1))
        start = f"the system prompt has {tokens} tokens, the budget is {tokens - 1}; largest parts: main "
        assert message.startswith(start)
        assert message.count(",") == 5

    def test_custom(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The budget covers a custom prompt too."""
        lay_out(folder, {"custom": "12345678"})
        assert build(capsysbinary, "--custom-file", "custom", "--max-tokens", "2") == "12345678"
        message = failure(capsysbinary, *PRESET, "--custom-file", "custom", "--max-tokens", "1")
        assert message == "the system prompt has 2 tokens, the budget is 1; largest parts: custom 2"


class TestRefused:
    """What cannot be built."""

    @pytest.mark.parametrize(("arguments", "message"), USAGE.values(), ids=USAGE)
    def test_usage(self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Options that contradict each other, or would be ignored, are wrong usage."""
        with pytest.raises(SystemExit) as caught:
            main(["build", *arguments])
        assert caught.value.code == 2
        assert capsys.readouterr().err.startswith(f"deepprompt build: error: {message}\n")

    @pytest.mark.seed("004.4")
    @pytest.mark.parametrize("preset", ["nope", "claude", "claude_codex", "deepseekx", "deepseek-v3", "Claude_Code"])
    def test_unknown_preset(self, preset: str, capsysbinary: CaptureBytes) -> None:
        """A preset that there is not is an error that lists those there are."""
        message = failure(capsysbinary, "--preset", preset)
        assert message == f"no preset named {preset!r}; there are: claude_code, deepseek"

    def test_unknown_preset_beside_a_custom_file(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A misspelt preset is an error even where a custom file replaces its prompt."""
        lay_out(folder, {"custom": "x"})
        message = failure(capsysbinary, "--preset", "nope", "--custom-file", "custom")
        assert message == "no preset named 'nope'; there are: claude_code, deepseek"

    @pytest.mark.parametrize(
        ("preset", "message"),
        [
            ("claude_code@9", "no version of claude_code is 9; there are: 2.1.37"),
            ("claude_code~=3.0", "no version of claude_code meets ~=3.0; there are: 2.1.37"),
            ("claude_code@", "cannot read 'claude_code@'; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION"),
            ("deepseek@9", "no version of base is 9; there are: 1.0.0"),
        ],
    )
    def test_unknown_version(self, preset: str, message: str, capsysbinary: CaptureBytes) -> None:
        """A version that a preset does not have is an error that lists those it has."""
        assert failure(capsysbinary, "--preset", preset) == message

    @pytest.mark.parametrize(
        ("option", "file", "message"),
        [
            ("--output-style-file", "gone", "gone: No such file or directory"),
            ("--output-style-file", "empty", "empty: is empty"),
            ("--append-file", "latin", "latin: not UTF-8 at byte 1; save it as UTF-8"),
            ("--parts", "gone", "no folder of parts at 'gone'"),
            ("--cwd", "gone", "--cwd gone: not a folder"),
        ],
    )
    def test_files(self, option: str, file: str, message: str, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A file or folder that cannot be used is an error that names it."""
        lay_out(folder, {"empty": "", "latin": b"a\xe9"})
        assert failure(capsysbinary, *PRESET, option, file) == message

    def test_variable(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """An override with a variable that has no value is an error that names the part and the variable."""
        parts = lay_out(tmp_path / "parts", {"claude_code/2.1.37/verify.md": "See ${README_URL}, ${CWDD}.\n"})
        message = failure(capsysbinary, *PRESET, "--parts", str(parts))
        assert (
            message == "part 'verify' needs a value for README_URL, CWDD; known: CWD, FOCUS, OS, SECURITY_POLICY, SHELL"
        )

    def test_unknown_condition(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: CaptureBytes
    ) -> None:
        """Conditions in the table that nothing answers are one error that names the parts and lists those known."""
        assets = lay_out(
            tmp_path / "assets",
            {"claude_code/2.1.37/preset.table": "a release !moon\nb release sun\n", "claude_code/2.1.37/a.md": "A.\n"},
        )
        monkeypatch.setattr("deepprompt.systems.preset.bundled", lambda: from_folder(assets))
        known = "always, sessions, memory, mcp, slash_commands, claude_md, output_style, tool:NAME"
        assert (
            failure(capsysbinary, *PRESET)
            == f"claude_code/2.1.37: part 'a' asks for 'moon', part 'b' asks for 'sun'; known: {known}"
        )

    def test_configurations_are_equal_by_content(self) -> None:
        """A configuration is a value: made of a list or of a tuple it is the same, and can be hashed."""
        lists = PromptAssemblyConfig(enabled_tools=["Glob"], mcp_servers=[McpServer("a")])
        tuples = PromptAssemblyConfig(enabled_tools=("Glob",), mcp_servers=(McpServer("a"),))
        assert lists == tuples
        assert hash(lists) == hash(tuples)


def test_the_words_of_the_options_are_those_of_the_types() -> None:
    """The command line repeats the words of two types, as importing the types would slow every start."""
    assert get_args(Order) == ORDERS
    assert get_args(Target) == TARGETS
