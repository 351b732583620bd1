"""`deepprompt show`: the exact text of one prompt part, and the start of an override of it."""

from __future__ import annotations

import argparse
import os

from deepprompt.catalog import SUFFIX, Catalog, bundled, close_matches, from_folder
from deepprompt.commands.options import given
from deepprompt.commands.output import write
from deepprompt.errors import SourceError, UnknownPartError
from deepprompt.prompt import sha256_hex
from deepprompt.systems.overrides import TABLE


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.add_argument(
        "part", metavar="PART[@VERSION]", help="a part as 'deepprompt parts' names it, such as glob or base/tools"
    )
    parser.add_argument("--parts", type=given, metavar="DIR", help="look into a folder, not into the bundled parts")
    parser.add_argument(
        "--override-in",
        type=given,
        metavar="DIR",
        help="copy the part there, to be edited, for build --parts DIR",
    )


def run(options: argparse.Namespace) -> int:
    """Print the part, or copy it."""
    catalog = from_folder(options.parts) if options.parts else bundled()
    family, version, part = find_part(catalog, options.part)
    text = catalog.text(family, version, part)
    if options.override_in:
        _start_override(options.override_in, family, version, part, text)
    else:
        write(text)
    return 0


def find_part(catalog: Catalog, ask: str) -> tuple[str, str, str]:
    """Return family, version and name of a part that may be named with its family or without."""
    name, at, version = ask.partition("@")
    found = []
    every = []
    for family in catalog.families():
        try:
            _, known = catalog.resolve(f"{family}{at}{version}")
        except UnknownPartError:
            continue
        names = catalog.names(family, known)
        every += [f"{family}/{part}" for part in names]
        found += [(family, known, part) for part in names if name in (part, f"{family}/{part}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownPartError(
            f"{name!r} is several parts: {', '.join(f'{family}/{part}' for family, _, part in found)}"
        )
    if at:
        for family in catalog.families():
            having = [known for known in catalog.versions(family) if name in _both_names(catalog, family, known)]
            if having:
                raise UnknownPartError(f"no version {version!r} of {name!r}; {family} has: {', '.join(having)}")
        every = [f"{family}/{part}" for family in catalog.families() for part in _newest(catalog, family)]
    near = ", ".join(close_matches(name, every)) or "none"
    raise UnknownPartError(f"no part named {name!r}; there are: {near}")


def _newest(catalog: Catalog, family: str) -> list[str]:
    return catalog.names(*catalog.resolve(family))


def _both_names(catalog: Catalog, family: str, version: str) -> set[str]:
    """Return what parts of a version may be called: by name alone, and with the family."""
    names = catalog.names(family, version)
    return {*names, *(f"{family}/{name}" for name in names)}


def _start_override(folder: str, family: str, version: str, part: str, text: str) -> None:
    path = os.path.join(folder, family, version, *part.split("/")) + SUFFIX
    table = os.path.join(folder, family, version, TABLE)
    if os.path.lexists(path):
        raise SourceError(f"{path}: there is an override already; edit it, or remove it first")
    lines = ""
    try:
        if os.path.exists(table):
            with open(table, encoding="utf-8", newline="") as file:
                lines = file.read()
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except UnicodeDecodeError as error:
        raise SourceError(f"{table}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}") from None
    if lines and not lines.endswith("\n"):
        lines += "\n"
    write(text, path)
    write(f"{lines}{part} {sha256_hex(text)}\n", table)
