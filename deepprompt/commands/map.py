"""`deepprompt map`: the symbol map of a repository within a budget of tokens."""

from __future__ import annotations

import argparse
import os

from deepprompt.commands.options import count, given
from deepprompt.commands.output import say, say_notes, write, write_json
from deepprompt.sources.code import load_repository
from deepprompt.sources.symbols.map import MAP_BUDGET
from deepprompt.text.display import counted
from deepprompt.tokens import estimate_tokens


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `map`."""
    parser.epilog = (
        "The map has the most recently changed files that fit into the budget. It needs deepprompt[map]. Languages: "
        "Python, JavaScript, TypeScript, Go, Rust, C, C++, Java."
    )
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", type=given, default=os.curdir,
        help="the repository's folder (default: the current one)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", metavar="N", type=count, default=MAP_BUDGET, help=f"the token limit (default: {MAP_BUDGET})"
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="neither read nor write the outlines in your cache folder"
    )
    parser.add_argument("--json", action="store_true", help="print the blocks by path as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the blocks, and how much of the repository they are."""
    repository = load_repository(options.folder, map_budget=options.budget, cache=not options.no_cache)
    if options.json:
        write_json(dict(repository.symbols))
    else:
        write("".join(f"{block}\n" for block in repository.symbols.values()))
    say_notes(repository.notes)
    tokens = sum(map(estimate_tokens, repository.symbols.values()))
    say(f"{counted(len(repository.symbols), 'file')} of {len(repository.paths)}, about {tokens:,} tokens")
    return 0
