"""Keys in names that are shown: in paths, branches and commit subjects they are redacted before anybody sees them.

The kinds of keys are data (`keys.tsv`), for this and for lint's DP5. A note says what kind of key it was and starts its
SHA-256, so that its owner can find it; neither the key nor a part of it is kept anywhere. The contents of instruction
files are not searched: they are the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from deepprompt.manifest import bundled_table
from deepprompt.prompt import Note, sha256_hex
from deepprompt.text.plain import Plain

TABLE = "text/2026.11.18/keys.tsv"

# The search has two quick steps before any pattern. Every key has a row, which is so many letters, digits, `_` or `-`
# side by side, or else a sign of its kind; most texts have neither. In a text that has one, the words of each kind are
# looked for: where a key has a row, the word is in that row, unless it stands apart or has other characters. The tests
# hold the whole table to these three sentences.
ROW = 14
SIGNS = (
    "-----BEGIN ", "://", "==", "Q~", "TT3", "dp.", "ey=", "eyJ", "fm", "glc_", "hooks.slack.com/", "pscale_", "sig=",
    "sntry", "whsec_",
)  # fmt: skip
_APART = ("CF_API", "CF_TOKEN", "LOUDFLARE", "dt0", "loudflare")
# Translations of bytes: what no row has becomes a blank, and each character of a row itself or an `a`.
_IN_ROWS = (
    b" " * 45 + b"-" + b" " * 2 + b"0123456789" + b" " * 7 + b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" + b" " * 4 + b"_ "
    b"abcdefghijklmnopqrstuvwxyz" + b" " * 133
)  # fmt: skip
_ALIKE = b" " * 45 + b"a" + b" " * 2 + b"a" * 10 + b" " * 7 + b"a" * 26 + b" " * 4 + b"a " + b"a" * 26 + b" " * 133
_FULL = b"a" * ROW
_RARE = "~=:ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789whf"

Groups = dict[str, tuple[str, ...]]


def _grouped(words: Iterable[str]) -> Groups:
    """Group words by a character that is rare in names: where it is missing, no word of its group needs a search."""
    groups: dict[str, tuple[str, ...]] = {}
    for word in words:
        rare = next((character for character in _RARE if character in word), "")
        groups[rare] = (*groups.get(rare, ()), word)
    return groups


def _words_of(groups: Groups, text: str) -> list[str]:
    return [word for rare, words in groups.items() if rare in text for word in words if word in text]


@cache
def _signs() -> Groups:
    return _grouped(SIGNS)


@cache
def _kinds() -> tuple[tuple[str, frozenset[str], str], ...]:
    """Return each kind of key: its name, words that a text with such a key contains, and its pattern."""
    kinds = []
    for line in bundled_table(TABLE).splitlines():
        if not line.startswith("#"):
            name, place, words, pattern, _ = line.split("\t")
            # A word may end in a blank, and is the last one then.
            words_ = words[:-1].split(" ")
            words_[-1] += words[-1]
            kinds.append((name, frozenset(words_), pattern if place == "any" else f"(?<![A-Za-z0-9]){pattern}"))
    return tuple(kinds)


@cache
def _near_and_far() -> tuple[Groups, Groups]:
    """Return the words that stand in a row, and all others."""
    words = sorted({word for _, words, _ in _kinds() for word in words})
    far = [
        word
        for word in words
        if word in _APART or b" " in word.encode().translate(_IN_ROWS) or any(sign in word for sign in SIGNS)
    ]
    return _grouped(word for word in words if word not in far), _grouped(far)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def may_hold_key(look: str) -> bool:
    """Whether a plain text has a row or a sign: without one it has no key."""
    return _FULL in look.encode("ascii", "replace").translate(_ALIKE) or bool(_words_of(_signs(), look))


def _possible(look: str) -> list[tuple[str, str]]:
    """Return name and pattern of each kind of key of which a plain text has a word."""
    near, far = _near_and_far()
    pieces = look.encode("ascii", "replace").translate(_IN_ROWS).split()
    rows = b" ".join([piece for piece in pieces if len(piece) >= ROW]).decode()
    words = _words_of(near, rows) + _words_of(far, look)
    return [(name, pattern) for name, own, pattern in _kinds() if not own.isdisjoint(words)] if words else []


def find_secrets(text: str) -> list[tuple[str, int, int, str]]:
    """Return the keys of a text in order: kind, start, end, and the key without what hides in it.

    They never overlap: of two that would, the first and longest counts. Hidden characters inside a key, and other forms
    of its letters, do not hide it.
    """
    plain = Plain(text)
    look = plain.text
    if not may_hold_key(look):
        return []
    found = []
    for name, pattern in _possible(look):
        found += [(m.start(), -m.end(), name, m[0]) for m in _compiled(pattern).finditer(look) if m[0]]
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
