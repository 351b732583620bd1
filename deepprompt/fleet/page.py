"""The view of a report for the inspector's page: a timeline, the causes, and the conversations with their turns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from deepprompt.fleet.advice import advice_for
from deepprompt.fleet.record import file_of
from deepprompt.fleet.report import Report
from deepprompt.fleet.summary import NO_CACHE, silent
from deepprompt.fleet.tally import UNIT, Cause, Row
from deepprompt.inspector.page import label_of

_COLUMNS = 120


def report_view(found: Report) -> dict[str, Any]:
    """Return a report for the page. It has the turns that its tally has."""
    total = found.tally.total
    files: dict[str, int] = {}
    numbers = {id(row): number for number, row in enumerate(sorted(found.tally.rows, key=_began), 1)}
    rows = [_row(found, row, numbers[id(row)], files) for row in found.tally.rows]
    return {
        "kind": "report",
        "title": label_of("What the cache costs"),
        "requests": total.requests,
        "conversations": found.tally.conversations,
        "input": total.input,
        "read": total.read,
        "written": sum(total.written.values()),
        "full": total.full,
        "lost": total.lost,
        "lost_money": round(found.lost(), 6),
        "lost_share": round(found.lost_share(), 6),
        "money": round(found.spent(), 6),
        "currency": label_of(found.prices.currency),
        "prices": label_of(found.prices.as_of),
        "facts": label_of(found.facts),
        "recorded": found.tally.recorded,
        "unread": found.tally.unread,
        "silent": [[label_of(who), tokens] for who, tokens in silent(found)[:20]],
        "no_cache": NO_CACHE,
        "timeline": _timeline(found.tally.rows),
        "causes": [_cause(found, cause) for cause in found.causes()[:200]],
        "rows": rows,
        "files": [label_of(file) for file in files],
        "assumed": [label_of(sentence) for sentence in sorted(found.tally.assumed)],
    }


def _cause(found: Report, cause: Cause) -> dict[str, Any]:
    return {
        "kind": label_of(cause.kind),
        "place": label_of(cause.place),
        "source": label_of(cause.source),
        "who": label_of(" ".join(filter(None, (cause.agent, cause.model)))),
        "requests": cause.requests,
        "conversations": cause.conversations,
        "lost": cause.lost,
        "extra": round(cause.extra / UNIT),
        "money": round(found.money(cause.extra, cause.model), 6) if found.prices.of(cause.model) else None,
        "example": label_of(cause.example),
        "old": label_of(cause.old),
        "new": label_of(cause.new),
        "advice": advice_for(cause.kind),
    }


def _began(row: Row) -> tuple[float, str]:
    return row.start, row.where


def _row(found: Report, row: Row, number: int, files: dict[str, int]) -> list[Any]:
    """Return a conversation as a list, which takes a third of the space of an object."""
    return [
        label_of(row.session[:60] or f"#{number}"),
        label_of(" ".join(filter(None, (row.agent, row.model)))),
        _clock(row.start),
        row.counts.requests,
        row.counts.input,
        row.counts.read,
        row.counts.lost,
        round(found.money(row.counts.paid, row.model), 6) if found.prices.of(row.model) else None,
        row.breaks,
        [
            [
                round(turn.at - row.start, 1),
                turn.read,
                turn.written,
                turn.full,
                turn.lost,
                label_of(turn.cause),
                *_place(turn.where, files),
            ]
            for turn in row.turns
        ],
        row.left_out,
    ]


def _place(where: str, files: dict[str, int]) -> tuple[int, str]:
    """Return the number of a file, and the line or entry in it."""
    file = file_of(where)
    return files.setdefault(file, len(files)), where[len(file) + 1 :]


def _clock(at: float, shape: str = "%Y-%m-%d %H:%M") -> str:
    return datetime.fromtimestamp(at, UTC).strftime(shape) if 0 < at < 1e11 else ""


def _shapes(first: float, last: float, step: float) -> tuple[str, str]:
    """Return how times over a span are written: in full, and as a short label that tells the columns apart."""
    seconds = ":%S" if step < 60 else ""
    if _clock(first)[:10] == _clock(last)[:10]:
        return f"%Y-%m-%d %H:%M{seconds}", f"%H:%M{seconds}"
    return f"%Y-%m-%d %H:%M{seconds}", "%m-%d" if step >= 10_000 else "%m-%d %H:%M"


def _timeline(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the tokens over time in equal steps."""
    turns = [turn for row in rows for turn in row.turns]
    if not turns:
        return []
    first, last = min(turn.at for turn in turns), max(turn.at for turn in turns)
    count = min(_COLUMNS, len(turns))
    step = (last - first) / count or 1.0
    whole, short = _shapes(first, last, step)
    columns: list[dict[str, Any]] = [
        {
            "read": 0,
            "written": 0,
            "full": 0,
            "lost": 0,
            "miss": False,
            "at": _clock(first + number * step, whole),
            "tick": _clock(first + number * step, short),
        }
        for number in range(count)
    ]
    for turn in turns:
        column = columns[min(int((turn.at - first) / step), count - 1)]
        for name in ("read", "written", "full", "lost"):
            column[name] += getattr(turn, name)
        column["miss"] = column["miss"] or bool(turn.cause)
    return columns
