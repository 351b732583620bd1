"""What a response says about the cache: its record in a session, and the verdict on a miss.

A verdict names the cause of a miss: the provider's own word comes first, then the two requests are compared. Only if
the earlier request is the start of the later one, and time and size allowed a hit, is the provider the cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deepprompt.checks.blame.blame import Blame, blame
from deepprompt.providers.rules import Rules, seconds
from deepprompt.providers.usage import Usage
from deepprompt.request.request import Request
from deepprompt.words import Target, VerdictKind

# Estimates and tokenizers count differently, but their shares of the input differ less.
_ENOUGH = 0.85

_HIT = "cache_hit"

_BEGINS = "this request begins with the earlier one"

_OURS = {
    "model_changed": "the model or its speed changed",
    "system_changed": "the system prompt changed",
    "tools_changed": "the tools changed",
    "messages_changed": "an earlier message changed",
    "prompt_cache_key_changed": "the prompt_cache_key changed",
    "text_format_changed": "the format of the answer changed",
    "reasoning_effort_changed": "the reasoning effort changed",
    "verbosity_changed": "the verbosity changed",
    "context_compacted": "the context was compacted",
    "input_changed": "the input changed",
    "service_tier_changed": "the service tier changed",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the cache did with one request, and the cause."""

    kind: VerdictKind
    detail: str
    expected: float
    """The share of the input that could have been read, by estimate."""
    read: float | None
    """The share that was read; None if the usage does not say."""
    blame: Blame | None = None
    """The first difference between the two requests, if that is the cause."""

    def __str__(self) -> str:
        read = "no word on what was read" if self.read is None else f"{self.read:.0%} of the input read"
        return f"{self.kind}: {self.detail} ({read}, {self.expected:.0%} expected)"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request of a session with its response, without texts."""

    to: Target
    model: str
    messages: int
    """How many messages the request had, which says which of the session's requests it was."""
    estimated: int
    """The input tokens, by estimate."""
    usage: Usage
    kind: VerdictKind
    detail: str
    at: float | None = None
    """When the request was started, in seconds; None if unknown."""
    past: bool = False
    """Whether the session went back behind this request, or a summary replaced its conversation."""

    def row(self) -> list[object]:
        """Return the record as a saved session stores it."""
        usage = self.usage
        counts = [usage.input, usage.cached_read, dict(usage.cached_write), usage.output, usage.tells_cache]
        return [self.to, self.model, self.messages, self.estimated, counts, self.kind, self.detail, self.at, self.past]


def read_recorded(row: Any) -> Recorded:
    """Return the record that `row` wrote. Anything else is a `ValueError` or a `TypeError`."""
    to, model, messages, estimated, counts, kind, detail, at, *more = row  # 0.1 did not record what is past
    if not all(isinstance(text, str) for text in (to, model, kind, detail)):
        raise TypeError("an answer is recorded with texts for provider, model and verdict")
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in (messages, estimated)):
        raise TypeError("an answer is recorded with whole numbers of messages and tokens")
    if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
        raise TypeError("an answer is recorded with a time in seconds")
    return Recorded(to, model, messages, estimated, Usage(*counts), kind, detail, at, bool(more and more[0]))


def judge(
    previous: Request | None,
    current: Request,
    usage: Usage,
    *,
    elapsed: float | None = None,
    said: object = None,
) -> Verdict:
    """Return the verdict. `elapsed` is the seconds between the starts of the requests; `said` is the whole response."""
    read = usage.cached_read / usage.input if usage.input else 0.0
    same = previous is not None and (previous.to, previous.model) == (current.to, current.model)
    left = _left(previous) if previous is not None and same else 0
    expected = min(1.0, left / current.tokens) if current.tokens else 0.0
    told = _told(said)
    # Providers count whole units of tokens. If units are large, a difference of one has no cause.
    counted = usage.cached_read + _unit(current.rules) - 1
    if read and (counted >= _ENOUGH * expected * usage.input or told == _HIT):
        detail = "the earlier request" if expected else "an entry of another request"
        return Verdict("hit", f"{detail} was read from the cache", expected, read)
    cause = blame(previous.body, current.body) if previous is not None and same else None
    kind, detail = _miss(previous, current, cause, told, elapsed, said)
    if usage.tells_cache or told:
        return Verdict(kind, detail, expected, read, cause)
    if kind in ("provider", "expired", "unknown"):  # the others follow from the requests alone
        kind, detail = "unknown", "the usage does not say what was read from the cache"
    return Verdict(kind, detail, expected, None, cause)


