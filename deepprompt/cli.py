"""The command line: which commands there are, and how any of them ends.

Exit 0 is fine, 1 a finding or a failure, 2 wrong usage. The result alone goes to standard output, everything
else to standard error, and an error of the input is one line, never a traceback. What a command does is in
`deepprompt.commands`, in the module of its name.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module

from deepprompt import __version__
from deepprompt.commands.output import say
from deepprompt.errors import DeepPromptError

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import NoReturn, TextIO

COMMANDS = {
    "build": "print the system prompt for a folder",
    "assemble": "assemble one prompt from a template and its includes",
    "compile": "assemble every node of each workflow, or say all that is wrong",
    "replay": "assemble a log's prompts again, and say which include moved",
    "versions": "list the families of prompt parts and their versions",
    "parts": "list the prompt parts with their sizes, paces and conditions",
    "show": "print a prompt part, or copy it to make an override of it",
    "diff": "show what changed between two versions, or around an override",
    "blame": "say where two prompts or requests differ, why, and the cost",
    "perturb": "see whether a function's prompt stays when the world moves",
    "lint": "find what loses the cache, leaks, or could be forged",
    "lock": "pin every part of a project's prompts, or see what drifted",
    "check": "lint, lock and perturb a project's prompts, for CI",
    "cache": "show what a provider's cache makes of a conversation",
    "explain": "list the parts of a prompt with sizes that add up",
    "inspect": "write a page to look at a prompt, a difference or a session",
    "completion": "print what lets a shell complete commands and options",
}

_PIPE_CLOSED = 128 + 13  # as a shell reports a program that SIGPIPE ended
_INTERRUPTED = 128 + 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Wrong usage and --help exit by themselves, as argparse does."""
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except DeepPromptError as error:
        say(str(error))
        return 1
    except BrokenPipeError:
        return _PIPE_CLOSED  # the reader has what it wanted
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        _let_go(sys.stdout)
        _let_go(sys.stderr)


def _run(arguments: list[str]) -> int:
    parser = _parser(arguments)
    if len(arguments) == 1 and arguments[0][:1] == "-" and parser.meant(arguments):  # argparse would miss a command
        parser.refuse(arguments)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.refuse(unknown)
    code: int = options.run(options)
    return code


def _let_go(stream: TextIO | None) -> None:
    """Drop what a stream could not write: Python would try it once more at exit, complain, and exit with 120."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def every_parser() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of every command by its name, with all of its options, after that of the program, named ""."""
    return _parsers(list(COMMANDS), list(COMMANDS))


class _Parser(argparse.ArgumentParser):
    """A parser that says wrong usage in two lines: argparse prints the usage first, and what matters is lost below."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read on, and exit with 2."""
        if "argument COMMAND: invalid choice: " in message:
            message += _hint(message.split("'")[1], COMMANDS)
        what = "options" if " " in self.prog else "commands"
        message = "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)
        self.exit(2, f"{self.prog}: error: {message}\nRun '{self.prog} --help' for its {what}.\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Say that there are no such arguments, and what the first that is close to an option may have meant."""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{self.meant(unknown)}")

    def meant(self, unknown: Sequence[str]) -> str:
        """Return what to add of the first of some arguments that is close to an option, "" where none is."""
        usage = re.sub("[^a-z0-9-]", " ", self.format_usage())  # all that argparse tells of its options
        options = ["--help", *(word for word in usage.split() if word.startswith("--"))]
        written = [argument.partition("=")[0] for argument in unknown if argument.startswith("--")]
        return next(filter(None, (_hint(name, options) for name in written if name not in options)), "")


def _hint(name: str, names: Iterable[str]) -> str:
    from deepprompt.text.suggest import nearest

    near = nearest(name, names)
    return f"; did you mean {near[0]}?" if near else ""


def _parser(arguments: list[str]) -> _Parser:
    # A parser costs as much as reading an instruction file: where a command stands first, the others get none.
    names = arguments[:1] if arguments and arguments[0] in COMMANDS else list(COMMANDS)
    return _parsers(names, [name for name in names if name in arguments])[""]


def _parsers(names: list[str], run: list[str]) -> dict[str, _Parser]:
    """Return the parsers of the program and of some commands; only those that are run pay for their imports."""
    parser = _Parser(
        prog="deepprompt",
        description="Build the prompts of agent runtimes so that they are right, byte for byte, turn after turn.",
        epilog="Run 'deepprompt COMMAND --help' for the options of a command.",
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action="version", version=f"deepprompt {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    parsers = {"": parser}
    for name in names:
        summary = COMMANDS[name]
        command = subparsers.add_parser(
            name,
            help=summary,
            description=summary[:1].upper() + summary[1:] + ".",
            allow_abbrev=False,
            formatter_class=_formatter,
        )
        if name in run:
            module = import_module(f"deepprompt.commands.{name}")
            module.configure(command)
            command.set_defaults(
                run=module.run, usage_error=command.error, refuse=command.refuse, every_parser=every_parser
            )
        parsers[name] = command
    return parsers


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Format help as argparse does, which imports `shutil` and all of its compression to ask how wide the screen is."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdecimal() else 0
    if not width:
        try:
            width = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):  # closed, or no terminal
            width = 0
    formatter = argparse.HelpFormatter(prog, width=(width or 80) - 2)
    if prog == "deepprompt":  # argparse of 3.11 and 3.12 makes no room for the indent of a command
        formatter._action_max_length = 4 + max(map(len, COMMANDS))
    return formatter
