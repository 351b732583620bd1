"""`deepprompt parts`: list the prompt parts with their versions, sizes, paces and conditions."""

from __future__ import annotations

import argparse

from deepprompt.catalog import PRESET, SUFFIX, Catalog
from deepprompt.commands.catalogs import add_parts_option, catalog_of
from deepprompt.commands.output import write_json, write_lines
from deepprompt.errors import AssetError
from deepprompt.tokens import estimate_tokens


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `parts`."""
    parser.add_argument(
        "ask", metavar="FAMILY[@VERSION]", nargs="?", help="list only this family (default: the newest version of each)"
    )
    add_parts_option(parser)
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(options: argparse.Namespace) -> int:
    """Print one line for each part."""
    catalog = catalog_of(options)
    asks = [options.ask] if options.ask else catalog.families()
    rows = [row for ask in asks for row in _rows(catalog, *catalog.resolve(ask))]
    if not rows and options.ask:
        family, version = catalog.resolve(options.ask)
        files = ", ".join(f"'deepprompt show {family}/{name}'" for name in catalog.files(family, version))
        raise AssetError(f"{family} {version} has no prompt parts, only files; print one with {files}")
    if not rows:
        raise AssetError(f"{options.parts}: no parts here; they would be FAMILY/VERSION/PART.md")
    if options.json:
        write_json(rows)
        return 0
    columns = ("family", "version", "part", "tokens", "pace", "condition")
    table = [columns, *(tuple(str(row[column]) for column in columns) for row in rows)]
    widths = [max(len(line[index]) for line in table) for index in range(len(columns))]
    for line in table:
        cells = [cell.rjust(width) if name == "tokens" else cell.ljust(width)
                 for name, cell, width in zip(columns, line, widths, strict=True)]  # fmt: skip
        write_lines(["  ".join(cells).rstrip()])
    return 0


def _rows(catalog: Catalog, family: str, version: str) -> list[dict[str, object]]:
    """Return the parts of a version: those of its preset table in that order, then the others by name."""
    has_table = catalog.has(family, version, PRESET)  # a folder of overrides has none
    listed = {row.part: row for row in catalog.table(family, version)} if has_table else {}
    others = [name for name in catalog.names(family, version) if name not in listed]
    rows: list[dict[str, object]] = []
    for name in [*listed, *others]:
        row = listed.get(name)
        rows.append(
            {
                "family": family,
                "version": version,
                "part": name,
                "tokens": estimate_tokens(catalog.file(family, version, name + SUFFIX)),
                "pace": row.pace.name.lower() if row else "",
                "condition": row.condition if row else name.rpartition("/")[0],
            }
        )
    return rows
