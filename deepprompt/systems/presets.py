"""Presets: the prompt of a kind of agent as data. `load_preset` finds one, resolves what it extends, and checks it.

A preset is one version of a family in a catalogue: `FAMILY/VERSION/preset.toml` beside its parts. The bundled ones are
compiled into `bundled_presets`, so that a first prompt neither parses TOML nor checks what a test has checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from os import PathLike

from deepprompt.catalog import Catalog, bundled, from_folder
from deepprompt.errors import DeepPromptError, PresetError, UnknownPartError
from deepprompt.prompt import Prompt
from deepprompt.systems.preset_file import FILE, Reader
from deepprompt.systems.rows import SLOTS, Agent, OwnList, PresetReminder, Row, Tool, Value, Variable, value
from deepprompt.systems.variables import variables_of

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any, Unpack

    from deepprompt.sources.surroundings import Surroundings
    from deepprompt.systems.compose import Choice
    from deepprompt.systems.inputs import Given

SLOTS_PRESET = "slots@1.0.0"
_PIECES = {"base", "slots"}
"""Bundled presets that others take texts from. They are not the prompt of an agent by themselves."""


@value
class Preset(Value):
    """A preset: ordered rows, and the variables, flags, lists, tools, agents and reminders that go with them."""

    family: str
    version: str
    about: str = ""
    written_for: tuple[str, ...] = ()
    """Patterns for the models that the wording is for; empty if it is for any model."""
    rows: tuple[Row, ...] = ()
    variables: Mapping[str, Variable] = {}
    flags: Mapping[str, str | tuple[str, ...]] = {}
    """What each flag means; for an axis, its values."""
    lists: Mapping[str, OwnList] = {}
    own_tools: Mapping[str, Tool] = {}
    own_agents: Mapping[str, Agent] = {}
    own_reminders: Mapping[str, PresetReminder] = {}
    requires: Mapping[str, str] = {}
    """Its own words for what a host must provide."""
    orders: Mapping[str, tuple[str, ...]] = {}
    """Other orders of the rows, by name."""
    join: str = "\n\n"
    fixed_order: bool = False
    instructions: str = "agents"
    """The profile by which instruction files and skills are loaded for it, such as `agents` or `codex`."""
    extends: str = ""
    """The preset that this one extends, as NAME@VERSION."""
    label: str = "deepprompt"
    """The catalogue that it comes from."""
    kept: dict[object, Any] = {}  # noqa: RUF012 - each has its own
    """What was composed for the last inputs. It can be cleared."""

    def __repr__(self) -> str:
        return f"<Preset {self.name}>"

    @property
    def name(self) -> str:
        """NAME@VERSION."""
        return f"{self.family}@{self.version}"

    @property
    def boundary(self) -> int:
        """The index of the boundary row, or the number of rows if there is none."""
        return next((index for index, row in enumerate(self.rows) if row.kind == "boundary"), len(self.rows))

    @property
    def has_boundary(self) -> bool:
        """Whether the prompt has a boundary."""
        return self.boundary < len(self.rows)

    def ordered(self, order: str) -> Preset:
        """Return the preset with its rows in one of its other orders.

        Raises `UnknownPartError` if it has no order of that name.
        """
        if order not in self.orders:
            raise UnknownPartError(f"no order named {order!r}; there are: {', '.join(self.orders) or 'none'}")
        return _ordered(self, order)

    def compose(self, around: Surroundings | None = None, **given: Unpack[Given]) -> Prompt:
        """Return the prompt: static prefix, boundary, per-turn context, with the definitions of the tools.

        `around` is what `gather(cwd)` returns. The other arguments are keywords: `tools` are names, or definitions of
        your own; `flags` are the names of those that are on; `variables` and `lists` have values by name; `mcp` and
        `commands` are the connected servers and slash commands; `output_style` and `model` are texts. `custom` replaces
        the whole text, `base` only the wording before the boundary, and `append` adds to the end of the prefix: each is
        a text or parts. A prompt of more tokens than `budget` raises `BudgetError`. `provides` are the words for what
        your runtime does; what the prompt needs beyond them is noted. Everything wrong with what you gave is in one
        `PresetError`.
        """
        from deepprompt.systems.compose import compose
        from deepprompt.systems.inputs import Inputs

        return compose(self, around, Inputs(**given))

    def choices(self, around: Surroundings | None = None, **given: Unpack[Given]) -> list[Choice]:
        """Return every row in order, whether it is in the prompt, and why. It takes the arguments of `compose`."""
        from deepprompt.systems.compose import choices
        from deepprompt.systems.inputs import Inputs

        return choices(self, around, Inputs(**given))

    def tools(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Return the definitions of those tools that the preset has, sorted by name."""
        from deepprompt.systems.tools import Toolset

        return Toolset(self, names).definitions()

    def agents(self) -> dict[str, Agent]:
        """Return the agents by name."""
        return dict(self.own_agents)

    def agent(
        self,
        name: str,
        /,
        around: Surroundings | None = None,
        *,
        skills: Iterable[str] = (),
        policy: bool = True,
        tools: Iterable[str] = (),
        **variables: str,
    ) -> Prompt:
        """Return the prompt of an agent: its text, the bodies of `skills`, and the environment if you pass `around`.

        It has the preset's security policy and censoring part too, unless `policy` is False. `variables` are those of
        its text, in small letters. `tools` are those that it may call, by the names that you call them. Raises
        `UnknownPartError` for an unknown name, and `VariableError` for a missing value.
        """
        from deepprompt.systems.beside import agent_of

        return agent_of(self, name, around, tuple(skills), variables, policy=policy, tools=tools)

    def reminder(self, name: str = "", /, *, trigger: str = "", tools: Iterable[str] = (), **variables: object) -> str:
        """Return a reminder for the end of a user's message, in its tag. `trigger` finds it by its event.

        Raises `UnknownPartError` for an unknown name or event, and `VariableError` for a missing value.
        """
        from deepprompt.systems.beside import reminder_of

        return reminder_of(self, name, trigger, variables, tools)


