"""Spend a profile's limit: which files get how many bytes, and where a file that does not fit is cut."""

from __future__ import annotations

from deepprompt.sources.plan.markdown import open_fence
from deepprompt.sources.plan.profile import Limit
from deepprompt.text.hygiene import cut, neutralise, shorten

LEAST_ROOM = 200
"""With less room than this a file is left out: its first words and a notice help nobody."""

_NEAR = 2_000
"""How many bytes are given up to end at a line."""


def spend(sizes: list[int], limit: Limit) -> list[int]:
    """Return how many bytes each of some files may have, in order; 0 for a file that is left out."""
    rooms = [min(size, limit.per_file) if limit.per_file else size for size in sizes]
    if not limit.total:
        return rooms
    if limit.spend == "drop first":
        return _drop(rooms, limit.total)
    left = limit.total
    order = range(len(rooms)) if limit.spend == "in order" else reversed(range(len(rooms)))
    for number in order:
        rooms[number] = min(rooms[number], left)
        left -= rooms[number]
    return rooms


def _drop(rooms: list[int], total: int) -> list[int]:
    """Leave out files from the front until the rest fits; the last one stays, as much of it as fits."""
    over = sum(rooms) - total
    for number in range(len(rooms) - 1):
        if over <= 0:
            return rooms
        over -= rooms[number]
        rooms[number] = 0
    return [*rooms[:-1], min(rooms[-1], total)] if rooms else rooms


def cut_at_line(text: str, limit: int, path: str, size: int) -> tuple[str, int]:
    """Return at most `limit` bytes of a text with a notice about the rest, and how many bytes of it are left.

    The cut is at the end of a line if one is near, an open code fence is closed, and the notice names the file. `size`
    is what the file has, for the notice. The text is "" if the notice leaves no room.
    """
    room = limit - len(_notice(path, size, size).encode()) - 8  # 8 for a fence that has to be closed
    if room < LEAST_ROOM // 2:
        return "", 0
    kept = _to_line(text.encode()[:room].decode("utf-8", "ignore"))
    while (neutral := neutralise(kept)) != kept:  # half of a line may be a speaker's tag, half a flag is hidden
        same = next((place for place, pair in enumerate(zip(kept, neutral, strict=False)) if pair[0] != pair[1]), 0)
        kept = _to_line(kept[: min(same, len(kept) - 1)])
    fence = open_fence(kept)
    if len(fence) > 6:  # longer than what was set aside for it: stop before it
        kept, fence = kept[: kept.rfind("\n" + fence) + 1].rstrip("\n"), ""
    used = len(kept.encode())
    if not kept.strip():
        return "", 0
    return kept + (f"\n{fence}" if fence else "") + _notice(path, size - used, size), used


def _to_line(text: str) -> str:
    """Return a text up to the end of its last whole line, if that is near."""
    line = text.rfind("\n")
    return text[:line] if line >= 0 and len(text[line:].encode()) <= _NEAR else text


def _notice(path: str, missing: int, size: int) -> str:
    return f"\n... [truncated: {missing:,} of {size:,} bytes of {path} are missing here]"


def cut_with_marker(text: str, limit: int) -> tuple[str, int]:
    """Return a text as the default loader cuts it, and how many bytes of it are left."""
    short = shorten(text, limit)
    return short, len(text.encode()) if short == text else min(limit, len(cut(text, limit).encode()))
