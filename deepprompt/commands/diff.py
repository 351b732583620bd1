"""`deepprompt diff`: what changed between two versions of a family of prompt parts, in text and tokens."""

from __future__ import annotations

import argparse
import difflib

from deepprompt.catalog import SUFFIX, Catalog, bundled, from_folder
from deepprompt.commands.catalogs import add_parts_option, catalog_of, find_part
from deepprompt.commands.output import write, write_json
from deepprompt.errors import UnknownPartError
from deepprompt.prompt import sha256_hex
from deepprompt.systems.changes import files_of, override_of, recorded
from deepprompt.systems.preset_file import FILE
from deepprompt.systems.presets import load_preset
from deepprompt.tokens import estimate_tokens

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset
    from deepprompt.systems.rows import File


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `diff`."""
    parser.add_argument(
        "old",
        metavar="OLD",
        help="a version, such as base@1.0.0; or, without NEW, a part that overrides or replaces a bundled one",
    )
    parser.add_argument("new", metavar="NEW", nargs="?", help="the version to compare OLD with")
    add_parts_option(parser)
    parser.add_argument("--json", action="store_true", help="print the changes, part by part, as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the changed parts as unified diffs, each with its token difference, and the sum."""
    if options.new is None:
        return _show_replaced(options)
    catalog = catalog_of(options)
    old_name, new_name = _resolved(catalog, options.old), _resolved(catalog, options.new)
    old, new = _Version(*old_name), _Version(*new_name)
    names = list(dict.fromkeys([*old.texts, *new.texts]))
    changes = [change for name in names if (change := _change(name, old, new))]
    total = sum(map(estimate_tokens, new.texts.values())) - sum(map(estimate_tokens, old.texts.values()))
    declared = list(
        difflib.unified_diff(old.declared, new.declared, "old/preset.toml", "new/preset.toml", "", "", 0, "")
    )
    kept, still = [name for name in old.order if name in new.order], [name for name in new.order if name in old.order]
    if options.json:
        report = {"old": "@".join(old_name[1:]), "new": "@".join(new_name[1:]), "changes": changes}
        write_json({**report, "reordered": kept != still, "declared": declared, "tokens": total})
        return 0
    for change in changes:
        write(f"{change['part']}: {change['kind']}, {change['tokens']:+} tokens\n{change['diff']}")
    if declared:
        write("flags, variables, lists, tools, agents or reminders:\n" + "".join(f"{line}\n" for line in declared))
    if kept != still:
        write("the order of the parts changed\n")
    write(f"{len(changes)} of {len(names)} parts changed, {total:+} tokens in all (estimated)\n")
    return 0


def _resolved(catalog: Catalog, ask: str) -> tuple[Catalog, str, str]:
    """Return catalogue, family and version. Beside a folder of presets, a bundled one can be named too."""
    family = ask.partition("@")[0]
    if not catalog.is_bundled and family not in catalog.families() and family in bundled().families_with(FILE):
        return (bundled(), *bundled().resolve(ask))
    return (catalog, *catalog.resolve(ask))


def _show_replaced(options: argparse.Namespace) -> int:
    """Print how a part of the user's and the text that it replaces each differ from the text it was written against."""
    if not options.parts:
        options.usage_error("a part alone is compared with its override: say where that is, with --parts DIR")
    own = from_folder(options.parts)
    found = _replaced(own, options.old) or _override(options, own)
    if options.json:
        write_json(found)
        return 0
    start, now, yours = found["written against"], found["bundled"] or "", found["yours"] or ""
    bundled_name = f"bundled {found['version']}"
    if start is None:
        write("the text that it was written against is not recorded, or no longer bundled\n")
        write(_unified(now, yours, bundled_name, "yours"))
        return 0
    write(_unified(start, now, "written against", bundled_name) or "the bundled text has not changed since\n")
    write(_unified(start, yours, "written against", "yours") or "the override changes nothing\n")
    return 0


