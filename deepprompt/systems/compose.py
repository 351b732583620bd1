"""Composes a preset: from its rows and what the caller gave to the parts of a prompt. Nothing is read from outside.

What stands before the boundary is kept for the last few inputs, so that a turn costs only the rows behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.prompt import (
    BOUNDARY_PART,
    CONTEXT_HEADINGS,
    DYNAMIC_CONTEXT_BOUNDARY,
    Note,
    Pace,
    Part,
    Prompt,
    check_order,
    copied,
    expect_parts,
    notes_of,
)
from deepprompt.systems.context import render_sections
from deepprompt.systems.rows import SLOTS, Row, Value, value
from deepprompt.systems.values import Values, of_project
from deepprompt.text.disarm import escape_boundary
from deepprompt.text.hygiene import is_blank, scrub

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any

    from deepprompt.sources.surroundings import Surroundings
    from deepprompt.systems.inputs import Inputs
    from deepprompt.systems.presets import Preset

_MOST_KEPT = 8
_PROJECT, _STATUS, _DIFF = CONTEXT_HEADINGS
_PLAIN = [("boundary", BOUNDARY_PART, "always"), ("slot", "project", "always")]


@value
class Choice(Value):
    """A row, whether it is in the prompt, and why."""

    row: Row
    chosen: bool
    why: str


@value
class _Kept(Value):
    """The parts before the boundary for some inputs, and the values of the project that they depend on."""

    parts: tuple[Part, ...]
    tools: tuple[Mapping[str, object], ...]
    notes: tuple[Note, ...]
    facts: tuple[tuple[str, str], ...]
    own: list[Mapping[str, object]]
    """The caller's definitions of tools as they were: a caller can change them without making new ones."""
    held: object
    """What the key refers to by identity, so that nothing else can get the same one."""
    behind: tuple[Row, ...]
    is_plain: bool
    """Whether nothing but the project stands behind the boundary."""
    boundary: tuple[Part, ...]


def compose(preset: Preset, around: Surroundings | None, inputs: Inputs) -> Prompt:
    """Return the prompt of a preset."""
    if around is not None and not hasattr(around, "project"):
        from deepprompt.arguments import wrong

        raise wrong("Preset.compose: around", "Surroundings, as gather('.') returns", around)
    prompt = (_custom if inputs.custom else _composed)(preset, around, inputs)
    if inputs.budget is not None:
        from deepprompt.systems.budget import check_budget

        check_budget(prompt, inputs.budget)
    return prompt


def choices(preset: Preset, around: Surroundings | None, inputs: Inputs) -> list[Choice]:
    """Return every row of a preset, whether its condition holds, and why."""
    from deepprompt.systems.conditions import parse_condition

    values = Values(preset, around, inputs)
    conditions = [(row, parse_condition(row.when)) for row in preset.rows]
    return [Choice(row, condition.holds(values.fact), condition.why(values.fact)) for row, condition in conditions]


def _custom(preset: Preset, around: Surroundings | None, inputs: Inputs) -> Prompt:
    """Return the caller's own text, verbatim, with the tools."""
    values = Values(preset, around, inputs)
    notes: list[Note] = [*notes_of(inputs.custom)]
    parts = own_parts(inputs.custom, "custom", Pace.PROJECT)
    kept = [Part(part.name, scrub(part.text, part.name, notes), part.pace, part.origin) for part in parts]
    definitions = tuple(values.toolset.definitions()) if inputs.tools else ()
    return Prompt(tuple(kept), definitions, (*notes, *values.toolset.notes()))


def _composed(preset: Preset, around: Surroundings | None, inputs: Inputs) -> Prompt:
    key = _key(around, inputs)
    kept: _Kept | None = preset.kept.get(key) if key is not None else None
    if kept is None or kept.own != inputs.own_tools or any(of_project(name, around) != at for name, at in kept.facts):
        kept = _fresh(preset, around, inputs)
        if key is not None:
            if len(preset.kept) >= _MOST_KEPT:
                preset.kept.clear()
            preset.kept[key] = kept
    notes = kept.notes
    if around is not None and (of_sources := around.notes):
        notes = (*of_sources, *notes)
    found: list[Note] = []
    behind: tuple[Part, ...] = ()
    if kept.is_plain:
        behind = kept.boundary if around is None else (*kept.boundary, *_context(around, Pace.TURN, found))
    elif kept.behind:
        writer = _Writer(preset, Values(preset, around, inputs))
        behind = tuple(writer.parts(kept.behind, before_boundary=False))
        found = writer.notes
        if not preset.fixed_order:
            check_order(behind)
    return Prompt.of_checked(
        kept.parts + behind, kept.tools, (*notes, *found) if found else notes, fixed_order=preset.fixed_order
    )


