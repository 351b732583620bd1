"""Which files of a folder a profile's slot names: by name, by pattern, by any spelling of the case."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property

from deepprompt.frozen import dataclass
from deepprompt.prompt import Note
from deepprompt.sources.files import list_below, reason_of, shown_path
from deepprompt.sources.front_matter import parse, split
from deepprompt.sources.plan.globs import matches
from deepprompt.sources.plan.profile import Group, Slot

_COMMA = re.compile(r",(?![^{]*\})")

MOST_LEVELS = 8
MOST_LISTED = 2_000


@dataclass(frozen=True)  # without slots, for the paths that are worked out once
class Candidate:
    """A file that a slot names: the folder it is looked up in, and its path below that folder."""

    base: str
    """The root that it is read below."""
    folder: str
    """The real path of the folder."""
    name: str
    slot: Slot
    at: str

    @cached_property
    def path(self) -> str:
        """The path below the base."""
        below = os.path.relpath(self.folder, self.base)
        return self.name if below == os.curdir else f"{below.replace(os.sep, '/')}/{self.name}"

    @cached_property
    def full(self) -> str:
        """The whole path."""
        return os.path.join(self.folder, *self.name.split("/"))


def is_there(path: str) -> bool:
    """Whether a path leads to anything but a folder."""
    return os.path.exists(path) and not os.path.isdir(path)


def found_names(slot: Slot, base: str, folder: str, notes: list[Note]) -> list[str]:
    """Return the names in one folder that a slot means, best first."""
    if "*" in slot.names[0]:
        return sorted(_matching(slot.names[0], base, folder, notes))
    if slot.any_case:
        wanted = {name.lower() for name in slot.names}
        try:
            listed = list_below(base, _below(base, folder)) or {}
        except (OSError, ValueError):
            return []
        return sorted(name for name, kind in listed.items() if name.lower() in wanted and kind != "folder")
    return [name for name in slot.names if is_there(os.path.join(folder, *name.split("/")))]


def walk_names(group: Group, folders: tuple[str, ...]) -> dict[Slot, str]:
    """Return the one name that counts for each slot whose names exclude each other on the whole walk."""
    chosen = {}
    for slot in group.slots:
        if slot.pick == "walk":
            paths = ((name, os.path.join(folder, name)) for name in slot.names for folder in folders)
            chosen[slot] = next((name for name, path in paths if is_there(path)), "")
    return chosen


def conditions(raw: str, slot: Slot) -> tuple[tuple[str, ...], str]:
    """Return what a rule waits for, by its front matter: its globs, and the words that call for it."""
    front = split(raw)[0] if slot.globs or slot.words else None
    fields = parse(front) if front is not None else None
    if not fields:
        return (), ""
    words = fields.get(slot.words) if slot.words else None
    globs = _texts(fields.get(slot.globs)) if slot.globs else ()
    if {*globs} & {*slot.always}:
        globs = ()
    return globs, f"words: {', '.join(_texts(words))}" if words else ""


def _texts(value: object) -> tuple[str, ...]:
    """Return a list of texts, or a text with commas between, as front matter has either. Commas in braces stay."""
    if isinstance(value, str):
        value = _COMMA.split(value)
    texts = [text.strip() for text in value if isinstance(text, str)] if isinstance(value, list) else []
    return tuple(text for text in texts if text)


def _below(base: str, folder: str) -> str:
    return os.path.relpath(folder, base).replace(os.sep, "/")


def _matching(pattern: str, base: str, folder: str, notes: list[Note]) -> Iterator[str]:
    """Yield the files below a folder that match a pattern, within bounds. Links to folders are not followed."""
    fixed = pattern[: pattern.index("*")].rpartition("/")[0]
    deepest = MOST_LEVELS if "**" in pattern else pattern.count("/") - fixed.count("/") - bool(fixed)
    todo, seen = [(fixed, 0)], 0
    while todo:
        place, level = todo.pop()
        try:
            listed = list_below(base, "/".join(filter(None, [_below(base, folder).removeprefix("."), place])) or ".")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            notes.append(Note("skipped", shown_path(os.path.join(folder, place)), f"not listed: {reason_of(error)}"))
            continue
        if listed is None:
            notes.append(Note("skipped", shown_path(os.path.join(folder, place)), "a linked folder"))
            continue
        for name, kind in listed.items():
            seen += 1
            path = f"{place}/{name}" if place else name
            if seen > MOST_LISTED:
                notes.append(Note("cut", shown_path(folder), f"more than {MOST_LISTED} files at {pattern}"))
                return
            if kind == "folder":
                todo += [(path, level + 1)] if level < deepest else []
            elif matches(pattern, path):
                yield path
