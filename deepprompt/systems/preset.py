"""The preset catalogue of the specification: its configuration, and its functions as faces of `claude_code` 2.1.37.

`custom` text replaces the whole prompt, `append` adds to it. What a preset is, and how it is composed, is in `presets`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from os import PathLike, fspath

from deepprompt.arguments import expect, expect_each, expect_texts
from deepprompt.catalog import Catalog, bundled
from deepprompt.prompt import BOUNDARY_PART, Note, Pace, Part, Prompt
from deepprompt.sources.files import path_text
from deepprompt.sources.project import ProjectContext
from deepprompt.sources.skills import SkillStore
from deepprompt.sources.surroundings import Surroundings
from deepprompt.systems.budget import check_budget
from deepprompt.systems.builder import DEEPSEEK_V1, SystemPromptBuilder
from deepprompt.systems.presets import Preset, load_preset
from deepprompt.systems.rows import Row

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.inputs import Given
    from deepprompt.words import Order

CLAUDE_CODE = "claude_code@2.1.37"
_NO_SKILLS = SkillStore()  # always the same, so that a prompt which was composed before is found
_SEEDS = {"": CLAUDE_CODE, "claude_code": CLAUDE_CODE, "deepseek": DEEPSEEK_V1}
"""What the names of the specification's presets mean, whatever newer versions there are."""


@dataclass(frozen=True, slots=True)
class SystemPromptConfig:
    """The choice of a prompt: only a `custom` text, or a `preset` ("" means claude_code) with text to `append`."""

    custom: str = ""
    preset: str = ""
    append: str = ""

    def __post_init__(self) -> None:
        """Raise if a field is not text."""
        expect_texts(self, "custom", "preset", "append")


@dataclass(frozen=True, slots=True)
class PromptVars:
    """Values for variables that parts may have. Only those that a chosen part uses can be missing."""

    output_style_config: str = ""
    security_policy: str = ""
    issues_explainer: str = ""
    package_url: str = ""
    readme_url: str = ""
    version: str = ""
    feedback_channel: str = ""
    build_time: str = ""

    def __post_init__(self) -> None:
        """Raise if a field is not text."""
        expect_texts(self, *[own.name for own in fields(self)])


@dataclass(frozen=True, slots=True)
class McpServer:
    """A connected MCP server: its name, its instructions, and the names of its tools."""

    name: str
    instructions: str = ""
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Accept any iterable of names, but not a text, whose letters would be tools."""
        expect_texts(self, "name", "instructions")
        object.__setattr__(self, "tools", expect_each(self.tools, str, "McpServer: tools", "names"))


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A custom slash command, its name with or without the slash."""

    name: str
    description: str = ""

    def __post_init__(self) -> None:
        """Raise if a field is not text."""
        expect_texts(self, "name", "description")


@dataclass(frozen=True, slots=True)
class PromptAssemblyConfig:
    """Everything that a preset's prompt depends on."""

    system_prompt: SystemPromptConfig = field(default_factory=SystemPromptConfig)
    cwd: str | PathLike[str] = ""
    os: str = ""
    shell: str = ""
    enabled_tools: Iterable[str] = ()
    sessions_enabled: bool = False
    memory_enabled: bool = False
    mcp_servers: Iterable[McpServer] = ()
    slash_commands: Iterable[SlashCommand] = ()
    claude_md_content: str = ""
    output_style: str = ""
    max_system_prompt_tokens: int | None = None
    vars: PromptVars = field(default_factory=PromptVars)

    def __post_init__(self) -> None:
        """Turn iterables into tuples, since a configuration is used for several prompts. Raise for other types."""
        for name, kind, takes in _TAKES:
            expect(getattr(self, name), kind, f"PromptAssemblyConfig: {name}", takes)
        object.__setattr__(self, "cwd", path_text(self.cwd, "PromptAssemblyConfig: cwd"))
        if isinstance(self.enabled_tools, str):
            object.__setattr__(self, "enabled_tools", (self.enabled_tools,))
        for name, kind, takes in _TAKES_EACH:
            each = expect_each(getattr(self, name), kind, f"PromptAssemblyConfig: {name}", takes)
            object.__setattr__(self, name, each)


# What each argument of a configuration takes, for messages.
_TAKES = (
    ("system_prompt", SystemPromptConfig, "a SystemPromptConfig, such as SystemPromptConfig(preset='claude_code')"),
    ("os", str, "text"),
    ("sessions_enabled", bool, "True or False"),
    ("memory_enabled", bool, "True or False"),
    ("shell", str, "text"),
    ("claude_md_content", str, "text, as load_claude_md(cwd) returns"),
    ("output_style", str, "text"),
    ("max_system_prompt_tokens", int | float | None, "a number of tokens, or None"),
    ("vars", PromptVars, "PromptVars, such as PromptVars(version='1.0.0')"),
)
_TAKES_EACH = (
    ("enabled_tools", str, "names of tools"),
    ("mcp_servers", McpServer, "McpServers, such as McpServer('tickets')"),
    ("slash_commands", SlashCommand, "SlashCommands, such as SlashCommand('release')"),
)


