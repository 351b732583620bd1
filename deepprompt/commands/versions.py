"""`deepprompt versions`: list the families of prompt parts and their versions."""

from __future__ import annotations

import argparse

from deepprompt.commands.catalogs import add_parts_option, catalog_of
from deepprompt.commands.output import write_json, write_lines
from deepprompt.errors import AssetError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `versions`."""
    add_parts_option(parser)
    parser.add_argument("--json", action="store_true", help="print the families and their versions as JSON")


def run(options: argparse.Namespace) -> int:
    """Print one line for each family: its name, then its versions, oldest first."""
    catalog = catalog_of(options)
    versions = {family: catalog.versions(family) for family in catalog.families()}
    if not versions:
        raise AssetError(f"{options.parts}: no parts here; they would be FAMILY/VERSION/PART.md")
    if options.json:
        write_json(versions)
    else:
        write_lines(f"{family} {' '.join(found)}" for family, found in versions.items())
    return 0
