"""Views of one prompt or request, and of two: plain values for the page's JSON, made of what `checks` found.

Every text that comes from a prompt goes through `text_of`, names through `label_of`; sizes and hashes are plain.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from deepprompt.checks.blame.blame import Blame
from deepprompt.checks.explain import Explanation, Row
from deepprompt.counters import size_of
from deepprompt.inspector.page import Shown, label_of, text_of
from deepprompt.prompt import Note
from deepprompt.text.compare import shared_start

View = dict[str, Any]

# Comparing more lines than these takes too long, so longer texts show their change as one block.
_MOST_LINES = 4_000
_AROUND = 3


def prompt_view(found: Explanation, title: str, notes: Iterable[Note] = ()) -> View:
    """Return one prompt, with its text."""
    shown = [{**_row(row), "text": text_of(row.text)} for row in found.rows]
    return {"kind": "prompt", "title": label_of(title), "rows": shown, "notes": _notes(notes), **_whole(found)}


def difference_view(
    old: Explanation, new: Explanation, titles: tuple[str, str], found: Blame | None, totals: tuple[int, int]
) -> View:
    """Return two prompts, part by part, and their first difference."""
    return {
        "kind": "difference",
        "title": [label_of(title) for title in titles],
        "sides": [{"rows": [_row(row) for row in side.rows], **_whole(side)} for side in (old, new)],
        "pairs": [_pair(old, new, *pair) for pair in _pairs(old.rows, new.rows)],
        "cause": None if found is None else cause_of(found),
        "totals": list(totals),
    }


def cause_of(found: Blame) -> View:
    """Return why the cache entry of the earlier request does not serve the later one."""
    return {
        "kind": found.kind,
        "why": found.why,
        "place": label_of(found.place),
        "source": label_of(found.source),
        "line": found.line,
        "offset": found.offset,
        "old": text_of(found.old),
        "new": text_of(found.new),
        "kept": found.kept,
        "after": found.after,
        "repeated": found.repeated,
        "changing": found.changing,
    }


def _whole(found: Explanation) -> View:
    return {
        "bytes": found.bytes,
        "tokens": found.tokens,
        "sha256": found.sha256,
        "static": found.static,
        "basis": label_of(found.basis),
        "exact": found.exact,
        "settings": [[label_of(name), label_of(value)] for name, value in found.settings],
    }


def _notes(notes: Iterable[Note]) -> list[Shown]:
    return [label_of(str(note)) for note in notes]


def _row(row: Row) -> View:
    return {
        "name": label_of(row.name),
        "kind": label_of(row.kind),
        "role": label_of(row.role),
        "pace": "" if row.pace is None else row.pace.name.lower(),
        "origin": label_of(row.origin),
        "version": label_of(row.version),
        "own": row.own,
        "start": row.start,
        "bytes": row.bytes,
        "tokens": row.tokens,
        "share": round(row.share, 6),
        "sha256": row.sha256,
        "mark": None if row.mark is None else label_of(row.mark),
    }


def _pairs(olds: Sequence[Row], news: Sequence[Row]) -> list[tuple[int | None, int | None, bool]]:
    """Return which old row became which new row, and whether it moved, in the new order; removed rows stay in place."""
    was, now = _keys(olds), _keys(news)
    stays = set(now)
    in_order = {
        (block.a + step, block.b + step)
        for block in difflib.SequenceMatcher(None, was, now, autojunk=False).get_matching_blocks()
        for step in range(block.size)
    }
    places = {key: number for number, key in enumerate(was)}
    pairs: list[tuple[int | None, int | None, bool]] = []
    shown = 0
    for number, key in enumerate(now):
        before = places.get(key)
        if before is not None and (before, number) in in_order:
            gone = [old for old in range(shown, before) if was[old] not in stays]
            pairs += [(old, None, False) for old in gone]
            shown = before + 1
        pairs.append((before, number, before is not None and (before, number) not in in_order))
    pairs += [(old, None, False) for old in range(shown, len(was)) if was[old] not in stays]
    return pairs


def _keys(rows: Sequence[Row]) -> list[tuple[str, str, int]]:
    """Return a key for each row: its kind, its name, and a number among the rows of that name."""
    counts: dict[tuple[str, str], int] = {}
    keys = []
    for row in rows:
        key = (row.kind, row.name)
        counts[key] = counts.get(key, 0) + 1
        keys.append((*key, counts[key]))
    return keys


def _pair(old: Explanation, new: Explanation, before: int | None, after: int | None, moved: bool) -> View:
    pair: View = {"old": before, "new": after}
    if before is None or after is None:
        row = new.rows[after] if after is not None else old.rows[before or 0]
        return {**pair, "status": "added" if before is None else "removed", "text": text_of(row.text)}
    was, now = old.rows[before], new.rows[after]
    if was.text == now.text:
        return {**pair, "status": "moved" if moved else "same"}
    at, byte = _first_difference(was.text, now.text)
    pair |= {"status": "changed", "moved": moved, "byte": byte, "line": was.text.count("\n", 0, at) + 1}
    return {**pair, "lines": _lines(was.text, now.text)}


def _first_difference(old: str, new: str) -> tuple[int, int]:
    """Return the first difference of two texts, in characters and in bytes: different characters may share bytes."""
    at = shared_start(old, new)
    pair = [text[at : at + 1].encode(errors="surrogatepass") for text in (old, new)]
    return at, size_of(old[:at]) + next((n for n, (a, b) in enumerate(zip(*pair, strict=False)) if a != b), 0)


def _lines(before: str, after: str) -> list[list[Shown]]:
    """Return the changed lines with a few around them: a sign for each, and its text, cut at the first difference."""
    olds, news = before.split("\n"), after.split("\n")
    if len(olds) + len(news) > _MOST_LINES:
        return _one_block(olds, news)
    found: list[list[Shown]] = []
    for group in difflib.SequenceMatcher(None, olds, news, autojunk=False).get_grouped_opcodes(_AROUND):
        found += [["gap", ""]] if found else []
        for what, i1, i2, j1, j2 in group:
            if what == "equal":
                found += [["", text_of(line)] for line in olds[i1:i2]]
            else:
                found += _changed(olds[i1:i2], news[j1:j2])
    return found


def _changed(olds: Sequence[str], news: Sequence[str]) -> list[list[Shown]]:
    """Return old and new lines. A pair of lines is cut at its first difference."""
    ats = [shared_start(old, new) for old, new in zip(olds, news, strict=False)]
    found: list[list[Shown]] = []
    for sign, lines in (("-", olds), ("+", news)):
        for number, line in enumerate(lines):
            at = ats[number] if number < len(ats) else 0
            found.append([sign, text_of(line[:at]), text_of(line[at:])])
    return found


def _one_block(olds: Sequence[str], news: Sequence[str]) -> list[list[Shown]]:
    """Return the first changed lines of a long text, and how many lines at its two ends are the same."""
    most = min(len(olds), len(news))
    start = next((number for number in range(most) if olds[number] != news[number]), most)
    end = 0
    while end < most - start and olds[-1 - end] == news[-1 - end]:
        end += 1
    found: list[list[Shown]] = [["gap", f"{start:,} lines are the same"]]
    found += [["", text_of(line)] for line in olds[max(start - _AROUND, 0) : start]]
    was, now = olds[start : len(olds) - end], news[start : len(news) - end]
    found += _changed(was[:200], now[:200])
    if max(len(was), len(now)) > 200:
        found.append(["gap", f"{len(was) - 200:,} and {len(now) - 200:,} more lines are not shown"])
    return [*found, ["gap", f"{end:,} lines are the same"]]
