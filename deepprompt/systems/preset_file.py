"""Reads the tables of a `preset.toml` into rows, variables and the rest. Every problem is collected, none is raised.

Whether the pieces fit together, such as whether a variable is used, is checked in `preset_check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from deepprompt.catalog import SUFFIX, Catalog
from deepprompt.errors import DeepPromptError
from deepprompt.prompt import BOUNDARY_PART, Pace
from deepprompt.systems.rows import LISTS, SLOTS, Agent, Case, File, OwnList, PresetReminder, Row, Tool, Variable

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any

FILE = "preset.toml"
FORMAT = 1
TOP = (
    "format", "about", "extends", "written_for", "join", "final_newline", "fixed_order", "instructions", "rows",
    "changes", "orders", "flags", "variables", "lists", "tools", "agents", "reminders", "requires",
)  # fmt: skip
KINDS = ("part", "text", "slot", "each", "boundary")
ROW = (
    *KINDS,
    "name",
    "when",
    "pace",
    "before",
    "from",
    "frame",
    "item",
    "between",
    "end",
    "raw",
    "limit",
    "more",
    "requires",
)
_ROLES = ("frame", "item", "end", "more")
_PACES = {pace.name.lower(): pace for pace in Pace}
_KIND_NAMES = {str: "text", bool: "true or false", list: "a list", dict: "a table", int: "a number"}


class Reader:
    """Reads one preset's tables. `find` returns catalogue, family and version for the `from` of a row or tool."""

    def __init__(
        self,
        data: Mapping[str, Any],
        home: tuple[Catalog, str, str],
        find: Callable[[str], tuple[Catalog, str, str]],
        problems: list[str],
    ) -> None:
        self.data = data
        self.home = home
        self._find = find
        self._problems = problems
        self._place = f"{home[0].label}:{home[1]}/{home[2]}/{FILE}"
        self.keeps_newline = False

    def problem(self, where: str, what: str) -> None:
        """Add a problem, with the file and the row or variable that it is about."""
        self._problems.append(f"{self._place}: {where}: {what}" if where else f"{self._place}: {what}")

    def top(self) -> None:
        """Check the keys of the file itself."""
        self.refuse_others(self.data, TOP, "")
        if self.data.get("format") != FORMAT:
            found = f"not {self.data['format']!r:.40}" if "format" in self.data else "and the file has none"
            self.problem("format", f"this version of deepprompt reads format = {FORMAT}, {found}")
        newline = self.take(self.data, "", "final_newline", str, "strip")
        if newline not in ("strip", "keep"):
            self.problem("final_newline", f"'strip' or 'keep', not {newline!r:.40}")
        self.keeps_newline = newline == "keep"

    def take(self, table: Mapping[str, Any], where: str, key: str, kind: type, default: Any) -> Any:
        """Return a key's value if it is of a type, else the default."""
        value = table.get(key, default)
        if key not in table or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
            return value
        self.problem(where or key, f"{key} is {_KIND_NAMES[kind]}, not {value!r:.40}")
        return default

    def texts(self, table: Mapping[str, Any], where: str, key: str) -> tuple[str, ...]:
        """Return a key's list of texts."""
        values = self.take(table, where, key, list, [])
        if all(isinstance(value, str) for value in values):
            return tuple(values)
        self.problem(where or key, f"{key} is a list of texts")
        return ()

    def tables(self, key: str) -> dict[str, Any]:
        """Return one of the file's tables."""
        tables: dict[str, Any] = self.take(self.data, "", key, dict, {})
        return tables

    def refuse_others(self, table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        """Add a problem for each key that means nothing: a misspelt one would be ignored otherwise."""
        for key in table:
            if key not in known:
                from deepprompt.text.suggest import did_you_mean

                self.problem(where, f"no key {key!r} here; {did_you_mean(key, list(known))}")

    def file(self, name: str, ask: str, where: str, suffix: str = SUFFIX) -> File:
        """Return a file beside the preset, or in the version that `from` names. One that is not there is a problem."""
        home = self.home
        if ask:
            try:
                home = self._find(ask)
            except DeepPromptError as error:
                self.problem(where, f"from: {error}")
                return File(*self.home, name + suffix)
        file = File(*home, name + suffix, self.keeps_newline)
        if not home[0].is_bundled and not home[0].has(home[1], home[2], file.path):
            from deepprompt.text.suggest import nearest

            others = [path.removesuffix(suffix) for path in home[0].files(home[1], home[2]) if path.endswith(suffix)]
            near = nearest(name, others, 0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.problem(where, f"there is no file {home[1]}/{home[2]}/{file.path} in {home[0].label}{hint}")
        return file

    def pace(self, table: Mapping[str, Any], where: str, default: Pace) -> Pace:
        """Return the pace of a row, variable or list."""
        word = self.take(table, where, "pace", str, "")
        if word and word not in _PACES:
            self.problem(where, f"pace is one of {', '.join(_PACES)}, not {word!r:.40}")
        return _PACES.get(word, default)

    def row(self, table: Any, number: int = 0, known: tuple[str, ...] = ROW) -> Row | None:
        """Return a row."""
        where = f"row {number}" if number else "a row"
        if not isinstance(table, dict):
            self.problem(where, f"a row is a table such as {{ part = 'rules' }}, not {table!r:.40}")
            return None
        kinds = [kind for kind in KINDS if kind in table]
        if len(kinds) != 1:
            said = f"this row has {' and '.join(kinds) or 'none'}; a row has exactly one of {', '.join(KINDS)}"
            self.problem(where, said)
            self.refuse_others(table, known, where)
            return None
        kind = kinds[0]
        what = BOUNDARY_PART if kind == "boundary" else self.take(table, where, kind, str, "")
        name = self.take(table, where, "name", str, "") or ("" if kind == "text" else what)
        if not name:
            self.problem(where, "a row with a text of its own needs a name")
        where = f"row {name or number}"
        self.refuse_others(table, known, where)
        ask = self.take(table, where, "from", str, "")
        files = [("part", self.file(what, ask, where))] if kind == "part" else []
        files += [(role, self.file(table[role], ask, where)) for role in _ROLES if isinstance(table.get(role), str)]
        if kind == "each" and "item" not in table:
            self.problem(where, "a row of each needs an item, the part for one of them")
        if kind != "each" and (odd := [key for key in (*_ROLES, "between", "limit") if key in table]):
            self.problem(where, f"{odd[0]} is for rows of each")
        return Row(
            kind,
            name,
            what,
            self.take(table, where, "when", str, "always"),
            self.pace(table, where, self._default_pace(kind, what)),
            self.take(table, where, "before", str, None) if "before" in table else None,
            tuple(files),
            self.take(table, where, "between", str, "\n"),
            self.take(table, where, "raw", bool, False),
            self.take(table, where, "limit", int, 0),
            self.texts(table, where, "requires"),
        )

    def _default_pace(self, kind: str, what: str) -> Pace:
        if kind == "slot":
            return SLOTS.get(what, Pace.PROJECT)
        if kind == "each":
            return LISTS[what][0] if what in LISTS else Pace.PROJECT
        return Pace.RELEASE

    def variables(self) -> dict[str, Variable]:
        """Return the variables."""
        read = {}
        for name, table in self.tables("variables").items():
            where = f"variable {name}"
            if isinstance(table, str):
                table = {"default": table}
            if not isinstance(table, dict):
                self.problem(where, f"a default, or a table such as {{ about = '...' }}, not {table!r:.40}")
                continue
            self.refuse_others(
                table,
                ("about", "default", "cases", "each", "text", "part", "between", "literal", "pace", "offered"),
                where,
            )
            kinds = [kind for kind in ("default", "cases", "each", "literal") if kind in table]
            if len(kinds) > 1:
                self.problem(where, f"{' and '.join(kinds)} exclude each other")
            each = self.take(table, where, "each", str, "")
            cases = [self._case(case, where) for case in self.take(table, where, "cases", list, [])]
            if each:
                cases = [self._case({key: table[key] for key in ("text", "part") if key in table}, where)]
            read[name] = Variable(
                name,
                self.take(table, where, "default", str, None) if "default" in table else None,
                tuple(cases),
                each,
                self.take(table, where, "between", str, "\n"),
                self.take(table, where, "literal", bool, False),
                self.pace(table, where, Pace.RELEASE if cases or "default" in table else Pace.PROJECT),
                self.take(table, where, "about", str, ""),
                self.take(table, where, "offered", bool, False),
            )
        for name, tool in self._tool_variables().items():
            if name in read:
                self.problem(f"tool {tool}", f"variable {name} is declared in [variables] too")
            read[name] = Variable(name, pace=Pace.RELEASE, tool=tool)
        return read

    def _tool_variables(self) -> dict[str, str]:
        """Return the variables that stand for the names of tools."""
        tools = {name: table for name, table in self.tables("tools").items() if isinstance(table, dict)}
        return {str(table["variable"]): name for name, table in tools.items() if table.get("variable")}

    def _case(self, table: Any, where: str) -> Case:
        if not isinstance(table, dict) or ("text" in table) == ("part" in table):
            self.problem(where, "a case has a text or a part, and a condition in when")
            return Case()
        self.refuse_others(table, ("when", "text", "part", "from"), where)
        part = self.take(table, where, "part", str, "")
        return Case(
            self.take(table, where, "when", str, "always"),
            self.take(table, where, "text", str, ""),
            self.file(part, self.take(table, where, "from", str, ""), where) if part else None,
        )

    def flags(self) -> dict[str, str | tuple[str, ...]]:
        """Return the flags: what each means, or the values of an axis."""
        flags: dict[str, str | tuple[str, ...]] = {}
        for name, value in self.tables("flags").items():
            if isinstance(value, str):
                flags[name] = value
            else:
                flags[name] = self.texts({name: value}, f"flag {name}", name)
        return flags

    def lists(self) -> dict[str, OwnList]:
        """Return the lists."""
        read = {}
        for name, table in self.tables("lists").items():
            where = f"list {name}"
            if not isinstance(table, dict) or not table.get("fields"):
                self.problem(where, "a list has fields, such as { fields = ['NAME'] }")
                continue
            self.refuse_others(table, ("fields", "flags", "sort", "pace"), where)
            read[name] = OwnList(
                name,
                self.texts(table, where, "fields"),
                self.texts(table, where, "flags"),
                self.take(table, where, "sort", str, ""),
                self.pace(table, where, Pace.PROJECT),
            )
        return read

    def requires(self) -> dict[str, str]:
        """Return the preset's own words for what a host must provide, and what each means."""
        table = self.tables("requires")
        return {word: self.take(table, f"requires {word}", word, str, "") for word in table}

    def _named(self, key: str, known: tuple[str, ...]) -> Iterable[tuple[str, str, dict[str, Any]]]:
        for name, table in self.tables(key).items():
            where = f"{key.removesuffix('s')} {name}"
            if isinstance(table, dict):
                self.refuse_others(table, known, where)
                yield name, where, table
            else:
                self.problem(where, f"a table, {{}} at the least, not {table!r:.40}")

    def tools(self) -> dict[str, Tool]:
        """Return the tools."""
        read = {}
        for name, where, table in self._named("tools", ("from", "names", "variable", "requires")):
            ask = self.take(table, where, "from", str, "")
            files = [self.file(f"tools/{name}", ask, where, suffix) for suffix in (SUFFIX, ".json")]
            variable = self.take(table, where, "variable", str, "")
            names, requires = (self.texts(table, where, key) for key in ("names", "requires"))
            read[name] = Tool(name, files[0], files[1], names, variable, requires)
        return read

    def agents(self) -> dict[str, Agent]:
        """Return the agents."""
        return {
            name: Agent(
                name,
                self.file(f"agents/{name}", self.take(table, where, "from", str, ""), where),
                self.take(table, where, "about", str, ""),
                self.texts(table, where, "tools"),
                self.take(table, where, "when_used", str, ""),
                self.texts(table, where, "requires"),
            )
            for name, where, table in self._named("agents", ("about", "tools", "when_used", "from", "requires"))
        }

    def reminders(self) -> dict[str, PresetReminder]:
        """Return the reminders."""
        return {
            name: PresetReminder(
                name,
                self.file(f"reminders/{name}", self.take(table, where, "from", str, ""), where),
                self.take(table, where, "trigger", str, ""),
                self.take(table, where, "about", str, ""),
                self.texts(table, where, "requires"),
            )
            for name, where, table in self._named("reminders", ("trigger", "about", "from", "requires"))
        }