def on_first(verdict: Verdict, request: Request, *, others: bool, epoch: int, kept: tuple[str, int]) -> Verdict:
    """Return the verdict on the first request to a model, with the reason for it, if a session knows one.

    `others` is whether other models were asked before. `kept` says why only the prefix is in the cache, "" if there is
    no reason, and has its tokens.
    """
    reason, tokens = kept
    if reason:
        found = "and the prefix was read from the cache" if verdict.kind == "hit" else "only the prefix could be read"
        expected = min(1.0, tokens / request.tokens) if request.tokens else 0.0
        return replace(verdict, detail=f"{reason}, {found}", expected=expected)
    if verdict.kind == "cold start" and others:
        return replace(verdict, kind="ours", detail=_elsewhere(request))
    if verdict.kind == "cold start" and epoch > 1:
        return replace(verdict, detail=f"epoch {epoch} began, with a new prefix that no cache has yet")
    return verdict


def _miss(
    previous: Request | None, current: Request, cause: Blame | None, told: str, elapsed: float | None, said: object
) -> tuple[VerdictKind, str]:
    """Return the kind of a miss, and a sentence about it."""
    if told in _OURS:
        return "ours", f"the provider says: {_OURS[told]}"
    if previous is None:
        return "cold start", "nothing was sent before"
    if (previous.to, previous.model) != (current.to, current.model):
        return "ours", _elsewhere(current)
    if edits := _edits(said):
        return "ours", f"the provider edited the context, as you asked: {edits}, and everything after that is new to it"
    if cause:
        place = cause.source or cause.place
        return "ours", f"{cause.why}: {place}; from there on nothing is in the cache"
    rules = current.rules
    if rules.caching == "none":
        detail = f"{rules.provider} caches nothing of {rules.model} (facts of {rules.as_of})"
        return "provider" if rules.known else "unknown", detail
    if rules.caching == "marked" and not previous.marks:
        return "ours", "the earlier request had no marks, so nothing was cached"
    if not _left(previous):
        detail = f"the earlier request was too short: {rules.provider} caches nothing below {_least(rules):,} tokens"
        return "below minimum", f"{detail} (facts of {rules.as_of})"
    lifetime = previous.marks[-1].lifetime if previous.marks else rules.lives or (*rules.lifetimes, "")[0]
    if elapsed is not None and elapsed > seconds(lifetime):
        return "expired", f"this request came {elapsed:,.0f} s after the last one, and an entry lives {lifetime}"
    if told:
        return "unknown", f"{_BEGINS}, and the provider says only: {told.replace('_', ' ')}"
    if elapsed is None and lifetime:
        return "unknown", f"{_BEGINS}, but perhaps too late: an entry lives {lifetime}; tell when, record(..., at=)"
    return "provider", f"{_BEGINS}, in time and long enough, and the provider did not read its cache"


def _elsewhere(request: Request) -> str:
    return f"the first request to {request.to}, {request.model}: the caches of other models are of no use to it"


def _left(previous: Request) -> int:
    """Return how many tokens of a request can be read from the cache, by estimate."""
    rules = previous.rules
    left = previous.tokens
    if rules.caching in ("marked", "none"):
        left = previous.marks[-1].tokens if previous.marks else 0
    return left // _unit(rules) * _unit(rules) if left >= _least(rules) else 0


def _unit(rules: Rules) -> int:
    return max(rules.granularity, rules.reported)


def _least(rules: Rules) -> int:
    return max(rules.minimum, _unit(rules))


def _told(said: object) -> str:
    """Return the provider's own word on the cache, "" if it has none."""
    for answer in (said, _at(said, "message"), _at(said, "response")):  # in an event of a stream it is nested
        found = _at(_at(_at(answer, "diagnostics"), "cache_miss_reason"), "type")
        compared = _at(answer, "prompt_cache_diagnostics")
        for word in (found, _at(compared, "reason"), _at(compared, "type")):
            if isinstance(word, str):
                return word
    return ""


def _edits(said: object) -> str:
    """Return what Anthropic's context editing cleared, "" if it cleared nothing."""
    edits = _at(_at(said, "context_management"), "applied_edits")
    counts: dict[str, int] = {}
    for edit in edits if isinstance(edits, list | tuple) else ():
        for name in ("cleared_tool_uses", "cleared_thinking_turns", "cleared_input_tokens"):
            found = _at(edit, name)
            counts[name] = counts.get(name, 0) + (found if isinstance(found, int) else 0)
    named = [f"{count:,} {name.removeprefix('cleared_').replace('_', ' ')}" for name, count in counts.items() if count]
    return f"{', '.join(named)} cleared" if named else ""


def _at(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
