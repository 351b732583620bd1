"""`deepprompt versions`: which families of prompt parts there are, in which versions."""

from __future__ import annotations

import argparse

from deepprompt.catalog import bundled, from_folder
from deepprompt.commands.options import given
from deepprompt.commands.output import write_json, write_lines
from deepprompt.errors import AssetError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `versions`."""
    parser.add_argument(
        "--parts", type=given, metavar="DIR", help="look into a folder of parts, not into the bundled ones"
    )
    parser.add_argument("--json", action="store_true", help="families with their versions as JSON")


def run(options: argparse.Namespace) -> int:
    """Print one line a family: its name, then its versions, oldest first."""
    catalog = from_folder(options.parts) if options.parts else bundled()
    versions = {family: catalog.versions(family) for family in catalog.families()}
    if not versions:
        raise AssetError(f"{options.parts}: no parts here; they would be FAMILY/VERSION/PART.md")
    if options.json:
        write_json(versions)
    else:
        write_lines(f"{family} {' '.join(found)}" for family, found in versions.items())
    return 0
