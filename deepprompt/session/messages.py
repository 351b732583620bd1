"""What is handed to a session as a message, as plain values of our own.

It may be a mapping, the object of an SDK, or a whole answer of one. Whether it can be sent is for `wire.conversation`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.text.hygiene import scrub
from deepprompt.tools import as_dict, why_not_json


def has_results(message: Mapping[str, Any]) -> bool:
    """Whether a message of Anthropic's answers tool calls."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def plain_message(message: object) -> dict[str, Any]:
    """Return a message as plain values of our own."""
    given = _as_dict(message) if hasattr(message, "model_dump") else message
    if isinstance(given, Mapping) and isinstance(choices := given.get("choices"), Sequence) and "role" not in given:
        given = _only_choice(choices)
    if not isinstance(given, Mapping) or "role" not in given:
        raise MessageError(f"a message is a mapping with a role, or an SDK's object with one, {_not_a_message(given)}")
    plain: dict[str, Any] = json.loads(plain_json(given))
    return plain


def _only_choice(choices: Sequence[object]) -> object:
    """Return the message in an answer of Chat Completions."""
    if len(choices) != 1 or not isinstance(choices[0], Mapping):
        raise MessageError(f"an answer with {len(choices)} choices: append the message of one, choices[N].message")
    return choices[0].get("message")


def _not_a_message(given: object) -> str:
    """Return the end of a sentence: what was given in place of a message, and what was perhaps meant."""
    if isinstance(given, str):
        return 'not a text; user(text) appends it as the user\'s, {"role": "assistant", "content": text} as an answer'
    if isinstance(given, Mapping) and given.get("type") == "tool_result":
        return 'not a block of one; {"role": "user", "content": [block, ...]} is one, with all results of an answer'
    if isinstance(given, Mapping):
        return f"not one with the fields {', '.join(map(str, list(given)[:8])) or '(none)'}"
    if isinstance(given, Sequence):
        return "not a list; of an answer append all of it, and several messages by extend()"
    return f"not {type(given).__name__}"


def plain_json(value: object) -> str:
    """Return a value as JSON, its keys in the order that they have; what is not JSON is refused."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_as_dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"a message is not JSON: {why_not_json(error)}") from None
    return scrub(text, "message", [])


def _as_dict(value: object) -> object:
    """Return an SDK's own message or block as a mapping too."""
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else as_dict(value)
