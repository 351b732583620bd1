"""Changes of an extension to the rows of the preset that it extends: add, replace, remove, move, set."""

from __future__ import annotations

from collections.abc import Callable

from deepprompt.catalog import SUFFIX, Catalog
from deepprompt.errors import AssetError, PresetError, UnknownPartError
from deepprompt.prompt import BOUNDARY_PART, Note, sha256_hex
from deepprompt.systems.preset_file import ROW, Reader
from deepprompt.systems.rows import File, Row
from deepprompt.text.suggest import did_you_mean

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any

    from deepprompt.systems.presets import Preset

OVERRIDES = "overrides.toml"
_UNRECORDED = f"an override; {OVERRIDES} does not say what it was written against"
VERBS = ("add", "replace", "remove", "move", "set")
_ADD = tuple(key for key in ROW if key not in ("part", "text", "slot", "each", "boundary", "before"))


class Changes:
    """Applies the changes of one file, in order. A target that is not there is a problem; the others still apply."""

    def __init__(self, reader: Reader, parent: Preset, rows: list[Row]) -> None:
        self.reader = reader
        self.parent = parent
        self.rows = rows
        self.swaps: dict[str, File] = {}
        """The files that replace files of the parent that no row is named after, by their path without suffix."""

    def apply(self, changes: list[Any]) -> None:
        """Apply all changes."""
        for number, change in enumerate(changes, 1):
            verbs = [verb for verb in VERBS if isinstance(change, dict) and verb in change]
            if len(verbs) != 1:
                self.reader.problem(f"change {number}", f"a change has one of {', '.join(VERBS)}")
                continue
            getattr(self, f"_{verbs[0]}")(change, f"change {number}")

    def _place(self, change: dict[str, Any], where: str, *, needed: bool = True) -> int:
        """Return the index that `before` or `after` names, the end of the prefix if neither is given."""
        sides = [side for side in ("before", "after") if side in change]
        if len(sides) != 1:
            if needed or sides:
                self.reader.problem(where, "give one of before and after, the name of a row")
            ends = (index for index, row in enumerate(self.rows) if row.name in ("append", BOUNDARY_PART))
            return next(ends, len(self.rows))
        index = self._index(change[sides[0]], where)
        return len(self.rows) if index is None else index + (sides[0] == "after")

    def _index(self, name: object, where: str) -> int | None:
        names = [row.name for row in self.rows]
        if name in names:
            return names.index(str(name))
        self.reader.problem(where, f"no row {name!r:.60}; {did_you_mean(str(name), names)}")
        return None

    def _add(self, change: dict[str, Any], where: str) -> None:
        added = change["add"]
        if isinstance(added, str):
            table = {key: value for key, value in change.items() if key not in ("add", "before", "after")}
            self.reader.refuse_others(table, _ADD, where)
            row = self.reader.row({"part": added, **{key: table[key] for key in table if key in _ADD}})
        else:
            self.reader.refuse_others(change, ("add", "before", "after"), where)
            row = self.reader.row(added)
        place = self._place(change, where, needed=False)
        if row is not None:
            self.rows.insert(place, row)

    def _remove(self, change: dict[str, Any], where: str) -> None:
        self.reader.refuse_others(change, ("remove",), where)
        if (index := self._index(change["remove"], where)) is not None:
            del self.rows[index]

    def _move(self, change: dict[str, Any], where: str) -> None:
        self.reader.refuse_others(change, ("move", "before", "after"), where)
        if (index := self._index(change["move"], where)) is not None:
            row = self.rows.pop(index)
            self.rows.insert(self._place(change, where), row)

    def _set(self, change: dict[str, Any], where: str) -> None:
        self.reader.refuse_others(change, ("set", "when", "pace", "before"), where)
        if (index := self._index(change["set"], where)) is not None:
            row = self.rows[index]
            self.rows[index] = row.but(
                when=self.reader.take(change, where, "when", str, row.when),
                pace=self.reader.pace(change, where, row.pace),
                before=self.reader.take(change, where, "before", str, row.before),
            )

    def _replace(self, change: dict[str, Any], where: str) -> None:
        self.reader.refuse_others(change, ("replace",), where)
        name = str(change["replace"])
        found = next((index for index, row in enumerate(self.rows) if row.name == name), None)
        if found is not None and self.rows[found].kind in ("part", "text"):
            row = self.rows[found]
            file = with_note(self.reader.file(name, "", where), row.file("part"))
            self.rows[found] = row.but(kind="part", what=name, files=(("part", file),))
            return
        files = files_of(self.parent)
        if name in files:
            self.swaps[name] = with_note(self.reader.file(name, "", where), files[name])
            self.rows[:] = [row.with_files(self.swap) for row in self.rows]
        else:
            texts = [row.name for row in self.rows if row.kind in ("part", "text")]
            known = [*dict.fromkeys([*texts, *files])]
            self.reader.problem(where, f"nothing to replace is called {name!r:.60}; {did_you_mean(name, known)}")

    def swap(self, file: File) -> File:
        """Return the file that replaces a file of the parent, or else the file itself."""
        return self.swaps.get(file.name, file)


