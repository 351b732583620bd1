"""`deepprompt show`: the exact text of one prompt part or other file, and the start of an override of a part."""

from __future__ import annotations

import argparse
import os

from deepprompt.catalog import SUFFIX, Catalog, bundled, from_folder
from deepprompt.commands.options import given
from deepprompt.commands.output import write
from deepprompt.errors import SourceError, UnknownPartError
from deepprompt.prompt import sha256_hex
from deepprompt.systems.overrides import TABLE
from deepprompt.text.suggest import did_you_mean


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.add_argument(
        "part",
        metavar="PART[@VERSION]",
        help="a part as 'deepprompt parts' names it, such as glob or base/tools; or a file: providers/facts.json",
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
    if options.override_in:
        family, version, part = find_part(catalog, options.part)
        _start_override(options.override_in, family, version, part, catalog.text(family, version, part))
    else:
        write(catalog.file(*_find_file(catalog, options.part)))
    return 0


def find_part(catalog: Catalog, ask: str) -> tuple[str, str, str]:
    """Return family, version and name of a part that may be named with its family or without."""
    family, version, file = _find_file(catalog, ask)
    if not file.endswith(SUFFIX):
        raise UnknownPartError(f"{family}/{file} is no prompt part: only a part can have an override")
    return family, version, file.removesuffix(SUFFIX)


def _find_file(catalog: Catalog, ask: str) -> tuple[str, str, str]:
    """Return family, version and name of a file: a part is named without its suffix, or with it."""
    name, at, version = ask.partition("@")
    found = []
    every = []
    for family in catalog.families():
        try:
            _, known = catalog.resolve(f"{family}{at}{version}")
        except UnknownPartError:
            continue
        files = catalog.files(family, known)
        every += _offered(family, files, name)
        found += [(family, known, file) for file in files if name in _called(family, file)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{family}/{file.removesuffix(SUFFIX)}" for family, _, file in found)
        raise UnknownPartError(f"{name!r} is several parts: {several}")
    if at:
        for family in catalog.families():
            having = [known for known in catalog.versions(family)
                      if any(name in _called(family, file) for file in catalog.files(family, known))]  # fmt: skip
            if having:
                raise UnknownPartError(f"no version {version!r} of {name!r}; {family} has: {', '.join(having)}")
        every = [part for family in catalog.families()
                 for part in _offered(family, catalog.files(*catalog.resolve(family)), name)]  # fmt: skip
    if name in catalog.families():
        every = [part for part in every if part.startswith(f"{name}/")]
    raise UnknownPartError(f"no part named {name!r}; {did_you_mean(name, every)}")


def _called(family: str, file: str) -> set[str]:
    """Return what a file may be called: by its name alone or with the family, a part without its suffix too."""
    return {name for called in (file, file.removesuffix(SUFFIX)) for name in (called, f"{family}/{called}")}


def _offered(family: str, files: list[str], name: str) -> list[str]:
    """Return what somebody may have meant by a name: parts, other files only by a file's name or without parts."""
    parts = [file for file in files if file.endswith(SUFFIX)]
    return [f"{family}/{file.removesuffix(SUFFIX)}" for file in (parts if parts and "." not in name else files)]


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
