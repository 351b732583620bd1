"""The tools of the preset catalogue: their names, and their definitions for a provider's `tools` array."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from deepprompt.arguments import expect_each
from deepprompt.catalog import bundled
from deepprompt.prompt import Note
from deepprompt.systems.overrides import Overrides
from deepprompt.text.suggest import nearest

_FAMILY, _VERSION = "claude_code", "2.1.37"


@cache
def known_tools() -> dict[str, str]:
    """Return every known name of a tool, mapped to the name of its files."""
    lines = bundled().lines(_FAMILY, _VERSION, "tools.table")
    return {name: columns[0] for _, columns in lines for name in columns}


class Toolset:
    """The enabled tools. A runtime may add its own, which have no bundled text."""

    def __init__(self, enabled: Iterable[str], overrides: Overrides | None = None) -> None:
        self._overrides = overrides
        names = (enabled,) if isinstance(enabled, str) else enabled
        names = sorted(set(expect_each(names, str, "tool_definitions: enabled_tools", "names of tools")))
        self.notes: list[Note] = []
        self._names: dict[str, str] = {}
        for name in names:
            tool = known_tools().get(name)
            if tool is not None:
                # Two names of one tool count once, under the name of its files.
                self._names[tool] = tool if tool in self._names else name
            elif not name.startswith("mcp__"):
                self._note_near_miss(name)

    def __contains__(self, tool: str) -> bool:
        return tool in self._names

    def definitions(self) -> list[dict[str, Any]]:
        """Return name, description and input schema of each known tool, sorted by name."""
        import json

        return [
            {
                "name": name,
                "description": self._description(tool).removesuffix("\n"),
                "input_schema": json.loads(bundled().file(_FAMILY, _VERSION, f"tools/{tool}.json")),
            }
            for tool, name in sorted(self._names.items(), key=lambda item: item[1])
        ]

    def _description(self, tool: str) -> str:
        if self._overrides and (found := self._overrides.find(_FAMILY, _VERSION, f"tools/{tool}", self.notes)):
            return found[0]
        return bundled().text(_FAMILY, _VERSION, f"tools/{tool}")

    def _note_near_miss(self, name: str) -> None:
        if near := nearest(name, known_tools()):
            detail = f"taken for a tool of your own, which has no bundled text; did you mean {near[0]!r}?"
            self.notes.append(Note("kept", f"tool {name}", detail))


def tool_definitions(enabled_tools: Iterable[str]) -> list[dict[str, Any]]:
    """Return the definitions of those enabled tools that the catalogue knows, sorted by name.

    A name that is not known, but nearly, is warned of: it may be a tool of your own, or misspelt.
    """
    toolset = Toolset(enabled_tools)
    if toolset.notes:
        import warnings

        for note in toolset.notes:  # which nobody would see otherwise: a tool would just not be there
            warnings.warn(f"{note.source} is left out: {note.detail}", stacklevel=2)
    return toolset.definitions()
