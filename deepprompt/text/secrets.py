"""Keys in names that are shown: in paths, branches and commit subjects they are redacted before anybody sees them.

The kinds of keys are data (`keys.tsv`), for this and for lint's DP5. A note says what kind of key it was and starts its
SHA-256, so that its owner can find it; neither the key nor a part of it is kept anywhere. The contents of instruction
files are not searched: they are the user's own words.
"""

from __future__ import annotations

import re
from functools import cache

from deepprompt.manifest import bundled_table
from deepprompt.prompt import Note, sha256_hex
from deepprompt.text.plain import Plain

TABLE = "text/2026.11.18/keys.tsv"


@cache
def _kinds() -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """Return each kind of key: its name, words that a text with such a key contains, and its pattern."""
    kinds = []
    for line in bundled_table(TABLE).splitlines():
        if not line.startswith("#"):
            name, place, words, pattern, _ = line.split("\t")
            words_ = tuple(words.split(" "))
            if words_[-1] == "":  # a word that ends in a blank
                words_ = (*words_[:-2], words_[-2] + " ")
            kinds.append((name, words_, pattern if place == "any" else f"(?<![A-Za-z0-9]){pattern}"))
    return tuple(kinds)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find_secrets(text: str) -> list[tuple[str, int, int, str]]:
    """Return the keys of a text in order: kind, start, end, and the key without what hides in it.

    They never overlap: of two that would, the first and longest counts. Hidden characters inside a key, and other forms
    of its letters, do not hide it.
    """
    plain = Plain(text)
    look = plain.text
    found = []
    for name, words, pattern in _kinds():
        for word in words:
            if word in look:
                found += [(m.start(), -m.end(), name, m[0]) for m in _compiled(pattern).finditer(look) if m[0]]
                break
    if not found:
        return []
    keys: list[tuple[str, int, int, str]] = []
    end = 0
    for start, negative, name, value in sorted(found):
        if start >= end:
            end = -negative
            keys.append((name, plain.place(start), plain.place(end - 1) + 1, value))
    return keys


def redact(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Write `[redacted: KIND]` for each key in a text, and note its kind, place and the start of its SHA-256."""
    notes = [] if notes is None else notes
    pieces: list[str] = []
    end = 0
    for kind, start, stop, key in find_secrets(text):
        notes.append(Note("redacted", source, f"{kind}, SHA-256 {sha256_hex(key)[:12]}", start))
        pieces += (text[end:start], f"[redacted: {kind}]")
        end = stop
    return "".join((*pieces, text[end:])) if end else text
