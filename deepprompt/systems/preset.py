"""The preset catalogue: a whole coding agent's prompt from versioned parts, chosen by a table.

The preset table of a version says which parts are in the prompt, in which order and under which condition. This module
has the facts for the conditions, the values of the variables, and the join. `custom` text replaces the whole prompt,
`append` adds to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import pairwise
from os import PathLike, fspath

from deepprompt.arguments import expect, expect_each, expect_texts
from deepprompt.catalog import Catalog, Row, bundled
from deepprompt.errors import AssetError, UnknownPartError
from deepprompt.prompt import BOUNDARY_PART, DYNAMIC_CONTEXT_BOUNDARY, Note, Pace, Part, Prompt, notes_of
from deepprompt.sources.files import path_text
from deepprompt.sources.project import ProjectContext
from deepprompt.systems.budget import check_budget
from deepprompt.systems.builder import SystemPromptBuilder
from deepprompt.systems.lists import command_items, commands_text, server_items, servers_text
from deepprompt.systems.overrides import Overrides
from deepprompt.systems.toolset import Toolset
from deepprompt.systems.variables import interpolate, variables_of
from deepprompt.text.disarm import escape_boundary, escape_roles
from deepprompt.text.hygiene import scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.words import Order

PRESETS = {"claude_code": "claude_code@2.1.37", "deepseek": "base@1.0.0"}
ORDERS: dict[Order, str] = {"algorithm": "preset.table", "catalog": "catalog.table"}


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


@dataclass(frozen=True, slots=True)
class Choice:
    """Why a part is in the prompt or not."""

    row: Row
    chosen: bool


def assemble_system_prompt(config: PromptAssemblyConfig, order: Order = "algorithm") -> str:
    """Return the system prompt."""
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

    `environment_last` puts what differs from machine to machine behind the boundary, so that a whole fleet shares
    the prefix; the specification's order is the default. `overrides` replace parts one by one.
    """
    takes = "a PromptAssemblyConfig, such as PromptAssemblyConfig(SystemPromptConfig(preset='claude_code'))"
    expect(config, PromptAssemblyConfig, "compose_system_prompt: config", takes)
    own = config.system_prompt
    ask = resolve_preset(own.preset)
    if own.custom:
        notes: list[Note] = []
        prompt = Prompt(
            (Part("custom", scrub(own.custom, "custom", notes), Pace.PROJECT, "argument:custom"),), (), tuple(notes)
        )
    elif ask.startswith("base"):
        prompt = _deepseek(config)
    else:
        prompt = _Assembly(config, ask, order, overrides).compose(environment_last)
    check_budget(prompt, config.max_system_prompt_tokens)
    return prompt


def resolve_preset(name: str) -> str:
    """Return the catalogue's name for a preset, given as `NAME`, `NAME@VERSION` or `NAME~=VERSION`."""
    family = name or "claude_code"
    for preset, ask in PRESETS.items():
        if family == preset:
            return ask
        if family.startswith(preset) and family[len(preset)] in "@~=!<>":
            return ask.partition("@")[0] + family[len(preset) :]
    raise UnknownPartError(f"no preset named {name!r}; there are: {', '.join(sorted(PRESETS))}")


def choices(config: PromptAssemblyConfig, order: Order = "algorithm") -> list[Choice]:
    """Return every part of the preset in order, and whether its condition holds."""
    assembly = _Assembly(config, resolve_preset(config.system_prompt.preset), order, None)
    return [Choice(row, assembly.holds(row)) for row in assembly.rows]


def environment_part(config: PromptAssemblyConfig, notes: list[Note]) -> Part:
    """Return the part about the environment, which subagents get too."""
    config = PromptAssemblyConfig(cwd=config.cwd, os=config.os, shell=config.shell)
    assembly = _Assembly(config, PRESETS["claude_code"], "algorithm", None)
    (row,) = [row for row in assembly.rows if row.part == "environment"]
    part = assembly.part(row, {})
    notes += assembly.notes
    return part


