"""Turn what a caller appends to a session into plain JSON values: a mapping, an SDK's message, or its whole response.

Whether a message can be sent is checked in `request.conversation`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.providers.neutral import Payload
from deepprompt.providers.responses import as_message, is_answer, is_item
from deepprompt.request.content import is_wire_form
from deepprompt.request.typed_block import as_wire
from deepprompt.text.hygiene import is_blank, scrub
from deepprompt.tokens import estimate_tokens
from deepprompt.tools import as_dict, why_not_json


def plain_messages(given: object) -> list[Payload]:
    """Return a copy of what a caller appends as messages of plain JSON values, spelled as on the wire."""
    return copied(as_messages(given))


def users_messages(given: object) -> list[Payload]:
    """Return a user's message as plain JSON values: a text, a list of blocks, or a whole message."""
    if isinstance(given, str):
        if is_blank(given):
            raise MessageError("a user's message has text, and this one is blank; update() sends only what changed")
        return [{"role": "user", "content": scrub("".join([given]))}]  # of a subclass of str, only the text
    if isinstance(given, Sequence) and not isinstance(given, bytes):
        given = {"role": "user", "content": given}
    own = plain_messages(given)
    if own[0].get("role") != "user":
        raise MessageError(f"the role of a user's message is user, not {own[0].get('role')!r}; append() takes any")
    return own


def as_messages(given: object) -> list[Mapping[str, object]]:
    """Return what a caller appends as messages, or refuse it.

    That is one message, except for a response of OpenAI's Responses: each of its items is a message.
    """
    if type(given) is dict and "role" in given:
        return [given]
    answer = from_sdk(given)
    if isinstance(answer, Mapping) and "role" not in answer:
        items = answer.get("output")
        if "type" not in answer and isinstance(items, Sequence) and not isinstance(items, str):
            return [_as_item(item) for item in items]
        answer = _only_message(answer)
    return [_as_message(answer)]


def copied(messages: Iterable[Mapping[str, object]]) -> list[Payload]:
    """Return a copy of messages as plain JSON values."""
    return [_copied_message(message) for message in messages]


def _copied_message(message: Mapping[str, object]) -> Payload:
    default = as_wire if is_wire_form(message) else None
    try:
        plain: Payload = _copied(message, default)
    except RecursionError:  # JSON says why: it refers to itself, or is nested too deeply
        plain = json.loads(plain_json(message, default))
    return plain


def _copied(value: object, default: Callable[[object], object] | None) -> Any:
    """Return a copy of a value as JSON would give it back; only what is not plain yet goes through JSON."""
    if type(value) is dict:
        copy = {}
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                return json.loads(plain_json(value, default))
            copy[key] = item if type(item) is str and item.isascii() else _copied(item, default)
        return copy
    if type(value) is list:
        return [_copied(item, default) for item in value]
    return value if value is None or type(value) is bool else json.loads(plain_json(value, default))


def from_sdk(value: object) -> object:
    """Return an SDK's object as a mapping, spelled as on the wire; anything else as it is."""
    return _as_dict(value) if type(value) is not dict and hasattr(value, "model_dump") else value


def is_response(message: Mapping[str, object]) -> bool:
    """Whether a plain message is a model's: a response, or an item of one."""
    return message.get("role") in ("assistant", "model") or (is_item(message) and is_answer(message))


def response_id(answer: object) -> str:
    """Return the id of a whole response of OpenAI's Responses, "" for anything else."""
    if not isinstance(answer, (dict, Mapping)) or "role" in answer or not isinstance(answer.get("output"), list):
        return ""
    name = answer.get("id")
    return name if isinstance(name, str) else ""


def _as_item(item: object) -> Mapping[str, object]:
    item = from_sdk(item)
    return _as_message(as_message(item) if isinstance(item, Mapping) else item)


def _as_message(message: object) -> Mapping[str, object]:
    message = from_sdk(message)
    if not isinstance(message, Mapping) or not ("role" in message or is_item(message)):
        raise MessageError(
            f"a message is a mapping with a role, or an SDK's object with one, {_not_a_message(message)}"
        )
    return message


def _only_message(answer: Mapping[str, object]) -> object:
    """Return the message in a response of Chat Completions, Gemini or Bedrock; anything else as it is."""
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if isinstance(found := answer.get(key), Sequence):
            return _only_choice(found, key, inner)
    output = answer.get("output")
    return output["message"] if isinstance(output, Mapping) and "message" in output else answer


def _only_choice(choices: Sequence[object], key: str, inner: str) -> object:
    """Return the message of the only choice, or candidate, in a response."""
    if len(choices) != 1 or not isinstance(choices[0], Mapping):
        raise MessageError(f"a response with {len(choices)} {key}: append the message of one, {key}[N].{inner}")
    message = choices[0].get(inner)
    if key == "candidates":  # Gemini leaves out parts and role if there are none
        return {"role": "model", "parts": [], **(message if isinstance(message, Mapping) else {})}
    if isinstance(message, Mapping) and isinstance(message.get("content"), list):
        return {"refusal": None, **message}  # by this field its parts are known as those of Chat Completions
    return message


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


def _encoder(default: Callable[[object], object]) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)


def plain_json(value: object, default: Callable[[object], object] | None = None) -> str:
    """Return a value as JSON with its keys in their own order, or refuse it if it is not JSON."""
    encoder = _ENCODER if default is None else _encoder(default)
    try:
        text = encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"a message is not JSON: {why_not_json(error)}") from None
    return scrub(text)


def _as_dict(value: object) -> object:
    """Return an SDK's message or block as a mapping, spelled as on the wire."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
    return as_dict(value)


_ENCODER = _encoder(_as_dict)


def tokens_of(messages: Iterable[object]) -> int:
    """Return how many tokens messages have, by estimate."""
    return sum(estimate_tokens(plain_json(message)) for message in messages)
