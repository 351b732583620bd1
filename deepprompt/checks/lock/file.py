"""The lock file: TOML, one line a part in the order in which they are sent.

`lock_text` and `read_lock` are each other's inverse.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from deepprompt.checks.lock.lock import LockedPart, LockedPrompt
from deepprompt.errors import SourceError
from deepprompt.text.hygiene import scrub

FORMAT = 1
_HEADER = "# The prompts of this project, part by part. Written by 'deepprompt lock'; do not edit, run it again.\n"
_NUMBERS = ("bytes", "tokens")


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
    plain = json.dumps(scrub(text, "", []), ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08X}" for letter in plain)


def is_lock(text: str) -> bool:
    """Whether a text is a lock file, of whatever format and however damaged."""
    return text.startswith(_HEADER)


def read_lock(text: str, name: str) -> list[LockedPrompt]:
    """Return the prompts of a lock file."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourceError(
            f"{name}: not a lock file: {error}; restore it, or delete it and run 'deepprompt lock'"
        ) from None
    if data.get("lock") != FORMAT:
        raise SourceError(f"{name}: a lock of format {data.get('lock')!r:.20}; this release writes and reads {FORMAT}")
    try:
        return [_prompt(entry) for entry in data.get("prompt", [])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(
            f"{name}: damaged: {error!r:.80}; restore it, or delete it and run 'deepprompt lock'"
        ) from None


def _prompt(entry: Mapping[str, Any]) -> LockedPrompt:
    parts = tuple(LockedPart(**_checked(part)) for part in entry["parts"])
    return LockedPrompt(**_checked({**entry, "parts": parts}))


def _checked(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry whose every value is of its kind."""
    for key, value in entry.items():
        kind = int if key in _NUMBERS else tuple if key == "parts" else str
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{key} is {value!r:.40}")
    return dict(entry)
