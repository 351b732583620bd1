"""`build` as the target of another command: the prompt that it would print, without printing it.

Each call of a perturbation test is a process of its own that imports this module, so it imports little.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from deepprompt.commands import build
from deepprompt.errors import SourceError
from deepprompt.prompt import Prompt


def built(arguments: list[str], outside: Sequence[str] = ()) -> Prompt:
    """Return the prompt that `deepprompt build` would print with these options.

    It runs in a process of its own, perhaps in a copy of the project. Programs in the folders `outside`, the work
    trees of the real one, are not found there either.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    places = {entry: f"{os.path.realpath(entry)}{os.sep}" for entry in entries}
    kept = [entry for entry in entries if not places[entry].startswith(tuple(f"{top}{os.sep}" for top in outside))]
    os.environ["PATH"] = os.pathsep.join(kept)

    options = build_parser().parse_args(arguments)
    for name in ("to", "json", "out"):
        if getattr(options, name):
            raise SourceError(f"--{name} is only for the command itself; here only the prompt matters")
    return build.compose(options, [])


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `build`, which raises wrong usage as an error."""

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> None:  # type: ignore[override]
            raise SourceError(message)

    parser = Parser(prog="deepprompt build", allow_abbrev=False, add_help=False)  # which would end the process
    build.configure(parser)
    parser.set_defaults(usage_error=parser.error)
    return parser
