"""The MCP servers that `deepprompt build --mcp` names: a name alone, or a JSON file with instructions and tools."""

from __future__ import annotations

from deepprompt.commands.options import own_text
from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.systems.preset import McpServer
from deepprompt.text.fields import Fields
from deepprompt.text.hygiene import from_system
from deepprompt.text.parse import parse_json

_FILE = ".json"


def servers_of(text: str, notes: list[Note]) -> list[McpServer]:
    """Return the servers of one `--mcp`: NAME, NAME=FILE, or FILE.json with one server or a list of them."""
    name, equals, path = text.partition("=")
    if not equals and name.endswith(_FILE):
        return _read(name, "")
    if equals and not (name and path):
        raise SourceError(f"--mcp {text}: write NAME, NAME=FILE or FILE.json")
    name = from_system(name, "mcp", notes)
    if not equals:
        return [McpServer(name)]
    found = _read(path, name)
    named = [server for server in found if server.name == name]
    if not named:
        raise SourceError(f"{path}: no server named {name!r}; there are: {', '.join(each.name for each in found)}")
    return named


def _read(path: str, name: str) -> list[McpServer]:
    """Return the servers in a file. One alone may leave its name to the option."""
    value = parse_json(own_text(path), path, SourceError)
    listed = isinstance(value, list)
    faults: list[str] = []
    servers = []
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        fields = Fields(item, f"[{number}]" if listed else "", faults=faults)
        if listed or not name:
            fields.require("name")
        servers.append(
            McpServer(fields.text("name", "" if listed else name), fields.text("instructions"), _tools(fields))
        )
        fields.refuse_others("field")
    if faults:
        raise SourceError("; ".join(f"{path}: {fault}" for fault in faults))
    return servers


def _tools(fields: Fields) -> tuple[str, ...]:
    """Return the names of the tools: texts, or objects as a server lists them, of which only the name counts."""
    names = []
    for number, tool in enumerate(fields.get("tools", (list,), "a list of tools", [])):
        found = tool.get("name") if isinstance(tool, dict) else tool
        if isinstance(found, str) and found:
            names.append(found)
        else:
            fields.fault(f"tools[{number}]", "expected a name, or an object with one")
    return tuple(names)
