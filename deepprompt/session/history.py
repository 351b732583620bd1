"""Everything that was said and sent in a session: messages, notices, requests, responses. It can go back.

A point in a conversation is a number of messages. Going back to one forgets what came after it: messages, notices that
they carried, and where later requests ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepprompt.errors import MessageError, SessionError
from deepprompt.prompt import Prompt
from deepprompt.providers.neutral import Payload, Text, ToolResult
from deepprompt.request.content import read_message
from deepprompt.request.conversation import Conversation
from deepprompt.session.messages import tokens_of
from deepprompt.session.notices import Notices
from deepprompt.session.prefix import prefix_tokens
from deepprompt.session.record import Recorded, read_recorded
from deepprompt.session.route import Route
from deepprompt.words import OnChange, Target


class History:
    """The past of one session."""

    def __init__(self, on_change: OnChange) -> None:
        self.notices = Notices(on_change)
        self.messages: list[Mapping[str, object]] = []
        self.conversation = Conversation(known=True)  # the same messages in neutral values
        self.routes: dict[tuple[str, str], Route] = {}
        self.recorded: list[Recorded] = []
        self.responses: dict[str, int] = {}
        """How many messages there were after each response that has an id, of OpenAI's Responses."""
        self.began = ""
        """Why the prefix may be in the cache although no request of this conversation was sent yet."""

    @property
    def size(self) -> int:
        """How many messages there are."""
        return len(self.messages)

    @property
    def latest(self) -> Route | None:
        """The provider and model that the last request went to."""
        return next(reversed(self.routes.values()), None)

    def append(self, messages: Sequence[Mapping[str, object]]) -> None:
        """Add messages: all of them, or none if one is refused."""
        self.conversation.extend(messages)
        self.messages += messages

    def tell(self, own: list[Payload]) -> None:
        """Add the caller's messages, and the pending notices before them, or after a tool's results."""
        native = self.notices.on_change == "native" and (bool(own) or self.conversation.begun)
        text = self.notices.text(native=native)
        news = [{"role": "user", "content": text}] if text else []
        changes = self.notices.tool_changes() if native else []
        tools: list[Payload] = [{"role": "system", "content": changes}] if changes else []
        after = bool(own) and _has_results(own[0])
        at = self.size + (len(own) if after else 0)
        end = self.size + len(own) + len(news)
        self.append([*own, *news, *tools] if after else [*news, *own, *tools])
        self.notices.mark_sent(at, end if tools else None)

    def tell_before(self, messages: list[Payload]) -> None:
        """Add messages that begin with the user's, and pending notices before them if that is not a tool's result."""
        if _has_results(messages[0]):
            self.append(messages)
        else:
            self.tell(messages)

    def cut(self, size: int) -> None:
        """Go back to the first `size` messages."""
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= self.size:
            raise SessionError(f"a point in this session is a number of messages from 0 to {self.size}, not {size!r}")
        if size == self.size:
            return
        self.notices.rewind(size)
        self.messages = self.messages[:size]
        self.conversation = Conversation(self.messages, known=True)
        self.routes = {key: route.cut(size) for key, route in self.routes.items()}
        if any(not route.size for route in self.routes.values()):
            self.began = "the session went back before its first request"
        self.responses = {name: end for name, end in self.responses.items() if end <= size}
        self.recorded = [replace(one, past=one.past or one.messages > size) for one in self.recorded]

    def copied_into(self, other: History, size: int) -> None:
        """Let another history begin with the first `size` messages of this one."""
        other.append(self.messages)
        other.notices.restore(self.notices.state(), self.size)
        other.routes = {key: route.cut(route.size) for key, route in self.routes.items()}
        other.responses, other.began = dict(self.responses), self.began
        other.cut(size)

    def last_response(self) -> int:
        """Return how many messages stand before the last response."""
        size = self.size
        while size and read_message(self.messages[size - 1], size - 1).role == "assistant":
            size -= 1
        return size

    def last_question(self) -> int:
        """Return how many messages stand before the user's last own message, and before the notices in front of it."""
        for number in range(self.size - 1, -1, -1):
            message = read_message(self.messages[number], number)
            if message.role == "user" and not message.of(ToolResult) and not self.notices.sent_by(number):
                return number - 1 if self.notices.sent_by(number - 1) else number
        raise SessionError("there is no user's message to replace")

    def end_of(self, response: str, to: Target) -> int:
        """Return how many messages there were after a response, given by its id."""
        if to != "openai-responses":
            raise MessageError(f"previous_response_id is for openai-responses; {to} takes none")
        if response not in self.responses:
            known = ", ".join(list(self.responses)[-3:]) or "none"
            raise MessageError(f"no response {response!r} was appended whole; the last ones with an id: {known}")
        return self.responses[response]

    def cached(self, prefix: Prompt, size: int) -> tuple[int, str]:
        """Return how many tokens of the first `size` messages and the prefix are in a cache, and a sentence on it."""
        route = self.latest
        if route is None:
            return 0, "nothing of it was sent yet, so no cache has it"
        if route.current is not None and route.current.rules.caching == "none":
            return 0, f"{route} caches nothing"
        sent = route.cached_before(size)
        tokens = tokens_of(self.messages[:sent]) + prefix_tokens(prefix.text, prefix.tools)
        return tokens, f"the prefix and {sent} of {size} messages stay in the cache of {route}"

    def state(self) -> dict[str, object]:
        """Return what is saved."""
        return {
            "notices": self.notices.state(),
            "lines": [[r.to, r.model, r.before, r.size, r.at, r.ends] for r in self.routes.values()],
            "recorded": [recorded.row() for recorded in self.recorded],
            "responses": self.responses,
            "began": self.began,
            "messages": self.messages,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state, also one of deepprompt 0.1. A wrong one raises any of several errors."""
        self.append(state["messages"])
        self.notices.restore(state["notices"], self.size)
        self.recorded = [read_recorded(row) for row in state.get("recorded", ())]
        self.began = str(state.get("began", ""))
        self.responses = {str(name): int(end) for name, end in state.get("responses", {}).items()}
        for to, model, before, size, at, *more in state["lines"]:
            ends = more[0] if more else [end for end in (before, size) if end]
            if not 0 <= before <= size <= self.size or any(not 0 < end <= size for end in ends):
                raise ValueError(f"a request of {size} messages")
            self.routes[to, model] = Route(to, model, before, size, at=at, ends=list(ends))


def _has_results(message: Mapping[str, object]) -> bool:
    """Whether a message holds a tool's results. A plain text, the usual case, need not be read for that."""
    is_text = message.get("role") == "user" and isinstance(message.get("content"), str)
    return not is_text and bool(read_message(message, 0).of(ToolResult))


def text_of_summary(answer: object, messages: Sequence[Mapping[str, object]]) -> str:
    """Return the text of a response that is a summary."""
    texts = [text for number, one in enumerate(messages) for text in _texts(one, number)]
    summary = "\n\n".join(texts).strip()
    if not summary:
        raise MessageError(f"a summary is a text, or a response that has one, not {type(answer).__name__} without text")
    return summary


def _texts(message: Mapping[str, object], number: int) -> list[str]:
    return [block.text for block in read_message(message, number).of(Text)]
