"""The requests that a session sends to one provider and model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deepprompt.prompt import Note, Prompt
from deepprompt.providers.facts import Facts
from deepprompt.providers.neutral import Options
from deepprompt.request.conversation import Conversation
from deepprompt.request.request import Request, RequestBuilder
from deepprompt.words import Target


@dataclass(slots=True)
class Route:
    """One provider and model, with the last two requests: their numbers of messages and when they were started."""

    to: Target
    model: str
    before: int = 0
    size: int = 0
    at_before: float | None = None
    at: float | None = None
    previous: Request | None = None
    current: Request | None = None
    builder: RequestBuilder | None = None
    facts: Facts | None = None
    notes: tuple[Note, ...] = ()
    """Notes for the first request."""
    ends: list[int] = field(default_factory=list)
    """How many messages each request had."""

    def __str__(self) -> str:
        return f"{self.to}, {self.model}"

    def request(self, prefix: Prompt, conversation: Conversation, options: Options, facts: Facts | None) -> Request:
        """Return the request for the whole conversation: the same one until a message is added."""
        if self.builder is None or self.facts is not facts:
            self.builder = RequestBuilder(prefix, conversation, to=self.to, model=self.model, facts=facts)
            self.facts = facts
        if self.size and self.current is None:  # the session was loaded: build the request that it sent last
            self.current = self.builder.build_next(options, self.before, self.size)
        again = conversation.size == self.size
        sent = self.before if again else self.size
        request = self.builder.build_next(options, sent)
        if not sent and self.notes:
            request = replace(request, notes=request.notes + self.notes)
        if not again:
            self.before, self.size = self.size, conversation.size
            self.ends.append(self.size)
            self.previous, self.at_before, self.at = self.current, self.at, None
        self.current = request
        return request

    def cut(self, size: int) -> Route:
        """Return the route without requests of more than `size` messages."""
        if self.size <= size:
            return replace(self, builder=None, ends=[*self.ends])
        ends = [end for end in self.ends if end <= size]
        before, last = ([0, 0, *ends])[-2:]
        return Route(self.to, self.model, before, last, facts=self.facts, ends=ends)

    def cached_before(self, size: int) -> int:
        """Return how many of the first `size` messages can be read from the cache: those of an earlier request."""
        if self.current is not None and self.current.rules.caching == "automatic":
            return min(size, self.size)
        return max([end for end in self.ends if end <= size], default=0)
