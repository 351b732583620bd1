"""The frozen prefix of a session: the static parts of a prompt and its tools, as a `Prompt` of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from deepprompt.errors import SessionError
from deepprompt.prompt import Pace, Part, Prompt
from deepprompt.request.outline import not_a_prompt
from deepprompt.session.messages import plain_json
from deepprompt.text.compare import shared_start
from deepprompt.text.hygiene import scrub
from deepprompt.tokens import estimate_tokens
from deepprompt.tools import canonical_tools

_TEXT = "argument:prompt"  # the origin of a prompt that is a plain text


def as_prompt(prompt: Prompt | str) -> Prompt:
    """Return a prompt. A plain text becomes one part, and its changes are announced like a project's instructions."""
    if isinstance(prompt, str):
        return Prompt((Part("prompt", prompt, Pace.PROJECT, _TEXT),))
    if not isinstance(prompt, Prompt):
        raise SessionError(f"a session takes a Prompt or a text, {not_a_prompt(prompt)}")
    return prompt


def comparable(prompt: Prompt | str, prefix: Prompt) -> Prompt:
    """Return a prompt that can be compared with a frozen prefix: both texts, or both with parts of their own."""
    given = as_prompt(prompt)
    if _is_text(given) != _is_text(prefix):
        began, now = ("a text", "a Prompt") if _is_text(prefix) else ("a Prompt", "a text")
        raise SessionError(f"this session began with {began}, and cannot be compared with {now}; give the same kind")
    return given


def _is_text(prompt: Prompt) -> bool:
    return [part.origin for part in prompt.parts] == [_TEXT]


def frozen(prompt: Prompt) -> Prompt:
    """Return the static prefix and the tools of a prompt, copied and with clean texts."""
    # Whatever pace a frozen part was given, it does not change with the turn: all of the prefix may be cached.
    parts = [
        Part(_clean(part.name), _clean(part.text), min(part.pace, Pace.SESSION), _clean(part.origin))
        for part in prompt.static_parts
    ]
    return Prompt(tuple(parts), json.loads(plain_json(prompt.tools)), fixed_order=True)


def _clean(text: str) -> str:
    return scrub(text)


def same(one: Prompt, other: Prompt) -> bool:
    """Whether two frozen prefixes are sent as the same bytes: the order of keys in their tools counts too."""
    return (one, plain_json(one.tools)) == (other, plain_json(other.tools))


def prefix_tokens(text: str, tools: Iterable[Mapping[str, object]]) -> int:
    """Return how many tokens a system prompt and tools have, by estimate."""
    return estimate_tokens(text) + estimate_tokens(canonical_tools(tools))


def shared(one: Prompt, other: Prompt) -> tuple[int, str]:
    """Return how many tokens two frozen prefixes share, and a sentence about it. Tools come first in both."""
    if canonical_tools(one.tools) != canonical_tools(other.tools):
        return 0, "nothing is shared: different tools, so a different cache"
    start = one.text[: shared_start(one.text, other.text)]
    tokens = prefix_tokens(start, one.tools)
    if one.text == other.text:
        return tokens, "the whole prefix is shared, and nothing of the conversation"
    both = [*(["the tools"] if one.tools else []), *(["the start of the system prompt"] if start else [])]
    return tokens, f"{' and '.join(both) or 'nothing'} shared at most: another system prompt, another cache"
