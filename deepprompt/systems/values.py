"""What a preset's rows may ask for while a prompt is composed: facts, variables and lists, each worked out once.

A value of the caller's is inserted once, by position, and never looked at again. Text of the author's (parts, cases,
items) is expanded, also inside each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from deepprompt.errors import PresetError
from deepprompt.prompt import Note, Pace, notes_of
from deepprompt.systems.rows import BUILT_IN, LISTS, Case, Variable
from deepprompt.text.disarm import escape_boundary, escape_tags
from deepprompt.text.hygiene import one_line, scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from deepprompt.sources.surroundings import Surroundings
    from deepprompt.systems.inputs import Inputs
    from deepprompt.systems.presets import Preset
    from deepprompt.systems.tools import Toolset

_OF_PROJECT: dict[str, Callable[[Any], str]] = {
    "CWD": lambda project: project.cwd,
    "OS": lambda project: " ".join(filter(None, (project.os_name, project.os_version))),
    "SHELL": lambda project: project.shell,
    "DATE": lambda project: project.current_date,
    "BRANCH": lambda project: project.active_branch,
}
_DEEPEST = 20


def of_project(name: str, around: Surroundings | None) -> str:
    """Return a value of the project, "" if it is not known."""
    return _OF_PROJECT[name](around.project) if around is not None else ""


def _is_tool_name(text: str) -> bool:
    return 0 < len(text) <= 64 and text.isascii() and text.replace("_", "").replace("-", "").isalnum()


class Values:
    """The facts, variables and lists of one prompt."""

    def __init__(self, preset: Preset, around: Surroundings | None, inputs: Inputs) -> None:
        self.preset = preset
        self.around = around
        self.inputs = inputs
        self.notes: list[Note] = []
        """Where changes to values are noted: the list of whoever writes at the moment."""
        self.input_notes: list[Note] = []
        self.pace = Pace.RELEASE
        """The pace of the text that is being expanded: the fastest of its own and of its variables."""
        self.read: dict[str, str] = {}
        """The values of the project that were asked for."""
        self.count = 0
        self._problems: list[str] = []
        self._missing: dict[str, list[str]] = {}
        self._used: set[str] = set()
        self._scrubbed: dict[str, str] = {}
        self._items: dict[str, list[dict[str, Any]]] = {}
        self._texts: dict[str, str] = {}
        self._item: dict[str, Any] | None = None
        self._toolset: Toolset | None = None
        self._depth = 0
        self._fences: tuple[str, ...] = ()
        """The tags that the text which is being expanded closes: no value may close them before."""

    @property
    def toolset(self) -> Toolset:
        """The enabled tools."""
        if self._toolset is None:
            from deepprompt.systems.tools import Toolset

            self._toolset = Toolset(self.preset, self.inputs.tools, self.inputs.variables)
        return self._toolset

    def project(self, name: str) -> str:
        """Return a value of the project, "" if it is not known."""
        self.read[name] = value = of_project(name, self.around)
        return value

    def fact(self, word: str) -> bool:
        """Whether a word of a condition holds."""
        kind, colon, name = word.partition(":")
        if not colon or kind in self.preset.flags:
            return word in self.inputs.flags or word == "always"
        if kind == "tool":
            return name in self.toolset
        if kind == "set":
            return bool(self.value(name))
        if kind == "list":
            return bool(self.items(name))
        return bool(self._item and self._item.get(name))

    def value(self, name: str) -> str | None:
        """Return the value of a variable as it was given or is by default, None if it has none."""
        self._used.add(name)
        if name in self.inputs.variables:
            value = str(self.inputs.variables[name])
            return self._claude_md(value) if name == "CLAUDE_MD" else value
        if name in self.preset.variables:
            return self.preset.variables[name].default
        if name in _OF_PROJECT:
            return self.project(name)
        if name not in self._texts:
            self._texts[name] = self._built_in(name)
        return self._texts[name]

    def _built_in(self, name: str) -> str:
        if name == "MODEL":
            return self.inputs.model
        if name == "OUTPUT_STYLE":
            return self.inputs.output_style
        if name == "CLAUDE_MD":
            return self._claude_md(self.around.claude_md) if self.around is not None else ""
        from deepprompt.systems.lists import commands_text, servers_text

        if name == "MCP_SERVERS":
            return servers_text(self.inputs.mcp, self.items("mcp"))
        return commands_text(self.items("commands")) if name == "SLASH_COMMANDS" else ""

    def _claude_md(self, text: str) -> str:
        from deepprompt.text.disarm import escape_roles

        return escape_roles(text, "CLAUDE.md", self.notes)

    def items(self, name: str) -> list[dict[str, Any]]:
        """Return the items of a list."""
        self._used.add(f"list:{name}")
        if name not in self._items:
            self._items[name] = self._made(name)
        return self._items[name]

    def _made(self, name: str) -> list[dict[str, Any]]:
        if name == "instructions":
            files = self.around.instructions if self.around is not None else ()
            return [{"PATH": file.path, "CONTENT": file.content} for file in files]
        from deepprompt.systems import lists

        if name in self.preset.lists:
            own = self.preset.lists[name]
            empty = dict.fromkeys(own.fields, "")  # a field that is not there is told by `check`
            items = [{**empty, **item} for item in self.inputs.lists.get(name, ())]
            return sorted(items, key=lambda item: str(item.get(own.sort, ""))) if own.sort else items
        makers: dict[str, Callable[[], list[dict[str, str]]]] = {
            "claude_md": lambda: lists.claude_md_items(self.around, self.input_notes),
            "skills": lambda: lists.skill_items(self.around),
            "mcp": lambda: lists.server_items(self.inputs.mcp, self.input_notes),
            "commands": lambda: lists.command_items(self.inputs.commands, self.input_notes),
            "agents": lambda: lists.agent_items(self.preset),
            "tools": lambda: lists.tool_items(self.toolset),
        }
        return makers[name]()

    def skill_directory(self) -> str:
        """Return the index of the skills."""
        self._used.add("list:skills")
        return self.around.skills.index_text() if self.around is not None else ""

    def key_of(self, name: str, item: dict[str, Any]) -> str:
        """Return what an item is called: its first field, on one line."""
        fields = self.preset.lists[name].fields if name in self.preset.lists else LISTS[name][1]
        return self._tamed(str(item.get(fields[0], "")), fields[0].lower(), fields[0].lower(), inline=True)

    def expand(self, text: str, part: str, item: dict[str, Any] | None = None, key: str = "") -> str:
        """Return an author's text with its variables replaced. `key` is the tamed first field of the `item`."""
        if "${" not in text:
            return text
        from deepprompt.systems.variables import (  # only a text with variables pays for it
            closing_tags,
            is_block,
            pattern,
        )

        outer, self._item = self._item, item if item is not None else self._item
        fences, self._fences = self._fences, (*self._fences, *closing_tags(text))
        self._depth += 1
        pieces: list[str] = []
        place = 0
        for match in pattern().finditer(text):
            block = is_block(text, match)
            found = self._resolved(match[1], part, key, block)
            start, end = match.span()
            if found is None:  # nothing to say: a block takes its line with it
                if block and text[end : end + 1] == "\n":
                    end += 1
                elif block and start > place and text[start - 1] == "\n":
                    start -= 1
                found = ""
            pieces += (text[place:start], found)
            place = end
        pieces.append(text[place:])
        self._item, self._fences = outer, fences
        self._depth -= 1
        return "".join(pieces)

    def _resolved(self, name: str, part: str, key: str, block: bool) -> str | None:
        """Return the text for a variable, None if its cases or its list say nothing."""
        if self._item is not None and name in self._item:
            fields = list(self._item)
            if key and name == fields[0]:
                return escape_tags(key, self._fences, key, self.notes) if self._fences else key
            return self._tamed(str(self._item[name]), key or name, f"{part} {name}", inline=not block)
        if name == "COUNT" and self.count:
            return str(self.count)
        variable = self.preset.variables.get(name)
        if variable is not None and variable.literal:
            return f"${{{name}}}"
        if variable is not None and variable.tool and name not in self.inputs.variables:
            return self.toolset.called(variable.tool)
        given = self.value(name)
        self.pace = max(self.pace, BUILT_IN.get(name, Pace.RELEASE) if variable is None else self._pace_of(variable))
        if variable is not None and variable.cases and name not in self.inputs.variables:
            return self._author(variable, part, key, block)
        if given is None or (given == "" and variable is None and name not in self.inputs.variables):
            if name in _OF_PROJECT or name == "MODEL":
                return "unknown"
            self._missing.setdefault(part, []).append(name)
            return ""
        if name not in self._scrubbed:  # each is scrubbed, and that noted, once
            self._scrubbed[name] = scrub(given, name, self.notes)
        return self._tamed(self._scrubbed[name], name, f"{part} {name}", inline=not block)

    def _pace_of(self, variable: Variable) -> Pace:
        if variable.each:
            own = self.preset.lists.get(variable.each)
            return max(variable.pace, own.pace if own else LISTS[variable.each][0])
        return variable.pace

    def _author(self, variable: Variable, part: str, key: str, block: bool) -> str | None:
        """Return the text of the first case that holds, or of the items of a list."""
        if self._depth > _DEEPEST:
            raise PresetError([f"variable {variable.name}: it contains itself"])
        if variable.each:
            items = self.items(variable.each)
            case = variable.cases[0]
            texts = [self.expand(self._text(case), part, item, self.key_of(variable.each, item)) for item in items]
            return variable.between.join(texts) if texts else None
        from deepprompt.systems.conditions import parse_condition

        for case in variable.cases:
            if parse_condition(case.when).holds(self.fact):
                # The author's newline, not one that a value ends in.
                own = self._text(case)
                own = own.removesuffix("\n") if block and own != "\n" else own
                text = self.expand(own, part, self._item, key)
                return ("" if block and own == "\n" else text) if text else None
        return None

    def _text(self, case: Case) -> str:
        if case.part is None:
            return case.text
        if case.part.note:
            self.notes.append(case.part.note)
        return case.part.text

    def _tamed(self, value: str, source: str, field: str, *, inline: bool) -> str:
        """Return a value that can forge neither a line, where it stands in one, nor a fence, nor the boundary."""
        text = one_line(value, field, self.notes) if inline else value
        text = scrub(text, source, self.notes)
        if self._fences:
            text = escape_tags(text, self._fences, source, self.notes)
        return escape_boundary(text, source, self.notes) if self.preset.has_boundary else text

    def check(self) -> None:
        """Collect everything that is wrong with what the caller gave."""
        from deepprompt.text.suggest import did_you_mean

        inputs, preset = self.inputs, self.preset
        flags = [
            flag
            for name, axis in preset.flags.items()
            for flag in ((name,) if isinstance(axis, str) else [f"{name}:{value}" for value in axis])
        ]
        for flag in inputs.flags:
            if flag not in flags:
                self._problems.append(f"no flag {flag!r:.60}; {did_you_mean(str(flag), flags)}")
        for name, axis in preset.flags.items():
            both = [] if isinstance(axis, str) else [flag for flag in inputs.flags if flag.startswith(f"{name}:")]
            if len(set(both)) > 1:
                self._problems.append(f"flags {' and '.join(both)} exclude each other")
        names = [*preset.variables, *BUILT_IN]
        for name, value in inputs.variables.items():
            if name not in names:
                self._problems.append(f"no variable {name!r:.60}; {did_you_mean(str(name), names)}")
            elif not isinstance(value, str):
                self._problems.append(f"variable {name} takes text, not {value!r:.60}")
            elif name in preset.variables and preset.variables[name].tool and not _is_tool_name(value):
                wanted = "up to 64 letters, digits, _ and -"
                self._problems.append(f"variable {name} is the name of a tool: {wanted}, not {value!r:.60}")
        for name, items in inputs.lists.items():
            if name not in preset.lists:
                self._problems.append(f"no list {name!r:.60}; {did_you_mean(str(name), list(preset.lists))}")
            else:
                self._check_items(name, items)
        if inputs.provides:
            from deepprompt.systems.requires import words_of

            words = words_of(preset)
            for word in inputs.provides:
                if word not in words:
                    self._problems.append(f"no requirement {word!r:.60}; {did_you_mean(str(word), list(words))}")
        self.input_notes += self._about_model()

    def _check_items(self, name: str, items: Iterable[Any]) -> None:
        from deepprompt.text.suggest import did_you_mean

        own = self.preset.lists[name]
        known = [*own.fields, *own.flags]
        for number, item in enumerate(items):
            unknown = [key for key in item if key not in known]
            self._problems += [
                f"list {name}[{number}]: no field {key!r:.60}; {did_you_mean(key, known)}" for key in unknown
            ]
            self._problems += [f"list {name}[{number}]: no {field}" for field in own.fields if field not in item]

    def _about_model(self) -> list[Note]:
        model, patterns = self.inputs.model, self.preset.written_for
        if not model or not patterns:
            return []
        from fnmatch import fnmatchcase

        names = (model.lower(), model.lower().rpartition("/")[2])
        if any(fnmatchcase(name, pattern.lower()) for name in names for pattern in patterns):
            return []
        detail = f"its wording is written for {', '.join(patterns)}, not for {model}"
        return [Note("model", f"preset {self.preset.name}", detail)]

    def refuse_problems(self) -> None:
        """Raise everything that is wrong with the inputs in one error."""
        problems = [*self._problems]
        for part, names in self._missing.items():
            from deepprompt.text.suggest import did_you_mean

            known = sorted([*self.preset.variables, *BUILT_IN])
            unknown = [name for name in dict.fromkeys(names) if name not in known]
            hints = dict.fromkeys(f"; {did_you_mean(name, known, 'known')}" for name in unknown)
            problems.append(f"part {part!r} needs a value for {', '.join(dict.fromkeys(names))}{''.join(hints)}")
        if problems:
            raise PresetError(f"preset {self.preset.name}: {problem}" for problem in problems)

    def unused(self) -> list[Note]:
        """Return a note on everything that was given and that no row of this prompt shows."""
        around, inputs = self.around, self.inputs
        given: list[tuple[str, object, tuple[str, ...]]] = [
            *[(f"variable {name}", True, (name,)) for name in inputs.variables],
            *[(f"list {name}", items, (f"list:{name}",)) for name, items in inputs.lists.items()],
            ("MCP servers", inputs.mcp, ("list:mcp", "MCP_SERVERS")),
            ("slash commands", inputs.commands, ("list:commands", "SLASH_COMMANDS")),
            ("output style", inputs.output_style, ("OUTPUT_STYLE",)),
        ]
        if around is not None:
            given += [
                ("instruction files", around.instructions, ("list:instructions",)),
                ("skills", around.skills.skills, ("list:skills",)),
                ("CLAUDE.md", around.claude_md, ("CLAUDE_MD", "list:claude_md")),
            ]
        detail = f"no row of {self.preset.name} shows this"
        notes = [Note("skipped", what, detail) for what, value, names in given if value and not self._used & {*names}]
        return [*notes_of(inputs.append), *notes_of(inputs.base), *notes]
