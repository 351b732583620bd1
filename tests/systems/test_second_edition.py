"""The second edition's wording: `claude_code` 2.1.37.post2, `coder` 1.1.0 and `deepseek` 1.2.0, as reviewed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from deepprompt import (
    McpServer,
    PromptAssemblyConfig,
    PromptVars,
    SlashCommand,
    Surroundings,
    SystemPromptConfig,
    compose_system_prompt,
    estimate_tokens,
    load_preset,
)
from deepprompt.catalog import bundled
from deepprompt.checks.lint.dp8_presets import find_in
from deepprompt.sources.instructions import InstructionFile, InstructionFiles
from deepprompt.sources.project import ProjectContext
from deepprompt.sources.skills import Skill, SkillStore
from deepprompt.systems.variables import variables_of
from tests.support.paths import ROOT

NAMES = ("claude_code@2.1.37.post2", "coder@1.1.0", "deepseek@1.2.0")
CATALOGUE = load_preset("claude_code@2.1.37.post2")
CODER = load_preset("coder@1.1.0")
FOLDERS = ("claude_code/2.1.37.post2", "coder/1.1.0", "base/1.1.0", "deepseek/1.2.0")
AROUND = Surroundings(
    instructions=InstructionFiles([InstructionFile("AGENTS.md", "# House rules\n\nRun `make test`.")]),
    skills=SkillStore(
        [Skill("release", "cuts a release", "direct", "0" * 64, (), "/srv", ".agents/skills/release/SKILL.md")]
    ),
    project=ProjectContext(cwd="/srv/shop", current_date="2026-11-18", os_name="linux", shell="bash"),
    claude_md="Use tabs.",
)
FLAGS = ["mode:ask", "reasoning:on", "new_project", "frontend", "review", "sandbox", "plan", "sessions", "memory"]
GIVEN = {
    "MEMORY": ".agent/notes.md",
    "TRANSCRIPTS": "~/.agent/sessions",
    "VERSION": "4.2.0",
    "BUILD_TIME": "2026-11-01",
    "PACKAGE_URL": "https://example.com/package",
    "README_URL": "https://example.com/docs",
    "ISSUES_EXPLAINER": "open an issue in the project's tracker",
    "FEEDBACK_CHANNEL": "the #agent channel",
}


def composed(name: str, *flags: str, tools: list[str] | None = None, **more: Any) -> str:
    """The text of a preset, with those flags that it has."""
    preset = load_preset(name)
    known = {f"{flag}:{value}" for flag, axis in preset.flags.items() if not isinstance(axis, str) for value in axis}
    chosen = [flag for flag in flags if flag in known | {*preset.flags}]
    return preset.compose(AROUND, flags=chosen, tools=tools or [], **more).text


def everything(name: str) -> str:
    """The text of a preset with everything on."""
    preset = load_preset(name)
    given = {key: value for key, value in GIVEN.items() if key in preset.variables}
    servers = [McpServer("tickets", "Ask before you close one.", tools=("close", "search"))]
    if not any(row.name == "mcp" for row in preset.rows):
        return composed(name, tools=[*preset.own_tools], append="The user's name is Ada.")
    return composed(
        name, *FLAGS, tools=[*preset.own_tools], variables=given, mcp=servers, commands=[SlashCommand("ship", "ships")],
        output_style="Answer in two sentences.", append="The user's name is Ada.",
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("tools", "flags"),
    [
        pytest.param([], [], id="default"),
        pytest.param(["Bash", "FileRead"], ["mode:auto", "headless", "reasoning:on"], id="headless"),
        pytest.param(["Bash", "Read", "Task"], ["mode:read-only", "reasoning:off"], id="read-only"),
    ],
)
def test_snapshots(name: str, tools: list[str], flags: list[str], prompt_file: SnapshotAssertion) -> None:
    """What is sent by default, in an unattended run, and where nothing may be changed."""
    if name.startswith("deepseek") and flags:
        pytest.skip("deepseek has no modes")
    assert composed(name, *flags, tools=tools).encode() == prompt_file


@pytest.mark.parametrize("name", NAMES)
def test_everything(name: str, prompt_file: SnapshotAssertion) -> None:
    """What is sent with everything on."""
    assert everything(name).encode() == prompt_file


@pytest.mark.parametrize("name", ["explore", "task", "verifier", "review_pr", "plan_mode", "compaction"])
def test_subagents(name: str, prompt_file: SnapshotAssertion) -> None:
    """What a subagent is told: its text and the policies, with the names of the tools that it has."""
    tools = ["Read", "Glob", "Grep", "Bash", "ExitPlan"]
    assert CATALOGUE.agent(name, tools=tools).text.encode() == prompt_file


@pytest.mark.parametrize("name", list(CATALOGUE.agents()))
def test_agents_are_complete(name: str) -> None:
    """No variable is left in an agent's prompt; only the status line needs values, because they are the runtime's."""
    needed: dict[str, Any] = (
        {"settings_file": "~/.x/settings.json", "status_script": "~/.x/s.sh"} if name == "status_line" else {}
    )
    assert not variables_of(CATALOGUE.agent(name, **needed).text)


@pytest.mark.parametrize("name", list(CATALOGUE.own_reminders))
def test_reminders_are_complete(name: str) -> None:
    """A reminder renders with its own variables, and its frame is only the tag: the prompt explains it once."""
    text = CATALOGUE.own_reminders[name].part.text
    given = {each.lower(): f"value of {each}" for each in variables_of(text) if each not in CATALOGUE.variables}
    shown = CATALOGUE.reminder(name, tools=[*CATALOGUE.own_tools], **given)
    assert not variables_of(shown)
    assert "Runtime note" not in shown
    assert shown.startswith("<system-reminder>\n")


def test_the_tag_is_introduced() -> None:
    """Wording, B 13: every preset says what the runtime's tags are, and where a real one cannot stand."""
    for name in NAMES:
        text = " ".join(load_preset(name).compose().text.split())
        assert "`system-reminder`, `notice`, or `context` tags" in text
        assert "inside a tool result" in text or "never inside one" in text


