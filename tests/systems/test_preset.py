"""The preset catalogue: the specification's checklist, row by row, and whole prompts by snapshot."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    AgentDefinition,
    McpServer,
    Note,
    PromptAssemblyConfig,
    PromptVars,
    SlashCommand,
    SystemPromptConfig,
    assemble_subagent_prompt,
    assemble_system_prompt,
    bundled,
    compose_subagent_prompt,
    compose_system_prompt,
    estimate_tokens,
    from_folder,
    load_claude_md,
    tool_definitions,
)
from deepprompt.errors import AssetError, BudgetError, PresetError, UnknownPartError
from deepprompt.systems import preset as preset_module
from deepprompt.words import Order
from tests.support.layout import lay_out

MACHINE = {"cwd": "/srv/app", "os": "linux 6.9.1", "shell": "/bin/zsh"}
ALL_TOOLS = [
    "Bash", "Read", "Write", "Edit", "Glob", "Grep", "Agent", "WebSearch", "WebFetch", "TodoWrite", "NotebookEdit",
    "AskUserQuestion", "ListMcpResources", "ReadMcpResource", "Config",
]  # fmt: skip

# The parts that are always there, in the algorithm's order.
ALWAYS = [
    "main", "censoring", "environment", "conversational_style", "proactive", "conventions", "tool_formatting", "verify",
    "no_litter", "large_files", "file_read_limits",
]  # fmt: skip

# The seed's catalogue, section 3.1, in its order; the security policy is inside `main`.
CATALOG = [
    "main", "past_sessions", "agent_memory", "censoring", "claude_md", "conversational_style", "slash_commands",
    "no_litter", "environment", "file_read_limits", "glob", "grep", "large_files", "mcp_servers", "proactive",
    "conventions", "search_replace", "todo", "tool_formatting", "verify",
]  # fmt: skip
ALGORITHM = [
    "main", "censoring", "environment", "past_sessions", "agent_memory", "glob", "grep", "search_replace", "todo",
    "mcp_servers", "slash_commands", "conversational_style", "proactive", "conventions", "tool_formatting", "verify",
    "no_litter", "large_files", "file_read_limits", "claude_md",
]  # fmt: skip

EVERYTHING = PromptAssemblyConfig(
    system_prompt=SystemPromptConfig(preset="claude_code", append="Speak up when you are unsure."),
    enabled_tools=ALL_TOOLS,
    sessions_enabled=True,
    memory_enabled=True,
    mcp_servers=[McpServer("tickets", "Ask before closing a ticket.", ("list", "close")), McpServer("docs")],
    slash_commands=[SlashCommand("/ship", "Build and release"), SlashCommand("clean")],
    claude_md_content="Run `make test` before you commit.",
    output_style="Answer in rhymes.",
    cwd="/srv/app",
    os="linux 6.9.1",
    shell="/bin/zsh",
)


def names(config: PromptAssemblyConfig, order: Order = "algorithm") -> list[str]:
    """The names of a prompt's parts."""
    return [part.name for part in compose_system_prompt(config, order).parts]


def of(**fields: object) -> PromptAssemblyConfig:
    """A configuration on the usual machine."""
    return PromptAssemblyConfig(**(MACHINE | fields))  # type: ignore[arg-type]


