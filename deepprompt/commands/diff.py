"""`deepprompt diff`: what changed between two versions of a family of prompt parts, and what that costs."""

from __future__ import annotations

import argparse
import difflib

from deepprompt.catalog import Catalog, bundled, from_folder
from deepprompt.checks.tokens import estimate_tokens
from deepprompt.commands.output import write, write_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `diff`."""
    parser.add_argument("old", metavar="OLD", help="a version, such as base@1.0.0 or base~=1.0")
    parser.add_argument("new", metavar="NEW", help="the version to compare it with")
    parser.add_argument("--parts", metavar="DIR", help="look into a folder of parts, not into the bundled ones")
    parser.add_argument("--json", action="store_true", help="the changes part by part as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the changed parts as a unified diff, each with its token difference, then the sum."""
    catalog = from_folder(options.parts) if options.parts else bundled()
    old, new = _texts(catalog, options.old), _texts(catalog, options.new)
    changes = [_change(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])]
    changes = [change for change in changes if change["kind"] != "same"]
    total = sum(map(estimate_tokens, new.values())) - sum(map(estimate_tokens, old.values()))
    if options.json:
        write_json({"old": options.old, "new": options.new, "changes": changes, "tokens": total})
        return 0
    for change in changes:
        write(f"{change['part']}: {change['kind']}, {change['tokens']:+} tokens\n{change['diff']}")
    write(f"{len(changes)} of {len({*old, *new})} parts changed, {total:+} tokens in all (estimated)\n")
    return 0


def _texts(catalog: Catalog, ask: str) -> dict[str, str]:
    family, version = catalog.resolve(ask)
    return {row.part: catalog.text(family, version, row.part) for row in catalog.table(family, version)}


def _change(name: str, old: str | None, new: str | None) -> dict[str, str | int]:
    kind = "added" if old is None else "removed" if new is None else "same" if old == new else "changed"
    before, after = old or "", new or ""
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), f"old/{name}", f"new/{name}", lineterm="")
    return {
        "part": name,
        "kind": kind,
        "tokens": estimate_tokens(after) - estimate_tokens(before),
        "diff": "".join(f"{line}\n" for line in lines),
    }
