"""Read what a profile names, in its order: one pass over its groups, folder by folder, with a reason for every file."""

from __future__ import annotations

import os

from deepprompt.errors import FileRefusedError
from deepprompt.frozen import replace
from deepprompt.prompt import Note
from deepprompt.sources.files import Contents, read_below, refuse_claude, shown_path
from deepprompt.sources.front_matter import split
from deepprompt.sources.plan.entry import Deviation, Entry
from deepprompt.sources.plan.globs import matches
from deepprompt.sources.plan.imports import Importer
from deepprompt.sources.plan.lookup import Candidate, conditions, found_names, is_there, walk_names
from deepprompt.sources.plan.markdown import without_comments
from deepprompt.sources.plan.place import Place, ordered
from deepprompt.sources.plan.profile import Group, Profile, Slot
from deepprompt.text.hygiene import decode, neutralise, one_line, trim, why_no_text

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.words import EntryKind, EntryReason, Trust

FILE_LIMIT = 1 << 20
TOTAL_LIMIT = 1 << 22
MOST_FILES = 1_000


class Survey:
    """One pass over the files of a profile. `entries` has every file that was looked at, in order."""

    def __init__(self, profile: Profile, place: Place, portable: bool = False, *, imports: bool = True) -> None:
        self.profile, self.place, self.portable = profile, place, portable
        self.entries: list[Entry] = []
        self.notes: list[Note] = []
        self.deviations: list[Deviation] = []
        self.found: dict[str, Candidate] = {}  # what was looked at, by its shown path
        self.loaded: dict[str, str] = {}  # the real paths of what is included, and how they are shown
        self._room, self._files = TOTAL_LIMIT, 0
        self._real_folders = {folder: folder for folder in (place.top, *place.chain)}  # they are real already
        self._real_files: dict[str, str] = {}
        self._same: dict[object, str] = {}  # what makes two files the same, and the first of them
        self._imports = Importer(self, profile.imports) if profile.imports and imports else None
        self._passed = {*os.path.relpath(place.cwd, place.top).split(os.sep)}

    def look(self, folders: tuple[str, ...] | None = None) -> None:
        """Look at all groups; or, for a touch, at the groups of the walk in some folders only."""
        for group in self.profile.groups:
            if group.at != "touch" if folders is None else group.at in ("walk", "touch"):
                self._group(group, folders)
        if folders is None:
            self._report_above()

    def _group(self, group: Group, folders: tuple[str, ...] | None) -> None:
        place = self.place
        by_place = {"home": (place.home,) if place.home else (), "root": (place.project,), "cwd": (place.cwd,)}
        walk = ordered(place.chain, self.profile.order) if folders is None else folders
        places = by_place.get(group.at, walk)
        if any(is_there(os.path.join(folder, name)) for folder in place.chain for name in group.unless):
            return
        base = place.home if group.at == "home" else place.top
        chosen = walk_names(group, walk)
        pairs = [(folder, slot) for folder in places for slot in group.slots]
        if self.profile.order == "by path" and group.at == "walk":
            pairs.sort(key=lambda pair: os.path.join(pair[0], pair[1].names[0]))
        for folder, slot in pairs:
            self._slot(slot, base, folder, group.at, chosen.get(slot))

    def _slot(self, slot: Slot, base: str, folder: str, at: str, chosen: str | None) -> None:
        """Add the file or files that one slot names in one folder."""
        pattern = "*" in slot.names[0]
        names = found_names(slot, base, folder, self.notes)
        winner = ""
        for name in names:
            candidate = Candidate(base, folder, name, slot, at)
            if (chosen is not None and name != chosen) or winner:
                self._add(candidate, "shadowed", winner or chosen or "")
                continue
            entry = self.read(candidate)
            self.entries += self._imports.expand(entry, candidate) if self._imports else [entry]
            if not pattern and (slot.pick != "filled" or entry.reason != "blank"):
                winner = entry.path
        if not pattern and not slot.any_case:
            for name in slot.names:
                if name not in names:
                    self._absent(Candidate(base, folder, name, slot, at))

    def _absent(self, candidate: Candidate) -> None:
        if not os.path.lexists(candidate.full):
            self._add(candidate, "missing")
        elif os.path.isdir(candidate.full):
            self._add(candidate, "refused", "it is a folder")
        else:
            self._add(candidate, "missing", "a link that leads nowhere")

    def _add(self, candidate: Candidate, reason: EntryReason, detail: str = "") -> None:
        self.entries.append(self._entry(candidate, reason, detail))

    def _entry(self, candidate: Candidate, reason: EntryReason, detail: str = "") -> Entry:
        kind: EntryKind = candidate.slot.kind  # type: ignore[assignment]  # checked when the profile was read
        trust: Trust = "user" if candidate.at == "home" else "repository"
        shown = self.shown(candidate)
        self.found.setdefault(shown, candidate)
        return Entry(shown, kind, trust, reason, detail)

    def shown(self, candidate: Candidate) -> str:
        """Return a file's path as the prompt shows it."""
        if self.portable:
            return self._portable(candidate)
        at_cwd = candidate.at == "cwd"
        path = os.path.normpath(os.path.join(self.place.given, candidate.name)) if at_cwd else candidate.full
        return one_line(shown_path(path))

    def name(self, shown: str) -> str:
        """Return the path of a file as every machine has it, by its shown path; "" if it is not known."""
        return self._portable(self.found[shown]) if shown in self.found else ""

    def _portable(self, candidate: Candidate) -> str:
        at_home = candidate.at == "home"
        path = os.path.relpath(candidate.full, self.place.home if at_home else self.place.project)
        return one_line(shown_path(("~/" if at_home else "") + path.replace(os.sep, "/")))

    def real(self, candidate: Candidate) -> str:
        """Return the real path of a file."""
        full = candidate.full
        if full not in self._real_files:
            folder, name = os.path.split(full)
            linked = os.path.islink(full)
            self._real_files[full] = os.path.realpath(full) if linked else os.path.join(self._real(folder), name)
        return self._real_files[full]

    def _real(self, folder: str) -> str:
        """Return the real path of a folder, which is looked up once for a plan."""
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return self._real_folders[folder]

    def read(self, candidate: Candidate, *, again: bool = False) -> Entry:
        """Read one file and return its entry, with its text if it may be included. `again` allows a repetition."""
        entry = self._entry(candidate, "loaded")
        if self.profile.exclude and self._is_excluded(candidate.full):
            return replace(entry, reason="excluded", detail="by the profile")
        self._files += 1
        if self._files > MOST_FILES or self._room <= 0:
            return replace(entry, reason="over limit", detail="too many files, or too much text, for one plan")
        try:
            contents = read_below(
                candidate.base,
                candidate.path,
                min(FILE_LIMIT, self._room),
                self.may_pass,
                real_root=self._real(candidate.base),
            )
        except FileRefusedError as error:
            return self._refused(entry, error)
        self._room -= len(contents.data)
        size = contents.status.st_size
        entry = replace(entry, bytes_file=size, bytes_read=len(contents.data), sha256=_digest(contents.data))
        if self.profile.limit.largest and size > self.profile.limit.largest:
            return replace(entry, reason="over limit", detail=f"larger than {self.profile.limit.largest} bytes")
        if reason := why_no_text(contents.data):
            return replace(entry, reason="refused", detail=reason)
        return self._judged(candidate, entry, contents, again=again)

    def _is_excluded(self, path: str) -> bool:
        path = path.lstrip(os.sep).replace(os.sep, "/")
        return any(matches(pattern.lstrip("/"), path) for pattern in self.profile.exclude)

    def _judged(self, candidate: Candidate, entry: Entry, contents: Contents, *, again: bool) -> Entry:
        """Return the entry of a file that was read: its text, or why it is not included."""
        raw = decode(contents.data, entry.path, self.notes, complete=not contents.more)
        stripped = self._stripped(raw, candidate)
        text = neutralise(stripped, entry.path, self.notes)
        if text != stripped:
            self._deviate(
                entry.path, "hidden characters are shown and control tokens escaped", "sends them as they are"
            )
        if self.profile.invalid != "replace" and not _is_utf8(contents.data):
            does = "leaves the file out" if self.profile.invalid == "skip" else "fails"
            self._deviate(entry.path, "bytes that are not UTF-8 are replaced", does)
        if not trim(text):
            return replace(entry, reason="blank")
        entry = replace(entry, text=text, bytes_included=len(text.encode()))
        globs, words = conditions(raw, candidate.slot)
        if globs or words:
            return replace(entry, reason="conditional", detail=words or ", ".join(globs), globs=globs)
        if not again and (twin := self._twin(candidate, entry.path, contents, text)):
            reason: EntryReason = "shadowed" if self.profile.dedupe == "name" else "duplicate"
            return replace(entry, reason=reason, detail=twin, text="", bytes_included=0)
        self.loaded.setdefault(self.real(candidate), entry.path)
        if contents.more:
            return replace(entry, reason="cut", detail=f"no more than {len(contents.data)} bytes are read")
        return entry

    def _stripped(self, raw: str, candidate: Candidate) -> str:
        text = split(raw)[1] if "front matter" in candidate.slot.strip else raw
        text = without_comments(text) if "comments" in candidate.slot.strip else text
        trims = self.profile.trim == "all" or (self.profile.trim == "global" and candidate.at == "home")
        return trim(text) if trims else text

    def _deviate(self, path: str, ours: str, agent: str) -> None:
        self.deviations.append(Deviation(path, ours, agent))

    def _twin(self, candidate: Candidate, shown: str, contents: Contents, text: str) -> str:
        """Return the earlier file that this one repeats, by the profile's measure; "" for the first of its kind."""
        twin = self._same.setdefault(self._key(candidate, contents, text), shown)
        return "" if twin == shown else twin

    def _key(self, candidate: Candidate, contents: Contents, text: str) -> object:
        status = contents.status
        match self.profile.dedupe:
            case "real path":
                return self.real(candidate)
            case "file":
                return status.st_dev, status.st_ino
            case "text":
                return text
            case "text in folder":
                return candidate.folder, trim(text)
            case "name":
                name = candidate.name if "*" in candidate.slot.names[0] else candidate.slot.names[0]
                return os.path.basename(name)
        return os.path.normpath(candidate.full)

    def may_pass(self, path: str) -> str | None:
        """Return why a path may not be read: a CLAUDE file, in a profile that does not name any."""
        if self.profile.names_claude or (reason := refuse_claude(path)) is None:
            return None
        *folders, name = path.split("/")
        others = [folder for folder in folders if folder not in self._passed]
        if name not in self.profile.linked:
            others.append(name)
        return reason if refuse_claude("/".join(others)) else None

    def _refused(self, entry: Entry, error: FileRefusedError) -> Entry:
        if error.kind == "outside":
            self._deviate(entry.path, "a link that leads out of the root is refused", "follows it")
            return replace(entry, reason="refused", detail=str(error), trust="outside")
        if error.kind == "forbidden":
            self._deviate(entry.path, "a CLAUDE file under another name is refused", "loads it")
        if error.kind in ("missing", "unreadable"):
            return replace(entry, reason=error.kind, detail=str(error))
        return replace(entry, reason="refused", detail=str(error))

    def _report_above(self) -> None:
        """List the files above the top that the agent would read. They are not opened."""
        groups = [group for group in self.profile.groups if group.at == "walk"]
        slots = [slot for group in groups for slot in group.slots if "*" not in slot.names[0]]
        for folder in self.place.above:
            for name in (name for slot in slots for name in slot.names):
                if is_there(path := os.path.join(folder, name)):
                    shown = one_line(shown_path(path))
                    self.entries.append(Entry(shown, "project", "outside", "outside", "above the root; pass root="))
                    self._deviate(shown, "folders above the root are not read", "loads it")


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
