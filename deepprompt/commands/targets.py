"""The prompts of a project, loaded for `lint`, `lock` and `check`."""

from __future__ import annotations

import os
from dataclasses import replace
from glob import escape, glob

from deepprompt.checks.lint.findings import Subject
from deepprompt.checks.lint.kinds import is_repository
from deepprompt.checks.lint.subjects import subject_of, subject_of_files, subjects_of_requests
from deepprompt.checks.lock.file import read_lock
from deepprompt.checks.lock.lock import LockedPrompt, lock_prompt
from deepprompt.checks.settings import Settings
from deepprompt.commands.inputs import read_input, target_function
from deepprompt.commands.options import own_bytes, own_text
from deepprompt.commands.output import show_progress
from deepprompt.errors import DeepPromptError, FileRefusedError, MessageError, PresetError, SourceError
from deepprompt.providers.recognise import MESSAGES
from deepprompt.sources.files import read_below, reason_of
from deepprompt.sources.skills import SCAN_FOLDERS
from deepprompt.systems.preset_file import FILE
from deepprompt.text.hygiene import decode, unify_line_ends

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset

TEXT_FILES = (".md", ".mdc", ".txt", ".prompt", ".rst", ".cursorrules", ".windsurfrules", ".clinerules")
"""The files of a folder that are linted."""

_MOST_FILES = 100_000
_MOST_BYTES = 1 << 25
# Folders that tools write, among them our own snapshots, and what tests are fed with. Other dot-folders hold skills
# and rules.
_NOT_PROMPTS = frozenset(
    ("__MACOSX", "__fixtures__", "__pycache__", "__snapshots__", "build", "dist", "fixtures", "node_modules",
     "site-packages", "venv", ".cache", ".eggs", ".git", ".hg", ".idea", ".mypy_cache", ".nox", ".pytest_cache",
     ".ruff_cache", ".svn", ".tox", ".venv", ".vscode")
)  # fmt: skip


def load_subject(name: str, target: str, folder: str, timeout: float) -> Subject:
    """Return the prompt, request or texts of a target, ready to lint."""
    path = os.path.join(folder, target)
    if target != "-" and os.path.isdir(path):
        return _folder(target, path)
    if target.endswith(".jsonl") and os.path.isfile(path):
        return subjects_of_requests(read_file(path, target), name)
    value = read_input(target, folder, timeout)
    if isinstance(value, str) and target_function(target, folder) is None:
        place = "standard input" if target == "-" else target
        return subject_of_files(name, [(place, unify_line_ends(value.removeprefix("\ufeff")))])
    if isinstance(value, list) and value and all(_is_recorded(item) for item in value):
        return subjects_of_requests(value, name)
    try:
        subject = subject_of(value, name)
        if not any(segment.text for segment in subject.segments if segment.kind != "setting"):
            raise MessageError("no prompt in it: nothing that would be sent")
        return subject
    except MessageError as error:
        raise MessageError(f"{name}: {error}") from None


def _is_recorded(item: object) -> bool:
    return isinstance(item, dict) and any(key in item for key in ("body", *MESSAGES))


def unread(name: str, error: DeepPromptError) -> Subject:
    """Return an empty subject for a target that cannot be linted, so that it does not stop the others."""
    return replace(subject_of_files(name, []), unread=(str(error),))


def _folder(target: str, path: str) -> Subject:
    """Return the text files of a folder, in the order of their paths, each as a part.

    What cannot be read does not stop the rest: a folder without permission, a pipe, a link that leads out.
    """
    names, refused = list_texts(target, path)
    read = [read_text_file(target, path, name) for name in names]
    texts = [one for one in read if not isinstance(one, str)]
    refused += [one for one in read if isinstance(one, str)]
    presets, problems = load_presets(target, path)
    known = is_repository((place for place, _ in texts), os.path.normpath(target))
    subject = replace(subject_of_files(target, texts), is_found=True, in_repository=known)
    subject = replace(subject, unread=tuple(sorted(refused)))
    return replace(subject, presets=tuple(presets), problems=tuple(problems))


