"""`deepprompt parts`: list the prompt parts with their versions, sizes, paces, conditions, and where they come from."""

from __future__ import annotations

import argparse

from deepprompt.catalog import SUFFIX, Catalog, bundled
from deepprompt.commands.catalogs import add_parts_option, catalog_of
from deepprompt.commands.output import table, write_json, write_lines
from deepprompt.errors import AssetError, UnknownPartError
from deepprompt.systems.preset_file import FILE
from deepprompt.systems.presets import load_preset
from deepprompt.tokens import estimate_tokens

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset
    from deepprompt.systems.rows import Row

_COLUMNS = ("family", "version", "part", "tokens", "pace", "condition", "from")


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
    rows = [row for ask in asks for row in _rows(catalog, *_resolved(catalog, ask))]
    if not rows and options.ask:
        family, version = catalog.resolve(options.ask)
        files = ", ".join(f"'deepprompt show {family}/{name}'" for name in catalog.files(family, version))
        raise AssetError(f"{family} {version} has no prompt parts, only files; print one with {files}")
    if not rows:
        raise AssetError(f"{options.parts}: no parts here; they would be FAMILY/VERSION/PART.md")
    if options.json:
        write_json(rows)
        return 0
    shown = _COLUMNS if any(row["from"] for row in rows) else _COLUMNS[:-1]
    cells = [shown, *(tuple(str(row[column]) for column in shown) for row in rows)]
    write_lines(table(cells, to_the_right=(3,)))
    return 0


def _resolved(catalog: Catalog, ask: str) -> tuple[str, str]:
    """Return family and version. A family that only the bundled catalogue has is named as such."""
    try:
        return catalog.resolve(ask)
    except UnknownPartError as error:
        if catalog.is_bundled or ask.partition("@")[0] not in bundled().families():
            raise
        raise UnknownPartError(f"{error}; {ask} is bundled: leave out --parts to list it") from None


def _rows(catalog: Catalog, family: str, version: str) -> list[dict[str, object]]:
    """Return the parts of a version: the rows of its preset in order, then its other parts by name."""
    rows: list[dict[str, object]] = []
    known: set[str] = set()
    if catalog.has(family, version, FILE):
        own = () if catalog.is_bundled else (catalog,)
        preset = load_preset(f"{family}@{version}", *own)
        rows = [_of_row(preset, row, *own) for row in preset.rows]
        cases = [(variable, case) for variable in preset.variables.values() for case in variable.cases if case.part]
        rows += [
            _of_part(catalog, family, version, case.part.name, variable.pace.name.lower(), case.when)
            for variable, case in cases
            if case.part and (case.part.family, case.part.version) == (family, version)
        ]
        known = {file.path for row in preset.rows for _, file in row.files if file.family == family}
        known |= {case.part.path for _, case in cases if case.part}
    others = [name for name in catalog.names(family, version) if name + SUFFIX not in known]
    return rows + [_of_part(catalog, family, version, name, "", name.rpartition("/")[0]) for name in others]


def _of_part(catalog: Catalog, family: str, version: str, name: str, pace: str, condition: str) -> dict[str, object]:
    tokens = estimate_tokens(catalog.file(family, version, name + SUFFIX))
    return dict(zip(_COLUMNS, (family, version, name, tokens, pace, condition, ""), strict=True))


def _of_row(preset: Preset, row: Row, *own: Catalog) -> dict[str, object]:
    texts = [row.what] if row.kind == "text" else [file.text for _, file in row.files]
    tokens = estimate_tokens("".join(texts))
    cells = (preset.family, preset.version, row.name, tokens, row.pace.name.lower(), row.when, _from(preset, row, *own))
    return dict(zip(_COLUMNS, cells, strict=True))


def _from(preset: Preset, row: Row, *own: Catalog) -> str:
    """Return where a row's text comes from: "" for the preset itself, NAME@VERSION, `replaced` or `stale`."""
    if not row.files:
        return "" if row.kind == "text" else "deepprompt"
    file = row.files[0][1]
    if file.note:
        return "stale"
    if (file.family, file.version) != (preset.family, preset.version):
        return f"{file.family}@{file.version}"
    parent = {each.name for each in load_preset(preset.extends, *own).rows} if preset.extends else set()
    return "replaced" if row.name in parent else ""
