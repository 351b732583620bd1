"""A conversation that pays for every token once: a frozen prefix, and everything that changes appended behind it.

A session freezes the static prefix and the tools of a prompt. What moves later, the project's state, an instruction
file, a skill, a tool, becomes a message at the tail, once, and only when it moved; so each request starts with the
one before it, byte for byte, marks aside. The prefix itself changes only with `new_epoch`, which says what it costs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deepprompt.catalog import bundled
from deepprompt.errors import DeepPromptError, MessageError, SessionError
from deepprompt.prompt import Note, Pace, Part, Prompt, read_part, write_part
from deepprompt.providers.facts import Facts
from deepprompt.providers.neutral import Options
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.request.conversation import Conversation
from deepprompt.request.outline import not_a_prompt
from deepprompt.request.request import Request, RequestBuilder
from deepprompt.session.messages import has_results, plain_json, plain_message
from deepprompt.session.notices import Change, Notices
from deepprompt.session.record import Recorded, Verdict, judge, read_recorded
from deepprompt.session.saved import FORMAT, read_saved, write_saved
from deepprompt.text.compare import shared_start
from deepprompt.text.hygiene import is_blank, scrub
from deepprompt.tokens import estimate_tokens
from deepprompt.tools import Fingerprint, canonical_tools, fingerprint
from deepprompt.words import Lifetime, Marks, OnChange, Target

_TEXT = "argument:prompt"  # the origin of a prompt that is a plain text


@dataclass(frozen=True, slots=True)
class EpochSwitch:
    """A new epoch: what its prefix changed, and how many tokens have to be paid for again, by estimate."""

    epoch: int
    changes: tuple[Change, ...]
    tokens: int


@dataclass(slots=True)
class _Line:
    """The requests to one provider and model: how many messages the last two had, when they were started."""

    before: int = 0
    size: int = 0
    at_before: float | None = None
    at: float | None = None
    previous: Request | None = None
    current: Request | None = None
    builder: RequestBuilder | None = None
    facts: Facts | None = None
    notes: tuple[Note, ...] = ()


class Session:
    """One conversation on a frozen prefix.

    `on_change` says what becomes of a part or tool that moves: `"notice"`, the model is told at the tail; `"wait"`, it
    waits for the next epoch. New released wording always waits. The state of the project, all behind the boundary of a
    prompt, is told whenever it moves. A prompt may be a plain text, which has no tools and no boundary.
    """

    def __init__(self, prompt: Prompt | str, *, on_change: OnChange = "notice") -> None:
        self._notices = Notices(on_change)
        self._messages: list[Mapping[str, object]] = []
        self._conversation = Conversation()
        """The same messages in neutral values."""
        self.recorded: list[Recorded] = []
        """What `record` was told, and what it made of it; saved with the session."""
        self.prefix = Prompt(())
        """What is frozen: the static prefix with the tools, as a `Prompt` of its own."""
        self.epoch = 0
        """How many prefixes there were; the first is 1."""
        prompt = _as_prompt(prompt)
        self._freeze(prompt)
        self.extend(prompt.messages)

    def _freeze(self, prompt: Prompt) -> tuple[Change, ...]:
        prefix = _frozen(prompt)
        changes = self._notices.freeze(prompt)
        self.prefix = prefix
        self.epoch += 1
        self._lines: dict[tuple[Target, str], _Line] = {}
        return changes

    @property
    def on_change(self) -> OnChange:
        """What becomes of a part or tool that moves: `notice` or `wait`."""
        return self._notices.on_change

    @property
    def fingerprint(self) -> Fingerprint:
        """The digests of the frozen prefix and tools."""
        return fingerprint(self.prefix.text, self.prefix.tools)

    @property
    def messages(self) -> tuple[Mapping[str, object], ...]:
        """Everything that was said, in order; it only grows."""
        return tuple(self._messages)

    @property
    def waiting(self) -> tuple[Change, ...]:
        """What moved and waits for the next epoch."""
        return self._notices.waiting

    def user(self, message: str | Mapping[str, object], prompt: Prompt | str | None = None) -> tuple[Change, ...]:
        """Append a user's message, before it whatever moved since the last one; return which parts and tools that was.

        `prompt` is the prompt as it would be built now; without one, nothing has moved since the last that was given.
        The state of the project, all behind the boundary, is told too where it moved, and is not among the changes.
        """
        if isinstance(message, str):
            if is_blank(message):
                raise MessageError("a user's message has a text, and this one is blank; update() tells only what moved")
            message = {"role": "user", "content": message}
        own = plain_message(message)
        if own["role"] != "user":
            raise MessageError(f"the role of a user's message is user, not {own['role']!r}; append() takes any")
        return self._take([own], prompt)

    def update(self, prompt: Prompt | str) -> tuple[Change, ...]:
        """Append whatever moved, without a user's message: between a tool's result and the next request."""
        return self._take([], prompt)

    def append(self, message: object) -> None:
        """Append any message: an answer or a tool's result, as Chat Completions or Anthropic's Messages has it.

        A mapping, or the object of an SDK. What could never be sent is refused here, and nothing is appended.
        """
        self.extend([message])

    def extend(self, messages: Iterable[object]) -> None:
        """Append several messages, or none of them."""
        self._append([plain_message(message) for message in messages])

    def _append(self, messages: Sequence[Mapping[str, object]]) -> None:
        self._conversation.extend(messages)
        self._messages += messages

    def _take(self, own: list[dict[str, Any]], prompt: Prompt | str | None) -> tuple[Change, ...]:
        """Append the caller's message and what the model is to be told with it."""
        changes = self._notices.changes if prompt is None else self._notices.look_at(self._of_its_kind(prompt))
        text = self._notices.text()
        news = [{"role": "user", "content": text}] if text else []
        # The results of calls come first in what follows them.
        self._append([*own, *news] if own and has_results(own[0]) else [*news, *own])
        self._notices.tell()
        return changes

    def _of_its_kind(self, prompt: Prompt | str) -> Prompt:
        """Return a prompt to compare with the frozen one. The parts of the one are nobody's in a text, and all gone."""
        given = _as_prompt(prompt)
        if _is_text(given) != _is_text(self.prefix):
            began, now = ("a text", "a Prompt") if _is_text(self.prefix) else ("a Prompt", "a text")
            raise SessionError(
                f"this session began with {began}, and cannot be compared with {now}; give the same kind"
            )
        return given

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
        """Return the request for everything so far: the same one until something is appended.

        The options are those of `build_request`; the marks are placed (`"auto"`) or left out (`"none"`).
        """
        options = Options(max_tokens, stream, marks, prefix_lifetime, lifetime, cache_key)
        line = self._lines.get((to, model)) or _Line(notes=self._notes_on_first(to, model))
        if line.builder is None or line.facts is not facts:
            line.builder = RequestBuilder(self.prefix, self._conversation, to=to, model=model, facts=facts)
            line.facts = facts
        if line.size and line.current is None:  # loaded: the request before is the one that it was
            line.current = line.builder.build_next(options, line.before, line.size)
        again = len(self._messages) == line.size
        sent = line.before if again else line.size
        request = line.builder.build_next(options, sent)
        if not sent and line.notes:
            request = replace(request, notes=request.notes + line.notes)
        if not again:
            line.before, line.size = line.size, len(self._messages)
            line.previous, line.at_before, line.at = line.current, line.at, None
        line.current = request
        self._lines.pop((to, model), None)
        self._lines[to, model] = line  # the last of them is the latest
        return request

    def _notes_on_first(self, to: Target, model: str) -> tuple[Note, ...]:
        """Say that a model was sent nothing yet, where another was."""
        if not self._lines:
            return ()
        last = ", ".join(next(reversed(self._lines)))
        return (Note("cache", "request", f"all so far went to {last}: {to}, {model} has nothing of it in its cache"),)

    def record(self, answer: object, *, at: float | None = None) -> Verdict:
        """Return what became of the cache in the last request, by the provider's answer to it or its usage alone.

        `at` is when that request was started, in seconds of one clock, such as `time.time()`; without it nothing can
        be said of lifetimes.
        """
        line = self._latest()
        if line.current is None:
            raise SessionError("no request was made yet: call request() first")
        if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
            raise SessionError(f"at is a number of seconds, such as time.time(), not {type(at).__name__}")
        usage = answer if isinstance(answer, Usage) else read_usage(answer)
        elapsed = at - line.at_before if at is not None and line.at_before is not None else None
        line.at = at
        request = line.current
        verdict = judge(line.previous, request, usage, elapsed=elapsed, said=answer)
        if verdict.kind == "cold start" and len(self._lines) > 1:
            verdict = replace(verdict, kind="ours", detail=f"another model or provider: {request.to}, {request.model}")
        elif verdict.kind == "cold start" and self.epoch > 1:
            verdict = replace(verdict, detail=f"epoch {self.epoch} began with a new prefix")
        found = (request.tokens, usage, verdict.kind, verdict.detail, at)
        self.recorded.append(Recorded(request.to, request.model, line.size, *found))
        return verdict

    def _latest(self) -> _Line:
        return next(reversed(self._lines.values()), _Line())

    def epoch_cost(self, prompt: Prompt | str | None = None) -> int:
        """Return how many tokens, by estimate, a new epoch pays for again: its prefix and all that was said so far.

        With the prefix that there is, none; without a prompt, what another one of the same size costs.
        """
        prefix = self.prefix if prompt is None else _frozen(_as_prompt(prompt))
        if prompt is not None and _same(prefix, self.prefix):
            return 0
        return self._tokens(len(self._messages)) + _prefix_tokens(prefix.text, prefix.tools)

    def _tokens(self, size: int) -> int:
        return sum(estimate_tokens(plain_json(message)) for message in self._messages[:size])

    def new_epoch(self, prompt: Prompt | str) -> EpochSwitch:
        """Freeze a new prefix and keep the conversation, of which every token is paid for again: `tokens` of them.

        With the same prefix as before nothing is. What was told of a part and is so no longer, the next message tells.
        """
        old, lines = self.prefix, self._lines
        changes = self._freeze(_as_prompt(prompt))
        if not _same(old, self.prefix):
            return EpochSwitch(self.epoch, changes, self.epoch_cost())
        self._lines = lines
        return EpochSwitch(self.epoch, changes, 0)

    def derive(self, instruction: str, *, prompt: Prompt | str | None = None) -> Derived:
        """Return a session of its own that goes on from this one: a compaction, or a subagent's.

        Without a prompt it starts with all of this session's bytes, so a provider reads them from its cache, as long as
        the same model is asked. With a prompt of its own it shares no more than both begin with, and `note` says so.
        An answer whose tool calls have no results yet is left out.
        """
        child = Session(self.prefix if prompt is None else prompt, on_change=self.on_change)
        if prompt is not None:
            child.user(instruction)
            return Derived(child, *self._shared_with(child.prefix))
        child.epoch = self.epoch
        child._append(self._messages[: self._conversation.answered])
        child._notices.restore(self._notices.state())
        child._lines = {key: replace(line, builder=None) for key, line in self._lines.items()}
        child.user(instruction)
        if not self._lines:
            return Derived(child, 0, "nothing of the parent was sent yet, so no cache has it")
        last, line = ", ".join(next(reversed(self._lines))), self._latest()
        if line.current is not None and line.current.rules.caching == "none":
            return Derived(child, 0, f"{last} caches nothing")
        shared = self._tokens(line.size) + _prefix_tokens(self.prefix.text, self.prefix.tools)
        return Derived(child, shared, f"all that the parent sent to {last} is shared, with that model only")

    def _shared_with(self, other: Prompt) -> tuple[int, str]:
        """Return how many tokens a prefix shares with this one, and a sentence about it. Tools stand first in both."""
        if canonical_tools(other.tools) != canonical_tools(self.prefix.tools):
            return 0, "nothing is shared: other tools, another cache"
        start = other.text[: shared_start(other.text, self.prefix.text)]
        tokens = _prefix_tokens(start, other.tools)
        if other.text == self.prefix.text:
            return tokens, "the whole prefix is shared, and nothing of the conversation"
        shared = [*(["the tools"] if other.tools else []), *(["the start of the system prompt"] if start else [])]
        return tokens, f"{' and '.join(shared) or 'nothing'} shared at most: another system prompt, another cache"

    def compaction(self) -> Derived:
        """Return the session that asks the model to summarise this one, out of the cache of this one."""
        return self.derive(bundled().text("session", "1.0.0", "compaction").removesuffix("\n"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, whole or not at all, readable by its owner only."""
        state = {
            "format": FORMAT,
            "epoch": self.epoch,
            "on_change": self.on_change,
            "parts": [write_part(part) for part in self.prefix.parts],
            "tools": self.prefix.tools,
            "notices": self._notices.state(),
            "lines": [[*key, line.before, line.size, line.at] for key, line in self._lines.items()],
            "recorded": [recorded.row() for recorded in self.recorded],
            "messages": self._messages,
        }
        write_saved(os.fspath(path), plain_json(state).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Session:
        """Return a session as it was saved: its next request is the one that it would have been."""
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
                session._lines[to, model] = _Line(before, size, at=at)
        except (AttributeError, KeyError, TypeError, ValueError, DeepPromptError) as error:
            raise SessionError(f"{name}: damaged: {error!r:.200}; restore a copy, or start a new session") from None
        return session


@dataclass(frozen=True, slots=True)
class Derived:
    """A session that was made of another one, and how much of its first request that one's cache holds."""

    session: Session
    shared: int
    """In tokens, by estimate."""
    note: str


def _as_prompt(prompt: Prompt | str) -> Prompt:
    """Return a prompt; a plain text is one part, whose changes are told like those of a project's instructions."""
    if isinstance(prompt, str):
        return Prompt((Part("prompt", prompt, Pace.PROJECT, _TEXT),))
    if not isinstance(prompt, Prompt):
        raise SessionError(f"a session takes a Prompt or a text, {not_a_prompt(prompt)}")
    return prompt


def _is_text(prompt: Prompt) -> bool:
    return [part.origin for part in prompt.parts] == [_TEXT]


def _frozen(prompt: Prompt) -> Prompt:
    """Return the static prefix and the tools of a prompt, as values of our own."""
    # What is frozen does not change with the turn, whatever pace it was given: all of it may be cached.
    parts = [
        Part(_clean(part.name), _clean(part.text), min(part.pace, Pace.SESSION), _clean(part.origin))
        for part in prompt.static_parts
    ]
    return Prompt(tuple(parts), json.loads(plain_json(prompt.tools)), fixed_order=True)


def _same(one: Prompt, other: Prompt) -> bool:
    """Whether two frozen prefixes are the same, the keys of their tools in the same order too."""
    return (one, plain_json(one.tools)) == (other, plain_json(other.tools))


def _prefix_tokens(text: str, tools: Iterable[Mapping[str, object]]) -> int:
    return estimate_tokens(text) + estimate_tokens(canonical_tools(tools))


def _clean(text: str) -> str:
    return scrub(text, "part", [])
