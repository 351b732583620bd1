"""The prompts of a project, loaded for `lint`, `lock` and `check`."""

from __future__ import annotations

import os

from deepprompt.checks.lint.findings import Subject
from deepprompt.checks.lint.subjects import subject_of, subject_of_files, subjects_of_requests
from deepprompt.checks.lock.file import read_lock
from deepprompt.checks.lock.lock import LockedPrompt, lock_prompt
from deepprompt.checks.settings import Settings
from deepprompt.commands.inputs import read_input, target_function
from deepprompt.commands.options import own_bytes, own_text
from deepprompt.errors import MessageError, SourceError
from deepprompt.providers.recognise import MESSAGES
from deepprompt.text.hygiene import decode, unify_line_ends

TEXT_FILES = (".md", ".mdc", ".txt", ".prompt", ".rst")
"""The files of a folder that are linted."""

_MOST_FILES = 10_000
# Folders that tools write, among them our own snapshots.
_NOT_PROMPTS = frozenset(("__pycache__", "__snapshots__", "build", "dist", "node_modules", "site-packages", "venv"))


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


def _folder(target: str, path: str) -> Subject:
    """Return the text files of a folder, in the order of their paths, each as a part."""
    texts = []
    for root, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_PROMPTS)
        for name in sorted(names):
            if name.endswith(TEXT_FILES):
                inside = os.path.normpath(os.path.join(target, os.path.relpath(os.path.join(root, name), path)))
                texts.append((inside, read_file(os.path.join(root, name), inside)))
        if len(texts) > _MOST_FILES:
            raise SourceError(f"{target}: more than {_MOST_FILES:,} text files; name a smaller folder")
    if not texts:
        raise SourceError(f"{target}: no text files in it ({', '.join(TEXT_FILES)})")
    return subject_of_files(target, texts)


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
