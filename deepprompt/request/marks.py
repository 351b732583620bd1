"""Plan the cache marks of a request and say why each is where it is: one planner for all providers.

A provider's writer lists spots, the ends of blocks, in the order in which the provider caches them. The planner chooses
among those that may carry a mark. It never changes a text, and knows a provider only by its `Rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace
from deepprompt.providers.neutral import Options, Payload
from deepprompt.providers.rules import Rules
from deepprompt.providers.spots import AUTOMATIC, Spot
from deepprompt.words import Marks


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache breakpoint: its place, the reason, how long its entry lives, and the tokens it covers, by estimate."""

    place: str
    why: str
    lifetime: str
    tokens: int


CHOICES: tuple[Marks, ...] = get_args(Marks)


def plan_marks(
    body: Payload, spots: list[Spot], rules: Rules, options: Options, sent: int, notes: list[Note]
) -> list[Mark]:
    """Put marks into a body at the spots that save most, and return them in order.

    `sent` is how many messages the previous request had, as far as is known.
    """
    _check(rules, options, notes)
    asked = [index for index, spot in enumerate(spots) if spot.asked is not None]
    if not rules.marks or options.marks == "none":
        if asked and options.marks != "none":
            detail = f"{rules.label} takes no marks: left out"
            notes.append(Note("cache", spots[asked[0]].place, detail, count=len(asked)))
        return []
    own = (
        {}
        if options.marks in ("auto", "automatic")
        else _at_most(_carried(asked, spots, rules, notes), spots, rules, notes)
    )
    reasons = dict.fromkeys(own, "your own mark")
    keep_own = own or options.marks == "own"
    for index, why in _beside_own(spots, rules, sent, list(own)) if keep_own else _wanted(spots, rules, sent):
        if len(reasons) < rules.marks and index not in reasons:
            reasons[index] = why
    lifetimes = {index: own.get(index) or _default(spots[index], options) for index in sorted(reasons)}
    lifetimes = _in_order(lifetimes, spots, rules, notes)
    for index in lifetimes:  # from the end, because some marks are blocks of their own
        spots[index].mark(body, "" if lifetimes[index] == rules.lifetimes[0] else lifetimes[index])
    return _listed(spots, reasons, lifetimes, rules, notes)


def _check(rules: Rules, options: Options, notes: list[Note]) -> None:
    if options.marks not in CHOICES:
        raise MessageError(f"marks is one of {', '.join(map(repr, CHOICES))}, not {options.marks!r}")
    for lifetime in (options.prefix_lifetime, options.lifetime):
        if lifetime and lifetime not in rules.lifetimes:
            if rules.lifetimes:
                raise MessageError(f"{rules.label} has no lifetime {lifetime!r}; it has {', '.join(rules.lifetimes)}")
            notes.append(Note("cache", "lifetime", f"{rules.label} takes no lifetimes: {lifetime!r} has no effect"))


def _carried(asked: list[int], spots: list[Spot], rules: Rules, notes: list[Note]) -> dict[int, str]:
    """Return the lifetimes of the caller's marks by spot; a mark moves back to the last spot that may carry it."""
    carried: dict[int, str] = {}
    for index in asked:
        spot = spots[index]
        found = next((earlier for earlier in range(index, -1, -1) if _may_carry(spots[earlier], rules)), None)
        if found != index:
            where = f"moved back to {spots[found].place}" if found is not None else "left out"
            notes.append(Note("cache", spot.place, f"a mark cannot go on this {spot.kind}: {where}"))
        lifetime = spot.asked or ""
        if lifetime and lifetime not in rules.lifetimes:
            notes.append(Note("cache", spot.place, f"{rules.label} has no lifetime {lifetime!r}: {rules.lifetimes[0]}"))
            lifetime = ""
        if found is not None:  # a mark that moves here does not shorten the lifetime of another
            carried[found] = max(carried.get(found, ""), lifetime, key=lambda asked: _rank(asked, rules))
    return carried


def _at_most(carried: dict[int, str], spots: list[Spot], rules: Rules, notes: list[Note]) -> dict[int, str]:
    """Return as many marks as a request may carry: the first, which covers the slowest text, and the latest."""
    if len(carried) <= rules.marks:
        return carried
    order = sorted(carried)
    kept = [order[0], *order[len(order) - rules.marks + 1 :]]
    for index in order:
        if index not in kept:
            notes.append(Note("cache", spots[index].place, f"more than {rules.marks} marks: this one is left out"))
    return {index: carried[index] for index in kept}


def _rank(lifetime: str, rules: Rules) -> int:
    return rules.lifetimes.index(lifetime) if lifetime in rules.lifetimes else 0


def _may_carry(spot: Spot, rules: Rules) -> bool:
    return spot.put is not None and spot.kind in rules.carriers


