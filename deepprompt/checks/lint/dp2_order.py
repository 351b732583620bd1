"""DP2: fast text before slow text, and collections that were printed without an order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.lines import Lines
from deepprompt.checks.lint.look import said_before
from deepprompt.checks.lint.slow_text import SHOWN, SlowText, slow_texts, without_comments
from deepprompt.text.hygiene import is_blank

RULES = (
    Rule(
        "DP201",
        "fast-before-slow",
        "Text that changes often stands before text that does not, so each change loses the cache of all that follows.",
        "Put it after everything that is slower: at the end, into a message, or after the boundary.",
    ),
    Rule(
        "DP202",
        "unordered",
        "A collection without an order was printed; another process prints it in another order.",
        "Sort it, and print its items rather than the collection.",
    ),
)

_SHORTEST = 500  # the fewest characters of slow text for which it matters what stands before them

_HEADING = re.compile(r"^(#{1,6}) [^\n]{1,200}", re.MULTILINE)
_FAST_HEADING = re.compile(
    r"git (?:status|diff|log|state)|recent commits|working tree|environment|project context|workspace|session|runtime"
    r"|current (?:state|date|time|context|session|directory)|today|open (?:files|tabs)",
    re.IGNORECASE,
)
_FAST_TAG = re.compile(
    r"^[ \t]{0,8}<(?P<close>/?)(?P<name>env|environment|environment_(?:context|details|info)|git_?status|context"
    r"|session|runtime|system_info|project_context|workspace)>[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_PORCELAIN = re.compile(r"^(?:[MADRCU?!]{2}|[ MADRCU][MADRCU]|[MADRCU] ) [\w./\"-]{1,200}", re.MULTILINE)
_ITEM = r"'[^'\n{}]{0,80}+'"
_UNORDERED = re.compile(
    rf"frozenset\(\{{[^\n}}]{{0,80}}+}}?\)?|(?<![\w(=:$]){{{_ITEM}(?>(?:, {_ITEM}){{1,200}})}}"
    r"|(?<!\w)(?:o?dict_(?:keys|values|items)|environ)\([\[{][^\n\]}]{0,80}+[\]}]?\)?"
)
_COLLECTIONS = ("frozenset(", "dict_", "environ(", "{'")  # one of these is in every such collection
_SIGNS = (" M ", "M  ", "A  ", "?? ", " D ", "D  ")  # most changes have one of these
_EXPLAINED = re.compile(
    r"\b(?:Python|prints?|printed|repr|written) (?:\w{1,12} ){0,3}?(?:as|like)\b|\bPython\b", re.IGNORECASE
)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield text that stands too early, and collections without an order."""
    if not subject.is_file:  # the files of a folder need not stand in one prompt
        yield from _segments(subject)
    for slow in slow_texts(subject):
        if slow.authored or slow.reference:  # a document shows what a program prints
            continue
        early = list(_early(slow))
        if not early and not any(word in slow.text for word in _COLLECTIONS):
            continue
        lines = Lines(slow.segment.text)
        for start, end in early:
            message = f"{excerpt(slow.text[start:end])} changes, and slow text follows it"
            yield Finding("DP201", message, subject.name, slow.segment.place, *lines.at(start))
        heard = without_comments(slow.prose)
        for found in _UNORDERED.finditer(slow.prose):
            before = said_before(found.start(), heard)
            if SHOWN.search(before) or _EXPLAINED.search(before):
                continue
            message = f"a collection in no order, {excerpt(slow.text[found.start() : found.end()])}"
            yield Finding("DP202", message, subject.name, slow.segment.place, *lines.at(found.start()))


def _segments(subject: Subject) -> Iterator[Finding]:
    """Yield each part that is marked as changing and stands before one that is not."""
    parts = [part for part in subject.segments if part.role in ("", "system") and part.kind != "setting"]
    last = max((n for n, part in enumerate(parts) if not part.changing and not is_blank(part.text)), default=0)
    for part in parts[:last]:
        if part.changing and not is_blank(part.text):
            message = f"{part.place!r} changes with the turn, and {parts[last].place!r} after it does not"
            yield Finding("DP201", message, subject.name, part.place)


def _early(slow: SlowText) -> Iterator[tuple[int, int]]:
    """Yield the first line of each section that has changing text in it and much slow text after it."""
    if not slow.movements and not any(f"\n{sign}" in slow.text or slow.text.startswith(sign) for sign in _SIGNS):
        return
    text = without_comments(slow.stated)
    sections = sorted([*_headed(text), *_tagged(text)])
    if not sections:
        return
    places = [movement.start for movement in slow.movements]
    places += [found.start() for found in _PORCELAIN.finditer(text)]
    places.sort()
    done = number = 0
    fast = []
    for start, title, end in sections:
        while number < len(places) and places[number] < start:
            number += 1
        if start >= done and number < len(places) and places[number] < end:
            fast.append((start, title, end))
            done = end
    after = 0
    for position, (start, title, end) in reversed(list(enumerate(fast))):
        following = fast[position + 1][0] if position + 1 < len(fast) else len(text)
        after += len(slow.text[end:following].strip())
        if after >= _SHORTEST:
            yield start, title


def _headed(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start of each section under a heading, the end of the heading, and the end of the section."""
    opened: list[tuple[int, int, int]] = []  # the level, the start and the end of each open heading
    for heading in _HEADING.finditer(text):
        level = len(heading[1])
        while opened and opened[-1][0] >= level:
            _, start, title = opened.pop()
            yield start, title, heading.start()
        if _FAST_HEADING.search(heading[0]):
            opened.append((level, heading.start(), heading.end()))
    for _, start, title in opened:
        yield start, title, len(text)


def _tagged(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start of each section between tags, the end of its opening tag, and the end of the section."""
    opened: dict[str, tuple[int, int]] = {}
    for tag in _FAST_TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["close"]:
            opened.setdefault(name, tag.span())
        elif name in opened:
            start, title = opened.pop(name)
            yield start, title, tag.end()
