"""The options of `deepprompt build` that go with a preset or an agent, and parts made of the user's own text.

They are apart from the modules that build with them, so that other builds do not pay for the imports of those.
"""

from __future__ import annotations

import argparse

from deepprompt.commands.options import given, own_text
from deepprompt.prompt import Note, Pace, Part
from deepprompt.text.hygiene import from_system

PRESET_OPTIONS = (
    "tool", "mcp", "slash_command", "sessions", "memory", "claude_md", "output_style_file", "environment_last",
    "max_tokens", "order",
)  # fmt: skip
AGENT_OPTIONS = ("channel", "directory", "task", "memories", "background", "now")
ORDERS = ("algorithm", "catalog")


def add_preset_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that go with `--preset`."""
    group = parser.add_argument_group("a preset (--preset)")
    group.add_argument(
        "--preset",
        type=given,
        metavar="NAME",
        help="claude_code: the catalogue of parts; deepseek: as without it",
    )
    group.add_argument(
        "--tool", action="append", default=[], metavar="NAME", help="a tool that is enabled; may be repeated"
    )
    group.add_argument(
        "--mcp", action="append", default=[], metavar="NAME", help="an MCP server that is connected; may be repeated"
    )
    group.add_argument(
        "--slash-command", action="append", default=[], metavar="NAME[=TEXT]", help="a slash command; may be repeated"
    )
    group.add_argument("--sessions", action="store_true", help="past sessions can be searched")
    group.add_argument("--memory", action="store_true", help="the agent keeps notes between sessions")
    group.add_argument("--claude-md", action="store_true", help="load the CLAUDE.md files of the folder and above it")
    group.add_argument("--output-style-file", type=given, metavar="FILE", help="how the agent should respond")
    group.add_argument("--order", choices=ORDERS, help="the order of the parts (default: algorithm)")
    group.add_argument(
        "--environment-last", action="store_true", help="put folder, system and shell behind the boundary"
    )
    group.add_argument("--max-tokens", type=int, metavar="N", help="fail when the prompt has more tokens, by estimate")


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that go with `--agent`."""
    group = parser.add_argument_group("an agent's run (--agent)")
    group.add_argument("--agent", type=given, metavar="FILE", help="the agent, as JSON: identity, instructions, ...")
    group.add_argument("--channel", metavar="NAME", help="where its answers are shown, such as telegram")
    group.add_argument(
        "--directory", action="append", default=[], metavar="DIR", help="another folder it may use; may be repeated"
    )
    group.add_argument("--task", type=given, metavar="FILE", help="the task it is bound to, as JSON: id, title, ...")
    group.add_argument("--memories", type=given, metavar="FILE", help="what all agents know, as a JSON list of texts")
    group.add_argument("--background", action="store_true", help="its answers are not sent to the user")
    group.add_argument("--now", type=given, metavar="ISO", help="the time, with its zone (default: the clock's)")


def appended(options: argparse.Namespace, notes: list[Note]) -> list[Part]:
    """Return what `--append` and `--append-file` add."""
    texts = [from_system(text, "append", notes) for text in options.append if text]
    parts = [Part("append", text, Pace.PROJECT, "argument:append") for text in texts]
    return parts + [Part("append", own_text(path), Pace.PROJECT, f"file:{path}") for path in options.append_file]


def own_part(name: str, path: str) -> tuple[Part]:
    """Return a file that the user named as the one part of a prompt."""
    return (Part(name, own_text(path), Pace.RELEASE, f"file:{path}"),)
