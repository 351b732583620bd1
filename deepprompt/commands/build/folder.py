"""The options of `deepprompt build` about the folder and the text, and what is gathered from the folder."""

from __future__ import annotations

import argparse

from deepprompt.commands.options import add_folder_option, add_home_option, count, given, home_folder, working_folder
from deepprompt.frozen import replace
from deepprompt.sources.instructions import DEFAULT_PROFILE, InstructionFiles
from deepprompt.sources.surroundings import Surroundings, gather


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
        help="the base prompt alone in place of a preset: 1.0.0, ~=1.0, or FAMILY@VERSION",
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
        action="append",
        default=[],
        help="a folder of presets and parts of your own, searched before the bundled ones; may be repeated",
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


def gathered(options: argparse.Namespace, profile: str = DEFAULT_PROFILE) -> Surroundings:
    """Return what the options ask for of the folder."""
    around = gather(
        working_folder(options),
        home_folder(options),
        root=options.root,
        portable=options.portable,
        git=not (options.no_git or options.no_project),
        claude_md=options.claude_md,
        profile=options.instructions or profile,
        instructions_limit=options.instructions_limit,
    )
    return replace(around, instructions=_advised(around.instructions, options.instructions or profile))


def _advised(instructions: InstructionFiles, profile: str) -> InstructionFiles:
    """Return the files with notes that name the option which loads more of a file that was cut."""
    other = "--instructions agents or " if profile == DEFAULT_PROFILE else ""
    advice = f"; load more of it with {other}--instructions-limit BYTES"
    notes = instructions.notes
    return InstructionFiles(
        instructions,
        [replace(note, detail=note.detail + advice) if note.kind == "cut" else note for note in notes],
    )
