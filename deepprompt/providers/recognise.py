"""Recognise a request: the provider whose API a body is written for, and the model that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from deepprompt.providers import anthropic, bedrock, deepseek, gemini, litellm, openai, responses
from deepprompt.providers.dialect import Body, Dialect
from deepprompt.providers.segments import Segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from deepprompt.words import Target

# These APIs all call their messages `messages`, so a later one has to exclude what an earlier one could be.
_ALIKE = (anthropic.DIALECT, openai.DIALECT, deepseek.DIALECT, litellm.DIALECT)

DIALECTS: tuple[Dialect, ...] = (*_ALIKE, responses.DIALECT, bedrock.DIALECT, gemini.DIALECT)
"""Every API, the most distinctive last."""


def names(pick: Callable[[Dialect], Iterable[str]]) -> tuple[str, ...]:
    """Return a table of all dialects together, each name once."""
    return tuple(dict.fromkeys(name for dialect in DIALECTS for name in pick(dialect)))


MESSAGES = names(lambda dialect: [dialect.messages])
"""The fields in which a body may list its messages."""

MODELS = names(lambda dialect: [dialect.model])
"""The fields in which a body may name its model."""

MARK_FIELDS = names(lambda dialect: [dialect.mark] if dialect.mark else [])
"""The fields that make a block carry a cache mark."""

MARKS = (*MARK_FIELDS, *names(lambda dialect: [dialect.mark_element] if dialect.mark_element else []))
"""The same, and the fields of elements that are nothing but a mark."""

_WRAPPERS = ("body", "request")


def provider_of(body: object) -> Target | Literal[""]:
    """Return the provider that a body is written for, by its fields and its model; "" if that is unclear."""
    if not isinstance(body, Mapping):
        return ""
    has_messages = isinstance(body.get("messages"), Sequence)
    candidates = [dialect for dialect in reversed(DIALECTS) if has_messages or dialect not in _ALIKE]
    return next((dialect.provider for dialect in candidates if dialect.recognise(body)), "")


def provider_of_model(model: str) -> Target | Literal[""]:
    """Return the provider that makes a model, by the model's name; "" if the name does not say."""
    name = model.rpartition("/")[2].lower()
    return next((dialect.provider for dialect in DIALECTS if re.match(dialect.models, name)), "")


def model_of(request: Body | Iterable[Segment]) -> str:
    """Return the model that a body, a record with a body in it, or the segments of a request name; "" if none."""
    if isinstance(request, Mapping):
        body = body_in(request)
        return next((body[name] for name in MODELS if isinstance(body.get(name), str)), "")
    return next((segment.text for segment in request if segment.kind == "setting" and segment.place in MODELS), "")


def inner_body(record: Body) -> Body | None:
    """Return the body in a record such as `{"body": BODY, "at": TIME}`; None if the record is a body itself."""
    if any(key in record for key in MESSAGES):
        return None
    return next((record[key] for key in _WRAPPERS if isinstance(record.get(key), Mapping)), None)


def with_model(body: Body, record: Body) -> Body:
    """Return a body with the model that its record names beside it, as Gemini and Bedrock have it in the address."""
    named = any(name in body for name in MODELS)
    return body if named else {**{name: record[name] for name in MODELS if name in record}, **body}


def body_in(record: Body) -> Body:
    """Return the body in a record, with the model beside it; a body itself is returned as it is."""
    while (body := inner_body(record)) is not None:
        record = with_model(body, record)
    return record