class _Assembly:
    """The assembly of one prompt: its table, the facts for conditions, the values of variables."""

    def __init__(self, config: PromptAssemblyConfig, ask: str, order: Order, overrides: Catalog | None) -> None:
        if order not in ORDERS:
            raise UnknownPartError(f"no order named {order!r}; there are: {', '.join(ORDERS)}")
        self.catalog = bundled()
        self.family, self.version = self.catalog.resolve(ask)
        self.rows = self.catalog.table(self.family, self.version, ORDERS[order])
        self.notes: list[Note] = [*notes_of(config.claude_md_content)]
        self.config = config
        self.overrides = Overrides(self.catalog, overrides) if overrides else None
        if self.overrides:
            self.overrides.refuse_unknown(self.family, self.version)
        self.toolset = Toolset(config.enabled_tools, self.overrides)
        self.style = config.output_style or config.vars.output_style_config
        servers = servers_text(config.mcp_servers, server_items(config.mcp_servers, self.notes))
        commands = commands_text(command_items(config.slash_commands, self.notes))
        self.facts = {
            "always": True,
            "sessions": config.sessions_enabled,
            "memory": config.memory_enabled,
            "mcp": bool(servers),
            "slash_commands": bool(commands),
            "claude_md": bool(config.claude_md_content),
            "output_style": bool(self.style),
        }
        self.refuse_unknown_conditions()
        self.scrubbed: dict[str, str] = {}
        self.values = {
            **{name.name.upper(): getattr(config.vars, name.name) for name in fields(config.vars)},
            "CWD": fspath(config.cwd) or "unknown",
            "OS": config.os or "unknown",
            "SHELL": config.shell or "unknown",
            "MCP_SERVERS": servers,
            "SLASH_COMMANDS": commands,
            "CLAUDE_MD": escape_roles(config.claude_md_content, "CLAUDE.md", self.notes),
            "OUTPUT_STYLE": self.style,
        }

    def holds(self, row: Row) -> bool:
        """Whether a row's condition holds: a fact or the name of a tool, negated by `!`."""
        condition = row.condition.removeprefix("!")
        tool = condition.removeprefix("tool:")
        fact = tool in self.toolset if tool != condition else self.facts[condition]
        return fact != row.condition.startswith("!")

    def refuse_unknown_conditions(self) -> None:
        """Raise if a row has a condition that no fact answers, and name every such row."""
        asked = [(row.part, row.condition.removeprefix("!")) for row in self.rows]
        unknown = [
            f"part {part!r} asks for {condition!r}"
            for part, condition in asked
            if condition not in self.facts and not condition.startswith("tool:")
        ]
        if unknown:
            known = ", ".join([*self.facts, "tool:NAME"])
            raise AssetError(f"{self.family}/{self.version}: {', '.join(unknown)}; known: {known}")

    def compose(self, environment_last: bool) -> Prompt:
        rows = [row for row in self.rows if self.holds(row)]
        inserted = {
            row.variable: self.values.get(row.variable) or self.text(row)[0].removesuffix("\n")
            for row in rows
            if row.variable
        }
        parts = [self.part(row, inserted) for row in rows if not row.variable]
        append = self.config.system_prompt.append
        if append:
            parts.append(Part("append", scrub(append, "append", self.notes), Pace.PROJECT, "argument:append"))
        if environment_last:
            parts = self.behind_boundary(parts)
        parts[1:] = [
            part if BOUNDARY_PART in (part.name, before.name) else _after_blank_line(part)
            for before, part in pairwise(parts)
        ]
        tools = tuple(self.toolset.definitions())
        return Prompt(tuple(parts), tools, (*self.notes, *self.toolset.notes), fixed_order=True)

    def behind_boundary(self, parts: list[Part]) -> list[Part]:
        """Return the parts in the order of their pace, with pace SESSION and faster after the boundary."""
        kept = [
            Part(part.name, escape_boundary(part.text, part.name, self.notes), part.pace, part.origin)
            for part in sorted(parts, key=lambda part: part.pace)
        ]
        slow = [part for part in kept if part.pace < Pace.SESSION]
        return [*slow, Part(BOUNDARY_PART, DYNAMIC_CONTEXT_BOUNDARY, Pace.SESSION, "deepprompt"), *kept[len(slow) :]]

    def part(self, row: Row, inserted: dict[str, str]) -> Part:
        text, origin = self.text(row)
        values = self.values | inserted
        for name in variables_of(text):  # each is scrubbed, and that noted, once
            if name in values and name not in self.scrubbed:
                self.scrubbed[name] = scrub(values[name], name, self.notes)
        values |= self.scrubbed
        rendered = interpolate(text.removesuffix("\n"), values, row.part, self.notes)
        return Part(row.part, rendered, row.pace, origin)

    def text(self, row: Row) -> tuple[str, str]:
        """Return the text of a part and where it comes from: an override, or else the catalogue."""
        if self.overrides and (found := self.overrides.find(self.family, self.version, row.part, self.notes)):
            return found
        text = self.catalog.text(self.family, self.version, row.part)
        return text, self.catalog.origin(self.family, self.version, row.part)


def _after_blank_line(part: Part) -> Part:
    return Part(part.name, "\n\n" + part.text, part.pace, part.origin)


def _deepseek(config: PromptAssemblyConfig) -> Prompt:
    """Return the cache-stable builder's prompt, which has its own base and its own place for the environment."""
    known = config.cwd or config.os or config.shell
    project = ProjectContext(cwd=fspath(config.cwd), os_name=config.os, shell=config.shell) if known else None
    ask = resolve_preset(config.system_prompt.preset)
    base_parts = () if ask == PRESETS["deepseek"] else bundled().parts(ask)
    return SystemPromptBuilder(base_parts=base_parts, project=project, append=config.system_prompt.append).compose()
