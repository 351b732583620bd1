"""`deepprompt build --preset`: a whole agent's prompt from the catalogue, and why each part is in it or left out."""

from __future__ import annotations

import argparse
import dataclasses

from deepprompt.catalog import from_folder
from deepprompt.commands.build.options import appended
from deepprompt.commands.build.servers import servers_of
from deepprompt.commands.options import own_text, working_folder
from deepprompt.prompt import Note, Prompt
from deepprompt.sources.claude_md import load_claude_md
from deepprompt.sources.project import discover_project_context
from deepprompt.systems.preset import (
    PromptAssemblyConfig,
    SlashCommand,
    SystemPromptConfig,
    choices,
    compose_system_prompt,
)
from deepprompt.text.hygiene import from_system


def compose_preset(options: argparse.Namespace, rows: list[dict[str, object]]) -> Prompt:
    """Return the preset's prompt, and add to `rows` why each part is in it or left out."""
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
        mcp_servers=[server for text in options.mcp for server in servers_of(text, notes)],
        slash_commands=[SlashCommand(name, description) for name, _, description in commands],
        claude_md_content=load_claude_md(cwd) if options.claude_md else "",
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
    return dataclasses.replace(prompt, parts=tuple(parts), notes=(*project.notes, *notes, *prompt.notes))
