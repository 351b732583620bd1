"""The arguments of every command, read from its parser: for `completion`, the page docs/commands.md, and settings.

argparse has no public way to list a parser's arguments. Apart from suggestions in `cli`, only this module uses the
private way.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

PATHS = {"DIR": "folder"} | dict.fromkeys(
    ("ANSWER", "FILE", "PATH", "TARGET", "WORKFLOWS", "LOG", "TRANSCRIPT", "PROMPT", "A", "B"), "file"
)
"""The names of values that are paths or may be; `NAME=PATH` and `[NAME=]TARGET` end with one."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An option, or a positional argument, which has no names."""

    names: tuple[str, ...]
    value: str  # the name of its value in the help; "" if it takes none
    choices: tuple[str, ...]
    path: str  # "file", "folder" or "", by PATHS
    help: str
    required: bool
    repeated: bool
    excludes: tuple[str, ...]  # the options that exclude it


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its arguments by group; the program itself has no name."""

    name: str
    summary: str
    groups: tuple[tuple[str, tuple[Argument, ...]], ...]
    epilog: str

    @property
    def options(self) -> list[Argument]:
        """Every option, in the order of its help."""
        return [argument for _, arguments in self.groups for argument in arguments if argument.names]

    @property
    def positionals(self) -> list[Argument]:
        """Every positional argument, in its order."""
        return [argument for _, arguments in self.groups for argument in arguments if not argument.names]


def read_commands(parsers: Mapping[str, argparse.ArgumentParser]) -> list[Command]:
    """Return the commands of the parsers that `cli.every_parser` returns, in their order."""
    return [_command(name, parser, _summaries(parsers[""]).get(name, "")) for name, parser in parsers.items()]


def path_values(parser: argparse.ArgumentParser, options: argparse.Namespace, but: tuple[str, ...] = ()) -> list[str]:
    """Return the paths among the values of a parser's options, but for some options."""
    found: list[str] = []
    for action in parser._actions:
        argument = _argument(action, parser)
        if argument.path and not set(but) & set(action.option_strings):
            value = getattr(options, action.dest) or []
            values = [value] if isinstance(value, str) else value
            # A value of NAME=FILE, or of NAME[=FILE] if it has a name, is a path from its first `=` on.
            found += [each.partition("=")[2] or each for each in values] if "=" in argument.value else values
    return found


def _summaries(program: argparse.ArgumentParser) -> dict[str, str]:
    (commands,) = [action for action in program._actions if isinstance(action, argparse._SubParsersAction)]
    # As the help shows it: argparse wants every percent sign twice.
    return {command.dest: (command.help or "") % {} for command in commands._choices_actions}


def _command(name: str, parser: argparse.ArgumentParser, summary: str) -> Command:
    groups = []
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if not isinstance(action, argparse._SubParsersAction)]
        if shown:
            groups.append((group.title or "", tuple(_argument(action, parser) for action in shown)))
    return Command(name, summary, tuple(groups), parser.epilog or "")


def _argument(action: argparse.Action, parser: argparse.ArgumentParser) -> Argument:
    choices = tuple(str(choice) for choice in action.choices or ())
    value = ""
    if action.nargs != 0:
        value = str(action.metavar or (f"{{{','.join(choices)}}}" if choices else action.dest.upper()))
    others = [
        name
        for group in parser._mutually_exclusive_groups
        for other in group._group_actions
        if action in group._group_actions and other is not action
        for name in other.option_strings
    ]
    return Argument(
        names=tuple(action.option_strings),
        value=value,
        choices=choices,
        path="" if choices else PATHS.get(value.rpartition("=")[2].strip("[]"), ""),
        help=" ".join((action.help or "").split()) % {"default": action.default},
        required=action.required if action.option_strings else action.nargs not in ("?", "*"),
        repeated=isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+"),
        excludes=tuple(others),
    )
