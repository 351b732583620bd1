"""Skills: folders with a SKILL.md, listed one line each in the static prefix, read in full only on demand.

A line is `name | description | run_mode | hash12 | tools`. The hash is that of the body, so an edited body
changes the prefix; the body itself and the path of its file are never part of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from deepprompt.errors import FileRefusedError, SkillError, SourceError
from deepprompt.frozen import dataclass
from deepprompt.prompt import Note, NotedText, sha256_hex
from deepprompt.sources.files import (
    list_below,
    path_text,
    read_below,
    reason_of,
    refuse_claude,
    search_roots,
    shown_path,
)
from deepprompt.sources.instructions import DEFAULT_PROFILE
from deepprompt.text.hygiene import decode, from_system, neutralise, one_line, scrub, trim
from deepprompt.text.secrets import redact

SCAN_FOLDERS = (".deepseek/skills", "skills", ".opencode/skills", ".claude/skills", ".agents/skills")
SKILL_FILE = "SKILL.md"
MOST_LEVELS = 8
MOST_FOLDERS = 20_000
FILE_LIMIT = 1 << 20
MOST_TOOLS = 64
NAME_LIMIT = 256
DESCRIPTION_LIMIT = 80
INDEX_LIMIT = 1 << 18
"""The bytes that the lines of all skills may have together: about 2,000 ordinary skills."""

_RUN_MODE_KEYS = ("runas", "run_mode", "run-mode")
_TOOLS_KEYS = ("allowed-tools", "allowed_tools", "allowedtools")
# Compiled for the first skill, because most projects have none.
_LONE_PIPE = r"(?<!\S)\|(?!\S)"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as the index lists it, and where its body can be read."""

    name: str
    description: str
    run_mode: str
    body_hash: str
    tools: tuple[str, ...]
    root: str
    path: str
    license: str = ""
    """This and the following fields are filled in by a profile other than the default."""
    compatibility: str = ""
    metadata: tuple[tuple[str, str], ...] = ()

    def index_line(self) -> str:
        """Return the skill's line of the index."""
        columns = (self.name, self.description, self.run_mode, self.body_hash[:12], ",".join(self.tools))
        return " | ".join(columns) + "\n"


@dataclass(frozen=True, slots=True)
class SkillChange:
    """One difference between two stores: `added`, `removed`, `body_changed` or `metadata_changed`."""

    kind: str
    name: str


class SkillStore:
    """The skills that were found, sorted by name, with notes on skipped files.

    With a `budget`, in bytes, descriptions are shortened evenly until the index fits. `may_pass` refuses paths, as
    `read_below` takes it.
    """

    def __init__(
        self,
        skills: Iterable[Skill] = (),
        notes: Iterable[Note] = (),
        *,
        budget: int = 0,
        may_pass: Callable[[str], str | None] | None = None,
    ) -> None:
        self.skills = tuple(sorted(skills, key=lambda skill: (skill.name, skill.path)))
        self.notes = tuple(notes)
        self._budget = budget
        self._may_pass = may_pass or _refuse_claude_but_skills
        self._by_name = {skill.name: skill for skill in self.skills}

    def __eq__(self, other: object) -> bool:
        return self.skills == other.skills if isinstance(other, SkillStore) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.skills)

    def index_text(self) -> NotedText:
        """Return the skill directory for the static prefix, one line a skill, with the notes of this store.

        Lines that would take the index beyond `INDEX_LIMIT` bytes are left out, and a note says how many.
        """
        lines, room = [], INDEX_LIMIT
        listed, notes = self.skills, self.notes
        if self._budget:
            from deepprompt.sources.plan.skill_budget import shortened

            listed, shortening = shortened(listed, self._budget)
            notes += shortening
        for skill in listed:
            line = skill.index_line()
            size = len(line) if line.isascii() else len(line.encode())
            if size <= room:
                lines.append(line)
                room -= size
        if left := len(listed) - len(lines):
            skills = f"{left} skills are" if left > 1 else "1 skill is"
            notes += (Note("cut", "skills", f"{skills} not listed: the index may have {INDEX_LIMIT} bytes"),)
        return NotedText("".join(lines), notes)

    def version_hash(self) -> str:
        """Return the SHA-256 of the index text, in hex."""
        return sha256_hex(self.index_text())

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return list(self._by_name)

    def body(self, name: str) -> str:
        """Read the body of a skill from its file.

        Raises `SkillError` if there is no such skill, or its file can no longer be read.
        """
        skill = self._by_name.get(name)
        if skill is None:
            raise SkillError(f"no skill named {name!r}; there are: {', '.join(self.names()) or 'none'}")
        from deepprompt.sources.front_matter import split

        _, body = split(self._text(skill))
        return neutralise(trim(body))

    def faults(self, skill: Skill) -> tuple[str, ...]:
        """Read a skill's file and return what is wrong with it by the Agent Skills specification.

        Raises `SkillError` if its file can no longer be read.
        """
        from deepprompt.sources.plan.skill_spec import text_faults

        return text_faults(self._text(skill), os.path.basename(os.path.dirname(skill.path)))

    def _text(self, skill: Skill) -> str:
        try:
            return decode(read_below(skill.root, skill.path, FILE_LIMIT, self._may_pass, whole=True).data)
        except FileRefusedError as error:
            path = shown_path(skill.path)
            raise SkillError(f"the body of skill {skill.name!r} is gone: {path}: {error}") from None

    def diff(self, old: SkillStore | None) -> list[SkillChange]:
        """Return what changed since `old`: this store's skills by name, then the removed ones."""
        if not isinstance(old, SkillStore | None):
            from deepprompt.arguments import wrong

            raise wrong("SkillStore.diff: old", "what load_skills(cwd) returned before, or None", old)
        before = old._by_name if old else {}
        changes = []
        for skill in self.skills:
            was = before.get(skill.name)
            if was is None:
                changes.append(SkillChange("added", skill.name))
            elif was.body_hash != skill.body_hash:
                changes.append(SkillChange("body_changed", skill.name))
            elif was.index_line() != skill.index_line():
                changes.append(SkillChange("metadata_changed", skill.name))
        changes += [SkillChange("removed", name) for name in before if name not in self._by_name]
        return changes