class TestChecklist:
    """The seed's verification checklist, each row under its own name."""

    @pytest.mark.seed("004.5")
    def test_part_ordering(self) -> None:
        """Part ordering: the algorithm's order by default, the catalogue's as a choice, the rest after it."""
        assert names(EVERYTHING) == [*ALGORITHM, "output_style", "append"]
        assert names(EVERYTHING, "catalog") == [*CATALOG, "output_style", "append"]

    @pytest.mark.seed("004.7")
    @pytest.mark.parametrize(
        ("fields", "part"),
        [
            ({"enabled_tools": ["Glob"]}, "glob"),
            ({"enabled_tools": ["Grep"]}, "grep"),
            ({"enabled_tools": ["FileEdit"]}, "search_replace"),
            ({"enabled_tools": ["Edit"]}, "search_replace"),
            ({"enabled_tools": ["TodoWrite"]}, "todo"),
            ({"sessions_enabled": True}, "past_sessions"),
            ({"memory_enabled": True}, "agent_memory"),
            ({"mcp_servers": [McpServer("a")]}, "mcp_servers"),
            ({"slash_commands": [SlashCommand("a")]}, "slash_commands"),
            ({"claude_md_content": "a"}, "claude_md"),
            ({"output_style": "a"}, "output_style"),
        ],
    )
    def test_conditional_inclusion(self, fields: dict[str, object], part: str) -> None:
        """Conditional inclusion: a conditional part is there when its condition holds, and leaves nothing otherwise."""
        assert names(of()) == ALWAYS
        assert set(names(of(**fields))) - set(ALWAYS) == {part}

    @pytest.mark.seed("004.17")
    def test_interpolation(self) -> None:
        """Interpolation: every variable resolves, once, whatever its value looks like."""
        text = assemble_system_prompt(of(claude_md_content="Literal ${CWD} and ${NOPE}.", output_style="${SHELL}"))
        assert "- Working directory: /srv/app\n" in text
        assert "Literal ${CWD} and ${NOPE}." in text
        assert text.endswith("${SHELL}")
        assert re.findall(r"\$\{.*?\}", assemble_system_prompt(EVERYTHING)) == []

    def test_claude_md_hierarchy(self, tmp_path: Path) -> None:
        """CLAUDE.md hierarchy: the folder's own three files come first, then each parent's up to the root."""
        top = tmp_path / "top"
        below = top / "a" / "b"
        (below / ".claude").mkdir(parents=True)
        (top / ".git").mkdir()
        for path, text in {
            "CLAUDE.md": "top", "a/CLAUDE.md": "middle", "a/b/CLAUDE.md": "own", "a/b/.claude/CLAUDE.md": "hidden",
            "a/b/CLAUDE.local.md": "local", "a/CLAUDE.local.md": "not this",
        }.items():  # fmt: skip
            (top / path).write_text(text)
        (tmp_path / "CLAUDE.md").write_text("above the top")
        assert load_claude_md(below) == "\n\n---\n\n".join(["own", "hidden", "local", "middle", "top"])

    @pytest.mark.seed("004.24")
    def test_token_budget(self) -> None:
        """Token budget: at the limit it passes; one over fails with both numbers and the largest parts."""
        tokens = estimate_tokens(assemble_system_prompt(of()))
        assert assemble_system_prompt(of(max_system_prompt_tokens=tokens))
        with pytest.raises(BudgetError, match=f"has {tokens} tokens, the budget is {tokens - 1}; largest parts: main "):
            assemble_system_prompt(of(max_system_prompt_tokens=tokens - 1))
        custom = of(system_prompt=SystemPromptConfig(custom="12345678"), max_system_prompt_tokens=1)
        with pytest.raises(BudgetError, match="has 2 tokens, the budget is 1; largest parts: custom 2"):
            assemble_system_prompt(custom)

    @pytest.mark.parametrize("custom", ["You are mine.", " ", "\n", "x\r\n", "${NOPE}", DYNAMIC_CONTEXT_BOUNDARY])
    def test_custom_override(self, custom: str) -> None:
        """Custom override: custom text is returned byte for byte, nothing added, whatever else is configured."""
        own = SystemPromptConfig(custom=custom, preset="claude_code", append="no")
        assert assemble_system_prompt(of(system_prompt=own, enabled_tools=ALL_TOOLS, claude_md_content="no")) == custom

    @pytest.mark.parametrize("append", ["Be kind.", " \n", "${CWD}", DYNAMIC_CONTEXT_BOUNDARY])
    def test_preset_plus_append(self, append: str) -> None:
        """Preset + append: the appended text comes last, verbatim, after a blank line."""
        plain = assemble_system_prompt(of())
        own = SystemPromptConfig(preset="claude_code", append=append)
        assert assemble_system_prompt(of(system_prompt=own)) == f"{plain}\n\n{append}"

    def test_subagent_isolation(self) -> None:
        """Subagent isolation: the parent's CLAUDE.md is in a subagent's prompt only when it is asked for."""
        agent = AgentDefinition("You look things up.")
        assert "make test" not in assemble_subagent_prompt(agent, EVERYTHING)
        assert "make test" in assemble_subagent_prompt(agent, EVERYTHING, include_claude_md=True)

    @pytest.mark.seed("004.14")
    def test_mcp_docs(self) -> None:
        """MCP docs: each connected server is named with its tools and instructions, sorted by name."""
        text = assemble_system_prompt(EVERYTHING)
        assert "## docs\n\n## tickets\n\nTools: close, list\n\nAsk before closing a ticket.\n\n# " in text

    @pytest.mark.seed("004.16")
    def test_output_style(self) -> None:
        """Output style: it chooses the main prompt's clause, and its text stands in a section of its own."""
        plain, styled = assemble_system_prompt(of()), assemble_system_prompt(of(output_style="Rhyme."))
        assert "software engineering." in plain.partition("\n")[0]
        assert '"Output Style" section below' in styled.partition("\n")[0]
        assert styled.endswith("\n\nRhyme.")
        assert assemble_system_prompt(of(vars=PromptVars(output_style_config="Rhyme."))) == styled

    def test_version_pinning(self) -> None:
        """Version pinning: the prompt comes from the upstream version that the catalogue is aligned with."""
        origins = {part.origin.rpartition("/")[0] for part in compose_system_prompt(of()).parts}
        assert origins == {"deepprompt:claude_code/2.1.37"}
        asked = of(system_prompt=SystemPromptConfig(preset="claude_code==2.1.37"))
        assert assemble_system_prompt(asked) == assemble_system_prompt(of())


