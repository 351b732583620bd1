"""Shared by the commands about prompt parts: which catalogue they use, and how parts in it are found by name."""

from __future__ import annotations

import argparse

from deepprompt.catalog import SUFFIX, Catalog, bundled, from_folder
from deepprompt.commands.options import given
from deepprompt.errors import UnknownPartError
from deepprompt.text.suggest import did_you_mean


def add_parts_option(parser: argparse.ArgumentParser) -> None:
    """Add `--parts`, see `catalog_of`."""
    parser.add_argument("--parts", type=given, metavar="DIR", help="use the parts in this folder, not the bundled ones")


def catalog_of(options: argparse.Namespace) -> Catalog:
    """Return the catalogue of the folder that `--parts` names, or else the bundled one."""
    return from_folder(options.parts) if options.parts else bundled()


def find_part(catalog: Catalog, ask: str) -> tuple[str, str, str]:
    """Return the family, version and name of a part. `ask` may leave out the family and the version."""
    family, version, file = find_file(catalog, ask)
    if not file.endswith(SUFFIX):
        raise UnknownPartError(f"{family}/{file} is no prompt part: only a part can have an override")
    return family, version, file.removesuffix(SUFFIX)


def find_file(catalog: Catalog, ask: str) -> tuple[str, str, str]:
    """Return the family, version and name of a file. The suffix of a part may be left out."""
    name, at, version = ask.partition("@")
    found = []
    every = []
    for family in catalog.families():
        try:
            asked = [catalog.resolve(f"{family}@{version}")[1]] if at else catalog.versions(family)
        except UnknownPartError:
            continue
        # A version that extends another has only the files that differ: the newest that has the file is meant.
        newest = {file: known for known in asked for file in catalog.files(family, known)}
        every += _offered(family, sorted(newest), name)
        found += [(family, known, file) for file, known in newest.items() if name in _called(family, file)]
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
    """Return the names that a file can be asked for by: with and without the family, a part also without its suffix."""
    return {name for called in (file, file.removesuffix(SUFFIX)) for name in (called, f"{family}/{called}")}


def _offered(family: str, files: list[str], name: str) -> list[str]:
    """Return the names to suggest: parts, or all files if the name looks like a file's or there are no parts."""
    parts = [file for file in files if file.endswith(SUFFIX)]
    return [f"{family}/{file.removesuffix(SUFFIX)}" for file in (parts if parts and "." not in name else files)]
