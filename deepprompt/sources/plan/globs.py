"""Globs over paths with `/`: `*` and `?` within a folder, `**` over folders, `{a,b}`. Bounded for any pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache

MOST_ALTERNATIVES = 256
_MOST_SEGMENTS = 64


def matches(pattern: str, path: str) -> bool:
    """Whether a relative path matches a glob. A pattern with too many braces or folders matches nothing."""
    parts = tuple(path.split("/"))
    return any(_matches(_segments(each), parts) for each in _alternatives(pattern))


@lru_cache(maxsize=1_024)
def _segments(pattern: str) -> tuple[str, ...]:
    segments: list[str] = []
    for segment in pattern.removeprefix("./").split("/"):
        if segment != "**" or segments[-1:] != ["**"]:
            segments.append(segment)
    return tuple(segments)


def _matches(segments: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if len(segments) > _MOST_SEGMENTS:
        return False
    reached = {0}  # how many segments are used up after each part; `**` may stay where it is
    for part in parts:
        reached = {
            following
            for place in _past_stars(segments, reached)
            if place < len(segments)
            for following in ((place,) if segments[place] == "**" else (place + 1,))
            if segments[place] == "**" or fnmatchcase(part, segments[place])
        }
    return len(segments) in _past_stars(segments, reached)


def _past_stars(segments: tuple[str, ...], places: set[int]) -> set[int]:
    """Return the places with those behind each `**`, which may match no folder at all."""
    return places | {place + 1 for place in places if place < len(segments) and segments[place] == "**"}


@lru_cache(maxsize=1_024)
def _alternatives(pattern: str) -> tuple[str, ...]:
    """Return a pattern without braces, one for each choice; none if there are too many."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        pattern = todo.pop()
        close = pattern.find("}")
        start = pattern.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            done.append(pattern)
        else:
            choices = pattern[start + 1 : close].split(",")
            todo += [pattern[:start] + choice + pattern[close + 1 :] for choice in reversed(choices)]
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            return ()
    return tuple(done)
