"""What happened to the first block in which two requests differ: it came, went, moved, or its text changed, and how.

Blocks are compared in the order of the request. The parts of a prompt are told apart by their names and make one
text; messages have no names, so what stands around them tells which of them is which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, takewhile

from deepprompt.checks.places import Place, of_text, of_value, whole
from deepprompt.providers.segments import Segment
from deepprompt.text.compare import TextChange, classify, shared_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import BlameKind

SPEAKERS = ("user", "assistant")

# In a tool these are one thing: another definition.
_EDITS = ("edit", "inserted", "removed", "truncation")


@dataclass(frozen=True)
class Block:
    """What is compared at once: one segment, or all that join to one text."""

    segments: tuple[Segment, ...]

    @cached_property
    def text(self) -> str:
        """What it says."""
        return "".join([segment.text for segment in self.segments])

    @property
    def sort(self) -> tuple[str, str]:
        """What kind of block it is, and whose."""
        return self.segments[0].kind, self.segments[0].role

    @property
    def key(self) -> tuple[str, str, str]:
        """All that makes it another block than others."""
        return *self.sort, self.text

    @property
    def is_joined(self) -> bool:
        """Whether it is one text, wherever it is cut."""
        return all(segment.joins for segment in self.segments)


def read_blocks(segments: Sequence[Segment], joined: bool) -> Iterator[Block]:
    """Yield the blocks of a request; with `joined`, as a prompt is one of the two, a system prompt is one block."""
    for system, run in groupby(segments, lambda segment: joined and segment.kind == segment.role == "system"):
        if system:
            block = Block(tuple(run))
            yield from [block] if block.text else []
        else:
            yield from (Block((segment,)) for segment in run)


def in_parts(olds: Sequence[Segment], news: Sequence[Segment], at: int) -> tuple[BlameKind, Place]:
    """Return what changed in a text that is made of parts, and the part."""
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
    # The parts are not known on both sides, or the same text is cut elsewhere: then the whole text is compared.
    change = classify("".join([part.text for part in olds]), "".join([part.text for part in news]))
    parts = news if any(part.origin for part in news) or not any(part.origin for part in olds) else olds
    number, start = 0, 0
    while number < len(parts) - 1 and start + len(parts[number].text) <= at:
        start += len(parts[number].text)
        number += 1
    return change.kind, of_text(parts, number, at - start)


def _told_by(parts: Sequence[Segment], others: Sequence[Segment]) -> Segment:
    """Return the part that came or went: where a heading of ours did so with a file below it, the file."""
    known = {part.place for part in others}
    new = takewhile(lambda part: part.place not in known, parts)
    return next((part for part in new if part.origin.startswith("file:")), parts[0])


def _first_line(change: TextChange, before: str, after: str) -> int:
    """Return where a text was changed; where empty lines were, at the first of them, since any may be the new one."""
    at = shared_start(before, after)
    blank = change.kind == "trailing blanks" and after[:at].endswith("\n")
    return len(after[:at].rstrip("\n")) + 1 if blank else at


def _moved(olds: Sequence[str], news: Sequence[str]) -> BlameKind | None:
    """Return what happened to the first of some names, None if it is there or neither is known to the other side."""
    if olds[0] == news[0]:
        return None
    goes_on, came_before = olds[0] in news, news[0] in olds
    return "order" if goes_on and came_before else "inserted" if goes_on else "removed" if came_before else None


def in_blocks(was: Sequence[Block], now: Sequence[Block], index: int) -> tuple[BlameKind, Place]:
    """Return what happened at the first block that differs, and to which."""
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
    """Whether others go on with the blocks of a run after some that are not of it; if `loose`, up to their end."""
    for number in range(start, len(others) if run else 0):
        if others[number].key == run[0].key:
            following = others[number + 1 : number + 2]
            if len(run) == 1 or (following[0].key == run[1].key if following else loose):
                return True
    return False


def _is_cut_otherwise(olds: Sequence[Block], news: Sequence[Block]) -> bool:
    """Whether blocks of one kind have the same text in all, but not each."""
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
