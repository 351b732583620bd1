"""The rules of DP6 about marks: their number, place, order and lifetime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from deepprompt.checks.lint.findings import Finding, Rule
from deepprompt.checks.lint.request_view import ANTHROPICS, BEDROCKS, OPENAIS, CarriedMark, RequestView
from deepprompt.errors import MessageError
from deepprompt.providers.dialect import time_of
from deepprompt.providers.rules import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

RULES = (
    Rule(
        "DP601", "too-many-marks", "The request has more marks than the provider takes.",
        "Keep those at the end of the static prefix, of the previous request and of the newest message.", error=True,
    ),
    Rule(
        "DP602", "mark-of-no-use", "A mark stands where the provider refuses or ignores it.",
        "Put it on the last block before it that may carry one.", error=True,
    ),
    Rule(
        "DP603", "lifetime-order", "A longer lifetime follows a shorter one.",
        "Give earlier marks the longer lifetime: tools, then system, then messages.", error=True,
    ),
    Rule(
        "DP604", "automatic-beside-marks", "Automatic caching has no mark left, or another lifetime than its block.",
        "Drop the cache_control of the request, or one of the marks.", error=True,
    ),
    Rule(
        "DP617", "unknown-lifetime", "A mark asks for a lifetime that the provider does not have.",
        "Ask for one that it has.", error=True,
    ),
)  # fmt: skip

# The facts of every provider that takes marks cover these kinds of block.
_SPOKEN_OF = ("tools", "system", "text", "image", "tool_use", "tool_result")
_AUTOMATIC = "cache_control"


def find(sent: RequestView) -> Iterator[Finding]:
    """Yield the faults of a request's marks."""
    strangers = list(_strangers(sent))
    yield from strangers
    for mark in sent.marks:
        reason = _refused(mark, sent)
        if reason:
            yield sent.found("DP602", mark.place, reason)
    if not strangers:  # otherwise nobody reads these marks anyway
        yield from _count(sent)
        yield from _automatic(sent)
        yield from _lifetimes(sent)
        yield from _order(sent)


def _strangers(sent: RequestView) -> Iterator[Finding]:
    """Find marks in another provider's format. DP613 covers those that LiteLLM drops."""
    rules = sent.rules
    if rules is None or not rules.known or sent.is_litellm:
        return
    takes = {"anthropic": (ANTHROPICS,), "bedrock": (BEDROCKS,)}.get(rules.provider, (OPENAIS,))
    if rules.provider == "bedrock" and sent.looks_like == "anthropic":  # a body for InvokeModel
        takes = (ANTHROPICS,)
    for field in (ANTHROPICS, BEDROCKS):
        marks = [mark for mark in sent.marks if mark.field == field]
        if field == ANTHROPICS and sent.automatic is not None and not marks:
            marks = [CarriedMark(field, _AUTOMATIC, "", "", sent.automatic, None)]
        if marks and (field not in takes or not rules.marks):
            yield sent.found("DP602", marks[0].place, f"{rules.label} does not read {field}: it does nothing")


def _count(sent: RequestView) -> Iterator[Finding]:
    """Find too many marks. OpenAI writes only the latest, so there they matter only in a first request."""
    rules = sent.rules
    if rules is None or not rules.marks:
        return
    explicit = rules.caching == "implicit" and sent.options.get("mode") == "explicit"
    most = rules.marks + explicit  # the newest message does not take one
    if len(sent.marks) <= most or (rules.caching == "implicit" and sent.newest):
        return
    rest = "refuses more" if rules.caching == "marked" else "writes none before those"
    message = f"{len(sent.marks)} marks; {rules.label} takes {most} and {rest}"
    yield sent.found("DP601", sent.marks[most].place, message)


