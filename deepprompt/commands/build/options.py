"""The options of `deepprompt build` that go with a preset or an agent, and parts made of the user's own text.

They are separate from the modules that use them, so that other builds do not import those modules.
"""

from __future__ import annotations

import argparse

from deepprompt.commands.options import given, own_text
from deepprompt.errors import SourceError
from deepprompt.prompt import Note, Pace, Part
from deepprompt.text.hygiene import from_system

PRESET_OPTIONS = (
    "flag", "set", "list", "tool", "mcp", "slash_command", "sessions", "memory", "claude_md", "output_style_file",
    "environment_last", "max_tokens", "order",
)  # fmt: skip
AGENT_OPTIONS = ("channel", "formatting", "storage_file", "directory", "task", "memories", "background", "now")


def add_preset_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about the preset and what it is given."""
    group = parser.add_argument_group("a preset")
    group.add_argument(
        "--preset",
        type=given,
        metavar="NAME",
        help="a bundled preset or one of your own: NAME, NAME@VERSION or NAME~=VERSION (default: deepseek)",
    )
    group.add_argument(
        "--flag", action="append", default=[], metavar="NAME", help="turn on a flag of the preset; may be repeated"
    )
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a variable of the preset; may be repeated",
    )
    group.add_argument(
        "--list",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="the items of a list of the preset, a JSON file with a list of objects; may be repeated",
    )
    group.add_argument("--tool", action="append", default=[], metavar="NAME", help="enable this tool; may be repeated")
    group.add_argument(
        "--mcp",
        action="append",
        default=[],
        metavar="NAME[=FILE]",
        help="a connected MCP server, or a JSON file with name, instructions and tools; may be repeated",
    )
    group.add_argument(
        "--slash-command",
        action="append",
        default=[],
        metavar="NAME[=TEXT]",
        help="offer this slash command; may be repeated",
    )
    group.add_argument("--sessions", action="store_true", help="the same as --flag sessions")
    group.add_argument("--memory", action="store_true", help="the same as --flag memory")
    group.add_argument(
        "--claude-md", action="store_true", help="load the CLAUDE.md files of the folder and the folders above it"
    )
    group.add_argument(
        "--output-style-file", type=given, metavar="FILE", help="the style in which the agent should respond"
    )
    group.add_argument("--order", type=given, metavar="NAME", help="another order of the rows, if the preset has one")
    group.add_argument(
        "--environment-last",
        action="store_true",
        help="add a boundary to a preset without one, and put the folder, system and shell after it",
    )
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help="fail if the prompt has more tokens than this (estimated)"
    )


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that go with `--agent`."""
    group = parser.add_argument_group("an agent's run (--agent)")
    group.add_argument("--agent", type=given, metavar="FILE", help="the agent, as JSON: identity, instructions, ...")
    group.add_argument("--channel", metavar="NAME", help="the channel that shows its responses, such as telegram")
    group.add_argument(
        "--formatting",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="your own formatting rules for a channel, such as slack=slack.md; may be repeated",
    )
    group.add_argument(
        "--storage-file", type=given, metavar="FILE", help="your own advice on what to keep where, for <Storage>"
    )
    group.add_argument(
        "--directory",
        action="append",
        default=[],
        metavar="DIR",
        help="another folder that it may use; may be repeated",
    )
    group.add_argument("--task", type=given, metavar="FILE", help="the task it is bound to, as JSON: id, title, ...")
    group.add_argument(
        "--memories", type=given, metavar="FILE", help="memories that all agents share, as a JSON list of texts"
    )
    group.add_argument("--background", action="store_true", help="say that its responses are not sent to the user")
    group.add_argument("--now", type=given, metavar="ISO", help="the current time, with its time zone (default: now)")


def appended(options: argparse.Namespace, notes: list[Note]) -> list[Part]:
    """Return the parts that `--append` and `--append-file` add."""
    texts = [from_system(text, "append", notes) for text in options.append if text]
    parts = [Part("append", text, Pace.PROJECT, "argument:append") for text in texts]
    return parts + [Part("append", own_text(path), Pace.PROJECT, f"file:{path}") for path in options.append_file]


def own_part(name: str, path: str) -> tuple[Part]:
    """Return the text of a file that the user named as a single part."""
    return (Part(name, own_text(path), Pace.RELEASE, f"file:{path}"),)


def flags_of(options: argparse.Namespace, notes: list[Note]) -> list[str]:
    """Return the flags that are turned on."""
    named = [name for name in ("sessions", "memory") if getattr(options, name)]
    return [*named, *(from_system(flag, "flag", notes) for flag in options.flag)]


def variables_of(options: argparse.Namespace, notes: list[Note]) -> dict[str, str]:
    """Return the values that `--set` gives."""
    values = {}
    for text in options.set:
        name, equals, value = from_system(text, "variable", notes).partition("=")
        if not equals:
            options.usage_error(f"--set {text}: write NAME=VALUE")
        values[name] = value
    return values


def lists_of(options: argparse.Namespace) -> dict[str, list[dict[str, object]]]:
    """Return the items that the files of `--list` hold."""
    lists = {}
    for text in options.list:
        from deepprompt.text.parse import parse_json

        name, equals, path = text.partition("=")
        if not equals or not path:
            options.usage_error(f"--list {text}: write NAME=FILE")
        items = parse_json(own_text(path), path, SourceError)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise SourceError(f"{path}: expected a list of objects")
        lists[name] = items
    return lists
