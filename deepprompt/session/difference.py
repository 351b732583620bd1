"""A text as its differences from an earlier one, for a model that has read the earlier one.

Both forms are used only where they are shorter than the text and cannot be misread. Otherwise the result is None.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_MOST_LINES = 2_000  # comparing more takes too long
_WIDEST = 3
_NUMBERS = re.compile(r"\d+|(?<= )[+-]+$")
_BLANKS = re.compile(r"(?<=\S)[ \t]+")


def changed_lines(old: str, new: str) -> str | None:
    """Return a list of lines as its first line and the lines that changed: - gone, + new, ~ with other numbers.

    The order of lines says nothing, and neither does their alignment. "" says that nothing else changed.
    """
    before, after = _keyed(old), _keyed(new)
    if before is None or after is None or next(iter(before)) != next(iter(after)):
        return None
    kept = [line for line in before if line in after]
    if kept != [line for line in after if line in before]:
        return None
    gone = {line: before[line] for line in before if line not in after}
    numbered = {_NUMBERS.sub("0", line): line for line in gone}
    clear = len(numbered) == len(gone) and not {_NUMBERS.sub("0", line) for line in kept} & numbered.keys()
    lines = []
    for line, text in after.items():
        if line in before:
            continue
        same = numbered.pop(_NUMBERS.sub("0", line), None) if clear else None
        lines.append(f"+{text}" if same is None else f"~{text}")
        if same is not None:
            del gone[same]
    if not lines and not gone:
        return ""
    short = "\n".join([next(iter(after.values())), *(f"-{text}" for text in gone.values()), *lines])
    return short if len(short) < len(new) else None


def _keyed(text: str) -> dict[str, str] | None:
    """Return the lines of a list without their alignment, each with the line itself; None if one is there twice."""
    lines = text.split("\n")
    keyed = {_BLANKS.sub(" ", line): line for line in lines}
    return keyed if len(keyed) == len(lines) <= _MOST_LINES else None


def hunks(old: str, new: str) -> str | None:
    """Return the places where a text changed, with enough lines around each that it occurs once in the old text."""
    before, after = old.split("\n"), new.split("\n")
    if len(before) + len(after) > _MOST_LINES:
        return None
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for context in range(1, _WIDEST + 1):
        pieces = []
        for group in matcher.get_grouped_opcodes(context):
            found = [line for kind, start, end, _, _ in group for line in before[start:end]]
            if not found or _times(found, before) != 1:
                break
            lines = []
            for kind, start, end, first, last in group:
                lines += [f" {line}" for line in before[start:end]] if kind == "equal" else []
                lines += [f"-{line}" for line in before[start:end]] if kind in ("replace", "delete") else []
                lines += [f"+{line}" for line in after[first:last]] if kind in ("replace", "insert") else []
            pieces.append("\n".join(lines))
        else:
            short = "\n...\n".join(pieces)
            return short if len(short) < len(new) else None
    return None


def _times(piece: list[str], lines: list[str]) -> int:
    """Return how often lines stand in a row in a text."""
    return sum(lines[at : at + len(piece)] == piece for at in range(len(lines) - len(piece) + 1))
