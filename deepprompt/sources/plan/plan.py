"""`plan_instructions`: which instruction files a profile takes from a project, in which order, and why.

A plan lists every file that was looked at. The text of those that are included is ready for a prompt: read within
bounds, decoded, hidden characters shown, cut at the profile's limit. Where that is something else than the agent
itself would do, `deviations` says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from deepprompt.frozen import dataclass, field, replace
from deepprompt.prompt import Note
from deepprompt.sources.files import path_text
from deepprompt.sources.instructions import DEFAULT_PROFILE, InstructionFile, InstructionFiles
from deepprompt.sources.plan.cut import LEAST_ROOM, cut_at_line, cut_with_marker, spend
from deepprompt.sources.plan.entry import Deviation, Entry
from deepprompt.sources.plan.globs import matches
from deepprompt.sources.plan.place import Place, find_place, ordered
from deepprompt.sources.plan.profile import Limit, Profile
from deepprompt.sources.plan.profile_file import load_profile
from deepprompt.sources.plan.survey import Survey

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.words import EntryReason, NoteKind

_NOTED: dict[EntryReason, NoteKind] = {
    "cut": "cut", "over limit": "cut", "refused": "refused", "unreadable": "skipped", "duplicate": "skipped",
    "outside": "refused", "blank": "skipped",
}  # fmt: skip
"""The reasons that a reader of the prompt should know, and the kinds of their notes."""


@dataclass(frozen=True, slots=True)
class InstructionPlan:
    """What a profile loads for a folder: `entries` in order, included or not, and what we do otherwise."""

    profile: str
    root: str
    """The project's root, as the profile finds it."""
    entries: tuple[Entry, ...]
    deviations: tuple[Deviation, ...] = ()
    notes: tuple[Note, ...] = ()
    _rules: Profile | None = field(default=None, repr=False, compare=False)
    _place: Place | None = field(default=None, repr=False, compare=False)
    _portable: bool = field(default=False, repr=False, compare=False)
    _waiting: tuple[tuple[Entry, str], ...] = field(default=(), repr=False, compare=False)
    _seen: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    @property
    def included(self) -> tuple[Entry, ...]:
        """The entries whose text is included, without imports that are part of another's text."""
        return tuple(entry for entry in self.entries if entry.included and not entry.inline)

    @property
    def bytes(self) -> int:
        """How many bytes of text are included."""
        return sum(len(entry.text.encode()) for entry in self.included)

    def touch(self, path: str | os.PathLike[str]) -> InstructionPlan:
        """Return the plan of what is loaded when a file or folder is read: only what is new.

        Touch the next file with the plan that this returns: it knows what was loaded before.
        """
        rules, place = self._rules, self._place
        name = os.path.join(place.cwd, path_text(path, "touch: path")) if place else ""
        if rules is None or place is None or rules.touch is None:
            return replace(self, entries=(), deviations=(), notes=())
        real = os.path.realpath(name)
        survey = Survey(rules, place, self._portable, imports=rules.touch.imports)
        folder = real if os.path.isdir(real) else os.path.dirname(real)
        below = _between(place.cwd, folder) if rules.touch.folders != "none" else ()
        survey.look(ordered(below, rules.touch.folders))
        fresh = [entry for entry in survey.entries if entry.path not in self._seen]
        called, waiting = [], []
        for entry, base in (*self._waiting, *_conditional(fresh, survey)):
            target = os.path.relpath(real, base).replace(os.sep, "/")
            if any(matches(glob, target) for glob in entry.globs):
                called.append(replace(entry, reason="loaded", detail=", ".join(entry.globs)))
            else:
                waiting.append((entry, base))
        names = {entry.path for entry in called}
        files = [entry for entry in fresh if entry.path not in names]
        entries = [*called, *files] if rules.touch.rules == "first" else [*files, *called]
        return replace(
            self,
            entries=tuple(_limited(entries, rules.limit, survey)),
            deviations=tuple(survey.deviations),
            notes=tuple(survey.notes),
            _waiting=tuple(waiting),
            _seen=self._seen | {entry.path for entry in fresh},
        )


def plan_instructions(
    cwd: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str] | None = "",
    profile: str | os.PathLike[str] = DEFAULT_PROFILE,
    root: str | os.PathLike[str] | None = None,
    portable: bool = False,
) -> InstructionPlan:
    """Return which instruction files a profile takes for `cwd`, in order, and why it leaves out the others.

    `profile` is a bundled one's name, or the path of your own. `root` is the highest folder that may be read: without
    it, that is the project's root as the profile finds it. With `portable`, paths are those below the root or `~/`.
    Raises `SourceError` for an unknown profile or an empty `cwd`.
    """
    rules = load_profile(profile)
    return _plan(rules, find_place(cwd, home, root, rules), portable)