def load_skills(
    cwd: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = "",
    *,
    profile: str | os.PathLike[str] = DEFAULT_PROFILE,
    root: str | os.PathLike[str] | None = None,
) -> SkillStore:
    """Find the skills of `cwd`, then those of `home` whose name is not taken yet.

    A `profile` other than the default searches the folders of its agent, from the project's root to `cwd`, and none
    above `root`. Raises `SourceError` for an empty `cwd`. A skill that cannot be read is a note.
    """
    if profile != DEFAULT_PROFILE:
        from deepprompt.sources.plan.skills import load_profile_skills

        return load_profile_skills(cwd, home, profile, root)
    cwd, home = path_text(cwd, "load_skills: cwd"), path_text(home or "", "load_skills: home")
    if not cwd:
        raise SourceError("load_skills: empty cwd; pass the project's folder")
    found: dict[str, Skill] = {}
    notes: list[Note] = []
    for root in search_roots(cwd, home):
        for folder in SCAN_FOLDERS:
            for path in _skill_files(root, folder, notes):
                skill = _load(root, path, notes)
                if skill is None:
                    continue
                if skill.name in found:
                    notes.append(Note("skipped", shown_path(path), f"a skill named {skill.name!r} is listed already"))
                else:
                    found[skill.name] = skill
    return SkillStore(found.values(), notes)


def _skill_files(root: str, scan_folder: str, notes: list[Note]) -> Iterator[str]:
    """Yield the SKILL.md files below a scan folder, as paths relative to the root, in the order of their names."""
    todo = [(scan_folder, 0)]
    visited = 0
    while todo:
        folder, level = todo.pop()
        visited += 1
        if visited > MOST_FOLDERS:
            notes.append(Note("cut", scan_folder, f"more than {MOST_FOLDERS} folders; the rest is not searched"))
            return
        try:
            entries = list_below(root, folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            notes.append(Note("skipped", shown_path(folder), f"cannot be listed: {reason}"))
            continue
        if entries is None:
            notes.append(Note("skipped", shown_path(folder), "a linked folder"))
            continue
        for name, kind in entries.items():
            if kind == "link" and name != SKILL_FILE:
                place = shown_path(f"{folder}/{name}")
                notes.append(Note("skipped", place, "a link; linked folders are not searched"))
        if entries.get(SKILL_FILE) in ("file", "link"):
            yield f"{folder}/{SKILL_FILE}"
        elif level < MOST_LEVELS:
            below = sorted(name for name, kind in entries.items() if kind == "folder" and name[0] != ".")
            todo += [(f"{folder}/{name}", level + 1) for name in reversed(below)]


def _refuse_claude_but_skills(path: str) -> str | None:
    """Refuse the paths that the instruction loader refuses, except below `.claude/skills`."""
    return refuse_claude(path.removeprefix(".claude/skills/"))


def _load(root: str, path: str, notes: list[Note]) -> Skill | None:
    from deepprompt.sources.front_matter import first_heading, split_fields

    shown = shown_path(path)
    try:
        data = read_below(root, path, FILE_LIMIT, _refuse_claude_but_skills, whole=True).data
    except FileRefusedError as error:
        notes.append(Note(error.note_kind, shown, str(error)))
        return None
    text = decode(data, shown, notes)
    front, body = split_fields(text)
    folder = os.path.basename(os.path.dirname(path))
    name = front.get("name", "") if front is not None else first_heading(text)
    front = front or {}
    description = trim(front.get("description", "")).partition("\n")[0]
    tools = [tool for tool in _first_of(front, _TOOLS_KEYS).split(",") if trim(tool)]
    if len(tools) > MOST_TOOLS:
        notes.append(Note("cut", shown, f"more than {MOST_TOOLS} tools"))
        del tools[MOST_TOOLS:]
    return Skill(
        name=column(name, shown, notes)
        or column(redact(from_system(folder, shown, notes), shown, notes), shown, notes),
        description=column(description, shown, notes, DESCRIPTION_LIMIT),
        run_mode=column(_first_of(front, _RUN_MODE_KEYS), shown, notes) or "direct",
        body_hash=sha256_hex(trim(body)),
        tools=tuple(sorted(column(tool, shown, notes) for tool in tools)),
        root=root,
        path=path,
    )


def column(value: str, path: str, notes: list[Note], limit: int = NAME_LIMIT) -> str:
    """Return a value as one column: on one line, hidden characters shown, truncated, no ` | ` in it."""
    value = one_line(trim(neutralise(scrub(value, path, notes), path, notes)), path, notes)
    if len(value) > limit and limit != DESCRIPTION_LIMIT:  # hardly a description is shorter than its limit
        notes.append(Note("cut", path, f"a name, run mode or tool of more than {limit} characters"))
    value = trim(value[:limit])
    # Truncation may turn a flag into hidden text, or a longer name into a speaker's tag.
    while len(column := re.sub(_LONE_PIPE, r"\\|", neutralise(value))) > limit:
        value = trim(value[:-1])
    return column


def _first_of(front: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((front[key] for key in keys if front.get(key)), "")