@lru_cache(maxsize=16)
def _ordered(preset: Preset, order: str) -> Preset:
    rows = {row.name: row for row in preset.rows}
    return preset.but(rows=tuple(rows[name] for name in preset.orders[order]), kept={})


def load_preset(ask: str = "deepseek", *catalogs: Catalog | str | PathLike[str]) -> Preset:
    """Return a preset by `NAME`, `NAME@VERSION` or a specifier such as `NAME~=1.0`, from your catalogues or bundled.

    A catalogue is a folder of presets, or what `from_folder` or `from_package` returns. Your folder can also hold parts
    of a bundled preset, in a folder of its name without `preset.toml`: they replace its parts one by one. Everything
    wrong with a preset is one `PresetError`. Raises `UnknownPartError` if there is no such preset.
    """
    if not catalogs:
        return _load_bundled(ask, bundled())
    own = [catalog if isinstance(catalog, Catalog) else from_folder(catalog) for catalog in catalogs]
    return _load(ask, (*own, bundled()), ())


@lru_cache(maxsize=32)
def _load_bundled(ask: str, catalog: Catalog) -> Preset:
    return _load(ask, (catalog,), ())


def preset_names(*catalogs: Catalog) -> list[str]:
    """Return the families of some catalogues, and of the bundled one, that have a preset to build from."""
    found = {family for catalog in (*catalogs, bundled()) for family in catalog.families_with(FILE)}
    return sorted(found - _PIECES)


def family_of(ask: str) -> str:
    """Return the family in `NAME`, `NAME@VERSION` or `NAME~=VERSION`."""
    for place, sign in enumerate(ask):
        if sign in "@~=!<> ":
            return ask[:place]
    return ask


def _find(ask: str, catalogs: tuple[Catalog, ...]) -> tuple[Catalog, str, str]:
    """Return the first catalogue with the preset, its family and its version."""
    if not isinstance(ask, str):
        from deepprompt.arguments import wrong

        raise wrong("load_preset: ask", "NAME, NAME@VERSION or NAME~=VERSION", ask, error=UnknownPartError)
    family = family_of(ask.strip())
    for catalog in catalogs:
        if family in catalog.families_with(FILE):
            return (catalog, *catalog.resolve(ask, FILE))
    names = ", ".join(preset_names(*catalogs))
    raise UnknownPartError(f"no preset named {ask!r}; there are: {names}{_elsewhere(family, catalogs[:-1])}")