class TestRules:
    """What the specification's text says beside its checklist."""

    @pytest.mark.seed("004.13")
    def test_security_policy_is_there_once(self) -> None:
        """The security policy enters through the main prompt's variable, exactly once; the censoring policy is next."""
        text = assemble_system_prompt(EVERYTHING)
        assert text.count(bundled().text("claude_code", "2.1.37", "security_policy").strip()) == 1
        assert names(EVERYTHING)[:2] == ["main", "censoring"]

    def test_security_policy_of_the_caller(self) -> None:
        """A security policy of the caller's replaces the bundled one in the main prompt."""
        text = assemble_system_prompt(of(vars=PromptVars(security_policy="Our policy.")))
        assert "\n\nOur policy.\n\n" in text
        assert bundled().text("claude_code", "2.1.37", "security_policy").strip() not in text

    @pytest.mark.seed("004.9")
    def test_tool_descriptions_are_not_in_the_system_prompt(self) -> None:
        """Tool descriptions go into the tools array and never into the system prompt."""
        prompt = compose_system_prompt(EVERYTHING)
        assert list(prompt.tools) == tool_definitions(ALL_TOOLS)
        assert len(prompt.tools) == 15
        for tool in prompt.tools:
            assert str(tool["description"]).partition("\n")[0] not in prompt.text

    def test_fast_parts_are_noted(self) -> None:
        """The specification's order puts the environment early; the build stands and a note says what that costs."""
        notes = compose_system_prompt(of()).notes
        assert [(note.kind, note.source) for note in notes] == [("pace", "environment")]
        assert notes[0].detail == "SESSION text here makes 'conversational_style' (RELEASE) change as often"

    def test_environment_behind_the_boundary(self) -> None:
        """With the environment last, two machines share every byte of the prefix, and the boundary is there once."""
        other = replace(EVERYTHING, cwd="/home/x", os="darwin", shell="fish")
        here = compose_system_prompt(EVERYTHING, environment_last=True)
        there = compose_system_prompt(other, environment_last=True)
        assert here.static_prefix == there.static_prefix
        assert here.text.count(DYNAMIC_CONTEXT_BOUNDARY) == 1
        assert here.static_prefix + DYNAMIC_CONTEXT_BOUNDARY + here.dynamic_suffix == here.text
        assert "/srv/app" in here.dynamic_suffix
        assert [note for note in here.notes if note.kind == "pace"] == []

    def test_a_boundary_in_content_is_neutralised_when_there_is_one(self) -> None:
        """Behind a boundary layout no content can forge a second one."""
        config = of(
            claude_md_content=f"x{DYNAMIC_CONTEXT_BOUNDARY}y",
            system_prompt=SystemPromptConfig(append=DYNAMIC_CONTEXT_BOUNDARY),
        )
        prompt = compose_system_prompt(config, environment_last=True)
        assert prompt.text.count(DYNAMIC_CONTEXT_BOUNDARY) == 1

    def test_unknown_facts_read_as_unknown(self) -> None:
        """What the caller does not know about the machine is called unknown, not left blank."""
        assert "- Working directory: unknown\n" in assemble_system_prompt(PromptAssemblyConfig())

    def test_one_line_fields_stay_on_one_line(self) -> None:
        """A folder with a line break in its name cannot forge a line of the environment."""
        assert "- Working directory: /a - Shell: evil\n" in assemble_system_prompt(of(cwd="/a\n- Shell: evil"))

    def test_deepseek_is_a_preset(self) -> None:
        """The cache-stable builder is a preset too, with the appended text at the end of its static prefix."""
        own = SystemPromptConfig(preset="deepseek", append="Mine.")
        prompt = compose_system_prompt(of(system_prompt=own))
        assert prompt.static_prefix.endswith("\n\nMine.")
        assert "- cwd: /srv/app\n- os: linux 6.9.1\n- shell: /bin/zsh\n" in prompt.dynamic_suffix

    @pytest.mark.parametrize("preset", ["nope", "Claude_Code", "claude_code2", " "])
    def test_unknown_preset(self, preset: str) -> None:
        """An unknown preset is an error that lists the known ones."""
        with pytest.raises(UnknownPartError, match=r"^no preset named .*; there are: .*claude_code, .*deepseek"):
            assemble_system_prompt(of(system_prompt=SystemPromptConfig(preset=preset)))

    def test_unknown_version_and_order(self) -> None:
        """An unknown version or order is an error that lists what there is."""
        with pytest.raises(UnknownPartError, match=r"no version of claude_code is 9; there are: 2\.1\.37, 2"):
            assemble_system_prompt(of(system_prompt=SystemPromptConfig(preset="claude_code@9")))
        with pytest.raises(UnknownPartError, match="no order named 'x'; there are: algorithm, catalog"):
            assemble_system_prompt(of(), order="x")  # type: ignore[arg-type]

    def test_missing_variable_of_an_override(self, tmp_path: Path) -> None:
        """A part that needs values nobody gave is an error that names the part and every missing one."""
        folder = tmp_path / "claude_code" / "2.1.37"
        folder.mkdir(parents=True)
        (folder / "verify.md").write_text("See ${README_URL}, ${BUILD_TIME} and ${README_URLS}.\n")
        with pytest.raises(PresetError, match="part 'verify' needs a value for README_URL, BUILD_TIME, README_URLS"):
            compose_system_prompt(of(), overrides=from_folder(tmp_path))
        (folder / "verify.md").write_text("See ${README_URL}.\n")
        given_url = of(vars=PromptVars(readme_url="the manual"))
        assert "\n\nSee the manual.\n\n" in compose_system_prompt(given_url, overrides=from_folder(tmp_path)).text

    def test_an_override_that_is_not_utf8_is_refused(self, tmp_path: Path) -> None:
        """A part file with invalid UTF-8 is an error, not a prompt."""
        folder = tmp_path / "claude_code" / "2.1.37"
        folder.mkdir(parents=True)
        (folder / "verify.md").write_bytes(b"\xff")
        with pytest.raises(AssetError, match=r"claude_code/2\.1\.37/verify\.md: not UTF-8 at byte 0"):
            compose_system_prompt(of(), overrides=from_folder(tmp_path))


