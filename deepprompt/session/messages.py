"""Turn what a caller appends to a session into plain JSON values: a mapping, an SDK's message, or its whole response.

Whether a message can be sent is checked in `request.conversation`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from deepprompt.errors import MessageError
from deepprompt.providers.neutral import Payload
from deepprompt.text.hygiene import scrub
from deepprompt.tokens import estimate_tokens
from deepprompt.tools import as_dict, why_not_json


def has_results(message: Mapping[str, object]) -> bool:
    """Whether a message in the form of Anthropic's Messages holds tool results."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def plain_message(message: object) -> Payload:
    """Return a copy of a message as plain JSON values."""
    given = _as_dict(message) if hasattr(message, "model_dump") else message
    if isinstance(given, Mapping) and isinstance(choices := given.get("choices"), Sequence) and "role" not in given:
        given = _only_choice(choices)
    if not isinstance(given, Mapping) or "role" not in given:
        raise MessageError(f"a message is a mapping with a role, or an SDK's object with one, {_not_a_message(given)}")
    plain: Payload = json.loads(plain_json(given))
    return plain


def _only_choice(choices: Sequence[object]) -> object:
    """Return the message in a response of Chat Completions."""
    if len(choices) != 1 or not isinstance(choices[0], Mapping):
        raise MessageError(f"a response with {len(choices)} choices: append the message of one, choices[N].message")
    return choices[0].get("message")


def _not_a_message(given: object) -> str:
    """Return the end of an error message: what was passed instead of a message, and what the caller may have meant."""
    if isinstance(given, str):
        return 'not a text; user(text) appends it as the user\'s, {"role": "assistant", "content": text} as a response'
    if isinstance(given, Mapping) and given.get("type") == "tool_result":
        return 'not a block of one; {"role": "user", "content": [block, ...]} is one, with all results of a response'
    if isinstance(given, Mapping):
        return f"not one with the fields {', '.join(map(str, list(given)[:8])) or '(none)'}"
    if isinstance(given, Sequence):
        return "not a list; append a response whole, and several messages with extend()"
    return f"not {type(given).__name__}"


def plain_json(value: object) -> str:
    """Return a value as JSON with its keys in their own order, or refuse it if it is not JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_as_dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"a message is not JSON: {why_not_json(error)}") from None
    return scrub(text)


def _as_dict(value: object) -> object:
    """Return an SDK's message or block as a mapping."""
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else as_dict(value)


def tokens_of(messages: Iterable[object]) -> int:
    """Return how many tokens messages have, by estimate."""
    return sum(estimate_tokens(plain_json(message)) for message in messages)
