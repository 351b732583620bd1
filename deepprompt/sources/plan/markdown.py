"""The little of Markdown that instruction files need: fences, code and comments. Linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile("`+")
_COMMENT = re.compile(r" {0,3}<!--")


def fenced_lines(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield each line with its offset, and the fence that it lies in or belongs to, "" outside of code."""
    fence, place = "", 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        run = mark.group(1) if mark else ""
        if fence and run.startswith(fence) and mark and not line[mark.end() :].strip():
            yield line, place, fence
            fence = ""
        else:
            fence = fence or run
            yield line, place, fence
        place += len(line) + 1


def open_fence(text: str) -> str:
    """Return the fence that is still open at the end of a text, "" if there is none."""
    fence = ""
    for line in text.split("\n"):
        if (mark := _FENCE.match(line)) is None:
            continue
        run = mark.group(1)
        if not fence:
            fence = run
        elif run.startswith(fence) and not line[mark.end() :].strip():
            fence = ""
    return fence


def code_ranges(text: str, kinds: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where the code and comments of some kinds are: `span`, `fence`, `indent` and `comment`, in order."""
    ranges: list[tuple[int, int]] = []
    blank, indented, comment = True, False, False
    for line, place, fence in fenced_lines(text):
        end = place + len(line)
        starts = bool(_COMMENT.match(line)) and not fence
        indented = not fence and line.startswith(("    ", "\t")) and (blank or indented)
        kind = "fence" if fence else "indent" if indented else "comment" if comment or starts else ""
        if kind in kinds:
            ranges.append((place, end))
        elif not fence and "span" in kinds:
            ranges += [(place + start, place + stop) for start, stop in _spans(line)]
        comment = (comment or starts) and "-->" not in line
        blank = not line.strip() or bool(fence)
    return ranges


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the code spans of a line: from a run of backticks to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(line)]
    following: dict[int, int] = {}
    closes = [0] * len(runs)
    for number in reversed(range(len(runs))):
        size = runs[number][1] - runs[number][0]
        closes[number] = following.get(size, 0)
        following[size] = number
    number = 0
    while number < len(runs):
        if closes[number]:
            yield runs[number][0], runs[closes[number]][1]
            number = closes[number]
        number += 1


def without_comments(text: str) -> str:
    """Return a text without the lines of HTML comments that start a line outside of code."""
    kept, comment = [], False
    for line, _, fence in fenced_lines(text):
        starts = not fence and bool(_COMMENT.match(line))
        if not (comment or starts):
            kept.append(line)
        comment = (comment or starts) and "-->" not in line
    return "\n".join(kept)