def files_of(preset: Preset) -> dict[str, File]:
    """Return the files that a preset refers to, by path; a part's without the suffix. A later one of a name wins."""
    return {file.name: file for file in every_file(preset)}


def every_file(preset: Preset) -> list[File]:
    """Return every file that a preset refers to."""
    files = [file for row in preset.rows for _, file in row.files]
    files += [case.part for variable in preset.variables.values() for case in variable.cases if case.part]
    files += [file for tool in preset.own_tools.values() for file in (tool.description, tool.schema)]
    files += [agent.part for agent in preset.own_agents.values()]
    files += [reminder.part for reminder in preset.own_reminders.values()]
    return files


def with_files(preset: Preset, swap: Callable[[File], File]) -> Preset:
    """Return a preset with each of its files replaced."""
    return preset.but(
        rows=tuple(row.with_files(swap) for row in preset.rows),
        variables={
            name: variable.but(
                cases=tuple(case.but(part=swap(case.part)) if case.part else case for case in variable.cases),
            )
            for name, variable in preset.variables.items()
        },
        own_tools={
            name: tool.but(description=swap(tool.description), schema=swap(tool.schema))
            for name, tool in preset.own_tools.items()
        },
        own_agents={name: agent.but(part=swap(agent.part)) for name, agent in preset.own_agents.items()},
        own_reminders={name: each.but(part=swap(each.part)) for name, each in preset.own_reminders.items()},
    )


def overridden(preset: Preset, own: Catalog) -> Preset:
    """Return a bundled preset with the files of a folder in place of its own, one by one.

    Each file is that of the newest version in the folder up to the preset's.
    """
    known = files_of(preset)
    chosen: dict[str, File] = {}
    problems = []
    paths = {path for version in own.versions(preset.family) for path in own.files(preset.family, version)}
    for path in sorted(paths - {OVERRIDES}):
        file = override_of(own, preset.family, preset.version, path)
        if file is None:
            continue
        old = known.get(file.name)
        if old is not None and old.origin == file.origin:
            continue  # in the place of the text already, where the preset extends one of its own family
        if old is not None:
            chosen[file.name] = with_note(file.but(keeps_newline=old.keeps_newline), old, _UNRECORDED)
        else:
            kind = "part" if path.endswith(SUFFIX) else "file"
            said = f"{preset.family}/{preset.version} has no {kind} {file.name!r}"
            problems.append(f"{file.origin} overrides nothing: {said}; {did_you_mean(file.name, list(known))}")
    if problems:
        raise PresetError(problems)
    return with_files(preset, lambda file: chosen.get(file.name, file)) if chosen else preset


def with_wording(layout: Preset, wording: Preset) -> Preset:
    """Return a preset with the slots, boundary and context of one and the parts and texts of another."""
    own = [row for row in wording.rows[: wording.boundary] if row.kind in ("part", "text")]
    if not own:
        raise UnknownPartError(f"{wording.name} has no wording: none of its rows is a part or a text")
    rows = [row.but(before=wording.join if row.before is None else row.before) for row in own]
    rows += [row for row in layout.rows if row.kind not in ("part", "text")]
    variables = {**layout.variables, **wording.variables}
    return wording.but(rows=tuple(rows), variables=variables, instructions=layout.instructions, orders={}, kept={})


def with_note(file: File, replaced: File | None, unrecorded: str = "") -> File:
    """Return a file that replaces another, with a note if that one is not the text that it was written against."""
    written_against = recorded(file)
    if written_against is None:
        return file.but(note=Note("kept", file.origin, unrecorded)) if unrecorded else file
    if replaced is None or written_against == sha256_hex(_exact(replaced)):
        return file
    see = f"deepprompt diff {replaced.family}/{replaced.name} --parts {file.catalog.label}"
    detail = f"an override of a text that has changed since; see '{see}'"
    return file.but(note=Note("kept", file.origin, detail))


def override_of(own: Catalog, family: str, version: str, path: str) -> File | None:
    """Return the file that replaces one of a bundled version: that of the newest version up to it, if any does."""
    if family not in own.families():
        return None
    having = [known for known in own.versions(family) if own.has(family, known, path)]
    if version not in having:
        from packaging.version import Version

        having = [known for known in having if Version(known) <= Version(version)]
        version = having[-1] if having else ""
    return File(own, family, version, path) if version else None


def recorded(file: File) -> str | None:
    """Return the SHA-256 of the text that a file was written against, None if it is not recorded."""
    if not file.catalog.has(file.family, file.version, OVERRIDES):
        return None
    from deepprompt.text.parse import parse_toml

    place = f"{file.catalog.label}:{file.family}/{file.version}/{OVERRIDES}"
    digest = parse_toml(file.catalog.file(file.family, file.version, OVERRIDES).encode(), place).get(file.name)
    if isinstance(digest, str | None):
        return digest
    raise AssetError(f"{place}: {file.name} is the SHA-256 of a text, not {digest!r:.40}")


def _exact(file: File) -> str:
    return file.catalog.file(file.family, file.version, file.path)