def _plan(rules: Profile, place: Place, portable: bool) -> InstructionPlan:
    survey = Survey(rules, place, portable)
    survey.look()
    return InstructionPlan(
        rules.name,
        place.project,
        tuple(_without_waiting(_limited(survey.entries, rules.limit, survey))),
        tuple(survey.deviations),
        tuple(survey.notes),
        rules,
        place,
        portable,
        tuple(_conditional(survey.entries, survey)),
        frozenset(entry.path for entry in survey.entries),
    )


def load_planned(
    cwd: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    profile: str | os.PathLike[str],
    root: str | os.PathLike[str] | None,
    portable: bool,
    file_limit: int | None,
    total_limit: int | None,
) -> InstructionFiles:
    """Return the files that a profile includes, as the builder takes them, with other limits if they are given."""
    rules = load_profile(profile)
    limit = rules.limit
    limit = replace(limit, per_file=file_limit or limit.per_file, total=total_limit or limit.total)
    plan = _plan(replace(rules, limit=limit), find_place(cwd, home, root, rules), portable)
    notes = [*plan.notes, *(_note(entry) for entry in plan.entries if entry.reason in _NOTED)]
    return InstructionFiles([InstructionFile(entry.path, entry.text) for entry in plan.included], notes)


def _note(entry: Entry) -> Note:
    return Note(_NOTED[entry.reason], entry.path, f"{entry.reason}: {entry.detail}" if entry.detail else entry.reason)


def _conditional(entries: Iterable[Entry], survey: Survey) -> Iterable[tuple[Entry, str]]:
    """Yield the rules that wait for a path, each with the folder that its globs start from."""
    for entry in entries:
        if entry.reason == "conditional" and entry.globs:
            yield entry, survey.found[entry.path].folder


def _without_waiting(entries: Iterable[Entry]) -> Iterable[Entry]:
    for entry in entries:
        yield entry if entry.included else replace(entry, text="", bytes_included=0)


def _between(top: str, folder: str) -> tuple[str, ...]:
    """Return the folders below one folder down to another, none if it does not lie below."""
    prefix = top.rstrip(os.sep) + os.sep
    if not folder.startswith(prefix):
        return ()
    names = folder[len(prefix) :].split(os.sep)
    return tuple(os.path.join(top, *names[: depth + 1]) for depth in range(len(names)))


def _limited(entries: list[Entry], limit: Limit, survey: Survey) -> list[Entry]:
    """Return the entries with their texts cut to the profile's limit. Notices have names that every machine has."""
    counted = [
        number
        for number, entry in enumerate(entries)
        if entry.included and not entry.inline and (not limit.kinds or entry.kind in limit.kinds)
    ]
    if limit.cut == "marker":
        return _marked(entries, counted, limit)
    rooms = spend([len(entries[number].text.encode()) for number in counted], limit)
    limited = list(entries)
    for number, room in zip(counted, rooms, strict=True):
        limited[number] = _fitted(entries[number], room, survey)
    return limited


def _fitted(entry: Entry, room: int, survey: Survey) -> Entry:
    size = len(entry.text.encode())
    unread = max(0, entry.bytes_file - entry.bytes_read)
    if size <= room and not unread:
        return entry
    text, used = "", 0
    if room >= LEAST_ROOM:
        text, used = cut_at_line(entry.text, min(room, size), survey.name(entry.path) or entry.path, size + unread)
    if not text:
        detail = "the other files fill the limit"
        return replace(entry, reason="over limit", detail=detail, text="", bytes_included=0)
    detail = f"{size + unread - used:,} of {size + unread:,} bytes are missing"
    return replace(entry, reason="cut", detail=detail, text=text, bytes_included=used)


def _marked(entries: list[Entry], counted: list[int], limit: Limit) -> list[Entry]:
    """Cut as the default loader does: markers of earlier files count against the total, that of the last does not."""
    limited, left = list(entries), limit.total
    for number in counted:
        entry = entries[number]
        if left <= 0:
            detail = f"the files before it fill the limit of {limit.total} bytes"
            limited[number] = replace(entry, reason="over limit", detail=detail, text="", bytes_included=0)
            continue
        text, used = cut_with_marker(entry.text, min(limit.per_file, left))
        if text != entry.text:
            detail = f"longer than the {min(limit.per_file, left)} bytes there is room for"
            limited[number] = replace(entry, reason="cut", detail=detail, text=text, bytes_included=used)
        left -= len(text.encode())
    return limited
