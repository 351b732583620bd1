"""From a prompt or a message array to the request of one provider: read, write, plan the marks, say why.

`build_request` is the front door. It reads messages into neutral values, lets the provider's module write them, and
lets the planner put the marks. The same input gives the same bytes, and one more turn leaves all that was sent
before as it was, but for the place of the marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace, Prompt
from deepprompt.providers import TARGETS, anthropic, bedrock, deepseek, gemini, litellm, openai, responses
from deepprompt.providers.draft import Draft
from deepprompt.providers.facts import Facts, Rules, bundled_facts, near_model
from deepprompt.providers.neutral import Message, Outline
from deepprompt.request.marks import Mark, Wish, plan_marks
from deepprompt.request.outline import read_outline

WRITERS: dict[str, Callable[[Outline, Draft], dict[str, Any]]] = {
    "anthropic": anthropic.write,
    "bedrock": bedrock.write,
    "deepseek": deepseek.write,
    "gemini": gemini.write,
    "litellm": litellm.write,
    "openai": openai.write,
    "openai-responses": responses.write,
}


@dataclass(frozen=True, slots=True)
class Request:
    """A provider's request. `body` is the JSON that is sent; `arguments` is what the official SDK's method takes."""

    to: str
    model: str
    body: dict[str, Any]
    marks: tuple[Mark, ...]
    notes: tuple[Note, ...]
    rules: Rules = field(repr=False)
    """What it was built by."""
    tokens: int
    """The input's tokens, by estimate; images count for none."""

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `messages.create`, `chat.completions.create`, `responses.create`, `converse` ..."""
        if self.to == "bedrock":
            return bedrock.arguments(self.model, self.body)
        return gemini.arguments(self.model, self.body) if self.to == "gemini" else self.body

    def explain(self) -> str:
        """Return where the marks stand and why, by which facts, as lines to read."""
        lines = [f"{self.to}, {self.model}: about {self.tokens:,} input tokens", f"  {_caching(self.rules)}"]
        width = max((len(mark.place) for mark in self.marks), default=0)
        for mark in self.marks:
            lines.append(f"  {mark.place:{width}}  {mark.lifetime:>3}  ~{mark.tokens:,} tokens: {mark.why}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)]) + "\n"


def _caching(rules: Rules) -> str:
    """Say how a provider caches."""
    how = {
        "marked": f"caches up to its marks, {rules.marks} at most",
        "implicit": f"caches up to the newest message and up to its marks, {rules.marks} at most",
        "automatic": "caches by itself, without marks",
        "none": "takes no marks here",
    }[rules.caching]
    least = f", from {rules.minimum:,} tokens on" if rules.minimum else ""
    lives = f", for {' or '.join(rules.lifetimes)}" if rules.lifetimes else ""
    return f"{how}{least}{lives} (facts of {rules.as_of})"


def build_request(
    prompt: Prompt | str | Sequence[Mapping[str, object]],
    messages: Iterable[Mapping[str, object]] = (),
    *,
    to: str,
    model: str,
    tools: Iterable[Mapping[str, object]] | None = None,
    max_tokens: int | None = None,
    stream: bool = False,
    marks: str = "",
    prefix_lifetime: str = "",
    lifetime: str = "",
    sent: int | None = None,
    cache_key: str = "",
    cached_content: str = "",
    facts: Facts | None = None,
) -> Request:
    """Return the request that a provider is sent for a prompt, or for a message array, and the messages after it.

    `marks` is `"auto"` (the planner places them), `"own"` (those in the messages, and the end of the prefix) or
    `"none"`; by default `"own"` if the messages carry any, else `"auto"`. `prefix_lifetime` and `lifetime` ask for
    longer entries of the prefix and of the conversation. `sent` is how many of the messages the previous request
    had; unless it is said, all up to the last that the assistant answered.
    """
    rules = rules_of(to, model, facts)
    notes: list[Note] = []
    outline = read_outline(prompt, messages, tools, notes)
    outline = replace(
        outline,
        model=model,
        max_tokens=checked_limit(max_tokens),
        stream=stream,
        cache_key=cache_key,
        cached_content=_cached_content(cached_content, to),
    )
    note_state(outline, notes)
    draft = Draft(rules, notes)
    body = WRITERS[to](outline, draft)
    note_unused(outline, body, draft)
    wish = Wish(marks, prefix_lifetime, lifetime)
    brought = len(prompt.messages) if isinstance(prompt, Prompt) else 0
    placed = plan_marks(draft.spots, rules, wish, _sent(outline.messages, sent, brought), notes)
    return finished(to, body, draft, placed)


def build_cached_content(
    prompt: Prompt | str | Sequence[Mapping[str, object]],
    messages: Iterable[Mapping[str, object]] = (),
    *,
    model: str,
    ttl: str = "3600s",
    tools: Iterable[Mapping[str, object]] | None = None,
    facts: Facts | None = None,
) -> Request:
    """Return the request that makes Gemini's cached content: the static prefix, the tools, messages up to a mark.

    Its answer has a name; `build_request(..., to="gemini", cached_content=NAME)` then sends only the rest.
    """
    rules = rules_of("gemini", model, facts)
    notes: list[Note] = []
    if not isinstance(ttl, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+)?s", ttl):
        raise MessageError(f"ttl is a number of seconds such as '3600s', not {ttl!r}")
    draft = Draft(rules, notes)
    body = gemini.write_cached(replace(read_outline(prompt, messages, tools, notes), model=model), draft, ttl)
    return finished("gemini", body, draft, [], rules.explicit_minimum)


def finished(to: str, body: dict[str, Any], draft: Draft, marks: list[Mark], minimum: int = 0) -> Request:
    """Return a written body as a request, with notes on the model and on what is too small to be cached."""
    rules, notes = draft.rules, draft.notes
    if not rules.known:
        detail = f"not in the facts of {rules.as_of}: built by the careful rules for any model; give your own as facts"
        if near := near_model(rules.model, rules.named):
            detail += f"; did you mean {near!r}?"
        notes.insert(0, Note("model", rules.model or "(none)", detail))
    tokens = sum(spot.tokens for spot in draft.spots)
    minimum = minimum or rules.minimum
    if not marks and tokens < minimum:
        detail = f"about {tokens:,} tokens; {to} caches no fewer than {minimum:,} (facts of {rules.as_of})"
        notes.append(Note("cache", "request", detail))
    return Request(to, rules.model, body, tuple(marks), tuple(notes), rules, tokens)


def note_state(outline: Outline, notes: list[Note]) -> None:
    """Say what keeps a request from being sent, or from being cached."""
    if not outline.messages:
        notes.append(Note("kept", "messages", "no message yet: append the user's before this is sent"))
    elif any(block.pace is Pace.TURN for block in outline.system) and not outline.cached_content:
        detail = (
            "it changes with the turn, and whenever it does, nothing after it is read from the cache; "
            "a Session sends it at the end of the conversation"
        )
        notes.append(Note("pace", "the end of the system prompt", detail))


def note_unused(outline: Outline, body: dict[str, Any], draft: Draft) -> None:
    """Say what was asked for and is not in the body."""
    if outline.cache_key and "prompt_cache_key" not in body:
        draft.notes.append(Note("cache", "cache_key", f"{draft.rules.provider} takes none: left out"))
    if outline.stream and "stream" not in body:
        detail = f"{draft.rules.provider} streams by another method, which takes the same request"
        draft.notes.append(Note("kept", "stream", detail))


def rules_of(to: str, model: str, facts: Facts | None) -> Rules:
    """Return what holds for a model of a target, by somebody's own facts or by the bundled ones."""
    facts = bundled_facts() if facts is None else facts
    if not isinstance(facts, Facts):
        raise MessageError(f"facts are what load_facts(path) or bundled_facts() returns, not {facts!r:.60}")
    if to not in WRITERS:
        engine = "; an engine of your own takes what openai does" if to in facts.providers() else ""
        raise MessageError(f"cannot write a request for {to!r}; there are: {', '.join(TARGETS)}{engine}")
    if not isinstance(model, str) or not model.strip():
        raise MessageError("a request needs the name of its model")
    return facts.rules(facts.behind(to, model), model)


def checked_limit(max_tokens: int | None) -> int | None:
    """Return the limit of the answer, if it can be one."""
    if max_tokens is not None and (isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1):
        raise MessageError(f"max_tokens is a whole number from 1 on, not {max_tokens!r}")
    return max_tokens


def _cached_content(name: str, to: str) -> str:
    if name and to != "gemini":
        raise MessageError(f"cached content is Gemini's; {to} takes none")
    if name and (not isinstance(name, str) or not name.startswith(("cachedContents/", "projects/"))):
        raise MessageError(f"the name of cached content is cachedContents/ID, not {name!r}")
    return name


def _sent(messages: tuple[Message, ...], sent: int | None, brought: int) -> int:
    """Return how many messages the previous request had, counting those that the prompt brought.

    Unless it is said: those up to the last that the assistant answered.
    """
    if sent is not None:
        if isinstance(sent, bool) or not isinstance(sent, int) or sent < 0:
            raise MessageError(f"sent is how many messages were sent before, not {sent!r}")
        return sent + brought if sent else 0
    end = len(messages)
    while end and messages[end - 1].role != "assistant":
        end -= 1
    while end and messages[end - 1].role == "assistant":  # an answer may be several messages
        end -= 1
    return messages[end - 1].index + 1 if end else 0
