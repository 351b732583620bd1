"""`deepprompt plan`: which instruction files an agent loads for a folder, in which order, and why not the others."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from deepprompt.commands.options import add_folder_option, add_home_option, given, home_folder, working_folder
from deepprompt.commands.output import table, write_json, write_lines
from deepprompt.sources.instructions import DEFAULT_PROFILE
from deepprompt.sources.plan.entry import Entry
from deepprompt.sources.plan.plan import InstructionPlan, plan_instructions
from deepprompt.sources.plan.profile_file import load_profile, profile_names

_HEADS = ("", "kind", "bytes", "of", "file", "why")
_TO_THE_RIGHT = (2, 3)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `plan`."""
    parser.epilog = (
        f"Profiles: {', '.join(profile_names())}; or your own, as FILE.toml. A file is loaded, cut, shadowed by "
        "another, a duplicate, blank, conditional (a rule for some paths), over the limit, refused or outside. "
        "Deviations are places where deepprompt is more careful than the agent itself."
    )
    parser.add_argument(
        "--profile", type=given, metavar="NAME", default=DEFAULT_PROFILE, help="whose rules apply (default: deepseek)"
    )
    parser.add_argument(
        "--compare", type=given, metavar="NAMES", help="profiles to compare it with, separated by commas; or all"
    )
    add_folder_option(parser)
    add_home_option(parser)
    parser.add_argument(
        "--root", type=given, metavar="DIR", help="the highest folder that may be read (default: the project's root)"
    )
    parser.add_argument(
        "--touch",
        type=given,
        metavar="FILE",
        action="append",
        default=[],
        help="list what reading this file adds; may be repeated",
    )
    parser.add_argument("--all", action="store_true", help="also list the files that do not exist")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON, with the texts")


def run(options: argparse.Namespace) -> int:
    """Print the plan of each profile, or one table that compares them."""
    names = [options.profile]
    if options.compare:
        others = profile_names() if options.compare == "all" else options.compare.split(",")
        names = list(dict.fromkeys([*names, *(name.strip() for name in others)]))
    plans = [_plan(name, options) for name in names]
    home = home_folder(options)
    if options.json:
        reports = [_report(*plan, every=options.all) for plan in plans]
        write_json(reports if options.compare else reports[0])
    elif options.compare:
        write_lines(_comparison(plans, home))
    else:
        write_lines(_lines(*plans[0], home=home, every=options.all))
    return 0


def _plan(name: str, options: argparse.Namespace) -> tuple[InstructionPlan, list[InstructionPlan]]:
    """Return a profile's plan, and the plans of what each touched file adds."""
    cwd = os.path.realpath(working_folder(options))
    first = plan = plan_instructions(cwd, home=home_folder(options), profile=name, root=options.root)
    touched = []
    for path in options.touch:
        plan = plan.touch(os.path.abspath(path))
        touched.append(plan)
    return first, touched


def _listed(plan: InstructionPlan, every: bool) -> list[Entry]:
    return [entry for entry in plan.entries if every or entry.reason != "missing" or entry.parent]


def _lines(plan: InstructionPlan, touched: list[InstructionPlan], *, home: str, every: bool) -> Iterator[str]:
    profile = load_profile(plan.profile) if plan.profile in profile_names() else None
    about = f" ({profile.agent} {profile.version}, recorded {profile.recorded})" if profile else ""
    yield f"profile {plan.profile}{about}"
    yield f"root {plan.root}"
    for number, each in enumerate([plan, *touched]):
        entries = _listed(each, every)
        yield ""
        if number:
            yield f"on touch {number}:"
        yield from table([_HEADS, *(_cells(entry, plan.root, home) for entry in entries)], _TO_THE_RIGHT)
        files = "1 file" if len(each.included) == 1 else f"{len(each.included)} files"
        yield f"included: {each.bytes:,} bytes of {files}"
        for deviation in each.deviations:
            yield f"deviation: {_short(deviation.path, plan.root, home)}: {deviation.ours}; the agent {deviation.agent}"


def _cells(entry: Entry, root: str, home: str) -> tuple[str, ...]:
    path = _short(entry.path, root, home)
    if entry.parent:
        path += f" (from {_short(entry.parent, root, home)})"
    included = f"{entry.bytes_included:,}" if entry.included else ""
    return entry.reason, entry.kind, included, f"{entry.bytes_file:,}", path, _short(entry.detail, root, home)


def _short(path: str, root: str, home: str) -> str:
    """Return a path below the root or the home folder without the beginning that all of them share."""
    for folder, shown in ((root, ""), (home, "~/")):
        if folder and path.startswith(folder.rstrip(os.sep) + os.sep):
            return shown + path[len(folder.rstrip(os.sep)) + 1 :]
    return path


def _comparison(plans: list[tuple[InstructionPlan, list[InstructionPlan]]], home: str) -> Iterator[str]:
    """Yield one line for each file, with what every profile does with it, by its place in the order."""
    whole = [[entry for each in (plan, *touched) for entry in each.entries] for plan, touched in plans]
    found = {entry.path: "" for entries in whole for entry in entries if entry.reason != "missing"}
    roots = [plan.root for plan, _ in plans]
    root = min(roots, key=len)
    rows = [("file", *(plan.profile for plan, _ in plans))]
    for path in found:
        rows.append((_short(path, root, home), *(_standing(entries, path) for entries in whole)))
    sizes = (sum(each.bytes for each in (plan, *touched)) for plan, touched in plans)
    rows.append(("bytes included", *(f"{size:,}" for size in sizes)))
    yield f"root {root}"
    yield ""
    yield from table(rows)


def _standing(entries: list[Entry], path: str) -> str:
    """Return what a profile does with a file: its number in the order, or why it is not included."""
    order = [entry.path for entry in entries if entry.included]
    entry = next((entry for entry in entries if entry.path == path and entry.included), None)
    if entry is not None:
        return f"{order.index(path) + 1} {entry.reason}"
    other = next((entry.reason for entry in entries if entry.path == path), "-")
    return "-" if other == "missing" else other


def _report(plan: InstructionPlan, touched: list[InstructionPlan], *, every: bool) -> dict[str, object]:
    report: dict[str, object] = {"profile": plan.profile, "root": plan.root, **_parts(plan, every)}
    if touched:
        report["touched"] = [_parts(each, every) for each in touched]
    return report


def _parts(plan: InstructionPlan, every: bool) -> dict[str, object]:
    return {
        "bytes": plan.bytes,
        "entries": [
            {
                "path": entry.path,
                "included": entry.included,
                "reason": entry.reason,
                "detail": entry.detail,
                "kind": entry.kind,
                "trust": entry.trust,
                "bytes_file": entry.bytes_file,
                "bytes_read": entry.bytes_read,
                "bytes_included": entry.bytes_included,
                "sha256": entry.sha256,
                "parent": entry.parent,
                "globs": list(entry.globs),
                "text": entry.text,
            }
            for entry in _listed(plan, every)
        ],
        "deviations": [
            {"path": deviation.path, "ours": deviation.ours, "agent": deviation.agent} for deviation in plan.deviations
        ],
        "notes": [str(note) for note in plan.notes],
    }