def test_004_a_the_help_part_uses_the_six_variables() -> None:
    """Issue 21, 004 (a): each of the six variables is said where it is given, and one that nothing uses is a note."""
    six = ("version", "build_time", "package_url", "readme_url", "issues_explainer", "feedback_channel")
    system_prompt = SystemPromptConfig(preset="claude_code@2.1.37.post2")
    every = {each: GIVEN[each.upper()] for each in six}
    prompt = compose_system_prompt(PromptAssemblyConfig(system_prompt, vars=PromptVars(**every)))
    (part,) = [part for part in prompt.parts if part.name == "help"]
    assert all(value in part.text for value in every.values())
    assert prompt.notes == ()
    for each in six:
        one = compose_system_prompt(PromptAssemblyConfig(system_prompt, vars=PromptVars(**{each: "X-1"})))
        (line,) = [line for line in one.text.split("\n") if "X-1" in line]
        assert line.startswith("- ")
        assert one.notes == ()
    assert "# Help and feedback" not in CATALOGUE.compose().text
    old = compose_system_prompt(PromptAssemblyConfig(vars=PromptVars(version="4.2.0")))
    assert [(note.kind, note.source) for note in old.notes if note.kind == "skipped"] == [
        ("skipped", "variable VERSION")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_lint_finds_nothing(name: str) -> None:
    """Names exist, tools are on where they are named, and no sentence stands twice, in our own presets."""
    assert find_in(load_preset(name), name, bundled=True) == []


@pytest.mark.parametrize("called", [["Read", "Edit", "Task"], ["FileRead", "FileEdit", "Agent"]])
@pytest.mark.parametrize("name", NAMES[:2])
def test_prose_and_definitions_agree(name: str, called: list[str]) -> None:
    """Wording, A 5: a text names no tool by a name that the runtime did not enable it by."""
    preset = load_preset(name)
    tools = [*called, "Bash", "Grep"]
    prompt = preset.compose(tools=tools)
    texts = [prompt.text, *(str(tool["description"]) for tool in prompt.tools)]
    other = {"Read": "FileRead", "Edit": "FileEdit", "Task": "Agent"}
    wrong = [other.get(each) or {value: key for key, value in other.items()}[each] for each in called]
    found = {each for each in wrong for text in texts if re.search(rf"\b(?:the|with|use|Use) {each}\b(?! the)", text)}
    assert found == set()


def test_sizes() -> None:
    """The wording that is always there, by estimate: the measure is coverage for its tokens, not the seed's sizes."""
    bare = {name: estimate_tokens(load_preset(name).compose().static_prefix) for name in NAMES}
    assert bare["claude_code@2.1.37.post2"] <= 3_000
    assert bare["coder@1.1.0"] <= 2_500
    assert bare["deepseek@1.2.0"] <= 2_650
    assert 2_200 <= sum(estimate_tokens(bundled().text("base", "1.1.0", part)) for part in BASE) <= 2_500


BASE = ("identity", "tools", "verify", "style")


def test_no_vendor_is_named() -> None:
    """Any model can be given any text of `coder`."""
    vendors = r"anthropic|claude|openai|\bgpt|codex|gemini|google|deepseek|mistral|llama|qwen|kimi|copilot|cursor"
    assert re.findall(vendors, everything("coder@1.1.0"), re.IGNORECASE) == []


def test_parts_are_wrapped() -> None:
    """No line of prose is wider than a reviewer's screen; an example of JSON is one line."""
    parts = [path for folder in FOLDERS for path in (ROOT / "deepprompt/assets" / folder).rglob("*.md")]
    wide = {path.name for path in parts for line in path.read_text("utf-8").split("\n") if len(line) > 120}
    assert wide <= {"agent_creation.md"}


def test_american_spelling() -> None:
    """The idiom is that of American technical English."""
    british = r"\b(?:behaviour|colour|analyse|authoris|summaris|recognis|neighbour|favour|judgement)\w*"
    parts: list[Path] = [path for folder in FOLDERS for path in (ROOT / "deepprompt/assets" / folder).rglob("*.md")]
    assert [(path.name, found) for path in parts for found in re.findall(british, path.read_text("utf-8"))] == []


def test_one_plan_text() -> None:
    """Wording, A 4: the agent, the reminder and the part have the same rules for plan mode."""
    rules = bundled().text("claude_code", "2.1.37.post2", "plan_rules").replace("${EXIT_PLAN}", "ExitPlan").strip()
    assert rules in CATALOGUE.agent("plan_mode").text
    assert rules in CATALOGUE.reminder("plan_mode_active", path="plan.md")
    assert rules in CODER.compose(flags=["plan"]).text
    assert rules not in CODER.compose(flags=["plan", "headless"]).text


@pytest.mark.parametrize("name", NAMES)
def test_no_reader_is_left_with_two_orders(name: str) -> None:
    """Three blind readers: each pair that could not both be obeyed has one answer, in every preset."""
    text = " ".join(everything(name).split())
    assert "defaults, which" in text and "are fixed" in text.replace("is fixed", "are fixed")
    assert "has the rank of its author" in text and "reply to" not in text
    assert "because of your change, fix that" in text and "fix the cause" not in text
    assert "Outside the task, report failures that you did not cause" in text
    assert "or to keep them from leaking" in text
    assert "fresh read" not in text and "preamble" not in text
    assert re.search(r"request( for a pull request)? covers (a|the|its) branch", text)


def test_a_message_goes_to_an_id() -> None:
    """Agents are started without a name, so a message is sent to the ID that starting one returned."""
    (tool,) = CATALOGUE.compose(tools=["SendMessage"]).tools
    assert "the ID that starting the agent returned" in str(tool)
    assert "and its ID" in str(CATALOGUE.compose(tools=["Agent"]).tools)
