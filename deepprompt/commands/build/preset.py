"""`deepprompt build` with a preset: what the folder and the options say, composed, and why each row is in or out."""

from __future__ import annotations

import argparse

from deepprompt.commands.build.folder import gathered
from deepprompt.commands.build.options import appended, flags_of, lists_of, own_part, variables_of
from deepprompt.commands.options import own_text
from deepprompt.frozen import replace
from deepprompt.prompt import BOUNDARY_PART, Note, Prompt
from deepprompt.systems.builder import DEEPSEEK_V1
from deepprompt.systems.presets import Preset, load_preset
from deepprompt.text.hygiene import from_system

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.inputs import Given

DEFAULT = "deepseek@1.2.0"
"""The preset for DeepSeek's models, and where no model is named. By its version, as comparing versions takes long."""
NEUTRAL = "coder"
"""The preset for models of other vendors: it names none."""


def compose_preset(options: argparse.Namespace, rows: list[dict[str, object]]) -> Prompt:
    """Return the prompt that the options ask for, and add to `rows` why each row of the preset is in it or left out."""
    notes: list[Note] = []
    preset = _preset(options, notes)
    inputs = _inputs(options, notes)
    if options.custom_file:
        custom = own_part("custom", options.custom_file)
        prompt = preset.compose(custom=custom, tools=inputs["tools"], budget=inputs["budget"])
        return replace(prompt, notes=(*prompt.notes, *notes))
    around = gathered(options, preset.instructions)
    prompt = preset.compose(around, **inputs)
    for choice in preset.choices(around, **inputs):
        row = choice.row
        rows.append({"part": row.name, "condition": row.when, "in": choice.chosen, "why": choice.why})
    parts = prompt.parts
    if options.no_project:
        cut = next((number for number, part in enumerate(parts, 1) if part.name == BOUNDARY_PART), len(parts))
        parts = parts[:cut]
    return replace(prompt, parts=parts, notes=(*prompt.notes, *notes))


def _preset(options: argparse.Namespace, notes: list[Note]) -> Preset:
    """Return the preset, with its rows in the order that the options ask for."""
    preset = load_preset(_ask(options, notes), *options.parts)
    if options.base:
        from deepprompt.systems.changes import with_wording

        preset = with_wording(load_preset(DEEPSEEK_V1), preset)
    if options.order:
        preset = preset.ordered(options.order)
    if options.environment_last:
        from deepprompt.systems.preset import behind_boundary

        if preset.has_boundary:
            options.usage_error(f"--environment-last is for presets without a boundary; {preset.name} has one")
        preset = behind_boundary(preset)
    return preset


def _ask(options: argparse.Namespace, notes: list[Note]) -> str:
    """Return the preset that the options name. Without a name it follows from the model that the prompt is for."""
    if base := str(options.base or ""):  # a version or a specifier alone is one of the family `base`
        return base if base[0].isalpha() else f"base@{base}" if base[0].isdigit() else f"base{base}"
    if options.preset:
        return str(options.preset)
    target = str(options.model or options.to or DEFAULT)
    if "deepseek" in target.lower():
        return DEFAULT
    if not options.custom_file and not options.base_file:
        detail = f"for {target}, the wording is that of {NEUTRAL}, which names no vendor; --preset chooses another"
        notes.append(Note("model", f"preset {NEUTRAL}", detail))
    return NEUTRAL


def _inputs(options: argparse.Namespace, notes: list[Note]) -> Given:
    """Return what the options give to the preset."""
    inputs: Given = {
        "tools": [from_system(name, "tool", notes) for name in options.tool],
        "flags": flags_of(options, notes),
        "variables": variables_of(options, notes),
        "lists": lists_of(options),
        "append": tuple(appended(options, notes)),
        "model": options.model or "",
        "budget": options.max_tokens,
    }
    if options.base_file:
        inputs["base"] = own_part("base", options.base_file)
    if options.output_style_file:
        inputs["output_style"] = own_text(options.output_style_file)
    if options.mcp:
        from deepprompt.commands.build.servers import servers_of

        inputs["mcp"] = [server for text in options.mcp for server in servers_of(text, notes)]
    if options.slash_command:
        from deepprompt.systems.preset import SlashCommand

        named = [from_system(text, "slash command", notes).partition("=") for text in options.slash_command]
        inputs["commands"] = [SlashCommand(name, description) for name, _, description in named]
    return inputs