def _override(options: argparse.Namespace, own: Catalog) -> dict[str, str | None]:
    """Return the texts around an override: a file in a folder of a bundled family's name."""
    try:
        family, version, part = find_part(bundled(), options.old)
    except UnknownPartError:
        _refuse_version(options, own)
        raise
    override = override_of(own, family, version, part + SUFFIX)
    if override is None:
        raise UnknownPartError(f"{options.parts} has no override of {family}/{part}")
    yours = own.text(family, override.version, part)
    return _around(family, version, part, recorded(override), yours, f"{family}/{part}")


def _replaced(own: Catalog, ask: str) -> dict[str, str | None] | None:
    """Return the texts around a part that an extension in the folder replaces, None if none of them does."""
    name, _, version = ask.partition("@")
    family, slash, part = name.partition("/")
    wanted = (family, part) if slash and family in own.families_with(FILE) else ("", name)
    for each in [wanted[0]] if wanted[0] else own.families_with(FILE):
        preset = load_preset(f"{each}@{version}" if version else each, own)
        files = _files(preset)
        mine = files.get(wanted[1])
        parent = _files(load_preset(preset.extends, own)) if preset.extends else {}
        theirs = parent.get(wanted[1])
        if mine is not None and theirs is not None and mine.catalog is own and theirs.catalog is not own:
            yours = own.file(mine.family, mine.version, mine.path)
            return _around(
                theirs.family, theirs.version, theirs.name, recorded(mine), yours, f"{preset.family}/{wanted[1]}"
            )
    return None


def _files(preset: Preset) -> dict[str, File]:
    return {**files_of(preset), **{row.name: file for row in preset.rows if (file := row.file("part")) is not None}}


def _around(family: str, version: str, part: str, digest: str | None, yours: str, shown: str) -> dict[str, str | None]:
    """Return the bundled text that a part was written against, if it is known, the one of now, and the part."""
    texts = {known: bundled().text(family, known, part) for known in bundled().versions(family)
             if bundled().has(family, known, part + SUFFIX)}  # fmt: skip
    start = next((text for text in texts.values() if sha256_hex(text) == digest), None)
    return {"part": shown, "version": version, "written against": start, "bundled": texts[version], "yours": yours}


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
    """A version as `diff` compares it: the texts of its rows by name, where and when they stand, and what it declares.

    A family without a preset has its parts, or else its files.
    """

    def __init__(self, catalog: Catalog, family: str, version: str) -> None:
        self.declared: list[str] = []
        if catalog.has(family, version, FILE):
            self._read_preset(load_preset(f"{family}@{version}", *(() if catalog.is_bundled else (catalog,))))
            return
        self.rows: dict[str, str] = {}
        files = catalog.files(family, version)
        parts = [file for file in files if file.endswith(SUFFIX)]
        self.texts = {file.removesuffix(SUFFIX): catalog.file(family, version, file) for file in parts or files}
        self.order = list(self.texts)

    def _read_preset(self, preset: Preset) -> None:
        from deepprompt.commands.preset_text import preset_text

        self.order = [row.name for row in preset.rows]
        self.rows = {row.name: f"{row.pace.name.lower()} {row.when}" for row in preset.rows}
        self.texts = {
            row.name: row.what if row.kind == "text" else "".join(f"{file.text}\n" for _, file in row.files)
            for row in preset.rows
        }
        shown = {file.name for row in preset.rows for _, file in row.files}
        self.texts |= {name: f"{file.text}\n" for name, file in files_of(preset).items() if name not in shown}
        self.declared = preset_text(preset).partition("\n]\n")[2].strip("\n").splitlines()


def _change(name: str, old: _Version, new: _Version) -> dict[str, str | int] | None:
    before, after = old.texts.get(name), new.texts.get(name)
    was, now = old.rows.get(name), new.rows.get(name)
    if before == after and was == now:
        return None
    kind = "added" if before is None else "removed" if after is None else "changed"
    if was and now and was != now:
        kind = f"{was} -> {now}"
    before, after = before or "", after or ""
    return {
        "part": name,
        "kind": kind,
        "tokens": estimate_tokens(after) - estimate_tokens(before),
        "diff": _unified(before, after, f"old/{name}", f"new/{name}"),
    }
