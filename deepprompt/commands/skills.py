"""`deepprompt skills`: the skills that a profile lists for a folder, and what the specification finds wrong."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from deepprompt.commands.options import add_folder_option, add_home_option, given, home_folder, working_folder
from deepprompt.commands.output import say_notes, write_json, write_lines
from deepprompt.sources.instructions import DEFAULT_PROFILE
from deepprompt.sources.plan.profile_file import profile_names
from deepprompt.sources.skills import Skill, SkillStore, load_skills


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `skills`."""
    parser.epilog = (
        f"Profiles: {', '.join(profile_names())}; or your own, as FILE.toml. Problems are those that the Agent Skills "
        "specification defines (agentskills.io). With --check, a problem means exit code 1."
    )
    parser.add_argument(
        "--profile",
        type=given,
        metavar="NAME",
        default=DEFAULT_PROFILE,
        help="whose folders to search (default: deepseek)",
    )
    add_folder_option(parser)
    add_home_option(parser)
    parser.add_argument("--index", action="store_true", help="print the index as it appears in a prompt")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a skill has a problem")
    parser.add_argument("--json", action="store_true", help="print the skills as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the skills with their faults. What was skipped goes to standard error."""
    store = load_skills(working_folder(options), home_folder(options), profile=options.profile)
    index = store.index_text()
    faults = [store.faults(skill) for skill in store.skills]
    if options.json:
        write_json([_report(skill, found) for skill, found in zip(store.skills, faults, strict=True)])
    elif options.index:
        write_lines(index.splitlines())
    else:
        write_lines(_lines(store, faults, len(index.encode())))
    say_notes(index.notes)
    return 1 if options.check and any(faults) else 0


def _lines(store: SkillStore, faults: list[tuple[str, ...]], size: int) -> Iterator[str]:
    for skill, found in zip(store.skills, faults, strict=True):
        yield f"{skill.name}: {skill.description}"
        yield f"    {_place(skill)}" + (f"; tools: {', '.join(skill.tools)}" if skill.tools else "")
        yield from (f"    fault: {fault}" for fault in found)
    wrong = sum(bool(found) for found in faults)
    yield f"{len(store.skills)} skills, {wrong} with faults; the index has {size:,} bytes"


def _place(skill: Skill) -> str:
    return os.path.join(skill.root, skill.path)


def _report(skill: Skill, faults: tuple[str, ...]) -> dict[str, object]:
    return {
        "name": skill.name,
        "description": skill.description,
        "path": _place(skill),
        "run_mode": skill.run_mode,
        "tools": list(skill.tools),
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": dict(skill.metadata),
        "body_sha256": skill.body_hash,
        "faults": list(faults),
    }