def _elsewhere(family: str, own: tuple[Catalog, ...]) -> str:
    """Return what a message says about the folders in which a preset was not found."""
    if not own:
        return "; if it is your own, name the folder that it is in (--parts)"
    said = [f"; {catalog.label}/{family} has no VERSION/{FILE}" for catalog in own if catalog.has_folder(family)]
    said += [f"; {catalog.label} has no NAME/VERSION/{FILE}" for catalog in own if not catalog.families_with(FILE)]
    return "".join(said[:1])


def _load(ask: str, catalogs: tuple[Catalog, ...], below: tuple[str, ...]) -> Preset:
    """Return a preset and, if any of it comes from a user, raise every problem in one error."""
    catalog, family, version = _find(ask, catalogs)
    if catalog.is_bundled:
        preset = _read(_compiled(family, version), (catalog, family, version), catalogs, below, [])
        for own in catalogs[:-1]:
            if family in own.families() and family not in own.families_with(FILE):
                from deepprompt.systems.changes import overridden

                preset = overridden(preset, own)
        return preset
    from deepprompt.systems.preset_check import check
    from deepprompt.text.parse import parse_toml

    problems: list[str] = []
    if family in bundled().families() and not catalog.is_copy_of(bundled()):
        problems.append(f"{catalog.label}:{family}/{version}/{FILE}: {family} is bundled; extend it under another name")
    place = f"{catalog.label}:{family}/{version}/{FILE}"
    try:
        data = parse_toml(catalog.file(family, version, FILE).encode(), place)
    except DeepPromptError as error:
        raise PresetError([*problems, str(error)]) from None
    preset = _read(data, (catalog, family, version), catalogs, below, problems)
    problems += check(preset, catalog, data)
    if problems:
        raise PresetError(problems)
    return preset


def _compiled(family: str, version: str) -> dict[str, Any]:
    from deepprompt.systems.bundled_presets import PRESETS

    return PRESETS[f"{family}/{version}"]


def _read(
    data: Mapping[str, Any],
    home: tuple[Catalog, str, str],
    catalogs: tuple[Catalog, ...],
    below: tuple[str, ...],
    problems: list[str],
) -> Preset:
    def find(ask: str) -> tuple[Catalog, str, str]:
        """Return where the parts of a family are. It need not be a preset."""
        for catalog in catalogs:
            if family_of(ask) in catalog.families():
                return (catalog, *catalog.resolve(ask))
        raise UnknownPartError(f"no family {family_of(ask)!r}")

    reader = Reader(data, home, find, problems)
    reader.top()
    parent = _parent(reader, catalogs, (*below, f"{home[1]}@{home[2]}"))
    preset = parent.but(
        family=home[1],
        version=home[2],
        label=home[0].label,
        about=reader.take(data, "", "about", str, ""),
        written_for=reader.texts(data, "", "written_for") if "written_for" in data else parent.written_for,
        variables={**parent.variables, **reader.variables()},
        flags={**parent.flags, **reader.flags()},
        lists={**parent.lists, **reader.lists()},
        own_tools={**parent.own_tools, **reader.tools()},
        own_agents={**parent.own_agents, **reader.agents()},
        own_reminders={**parent.own_reminders, **reader.reminders()},
        requires={**parent.requires, **reader.requires()},
        orders={name: reader.texts(reader.tables("orders"), "orders", name) for name in reader.tables("orders")},
        join=reader.take(data, "", "join", str, parent.join),
        fixed_order=reader.take(data, "", "fixed_order", bool, parent.fixed_order),
        instructions=reader.take(data, "", "instructions", str, _profile(home[0], home[1], parent)),
        extends=parent.name if "extends" in data else "",
        kept={},
    )
    rows = list(parent.rows)
    if "rows" in data:
        rows = []
        for number, table in enumerate(reader.take(data, "", "rows", list, []), 1):
            rows += _inherited(reader, table, number, parent)
    preset = preset.but(rows=tuple(rows))
    if changes := reader.take(data, "", "changes", list, []):
        from deepprompt.systems.changes import Changes, with_files

        applied = Changes(reader, preset, rows)
        applied.apply(changes)
        preset = with_files(preset.but(rows=tuple(rows)), applied.swap)
    if not preset.rows:
        reader.problem("", "no rows: give some, or extend a preset that has them")
    return _with_slots(preset, reader, catalogs)


