"""`deepprompt build --preset`: a whole agent's prompt from the catalogue, and why each part is in it or not."""

from __future__ import annotations

import argparse
import dataclasses

from deepprompt.catalog import from_folder
from deepprompt.commands.options import appended, given, own_text, working_folder
from deepprompt.prompt import Note, Prompt
from deepprompt.sources.claude_md import read_claude_md
from deepprompt.sources.files import from_system
from deepprompt.sources.project import discover_project_context
from deepprompt.systems.preset import (
    ORDERS,
    McpServer,
    PromptAssemblyConfig,
    SlashCommand,
    SystemPromptConfig,
    choices,
    compose_system_prompt,
)

OPTIONS = (
    "tool", "mcp", "slash_command", "sessions", "memory", "claude_md", "output_style_file", "environment_last",
    "max_tokens", "order",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that go with `--preset`."""
    group = parser.add_argument_group("a preset (--preset)")
    group.add_argument(
        "--preset",
        type=given,
        metavar="NAME",
        help="claude_code: the catalogue of parts; deepseek: as without it",
    )
    group.add_argument("--tool", action="append", default=[], metavar="NAME", help="a tool that is enabled")
    group.add_argument("--mcp", action="append", default=[], metavar="NAME", help="an MCP server that is connected")
    group.add_argument("--slash-command", action="append", default=[], metavar="NAME[=TEXT]", help="a slash command")
    group.add_argument("--sessions", action="store_true", help="past sessions can be searched")
    group.add_argument("--memory", action="store_true", help="the agent keeps notes between sessions")
    group.add_argument("--claude-md", action="store_true", help="load the CLAUDE.md files of the folder and above it")
    group.add_argument("--output-style-file", type=given, metavar="FILE", help="how the agent should respond")
    group.add_argument("--order", choices=sorted(ORDERS), help="the order of the parts (default: algorithm)")
    group.add_argument(
        "--environment-last", action="store_true", help="put folder, system and shell behind the boundary"
    )
    group.add_argument("--max-tokens", type=int, metavar="N", help="fail when the prompt has more, by estimate")


def compose(options: argparse.Namespace, rows: list[dict[str, object]]) -> Prompt:
    """Return the preset's prompt, and into `rows` why each of its parts is in or out."""
    notes: list[Note] = []
    cwd = working_folder(options)
    project = discover_project_context(cwd)
    own_parts = appended(options, notes)
    commands = [from_system(text, "slash command", notes).partition("=") for text in options.slash_command]
    config = PromptAssemblyConfig(
        system_prompt=SystemPromptConfig(preset=options.preset, append="\n\n".join(own.text for own in own_parts)),
        cwd=project.cwd,
        os=f"{project.os_name} {project.os_version}",
        shell=project.shell,
        enabled_tools=[from_system(name, "tool", notes) for name in options.tool],
        sessions_enabled=options.sessions,
        memory_enabled=options.memory,
        mcp_servers=[McpServer(from_system(name, "mcp", notes)) for name in options.mcp],
        slash_commands=[SlashCommand(name, description) for name, _, description in commands],
        claude_md_content=read_claude_md(cwd, None, notes) if options.claude_md else "",
        output_style=own_text(options.output_style_file) if options.output_style_file else "",
        max_system_prompt_tokens=options.max_tokens,
    )
    overrides = from_folder(options.parts) if options.parts else None
    prompt = compose_system_prompt(
        config, options.order or "algorithm", environment_last=options.environment_last, overrides=overrides
    )
    for choice in choices(config, options.order or "algorithm"):
        row = choice.row
        fact = row.condition.removeprefix("!")
        state = "on" if choice.chosen != row.condition.startswith("!") else "off"
        why = "always" if fact == "always" else f"{fact} is {state}"
        rows.append(
            {"part": row.part, "condition": row.condition, "in": choice.chosen, "why": why, "variable": row.variable}
        )
    origin = " ".join(own.origin for own in own_parts)
    parts = [dataclasses.replace(part, origin=origin) if part.name == "append" else part for part in prompt.parts]
    return dataclasses.replace(prompt, parts=tuple(parts), notes=(*notes, *prompt.notes))
