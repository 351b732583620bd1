"""Skills by profile: the folders that an agent searches, and the skills that it lists. Nothing of a body is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.frozen import dataclass
from deepprompt.prompt import Note, sha256_hex
from deepprompt.sources.files import list_below, read_below, reason_of, refuse_claude, shown_path
from deepprompt.sources.front_matter import first_heading, parse, plain_fields, split
from deepprompt.sources.plan.markdown import find_mentions
from deepprompt.sources.plan.place import Place, find_place
from deepprompt.sources.plan.profile import Imports, Profile, SkillRules
from deepprompt.sources.plan.profile_file import load_profile
from deepprompt.sources.plan.skill_budget import shorten
from deepprompt.sources.plan.skill_spec import tool_names
from deepprompt.sources.skills import FILE_LIMIT, MOST_FOLDERS, MOST_TOOLS, SKILL_FILE, Skill, SkillStore, column
from deepprompt.text.hygiene import decode, from_system, one_line, trim
from deepprompt.text.secrets import redact

_POINTER = Imports(alone=True)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file of a skill: the root that it is read below, its path there, and the name that its folder gives it."""

    root: str
    path: str
    folder: str


def load_profile_skills(
    cwd: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    profile: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
) -> SkillStore:
    """Return the skills that a profile lists for a folder. `root` is as `plan_instructions` takes it."""
    rules = load_profile(profile)
    if rules.skills is None:
        raise SourceError(f"profile {rules.name} has no skills; add a table [skills] with folders")
    search = _Search(rules, rules.skills, find_place(cwd, home, root, rules))
    skills = search.run()
    return SkillStore(skills, search.notes, budget=rules.skills.budget, may_pass=search.may_pass)


class _Search:
    def __init__(self, profile: Profile, rules: SkillRules, place: Place) -> None:
        self.rules, self.place, self.profile = rules, place, profile
        self.notes: list[Note] = []
        own = any("claude" in path.lower() for folder in rules.folders for path in folder.paths)
        walked = {*os.path.relpath(place.cwd, place.top).split(os.sep)}
        self.may_pass: Callable[[str], str | None] = _allow if own or profile.names_claude else _refuser(walked)

    def run(self) -> list[Skill]:
        """Return the skills of all folders, one for each name unless the profile lists both."""
        found: dict[object, Skill] = {}
        for folder in self.rules.folders:
            for base, place in self._places(folder.at):
                prefix = os.path.relpath(place, base).replace(os.sep, "/")
                paths = [path if prefix == "." else f"{prefix}/{path}" for path in folder.paths]
                path = next((path for path in paths if os.path.isdir(os.path.join(base, path))), "")
                for file in self._files(base, path) if path else ():
                    self._keep(found, file)
        return list(found.values())

    def _keep(self, found: dict[object, Skill], file: _Found) -> None:
        skill = self._read(file)
        if skill is None:
            return
        real = os.path.realpath(os.path.join(file.root, file.path))
        key: object = skill.name if self.rules.duplicates != "both" else real
        if key not in found:
            found[key] = skill
        elif self.rules.duplicates == "last":
            self._skip(found[key].path, f"a later skill is named {skill.name!r} too")
            found[key] = skill
        else:
            self._skip(file.path, f"a skill named {skill.name!r} is listed already")

    def _skip(self, path: str, why: str) -> None:
        self.notes.append(Note("skipped", shown_path(path), why))

    def _places(self, at: str) -> list[tuple[str, str]]:
        """Return the folders of one kind, each with the root that it is read below."""
        place = self.place
        if at == "home":
            return [(place.home, place.home)] if place.home else []
        folders = {"walk": place.chain[::-1], "root": (place.project,), "cwd": (place.cwd,)}[at]
        return [(place.top, folder) for folder in folders]

    def _files(self, base: str, top: str) -> Iterator[_Found]:
        """Yield the skills' files below a folder, in the order of their names. Links are followed inside the root."""
        todo, seen = [(top, 0)], set[str]()
        while todo:
            folder, level = todo.pop()
            if len(seen) >= MOST_FOLDERS:
                self._skip(top, f"more than {MOST_FOLDERS} folders; the rest is not searched")
                return
            real = _real_below(base, folder)
            if real in seen:  # a link to a folder that was searched already, or that it lies in
                continue
            try:
                entries = list_below(base, real) if real else None
            except (OSError, ValueError) as error:
                self._skip(folder, f"cannot be listed: {reason_of(error)}")
                continue
            if entries is None:
                self._skip(folder, "a link that leads out of its root")
                continue
            seen.add(real)
            files = [name for name, kind in entries.items() if self._is_skill(name, kind)]
            if files and level:
                yield _Found(base, f"{folder}/{files[0]}", os.path.basename(folder))
                continue
            for name, kind in entries.items():
                if kind == "file" and self.rules.flat and not level and name.endswith(".md"):
                    yield _Found(base, f"{folder}/{name}", name.removesuffix(".md"))
            below = [name for name, kind in entries.items() if self._is_searched(name, kind, f"{base}/{folder}")]
            todo += [(f"{folder}/{name}", level + 1) for name in reversed(below) if level < self.rules.depth]

    def _is_skill(self, name: str, kind: str) -> bool:
        if kind == "folder" or (kind == "link" and not self.rules.links):
            return False
        return name == SKILL_FILE or (self.rules.any_case and name.lower() == SKILL_FILE.lower())

    def _is_searched(self, name: str, kind: str, folder: str) -> bool:
        leads = kind == "folder" or (kind == "link" and os.path.isdir(os.path.join(folder, name)))
        return leads and (self.rules.hidden or not name.startswith("."))

    def _text(self, file: _Found) -> str | None:
        """Return the text of a skill's file, None if the agent would not list it or we may not read it."""
        try:
            data = read_below(file.root, file.path, FILE_LIMIT, self.may_pass, whole=True).data
        except FileRefusedError as error:
            self.notes.append(Note(error.note_kind, shown_path(file.path), str(error)))
            return None
        if data.startswith(b"\xef\xbb\xbf") and not self.rules.bom:
            self._skip(file.path, "it starts with a byte order mark")
            return None
        notes: list[Note] = []
        text = decode(data, shown_path(file.path), notes)
        if any(note.kind == "replaced" for note in notes) and self.rules.invalid == "skip":
            self._skip(file.path, "it is not UTF-8")
            return None
        self.notes += notes
        return text

    def _followed(self, file: _Found, text: str) -> tuple[_Found, str] | None:
        """Return the file that a stub points to, and its text; the same ones if it is no stub."""
        mentions = find_mentions(text, _POINTER) if self.rules.stubs else []
        if len(mentions) != 1:
            return file, text
        here = os.path.dirname(os.path.join(file.root, file.path))
        target = os.path.relpath(os.path.normpath(os.path.join(here, mentions[0].path)), file.root)
        pointed = _Found(file.root, target.replace(os.sep, "/"), file.folder)
        followed = self._text(pointed)
        return None if followed is None else (pointed, followed)

    def _read(self, file: _Found) -> Skill | None:
        text = self._text(file)
        followed = self._followed(file, text) if text is not None else None
        if followed is None:
            return None
        file, text = followed
        front, body = split(text)
        fields = _fields(front, self.rules.yaml) if front is not None else None
        if fields is None and (self.rules.front_matter or front is not None):
            self._skip(file.path, "it has no front matter that can be read")
            return None
        return self._listed(file, fields, body)

    def _listed(self, file: _Found, fields: dict[str, object] | None, body: str) -> Skill | None:
        """Return the skill, or None with a note if the profile's agent does not list it."""
        rules, front = self.rules, fields or {}
        folder = redact(from_system(file.folder))
        name, description = _text_of(front, "name"), trim(one_line(_text_of(front, "description")))
        if rules.name == "folder":
            name = folder
        elif rules.name == "either":
            name = name or folder
        if rules.names == "hyphens":
            name = "-".join(name.split())
        if not description and rules.description == "body":
            description = first_heading(body) or next((line for line in body.split("\n") if line.strip()), "")
        hidden = [field for field in rules.hide if _text_of(front, field).lower() == "true"]
        if why := _why_not(rules, name, description, folder, hidden):
            self._skip(file.path, why)
            return None
        shown, notes = shown_path(file.path), self.notes
        tools = tool_names(front.get("allowed-tools"))[:MOST_TOOLS]
        metadata = front.get("metadata")
        pairs = metadata.items() if isinstance(metadata, dict) else ()
        return Skill(
            name=column(name, shown, notes),
            description=column(shorten(description, rules.description_limit), shown, notes, rules.description_limit),
            run_mode=column(_text_of(front, "run_mode"), shown, notes) or "direct",
            body_hash=sha256_hex(trim(body)),
            tools=tuple(sorted(column(tool, shown, notes) for tool in tools)),
            root=file.root,
            path=file.path,
            license=column(_text_of(front, "license"), shown, notes),
            compatibility=column(_text_of(front, "compatibility"), shown, notes, 500),
            metadata=tuple((column(str(key), shown, notes), column(str(value), shown, notes)) for key, value in pairs),
        )


