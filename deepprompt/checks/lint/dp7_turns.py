"""DP7: what changed between the requests of a conversation, so that a cache has what is sent and cannot read it.

Each request is held against the one it goes on from: of the latest, the one that it begins with most of. What happened
between the two is `blame`'s to say; here it gets its code. Only what the earlier request left in a cache counts: what
stands behind its last mark may change.
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
        "Send the same tools from the first request on, and say at the tail which of them may be used.",
    ),
    Rule(
        "DP702", "tool-changed", "A tool's definition changed in the middle of a conversation.",
        "Freeze definitions when the conversation begins, and tell news at the tail.",
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
        "DP705", "model-changed", "Another model answers: each has a cache of its own.",
        "Keep to one model in a conversation, and give others one of their own.",
    ),
    Rule(
        "DP706", "setting-changed", "A setting changed that the cache depends on.",
        "Choose effort, verbosity, format, speed and tier once for a conversation.",
    ),
    Rule(
        "DP707", "choice-or-images-changed", "The choice of tools changed, or the first image came or went.",
        "Say at the tail which tool to use; show images from the first request on, or in a conversation of their own.",
    ),
    Rule(
        "DP708", "result-edited", "A tool's result is not what it was when it was sent.",
        "Shorten a result before it is sent for the first time.",
    ),
    Rule(
        "DP709", "reasoning-dropped", "Reasoning that was sent is gone or changed.",
        "Leave it in the history as long as its turn is there.",
    ),
    Rule(
        "DP710", "message-extended", "A message was extended in place.",
        "Append a new message or block.",
    ),
    Rule(
        "DP712", "key-changed", "The key of the cache changed: what was sent under another is not read.",
        "Use one key for all requests that share a prompt.",
    ),
    Rule(
        "DP716", "system-changed", "The system prompt is not what it was.",
        "Freeze it when the conversation begins, and tell news at the tail.",
    ),
    Rule(
        "DP717", "history-changed", "An earlier message is not what it was when it was sent.",
        "Only append; start a new conversation to leave something out.",
    ),
    Rule(
        "DP718", "end-not-kept", "The end of a request, where it was cached, is not in the next.",
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
# Where entries end, and what is in them: neither says that the prompt changed.
_ASIDE = ("prompt_cache_options", "cachedContent", "cached_content")
# What nobody means to do: between two conversations a prompt may differ in any other way.
_DRIFT = (
    "clock", "random id", "path", "number", "case", "order", "tool order", "key order", "line ends", "white space",
    "byte order mark", "trailing blanks", "Unicode form", "escapes",
)  # fmt: skip
_SHOWN = 100


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:
    """Yield what is wrong between the requests of a conversation."""
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
    """Yield the code, place and message of what a request does to what the one before it left."""
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
    """Yield the settings that changed; none where a side does not say by which model it was sent."""
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
    """Return the code of a difference and what to say of it, None where nothing is wrong with it."""
    rules = limits.rules
    in_messages = found.block not in ("tool", "system")
    if not same and in_messages:
        return _beside(before, turn, limits)
    if not same and (found.kind not in _DRIFT or before.model != turn.model):
        return None
    if found.kind == "compaction" or (found.block == "system" and found.changing):
        return None  # meant so, or the turn's own context
    at = shared(before, turn)
    if in_messages and found.kind != "images":
        if found.kind == "extended" and at >= before.newest:
            free = rules is not None and rules.caching == "automatic" and not rules.whole_units
            return None if free else ("DP710", _said(found))
        if not any(segment.role == "assistant" for segment in turn.segments[at:]):
            return None  # gone back to an earlier turn, or the same one with another end
        if at >= before.newest and turn.segments[at].role == "assistant":  # what stood there was taken out again
            kept = rules is None or rules.caching in ("marked", "implicit")
            gone = f"{before.segments[at].place} ended the earlier one and is not in the later: written, never read"
            return ("DP718", gone) if kept and before.ends_cached(at, rules) else None
    return _code(found), _said(found)


def _beside(before: Turn, turn: Turn, limits: Limits) -> tuple[str, str] | None:
    """Say so where two conversations begin alike and nothing is cached of that: both wrote, neither read."""
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
    """Return what happened and where, in one line."""
    source = found.file or found.source
    if found.block == "tool":
        where = f"{found.place}: {found.value}" if found.value else found.place
    else:
        where = found.place if source in found.place else f"{found.place}, {source}"
    line = f", line {found.line}" if found.line else ""
    return f"{KINDS[found.kind]}: {display(where)[:_SHOWN]}{line}"
