"""`deepprompt build --preset`: what the options of a preset choose, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepprompt import BASE_PROMPT_V1, DYNAMIC_CONTEXT_BOUNDARY, bundled, estimate_tokens, load_preset
from deepprompt.cli import main
from deepprompt.commands.build.preset import DEFAULT
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

SKILL = "---\nname: a\ndescription: Does it.\n---\n# Alpha\nDo it.\n"
VERSION = ("claude_code", "2.1.37")
PRESET = ("--preset", "claude_code@2.1.37")
YOURS = "; if it is your own, name the folder that it is in (--parts)"
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
    "base": (
        [*PRESET, "--base", "1.0.0"],
        "--preset claude_code@2.1.37 has its own version: write --preset NAME@VERSION",
    ),
    "custom-and-flag": (
        ["--custom-file", "f", "--flag", "x"],
        "--custom-file is printed as it is: --flag cannot change it",
    ),
    "custom-and-append": (
        [*PRESET, "--custom-file", "f", "--append", "x"],
        "--custom-file is printed as it is: --append and --append-file cannot add to it",
    ),
    "set": (["--set", "TEAM"], "--set TEAM: write NAME=VALUE"),
    "list": (["--list", "servers"], "--list servers: write NAME=FILE"),
    "environment-last": (
        ["--environment-last"],
        "--environment-last is for presets without a boundary; deepseek@1.2.0 has one",
    ),
    "parts": (
        ["--parts", "x"],
        "--parts needs --preset NAME or --base FAMILY@VERSION, to say what to take",
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
    @pytest.mark.parametrize("preset", ["claude_code@2.1.37", "claude_code==2.1.37"])
    def test_version(self, preset: str, capsysbinary: CaptureBytes) -> None:
        """A preset can be asked for by its version."""
        assert main(["build", "--preset", preset, "--quiet"]) == 0
        assert capsysbinary.readouterr().out.decode() == build(capsysbinary)

    def test_deepseek(self, capsysbinary: CaptureBytes) -> None:
        """Without a preset, `build` takes the newest `deepseek`. 1.1.0 begins with the bytes of 1.0.0."""
        printed = []
        for options in ([], ["--preset", "deepseek"], ["--preset", "deepseek@1.0.0"], ["--preset", "deepseek@1.1.0"]):
            assert main(["build", "--no-project", *options]) == 0
            printed.append(capsysbinary.readouterr().out)
        assert printed[0] == printed[1]
        base = printed[2].partition(b"\n=== DYNAMIC CONTEXT")[0]
        assert base == BASE_PROMPT_V1.encode()
        assert printed[3].startswith(base + b"\n# Security\n")
        assert printed[0].startswith(bundled().text("base", "1.1.0", "identity").encode())

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


class TestRepository:
    """`--preset claude_code` in a repository."""

    def test_everything_of_the_folder(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """Instruction files, skills, boundary, branch, status and diff are there; facts stand behind the boundary."""
        lay_out(folder, {"AGENTS.md": "Be kind.", ".agents/skills/a/SKILL.md": SKILL, "sub/CLAUDE.md": "Sub rules."})
        own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for command in (["init", "-q", "-b", "trunk"], ["add", "style.txt"], [*own, "commit", "-qm", "x"]):
            subprocess.run(["git", *command], check=True, capture_output=True)
        options = ["build", "--preset", "claude_code@2.1.37.post1", "--quiet", "--json", "--claude-md", "--cwd", "sub"]
        lay_out(folder, {"sub/AGENTS.md": "Be kind.", "sub/.agents/skills/a/SKILL.md": SKILL})
        assert main([*options, "--tool", "Glob"]) == 0
        found = json.loads(capsysbinary.readouterr().out)
        prefix, _, suffix = found["text"].partition(DYNAMIC_CONTEXT_BOUNDARY)
        assert names(found)[-5:] == ["skills", "boundary", "project", "git status", "git diff"]
        assert "Be kind." in prefix
        assert "a | Does it. | " in prefix
        assert "[sub/CLAUDE.md]\nSub rules.\n\n[CLAUDE.md]\nRules of the house." in prefix
        shown = [f"[{folder}/AGENTS.md]", f"[{folder}/sub/AGENTS.md]"]  # from the top to the folder, nearest last
        assert [line for line in prefix.splitlines() if str(folder) in line] == shown
        assert f"- cwd: {folder}/sub\n- date: " in suffix
        assert "- branch: trunk\n" in suffix
        assert "\n## Git status\n" in suffix


class TestOwnPreset:
    """Presets of the user's, with everything that they declare."""

    PILOT = """
format = 1
rows = [
  { part = "one" },
  { text = "${TEAM}", name = "team", when = "dry_run" },
  { each = "servers", item = "server" },
  { boundary = true },
  { slot = "project" },
]
[flags]
dry_run = "nothing is written"
[variables]
TEAM = { about = "who decides", pace = "release" }
[lists]
servers = { fields = ["NAME"] }
"""

    def test_flags_variables_and_lists(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """`--flag`, `--set` and `--list` give what the preset declares; instruction files and the project are there."""
        lay_out(tmp_path, {
            "own/pilot/1.0/preset.toml": self.PILOT, "own/pilot/1.0/one.md": "One.\n",
            "own/pilot/1.0/server.md": "- ${NAME}\n", "servers.json": '[{"NAME": "web"}]',
        })  # fmt: skip
        options = ["--preset", "pilot", "--parts", str(tmp_path / "own"), "--flag", "dry_run", "--set", "TEAM=us=we"]
        assert main(["build", *options, "--list", f"servers={tmp_path}/servers.json", "--no-git"]) == 0
        text = capsysbinary.readouterr().out.decode()
        assert text.startswith(f"One.\n\nus=we\n\n- web{DYNAMIC_CONTEXT_BOUNDARY}\n## Project\n- cwd: ")
        assert main(["build", *options[:-2], "--flag", "wet"]) == 1
        assert capsysbinary.readouterr().err.decode().splitlines() == [  # each problem on a line of its own
            "deepprompt: preset pilot@1.0: no flag 'wet'; there are: dry_run",
            "deepprompt: preset pilot@1.0: part 'team' needs a value for TEAM",
        ]

    def test_base_file(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A base of the user's replaces the wording of any preset, and what was given stays."""
        lay_out(folder, {"base": "Mine."})
        assert names(report(capsysbinary, "--base-file", "base", "--append", "x")) == ["base", "append"]

    def test_custom_keeps_the_tools(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A custom prompt is sent with the tools."""
        lay_out(folder, {"custom": "Mine."})
        assert [tool["name"] for tool in report(capsysbinary, "--custom-file", "custom", "--tool", "Bash")["tools"]]

    def test_nothing_is_dropped_without_a_note(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A tool that nobody knows, and what no row shows, is noted."""
        lay_out(folder, {"AGENTS.md": "Be kind."})
        assert main(["build", "--tool", "Nonsense", "--output-style-file", "style.txt", "--no-git"]) == 0
        assert capsysbinary.readouterr().err.decode().splitlines() == [
            "deepprompt: kept: tool Nonsense: deepseek@1.2.0 has no such tool: your program has to define it",
            "deepprompt: skipped: output style: no row of deepseek@1.2.0 shows this",
        ]
        assert main(["build", *PRESET]) == 0
        assert "deepprompt: skipped: instruction files: no row of " in capsysbinary.readouterr().err.decode()


class TestReport:
    """`--json` and the notes."""

    def test_conditions(self, capsysbinary: CaptureBytes) -> None:
        """The report has every part of the table, its condition, and whether it is in."""
        found = report(capsysbinary, "--tool", "Edit", "--sessions")
        assert [row["part"] for row in found["conditions"] if row["in"] and row["part"] != "append"] == names(found)
        conditions = {row["part"]: (row["condition"], row["why"]) for row in found["conditions"]}
        assert conditions["main"] == ("always", "always")
        assert conditions["search_replace"] == ("tool:FileEdit", "tool:FileEdit is on")
        assert conditions["todo"] == ("tool:TodoWrite", "tool:TodoWrite is off")

    def test_output_style_changes_the_main_prompt(self, capsysbinary: CaptureBytes) -> None:
        """The main prompt's clause is one of two."""
        assert "Output Style" in build(capsysbinary, "--output-style-file", "style.txt").partition("\n")[0]
        assert "Output Style" not in build(capsysbinary).partition("\n")[0]

    def test_tools(self, capsysbinary: CaptureBytes) -> None:
        """The report has the definitions of the enabled tools, without which the prompt is half of what is sent."""
        assert [tool["name"] for tool in report(capsysbinary, "--tool", "Edit")["tools"]] == ["Edit"]

    def test_near_miss(self, capsysbinary: CaptureBytes) -> None:
        """A near miss of a tool's name is said on standard error."""
        assert main(["build", *PRESET, "--tool", "glob"]) == 0
        detail = "claude_code@2.1.37 has no such tool: your program has to define it; did you mean 'Glob'?"
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
        assert message == f"no preset named {preset!r}; there are: claude_code, coder, deepseek{YOURS}"

    def test_unknown_preset_beside_a_custom_file(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A misspelt preset is an error even where a custom file replaces its prompt."""
        lay_out(folder, {"custom": "x"})
        message = failure(capsysbinary, "--preset", "nope", "--custom-file", "custom")
        assert message == f"no preset named 'nope'; there are: claude_code, coder, deepseek{YOURS}"

    @pytest.mark.parametrize(
        ("preset", "message"),
        [
            ("claude_code@9", "no version of claude_code is 9; there are: 2.1.37, 2.1.37.post1, 2.1.37.post2"),
            (
                "claude_code~=3.0",
                "no version of claude_code meets ~=3.0; there are: 2.1.37, 2.1.37.post1, 2.1.37.post2",
            ),
            ("claude_code@", "cannot read 'claude_code@'; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION"),
            ("deepseek@9", "no version of deepseek is 9; there are: 1.0.0, 1.1.0, 1.2.0"),
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
        assert message.startswith("preset claude_code@2.1.37: part 'verify' needs a value for README_URL, CWDD; ")

    def test_configurations_are_equal_by_content(self) -> None:
        """A configuration is a value: made of a list or of a tuple it is the same, and can be hashed."""
        lists = PromptAssemblyConfig(enabled_tools=["Glob"], mcp_servers=[McpServer("a")])
        tuples = PromptAssemblyConfig(enabled_tools=("Glob",), mcp_servers=(McpServer("a"),))
        assert lists == tuples
        assert hash(lists) == hash(tuples)


def test_the_default_is_the_newest() -> None:
    """The preset that is built without a name is the newest `deepseek`."""
    assert load_preset("deepseek").name == DEFAULT


def test_the_words_of_the_options_are_those_of_the_types() -> None:
    """The command line repeats the words of two types, as importing the types would slow every start."""
    assert get_args(Order) == tuple(load_preset("claude_code@2.1.37").orders)
    assert get_args(Target) == TARGETS