def _why_not(rules: SkillRules, name: str, description: str, folder: str, hidden: list[str]) -> str:
    """Return why an agent leaves out a skill, "" if it lists it."""
    if not name:
        return "it has no name"
    if rules.name_limit and len(name) > rules.name_limit:
        return f"its name has more than {rules.name_limit} characters"
    if (rules.names == "plain" and len(name.split()) > 1) or (rules.names == "folder" and name != folder):
        return "its name may have no white space" if rules.names == "plain" else "its name is not that of its folder"
    if not description and rules.description == "needed":
        return "it has no description"
    if rules.over == "skip" and len(description) > rules.description_limit:
        return f"its description has more than {rules.description_limit} characters"
    return f"{hidden[0]} is true" if hidden else ""


def _fields(front: str, yaml: str) -> dict[str, object] | None:
    """Return the fields of a front matter by their lower-case names, None if it cannot be read."""
    parsed = parse(front)
    if parsed is None:
        return dict(plain_fields(front)) if yaml == "lenient" else None
    return {trim(key).lower(): value for key, value in parsed.items() if isinstance(key, str)}


def _text_of(front: dict[str, object], key: str) -> str:
    value = front.get(key)
    return trim(value) if isinstance(value, str) else ""


def _allow(path: str) -> str | None:
    """Let every path pass: the profile searches CLAUDE folders itself."""


def _refuser(walked: set[str]) -> Callable[[str], str | None]:
    """Return what refuses CLAUDE files, but neither a folder on the way to cwd nor the skills of `.claude`."""
    return lambda path: refuse_claude(
        "/".join(name for name in path.removeprefix(".claude/skills/").split("/") if name not in walked)
    )


def _real_below(base: str, folder: str) -> str:
    """Return the real path of a folder relative to its base, "" if it lies outside."""
    top = os.path.realpath(base)
    real = os.path.realpath(os.path.join(base, folder))
    below = os.path.relpath(real, top).replace(os.sep, "/")
    return "" if below == ".." or below.startswith("../") else below