def _key(around: Surroundings | None, inputs: Inputs) -> tuple[object, ...] | None:
    """Return what the prefix depends on, None if that cannot be compared.

    By identity where texts are long: what is not read again stays the same object.
    """
    key = inputs.key()
    if around is not None:
        key += (id(around.skills), around.claude_md, *map(id, around.instructions))
    try:
        hash(key)
    except TypeError:  # an item of a list
        return None
    return key


def _fresh(preset: Preset, around: Surroundings | None, inputs: Inputs) -> _Kept:
    """Write the prefix, and refuse everything that is wrong with the inputs, whichever rows it concerns."""
    rows, cut = preset.rows, preset.boundary
    values = Values(preset, around, inputs)
    values.check()
    writer = _Writer(preset, values)
    parts = tuple(writer.parts(rows[:cut], before_boundary=True))
    facts = tuple(values.read.items())
    behind = tuple(_Writer(preset, values).parts(rows[cut:], before_boundary=False))
    values.refuse_problems()
    tools = tuple(values.toolset.definitions()) if inputs.tools else ()
    whole = Prompt((*parts, *behind), fixed_order=preset.fixed_order)  # which checks the order
    needed: list[Note] = []
    if inputs.provides is not None:
        from deepprompt.systems.requires import unmet

        needed = unmet(preset, [part.name for part in whole.parts], values.toolset.names, inputs.provides)
    held = (inputs.tools, around and (around.skills, tuple(around.instructions)))
    return _Kept(
        parts,
        tools,
        (*values.input_notes, *writer.notes, *values.toolset.notes(), *values.unused(), *whole.notes, *needed),
        facts,
        copied(inputs.own_tools),
        held,
        rows[cut:],
        [(row.kind, row.what, row.when) for row in rows[cut:]] == _PLAIN,
        behind[:1],
    )


def prefix(preset: Preset, around: Any, inputs: Inputs, notes: list[Note]) -> list[Part]:
    """Return the parts up to the boundary, with the boundary, and add to the notes. Nothing of it is kept."""
    cut = preset.boundary
    writer = _Writer(preset, Values(preset, around, inputs))
    parts = writer.parts(preset.rows[:cut], before_boundary=True)
    notes += writer.notes
    return [*parts, *writer.row(preset.rows[cut])]