def _profile(catalog: Catalog, family: str, parent: Preset) -> str:
    """Return the profile of a preset that names none: the seed's for `deepseek`, the open convention otherwise."""
    if catalog.is_bundled and family == "deepseek":
        return "deepseek"
    return "agents" if parent.label == Preset.label else parent.instructions


def _parent(reader: Reader, catalogs: tuple[Catalog, ...], below: tuple[str, ...]) -> Preset:
    ask = reader.take(reader.data, "", "extends", str, "")
    if not ask:
        if "changes" in reader.data:
            reader.problem("changes", "there is nothing to change: name a preset in extends, or give rows")
        return Preset("", "", kept={})
    if reader.home[0].is_released and "@" not in ask:
        reader.problem("extends", f"a released preset extends one version: write NAME@VERSION, not {ask!r:.60}")
    try:
        _, family, version = _find(ask, catalogs)
        if f"{family}@{version}" in below:
            reader.problem("extends", f"{' extends '.join([*below, f'{family}@{version}'])}: a circle")
            return Preset("", "", kept={})
        return _load(f"{family}@{version}", catalogs, below)
    except PresetError as error:
        for problem in error.problems:
            reader.problem("extends", problem)
    except DeepPromptError as error:
        reader.problem("extends", str(error))
    return Preset("", "", kept={})


def _inherited(reader: Reader, table: Any, number: int, parent: Preset) -> Iterable[Row]:
    """Return a row of the file, or the rows of the parent that `inherit` names: one, or FIRST..LAST."""
    if not isinstance(table, dict) or "inherit" not in table:
        row = reader.row(table, number)
        return () if row is None else (row,)
    where = f"row {number}"
    reader.refuse_others(table, ("inherit",), where)
    names = [row.name for row in parent.rows]
    first, dots, last = str(table["inherit"]).partition("..")
    ends = [name for name in (first, last) if name]
    missing = [name for name in ends if name not in names]
    if missing or not ends:
        from deepprompt.text.suggest import did_you_mean

        said = f"no row {missing[0]!r:.60} to inherit; {did_you_mean(missing[0], names)}" if missing else "no row named"
        reader.problem(where, said)
        return ()
    start = names.index(first) if first else 0
    stop = (names.index(last) if last else len(names) - 1) if dots else start
    return parent.rows[start : stop + 1]


def _with_slots(preset: Preset, reader: Reader, catalogs: tuple[Catalog, ...]) -> Preset:
    """Return a preset with each slot replaced by the row of the bundled preset of slots, with its own settings."""
    if all(row.kind != "slot" or row.what in SLOTS for row in preset.rows):
        return preset
    slots = _load(SLOTS_PRESET, catalogs[-1:], ())
    known = {each.name: each for each in slots.rows}
    rows = []
    for row in preset.rows:
        if row.kind != "slot" or row.what in SLOTS:
            rows.append(row)
        elif row.what in known:
            found = known[row.what]
            when = found.when if row.when == "always" else row.when
            rows.append(found.but(name=row.name, when=when, before=row.before, requires=row.requires))
        else:
            from deepprompt.text.suggest import did_you_mean

            reader.problem(f"row {row.name}", f"no slot {row.what!r:.60}; {did_you_mean(row.what, [*SLOTS, *known])}")
    names = [
        name for row in rows for _, file in row.files if file.family == slots.family for name in variables_of(file.text)
    ]
    used = {name: slots.variables[name] for name in names if name in slots.variables}
    return preset.but(rows=tuple(rows), variables={**used, **preset.variables})
