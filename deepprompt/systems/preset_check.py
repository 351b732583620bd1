"""Checks a whole preset, not only what one prompt chooses: names, conditions, variables, order, files and schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from deepprompt.catalog import Catalog
from deepprompt.errors import DeepPromptError, PaceError
from deepprompt.prompt import BOUNDARY_PART, Pace, Part, check_order
from deepprompt.systems.changes import OVERRIDES, every_file
from deepprompt.systems.conditions import parse_condition
from deepprompt.systems.preset_file import FILE
from deepprompt.systems.rows import BUILT_IN, LISTS, File, Row, Tool, Variable
from deepprompt.systems.variables import pattern, variables_of
from deepprompt.text.suggest import did_you_mean, nearest

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any

    from deepprompt.systems.presets import Preset

_WORDS = ("always", "tool:NAME", "set:VARIABLE", "list:NAME", "item:FIELD")
_READ = (".md", ".json", ".toml")


def check(preset: Preset, catalog: Catalog, data: Mapping[str, Any]) -> list[str]:
    """Return every problem of a preset whose own tables are `data`, each with the file and the name it is about."""
    checker = _Checker(preset, catalog, data)
    checker.rows()
    checker.conditions()
    checker.variables()
    checker.order()
    checker.lists()
    checker.tools()
    checker.files()
    checker.requires()
    checker.profile()
    return checker.problems


class _Checker:
    def __init__(self, preset: Preset, catalog: Catalog, data: Mapping[str, Any]) -> None:
        self.preset = preset
        self.catalog = catalog
        self.data = data
        self.problems: list[str] = []
        self._texts: dict[str, str | None] = {}
        self._words: set[str] = set()
        fields = [field for _, fields in LISTS.values() for field in fields]
        self._fields = {*fields, *(field for own in preset.lists.values() for field in own.fields), "COUNT"}
        self._item_words = self._fields | {flag for own in preset.lists.values() for flag in own.flags}

    def problem(self, where: str, what: str) -> None:
        place = f"{self.preset.label}:{self.preset.family}/{self.preset.version}/{FILE}"
        self.problems.append(f"{place}: {where}: {what}")

    def profile(self) -> None:
        """Check the profile that the preset names."""
        if "instructions" not in self.data:
            return
        from deepprompt.sources.plan.profile_file import profile_names

        names = list(profile_names())
        if (name := self.preset.instructions) not in names:
            self.problem("instructions", f"no profile {name!r:.60}; {did_you_mean(name, names)}")

    def requires(self) -> None:
        """Check the words for what a host must provide."""
        from deepprompt.systems.requires import words_of

        preset, known = self.preset, words_of(self.preset)
        asked = [(f"row {row.name}", row.requires) for row in preset.rows]
        for noun, table in (
            ("tool", preset.own_tools),
            ("agent", preset.own_agents),
            ("reminder", preset.own_reminders),
        ):
            asked += [(f"{noun} {name}", each.requires) for name, each in table.items()]
        for where, words in asked:
            for word in words:
                if word not in known:
                    self.problem(where, f"requires: no word {word!r:.60}; {did_you_mean(word, list(known))}")
        used = {word for _, words in asked for word in words}
        for word in self.own("requires"):
            if word not in used:
                self.problem(f"requires {word}", "nothing requires it")

    def own(self, table: str) -> Mapping[str, Any]:
        """Return one of the preset's own tables, not what it inherits."""
        found = self.data.get(table)
        return found if isinstance(found, dict) else {}

    def text(self, file: File) -> str:
        """Return the text of a file. One that cannot be read is a problem, once."""
        if file.origin not in self._texts:
            try:
                self._texts[file.origin] = file.text
            except DeepPromptError as error:
                self._texts[file.origin] = None
                if file.catalog.has(file.family, file.version, file.path):  # one that is not there was told before
                    self.problems.append(str(error))
        return self._texts[file.origin] or ""

    def rows(self) -> None:
        names = Counter(row.name for row in self.preset.rows)
        for name in [name for name, count in names.items() if count > 1]:
            self.problem(f"row {name}", f"{names[name]} rows have this name; give one of them another in name")
        for row in self.preset.rows:
            if row.name == BOUNDARY_PART and row.kind != "boundary":
                self.problem(f"row {row.name}", "only the boundary has this name")
            if row.kind == "each" and row.what not in {*LISTS, *self.preset.lists}:
                known = [*LISTS, *self.preset.lists]
                self.problem(f"row {row.name}", f"no list {row.what!r:.60}; {did_you_mean(row.what, known)}")
        for name, order in self.preset.orders.items():
            for wrong in sorted({*order} ^ {*names}):
                what = "is not in it" if wrong in names else "is no row"
                self.problem(f"order {name}", f"{wrong!r:.60} {what}; an order has every row once")

    def conditions(self) -> None:
        for row in self.preset.rows:
            self.condition(row.when, f"row {row.name}")
        for variable in self.preset.variables.values():
            for case in variable.cases:
                self.condition(case.when, f"variable {variable.name}")
        for flag, axis in self.own("flags").items():
            for word in [flag] if isinstance(axis, str) else [f"{flag}:{value}" for value in axis]:
                if word not in self._words:
                    self.problem(f"flag {flag}", f"no condition asks for {word}")

    def condition(self, text: str, where: str) -> None:
        try:
            words = parse_condition(text).words
        except ValueError as error:
            self.problem(where, f"when = {text!r:.80}: {error}")
            return
        self._words |= {*words}
        for word in words:
            if said := self.unknown(word):
                self.problem(where, f"when = {text!r:.80}: {said}")

    def unknown(self, word: str) -> str:
        """Return what is wrong with a word of a condition, "" if it is known."""
        kind, colon, name = word.partition(":")
        flags = self.preset.flags
        known = [flag for flag, axis in flags.items() if isinstance(axis, str)]
        known += [f"{flag}:{value}" for flag, axis in flags.items() if not isinstance(axis, str) for value in axis]
        if word == "always" or word in known:
            return ""
        if colon and kind == "tool":
            tools = [name for tool in self.preset.own_tools.values() for name in (tool.name, *tool.names)]
            near = [] if name in tools else nearest(name, tools, 0.8)
            return f"no tool {name!r:.60}; did you mean {near[0]}?" if near else ""
        names = {
            "set": [*BUILT_IN, *self.preset.variables],
            "list": [*LISTS, *self.preset.lists],
            "item": sorted(self._item_words),
        }
        if colon and kind in names:
            noun = {"set": "variable", "list": "list", "item": "field or flag of a list"}[kind]
            return "" if name in names[kind] else f"no {noun} {name!r:.60}; {did_you_mean(name, names[kind])}"
        return f"no flag {word!r:.60}; {did_you_mean(word, [*known, *_WORDS])}"

    def variables(self) -> None:
        declared = {*BUILT_IN, *self.preset.variables}
        used: set[str] = {word.partition(":")[2] for word in self._words if word.startswith("set:")}
        for where, text, names in self.texts():
            for name in variables_of(text):
                used.add(name)
                if name not in declared and name not in names:
                    known = sorted({*declared, *names})
                    self.problem(where, f"${{{name}}} is not declared; {did_you_mean(name, known)}")
        for name in self.own("variables"):
            variable = self.preset.variables.get(name)
            if variable is None:
                continue
            if pattern().fullmatch(f"${{{name}}}") is None:
                self.problem(f"variable {name}", "a name is capital letters, digits and _, such as TEAM_NAME")
            elif name in BUILT_IN:
                self.problem(f"variable {name}", "every preset has this variable; choose another name")
            elif name not in used and not variable.offered:
                self.problem(f"variable {name}", "no part uses it")
            if variable.each and variable.each not in {*LISTS, *self.preset.lists}:
                self.problem(f"variable {name}", f"no list {variable.each!r:.60}")
        self.circles()

    def texts(self) -> Iterable[tuple[str, str, set[str]]]:
        """Yield every text of the author's with what it belongs to and the fields that it may use beside variables."""
        for row in self.preset.rows:
            if row.raw:
                continue
            if row.kind == "text":
                yield f"row {row.name}", row.what, set()
            for role, file in row.files:
                yield f"row {row.name}: {file.path}", self.text(file), self.fields(row, role)
        for variable in self.preset.variables.values():
            for case in variable.cases:
                # A case may stand in an item, so that it may use the fields of any list.
                text = self.text(case.part) if case.part else case.text
                yield f"variable {variable.name}", text, self._fields
        for agent in self.preset.own_agents.values():
            yield f"agent {agent.name}", self.text(agent.part), set(variables_of(self.text(agent.part)))
        for reminder in self.preset.own_reminders.values():
            yield f"reminder {reminder.name}", self.text(reminder.part), set(variables_of(self.text(reminder.part)))

    def fields(self, row: Row, role: str) -> set[str]:
        if role == "more":
            return {"COUNT"}
        if role != "item":
            return set()
        return {*(LISTS[row.what][1] if row.what in LISTS else getattr(self.preset.lists.get(row.what), "fields", ()))}

    def inner(self, variable: Variable) -> set[str]:
        """Return the variables in a variable's own texts."""
        texts = [self.text(case.part) if case.part else case.text for case in variable.cases]
        return {name for text in texts for name in variables_of(text)}

    def circles(self) -> None:
        """Add a problem for each variable whose text leads back to itself."""
        inner = {name: self.inner(variable) for name, variable in self.preset.variables.items()}
        for start in inner:
            found, todo = set[str](), [*inner[start]]
            while todo:
                name = todo.pop()
                if name not in found:
                    found.add(name)
                    todo += inner.get(name, ())
            if start in found:
                self.problem(f"variable {start}", "its text leads back to itself")

    def order(self) -> None:
        """Add a problem if a fast row stands before a slow one."""
        if self.preset.fixed_order:
            return
        parts = [Part(row.name, "", self.pace(row), "") for row in self.preset.rows if row.kind != "boundary"]
        try:
            check_order(parts)
        except PaceError as error:
            fast = [name for row in self.preset.rows for name in self.fast(row)]
            names = [*dict.fromkeys(fast)]
            are, it = ("are", "them") if names[1:] else ("is", "it")
            same = (
                f"; if {' and '.join(names)} {are} the same from release to release, declare {it} with pace = 'release'"
            )
            self.problem("rows", f"{error}{same if names else ''}; or set fixed_order = true")

    def fast(self, row: Row) -> list[str]:
        """Return the declared variables that make a row faster than it says."""
        texts = [row.what] if row.kind == "text" else [self.text(file) for _, file in row.files]
        declared = self.preset.variables
        names = [name for text in texts for name in variables_of(text) if name in declared and not row.raw]
        return [name for name in names if declared[name].pace > row.pace]

    def pace(self, row: Row) -> Pace:
        """Return how fast a row is at most: the fastest of its own pace and those of its variables."""
        texts = [row.what] if row.kind == "text" else [self.text(file) for _, file in row.files]
        todo = [] if row.raw else [name for text in texts for name in variables_of(text)]
        paces, seen = [row.pace], set[str]()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if variable := self.preset.variables.get(name):
                own = self.preset.lists.get(variable.each)
                paces += [variable.pace, *([own.pace] if own else [])]
                paces += [LISTS[variable.each][0]] if variable.each in LISTS else []
                todo += self.inner(variable)
            elif name in BUILT_IN:
                paces.append(BUILT_IN[name])
        return max(paces)

    def lists(self) -> None:
        used = {row.what for row in self.preset.rows if row.kind == "each"}
        used |= {variable.each for variable in self.preset.variables.values()}
        used |= {word.partition(":")[2] for word in self._words if word.startswith("list:")}
        for name in self.own("lists"):
            own = self.preset.lists.get(name)
            if own is None:
                continue
            if name in LISTS:
                self.problem(f"list {name}", "every preset has this list; choose another name")
            elif name not in used:
                self.problem(f"list {name}", "nothing shows it")
            if own.sort and own.sort not in own.fields:
                self.problem(f"list {name}", f"sort = {own.sort!r:.60} is none of its fields")
            for field in own.fields:
                if pattern().fullmatch(f"${{{field}}}") is None:
                    self.problem(f"list {name}", f"{field!r:.60}: a field is capital letters, digits and _")

    def tools(self) -> None:
        from deepprompt.text.parse import parse_json

        names = Counter(name for tool in self.preset.own_tools.values() for name in (tool.name, *tool.names))
        for name in sorted(name for name, count in names.items() if count > 1):
            self.problem(f"tool {name}", "two tools have this name")
        for name in self.own("tools"):
            tool = self.preset.own_tools.get(name)
            if tool is None:
                continue
            self.description(tool)
            text = self.text(tool.schema)
            if self._texts[tool.schema.origin] is None:  # it cannot be read, which is a problem already
                continue
            try:
                schema = parse_json(text, tool.schema.origin)
            except DeepPromptError as error:
                self.problems.append(str(error))
                continue
            if not isinstance(schema, dict) or schema.get("type") != "object":
                around = [key for key in ("input_schema", "parameters", "function") if key in (schema or ())]
                hint = f"; leave out what stands around {around[0]!r}" if around else ""
                said = f"{tool.schema.path} is no JSON Schema of an object: type is not object{hint}"
                self.problem(f"tool {name}", said)
            elif not isinstance(schema.get("properties", {}), dict):
                self.problem(f"tool {name}", f"{tool.schema.path} is no JSON Schema: properties is not an object")

    def description(self, tool: Tool) -> None:
        """Check a tool's description, which takes the variables of tools only."""
        text = self.text(tool.description)
        if self._texts[tool.description.origin] is not None and not text.strip():
            self.problem(
                f"tool {tool.name}", f"{tool.description.path} is empty: a model needs to know what a tool does"
            )
        declared = self.preset.variables
        of_tools = {each.variable for each in self.preset.own_tools.values()}
        for name in variables_of(text):
            if name in declared and name not in of_tools and not declared[name].literal:
                said = f"${{{name}}} would be sent unchanged: a description takes only variables that stand for tools"
                self.problem(f"tool {tool.name}: {tool.description.path}", said)

    def files(self) -> None:
        """Add a problem for each file of the preset's folder that nothing refers to."""
        preset = self.preset
        known = {
            file.path for file in every_file(preset) if file.catalog is self.catalog and file.family == preset.family
        }
        for path in self.catalog.files(preset.family, preset.version):
            if path not in known and path not in (FILE, OVERRIDES) and path.endswith(_READ):
                # If the row's own file is missing, this one is meant, and the row is misspelt: the reader says so.
                there = [name for name in known if self.catalog.has(preset.family, preset.version, name)]
                near = nearest(path, there, 0.75)
                self.problem(path, f"nothing refers to this file{f'; did you mean {near[0]}?' if near else ''}")
