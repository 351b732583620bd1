"""DP7: changes between the requests of a conversation for which a cache entry is not read again.

Each request is compared with the one it continues: the latest one that it shares most with. `blame` finds what changed
between the two, and this module chooses the code. Only text that the earlier request left in a cache counts; text after
its last mark may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepprompt.checks.blame.blame import KINDS, Blame, blame
from deepprompt.checks.lint import dp7_unread
from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.turn_view import Turn, goes_on_from, read_turns, shared
from deepprompt.errors import MessageError
from deepprompt.providers.recognise import MODELS
from deepprompt.text.display import display

_OWN = (
    Rule(
        "DP701", "tools-come-or-go", "A tool was added or removed in the middle of a conversation.",
        "Send the same tools from the first request on, and say in the newest message which of them may be used.",
    ),
    Rule(
        "DP702", "tool-changed", "A tool's definition changed in the middle of a conversation.",
        "Freeze the definitions when the conversation begins, and announce changes in the newest message.",
    ),
    Rule(
        "DP703", "tool-order", "The same tools stand in another order.",
        "Sort them by name.",
    ),
    Rule(
        "DP704", "key-order", "The same JSON has its keys in another order.",
        "Write it with sorted keys, or keep what was sent.",
    ),
    Rule(
        "DP705", "model-changed", "The model changed, and each model has its own cache.",
        "Use one model for a conversation, and start another conversation for another model.",
    ),
    Rule(
        "DP706", "setting-changed", "A setting changed that the cache depends on.",
        "Choose effort, verbosity, format, speed and tier once for each conversation.",
    ),
    Rule(
        "DP707", "choice-or-images-changed", "The tool choice changed, or the first image was added or removed.",
        "Say in the newest message which tool to use; send images from the start, or in another conversation.",
    ),
    Rule(
        "DP708", "result-edited", "A tool's result was edited after it was sent.",
        "Shorten a result before it is sent for the first time.",
    ),
    Rule(
        "DP709", "reasoning-dropped", "Reasoning that was sent is gone or changed.",
        "Keep it in the history as long as its turn is there.",
    ),
    Rule(
        "DP710", "message-extended", "A message was extended in place.",
        "Append a new message or block.",
    ),
    Rule(
        "DP712", "key-changed", "The cache key changed, so entries under the earlier key are not read.",
        "Use one key for all requests that share a prompt.",
    ),
    Rule(
        "DP716", "system-changed", "The system prompt changed.",
        "Freeze it when the conversation begins, and announce changes in the newest message.",
    ),
    Rule(
        "DP717", "history-changed", "An earlier message was edited after it was sent.",
        "Only append; start a new conversation to drop something.",
    ),
    Rule(
        "DP718", "end-not-kept", "The end of a request was cached, but is not in the next request.",
        "Mark the last block that stays.",
    ),
)  # fmt: skip
RULES = tuple(sorted((*_OWN, *dp7_unread.RULES), key=lambda rule: rule.code))

_TOOLS = {"tool added": "DP701", "tool removed": "DP701", "tool order": "DP703"}
_BLOCKS = {"tool": "DP702", "system": "DP716", "tool_result": "DP708", "thinking": "DP709"}
_SETTINGS = dict.fromkeys(MODELS, "DP705") | {
    "tool_choice": "DP707", "toolConfig.toolChoice": "DP707",
    "prompt_cache_key": "DP712", "user_id": "DP712", "cache_salt": "DP712", "extra_key": "DP712",
}  # fmt: skip
# These say where entries end and what is in them, not that the prompt changed.
_ASIDE = ("prompt_cache_options", "cachedContent", "cached_content")
# Changes that nobody intends. Two conversations may differ in any other way.
_DRIFT = (
    "clock", "random id", "path", "number", "case", "order", "tool order", "key order", "line ends", "white space",
    "byte order mark", "trailing blanks", "Unicode form", "escapes",
)  # fmt: skip
_SHOWN = 100


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:
    """Yield the faults between the requests of a conversation."""
    if not subject.earlier:
        return
    try:
        turns = read_turns([*subject.earlier, subject])
        for number, turn in enumerate(turns):
            for code, place, message in _between(turns[:number], turn, limits):
                yield Finding(code, message, subject.name, place)
        for code, place, message in dp7_unread.fan_out(turns, limits.rules):
            yield Finding(code, message, subject.name, place)
    except RecursionError:
        raise MessageError("requests that are nested too deeply to be compared") from None


_Found = tuple[str, str, str]


def _between(earlier: Sequence[Turn], turn: Turn, limits: Limits) -> Iterator[_Found]:
    """Yield the code, place and message of each fault between a request and the one it continues."""
    before = goes_on_from(earlier, turn)
    if before is None:
        return
    pair = f"requests {before.number} and {turn.number}"
    same = before.is_same_conversation(turn)
    settings = list(_settings(before, turn)) if same else []
    yield from ((code, place, f"{pair}: {message}") for code, place, message in settings)
    found = blame(before.cached(limits.rules), turn.segments)
    if found is not None:
        judged = _judged(found, before, turn, limits, same)
        if judged:
            yield judged[0], found.place, f"{pair}: {judged[1]}"
    elif same and not settings:
        for code, place, message in dp7_unread.not_found(before, turn, limits.rules):
            yield code, place, f"{pair}: {message}"


def _settings(before: Turn, turn: Turn) -> Iterator[_Found]:
    """Yield the settings that changed; none if only one of the two requests names its model."""
    if bool(before.model) != bool(turn.model):
        return
    for name in dict.fromkeys([*before.settings, *turn.settings]):
        was, now = before.settings.get(name), turn.settings.get(name)
        if was != now and name not in _ASIDE:
            code = _SETTINGS.get(name, "DP706")
            change = "changed" if was and now else "is new" if now else "is gone"
            values = f" from {display(was or '')[:40]} to {display(now or '')[:40]}" if code == "DP705" else ""
            yield code, name, f"{name} {change}{values}"


def _judged(found: Blame, before: Turn, turn: Turn, limits: Limits, same: bool) -> tuple[str, str] | None:
    """Return the code and the message for a difference; None if it is fine."""
    rules = limits.rules
    in_messages = found.block not in ("tool", "system")
    if not same and in_messages:
        return _beside(before, turn, limits)
    if not same and (found.kind not in _DRIFT or before.model != turn.model):
        return None
    if found.kind == "compaction" or (found.block == "system" and found.changing):
        return None  # intended, or the turn's own context
    at = shared(before, turn)
    if in_messages and found.kind != "images":
        if found.kind == "extended" and at >= before.newest:
            free = rules is not None and rules.caching == "automatic" and not rules.whole_units
            return None if free else ("DP710", _said(found))
        if not any(segment.role == "assistant" for segment in turn.segments[at:]):
            return None  # the user went back to an earlier turn, or changed the end of this one
        if at >= before.newest and turn.segments[at].role == "assistant":  # the earlier end was removed again
            kept = rules is None or rules.caching in ("marked", "implicit")
            gone = f"{before.segments[at].place} ended the earlier one and is not in the later: written, never read"
            return ("DP718", gone) if kept and before.ends_cached(at, rules) else None
    return _code(found), _said(found)


def _beside(before: Turn, turn: Turn, limits: Limits) -> tuple[str, str] | None:
    """Return a finding if two conversations begin alike and no mark makes them share a cache entry."""
    rules, at = limits.rules, shared(before, turn)
    if rules is None or rules.caching not in ("marked", "implicit") or at > before.first:
        return None
    tokens = before.ends[at - 1] if at else 0
    marked = [number for number in before.marks if number < at] or [number for number in turn.marks if number < at]
    asks = before.marks or rules.caching == "implicit"
    if marked or not asks or not tokens or tokens < rules.minimum:
        return None
    return "DP718", f"both begin with the same {tokens:,} tokens, and no mark stands at their end: written, never read"


def _code(found: Blame) -> str:
    if found.kind in _TOOLS:
        return _TOOLS[found.kind]
    if found.kind == "key order":
        return "DP704"
    if found.kind == "images":
        return "DP707"
    if found.kind == "extended" and found.block == "text":
        return "DP710"
    return "DP717" if found.kind == "inserted" and found.block != "system" else _BLOCKS.get(found.block, "DP717")


def _said(found: Blame) -> str:
    """Return what changed and where, in one line."""
    source = found.file or found.source
    if found.block == "tool":
        where = f"{found.place}: {found.value}" if found.value else found.place
    else:
        where = found.place if source in found.place else f"{found.place}, {source}"
    line = f", line {found.line}" if found.line else ""
    return f"{KINDS[found.kind]}: {display(where)[:_SHOWN]}{line}"
