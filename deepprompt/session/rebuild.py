"""Rebuild the requests of a conversation from its messages, each as it would have been sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.prompt import Prompt
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import Facts
from deepprompt.providers.neutral import Options
from deepprompt.providers.reading import read_messages
from deepprompt.providers.recognise import MESSAGES
from deepprompt.providers.responses import is_answer, is_item
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment
from deepprompt.request.conversation import Conversation
from deepprompt.request.request import RequestBuilder

_SYSTEM = ("system", "developer")
_ANSWERING = ("assistant", "model")


def rebuild(
    prompt: Prompt, messages: Sequence[Any], provider: str, rules: Rules, facts: Facts
) -> list[Sequence[Segment]]:
    """Return the request before each response of a conversation, with cache marks if the provider takes them."""
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise MessageError(f"expected an object, not {type(message).__name__}", f"messages[{number}]")
    ends = list(ends_of(messages))
    if not rules.marks or provider not in TARGETS:
        whole = _Reader()
        return [whole.read({"messages": messages[:end]}, replace(prompt, messages=())) for end in ends]
    conversation, reader = Conversation(messages[: max(ends, default=0)]), _Reader()
    builder = RequestBuilder(prompt, conversation, to=provider, model=rules.model, facts=facts)
    if any(block.mark is not None for message in conversation.messages for block in message.blocks):
        # The caller's own marks are kept and count against the limit, wherever they are in the conversation.
        return [read_request(builder.build(Options(), size=end).body) for end in ends]
    sizes = pairwise([0, *ends])
    return [reader.read(builder.build_next(Options(marks="auto"), before, end).body) for before, end in sizes]


class _Reader:
    """Reads bodies that share their messages, each message once."""

    def __init__(self) -> None:
        self._messages: list[Any] = []
        self._read: list[list[Segment]] = []
        """The segments of each message."""

    def read(self, body: Mapping[str, Any], prompt: Prompt | None = None) -> list[Segment]:
        """Return the segments of a body, or of a prompt with the messages of one."""
        key = next(key for key in MESSAGES if key in body)
        messages = body[key]
        pairs = enumerate(zip(self._messages, messages, strict=False))
        shared = next(
            (number for number, (old, new) in pairs if old is not new), min(len(self._messages), len(messages))
        )
        self._messages = [*messages]
        del self._read[shared:]
        self._read += [
            read_messages([message], key, number) for number, message in enumerate(messages[shared:], shared)
        ]
        before = read_request({**body, key: []} if prompt is None else prompt)
        return [*before, *(segment for message in self._read for segment in message)]


def ends_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """Yield the number of messages of each request: all before a response, and the last, which may have none yet."""
    asked = answering = False
    for number, message in enumerate(messages):
        answers = message.get("role") in _ANSWERING or (is_item(message) and is_answer(message))
        if asked and answers and not answering:
            yield number
        asked = asked or (not answers and message.get("role") not in _SYSTEM)
        answering = answers
    if asked and not answering:
        yield len(messages)
