"""The command line: which commands there are, and how any of them ends.

Exit 0 is fine, 1 a finding or a failure, 2 wrong usage. The result alone goes to standard output, everything
else to standard error, and an error of the input is one line, never a traceback. What a command does is in
`deepprompt.commands`, in the module of its name.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from deepprompt import __version__
from deepprompt.commands.output import say
from deepprompt.errors import DeepPromptError

COMMANDS = {
    "build": "print the system prompt for a folder",
    "assemble": "assemble one prompt from a template and its includes",
    "compile": "assemble every node of every workflow, or say all that is wrong",
    "replay": "assemble the prompts of a log again, and say which include moved",
    "versions": "list the families of prompt parts and their versions",
    "parts": "list the prompt parts with their sizes, paces and conditions",
    "show": "print a prompt part, or copy it to make an override of it",
    "diff": "show what changed between two versions, or around an override",
    "blame": "say where two prompts or requests part, why, and what that costs",
    "perturb": "see whether a function's prompt stays when the world moves",
    "lint": "find what loses the cache, leaks, or could be forged",
    "lock": "pin every part of a project's prompts, or see what drifted",
    "check": "lint, lock and perturb a project's prompts, for CI",
    "cache": "show what a provider's cache makes of a conversation",
    "explain": "list the parts of a prompt with sizes that add up",
    "inspect": "write a page to look at a prompt, a difference or a session",
}

_PIPE_CLOSED = 128 + 13  # as a shell reports a program that SIGPIPE ended
_INTERRUPTED = 128 + 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Wrong usage and --help exit by themselves, as argparse does."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options, unknown = _parser(arguments).parse_known_args(arguments)
        if unknown:
            options.usage_error(f"unrecognized arguments: {' '.join(unknown)}")
        code: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except DeepPromptError as error:
        say(str(error))
        return 1
    except BrokenPipeError:
        # The reader has what it wanted. Python would try to flush once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deepprompt",
        description="Build the prompts of agent runtimes so that they are right, byte for byte, turn after turn.",
        epilog="Run 'deepprompt COMMAND --help' for the options of a command.",
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action="version", version=f"deepprompt {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    # A parser costs as much as reading an instruction file: where a command stands first, the others get none.
    for name in arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS:
        summary = COMMANDS[name]
        command = subparsers.add_parser(
            name,
            help=summary,
            description=summary[:1].upper() + summary[1:] + ".",
            allow_abbrev=False,
            formatter_class=_formatter,
        )
        if name in arguments:  # only the command that is run pays for its imports
            module = import_module(f"deepprompt.commands.{name}")
            module.configure(command)
            command.set_defaults(run=module.run, usage_error=command.error)
    return parser


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Format help as argparse does, which imports `shutil` and all of its compression to ask how wide the screen is."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdecimal() else 0
    if not width:
        try:
            width = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):  # closed, or no terminal
            width = 0
    return argparse.HelpFormatter(prog, width=(width or 80) - 2)