words = st.text(max_size=20)


@given(
    tools=st.lists(st.sampled_from([*ALL_TOOLS, "FileEdit", "mcp__x__y", "own"]), max_size=6),
    servers=st.lists(st.builds(McpServer, words, words, st.lists(words, max_size=2).map(tuple)), max_size=3),
    commands=st.lists(st.builds(SlashCommand, words, words), max_size=3),
    claude_md=words,
    style=words,
    cwd=words,
)
def test_same_input_same_bytes(
    tools: list[str], servers: list[McpServer], commands: list[SlashCommand], claude_md: str, style: str, cwd: str
) -> None:
    """The order in which tools, servers and commands are given changes no byte, and every result encodes."""
    config = {"claude_md_content": claude_md, "output_style": style, "cwd": cwd}
    one = of(enabled_tools=tools, mcp_servers=servers, slash_commands=commands, **config)
    two = of(enabled_tools=set(tools), mcp_servers=servers[::-1], slash_commands=commands[::-1], **config)
    first, second = compose_system_prompt(one), compose_system_prompt(two)
    assert first.text == second.text
    assert first.tools == second.tools
    first.text.encode()
    assert "".join(part.text for part in first.parts) == first.text


def test_default(prompt_file: SnapshotAssertion) -> None:
    """The default prompt with the usual tools."""
    config = of(enabled_tools=["Bash", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite"])
    assert assemble_system_prompt(config).encode() == prompt_file


def test_all_tools_on(prompt_file: SnapshotAssertion) -> None:
    """Every tool and feature on."""
    assert assemble_system_prompt(EVERYTHING).encode() == prompt_file


def test_nothing_optional(prompt_file: SnapshotAssertion) -> None:
    """Nothing that is optional."""
    assert assemble_system_prompt(of()).encode() == prompt_file


def test_custom(prompt_file: SnapshotAssertion) -> None:
    """A custom prompt."""
    own = SystemPromptConfig(custom="You are a careful\nassistant. ")
    assert assemble_system_prompt(of(system_prompt=own, enabled_tools=ALL_TOOLS)).encode() == prompt_file


@pytest.mark.seed("004.3")
def test_preset_plus_append(prompt_file: SnapshotAssertion) -> None:
    """The preset with appended text."""
    own = SystemPromptConfig(preset="claude_code", append="Our monorepo uses Bazel.\n")
    assert assemble_system_prompt(of(system_prompt=own)).encode() == prompt_file


def test_output_style(prompt_file: SnapshotAssertion) -> None:
    """The preset with an output style."""
    assert assemble_system_prompt(of(output_style="Explain every step to a student.")).encode() == prompt_file


def test_subagent_with_reminder_and_two_skills(prompt_file: SnapshotAssertion) -> None:
    """A subagent that must not forget something and starts with two skills."""
    agent = AgentDefinition("You review migrations.", "Never run one.", ("sql", "style"))
    skills = {"sql": "# SQL\nRead the plan first.", "style": "# Style\nBe brief."}
    assert assemble_subagent_prompt(agent, EVERYTHING, skills=skills).encode() == prompt_file


def test_catalog_order(prompt_file: SnapshotAssertion) -> None:
    """Everything in the catalogue's order."""
    assert assemble_system_prompt(EVERYTHING, order="catalog").encode() == prompt_file


def test_a_prompt_that_was_assembled_before_is_the_same() -> None:
    """A configuration that equals an earlier one gives the same text, and one that differs in any field does not."""
    config = PromptAssemblyConfig(cwd="/one", claude_md_content="# Rules\n")
    first = assemble_system_prompt(config)

    assert assemble_system_prompt(replace(config)) == first == compose_system_prompt(config).text
    assert assemble_system_prompt(replace(config, cwd="/two")) == first.replace("/one", "/two")
    assert assemble_system_prompt(config, "catalog") == compose_system_prompt(config, "catalog").text


def test_a_configuration_is_what_it_was_made_of() -> None:
    """A list that is changed afterwards changes no prompt: what is kept of a configuration stays true."""
    tools = ["find"]
    config = PromptAssemblyConfig(mcp_servers=[McpServer("search", tools=tools)])  # type: ignore[arg-type]
    assert "Tools: find\n" in assemble_system_prompt(config) + "\n"

    tools.append("read")

    assert "Tools: find\n" in assemble_system_prompt(config) + "\n"


def test_the_memory_of_prompts_is_bounded() -> None:
    """Only the last few prompts are kept."""
    for number in range(30):
        assemble_system_prompt(PromptAssemblyConfig(cwd=f"/{number}"))

    assert 0 < preset_module._assembled.cache_info().currsize <= 8


def test_what_was_noted_about_claude_md_is_in_the_prompt(tmp_path: Path) -> None:
    """The notes of `load_claude_md` arrive with its text, in an agent's prompt and in a subagent's."""
    lay_out(tmp_path, {"CLAUDE.md": b"Be kind.\xff\n", ".git/HEAD": ""})
    config = PromptAssemblyConfig(claude_md_content=load_claude_md(tmp_path))
    note = Note("replaced", str(tmp_path / "CLAUDE.md"), "bytes that are not UTF-8, by U+FFFD", 8)
    assert note in compose_system_prompt(config).notes
    agent = AgentDefinition("You review.")
    assert note in compose_subagent_prompt(agent, config, include_claude_md=True).notes
    assert note not in compose_subagent_prompt(agent, config).notes