def _wanted(spots: list[Spot], rules: Rules, sent: int) -> list[tuple[int, str]]:
    """Return the spots where marks save tokens, with the reasons, best first."""
    ends = _ends(spots, rules)
    wanted = _prefix_end(ends)
    automatic = next((index for index in range(len(spots) - 1, -1, -1) if spots[index].kind == AUTOMATIC), None)
    if automatic is not None:
        wanted.append((automatic, f"{rules.provider} itself marks the newest message"))
    elif rules.caching == "marked" and "messages" in ends:
        wanted.append((ends["messages"], "the newest message: the next request reads up to here"))
    if automatic is None and (before := previous_end(spots, rules, sent)) is not None:
        wanted.append((before, "the previous request ended here: its entry is found however much is new"))
    if "released" in ends:
        wanted.append((ends["released"], "the released wording ends here: other projects share it"))
    if "tools" in ends:
        wanted.append((ends["tools"], "the tools end here: they stay when the system prompt changes"))
    return wanted


def _ends(spots: list[Spot], rules: Rules) -> dict[str, int]:
    """Return the last spots that may carry a mark: of the tools, of released and static text, of the messages."""
    ends: dict[str, int] = {}
    for index, spot in enumerate(spots):
        if not _may_carry(spot, rules):
            continue
        if spot.message >= 0:
            ends["messages"] = index
        elif spot.kind == "tools":
            ends["tools"] = index
        elif spot.pace is not None and spot.pace is not Pace.TURN:
            ends["static"] = index
            if spot.pace is Pace.RELEASE:
                ends["released"] = index
    return ends


def _beside_own(spots: list[Spot], rules: Rules, sent: int, own: list[int]) -> list[tuple[int, str]]:
    """Return the marks to add to the caller's own: the prefix, and an entry too far back for the caller's last mark."""
    wanted = _prefix_end(_ends(spots, rules))
    talk = [index for index in own if spots[index].message >= 0]
    before = previous_end(spots, rules, sent)
    new = spots[before + 1 : max(talk) + 1] if talk and before is not None else []
    positions = rules.positions(spot.kind for spot in new)
    if before is not None and positions and positions[-1] + 1 >= rules.lookback > 0:
        wanted.append((before, f"the previous request ended here, {rules.lookback} positions or more before yours"))
    return wanted


def previous_end(spots: list[Spot], rules: Rules, sent: int) -> int | None:
    """Return the spot of the previous request's last cache entry, if a mark there can find it."""
    for index in range(len(spots) - 1, -1, -1):
        spot = spots[index]
        if 0 <= spot.message < sent:
            if _may_carry(spot, rules):
                return index
            if rules.caching != "marked":
                # With implicit caching the newest message has an entry, and only a mark exactly at its end finds it.
                return None
            # Where only marks make entries, the previous request had its newest mark further back.
    return None


def _prefix_end(ends: dict[str, int]) -> list[tuple[int, str]]:
    """Return the end of the static prefix, if a mark may go there."""
    if "static" in ends:
        return [(ends["static"], "the static prefix ends here")]
    if "tools" in ends:
        return [(ends["tools"], "the tools end here, and no static text follows them")]
    return []


def _default(spot: Spot, options: Options) -> str:
    is_prefix = spot.message < 0 and spot.kind != AUTOMATIC
    return options.prefix_lifetime if is_prefix else options.lifetime


def _in_order(lifetimes: dict[int, str], spots: list[Spot], rules: Rules, notes: list[Note]) -> dict[int, str]:
    """Return lifetimes in descending order, as providers require: a shorter one before a longer one is extended."""
    settled: dict[int, str] = {}
    longest = 0
    for index in sorted(lifetimes, reverse=True):
        rank = _rank(lifetimes[index], rules)
        if rank < longest:
            detail = f"lives {rules.lifetimes[longest]}, as a later mark does: longer lifetimes come first"
            notes.append(Note("cache", spots[index].place, detail))
        longest = max(longest, rank)
        settled[index] = rules.lifetimes[longest]
    return settled


def _listed(
    spots: list[Spot], reasons: dict[int, str], lifetimes: dict[int, str], rules: Rules, notes: list[Note]
) -> list[Mark]:
    """Return the marks, and note those that cover too few tokens to be cached."""
    marks: list[Mark] = []
    tokens = 0
    for index, spot in enumerate(spots):
        tokens += spot.tokens
        if index in reasons:
            marks.append(Mark(spot.place, reasons[index], lifetimes[index], tokens))
    if small := [mark for mark in marks if mark.tokens < rules.minimum]:
        last = small[-1]
        detail = f"about {last.tokens:,} tokens up to here; {rules.label} caches nothing below {rules.minimum:,}"
        notes.append(Note("cache", last.place, detail, count=len(small)))
    return marks