def _refused(mark: CarriedMark, sent: RequestView) -> str:
    """Return why a mark may not stand where it does; "" if it may."""
    block = mark.block
    if block is None:
        return "a mark that follows nothing"
    if not isinstance(mark.value, Mapping):
        return f"{mark.field} is an object, not {type(mark.value).__name__}"
    if mark.kind == "thinking":
        return "a mark on reasoning, which carries none"
    text = block.get("text")
    if isinstance(text, str) and not text.strip():
        return "a mark on an empty text"
    if mark.on == "instructions":
        return "a mark on instructions, which carry none; send them as a developer message"
    if mark.kind == "tools" and block.get("defer_loading") is True:
        return "a mark on a tool that is loaded later, and no part of the prefix"
    if mark.field == OPENAIS and (mark.kind == "tools" or mark.role == "assistant" or mark.on == "message"):
        what = "a tool" if mark.kind == "tools" else "an answer" if mark.role == "assistant" else "a message"
        return f"a prompt_cache_breakpoint on {what}, which carries none; it stands on parts of what is sent"
    if mark.on == "message" and mark.field == ANTHROPICS and sent.looks_like in ("anthropic", "bedrock"):
        return "a mark beside the content of a message; make the content a list of blocks and mark the last"
    if mark.field == BEDROCKS and mark.on in ("message", "inside"):
        return "a cachePoint that is not an element of the content"
    return _not_carried(mark, sent.rules)


def _not_carried(mark: CarriedMark, rules: Rules | None) -> str:
    """Return why a block cannot carry a mark; "" if it can, or if the block is unknown and may be new."""
    if rules is None or not rules.marks or not rules.known or mark.kind in rules.carriers or mark.on == "inside":
        return ""
    if mark.role == "tool" and mark.on == "block":  # a part of a tool's message
        return ""
    known = mark.kind in _SPOKEN_OF or mark.kind in rules.blocks
    return f"a mark on {mark.kind}, where {rules.label} takes none" if known else ""


def _automatic(sent: RequestView) -> Iterator[Finding]:
    """Find automatic caching that is refused because of the marks."""
    if sent.automatic is None or not sent.segments:
        return
    last = _own_at_end(sent)
    if last is not None:
        both = [_lifetime(time_of(value), sent.rules) for value in (last.value, sent.automatic)]
        if all(both) and both[0] != both[1]:
            message = f"automatic caching for {both[1]} on a block that is marked for {both[0]}"
            yield sent.found("DP604", last.place, message)
    elif sent.rules is not None and len(sent.marks) == sent.rules.marks > 0:
        message = f"automatic caching beside {len(sent.marks)} marks, which are all that {sent.rules.label} takes"
        yield sent.found("DP604", _AUTOMATIC, message)


def _own_at_end(sent: RequestView) -> CarriedMark | None:
    """Return the mark on the block that automatic caching would mark: the last that may carry one."""
    able = [segment.place for segment in sent.segments if segment.kind != "thinking" and segment.text.strip()]
    return {mark.place: mark for mark in sent.marks}.get(able[-1]) if able else None


def _lifetimes(sent: RequestView) -> Iterator[Finding]:
    """Find lifetimes that the provider does not have."""
    rules = sent.rules
    if rules is None or not rules.lifetimes or not rules.known:
        return
    asked = [(mark.place, mark.lifetime) for mark in sent.marks]
    asked += [(_AUTOMATIC, time_of(sent.automatic)), ("prompt_cache_options", time_of(sent.options))]
    for place, lifetime in asked:
        if lifetime and lifetime not in rules.lifetimes:
            message = f"no lifetime {lifetime!r:.20}; {rules.label} has {', '.join(rules.lifetimes)}"
            yield sent.found("DP617", place, message)


def _order(sent: RequestView) -> Iterator[Finding]:
    """Find a longer lifetime after a shorter one. OpenAI documents no such rule."""
    marks = [(mark.place, mark.lifetime) for mark in sent.marks if mark.field != OPENAIS]
    if sent.automatic is not None and _own_at_end(sent) is None:
        marks.append((_AUTOMATIC, time_of(sent.automatic)))
    lives = [(place, _lifetime(lifetime, sent.rules)) for place, lifetime in marks]
    for (before, shorter), (place, longer) in pairwise([(place, life) for place, life in lives if life]):
        if seconds(longer) > seconds(shorter):
            yield sent.found("DP603", place, f"a mark for {longer} after one for {shorter} at {before}")


def _lifetime(asked: str, rules: Rules | None) -> str:
    """Return the actual lifetime of a mark; "" if unknown."""
    if rules is not None and rules.lifetimes:
        return asked if asked in rules.lifetimes else "" if asked else rules.lifetimes[0]
    if not asked:
        return ""
    try:
        seconds(asked)
    except MessageError:
        return ""
    return asked
