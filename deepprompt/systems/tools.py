"""The enabled tools of a prompt: names of a preset's tools, and definitions of the caller's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.prompt import Note, copied
from deepprompt.text.hygiene import scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any

    from deepprompt.systems.presets import Preset


class Toolset:
    """The enabled tools. A name that the preset does not have may be a runtime's own tool, and is noted."""

    def __init__(
        self,
        preset: Preset,
        enabled: Iterable[str | Mapping[str, object]],
        variables: Mapping[str, str] | None = None,
    ) -> None:
        given = list((enabled,) if isinstance(enabled, str) else enabled)
        self._preset = preset
        self._own: dict[str, Mapping[str, object]] = {}
        if len(names := [name for name in given if isinstance(name, str)]) < len(given):
            from deepprompt.tools import tool_name

            self._own = {tool_name(tool): tool for tool in given if not isinstance(tool, str)}
        known = self._known()
        self.names: dict[str, str] = {}
        """The known tools that are enabled, with the name that each is called by."""
        self.unknown = [name for name in sorted(set(names)) if name not in known and name not in self._own]
        for name in sorted(set(names)):
            if name in known and name not in self._own:
                # Two names of one tool count once, under the name of its files.
                tool = known[name]
                self.names[tool] = tool if tool in self.names else name
        self._given = variables or {}
        if self._given:  # a value for the variable of a tool is what the runtime calls it
            self.names = {tool: self.called(tool) for tool in self.names}

    def called(self, tool: str) -> str:
        """Return what the runtime calls a tool: the name it was given or enabled by, else that of its files."""
        own = self._preset.own_tools.get(tool)
        given = self._given.get(own.variable) if own is not None and own.variable else None
        return given or self.names.get(tool, tool)

    def named(self, text: str) -> str:
        """Return a text in which each variable of a tool is replaced by the tool's name. Other variables stay."""
        if "${" not in text:
            return text
        from deepprompt.systems.variables import pattern

        tools = {tool.variable: tool.name for tool in self._preset.own_tools.values() if tool.variable}
        return pattern().sub(lambda match: self.called(tools[match[1]]) if match[1] in tools else match[0], text)

    def _known(self) -> dict[str, str]:
        """Return every name of a tool, mapped to the name of its files."""
        return {name: tool.name for tool in self._preset.own_tools.values() for name in (tool.name, *tool.names)}

    def __contains__(self, name: str) -> bool:
        """Whether a tool is enabled under this name, or under another that the preset knows it by."""
        tool = self._known().get(name, name)
        return tool in self.names or name in self._own or tool in self._own or name in self.unknown

    def definitions(self) -> list[dict[str, Any]]:
        """Return name, description and input schema of each tool that has them, sorted by name."""
        import json

        found = {name: self._preset.own_tools[tool] for tool, name in self.names.items()}
        definitions = {
            name: {
                "name": name,
                "description": self.named(tool.description.text.removesuffix("\n")),
                "input_schema": json.loads(tool.schema.text),
            }
            for name, tool in found.items()
        } | {name: copied(dict(tool)) for name, tool in self._own.items()}
        return [definitions[name] for name in sorted(definitions)]

    def notes(self) -> list[Note]:
        """Return a note on each name that stands for nothing, and those of files that replace bundled ones."""
        from deepprompt.text.suggest import nearest

        notes = []
        for name in self.unknown:
            if name.startswith("mcp__"):
                continue
            near = nearest(name, self._known())
            hint = f"; did you mean {near[0]!r}?" if near else ""
            detail = f"{self._preset.name} has no such tool: your program has to define it{hint}"
            notes.append(Note("kept", scrub(f"tool {name}"), detail))
        tools = [self._preset.own_tools[tool] for tool in self.names]
        notes += [file.note for tool in tools for file in (tool.description, tool.schema) if file.note]
        return notes


def tool_definitions(enabled_tools: Iterable[str]) -> list[dict[str, Any]]:
    """Return the definitions of those enabled tools that `claude_code` 2.1.37 has, sorted by name.

    Warns about an unknown name that is close to a known one: it may be a tool of your own, or a typing mistake.
    """
    from deepprompt.arguments import expect_each
    from deepprompt.systems.presets import load_preset

    names = (enabled_tools,) if isinstance(enabled_tools, str) else enabled_tools
    names = expect_each(names, str, "tool_definitions: enabled_tools", "names of tools")
    toolset = Toolset(load_preset("claude_code@2.1.37"), names)
    for note in toolset.notes():
        if "did you mean" in note.detail:
            import warnings

            # which nobody would see otherwise: a tool would just not be there
            warnings.warn(f"{note.source} is left out: {note.detail}", stacklevel=2)
    return toolset.definitions()
