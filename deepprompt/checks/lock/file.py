"""The lock file: TOML, one line a part in the order in which they are sent.

`lock_text` and `read_lock` are each other's inverse.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from deepprompt.checks.lock.lock import LockedPart, LockedPrompt
from deepprompt.errors import SourceError
from deepprompt.text.hygiene import scrub
from deepprompt.text.parse import parse_toml

FORMAT = 1
_HEADER = "# The prompts of this project, part by part. Written by 'deepprompt lock'; do not edit, run it again.\n"
_NUMBERS = ("bytes", "tokens")
_MOST_SHOWN = 8


def lock_text(prompts: Iterable[LockedPrompt]) -> str:
    """Return the lock file of some prompts."""
    text = f"{_HEADER}lock = {FORMAT}\n"
    for prompt in prompts:
        text += f"\n[[prompt]]\nname = {_quoted(prompt.name)}\ntarget = {_quoted(prompt.target)}\n"
        text += f"model = {_quoted(prompt.model)}\n" if prompt.model else ""
        text += f'fingerprint = "{prompt.fingerprint}"\nbytes = {prompt.bytes}\ntokens = {prompt.tokens}\nparts = [\n'
        text += "".join(f"  {{ {_row(part)} }},\n" for part in prompt.parts) + "]\n"
    return text


def _row(part: LockedPart) -> str:
    row = f"part = {_quoted(part.part)}, pace = {_quoted(part.pace)}"
    if part.version:
        row += f", version = {_quoted(part.version)}"
    if part.value:
        row += f", value = {_quoted(part.value)}"
    if part.mark:
        row += f", mark = {_quoted(part.mark)}"
    if part.bytes:
        row += f", bytes = {part.bytes}, tokens = {part.tokens}"
    return row + (f', sha256 = "{part.sha256}"' if part.sha256 else "")


def _quoted(text: str) -> str:
    """Return a string of TOML, in which whatever a reviewer would not see is an escape."""
    plain = json.dumps(scrub(text), ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08X}" for letter in plain)


def is_lock(text: str) -> bool:
    """Whether a text is a lock file, of whatever format and however damaged."""
    return text.startswith(_HEADER)


def read_lock(text: str, name: str) -> list[LockedPrompt]:
    """Return the prompts of a lock file."""
    try:
        data = parse_toml(text.encode(), name, "a lock file")
    except SourceError as error:
        raise SourceError(f"{error}; restore it, or delete it and run 'deepprompt lock'") from None
    if data.get("lock") != FORMAT:
        raise SourceError(f"{name}: a lock of format {data.get('lock')!r:.20}; this release writes and reads {FORMAT}")
    faults: list[str] = []
    entries = data.get("prompt", [])
    if not isinstance(entries, list):
        faults.append(f"prompt is {entries!r:.40}, not a list of tables")
        entries = []
    prompts = [_prompt(entry, f"prompt {number}", faults) for number, entry in enumerate(entries, 1)]
    if faults:
        more = [f"and {len(faults) - _MOST_SHOWN} more"] if len(faults) > _MOST_SHOWN else []
        said = "; ".join([*faults[:_MOST_SHOWN], *more])
        raise SourceError(f"{name}: damaged: {said}; restore it, or delete it and run 'deepprompt lock'")
    return [LockedPrompt(**prompt) for prompt in prompts]


def _prompt(entry: object, where: str, faults: list[str]) -> dict[str, Any]:
    """Return the fields of a locked prompt; whatever is wrong with them is added to the faults."""
    rows = entry.get("parts") if isinstance(entry, Mapping) else None
    parts = []
    for number, row in enumerate(rows if isinstance(rows, list) else (), 1):
        values = _checked(LockedPart, row, f"{where}, part {number}", faults)
        parts += [] if faults else [LockedPart(**values)]
    return _checked(LockedPrompt, entry, where, faults) | {"parts": tuple(parts)}


def _checked(kind: type[LockedPart | LockedPrompt], entry: object, where: str, faults: list[str]) -> dict[str, Any]:
    """Return an entry as the fields of a value; what is missing, unknown or of another type is added to the faults."""
    if not isinstance(entry, Mapping):
        faults.append(f"{where} is {entry!r:.40}, not a table")
        return {}
    known = {field.name: field for field in fields(kind)}
    for key, value in entry.items():
        expected = list if key == "parts" else int if key in _NUMBERS else str
        if key not in known:
            faults.append(f"{where}: {key!r:.40} is no field of a lock")
        elif not isinstance(value, expected) or isinstance(value, bool):
            faults.append(f"{where}: {key} is {value!r:.40}")
    missing = [key for key in known if known[key].default is MISSING and key not in entry]
    faults += [f"{where}: no {', '.join(missing)}"] if missing else []
    return dict(entry)