def assemble_system_prompt(config: PromptAssemblyConfig, order: Order = "algorithm") -> str:
    """Return the system prompt. Raises `BudgetError` if it is over the budget."""
    try:
        return _assembled(config, order, bundled())
    except TypeError:  # what has no hash is not kept, or is no configuration at all
        return compose_system_prompt(config, order).text


@lru_cache(maxsize=8)
def _assembled(config: PromptAssemblyConfig, order: Order, catalog: Catalog) -> str:  # noqa: ARG001 - part of the key
    return compose_system_prompt(config, order).text


def compose_system_prompt(
    config: PromptAssemblyConfig,
    order: Order = "algorithm",
    *,
    environment_last: bool = False,
    overrides: Catalog | None = None,
) -> Prompt:
    """Return the system prompt as parts, with the definitions of the enabled tools.

    `environment_last` puts what differs from machine to machine behind the boundary, so that a whole fleet shares the
    prefix; the specification's order is the default. `overrides` replace parts one by one, or have a preset. Raises
    `BudgetError` for a prompt over the configuration's budget.
    """
    takes = "a PromptAssemblyConfig, such as PromptAssemblyConfig(SystemPromptConfig(preset='claude_code'))"
    expect(config, PromptAssemblyConfig, "compose_system_prompt: config", takes)
    expect(overrides, Catalog | None, "overrides", "a catalogue, as from_folder('own') returns")
    own = config.system_prompt
    preset = load_preset(_SEEDS.get(own.preset, own.preset), *([overrides] if overrides else []))
    around, inputs, notes = _inputs(config, preset)
    if preset.name == DEEPSEEK_V1 and not own.custom:
        prompt = _deepseek(config, preset.compose(around, **inputs))
    else:
        if preset.orders or order != "algorithm":
            preset = preset.ordered(order)
        if environment_last:
            preset = behind_boundary(preset)
        inputs["custom"], inputs["append"] = own.custom, own.append
        prompt = preset.compose(around, **inputs)
    check_budget(prompt, config.max_system_prompt_tokens)
    return replace(prompt, notes=(*prompt.notes, *notes)) if notes else prompt


def _inputs(config: PromptAssemblyConfig, preset: Preset) -> tuple[Surroundings, Given, list[Note]]:
    """Return a configuration as a preset takes it, with notes on what the preset does not know."""
    known = {each.name.upper(): getattr(config.vars, each.name) for each in fields(config.vars)}
    style = config.output_style or known.pop("OUTPUT_STYLE_CONFIG")
    known.pop("OUTPUT_STYLE_CONFIG", None)
    variables = {name: text for name, text in known.items() if text}
    flags = [flag for flag, on in (("sessions", config.sessions_enabled), ("memory", config.memory_enabled)) if on]
    unknown = [f"variable {name}" for name in variables if name not in preset.variables]
    unknown += [f"flag {flag}" for flag in flags if flag not in preset.flags]
    inputs: Given = {
        "tools": config.enabled_tools,
        "flags": [flag for flag in flags if flag in preset.flags],
        "variables": {name: text for name, text in variables.items() if name in preset.variables},
        "mcp": config.mcp_servers,
        "commands": config.slash_commands,
        "output_style": style,
    }
    notes = [Note("skipped", what, f"no row of {preset.name} shows this") for what in unknown]
    around = Surroundings(skills=_NO_SKILLS, project=_project(config), claude_md=config.claude_md_content)
    return around, inputs, notes


def _project(config: PromptAssemblyConfig) -> ProjectContext:
    return ProjectContext(cwd=fspath(config.cwd), os_name=config.os, shell=config.shell)


def _deepseek(config: PromptAssemblyConfig, composed: Prompt) -> Prompt:
    """Return the cache-stable builder's prompt, which shows no project that is not known."""
    known = config.cwd or config.os or config.shell
    builder = SystemPromptBuilder(project=_project(config) if known else None, append=config.system_prompt.append)
    return replace(builder.compose(composed.tools), notes=(*builder.compose().notes, *composed.notes))


@lru_cache(maxsize=16)
def behind_boundary(preset: Preset) -> Preset:
    """Return a preset with its rows in the order of their pace: from pace SESSION on, they stand behind a boundary."""
    rows = sorted((row for row in preset.rows if row.kind != "boundary"), key=lambda row: row.pace)
    slow = [row for row in rows if row.pace < Pace.SESSION]
    boundary = Row("boundary", BOUNDARY_PART, pace=Pace.SESSION)
    return preset.but(rows=(*slow, boundary, *rows[len(slow) :]), kept={})


def environment_part(config: PromptAssemblyConfig, notes: list[Note]) -> Part:
    """Return the part about the environment, which subagents get too."""
    preset = load_preset(CLAUDE_CODE)
    rows = tuple(row for row in preset.rows if row.name == "environment")
    prompt = preset.but(rows=rows, kept={}).compose(Surroundings(project=_project(config)))
    notes += prompt.notes
    return prompt.parts[0]
