"""A report as text for a terminal, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from deepprompt.fleet.advice import advice_for
from deepprompt.fleet.report import Report
from deepprompt.fleet.tally import UNIT, Cause, Counts, Row
from deepprompt.text.display import counted, display

GROUPS = ("day", "agent", "version", "provider", "model", "prompt")
"""What `--by` can group by."""

NO_CACHE = (
    "A gateway may drop the cache marks or these counts, requests may be spread over accounts or regions, "
    "or the model has no cache."
)
"""What may be the reason if an API reports no cached token."""

_CAUSES = 10
# The longest excerpt of what changed, and how much of it stands before the change.
_EXCERPT, _BEFORE = 60, 24
_LISTED = 12
_NO_PRICE = "no price"


def lines_of_report(found: Report, by: Sequence[str] = ("agent", "model")) -> list[str]:
    """Return the report as lines of text."""
    lines = first_lines(found)
    if not found.tally.total.requests:
        return lines
    lines.append("")
    causes = found.causes()
    if causes:
        lines += ["causes, by money", *_causes(found, causes), ""]
    for name in by:
        lines += [*_group(found, name), ""]
    lines += _what_if(found) + _notes(found)
    return lines


def first_lines(found: Report) -> list[str]:
    """Return the lines that sum up a report: requests, tokens, cost, losses, and APIs that reported no cached token."""
    tally, total = found.tally, found.tally.total
    if not total.requests:
        return [f"{counted(tally.failed, 'request')}, and none was answered" if tally.failed else "no requests"]
    return [
        f"{counted(total.requests, 'request')} in {counted(tally.conversations, 'conversation')}, "
        f"{counted(tally.files, 'file')}",
        f"input  {total.input:,} tokens: {_share(total.read, total.input)} read from the cache, "
        f"{_share(sum(total.written.values()), total.input)} written to it, {_share(total.full, total.input)} in full",
        f"cost   {_cost(found)}",
        f"lost   {total.lost:,} tokens to breaks: {_lost(found)}",
        *_silent(found),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0%"


def _cost(found: Report) -> str:
    spent = found.spent()
    share = found.cached_share() if found.tally.total.input else 1.0
    change = f"{abs(1 - share):.1%}"
    plain = f"{change} {'more' if share > 1 else 'less'} than" if change != "0.0%" else "the same as"
    money = f"{_money(found, spent)} for the input by prices of {found.prices.as_of}; " if spent else ""
    return f"{money}{plain} without a cache"


def _lost(found: Report) -> str:
    lost = found.lost()
    money = f"{_money(found, lost)}, " if lost else ""
    return f"{money}{found.lost_share():.1%} of the input's cost"


def _money(found: Report, amount: float) -> str:
    return f"{found.prices.sign}{amount:,.2f}" if amount >= 0.1 else f"{found.prices.sign}{amount:.4f}"


def _causes(found: Report, causes: Sequence[Cause]) -> list[str]:
    lines = []
    for number, cause in enumerate(causes[:_CAUSES], 1):
        price = _money(found, found.money(cause.extra, cause.model)) if found.prices.of(cause.model) else _NO_PRICE
        where = " ".join(filter(None, (display(cause.exact), f"({display(cause.source)})" if cause.source else "")))
        who = display(" ".join(filter(None, (cause.agent, cause.model))))
        lines.append(
            f"{number:>3}. {price:>9}  {cause.lost:>10,} tokens  {cause.kind}{f' at {where}' if where else ''}"
        )
        lines.append(
            f"       {counted(cause.requests, 'request')} in {counted(cause.conversations, 'conversation')}"
            f"{f' of {who}' if who else ''}, such as {display(cause.example)}"
        )
        if cause.old or cause.new:
            old, new = excerpts(cause.old, cause.new)
            lines.append(f"       was {display(old) or 'nothing'} | is {display(new) or 'nothing'}")
        if advice := advice_for(cause.kind):
            lines.append(f"       to do: {advice}")
    if len(causes) > _CAUSES:
        lines.append(f"     and {len(causes) - _CAUSES} more; --json has all")
    return lines


def excerpts(old: str, new: str) -> tuple[str, str]:
    """Return two lines shortened to what is around their first difference, with an ellipsis where text is left out."""
    shared = next((at for at, (one, two) in enumerate(zip(old, new, strict=False)) if one != two), None)
    start = max((min(len(old), len(new)) if shared is None else shared) - _BEFORE, 0)
    return _cut(old, start), _cut(new, start)


def _cut(text: str, start: int) -> str:
    start = max(min(start, len(text) - _EXCERPT), 0)
    return f"{'…' if start else ''}{text[start : start + _EXCERPT]}{'…' if len(text) > start + _EXCERPT else ''}"


def silent(found: Report) -> list[tuple[str, int]]:
    """Return each agent and model whose API reported no cached token, and how many could have been read."""
    tally = found.tally
    return [(who, tokens) for who, tokens in sorted(tally.expected.items()) if tokens and not tally.reported.get(who)]


def _silent(found: Report) -> list[str]:
    if not (those := silent(found)):
        return []
    could = [f"{display(who) or 'it'} could have read {tokens:,}" for who, tokens in those[:_CAUSES]]
    more = f" and {len(those) - _CAUSES} more" if len(those) > _CAUSES else ""
    return [
        f"note   the API reported no cached tokens at all: {', '.join(could)}{more} (simulated)",
        f"       {NO_CACHE}",
    ]


def _group(found: Report, name: str) -> list[str]:
    place = GROUPS.index(name)
    sums: dict[str, Counts] = {}
    spent: dict[str, float] = {}
    priced = {key[place] for key in found.tally.groups if found.prices.of(key[4])}
    for key, counts in sorted(found.tally.groups.items()):
        sums.setdefault(key[place], Counts()).add(counts)
        spent[key[place]] = spent.get(key[place], 0.0) + found.money(counts.paid, key[4])
    rows = [["by " + name, "requests", "input", "read", "lost", "cost"]]
    for value in sorted(sums, key=lambda one: (-spent[one], one) if name != "day" else (0.0, one)):
        one = sums[value]
        rows.append([
            display(value) or "(unknown)", f"{one.requests:,}", f"{one.input:,}", _share(one.read, one.input),
            f"{one.lost:,}", _money(found, spent[value]) if value in priced else _NO_PRICE,
        ])  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows[:40]
    ]


def _what_if(found: Report) -> list[str]:
    """Return what the requests would have cost without a cause."""
    if not found.what_if:
        return []
    saving = found.tally.saving
    if not saving.requests:
        return [f"without {display(found.what_if)}: no request broke for it; there are: {known_causes(found)}", ""]
    what = "any of these causes" if found.what_if == "all" else display(found.what_if)
    return [
        f"without {what}: {counted(saving.requests, 'fewer break')}, {found.saved_share():.1%} of "
        f"the simulated cost saved, {_money(found, found.saved())}",
        "",
    ]


def known_causes(found: Report) -> str:
    """Return what `--what-if` can leave out of a report, as a list: kinds and places, those that cost most first."""
    causes = found.causes()
    names = dict.fromkeys(["all", *(one.kind for one in causes), *(one.place for one in causes if one.place)])
    shown = [display(name) for name in names][:_LISTED]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more if causes else "none, as nothing broke"


def _notes(found: Report) -> list[str]:
    tally = found.tally
    notes = []
    if tally.recorded < tally.total.requests:
        notes.append(
            f"{counted(tally.total.requests - tally.recorded, 'request')} without recorded token counts: simulated"
        )
    if tally.usage_only:
        notes.append(
            f"{counted(tally.usage_only, 'request')} with token counts only: what broke in them cannot be found"
        )
    if tally.unmarked:
        notes.append(
            f"{counted(tally.unmarked, 'request')} without a cache mark (such as cache_control): the provider caches "
            "nothing without one"
        )
    if tally.failed:
        notes.append(f"{counted(tally.failed, 'request')} failed and cost nothing")
    if tally.unread:
        one = tally.examples[0]
        notes.append(f"{counted(tally.unread, 'line')} not read, such as {display(one.where)}: {display(one.why)}")
    if tally.unknown:
        names = ", ".join(sorted(tally.unknown, key=lambda name: (-tally.unknown[name], name))[:5])
        notes.append(f"fields and items that deepprompt does not know, compared as JSON: {display(names)}")
    if found.parts:
        notes.append(found.parts)
    notes.append(f"lost tokens are simulated with facts about providers of {found.facts}; --json lists the assumptions")
    return [f"note: {note}" for note in notes]


def as_json(found: Report) -> dict[str, object]:
    """Return everything as plain values."""
    tally = found.tally
    return {
        "facts_as_of": found.facts,
        "prices_as_of": found.prices.as_of,
        "currency": found.prices.currency,
        "requests": tally.total.requests,
        "conversations": tally.conversations,
        "recorded": tally.recorded,
        "usage_only": tally.usage_only,
        "failed": tally.failed,
        "unmarked": tally.unmarked,
        "nothing_cached": [{"who": who, "could_read": tokens} for who, tokens in silent(found)],
        "total": _counts(tally.total) | {"money": round(found.spent(), 6)},
        "lost_share": round(found.lost_share(), 6),
        "causes": [_cause(found, cause) for cause in found.causes()],
        "groups": [
            dict(zip(GROUPS, key, strict=True))
            | _counts(counts)
            | {"money": round(found.money(counts.paid, key[4]), 6)}
            for key, counts in sorted(tally.groups.items())
        ],
        "worst": [_row(found, row) for row in tally.rows[:100]],
        "what_if": _what_if_json(found) if found.what_if else None,
        "unknown": dict(sorted(tally.unknown.items())),
        "unread": {
            "lines": tally.unread,
            "examples": [{"where": one.where, "why": one.why} for one in tally.examples],
        },
        "parts": found.parts,
        "assumed": sorted(tally.assumed),
    }


def _counts(counts: Counts) -> dict[str, object]:
    return {
        "requests": counts.requests, "input": counts.input, "read": counts.read,
        "written": dict(sorted(counts.written.items())),
        "full": counts.full, "output": counts.output, "paid": round(counts.paid / UNIT, 3), "lost": counts.lost,
        "extra": round(counts.extra / UNIT, 3),
    }  # fmt: skip


def _cause(found: Report, cause: Cause) -> dict[str, object]:
    return {
        "kind": cause.kind, "place": cause.place, "source": cause.source, "agent": cause.agent, "model": cause.model,
        "requests": cause.requests, "conversations": cause.conversations, "lost": cause.lost,
        "extra": round(cause.extra / UNIT, 3), "money": round(found.money(cause.extra, cause.model), 6),
        "example": cause.example, "exact": cause.exact, "old": cause.old, "new": cause.new,
        "advice": advice_for(cause.kind),
    }  # fmt: skip


def _row(found: Report, row: Row) -> Mapping[str, object]:
    start = datetime.fromtimestamp(row.start, UTC).isoformat(timespec="seconds") if 0 < row.start < 1e11 else ""
    breaks = [{"where": turn.where, "cause": turn.cause, "lost": turn.lost} for turn in row.turns if turn.cause]
    return {
        "session": row.session, "agent": row.agent, "model": row.model, "start": start, **_counts(row.counts),
        "money_lost": round(found.money(row.counts.extra, row.model), 6), "breaks": breaks,
    }  # fmt: skip


def _what_if_json(found: Report) -> dict[str, object]:
    saving = found.tally.saving
    return {
        "cause": found.what_if, "breaks": saving.requests, "sent": round(sum(saving.sent.values()) / UNIT, 3),
        "without": round(sum(saving.without.values()) / UNIT, 3), "money_saved": round(found.saved(), 6),
    }  # fmt: skip
