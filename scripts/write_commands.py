"""Write docs/commands.md from the parsers of the command line.

Run it after you change a command's options or help: `python scripts/write_commands.py`. The page is the same with every
version of Python. argparse's own formatting of help is not, so it is not used.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from deepprompt.cli import every_parser
from deepprompt.commands import COMMANDS
from deepprompt.commands.parsers import Argument, Command, read_commands

PAGE = Path(__file__).resolve().parent.parent / "docs" / "commands.md"

_NAMES = "|".join(COMMANDS)
# What help shows of the command line itself, in quotes or not.
_CODE = re.compile(
    rf"(?<![\w-])('(?:deepprompt|{_NAMES}) [^']+'|(?:(?:{_NAMES}) )?--[a-z][a-z-]*(?: [A-Z]+\b)?"
    r"|\[tool[.\w]+\]|-[a-z]\b|-(?= ))"
)
_OPENING = """\
# Commands

Every command with all of its options, as `deepprompt help COMMAND` and `deepprompt COMMAND --help` show them. The other
pages explain when to use which. `scripts/write_commands.py` writes this page, and a test checks that it is up to date.

- Only the result goes to standard output. Everything else goes to standard error.
- Exit code 0 means success, 1 a finding or a failure, 2 wrong usage. A failure is one line on standard error.
- A value follows its option after a space or after `=`. Options cannot be abbreviated.
- In a folder that you do not trust, use the script `deepprompt`, or `python -P -m deepprompt`. With a plain `-m`,
  Python looks for its own modules in the current folder first.
- `deepprompt` alone prints an overview, `deepprompt -V` the version. With [completion](#completion) your shell
  completes all of this.
"""


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    return 0


def page() -> str:
    """Return the text of the page."""
    _, *commands = read_commands(every_parser())
    rows = [(f"[{command.name}](#{command.name})", _markdown(command.summary)) for command in commands]
    return "\n".join([_OPENING, _table("command", rows), *(_section(command) for command in commands)])


def _section(command: Command) -> str:
    return "\n".join([f"## {command.name}\n", *_blocks(command)])


def _blocks(command: Command) -> Iterator[str]:
    yield _markdown(command.summary[:1].upper() + command.summary[1:]) + ".\n"
    needed = [f"{option.names[-1]} {option.value}" for option in command.options if option.required]
    some = ["[options]"] if len(command.options) > 1 else []  # one is --help
    usage = " ".join(["deepprompt", command.name, *some, *needed, *map(_usage, command.positionals)])
    yield f"```text\n{usage}\n```\n"
    for title, arguments in command.groups:
        if rows := [(_name(argument), _meaning(argument)) for argument in arguments if "--help" not in argument.names]:
            title = {"positional arguments": "arguments"}.get(title, title)
            yield f"{_markdown(title[:1].upper() + title[1:])}:\n"
            yield _table("argument" if title == "arguments" else "option", rows)
    if "\n" in command.epilog:  # laid out by hand
        yield f"```text\n{command.epilog}\n```\n"
    elif command.epilog:
        yield textwrap.fill(_markdown(command.epilog), 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _table(first: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join([f"| {first} | meaning |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows), ""])


def _usage(argument: Argument) -> str:
    more = f" [{argument.value} ...]" if argument.required else " ..."
    usage = argument.value + (more if argument.repeated else "")
    return usage if argument.required else f"[{usage}]"


def _name(argument: Argument) -> str:
    names = argument.names or ("",)
    return ", ".join(f"`{f'{name} {argument.value}'.strip()}`" for name in names)


def _meaning(argument: Argument) -> str:
    meaning = _markdown(argument.help)
    if argument.names and argument.required:
        meaning += "; required"
    if argument.excludes:
        meaning += f"; not with {' or '.join(f'`{name}`' for name in argument.excludes)}"
    return meaning


def _markdown(text: str) -> str:
    """Return a text so that Markdown shows it as it is, and as code what belongs to the command line."""
    shown = []
    for number, piece in enumerate(_CODE.split(text)):
        escaped = re.sub(r"([\\`*|\[\]])", r"\\\1", piece).replace("<", "&lt;")
        shown.append(f"`{piece.strip(chr(39))}`" if number % 2 else escaped)
    return "".join(shown)


if __name__ == "__main__":
    sys.exit(main())
