"""`deepprompt show`: print the exact text of a prompt part or another file, or start an override of a part."""

from __future__ import annotations

import argparse
import os

from deepprompt.catalog import SUFFIX
from deepprompt.commands.catalogs import add_parts_option, catalog_of, find_file, find_part
from deepprompt.commands.options import given
from deepprompt.commands.output import write
from deepprompt.errors import SourceError
from deepprompt.prompt import sha256_hex
from deepprompt.sources.files import read_named
from deepprompt.systems.changes import OVERRIDES


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.add_argument(
        "part",
        metavar="PART[@VERSION]",
        help="a part as 'deepprompt parts' names it, such as glob or base/tools; or a file: providers/facts.json",
    )
    add_parts_option(parser)
    parser.add_argument(
        "--override-in",
        type=given,
        metavar="DIR",
        help="copy the part into this folder for you to edit, and build with --parts DIR",
    )


def run(options: argparse.Namespace) -> int:
    """Print the part, or copy it."""
    catalog = catalog_of(options)
    if options.override_in:
        family, version, part = find_part(catalog, options.part)
        _start_override(options.override_in, family, version, part, catalog.text(family, version, part))
    else:
        write(catalog.file(*find_file(catalog, options.part)))
    return 0


def _start_override(folder: str, family: str, version: str, part: str, text: str) -> None:
    path = os.path.join(folder, family, version, *part.split("/")) + SUFFIX
    table = os.path.join(folder, family, version, OVERRIDES)
    if os.path.lexists(path):
        raise SourceError(f"{path}: the override exists already; edit it, or remove it first")
    lines = ""
    try:
        if os.path.exists(table):
            lines = read_named(table, 1 << 20).decode()
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except UnicodeDecodeError as error:
        raise SourceError(f"{table}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}") from None
    if lines and not lines.endswith("\n"):
        lines += "\n"
    write(text, path)
    write(f"{lines}{part} {sha256_hex(text)}\n", table)
