"""Find the imports in a text: `@path`, by the rules of a profile. Nothing is read here."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from deepprompt.sources.plan.markdown import code_ranges
from deepprompt.sources.plan.profile import Imports

_PATH_LIMIT = 1_024
_PUNCTUATION = ".,;:!?)]}\"'"
_PLAIN = re.compile(r"@([^\s@]+)")
_ESCAPED = re.compile(r"@((?:\\ |[^\s@])+)")


@dataclass(frozen=True, slots=True)
class Mention:
    """An import in a text: where it stands, and the path that it names."""

    start: int
    end: int
    path: str


def find_mentions(text: str, rules: Imports) -> list[Mention]:
    """Return the imports of a text, in order."""
    if "@" not in text:
        return []
    code = code_ranges(text, rules.skip)
    starts = [start for start, _ in code]
    found = []
    for match in (_ESCAPED if rules.escapes else _PLAIN).finditer(text):
        start = match.start()
        number = bisect_right(starts, start) - 1
        if number >= 0 and start < code[number][1]:
            continue
        if start and not text[start - 1].isspace() and text[start - 1] not in rules.before:
            continue
        path = match.group(1)
        if rules.punctuation:
            path = path.rstrip(_PUNCTUATION)
        if path and len(path) <= _PATH_LIMIT:
            found.append(Mention(start, start + 1 + len(path), path.replace("\\ ", " ") if rules.escapes else path))
    if rules.alone and not _is_pointer(text, found):
        return []
    return found


def _is_pointer(text: str, found: list[Mention]) -> bool:
    """Whether a text holds nothing but imports."""
    rest, place = [], 0
    for mention in found:
        rest.append(text[place : mention.start])
        place = mention.end
    return bool(found) and not "".join([*rest, text[place:]]).strip()
