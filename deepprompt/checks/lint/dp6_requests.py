"""DP6: faults of one request, for which a provider refuses it or cannot cache it.

The rules about marks are in `dp6_marks`, those about fields in `dp6_fields`; here are those about the whole request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from deepprompt.checks.lint import dp6_fields, dp6_marks
from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.request_view import RequestView, view_request
from deepprompt.providers.dialect import items
from deepprompt.providers.segments import Segment

_OWN = (
    Rule(
        "DP605", "automatic-on-moving-end", "The request is cached up to a last block that changes with every turn.",
        "Mark the last block that stays, or keep the changing one in the history as it was sent.",
    ),
    Rule(
        "DP606", "beyond-lookback", "The entry of the previous request is too far before the next mark to be found.",
        "Set a mark where the previous request ended.",
    ),
    Rule(
        "DP607", "below-minimum", "The marked prefix is too small, so nothing is cached.",
        "Remove the marks, or move the mark after more text that stays the same.",
    ),
    Rule(
        "DP608", "explicit-without-marks", "Only marks are cached, and the request has none.",
        "Set a prompt_cache_breakpoint, or leave prompt_cache_options.mode out.",
    ),
    Rule(
        "DP614", "reasoning-not-returned", "Reasoning that the provider wants back is missing.",
        "Append each response as it came, including its reasoning.",
    ),
    Rule(
        "DP615", "no-mark", "The provider caches at marks only, and the request has none.",
        "Mark the end of the static prefix and the newest message.",
    ),
    Rule(
        "DP616", "mark-on-moving-text", "A mark on text that changes with the turn is written and never read.",
        "Mark the last block before it.",
    ),
)  # fmt: skip
RULES = tuple(sorted((*_OWN, *dp6_marks.RULES, *dp6_fields.RULES), key=lambda rule: rule.code))

# A label and a time, as a host writes them for a model; a user's own words or a log have no such label.
_STATED_TIME = re.compile(
    r"(?:^|[<\[(*_ ])(?:current|local|today'?s|now|present)[ _-]?(?:local )?(?:date|time|datetime|timestamp)?"
    r"(?: and time)?(?: is)?[*_>\]):=]* {0,4}[^\n\d]{0,40}\d[^\n]{0,16}?\d:\d\d",
    re.IGNORECASE | re.MULTILINE,
)
# The estimate differs from a tokenizer's count, so report only what no tokenizer would count as enough.
_SURELY = 0.7
_REASONING = ("thinking", "redacted_thinking")


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:
    """Yield the faults of a request."""
    sent = view_request(subject, limits)
    if sent is None:
        return
    for finder in (dp6_marks.find, dp6_fields.find, _moving_end, _lookback, _minimum, _unmarked, _reasoning):
        yield from finder(sent)


def _moving_end(sent: RequestView) -> Iterator[Finding]:
    """Find changing text at a mark: after the boundary of the system prompt, or at the end of the request."""
    own = {mark.place for mark in sent.marks}
    for segment in sent.segments:
        if segment.changing and segment.place in own and segment.mark is not None:
            yield sent.found("DP616", segment.place, "a mark behind the boundary, where the text changes with the turn")
    last = _stated_once(sent)
    if last is None:
        return
    if last.place in own:
        yield sent.found("DP616", last.place, "a mark on the time of this turn, which no earlier message still has")
        return
    rules, newest = sent.rules, {segment.place for segment in sent.segments[sent.newest :]}
    implicit = rules is not None and rules.caching == "implicit" and sent.options.get("mode") != "explicit"
    if (implicit or sent.automatic is not None) and not own & newest:
        how = "OpenAI's implicit mode" if sent.automatic is None else "automatic caching"
        yield sent.found(
            "DP605", last.place,
            f"{how} ends with the time of this turn, which no earlier message still has: written, never read",
        )  # fmt: skip


def _stated_once(sent: RequestView) -> Segment | None:
    """Return the last block if only it states the time: then the host removes it again from earlier turns."""
    if not sent.newest or not sent.segments:
        return None
    last = sent.segments[-1]
    before = [s for s in sent.segments[: sent.newest] if s.role == "user" and s.kind == "text"]
    if last.role != "user" or last.kind != "text" or not before or not _STATED_TIME.search(last.text):
        return None
    return None if any(_STATED_TIME.search(segment.text) for segment in before) else last


def _lookback(sent: RequestView) -> Iterator[Finding]:
    """Find a mark that is too far from the end of the previous request, which ended before the last response."""
    rules = sent.rules
    if rules is None or rules.caching != "marked" or rules.lookback < 2 or sent.subject.earlier:
        return  # a guess is too vague without a lookback, and not needed if the earlier requests are known
    answer = sent.newest - 1
    while answer > 0 and sent.segments[answer - 1].role == "assistant":
        answer -= 1
    able = [n for n, segment in enumerate(sent.segments[: max(answer, 0)]) if segment.kind in rules.carriers]
    talk = [n for n in able if sent.segments[n].role == "user"]
    marked = [n for n, segment in enumerate(sent.segments) if segment.mark is not None]
    if not talk or not marked or sent.tokens(talk[-1] + 1) < rules.minimum:
        return
    end, places = talk[-1], rules.positions(segment.kind for segment in sent.segments)
    behind = [n for n in marked if n >= end]
    if behind and not any(places[n] - places[end] < rules.lookback for n in behind):
        yield sent.found(
            "DP606", sent.segments[behind[0]].place,
            f"the mark is {places[behind[0]] - places[end]} positions behind {sent.segments[end].place}, where the "
            f"previous request ended; {rules.label} looks at {rules.lookback}",
        )  # fmt: skip


def _minimum(sent: RequestView) -> Iterator[Finding]:
    """Find a request that asks for caching but is too small."""
    rules = sent.rules
    if rules is None or not rules.known or rules.caching == "none" or _goes_on(sent.body):
        return
    marked = [number for number, segment in enumerate(sent.segments) if segment.mark is not None]
    least, end = rules.minimum, marked[-1] if marked else -1
    if rules.explicit_minimum and "ttl" in sent.body:  # the whole request becomes cached content
        least, end = rules.explicit_minimum, len(sent.segments) - 1
    if any(segment.digest or segment.kind == "image" for segment in sent.segments):
        return  # the tokens of an image or a file are unknown
    tokens = sent.tokens(end + 1)
    if rules.caching == "implicit" and sent.options.get("mode") != "explicit":
        tokens = sent.tokens()  # the newest message has an entry too
    if end >= 0 and tokens < _SURELY * least:
        message = f"about {tokens:,} tokens up to here; {rules.label} caches nothing below {least:,}"
        yield sent.found("DP607", sent.segments[end].place, message)


def _goes_on(body: Mapping[str, Any]) -> bool:
    """Whether a request continues something that is not in it."""
    return any(body.get(key) for key in ("cachedContent", "cached_content", "previous_response_id", "conversation"))


def _unmarked(sent: RequestView) -> Iterator[Finding]:
    """Find a request without a mark where the provider caches only at marks."""
    rules = sent.rules
    if sent.options.get("mode") == "explicit" and not sent.marks:
        yield sent.found(
            "DP608", "prompt_cache_options", "the mode is explicit, and no block is marked: nothing is cached"
        )
    if rules is None or rules.caching != "marked" or not rules.known or len(sent.body) < 2:
        return  # bare messages: a request is made of them later, and may get marks then
    asked = sent.marks or sent.automatic is not None or sent.body.get("cache_control_injection_points")
    if not asked and sent.tokens() >= rules.minimum:
        message = f"no mark in about {sent.tokens():,} tokens; {rules.label} caches at marks only"
        yield sent.found("DP615", "request", message)


def _reasoning(sent: RequestView) -> Iterator[Finding]:
    """Find assistant messages with tool calls that lost their reasoning."""
    messages = [message for message in items(sent.body.get("messages")) if isinstance(message, Mapping)]
    answers = [(n, message) for n, message in enumerate(messages) if message.get("role") == "assistant"]
    thinking = sent.body.get("thinking")
    enabled = isinstance(thinking, Mapping) and thinking.get("type") == "enabled"
    if sent.provider == "deepseek" and (enabled or any(answer.get("reasoning_content") for _, answer in answers)):
        for number, answer in answers:
            if answer.get("tool_calls") and not answer.get("reasoning_content"):
                message = "a call without the reasoning_content that led to it, which DeepSeek wants back"
                yield sent.found("DP614", f"messages[{number}]", message)
    if sent.provider == "anthropic" and enabled and answers and not sent.is_litellm:
        number, answer = answers[-1]
        types = [block.get("type") for block in items(answer.get("content")) if isinstance(block, Mapping)]
        if "tool_use" in types and types[0] not in _REASONING:
            message = "the answer that is being continued called a tool, and its thinking is not in it"
            yield sent.found("DP614", f"messages[{number}].content[0]", message)