def list_texts(target: str, path: str) -> tuple[list[str], list[str]]:
    """Return the text files of a folder by their paths below it, in order, and what cannot be looked into."""
    found: list[str] = []
    refused: list[str] = []

    def skip(error: OSError) -> None:
        refused.append(f"{shown_path(target, os.path.relpath(error.filename, path))}: {reason_of(error)}")

    top = os.path.realpath(path)
    for root, folders, names in os.walk(path, onerror=skip):
        inside = os.path.relpath(root, path)
        folders[:] = sorted(name for name in folders if name not in _NOT_PROMPTS or _has_skills(inside))
        for name in folders:
            place = os.path.join(root, name)
            if os.path.islink(place) and not f"{os.path.realpath(place)}{os.sep}".startswith(f"{top}{os.sep}"):
                refused.append(f"{shown_path(target, os.path.join(inside, name))}: leads out of its root")
        found += [os.path.normpath(os.path.join(inside, name)) for name in sorted(names) if _is_text(name)]
        show_progress(f"{target}: {len(found):,} files found")
        if len(found) > _MOST_FILES:
            raise SourceError(f"{target}: more than {_MOST_FILES:,} text files; name a smaller folder")
    if not found and not refused and not _preset_files(path):
        raise SourceError(f"{target}: no text files in it ({', '.join(TEXT_FILES)})")
    return found, refused


def _is_text(name: str) -> bool:
    return name.endswith(TEXT_FILES) and not name.startswith("._")  # which macOS puts beside a file in an archive


def read_text_file(target: str, path: str, name: str) -> tuple[str, str] | str:
    """Return the shown path and the text of a file below a folder, or why it is not read."""
    shown = shown_path(target, name)
    try:
        data = read_below(path, name, _MOST_BYTES, lambda _: None, whole=True).data
        return shown, decode(data, shown, [])
    except FileRefusedError as error:
        return f"{shown}: {error}"


def shown_path(target: str, relative: str) -> str:
    """Return the path of a file below a target as messages show it."""
    return os.path.normpath(os.path.join(target, relative))


def _preset_files(path: str) -> list[str]:
    """Return the files of the presets in a folder."""
    return [file for file in glob(os.path.join(escape(path), "*", "*", FILE)) if os.path.isfile(file)]


def expect_presets(target: str, path: str) -> None:
    """Raise if a folder has no presets. One folder off, a check of nothing would be taken for a good preset."""
    from deepprompt.catalog import bundled, from_folder

    catalog = from_folder(path)  # which says if there is no such folder
    if catalog.families_with(FILE) or {*catalog.families()} & {*bundled().families()}:
        return  # presets, or overrides of bundled parts
    if below := glob(os.path.join(escape(path), "*", "*", "*", FILE)):
        near = [os.path.relpath(min(below), path).split(os.sep)[0]]
    else:
        near = [".."] * (2 if os.path.isfile(os.path.join(path, FILE)) else 1)
        near = near if near[1:] or glob(os.path.join(escape(path), "*", FILE)) else []
    hint = f"; did you mean {os.path.normpath(os.path.join(target, *near))}?" if near else ""
    raise SourceError(f"{target}: no preset here; presets are NAME/VERSION/{FILE} in this folder{hint}")


def load_presets(target: str, path: str) -> tuple[list[Preset], list[str]]:
    """Return the newest version of each preset in a folder, and what is wrong with those that cannot be loaded."""
    if not _preset_files(path):
        return [], []
    from deepprompt.catalog import from_folder
    from deepprompt.systems.presets import load_preset

    catalog = from_folder(path)
    catalog.label = os.path.normpath(target)
    presets: list[Preset] = []
    problems: list[str] = []
    for family in catalog.families_with(FILE):
        try:
            presets.append(load_preset(family, catalog))
        except PresetError as error:
            problems += error.problems
        except DeepPromptError as error:
            problems.append(str(error))
    return presets, problems


def _has_skills(inside: str) -> bool:
    """Whether a folder lies where skills are searched; there, a skill may have the name of a tool's folder."""
    path = inside.replace(os.sep, "/")
    return any(f"{path}/".startswith(f"{folder}/") for folder in SCAN_FOLDERS)


def read_file(path: str, name: str) -> str:
    """Return the text of a file that messages call `name`."""
    return decode(own_bytes(path, name))


def lock_target(name: str, target: str, settings: Settings, folder: str) -> LockedPrompt:
    """Return a prompt of a project as it is now, ready to lock."""
    value = read_input(target, folder, settings.timeout)
    try:
        return lock_prompt(name, target, value, folder=folder, boundary=settings.boundary)
    except MessageError as error:
        raise MessageError(f"{name}: {error}") from None


def read_locked(settings: Settings, folder: str) -> list[LockedPrompt]:
    """Return the prompts in the lock file."""
    path = os.path.join(folder, settings.lock)
    if not os.path.exists(path):
        raise SourceError(f"{settings.lock}: no such file; write it with 'deepprompt lock', and commit it")
    return read_lock(own_text(path), settings.lock)
