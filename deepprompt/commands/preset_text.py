"""A resolved preset as TOML: everything that it extends or takes from elsewhere, written out row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from deepprompt.prompt import Pace
from deepprompt.systems.conditions import parse_condition
from deepprompt.systems.rows import LISTS, SLOTS, Case, File, Row, Variable

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset


def preset_text(preset: Preset) -> str:
    """Return a `preset.toml` that has no `extends`: in a folder with the preset's own files, it is the same preset."""
    lines = [f"# {preset.name}, resolved" + (f"; it extends {preset.extends}" if preset.extends else "")]
    lines += ["format = 1", f"about = {_toml(preset.about)}"]
    if preset.written_for:
        lines.append(f"written_for = {_toml(list(preset.written_for))}")
    if preset.join != "\n\n":
        lines.append(f"join = {_toml(preset.join)}")
    if any(file.keeps_newline for row in preset.rows for _, file in row.files):
        lines.append('final_newline = "keep"')
    if preset.fixed_order:
        lines.append("fixed_order = true")
    lines += ["rows = [", *[f"  {_inline(_row(row, preset))}," for row in preset.rows], "]"]
    lines += _table("requires", preset.requires)
    lines += _table("orders", {name: list(order) for name, order in preset.orders.items()})
    lines += _table("flags", _flags(preset))
    lines += _table(
        "variables", {name: _variable(each, preset) for name, each in preset.variables.items() if not each.tool}
    )
    lines += _table(
        "lists",
        {
            name: _given(fields=[*own.fields], flags=[*own.flags], sort=own.sort, pace=own.pace.name.lower())
            for name, own in preset.lists.items()
        },
    )
    lines += _table(
        "tools",
        {
            name: {
                **_from([tool.description, tool.schema], preset),
                **_given(names=[*tool.names], variable=tool.variable, requires=[*tool.requires]),
            }
            for name, tool in preset.own_tools.items()
        },
    )
    lines += _table(
        "agents",
        {
            name: {
                **_from([each.part], preset),
                **_given(about=each.about, tools=[*each.tools], when_used=each.when_used, requires=[*each.requires]),
            }
            for name, each in preset.own_agents.items()
        },
    )
    lines += _table(
        "reminders",
        {
            name: {
                **_from([each.part], preset),
                **_given(trigger=each.trigger, about=each.about, requires=[*each.requires]),
            }
            for name, each in preset.own_reminders.items()
        },
    )
    return "\n".join(lines) + "\n"


def _row(row: Row, preset: Preset) -> dict[str, object]:
    """Return the keys of a row, those left out that have their default."""
    files = dict(row.files)
    what: object = True if row.kind == "boundary" else files["part"].name if row.kind == "part" else row.what
    table: dict[str, object] = {row.kind: what}
    if row.kind != "boundary" and row.name != what:
        table["name"] = row.name
    table |= {role: file.name for role, file in files.items() if role != "part"}
    if row.kind == "each" and row.between != "\n":
        table["between"] = row.between
    table |= _from(files.values(), preset)
    table |= _given(
        when="" if row.when == "always" else row.when, raw=row.raw, limit=row.limit, requires=[*row.requires]
    )
    default = {"part": Pace.RELEASE, "text": Pace.RELEASE, "boundary": row.pace}.get(row.kind, Pace.PROJECT)
    if row.kind == "each" and row.what in LISTS:
        default = LISTS[row.what][0]
    if row.pace is not (SLOTS.get(row.what, default) if row.kind == "slot" else default):
        table["pace"] = row.pace.name.lower()
    if row.before is not None:
        table["before"] = row.before
    return table


def _flags(preset: Preset) -> dict[str, object]:
    """Return the flags that a condition asks for: rows that asked for others may have been removed."""
    conditions = [row.when for row in preset.rows]
    conditions += [case.when for variable in preset.variables.values() for case in variable.cases]
    asked = {word for condition in conditions for word in parse_condition(condition).words}
    flags: dict[str, object] = {name: what for name, what in preset.flags.items() if name in asked}
    for name, axis in preset.flags.items():
        if not isinstance(axis, str) and (values := [value for value in axis if f"{name}:{value}" in asked]):
            flags[name] = values
    return flags


def _variable(variable: Variable, preset: Preset) -> dict[str, object]:
    table: dict[str, object] = _given(about=variable.about, literal=variable.literal, offered=variable.offered)
    if variable.default is not None:
        table["default"] = variable.default
    cases = [_case(case, preset) for case in variable.cases]
    if variable.each:
        table |= {"each": variable.each, **cases[0], "between": variable.between}
    elif cases:
        table["cases"] = cases
    return {**table, "pace": variable.pace.name.lower()}


def _case(case: Case, preset: Preset) -> dict[str, object]:
    said: dict[str, object] = {} if case.when == "always" else {"when": case.when}
    if case.part is None:
        return {**said, "text": case.text}
    return {**said, "part": case.part.name, **_from([case.part], preset)}


def _from(files: Iterable[File], preset: Preset) -> dict[str, object]:
    """Return the `from` of files, if they are not the preset's own. Of a list whose files differ, its item's counts."""
    homes = [f"{file.family}@{file.version}" for file in files]
    return {"from": homes[-1]} if homes and homes[-1] != preset.name else {}


def _given(**keys: object) -> dict[str, object]:
    return {key: value for key, value in keys.items() if value}


def _table(name: str, table: Mapping[str, object]) -> list[str]:
    if not table:
        return []
    return ["", f"[{name}]", *[f"{_key(key)} = {_inline(value)}" for key, value in table.items()]]


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_inline(each)}' for key, each in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(each) for each in value)}]"
    return _toml(value)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _toml(name)


def _toml(value: object) -> str:
    """Return a text, number, truth value or list of them as TOML, which JSON is a part of for these."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
