"""The built-in lists of a prompt as items with fields; MCP servers and slash commands also as whole texts.

What a third party named or wrote is neutralised here, and put on one line where it is a name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from deepprompt.prompt import Note
from deepprompt.text.disarm import escape_roles
from deepprompt.text.hygiene import neutralise, one_line

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.surroundings import Surroundings
    from deepprompt.systems.preset import McpServer, SlashCommand
    from deepprompt.systems.presets import Preset
    from deepprompt.systems.tools import Toolset

    Item = dict[str, str]


def claude_md_items(around: Surroundings | None, notes: list[Note]) -> list[Item]:
    """Return the CLAUDE.md files, the ones nearest to the working folder first; a caller's own text is one file."""
    if around is None or not around.claude_md:
        return []
    files = getattr(around.claude_md, "files", None) or (("CLAUDE.md", around.claude_md),)
    return [{"PATH": path, "CONTENT": escape_roles(content, path, notes)} for path, content in files]


def skill_items(around: Surroundings | None) -> list[Item]:
    """Return the skills, with the path of each relative to the project or below `~/`."""
    if around is None:
        return []
    return [
        {
            "NAME": skill.name,
            "DESCRIPTION": skill.description,
            "RUN_MODE": skill.run_mode,
            "HASH": skill.body_hash[:12],
            "TOOLS": ",".join(skill.tools),
            "PATH": _skill_path(skill.root, skill.path, around),
        }
        for skill in around.skills.skills
    ]


def _skill_path(root: str, path: str, around: Surroundings) -> str:
    cwd, home = around.searched
    if home and os.path.normpath(root) == os.path.normpath(home):
        return f"~/{path}"
    if not cwd or not os.path.isabs(root):
        return path
    return os.path.relpath(os.path.join(root, path), cwd).replace(os.sep, "/")


def server_items(servers: Iterable[McpServer], notes: list[Note]) -> list[Item]:
    """Return the MCP servers, sorted by name."""
    ordered = sorted(servers, key=lambda server: (server.name, server.instructions, sorted(server.tools)))
    items = [
        {
            "NAME": name_of(server.name, "mcp", notes),
            "TOOLS": ", ".join(name_of(tool, "mcp", notes) for tool in sorted(server.tools)),
            "INSTRUCTIONS": neutralise(server.instructions.rstrip("\n"), "mcp", notes),
        }
        for server in ordered
    ]
    names = Counter(server.name for server in ordered)
    for name in sorted(name for name, count in names.items() if count > 1):
        detail = f"{names[name]} servers are called {name_of(name, 'mcp', [])!r}, and a model cannot tell them apart"
        notes.append(Note("kept", "mcp", detail))
    return items


def servers_text(servers: Iterable[McpServer], items: Iterable[Item]) -> str:
    """Return one block per server, as `server_items` has them."""
    ordered = sorted(servers, key=lambda server: (server.name, server.instructions, sorted(server.tools)))
    blocks = []
    for server, item in zip(ordered, items, strict=True):
        lines = [f"## {item['NAME']}"]
        lines += [f"Tools: {item['TOOLS']}"] if server.tools else []
        lines += [item["INSTRUCTIONS"]] if server.instructions else []
        blocks.append("\n\n".join(lines))
    return "\n\n".join(blocks)


def command_items(commands: Iterable[SlashCommand], notes: list[Note]) -> list[Item]:
    """Return the slash commands, sorted by name."""
    return [
        {
            "NAME": name_of(command.name.removeprefix("/"), "slash command", notes),
            "DESCRIPTION": name_of(command.description, "slash command", notes),
        }
        for command in sorted(commands, key=lambda command: (command.name.removeprefix("/"), command.description))
    ]


def commands_text(items: Iterable[Item]) -> str:
    """Return one line per command."""
    return "\n".join(
        f"- /{item['NAME']}: {item['DESCRIPTION']}" if item["DESCRIPTION"] else f"- /{item['NAME']}" for item in items
    )


def agent_items(preset: Preset) -> list[Item]:
    """Return the agents of a preset that a model may start. One with `when_used` is started by something else."""
    agents = [agent for agent in preset.own_agents.values() if not agent.when_used]
    return [{"NAME": agent.name, "DESCRIPTION": agent.about} for agent in agents]


def tool_items(toolset: Toolset) -> list[Item]:
    """Return the enabled tools with the first sentence of each description."""
    return [
        {"NAME": str(tool["name"]), "SUMMARY": _first_sentence(str(tool.get("description", "")))}
        for tool in toolset.definitions()
        if "name" in tool
    ]


def _first_sentence(text: str) -> str:
    line = " ".join(text.strip().partition("\n\n")[0].split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


def name_of(text: str, source: str, notes: list[Note]) -> str:
    """Return a third party's name on one line, neutralised."""
    return neutralise(one_line(text, source, notes), source, notes)
