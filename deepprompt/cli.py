"""The command line: how a command is found, and how any of them ends.

Exit code 0 means success, 1 a finding or a failure, 2 wrong usage. Only the result goes to standard output. Everything
else goes to standard error, and an error in the input is one line, never a traceback. What a command does is in
`deepprompt.commands`, in the module of its name.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence, Set
from importlib import import_module

from deepprompt import __version__
from deepprompt.commands import COMMANDS, unknown_command
from deepprompt.commands.output import say
from deepprompt.errors import DeepPromptError, PresetError

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import NoReturn, TextIO

_PIPE_CLOSED = 128 + 13  # as a shell reports a program that SIGPIPE ended
_INTERRUPTED = 128 + 2
_LITTLE = 50_000  # how many objects are not worth a search for garbage; with Python's 700, imports alone cause dozens


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Wrong usage and --help raise SystemExit, as argparse does."""
    ours = arguments is None  # the whole process
    if ours:
        gc.set_threshold(_LITTLE)
        argparse._ = str  # type: ignore[attr-defined] # no search for translations, by `locale`: our words are English
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except PresetError as error:
        for problem in error.problems:
            say(problem)
        return 1
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
        if ours:  # it ends now, and before that Python would look through all of it for garbage
            gc.freeze()


def _run(arguments: list[str]) -> int:
    # The program's own options take no value, so the first other argument is the command.
    command = next((argument for argument in arguments if argument[:1] != "-"), None)
    # Making a parser takes as long as reading an instruction file: if a command stands first, only it gets one.
    alone = bool(arguments) and arguments[0] in COMMANDS
    parsers = _parsers(arguments[:1] if alone else list(COMMANDS), [command or ""])
    parser = parsers[""]
    if command is not None and command not in COMMANDS:
        parser.error(unknown_command(command))
    _refuse_planted_options(parsers, arguments)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.refuse(unknown)
    code: int = options.run(options)
    return code


def _refuse_planted_options(parsers: Mapping[str, _Parser], arguments: list[str]) -> None:
    """Refuse an option that is also the name of a file here: a shell's `*` makes options of such names."""
    known = {name for parser in parsers.values() for name in parser._option_string_actions}
    for argument in arguments:
        if argument == "--":
            return
        if _is_option(argument, known) and "\0" not in argument and os.path.lexists(argument):
            parsers[""].error(f"{argument} is an option and also a file here; write ./* for all files, or rename it")


def _is_option(argument: str, known: Set[str]) -> bool:
    """Whether argparse takes an argument for an option. A negative number is none, nor is `- a text`."""
    if argument[:1] != "-" or argument == "-":
        return False
    if argument.partition("=")[0] in known or (argument[1] != "-" and argument[:2] in known):
        return True
    return " " not in argument and not argument[1:].replace(".", "", 1).isdecimal()


def _let_go(stream: TextIO | None) -> None:
    """Drop what a stream could not write: Python would try again at exit, complain, and exit with 120."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def every_parser() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of the program, named "", and then of every command by its name, with all of its options."""
    return _parsers(list(COMMANDS), list(COMMANDS))


class _Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage in two lines; argparse prints the whole usage first, which hides the reason."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to read on, and exit with 2."""
        what = "options" if " " in self.prog else "commands"
        from deepprompt.text.display import display

        self.exit(2, f"{self.prog}: error: {display(message)}\nRun '{self.prog} --help' for its {what}.\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Report arguments that the parser does not know, with a suggestion for the first that resembles an option."""
        from deepprompt.text.suggest import nearest

        options = [name for name in self._option_string_actions if name.startswith("--")]
        written = [argument.partition("=")[0] for argument in unknown if argument.startswith("--")]
        near = [names[0] for name in written if name not in options and (names := nearest(name, options))]
        meant = f"; did you mean {near[0]}?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")

    def print_overview(self, _: argparse.Namespace) -> int:
        """Print the help: what the bare command does, as with gh, cargo and docker. Nothing failed, so it returns 0."""
        self.print_help()
        return 0


def _parsers(names: list[str], run: list[str]) -> dict[str, _Parser]:
    """Return the parsers of the program, named "", and of some commands; only those in `run` get their options."""
    parser = _Parser(
        prog="deepprompt",
        description="Build agent prompts that stay the same, byte for byte, from turn to turn.",
        epilog="Run 'deepprompt help COMMAND' or 'deepprompt COMMAND --help' for the options of a command.",
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"deepprompt {__version__}")
    parser.set_defaults(run=parser.print_overview, refuse=parser.refuse)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
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
            command.set_defaults(run=module.run, usage_error=command.error, refuse=command.refuse, parsers=_parsers)
        parsers[name] = command
    return parsers


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Format help as argparse does, but find the terminal's width without `shutil`, which imports compression too."""
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
