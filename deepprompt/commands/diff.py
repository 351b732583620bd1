"""`deepprompt diff`: what changed between two versions of a family of prompt parts, in text and tokens."""

from __future__ import annotations

import argparse
import difflib

from deepprompt.catalog import SUFFIX, Catalog, bundled, from_folder
from deepprompt.commands.catalogs import add_parts_option, catalog_of, find_part
from deepprompt.commands.output import write, write_json
from deepprompt.errors import UnknownPartError
from deepprompt.prompt import sha256_hex
from deepprompt.systems.changes import override_of, recorded
from deepprompt.tokens import estimate_tokens


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `diff`."""
    parser.add_argument(
        "old", metavar="OLD", help="a version, such as base@1.0.0; or, without NEW, a part with an override"
    )
    parser.add_argument("new", metavar="NEW", nargs="?", help="the version to compare OLD with")
    add_parts_option(parser)
    parser.add_argument("--json", action="store_true", help="print the changes, part by part, as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the changed parts as unified diffs, each with its token difference, and the sum."""
    if options.new is None:
        return _show_override(options)
    catalog = catalog_of(options)
    old_name, new_name = catalog.resolve(options.old), catalog.resolve(options.new)
    old, new = _Version(catalog, *old_name), _Version(catalog, *new_name)
    names = list(dict.fromkeys([*old.texts, *new.texts]))
    changes = [change for name in names if (change := _change(name, old, new))]
    total = sum(map(estimate_tokens, new.texts.values())) - sum(map(estimate_tokens, old.texts.values()))
    reordered = [name for name in old.texts if name in new.texts] != [name for name in new.texts if name in old.texts]
    if options.json:
        report = {"old": "@".join(old_name), "new": "@".join(new_name), "changes": changes}
        write_json({**report, "reordered": reordered, "tokens": total})
        return 0
    for change in changes:
        write(f"{change['part']}: {change['kind']}, {change['tokens']:+} tokens\n{change['diff']}")
    if reordered:
        write("the order of the parts changed\n")
    write(f"{len(changes)} of {len(names)} parts changed, {total:+} tokens in all (estimated)\n")
    return 0


def _show_override(options: argparse.Namespace) -> int:
    """Print how the override and the bundled text each differ from the text that the override was written against."""
    if not options.parts:
        options.usage_error("a part alone is compared with its override: say where that is, with --parts DIR")
    own = from_folder(options.parts)
    try:
        family, version, part = find_part(bundled(), options.old)
    except UnknownPartError:
        _refuse_version(options, own)
        raise
    override = override_of(own, family, version, part + SUFFIX)
    if override is None:
        raise UnknownPartError(f"{options.parts} has no override of {family}/{part}")
    digest = recorded(override)
    texts = {known: bundled().text(family, known, part) for known in bundled().versions(family)
             if bundled().has(family, known, part + SUFFIX)}  # fmt: skip
    start = next((text for text in texts.values() if sha256_hex(text) == digest), None)
    now, yours = texts[version], own.text(family, override.version, part)
    found = {"part": f"{family}/{part}", "written against": start, "bundled": now, "yours": yours}
    if options.json:
        write_json(found)
        return 0
    if start is None:
        write("the text that it was written against is not recorded, or no longer bundled\n")
        write(_unified(now, yours, f"bundled {version}", "yours"))
        return 0
    write(_unified(start, now, "written against", f"bundled {version}") or "the bundled text has not changed since\n")
    write(_unified(start, yours, "written against", "yours") or "the override changes nothing\n")
    return 0


def _refuse_version(options: argparse.Namespace, own: Catalog) -> None:
    """End with wrong usage if the one argument is a version, which needs another to be compared with."""
    try:
        family, _ = own.resolve(options.old)
    except UnknownPartError:
        return
    there = ", ".join(own.versions(family))
    options.usage_error(f"{options.old} is a version: name the other, NEW, to compare it with; {family} has: {there}")


def _unified(before: str, after: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text. An extra line says so if the last one has no newline."""
    lines = text.split("\n")
    return [*lines, "(no newline at the end)"] if lines[-1] else lines[:-1]


class _Version:
    """The texts of a version's parts in order, and their rows in its table; its files if it has no parts."""

    def __init__(self, catalog: Catalog, family: str, version: str) -> None:
        files = [] if catalog.names(family, version) else catalog.files(family, version)
        self.rows = {} if files else {row.part: row for row in catalog.table(family, version)}
        self.texts = {part: catalog.text(family, version, part) for part in self.rows}
        self.texts |= {file: catalog.file(family, version, file) for file in files}


def _change(name: str, old: _Version, new: _Version) -> dict[str, str | int] | None:
    before, after = old.texts.get(name), new.texts.get(name)
    was, now = old.rows.get(name), new.rows.get(name)
    if before == after and was == now:
        return None
    kind = "added" if before is None else "removed" if after is None else "changed"
    if before == after and was and now:
        kind = f"{was.pace.name.lower()} {was.condition} -> {now.pace.name.lower()} {now.condition}"
    before, after = before or "", after or ""
    return {
        "part": name,
        "kind": kind,
        "tokens": estimate_tokens(after) - estimate_tokens(before),
        "diff": _unified(before, after, f"old/{name}", f"new/{name}"),
    }
