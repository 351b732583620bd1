"""DP5: keys in a prompt, and how the other rules quote a text without quoting one.

What a key looks like is `sources.secrets`' to say. Here is only which of them are an example's: documentation is full
of keys that open nothing, and a lint that shouts at each of them is soon switched off.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from deepprompt.checks.findings import Finding, Limits, Rule, Subject
from deepprompt.prompt import Note
from deepprompt.sources.secrets import redact
from deepprompt.sources.text import one_line, reveal

RULES = (
    Rule(
        "DP501",
        "key",
        "The text has a key or a password, which every provider and every log then has too.",
        "Take it out and revoke it; give a tool what it needs to know where the model cannot see it.",
        error=True,
        excusable=False,
    ),
)

_LONGEST = 60

# How far a key goes: to the next blank or quote; a private key goes over lines.
_TOKEN = re.compile(r"[^\s\"'`<>]{1,4096}+")
_ADDRESS = re.compile(r"[^\s/@]{1,520}+@?[^\s\"'`<>]{0,80}+")
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]{0,30}KEY-----[A-Za-z0-9+/=\s]*+(?:-----END [A-Z ]{0,30}KEY-----)?")
_FILLER = re.compile(
    r"x{4,}|\*{3}|\.{3}|…|0{6}|1234567|abc123|abcdef|example|sample|dummy|fake|placeholder|redacted|change|your|insert|test[-_]?key"
    r"|eyJzdWIiOiIxMjM0NTY3ODkwIi",  # the last is the payload that everybody shows web tokens with
    re.IGNORECASE,
)
# Passwords that are none, and hosts that nobody else reaches: other people's keys are not found there.
_WORDS = frozenset(("admin", "guest", "pass", "passwd", "password", "postgres", "pw", "pwd", "root", "secret", "token"))
_NEAR = re.compile(
    r"@(?:localhost|127\.|\[::1\]|host\.docker\.internal|[\w-]{1,63}+(?![\w.-])|(?:[\w-]{1,63}\.){0,5}example\b)"
)
_FEWEST = 8  # different characters, in what is no mere filler
_SHORTEST = 40  # characters of a private key that is not only named


@dataclass(frozen=True, slots=True)
class Key:
    """A key in a text: what kind it is, with the start of its SHA-256, and where it stands."""

    detail: str
    start: int
    end: int
    is_example: bool


class Lines:
    """Where the lines of a text begin."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, place: int) -> tuple[int, int]:
        """Return the line and the column of a character, both from 1."""
        line = bisect_right(self._starts, place)
        return line, place - self._starts[line - 1] + 1


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield every key in any text of a subject."""
    for segment in subject.segments:
        found = [key for key in keys(segment.text) if not key.is_example]
        lines = Lines(segment.text if found else "")
        for key in found:
            kind, _, digest = key.detail.partition(", ")
            article = "an" if kind[0] in "AEIOU" else "a"
            yield Finding("DP501", f"{article} {kind}, {digest}", subject.name, segment.place, *lines.at(key.start))


def keys(text: str) -> Iterator[Key]:
    """Yield the keys of a text; what stands between the start and the end of one is never to be shown."""
    notes: list[Note] = []
    redact(text, "", notes)
    for note in notes:
        start = note.offset or 0
        pattern = _PRIVATE if note.detail.startswith("private") else _ADDRESS if "address" in note.detail else _TOKEN
        match = pattern.match(text, start)
        end = match.end() if match else start
        yield Key(note.detail, start, end, _is_example(note.detail, text[start:end]))


def excerpt(text: str) -> str:
    """Return a text between quotes as a message may show it: short, on one line, visible, without keys."""
    # Keys go first: what is left of one after a cut is not recognised any more.
    shown = one_line(reveal(redact(text[: 4 * _LONGEST], "", []), "", []), "", []).strip()
    return f"'{shown}'" if len(shown) <= _LONGEST - 2 else f"'{shown[: _LONGEST - 3]}…'"


def _is_example(detail: str, key: str) -> bool:
    if detail.startswith("private"):
        return len(re.sub(r"-----[A-Z ]+-----|\s", "", key)) < _SHORTEST
    if detail.startswith("password"):
        user, _, rest = key.partition(":")
        password, _, _ = rest.partition("@")
        named = password.lower() in _WORDS or password == user or password[:1] in "$<{%[*"
        return named or _FILLER.search(password) is not None or _NEAR.match(rest, len(password)) is not None
    return _FILLER.search(key) is not None or len(set(key)) < _FEWEST
