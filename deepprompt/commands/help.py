"""`deepprompt help`: an overview of the commands, or the help of one of them."""

from __future__ import annotations

import argparse

from deepprompt.commands import COMMANDS, unknown_command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `help`."""
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs="?",
        type=_command,
        choices=tuple(COMMANDS),
        help="show the help of this command (default: an overview of all of them)",
    )


def _command(name: str) -> str:
    if name not in COMMANDS:
        raise argparse.ArgumentTypeError(unknown_command(name))
    return name


def run(options: argparse.Namespace) -> int:
    """Print the help."""
    name = options.command or ""
    options.parsers(list(COMMANDS), [name])[name].print_help()
    return 0