class _Writer:
    """Writes the parts of some rows in order, each with the separator to the one before it."""

    def __init__(self, preset: Preset, values: Values) -> None:
        self.preset = preset
        self.values = values
        self.notes: list[Note] = []
        values.notes = self.notes
        self.bounded = preset.has_boundary

    def parts(self, rows: tuple[Row, ...], *, before_boundary: bool) -> list[Part]:
        """Return the parts of the rows that are chosen."""
        parts: list[Part] = []
        base, append = self.values.inputs.base, self.values.inputs.append
        if before_boundary and append and not any(row.what == "append" for row in rows if row.kind == "slot"):
            rows = (*rows, Row("slot", "append", "append", pace=Pace.PROJECT))
        if before_boundary and base and not any(row.kind in ("part", "text") for row in rows):
            rows = (Row("part", "base"), *rows)
        for row in rows:
            if self.values.inputs.base and before_boundary and row.kind in ("part", "text"):
                found, base = self.given(base, "base", Pace.RELEASE, self.preset.join), ""
            elif row.when == "always" or self.holds(row):
                found = self.row(row)
            else:
                continue
            if found and parts and parts[-1].name != BOUNDARY_PART and row.kind != "boundary":
                separator = self.preset.join if row.before is None else row.before
                if row.kind == "slot" and row.what == "append":
                    found = [_after(separator, part) for part in found]
                else:
                    found[0] = _after(separator, found[0])
            parts += found
        return self.slowed(parts)

    def holds(self, row: Row) -> bool:
        """Whether the condition of a row holds."""
        from deepprompt.systems.conditions import parse_condition

        return parse_condition(row.when).holds(self.values.fact)

    def slowed(self, parts: list[Part]) -> list[Part]:
        """Return the parts with the boundary as slow as the slowest part behind it."""
        if len(parts) > 1 and parts[0].name == BOUNDARY_PART:
            pace = min(part.pace for part in parts[1:])
            if pace is not parts[0].pace:
                parts[0] = Part(BOUNDARY_PART, parts[0].text, pace, parts[0].origin)
        return parts

    def row(self, row: Row) -> list[Part]:
        """Return the parts of one row, none if it says nothing."""
        if row.kind == "boundary":
            return [Part(BOUNDARY_PART, DYNAMIC_CONTEXT_BOUNDARY, Pace.TURN, "deepprompt")]
        if row.kind == "slot":
            return self.slot(row)
        if row.kind == "each":
            return self.each(row)
        file = row.file("part")
        if file is not None and file.note:
            self.notes.append(file.note)
        text = file.text if file is not None else row.what
        origin = file.origin if file is not None else f"{self.preset.label}:{self.preset.family}/{self.preset.version}"
        self.values.pace = row.pace
        rendered = text if row.raw else self.values.expand(text, row.name)
        if is_blank(rendered):
            return []
        return [Part(row.name, self.tidy(rendered, row.name), self.values.pace, origin)]

    def each(self, row: Row) -> list[Part]:
        """Return the frame of a list, a part for each item, and its end; nothing at all for an empty list."""
        items = self.values.items(row.what)
        if not items:
            return []
        texts = dict(row.files)
        self.notes += [file.note for file in texts.values() if file.note]
        parts = []
        if "frame" in texts:
            parts.append(self.framed(row, row.name, texts["frame"].text))
        room, shown = row.limit, 0
        item_text = texts["item"].text
        for item in items:
            self.values.pace = row.pace
            key = self.values.key_of(row.what, item)
            text = self.tidy(self.values.expand(item_text, row.name, item, key), key)
            if row.limit and (room := room - len(text.encode())) < 0:
                break
            origin = f"file:{key}" if row.what in ("instructions", "claude_md") else row.what
            parts.append(Part(f"{row.name} {key}", text, self.values.pace, origin))
            shown += 1
        if left := len(items) - shown:
            self.notes.append(Note("cut", row.name, f"{left} of {len(items)} are not shown: the limit is {row.limit}"))
            if "more" in texts:
                self.values.count = left
                parts.append(self.framed(row, f"{row.name} more", texts["more"].text))
        if "end" in texts:
            parts.append(self.framed(row, f"{row.name} end", texts["end"].text))
        return [_after(row.between, part) if index else part for index, part in enumerate(parts)]

    def framed(self, row: Row, name: str, text: str) -> Part:
        self.values.pace = row.pace
        text = self.tidy(text if row.raw else self.values.expand(text, name), name)
        return Part(name, text, self.values.pace, self.preset.label)

    def slot(self, row: Row) -> list[Part]:
        """Return the parts of a slot that code fills in."""
        values = self.values
        if row.what == "append":
            return self.given(values.inputs.append, "append", Pace.PROJECT, "")
        if row.what == "skills":
            return self.skills(row)
        if values.around is None:
            return []
        parts = _context(values.around, max(row.pace, SLOTS[row.what]), self.notes)
        return parts[:1] if row.what == "environment" else parts

    def skills(self, row: Row) -> list[Part]:
        """Return the index of the skills, as the specification has it."""
        from deepprompt.catalog import bundled

        directory = self.values.skill_directory()
        if is_blank(directory):
            return []
        help_line = bundled().text("base", "1.0.0", "skills_help")
        lines = self.kept(directory, "skills").rstrip("\n")
        return [Part(row.name, f"## Skills\n{help_line}{lines}\n", row.pace, "skills")]

    def given(self, own: str | tuple[Part, ...], name: str, pace: Pace, separator: str) -> list[Part]:
        """Return a caller's own text or parts, unchanged except for lone surrogates and look-alikes of the boundary."""
        return [
            Part(part.name, (separator if index else "") + self.kept(part.text, part.name), part.pace, part.origin)
            for index, part in enumerate(own_parts(own, name, pace))
        ]

    def kept(self, text: str, source: str) -> str:
        return self.tidy(scrub(text, source, self.notes), source)

    def tidy(self, text: str, source: str) -> str:
        """Return a text in which nothing looks like the boundary, if the prompt has one."""
        return escape_boundary(text, source, self.notes) if self.bounded else text


def _context(around: Surroundings, pace: Pace, notes: list[Note]) -> list[Part]:
    """Return the sections about the project, and those about git if there is anything to say about it."""
    project, status, diff = render_sections(around.project, notes)
    parts = [Part(_PROJECT, project, pace, "project")]
    if around.shows_git:
        parts += (Part(_STATUS, status, pace, "project"), Part(_DIFF, diff, pace, "project"))
    return parts


def own_parts(own: str | Iterable[Part], name: str, pace: Pace) -> tuple[Part, ...]:
    """Return a caller's own text, or parts, as parts."""
    if isinstance(own, str):
        return (Part(name, own, pace, f"argument:{name}"),) if own else ()
    return expect_parts(own, f"Preset.compose: {name}", "text, or parts")


def _after(separator: str, part: Part) -> Part:
    return Part(part.name, separator + part.text, part.pace, part.origin) if separator else part
