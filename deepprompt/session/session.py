"""A conversation that pays for every token once: a frozen prefix, and every change appended after it.

A session freezes the static prefix and the tools of a prompt. When the project's state, an instruction file, a skill or
a tool changes later, the session appends one message about it at the end. So each request starts with the previous one,
byte for byte, marks aside. Only `new_epoch` changes the prefix itself, and it says what that costs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deepprompt.catalog import bundled
from deepprompt.errors import DeepPromptError, SessionError
from deepprompt.prompt import Note, Prompt, read_part, write_part
from deepprompt.providers.facts import Facts
from deepprompt.providers.neutral import Options, Payload
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.request.request import Request
from deepprompt.session.alone import Alone
from deepprompt.session.derived import Derived, EpochSwitch, OpenCall
from deepprompt.session.history import History, text_of_summary
from deepprompt.session.messages import (
    as_messages,
    copied,
    from_sdk,
    is_response,
    plain_json,
    plain_messages,
    response_id,
    tokens_of,
    users_messages,
)
from deepprompt.session.notices import Change, summary_text
from deepprompt.session.prefix import as_prompt, comparable, frozen, prefix_tokens, same, shared
from deepprompt.session.record import Recorded, Verdict, judge, on_first
from deepprompt.session.route import Route
from deepprompt.session.saved import FORMAT, pack, read_file, unpack, write_file
from deepprompt.text.display import display
from deepprompt.tools import Fingerprint, fingerprint
from deepprompt.words import Lifetime, Marks, OnChange, Target

_VERSION = "1.2.0"
# What a saved session has to have.
_FIELDS = ("epoch", "on_change", "parts", "tools", "notices", "lines", "messages", "told", "news", "waiting")


class Session:
    """One conversation on a frozen prefix.

    `on_change` says what happens when a part or a tool of the prefix changes. With `"notice"` the session tells the
    model in a message at the end; with `"wait"` the change waits for the next epoch. `"native"` is like `"notice"`, but
    added and removed tools are announced in the provider's own way if it has one, so that the model can call them.
    Changes to released wording always wait. The state of the project, everything after the boundary of a prompt, is
    sent whenever it changes. A prompt may be a plain text, which has no tools and no boundary.

    One task at a time: a call during another one raises `SessionError`. A bad message raises `MessageError`.
    """

    def __init__(self, prompt: Prompt | str, *, on_change: OnChange = "notice") -> None:
        self._alone = Alone()
        self._history = History(on_change)
        self.prefix = Prompt(())
        """The frozen static prefix and tools, as a `Prompt` of its own."""
        self.epoch = 0
        """The number of the prefix; the first is 1."""
        prompt = as_prompt(prompt)
        self._freeze(prompt)
        self._history.append([plain for message in prompt.messages for plain in plain_messages(message)])

    def _freeze(self, prompt: Prompt) -> tuple[Change, ...]:
        prefix = frozen(prompt)
        changes = self._history.notices.freeze(prompt)
        self.prefix = prefix
        self.epoch += 1
        self._history.routes = {}
        return changes

    def __repr__(self) -> str:
        sizes = f"messages={self._history.size}, parts={len(self.prefix.parts)}, tools={len(self.prefix.tools)}"
        route = self._history.latest
        sent = f", to={route.to!r}, model={display(route.model)[:60]!r}" if route is not None else ""
        return f"Session(epoch={self.epoch}, {sizes}{sent})"

    @property
    def on_change(self) -> OnChange:
        """What happens when a part or a tool changes: `notice`, `wait` or `native`."""
        return self._history.notices.on_change

    @property
    def fingerprint(self) -> Fingerprint:
        """Digests of the frozen prefix and tools."""
        return fingerprint(self.prefix.text, self.prefix.tools)

    @property
    def messages(self) -> tuple[Mapping[str, object], ...]:
        """All messages in order. The list only grows, unless you go back with `rewind` or `replace_last`."""
        return tuple(self._history.messages)

    @property
    def recorded(self) -> list[Recorded]:
        """The recorded responses with their verdicts, saved with the session."""
        return self._history.recorded

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The tool calls of the last response that have no result yet. Append all results before the next request."""
        calls = self._history.conversation.open_calls
        return tuple(OpenCall(given, call.name, call.arguments) for given, call in calls.items())

    @property
    def waiting(self) -> tuple[Change, ...]:
        """Changes that wait for the next epoch."""
        return self._history.notices.waiting

    def user(
        self,
        message: str | Mapping[str, object] | Sequence[Mapping[str, object]],
        prompt: Prompt | str | None = None,
    ) -> tuple[Change, ...]:
        """Append a user's message, after a message about what changed; return the parts and tools that changed.

        The message is a text, a list of content blocks, or a whole message. Pass the prompt as you would build it now.
        If you leave it out, the session assumes that nothing has changed since the last one. Changes in the project's
        state, after the boundary, are sent too and not returned.
        """
        own = users_messages(message)
        with self._alone:
            return self._take(own, prompt)

    def update(self, prompt: Prompt | str) -> tuple[Change, ...]:
        """Append a message about what changed, without a user's message: between a tool result and the next request."""
        with self._alone:
            return self._take([], prompt)

    def append(self, message: object) -> None:
        """Append any message, such as a response or a tool result, as any of the providers spells it.

        It may be a mapping or an SDK's object, and a response may be whole. A response is stored unchanged and goes
        back to its own provider as it came. Another provider gets what it can take of it, and the request's notes list
        the rest. A message that no provider takes is refused, and nothing is appended. Before a user's own message, the
        session says what changed, as `user` does.
        """
        self.extend([message])

    def extend(self, messages: Iterable[object]) -> None:
        """Append several messages: all of them, or none if one is refused."""
        given = [from_sdk(message) for message in messages]
        shaped = [as_messages(message) for message in given]
        flat = copied([one for some in shaped for one in some])
        with self._alone:
            if flat and is_response(flat[0]):
                self._alone.check_response(self._history.size)
            if flat and flat[0].get("role") == "user":
                self._history.tell_before(flat)
            else:
                self._history.append(flat)
            end = self._history.size
            for message, some in zip(reversed(given), reversed(shaped), strict=True):
                if name := response_id(message):
                    self._history.responses[name] = end
                end -= len(some)

    def _take(self, own: list[Payload], prompt: Prompt | str | None) -> tuple[Change, ...]:
        """Append the caller's message and the notices that go with it."""
        notices = self._history.notices
        changes = notices.changes if prompt is None else notices.compare(comparable(prompt, self.prefix))
        self._history.tell(own)
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
        cached_content: str = "",
        previous_response_id: str = "",
        facts: Facts | None = None,
    ) -> Request:
        """Return the request for the conversation so far: the same one until something is appended.

        The options are those of `build_request`, except that marks are placed (`"auto"`), left to the provider as far
        as it can (`"automatic"`) or left out (`"none"`). `cached_content` is the name of Gemini's cached content of the
        prefix, see `build_cached_content(session.prefix, ...)`. `previous_response_id` is the id of a response of
        OpenAI's Responses that was appended whole: the body then holds only what came after it.
        """
        options = Options(max_tokens, stream, marks, prefix_lifetime, lifetime, cache_key, cached_content)
        with self._alone:
            history = self._history
            route = history.routes.get((to, model)) or Route(to, model, notes=self._notes_on_first(to, model))
            after = history.end_of(previous_response_id, to) if previous_response_id else None
            request = route.request(self.prefix, history.conversation, options, facts)
            if after is not None and route.builder is not None:
                request = route.builder.after_response(request, previous_response_id, after, options)
            history.routes.pop((to, model), None)
            history.routes[to, model] = route  # the last of them is the latest
            self._alone.note_request(history.size)
            return request

    def _notes_on_first(self, to: Target, model: str) -> tuple[Note, ...]:
        """Say that a model has nothing in its cache, where an earlier request went to another one."""
        if self._history.latest is None:
            return ()
        detail = f"all so far went to {self._history.latest}: {to}, {model} has none of it in its cache"
        return (Note("cache", "request", detail),)

    def record(self, answer: object, *, at: float | None = None) -> Verdict:
        """Return what the cache did with the last request, given the provider's response to it or only its usage.

        `at` is when that request was started, in seconds of one clock, such as `time.time()`. Without it, a verdict
        cannot take lifetimes into account. If OpenTelemetry is imported, the verdict is put on its current span too.
        """
        with self._alone:
            history = self._history
            route = history.latest
            if route is None or route.current is None:
                raise SessionError("no request was made yet: call request() first")
            if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
                raise SessionError(f"at is a number of seconds, such as time.time(), not {type(at).__name__}")
            usage = answer if isinstance(answer, Usage) else read_usage(answer)
            elapsed = at - route.at_before if at is not None and route.at_before is not None else None
            route.at = at
            request = route.current
            verdict = judge(route.previous, request, usage, elapsed=elapsed, said=answer)
            if route.previous is None:
                kept = (history.began, prefix_tokens(self.prefix.text, self.prefix.tools))
                verdict = on_first(verdict, request, others=len(history.routes) > 1, epoch=self.epoch, kept=kept)
            found = (request.tokens, usage, verdict.kind, verdict.detail, at)
            history.recorded.append(Recorded(request.to, request.model, route.size, *found))
            if "opentelemetry.trace" in sys.modules:
                from deepprompt.session.telemetry import trace

                trace(request, usage, verdict, self.prefix, self.epoch)
            return verdict

    def epoch_cost(self, prompt: Prompt | str | None = None) -> int:
        """Return how many tokens, by estimate, a new epoch pays for again: its prefix and the conversation so far.

        An unchanged prefix costs nothing. Without a prompt, this is the cost of another prefix of the same size.
        """
        prefix = self.prefix if prompt is None else frozen(as_prompt(prompt))
        if prompt is not None and same(prefix, self.prefix):
            return 0
        return tokens_of(self._history.messages) + prefix_tokens(prefix.text, prefix.tools)

    def new_epoch(self, prompt: Prompt | str) -> EpochSwitch:
        """Freeze a new prefix and keep the conversation. Every token of it is paid for again: `tokens` of them.

        An unchanged prefix costs nothing. Notices that are no longer true are corrected in the next message.
        """
        with self._alone:
            old, routes = self.prefix, self._history.routes
            changes = self._freeze(as_prompt(prompt))
            if not same(old, self.prefix):
                return EpochSwitch(self.epoch, changes, self.epoch_cost())
            self._history.routes = routes
            return EpochSwitch(self.epoch, changes, 0)

    def fork(self, at: int | None = None) -> Derived:
        """Return a copy of this session that goes its own way from a point, given as a number of messages.

        The default is everything up to the last response whose tool calls all have results. `shared` is how much of
        the copy's next request is in the cache.
        """
        with self._alone:
            return self._fork(self._history.conversation.answered if at is None else at)

    def _fork(self, at: int) -> Derived:
        child = Session(self.prefix, on_change=self.on_change)
        child.epoch = self.epoch
        self._history.copied_into(child._history, at)
        return Derived(child, *self._history.cached(self.prefix, at))

    def rewind(self, to: int) -> Derived:
        """Go back to a point, given as a number of messages, and say what stays in the cache. The rest is forgotten.

        `len(session.messages)` is the point you are at. The prefix stays as it is.
        """
        with self._alone:
            cached = (
                self._history.cached(self.prefix, to) if isinstance(to, int) and to <= self._history.size else (0, "")
            )
            self._history.cut(to)
            return Derived(self, *cached)

    def replace_last(
        self,
        message: str | Mapping[str, object] | Sequence[Mapping[str, object]] = "",
        prompt: Prompt | str | None = None,
    ) -> Derived:
        """Go back before the last response, to ask for another one; or, given a message, before the user's last one.

        The message takes the place of the user's last message and of everything after it.
        """
        with self._alone:
            at = self._history.last_question() if message else self._history.last_response()
        found = self.rewind(at)
        if message:
            self.user(message, prompt)
        return found

    def derive(self, instruction: str, *, prompt: Prompt | str | None = None) -> Derived:
        """Return a new session that continues from this one with a message: a side question, or a subagent's session.

        Without a prompt it starts with all bytes of this session, so a provider reads them from its cache, as long as
        you ask the same model. With a prompt of its own it shares at most the start of the prefix, and `note` says how
        much. A response whose tool calls have no results yet is left out.
        """
        if prompt is not None:
            child = Session(prompt, on_change=self.on_change)
            child.user(instruction)
            return Derived(child, *shared(child.prefix, self.prefix))
        found = self.fork()
        found.session.user(instruction)
        return found

    def compaction(self) -> Derived:
        """Return a session that asks the model to summarise this one, reading this one from the cache."""
        return self.derive(bundled().text("session", _VERSION, "compaction").removesuffix("\n"))

    def compacted(self, summary: object, prompt: Prompt | str | None = None) -> Derived:
        """Return a session that goes on from a summary in place of the conversation: a text, or the model's response.

        Prefix, tools, epoch and records stay, so the prefix is read from the cache; `shared` is its size, and `note`
        says what the summary costs. The state of the project and all notices are sent again.
        """
        text = summary if isinstance(summary, str) else text_of_summary(summary, plain_messages(summary))
        with self._alone:
            child = Session(self.prefix, on_change=self.on_change)
            child.epoch = self.epoch
            history = child._history
            history.notices.restore(self._history.notices.state(), self._history.size)
            history.notices.repeat()
            history.recorded = [replace(one, past=True) for one in self._history.recorded]
            history.began = "a summary replaced the conversation" if self._history.latest is not None else ""
            child._take([{"role": "user", "content": summary_text(text)}], prompt)
            kept, before = tokens_of(history.messages), tokens_of(self._history.messages)
            note = f"{kept:,} tokens replace a conversation of {before:,}; the prefix stays in the cache"
            sent = prefix_tokens(self.prefix.text, self.prefix.tools) if history.began else 0
            return Derived(child, sent, note)

    def to_bytes(self) -> bytes:
        """Return the session as bytes with a format number and a checksum, for a database or any other store."""
        with self._alone:
            state = {
                "format": FORMAT,
                "epoch": self.epoch,
                "on_change": self.on_change,
                "parts": [write_part(part) for part in self.prefix.parts],
                "tools": self.prefix.tools,
                **self._history.state(),
            }
            return pack(plain_json(state).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Session:
        """Return the session that `to_bytes` or `save` wrote: its next request is the one that it would have sent."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise SessionError(f"a saved session is bytes, not {type(data).__name__}; load(path) reads a file")
        return cls._restored(bytes(data), "the saved session")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file that only its owner can read: the whole session, or nothing if that fails."""
        write_file(os.fspath(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Session:
        """Return a saved session: its next request is the one that it would have sent without the break."""
        name = os.fspath(path)
        if isinstance(name, bytes):
            raise SessionError("load takes the path of a file; from_bytes takes the bytes of a session")
        return cls._restored(read_file(name), name)

    @classmethod
    def _restored(cls, data: bytes, name: str) -> Session:
        state = unpack(data, name)
        try:
            parts = tuple(read_part(row) for row in state["parts"])
            session = cls(Prompt(parts, state["tools"], fixed_order=True), on_change=state["on_change"])
            session.epoch = int(state["epoch"])
            session._history.restore(state)
        except (AttributeError, KeyError, TypeError, ValueError, DeepPromptError) as error:
            # A missing field may be named; anything else that an error says may be part of the conversation.
            why = repr(error) if isinstance(error, KeyError) and error.args[0] in _FIELDS else type(error).__name__
            raise SessionError(f"{name}: damaged: {why}; restore a copy, or start a new session") from None
        return session
