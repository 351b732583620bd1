"""The little of Markdown that instruction files need: fences, code, comments, and imports. Linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from deepprompt.frozen import dataclass
from deepprompt.sources.plan.profile import Imports

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile("`+")
_COMMENT = re.compile(r" {0,3}<!--")
_ITEM = re.compile(r"[\t ]*(?:[-*+]|\d{1,9}[.)])[\t ]+")
_PATH_LIMIT = 1_024
_PUNCTUATION = ".,;:!?)]}>\"'"
_PLAIN = re.compile(r"@([^\s@]+)")
_ESCAPED = re.compile(r"@((?:\\ |[^\s@])+)")


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
    """Return where the code and comments of some kinds are: `span`, `fence`, `indent` and `comment`, in order.

    `backticks` are the fences of backticks alone, without those of tildes.
    """
    ranges: list[tuple[int, int]] = []
    blank, indented, comment, item = True, False, False, 0
    for line, place, fence in fenced_lines(text):
        end = place + len(line)
        starts = bool(_COMMENT.match(line)) and not fence
        depth = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if mark := None if fence or indented else _ITEM.match(line):
            item = len(mark.group().expandtabs(4))  # the text of a list item is indented, and no code
        elif line.strip() and not depth:
            item = 0
        indented = not fence and not mark and bool(line.strip()) and depth >= item + 4 and (blank or indented)
        kind = "fence" if fence else "indent" if indented else "comment" if comment or starts else ""
        if kind in kinds or (fence.startswith("`") and "backticks" in kinds):
            ranges.append((place, end))
        elif not fence:
            found = [*(_spans(line) if "span" in kinds else ()), *(_comments(line) if "comment" in kinds else ())]
            ranges += [(place + start, place + stop) for start, stop in _apart(sorted(found))]
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


def _comments(line: str) -> Iterator[tuple[int, int]]:
    """Yield the comments that begin and end in a line."""
    start = line.find("<!--")
    while start >= 0 and (end := line.find("-->", start)) >= 0:
        yield start, end + 3
        start = line.find("<!--", end)


def _apart(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges without those that begin inside another."""
    done = 0
    for start, end in ranges:
        if start >= done:
            yield start, end
            done = end


def without_comments(text: str) -> str:
    """Return a text without the lines of HTML comments that start a line outside of code."""
    if "<!--" not in text:
        return text
    kept, comment = [], False
    for line, _, fence in fenced_lines(text):
        starts = not fence and bool(_COMMENT.match(line))
        if not (comment or starts):
            kept.append(line)
        comment = (comment or starts) and "-->" not in line
    return "\n".join(kept)


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
        if rules.letters and path and not (path[0].isalpha() or path[0] in "./"):
            continue
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
