"""The rules of DP7 about requests that begin alike but do not read the cache: too far, too late, too early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepprompt.checks.cache.prefixes import user_message_ends
from deepprompt.checks.lint.findings import Rule
from deepprompt.checks.lint.turn_view import Turn, shared
from deepprompt.providers.rules import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

RULES = (
    Rule(
        "DP711", "mode-changed", "OpenAI's cache mode changed, so no earlier entry is found.",
        "Keep to one mode, or mark the place where the earlier request ended.",
    ),
    Rule(
        "DP713", "too-much-added", "So much was added that the earlier entry is no longer found.",
        "Set a mark where the earlier request ended.",
    ),
    Rule(
        "DP714", "expired", "The entry expired; its lifetime counts from the start of a request.",
        "Ask for a longer lifetime, or send the next request sooner.",
    ),
    Rule(
        "DP715", "fan-out", "Requests with the same prefix start at once, so none reads what another writes.",
        "Send one first, and the others when its response begins.",
    ),
)  # fmt: skip

_AT_ONCE = 1.0
"""Requests that start within this many seconds cannot have waited for each other's responses."""

_Found = tuple[str, str, str]


def not_found(before: Turn, turn: Turn, rules: Rules | None) -> Iterator[_Found]:
    """Yield why a request does not read the entry of the one before it, though it begins the same."""
    changed = before.is_explicit != turn.is_explicit
    if changed and not _meets(before, turn):
        modes = [("explicit" if side.is_explicit else "implicit") for side in (before, turn)]
        yield "DP711", "prompt_cache_options", f"{modes[0]} mode, then {modes[1]}, and no mark where the earlier ended"
        return
    if rules is None or rules.caching not in ("marked", "implicit"):
        return
    yield from _too_far(before, turn, rules)
    yield from _too_late(before, turn, rules)


def _entry(turn: Turn, rules: Rules | None) -> int | None:
    """Return the segment at which the last cache entry of a request ends."""
    implicit = (rules is None or rules.caching == "implicit") and not turn.is_explicit
    ends = [*turn.marks, *(user_message_ends(turn.segments)[-1:] if implicit else [])]
    return max(ends, default=None)


def _meets(before: Turn, turn: Turn) -> bool:
    """Whether a request looks up the last entry of the one before it, which used another mode."""
    entry = _entry(before, None)
    looked = [] if turn.is_explicit else [turn.first - 1, *user_message_ends(turn.segments)]
    return entry is None or entry in turn.marks or entry in looked


def _too_far(before: Turn, turn: Turn, rules: Rules) -> Iterator[_Found]:
    entry = _entry(before, rules)
    if entry is None or not rules.lookback or before.ends[entry] < rules.minimum:
        return
    if rules.caching == "implicit":
        ends = [number for number in user_message_ends(turn.segments) if number > entry]
        far, unit = len(ends), "messages"
        found = entry in turn.marks or far <= rules.lookback or turn.is_explicit
    else:
        places, marks = (
            rules.positions(segment.kind for segment in turn.segments),
            [number for number in turn.marks if number >= entry],
        )
        far, unit = places[marks[0]] - places[entry] if marks else 0, "positions"
        found = not marks or far < rules.lookback
    if not found:
        place = turn.segments[entry].place
        message = f"{far} {unit} were added behind {place}; {rules.label} looks back {rules.lookback}"
        yield "DP713", place, message


def _too_late(before: Turn, turn: Turn, rules: Rules) -> Iterator[_Found]:
    entry = _entry(before, rules)
    if entry is None or before.at is None or turn.at is None or before.ends[entry] < rules.minimum:
        return
    asked = (before.segments[entry].mark, before.options.get("ttl"), *rules.lifetimes)
    lifetime = next((life for life in asked if life and life in rules.lifetimes), "")
    if turn.at - before.at > seconds(lifetime):
        message = f"{turn.at - before.at:,.0f} s lie between their starts; an entry of {rules.label} lives {lifetime}"
        yield "DP714", turn.segments[entry].place, message


def fan_out(turns: Sequence[Turn], rules: Rules | None) -> Iterator[_Found]:
    """Yield the groups of requests that begin alike and start at once, without an earlier one that filled the cache."""
    if rules is None or rules.caching == "none":
        return
    grouped: set[int] = set()
    for number, leader in enumerate(turns):
        others = [turn for turn in turns[number + 1 :] if turn.number not in grouped and _beside(leader, turn, rules)]
        if leader.number in grouped or not others:
            continue
        alike = min(shared(leader, turn) for turn in others)
        if any(_wrote(turn, leader, alike) for turn in turns[:number]):
            continue
        group = [leader.number, *(turn.number for turn in others)]
        grouped.update(group)
        named = f"{', '.join(map(str, group[:-1]))} and {group[-1]}"
        message = f"requests {named} start at once and share {leader.ends[alike - 1]:,} tokens: each pays for them"
        yield "DP715", leader.segments[alike - 1].place, message


def _beside(leader: Turn, turn: Turn, rules: Rules) -> bool:
    if leader.at is None or turn.at is None or abs(turn.at - leader.at) > _AT_ONCE or leader.model != turn.model:
        return False
    alike = shared(leader, turn)
    answered = _answers(turn) > _answers(leader)  # a response came in between, however fast
    return alike > 0 and leader.ends[alike - 1] >= max(rules.minimum, 1) and not answered


def _answers(turn: Turn) -> int:
    return len({segment.place.partition(".")[0] for segment in turn.segments if segment.role == "assistant"})


def _wrote(turn: Turn, leader: Turn, alike: int) -> bool:
    """Whether an earlier request had everything that the group shares."""
    before = turn.at is None or leader.at is None or turn.at < leader.at - _AT_ONCE
    return before and turn.model == leader.model and shared(turn, leader) >= alike
