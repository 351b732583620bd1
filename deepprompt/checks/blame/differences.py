"""What happened to the first block in which two requests differ: added, removed, reordered, or its text changed.

Blocks are compared in the order of the request. The parts of a prompt have names, and join to one text. Messages have
no names, so the messages around them are used to match them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, groupby, takewhile

from deepprompt.checks.blame.kinship import SPEAKERS
from deepprompt.checks.places import Place, of_text, of_value, whole
from deepprompt.prompt import file_of
from deepprompt.providers.segments import Segment
from deepprompt.text.compare import TextChange, classify, shared_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import BlameKind

# In a tool these all mean the same: its definition changed.
_EDITS = ("edit", "inserted", "removed", "truncation")


@dataclass(frozen=True)
class Block:
    """A unit of comparison: one segment, or several that join to one text."""

    segments: tuple[Segment, ...]

    @cached_property
    def text(self) -> str:
        """The text of all its segments."""
        return "".join([segment.text for segment in self.segments])

    @property
    def sort(self) -> tuple[str, str]:
        """Its kind and its role."""
        return self.segments[0].kind, self.segments[0].role

    @property
    def key(self) -> tuple[str, str, str]:
        """Everything by which two blocks are compared."""
        return *self.sort, self.text

    @property
    def is_joined(self) -> bool:
        """Whether its segments are pieces of one text, so that the cuts between them do not matter."""
        return all(segment.joins for segment in self.segments)


def read_blocks(segments: Sequence[Segment], joined: bool) -> Iterator[Block]:
    """Yield the blocks of a request. With `joined`, the whole system prompt is one block."""
    for system, run in groupby(segments, lambda segment: joined and segment.kind == segment.role == "system"):
        if system:
            block = Block(tuple(run))
            yield from [block] if block.text else []
        else:
            yield from (Block((segment,)) for segment in run)


def in_parts(olds: Sequence[Segment], news: Sequence[Segment], at: int) -> tuple[BlameKind, Place]:
    """Return the kind of change in a text that is made of parts, and the part."""
    number = start = 0
    if all(segment.joins and not segment.bare for segment in (*olds, *news)):
        while number < min(len(olds), len(news)) and olds[number].text == news[number].text:
            start += len(news[number].text)
            number += 1
        if number == len(olds):
            return "inserted", whole(_told_by(news[number:], olds))
        if number == len(news):
            return "removed", whole(_told_by(olds[number:], news))
        before, after = olds[number], news[number]
        if at - start <= max(len(before.text), len(after.text)):
            moved = _moved([part.place for part in olds[number:]], [part.place for part in news[number:]])
            if moved:
                gone = moved == "removed"
                return moved, whole(_told_by(olds[number:], news) if gone else _told_by(news[number:], olds))
            change = classify(before.text, after.text)
            return change.kind, of_text(news, number, _first_line(change, before.text, after.text))
    # The parts of one side are unknown, or the same text is cut elsewhere, so compare the whole text.
    change = classify("".join([part.text for part in olds]), "".join([part.text for part in news]))
    parts = news if any(part.origin for part in news) or not any(part.origin for part in olds) else olds
    number, start = 0, 0
    while number < len(parts) - 1 and start + len(parts[number].text) <= at:
        start += len(parts[number].text)
        number += 1
    return change.kind, of_text(parts, number, at - start)


def _told_by(parts: Sequence[Segment], others: Sequence[Segment]) -> Segment:
    """Return the part that was added or removed. If a heading of ours and a file below it were, that is the file."""
    known = {part.place for part in others}
    new = takewhile(lambda part: part.place not in known, parts)
    return next((part for part in new if file_of(part.origin)), parts[0])


def _first_line(change: TextChange, before: str, after: str) -> int:
    """Return where a text changed. Among empty lines that is the first one, because any of them may be the new one."""
    at = shared_start(before, after)
    blank = change.kind == "trailing blanks" and after[:at].endswith("\n")
    return len(after[:at].rstrip("\n")) + 1 if blank else at


def _moved(olds: Sequence[str], news: Sequence[str]) -> BlameKind | None:
    """Return what happened to the first name; None if it stays, or if no first name is on the other side."""
    if olds[0] == news[0]:
        return None
    goes_on, came_before = olds[0] in news, news[0] in olds
    return "order" if goes_on and came_before else "inserted" if goes_on else "removed" if came_before else None


def in_blocks(was: Sequence[Block], now: Sequence[Block], index: int) -> tuple[BlameKind, Place]:
    """Return the kind of change at the first block that differs, and the place of the changed block."""
    olds, news = was[index:], now[index:]
    before, after = olds[0], news[0]
    if "tool" in (before.sort[0], after.sort[0]):
        return _in_tools(was, now, index)
    if _is_cut_otherwise(olds, news):
        return "blocks", whole(after.segments[0])
    keys = [block.key for block in news[: len(olds)]]
    if Counter(block.key for block in olds) == Counter(keys):
        return "order", whole(after.segments[0])
    if _goes_on(olds[:2], news, 1):
        return "inserted", whole(after.segments[0])
    if _goes_on(news[:2], olds, 1, loose=True):
        return "removed", whole(before.segments[0])
    spoken = before.sort[1] in SPEAKERS and after.sort[1] in SPEAKERS
    in_place = len(olds) > 1 and len(news) > 1 and olds[1].key == news[1].key
    if spoken and not in_place and _goes_on(news[1:3], olds, 2, loose=True):
        return "compaction", whole(before.segments[0])
    if before.sort != after.sort:
        worded = {before.sort[0], after.sort[0]} <= {"system", "text"}
        return "role" if worded and before.text == after.text else "edit", whole(after.segments[0])
    change = classify(before.text, after.text)
    if spoken:
        if after.text.startswith(before.text) and after.text[len(before.text) :].strip():
            change = TextChange("extended")
        elif before.sort[0] == "tool_result" and before.text.startswith(after.text.rstrip()):
            change = TextChange("truncation")
    return change.kind, _place_of(after.segments[0], before.text, change)


def _place_of(segment: Segment, before: str, change: TextChange) -> Place:
    if change.path or (segment.text.startswith(("{", "[")) and segment.kind not in ("system", "text", "tool_result")):
        return of_value(segment, change.path, change.line)
    return of_text((segment,), 0, _first_line(change, before, segment.text))


def _goes_on(run: Sequence[Block], others: Sequence[Block], start: int, *, loose: bool = False) -> bool:
    """Whether a run of blocks appears among others from `start` on; if `loose`, their end may cut the run short."""
    for number in range(start, len(others) if run else 0):
        if others[number].key == run[0].key:
            following = others[number + 1 : number + 2]
            if len(run) == 1 or (following[0].key == run[1].key if following else loose):
                return True
    return False


def _is_cut_otherwise(olds: Sequence[Block], news: Sequence[Block]) -> bool:
    """Whether the blocks have the same text when joined, and are only cut in other places."""
    sort = olds[0].sort
    if sort[0] not in ("system", "text"):
        return False
    old, new = ([block.text for block in takewhile(lambda block: block.sort == sort, side)] for side in (olds, news))
    text = "".join(old)
    return len(old) + len(new) > 2 and "".join(new).startswith(text) and len(text) in accumulate(map(len, new))


def _in_tools(was: Sequence[Block], now: Sequence[Block], index: int) -> tuple[BlameKind, Place]:
    before, after = was[index], now[index]
    if after.sort[0] != "tool":
        return "tool removed", whole(before.segments[0])
    if before.sort[0] != "tool":
        return "tool added", whole(after.segments[0])
    gone, come = _name(before), _name(after)
    known, stays = (name in map(_name, side) for name, side in ((come, was), (gone, now)))
    if gone == come or not (known or stays):
        change = classify(before.text, after.text)
        kind: BlameKind = "tool changed" if change.kind in _EDITS else change.kind
        return kind, of_value(after.segments[0], change.path, change.line)
    if known and stays:
        return "tool order", whole(after.segments[0])
    return ("tool removed", whole(before.segments[0])) if known else ("tool added", whole(after.segments[0]))


def _name(tool: Block) -> str:
    return tool.segments[0].tool


def all_changes(old: Sequence[Segment], new: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return every block that differs, in order: what happened to it, and its place. What is appended is no change."""
    was, now = ([(one.kind, one.role, one.place if one.kind == "setting" else "", one.text) for one in side]
                for side in (old, new))  # fmt: skip
    found: list[tuple[str, str]] = []
    for what, i1, i2, j1, j2 in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if what == "equal" or (what == "insert" and i1 == len(was)):
            continue
        both = min(i2 - i1, j2 - j1)
        found += [("changed", segment.place) for segment in new[j1 : j1 + both]]
        found += [("removed", segment.place) for segment in old[i1 + both : i2]]
        if i2 < len(was):
            found += [("added", segment.place) for segment in new[j1 + both : j2]]
    return found
