"""Laws that hold for every bundled preset, whatever is enabled."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    InstructionFile,
    McpServer,
    Pace,
    ProjectContext,
    Prompt,
    SlashCommand,
    Surroundings,
    load_preset,
)
from deepprompt.sources.git.snapshot import GitSnapshot
from deepprompt.sources.instructions import InstructionFiles
from deepprompt.sources.skills import Skill, SkillStore
from deepprompt.systems.bundled_presets import PRESETS
from deepprompt.systems.presets import Preset
from tests.support.examples import examples

NAMES = sorted(name.replace("/", "@") for name in PRESETS if not name.startswith("slots/"))
PROJECT = ProjectContext(
    cwd="/CWD/OF/IT", current_date="2031-03-04", active_branch="BRANCH-OF-IT", os_name="OS-OF-IT", shell="SHELL-OF-IT",
    git_status=" M a.py", git_diff=" a.py | 1 +",
)  # fmt: skip
AROUND = Surroundings(
    InstructionFiles([InstructionFile("AGENTS.md", "Be kind.")]),
    SkillStore([Skill("alpha", "does it", "direct", "0" * 64, (), "/p", "skills/alpha/SKILL.md")]),
    PROJECT,
    claude_md="Rules.",
)
MOVED = replace(AROUND, project=replace(PROJECT, active_branch="other", git_status="?? b", git_diff=""))


def flags_of(preset: Preset) -> list[list[str]]:
    """Return, for each flag or axis, what it can be."""
    return [
        ["", name] if isinstance(axis, str) else ["", *(f"{name}:{value}" for value in axis)]
        for name, axis in preset.flags.items()
    ]


def variables_of(preset: Preset) -> dict[str, str]:
    """Return a value for each variable that has to be given."""
    return {
        name: f"value of {name}"
        for name, variable in preset.variables.items()
        if variable.default is None
        and not variable.cases
        and not variable.literal
        and not variable.offered
        and not variable.tool
    }


@st.composite
def composed(draw: st.DrawFn) -> tuple[Preset, dict[str, object]]:
    """A bundled preset, and any subset of what it can be given."""
    preset = load_preset(draw(st.sampled_from(NAMES)))
    tools = sorted(preset.own_tools)
    return preset, {
        "tools": draw(st.lists(st.sampled_from([*tools, "Own"]), unique=True)) if tools else [],
        "flags": [flag for axis in flags_of(preset) if (flag := draw(st.sampled_from(axis)))],
        "variables": draw(st.sampled_from([{}, variables_of(preset)])) if preset.variables else {},
        "mcp": draw(st.sampled_from([(), (McpServer("tickets", "Ask.", ("list",)),)])),
        "commands": draw(st.sampled_from([(), (SlashCommand("ship", "Ships."),)])),
        "output_style": draw(st.sampled_from(["", "Rhyme."])),
        "append": draw(st.sampled_from(["", "Mine."])),
    }


@examples(150)
@given(composed())
def test_the_prefix_does_not_depend_on_the_turn(given_: tuple[Preset, dict[str, object]]) -> None:
    """Law 4: prefix, boundary and suffix are the text, and nothing of pace TURN is in the prefix."""
    preset, inputs = given_
    if variables_of(preset) and not inputs["variables"]:
        inputs["variables"] = variables_of(preset)
    here: Prompt = preset.compose(AROUND, **inputs)  # type: ignore[arg-type]
    there: Prompt = preset.compose(MOVED, **inputs)  # type: ignore[arg-type]
    boundary = DYNAMIC_CONTEXT_BOUNDARY if preset.has_boundary else ""
    assert here.static_prefix + boundary + here.dynamic_suffix == here.text
    assert here.static_prefix == there.static_prefix
    assert here.tools == there.tools
    assert len({part.name for part in here.parts}) == len(here.parts)
    if preset.has_boundary:
        assert here.text.count(DYNAMIC_CONTEXT_BOUNDARY) == 1
        assert [part.name for part in here.static_parts if part.pace is Pace.TURN] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_in_some_prompt_and_out_of_another(name: str) -> None:
    """Law 6: no row is dead; one with a condition can be out."""
    preset = load_preset(name)
    axes = flags_of(preset)
    most = max([len(axis) for axis in axes], default=1)
    sets = [[axis[min(number, len(axis) - 1)] for axis in axes] for number in range(most)]
    sets += [[flag] for axis in axes for flag in axis] + [[axis[-1] for axis in axes if len(axis) == 2]]
    sets += [[*sets[-1], flag] for axis in axes if len(axis) > 2 for flag in axis]
    everything = {
        "mcp": [McpServer("a")], "commands": [SlashCommand("a")], "output_style": "x", "append": "y",
    }  # fmt: skip
    seen: dict[str, set[bool]] = {row.name: set() for row in preset.rows}
    for flags in sets:
        chosen = [flag for flag in flags if flag]
        for tools, given_ in ((sorted(preset.own_tools), everything), ([], {})):
            for around in (AROUND, None):
                inputs: Any = {
                    "tools": tools,
                    "flags": chosen,
                    "variables": variables_of(preset) if around else {},
                    **given_,
                }
                for choice in preset.choices(around, **inputs):
                    seen[choice.row.name].add(choice.chosen)
    assert [row for row, states in seen.items() if True not in states] == []
    optional = [row.name for row in preset.rows if row.when != "always"]
    assert [row for row in optional if False not in seen[row]] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_once(name: str) -> None:
    """Law 9: no fact stands twice, and no preset but `deepseek` and the `base` in it names a vendor."""
    preset = load_preset(name)
    prompt = preset.compose(AROUND, tools=sorted(preset.own_tools), variables=variables_of(preset))
    facts = ("/CWD/OF/IT", "2031-03-04", "OS-OF-IT", "SHELL-OF-IT")
    assert [fact for fact in facts if prompt.text.count(fact) > 1] == []
    if preset.has_boundary:
        assert [fact for fact in facts if fact in prompt.static_prefix] == []
        assert [fact for fact in facts if prompt.text.count(fact) != 1] == []
    if preset.family not in ("deepseek", "base"):
        wording = prompt.static_prefix.lower()
        vendors = ("deepseek", "anthropic", "openai", "gpt-", "gemini", "google")
        assert [vendor for vendor in vendors if vendor in wording] == []


@pytest.mark.parametrize(("state", "said"), [("none", "(not a git repository)"), ("unreadable", "(unknown: git could")])
@pytest.mark.parametrize("name", NAMES)
def test_git_that_cannot_be_read_is_never_clean(name: str, state: str, said: str) -> None:
    """Law 11: what git did not say is not said for it."""
    preset = load_preset(name)
    if not preset.has_boundary:
        return
    git = GitSnapshot(state=state)  # type: ignore[arg-type]
    around = Surroundings(project=ProjectContext(cwd="/p").with_git(git), git=git)
    text = preset.compose(around, variables=variables_of(preset)).text
    assert "(clean)" not in text
    assert said in text
    assert "## Git status" not in preset.compose(Surroundings(project=ProjectContext(cwd="/p"))).text


@pytest.mark.parametrize("code", ["SystemPromptBuilder().build()", "load_preset('deepseek').compose().text"])
def test_a_first_prompt_parses_nothing(code: str) -> None:
    """Law 12: neither the builder nor a preset imports `tomllib` or `json` for its first prompt."""
    script = (
        "import sys; before = {*sys.modules}; from deepprompt import SystemPromptBuilder, load_preset; "
        f"{code}; print({{'tomllib', 'json'}} & ({{*sys.modules}} - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
