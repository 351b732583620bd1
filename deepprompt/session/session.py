"""A conversation that pays for every token once: a frozen prefix, and every change appended after it.

A session freezes the static prefix and the tools of a prompt. When the project's state, an instruction file, a skill or
a tool changes later, the session appends one message about it at the end. So each request starts with the previous one,
byte for byte, marks aside. Only `new_epoch` changes the prefix itself, and it says what that costs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from deepprompt.catalog import bundled
from deepprompt.errors import DeepPromptError, MessageError, SessionError
from deepprompt.prompt import Note, Prompt, read_part, write_part
from deepprompt.providers.facts import Facts
from deepprompt.providers.neutral import Options, Payload, ToolResult
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.request.content import read_message
from deepprompt.request.conversation import Conversation
from deepprompt.request.request import Request
from deepprompt.session.messages import plain_json, plain_message, plain_messages, tokens_of
from deepprompt.session.notices import Change, Notices
from deepprompt.session.prefix import as_prompt, comparable, frozen, prefix_tokens, same, shared
from deepprompt.session.record import Recorded, Verdict, judge, read_recorded
from deepprompt.session.route import Route
from deepprompt.session.saved import FORMAT, read_saved, write_saved
from deepprompt.text.display import display
from deepprompt.text.hygiene import is_blank
from deepprompt.tools import Fingerprint, fingerprint
from deepprompt.words import Lifetime, Marks, OnChange, Target


@dataclass(frozen=True, slots=True)
class EpochSwitch:
    """A new epoch: what changed in the prefix, and how many tokens, by estimate, have to be paid for again."""

    epoch: int
    changes: tuple[Change, ...]
    tokens: int


class Session:
    """One conversation on a frozen prefix.

    `on_change` says what happens when a part or a tool of the prefix changes. With `"notice"` the session tells the
    model in a message at the end; with `"wait"` the change waits for the next epoch. Changes to released wording always
    wait. The state of the project, everything after the boundary of a prompt, is sent whenever it changes. A prompt may
    be a plain text, which has no tools and no boundary.
    """

    def __init__(self, prompt: Prompt | str, *, on_change: OnChange = "notice") -> None:
        self._notices = Notices(on_change)
        self._messages: list[Mapping[str, object]] = []
        self._conversation = Conversation(known=True)  # the same messages in neutral values
        self.recorded: list[Recorded] = []
        """The recorded responses with their verdicts, saved with the session."""
        self.prefix = Prompt(())
        """The frozen static prefix and tools, as a `Prompt` of its own."""
        self.epoch = 0
        """The number of the prefix; the first is 1."""
        prompt = as_prompt(prompt)
        self._freeze(prompt)
        self.extend(prompt.messages)

    def _freeze(self, prompt: Prompt) -> tuple[Change, ...]:
        prefix = frozen(prompt)
        changes = self._notices.freeze(prompt)
        self.prefix = prefix
        self.epoch += 1
        self._routes: dict[tuple[str, str], Route] = {}
        return changes

    def __repr__(self) -> str:
        sizes = f"messages={len(self._messages)}, parts={len(self.prefix.parts)}, tools={len(self.prefix.tools)}"
        route = self._latest
        sent = f", to={route.to!r}, model={display(route.model)[:60]!r}" if route is not None else ""
        return f"Session(epoch={self.epoch}, {sizes}{sent})"

    @property
    def on_change(self) -> OnChange:
        """What happens when a part or a tool changes: `notice` or `wait`."""
        return self._notices.on_change

    @property
    def fingerprint(self) -> Fingerprint:
        """Digests of the frozen prefix and tools."""
        return fingerprint(self.prefix.text, self.prefix.tools)

    @property
    def messages(self) -> tuple[Mapping[str, object], ...]:
        """All messages in order; the list only grows."""
        return tuple(self._messages)

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The tool calls of the last response that have no result yet. Append all results before the next request."""
        calls = self._conversation.open_calls
        return tuple(OpenCall(given, call.name, call.arguments) for given, call in calls.items())

    @property
    def waiting(self) -> tuple[Change, ...]:
        """Changes that wait for the next epoch."""
        return self._notices.waiting

    def user(self, message: str | Mapping[str, object], prompt: Prompt | str | None = None) -> tuple[Change, ...]:
        """Append a user's message, after a message about what changed; return the parts and tools that changed.

        Pass the prompt as you would build it now. If you leave it out, the session assumes that nothing has changed
        since the last one. Changes in the project's state, after the boundary, are sent too and not returned.
        """
        if isinstance(message, str):
            if is_blank(message):
                raise MessageError("a user's message has text, and this one is blank; update() sends only what changed")
            message = {"role": "user", "content": message}
        own = plain_message(message)
        if own["role"] != "user":
            raise MessageError(f"the role of a user's message is user, not {own['role']!r}; append() takes any")
        return self._take([own], prompt)

    def update(self, prompt: Prompt | str) -> tuple[Change, ...]:
        """Append a message about what changed, without a user's message: between a tool result and the next request."""
        return self._take([], prompt)

    def append(self, message: object) -> None:
        """Append any message, such as a response or a tool result, as any of the providers spells it.

        It may be a mapping or an SDK's object, and a response may be whole. What a response holds is kept as it is and
        goes back to its own provider; another one that cannot take it is sent the rest, and the request's notes say so.
        A message that no provider takes is refused, and nothing is appended.
        """
        self.extend([message])

    def extend(self, messages: Iterable[object]) -> None:
        """Append several messages: all of them, or none if one is refused."""
        self._append([plain for message in messages for plain in plain_messages(message)])

    def _append(self, messages: Sequence[Mapping[str, object]]) -> None:
        self._conversation.extend(messages)
        self._messages += messages

    def _take(self, own: list[Payload], prompt: Prompt | str | None) -> tuple[Change, ...]:
        """Append the caller's message and the notices that go with it."""
        notices = self._notices
        changes = notices.changes if prompt is None else notices.compare(comparable(prompt, self.prefix))
        text = notices.text()
        news = [{"role": "user", "content": text}] if text else []
        # Tool results come first after their calls.
        self._append([*own, *news] if own and read_message(own[0], 0).of(ToolResult) else [*news, *own])
        notices.mark_sent()
        return changes

    def request(
        self,
        *,
        to: Target,
        model: str,
        max_tokens: int | None = None,
        stream: bool = False,
        marks: Marks = "auto",
        prefix_lifetime: Lifetime = "",
        lifetime: Lifetime = "",
        cache_key: str = "",
        facts: Facts | None = None,
    ) -> Request:
        """Return the request for the conversation so far: the same one until something is appended.

        The options are those of `build_request`, except that marks are either placed (`"auto"`) or left out (`"none"`).
        """
        options = Options(max_tokens, stream, marks, prefix_lifetime, lifetime, cache_key)
        route = self._routes.get((to, model)) or Route(to, model, notes=self._notes_on_first(to, model))
        request = route.request(self.prefix, self._conversation, options, facts)
        self._routes.pop((to, model), None)
        self._routes[to, model] = route  # the last of them is the latest
        return request

    def _notes_on_first(self, to: Target, model: str) -> tuple[Note, ...]:
        """Say that a model has nothing in its cache, where an earlier request went to another one."""
        if self._latest is None:
            return ()
        detail = f"all so far went to {self._latest}: {to}, {model} has none of it in its cache"
        return (Note("cache", "request", detail),)

    @property
    def _latest(self) -> Route | None:
        return next(reversed(self._routes.values()), None)

    def record(self, answer: object, *, at: float | None = None) -> Verdict:
        """Return what the cache did with the last request, given the provider's response to it or only its usage.

        `at` is when that request was started, in seconds of one clock, such as `time.time()`. Without it, a verdict
        cannot take lifetimes into account.
        """
        route = self._latest
        if route is None or route.current is None:
            raise SessionError("no request was made yet: call request() first")
        if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
            raise SessionError(f"at is a number of seconds, such as time.time(), not {type(at).__name__}")
        usage = answer if isinstance(answer, Usage) else read_usage(answer)
        elapsed = at - route.at_before if at is not None and route.at_before is not None else None
        route.at = at
        request = route.current
        verdict = judge(route.previous, request, usage, elapsed=elapsed, said=answer)
        if verdict.kind == "cold start" and len(self._routes) > 1:
            verdict = replace(verdict, kind="ours", detail=f"another model or provider: {request.to}, {request.model}")
        elif verdict.kind == "cold start" and self.epoch > 1:
            verdict = replace(verdict, detail=f"epoch {self.epoch} began with a new prefix")
        found = (request.tokens, usage, verdict.kind, verdict.detail, at)
        self.recorded.append(Recorded(request.to, request.model, route.size, *found))
        return verdict

    def epoch_cost(self, prompt: Prompt | str | None = None) -> int:
        """Return how many tokens, by estimate, a new epoch pays for again: its prefix and the conversation so far.

        An unchanged prefix costs nothing. Without a prompt, this is the cost of another prefix of the same size.
        """
        prefix = self.prefix if prompt is None else frozen(as_prompt(prompt))
        if prompt is not None and same(prefix, self.prefix):
            return 0
        return tokens_of(self._messages) + prefix_tokens(prefix.text, prefix.tools)

    def new_epoch(self, prompt: Prompt | str) -> EpochSwitch:
        """Freeze a new prefix and keep the conversation. Every token of it is paid for again: `tokens` of them.

        An unchanged prefix costs nothing. Notices that are no longer true are corrected in the next message.
        """
        old, routes = self.prefix, self._routes
        changes = self._freeze(as_prompt(prompt))
        if not same(old, self.prefix):
            return EpochSwitch(self.epoch, changes, self.epoch_cost())
        self._routes = routes
        return EpochSwitch(self.epoch, changes, 0)

    def derive(self, instruction: str, *, prompt: Prompt | str | None = None) -> Derived:
        """Return a new session that continues from this one: a compaction, or a subagent's session.

        Without a prompt it starts with all bytes of this session, so a provider reads them from its cache, as long as
        you ask the same model. With a prompt of its own it shares at most the start of the prefix, and `note` says how
        much. A response whose tool calls have no results yet is left out.
        """
        child = Session(self.prefix if prompt is None else prompt, on_change=self.on_change)
        if prompt is not None:
            child.user(instruction)
            return Derived(child, *shared(child.prefix, self.prefix))
        child.epoch = self.epoch
        child._append(self._messages[: self._conversation.answered])
        child._notices.restore(self._notices.state())
        child._routes = {key: replace(route, builder=None) for key, route in self._routes.items()}
        child.user(instruction)
        route = self._latest
        if route is None:
            return Derived(child, 0, "nothing of the parent was sent yet, so no cache has it")
        if route.current is not None and route.current.rules.caching == "none":
            return Derived(child, 0, f"{route} caches nothing")
        tokens = tokens_of(self._messages[: route.size]) + prefix_tokens(self.prefix.text, self.prefix.tools)
        return Derived(child, tokens, f"all that the parent sent to {route} is shared, with that model only")

    def compaction(self) -> Derived:
        """Return a session that asks the model to summarise this one, reading this one from the cache."""
        return self.derive(bundled().text("session", "1.0.0", "compaction").removesuffix("\n"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file that only its owner can read: the whole session, or nothing if that fails."""
        state = {
            "format": FORMAT,
            "epoch": self.epoch,
            "on_change": self.on_change,
            "parts": [write_part(part) for part in self.prefix.parts],
            "tools": self.prefix.tools,
            "notices": self._notices.state(),
            "lines": [[r.to, r.model, r.before, r.size, r.at] for r in self._routes.values()],
            "recorded": [recorded.row() for recorded in self.recorded],
            "messages": self._messages,
        }
        write_saved(os.fspath(path), plain_json(state).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Session:
        """Return a saved session: its next request is the one that it would have sent without the break."""
        name = os.fspath(path)
        state = read_saved(name)
        try:
            parts = tuple(read_part(row) for row in state["parts"])
            session = cls(Prompt(parts, state["tools"], fixed_order=True), on_change=state["on_change"])
            session.epoch = int(state["epoch"])
            session._notices.restore(state["notices"])
            session._append(state["messages"])
            session.recorded = [read_recorded(row) for row in state.get("recorded", ())]
            for to, model, before, size, at in state["lines"]:
                if not 0 <= before <= size <= len(session._messages):
                    raise ValueError(f"a request of {size} messages")
                session._routes[to, model] = Route(to, model, before, size, at=at)
        except (AttributeError, KeyError, TypeError, ValueError, DeepPromptError) as error:
            raise SessionError(f"{name}: damaged: {error!r:.200}; restore a copy, or start a new session") from None
        return session


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call that waits for its result."""

    id: str
    """The id that the result has to name."""
    name: str
    arguments: str
    """The arguments as the model wrote them, normally a JSON object."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A session that continues from another one, and how much of its first request is in that one's cache."""

    session: Session
    shared: int
    """How many tokens, by estimate."""
    note: str
