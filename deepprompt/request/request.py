"""The one pipeline from a prompt and a conversation to a provider's request: outline, write, plan the marks, say why.

A `RequestBuilder` makes the requests of a conversation as it grows; `build_request` makes one and is done. The same
input gives the same bytes, and one more turn changes nothing that was sent before, except where the marks stand.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace, Prompt
from deepprompt.providers import TARGETS, anthropic, bedrock, deepseek, gemini, litellm, openai, responses
from deepprompt.providers.draft import Draft
from deepprompt.providers.facts import Facts, bundled_facts
from deepprompt.providers.neutral import Message, Options, Outline, Payload, api_of
from deepprompt.providers.readable import says_something, without_blank_texts
from deepprompt.providers.rules import Rules, near_model, seconds
from deepprompt.providers.spots import Settled, Tools
from deepprompt.request.conversation import Conversation
from deepprompt.request.marks import Mark, plan_marks, previous_end
from deepprompt.request.outline import not_a_prompt, read_prompt, with_messages
from deepprompt.words import Lifetime, Marks, Target

WRITERS: dict[Target, Callable[[Outline, Draft], Mapping[str, object]]] = {
    "anthropic": anthropic.write,
    "bedrock": bedrock.write,
    "deepseek": deepseek.write,
    "gemini": gemini.write,
    "litellm": litellm.write,
    "openai": openai.write,
    "openai-responses": responses.write,
}

# What can be asked of the marks of a conversation that grows.
_GROWING: tuple[Marks, ...] = ("auto", "automatic", "none")


@dataclass(frozen=True, slots=True)
class Request:
    """A provider's request. `body` is the JSON to send; `arguments` are for the method of the official SDK."""

    to: Target
    model: str
    body: Payload
    marks: tuple[Mark, ...]
    notes: tuple[Note, ...]
    rules: Rules = field(repr=False)
    """The provider's rules for this model, which the request follows."""
    tokens: int
    """The tokens of the input, by estimate; images count as zero."""
    betas: tuple[str, ...] = ()
    """The features in trial that the body needs, by Anthropic's names for them."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the body needs, beside the usual ones. `arguments` has them."""
        return {"anthropic-beta": ",".join(self.betas)} if self.betas else {}

    @property
    def arguments(self) -> Payload:
        """Keyword arguments for `messages.create`, `chat.completions.create`, `responses.create`, `converse` ..."""
        if self.betas:
            return {**self.body, "extra_headers": self.headers}
        if self.to == "bedrock":
            return bedrock.arguments(self.model, self.body)
        return gemini.arguments(self.model, self.body) if self.to == "gemini" else self.body

    def explain(self) -> str:
        """Return a readable report: where the marks are and why, and on which facts that rests."""
        lines = [f"{self.to}, {self.model}: about {self.tokens:,} input tokens", f"  {_caching(self.rules)}"]
        width = max((len(mark.place) for mark in self.marks), default=0)
        for mark in self.marks:
            lines.append(f"  {mark.place:{width}}  {mark.lifetime:>3}  ~{mark.tokens:,} tokens: {mark.why}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)]) + "\n"


def _caching(rules: Rules) -> str:
    """Return a sentence on how a provider caches."""
    how = {
        "marked": f"caches up to its marks, at most {rules.marks}",
        "implicit": f"caches up to the newest message and up to its marks, at most {rules.marks}",
        "automatic": "caches automatically, without marks",
        "none": "takes no marks here",
    }[rules.caching]
    least = f", from {rules.minimum:,} tokens" if rules.minimum else ""
    lives = f", for {' or '.join(rules.lifetimes)}" if rules.lifetimes else ""
    return f"{how}{least}{lives} (facts of {rules.as_of})"


class RequestBuilder:
    """Builds the requests for one conversation on one prompt, for one provider and model.

    Messages before the last response are settled: they are written once, without marks, and every later body shares
    them. Read and send a body, but do not change it. With `strict`, a user's block that the provider does not take is
    refused; otherwise a sentence replaces it, with a note.
    """

    def __init__(
        self,
        prompt: Prompt | str,
        conversation: Conversation,
        *,
        to: Target,
        model: str,
        tools: Iterable[Mapping[str, object]] | None = None,
        facts: Facts | None = None,
        strict: bool = False,
    ) -> None:
        self._to, self._rules = to, _rules_of(to, model, facts)
        self._strict = strict
        self._conversation = conversation
        self._notes: list[Note] = []
        self._outline = read_prompt(prompt, tools, model, self._notes)
        self._settled = Settled()
        self._settled_messages = 0
        self._new = 0
        self._tools = Tools()

    def build(self, options: Options, sent: int | None = None, size: int | None = None) -> Request:
        """Return the request for the whole conversation, or for the first `size` of its messages.

        `sent` is how many messages the previous request had; by default, all before the last response.
        """
        messages = self._window(size)
        return self._build(messages, options, _answered(messages) if sent is None else sent)

    def _build(self, window: list[Message], options: Options, sent: int, settled: int = 0, new: int = 0) -> Request:
        """Return the request for the settled messages and a window; its first `settled` messages are settled now.

        The notes are those of the messages from `new` on.
        """
        notes = self._notes + _notes(window[settled:], new)
        outline = self._outlined(window, _checked(options, self._to))
        _note_state(outline, notes)
        if self._new != new:
            self._new = new
            self._settled.forget_notes()
        until = window[settled].index if settled else 0
        # Of messages that no request had yet, only the last that carries a mark is of interest to the next one.
        since = 0 if new else min(until, next((one.index for one in reversed(window) if _carries(one, self._rules)), 0))
        draft = self._draft(notes, self._settled, until, new, since)
        draft.settling += _notes(window[:settled], new)
        body = cast(Payload, WRITERS[self._to](outline, draft))  # marks are put into it
        if settled:
            before = previous_end(draft.spots, self._rules, sent)
            draft.settle(sent if before is None else draft.spots[before].message)
            if not self._settled_messages:
                self._outline = replace(outline, messages=())  # with the system messages at the start
            self._settled_messages += settled
        _note_unused(outline.options, body, self._rules, notes)
        marks = plan_marks(body, draft.spots, self._rules, options, sent, notes)
        return _finished(self._to, body, draft, marks, [*self._settled.notes, *notes])

    def build_next(self, options: Options, sent: int, size: int | None = None) -> Request:
        """Return the same request as `build`, in time proportional to the messages since the previous request.

        It has the notes of those messages only.
        """
        if options.marks not in _GROWING:  # the caller's own marks may be in settled messages
            choices = ", ".join(map(repr, _GROWING))
            raise MessageError(f"in a conversation that grows, marks is one of {choices}, not {options.marks!r}")
        window = self._window(size)
        return self._build(window, options, sent, self._end_of_settled(window), sent)

    def after_response(self, whole: Request, response: str, after: int, options: Options) -> Request:
        """Return a request of OpenAI's Responses with only the messages after a response that OpenAI has stored.

        The system prompt is among what is stored; tools are not.
        """
        rest = tuple(message for message in self._conversation.messages if message.index >= after)
        if not rest:
            raise MessageError(f"nothing was appended after response {response!r}: append the next message")
        outline = replace(self._outline, system=(), messages=rest, options=options)
        body = WRITERS[self._to](outline, self._draft([], Settled(size=after)))
        named = {"model": whole.body["model"], "previous_response_id": response}
        return replace(whole, body={**named, **{key: value for key, value in body.items() if key != "model"}}, marks=())

    def build_cached_content(self, ttl: str) -> Request:
        """Return the request that makes Gemini's cached content out of the prompt and the conversation."""
        notes = [*self._notes, *_notes(self._window())]
        draft = self._draft(notes, Settled())
        body = {**gemini.write_cached(self._outlined(self._window(), Options()), draft, ttl)}
        return _finished(self._to, body, draft, [], notes, self._rules.explicit_minimum)

    def _draft(self, notes: list[Note], settled: Settled, until: int = 0, new: int = 0, since: int = 0) -> Draft:
        api, strict, tools = api_of(self._to), self._strict, self._tools
        return Draft(self._rules, notes, api, settled, strict=strict, tools=tools, until=until, new=new, since=since)

    def _window(self, size: int | None = None) -> list[Message]:
        """Return the messages that are not settled, of all or of the caller's first `size`."""
        messages = self._conversation.messages
        end = len(messages)
        if size is not None and size < self._conversation.size:
            end = bisect_left(messages, size, key=lambda message: message.index)
        else:
            self._conversation.check_answered()
        return messages[self._settled_messages : end]

    def _outlined(self, messages: list[Message], options: Options) -> Outline:
        if not self._settled.size:
            return replace(with_messages(self._outline, messages), options=options)
        outline = self._outline
        return Outline(outline.system, outline.tools, tuple(messages), outline.model, options)

    def _end_of_settled(self, window: list[Message]) -> int:
        """Return how many messages can be settled: those before the last response, if a user's is among them.

        Until a response follows, the user's last messages may become one with the next. System messages at the start
        belong to the system prompt.
        """
        api = api_of(self._to)
        after = 0
        for number in range(len(window) - 1, -1, -1):
            message = window[number]
            if message.role == "assistant":
                after = number if says_something(message, api) else after
            elif after and says_something(message, api):
                users = (one for one in window[: number + 1] if one.role == "user" and says_something(one, api))
                return after if self._settled.size or next(users, None) else 0
        return 0


def build_request(
    prompt: Prompt | str | Sequence[Mapping[str, object]],
    messages: Iterable[Mapping[str, object]] = (),
    *,
    to: Target,
    model: str,
    tools: Iterable[Mapping[str, object]] | None = None,
    max_tokens: int | None = None,
    stream: bool = False,
    marks: Marks = "",
    prefix_lifetime: Lifetime = "",
    lifetime: Lifetime = "",
    sent: int | None = None,
    cache_key: str = "",
    cached_content: str = "",
    facts: Facts | None = None,
) -> Request:
    """Return a provider's request for a prompt, or for a list of messages, and for the messages after it.

    `marks` is `"auto"` (the planner places them), `"automatic"` (Anthropic places the one at the newest message),
    `"own"` (those in the messages, and the end of the prefix) or `"none"`. The default is `"own"` if the messages carry
    any, else `"auto"`. `prefix_lifetime` and `lifetime` ask for cache entries of the prefix and of the conversation
    that live longer. `sent` is how many of the messages the previous request had; by default, all before the last
    response. Raises `MessageError` for messages, options or a target that no provider takes, and `ToolError` for a bad
    tool.
    """
    builder = _builder(prompt, messages, to, model, tools, facts)
    if sent is not None:
        if isinstance(sent, bool) or not isinstance(sent, int) or sent < 0:
            raise MessageError(f"sent is how many messages were sent before, not {sent!r}")
        sent += len(prompt.messages) if sent and isinstance(prompt, Prompt) else 0
    options = Options(max_tokens, stream, marks, prefix_lifetime, lifetime, cache_key, cached_content)
    return builder.build(options, sent)


def build_cached_content(
    prompt: Prompt | str | Sequence[Mapping[str, object]],
    messages: Iterable[Mapping[str, object]] = (),
    *,
    model: str,
    ttl: str | int = "3600s",
    tools: Iterable[Mapping[str, object]] | None = None,
    facts: Facts | None = None,
) -> Request:
    """Return the request that makes Gemini's cached content: the static prefix, the tools, messages up to a mark.

    The response has a name; `build_request(..., to="gemini", cached_content=NAME)` then sends only the rest. Raises
    `MessageError` for a wrong `ttl`, and as `build_request` does.
    """
    return _builder(prompt, messages, "gemini", model, tools, facts).build_cached_content(_in_seconds(ttl))


def _in_seconds(ttl: str | int) -> str:
    """Return a lifetime as Gemini takes it, `3600s`: from a number of seconds, or from `10m` or `1h`."""
    if isinstance(ttl, int) and not isinstance(ttl, bool) and ttl > 0:
        return f"{ttl}s"
    if isinstance(ttl, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?s", ttl):
        return ttl
    if isinstance(ttl, str) and re.fullmatch(r"[0-9]+[mh]", ttl):
        return f"{seconds(ttl):.0f}s"
    raise MessageError(f"ttl is a number of seconds, or such as '3600s', '10m' or '1h', not {ttl!r}")


def _builder(
    prompt: Prompt | str | Sequence[Mapping[str, object]],
    messages: Iterable[Mapping[str, object]],
    to: Target,
    model: str,
    tools: Iterable[Mapping[str, object]] | None,
    facts: Facts | None,
) -> RequestBuilder:
    """Return the builder for a conversation that is sent once."""
    before: Iterable[Mapping[str, object]] = ()
    if isinstance(prompt, Prompt):
        before = prompt.messages
    elif not isinstance(prompt, str):
        if not isinstance(prompt, Iterable):
            raise MessageError(f"a request takes a Prompt, a text or messages, {not_a_prompt(prompt)}")
        before, prompt = prompt, ""
    if not isinstance(messages, Iterable):
        raise MessageError(f"messages are a list, each with a role and content, not {type(messages).__name__}")
    conversation = Conversation()
    builder = RequestBuilder(prompt, conversation, to=to, model=model, tools=tools, facts=facts, strict=True)
    conversation.extend([*before, *messages])
    return builder


def _notes(messages: Iterable[Message], new: int = 0) -> list[Note]:
    """Return what was noted when the messages from `new` on were read."""
    return [note for message in messages if message.index >= new for note in message.notes]


def _finished(
    to: Target, body: Payload, draft: Draft, marks: list[Mark], notes: list[Note], minimum: int = 0
) -> Request:
    """Return a written body as a request, with notes if the model is unknown or the request too small to be cached."""
    rules = draft.rules
    if not rules.known:
        detail = f"not in the facts of {rules.as_of}: built by the careful rules for any model; give your own as facts"
        if near := near_model(rules.model, rules.named):
            detail += f"; did you mean {near!r}?"
        notes.insert(0, Note("model", rules.model or "(none)", detail))
    tokens = sum(spot.tokens for spot in draft.spots)
    minimum = minimum or rules.minimum
    if not marks and tokens < minimum:
        detail = f"about {tokens:,} tokens; {to} caches nothing below {minimum:,} (facts of {rules.as_of})"
        notes.append(Note("cache", "request", detail))
    return Request(to, rules.model, body, tuple(marks), tuple(notes), rules, tokens, tuple(sorted(draft.betas)))


def _note_state(outline: Outline, notes: list[Note]) -> None:
    """Note what prevents a request from being sent or cached."""
    if not outline.messages:
        notes.append(Note("kept", "messages", "no message yet: append the user's before this is sent"))
    elif any(block.pace is Pace.TURN for block in outline.system) and not outline.options.cached_content:
        detail = (
            "it changes with the turn, and whenever it does, nothing after it is read from the cache; "
            "a Session sends it at the end of the conversation"
        )
        notes.append(Note("pace", "the end of the system prompt", detail))


def _note_unused(options: Options, body: Payload, rules: Rules, notes: list[Note]) -> None:
    """Note options that the provider does not take."""
    if options.cache_key and "prompt_cache_key" not in body:
        notes.append(Note("cache", "cache_key", f"{rules.provider} takes none: left out"))
    if options.stream and "stream" not in body:
        detail = f"{rules.provider} streams by another method, which takes the same request"
        notes.append(Note("kept", "stream", detail))


def _rules_of(to: Target, model: str, facts: Facts | None) -> Rules:
    """Return the rules for a model of a target, from the caller's facts or from the bundled ones."""
    facts = bundled_facts() if facts is None else facts
    if not isinstance(facts, Facts):
        raise MessageError(f"facts are what load_facts(path) or bundled_facts() returns, not {facts!r:.60}")
    if to not in WRITERS:
        engine = "; an engine of your own takes what openai does" if to in facts.providers() else ""
        raise MessageError(f"cannot write a request for {to!r}; there are: {', '.join(TARGETS)}{engine}")
    if not isinstance(model, str) or not model.strip():
        raise MessageError("a request needs the name of its model")
    return facts.rules(facts.behind(to, model), model)


def _checked(options: Options, to: Target) -> Options:
    """Return options, or refuse values that cannot be sent. The planner checks the options for marks."""
    limit, name = options.max_tokens, options.cached_content
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise MessageError(f"max_tokens is a whole number from 1 on, not {limit!r}")
    if name and to != "gemini":
        raise MessageError(f"cached content is Gemini's; {to} takes none")
    if name and (not isinstance(name, str) or not name.startswith(("cachedContents/", "projects/"))):
        raise MessageError(f"the name of cached content is cachedContents/ID, not {name!r}")
    return options


def _answered(messages: Sequence[Message]) -> int:
    """Return how many of the caller's messages come before the last response."""
    end = len(messages)
    while end and messages[end - 1].role != "assistant":
        end -= 1
    while end and messages[end - 1].role == "assistant":  # a response may be several messages
        end -= 1
    return messages[end - 1].index + 1 if end else 0


def _carries(message: Message, rules: Rules) -> bool:
    """Whether the mark of a request that ends with a message can go on it, if only marks are cached."""
    return message.role != "assistant" and (
        rules.caching != "marked" or any(block.kind in rules.carriers for block in without_blank_texts(message.blocks))
    )
