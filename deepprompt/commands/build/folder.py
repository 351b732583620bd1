"""`deepprompt build` for a folder: the cache-stable builder, with everything gathered from the folder."""

from __future__ import annotations

import argparse
import dataclasses

from deepprompt.catalog import bundled, from_folder
from deepprompt.commands.build.options import appended, own_part
from deepprompt.commands.options import add_folder_option, add_home_option, count, given, home_folder, working_folder
from deepprompt.errors import AssetError
from deepprompt.prompt import Note, Part, Prompt
from deepprompt.sources.instructions import DEFAULT_PROFILE, InstructionFiles
from deepprompt.sources.surroundings import gather
from deepprompt.systems.builder import SystemPromptBuilder

_GIT_SECTIONS = ("git status", "git diff")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about where to look and what the prompt is made of."""
    where = parser.add_argument_group("where to look")
    add_folder_option(where)
    add_home_option(where)
    where.add_argument(
        "--root",
        metavar="DIR",
        type=given,
        help="look for the repository no higher than this folder (default: no limit)",
    )
    where.add_argument(
        "--portable",
        action="store_true",
        help="show instruction files by their path in the project or below ~/, the same on every machine",
    )
    where.add_argument(
        "--instructions",
        type=given,
        metavar="PROFILE",
        help="load the instruction files and skills that this agent loads, such as agents or codex, or a profile of "
        "your own, as FILE.toml; 'deepprompt plan' lists them (default: deepseek)",
    )
    where.add_argument(
        "--instructions-limit",
        type=count,
        metavar="BYTES",
        help="how many bytes of instruction files are loaded, instead of the profile's limits",
    )
    where.add_argument("--no-git", action="store_true", help="leave out branch, status and diff")
    where.add_argument("--no-project", action="store_true", help="leave out everything after the boundary")
    base = parser.add_argument_group("what it is made of")
    only = base.add_mutually_exclusive_group()
    only.add_argument(
        "--base",
        type=given,
        metavar="VERSION",
        help="a bundled base prompt: 1.0.0, ~=1.0, or FAMILY@VERSION (default: 1.0.0)",
    )
    only.add_argument(
        "--base-file", type=given, metavar="FILE", help="use your own base prompt instead of a bundled one"
    )
    only.add_argument(
        "--custom-file", type=given, metavar="FILE", help="print your own whole prompt as it is, with nothing added"
    )
    base.add_argument(
        "--parts",
        type=given,
        metavar="DIR",
        help="a folder of parts, laid out like the bundled ones, for --base or to override parts of a --preset",
    )
    base.add_argument(
        "--append",
        metavar="TEXT",
        action="append",
        default=[],
        help="add this text at the end of the static prefix; may be repeated",
    )
    base.add_argument(
        "--append-file",
        type=given,
        metavar="FILE",
        action="append",
        default=[],
        help="add the text of this file, after --append; may be repeated",
    )


def compose_folder(options: argparse.Namespace) -> Prompt:
    """Gather the inputs and return the prompt."""
    cwd = working_folder(options)
    git = not (options.no_git or options.no_project)
    around = gather(
        cwd,
        home_folder(options),
        root=options.root,
        portable=options.portable,
        git=git,
        profile=options.instructions or DEFAULT_PROFILE,
        instructions_limit=options.instructions_limit,
    )
    notes: list[Note] = []
    builder = SystemPromptBuilder(
        base_parts=own_part("base", options.base_file) if options.base_file else _base_parts(options),
        instructions=_advised(around.instructions, options),
        skill_directory=around.skills.index_text(),
        project=None if options.no_project else around.project,
        append=appended(options, notes),
    )
    prompt = builder.compose()
    parts = prompt.parts if git else tuple(part for part in prompt.parts if part.name not in _GIT_SECTIONS)
    return dataclasses.replace(prompt, parts=parts, notes=(*prompt.notes, *notes))


def _base_parts(options: argparse.Namespace) -> tuple[Part, ...]:
    """Return the parts of the base that the options name, none for the builder's default."""
    if options.preset:
        from deepprompt.systems.preset import resolve_preset

        return bundled().parts(resolve_preset(options.preset))
    if not options.base:
        return ()
    catalog = from_folder(options.parts) if options.parts else bundled()
    ask: str = options.base
    if not ask[0].isalpha():  # a version or a specifier alone is one of the family `base`
        ask = f"base@{ask}" if ask[0].isdigit() else f"base{ask}"
    if not (parts := catalog.parts(ask)):
        raise AssetError(f"{catalog.label}: {'/'.join(catalog.resolve(ask))}: no part of it is always in the prompt")
    return parts


def _advised(instructions: InstructionFiles, options: argparse.Namespace) -> InstructionFiles:
    """Return the files with notes that name the option which loads more of a file that was cut."""
    other = "" if options.instructions else "--instructions agents or "
    advice = f"; load more of it with {other}--instructions-limit BYTES"
    notes = instructions.notes
    return InstructionFiles(
        instructions,
        [dataclasses.replace(note, detail=note.detail + advice) if note.kind == "cut" else note for note in notes],
    )
