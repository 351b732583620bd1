"""From a prompt or a message array to the request of one provider: read, write, plan the marks, say why.

`build_request` is the front door. It reads messages into neutral values, lets the provider's module write them, and
lets the planner put the marks. The same input gives the same bytes, and one more turn leaves all that was sent
before as it was, but for the place of the marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deepprompt.errors import MessageError, ToolError
from deepprompt.prompt import Note, Pace, Prompt
from deepprompt.sources.text import is_blank, scrub
from deepprompt.tools import tool_name
from deepprompt.wire import TARGETS, anthropic, bedrock, gemini, litellm, openai, responses
from deepprompt.wire.conversation import Message, Text, as_dict, read_messages
from deepprompt.wire.draft import Draft, Outline, SystemBlock, Tool
from deepprompt.wire.facts import Facts, Rules, bundled_facts
from deepprompt.wire.plan import Mark, Wish, plan_marks

_WRITERS: dict[str, Callable[[Outline, Draft], dict[str, Any]]] = {
    "anthropic": anthropic.write,
    "bedrock": bedrock.write,
    "deepseek": openai.write_deepseek,
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
    facts = facts or bundled_facts()
    rules = facts.rules(_provider(to, model, facts), model)
    notes: list[Note] = []
    outline = _outline(prompt, messages, tools, notes)
    outline = replace(
        outline,
        model=model,
        max_tokens=_limit(max_tokens),
        stream=stream,
        cache_key=cache_key,
        cached_content=_cached_content(cached_content, to),
    )
    if not outline.messages:
        notes.append(Note("kept", "messages", "no message yet: append the user's before this is sent"))
    elif any(block.pace is Pace.TURN for block in outline.system) and not cached_content:
        detail = "it changes with the turn, and whenever it does, nothing after it is read from the cache"
        notes.append(Note("pace", "the end of the system prompt", detail))
    draft = Draft(rules, notes)
    body = _WRITERS[to](outline, draft)
    _note_unused(outline, body, draft)
    wish = Wish(marks, prefix_lifetime, lifetime)
    brought = len(prompt.messages) if isinstance(prompt, Prompt) else 0
    placed = plan_marks(draft.spots, rules, wish, _sent(outline.messages, sent, brought), notes)
    return _request(to, body, draft, placed)


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
    facts = facts or bundled_facts()
    rules = facts.rules(_provider("gemini", model, facts), model)
    notes: list[Note] = []
    if not isinstance(ttl, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+)?s", ttl):
        raise MessageError(f"ttl is a number of seconds such as '3600s', not {ttl!r}")
    draft = Draft(rules, notes)
    body = gemini.write_cached(replace(_outline(prompt, messages, tools, notes), model=model), draft, ttl)
    return _request("gemini", body, draft, [], rules.explicit_minimum)


def _request(to: str, body: dict[str, Any], draft: Draft, marks: list[Mark], minimum: int = 0) -> Request:
    rules, notes = draft.rules, draft.notes
    if not rules.known:
        detail = f"not in the facts of {rules.as_of}: built by the careful rules for any model; give your own as facts"
        notes.insert(0, Note("model", rules.model or "(none)", detail))
    tokens = sum(spot.tokens for spot in draft.spots)
    minimum = minimum or rules.minimum
    if not marks and tokens < minimum:
        detail = f"about {tokens:,} tokens; {to} caches no fewer than {minimum:,} (facts of {rules.as_of})"
        notes.append(Note("cache", "request", detail))
    return Request(to, rules.model, body, tuple(marks), tuple(notes), rules, tokens)


def _note_unused(outline: Outline, body: dict[str, Any], draft: Draft) -> None:
    """Say what was asked for and is not in the body."""
    if outline.cache_key and "prompt_cache_key" not in body:
        draft.notes.append(Note("cache", "cache_key", f"{draft.rules.provider} takes none: left out"))
    if outline.stream and "stream" not in body:
        detail = f"{draft.rules.provider} streams by another method, which takes the same request"
        draft.notes.append(Note("kept", "stream", detail))


def _provider(to: str, model: str, facts: Facts) -> str:
    """Return whose rules hold."""
    if to not in _WRITERS:
        raise MessageError(f"cannot write a request for {to!r}; there are: {', '.join(TARGETS)}")
    if not isinstance(model, str) or not model.strip():
        raise MessageError("a request needs the name of its model")
    return (facts.route(model) or to) if to == "litellm" else to


def _limit(max_tokens: int | None) -> int | None:
    if max_tokens is not None and (isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1):
        raise MessageError(f"max_tokens is a whole number from 1 on, not {max_tokens!r}")
    return max_tokens


def _cached_content(name: str, to: str) -> str:
    if name and to != "gemini":
        raise MessageError(f"cached content is Gemini's; {to} takes none")
    if name and (not isinstance(name, str) or not name.startswith(("cachedContents/", "projects/"))):
        raise MessageError(f"the name of cached content is cachedContents/ID, not {name!r}")
    return name


def _outline(
    prompt: Prompt | str | Sequence[Mapping[str, object]],
    messages: Iterable[Mapping[str, object]],
    tools: Iterable[Mapping[str, object]] | None,
    notes: list[Note],
) -> Outline:
    """Return everything in neutral values: the system prompt in stretches of one pace, tools by name, messages."""
    system: list[SystemBlock] = []
    before: Sequence[Mapping[str, object]] = ()
    if isinstance(prompt, Prompt):
        system = _stretches(prompt, notes)
        before = prompt.messages
        tools = prompt.tools if tools is None else tools
    elif isinstance(prompt, str):
        system = [SystemBlock(scrub(prompt, "prompt", notes), Pace.RELEASE)]
    else:
        before = prompt
    for given in (before, messages):
        if not isinstance(given, Iterable):
            raise MessageError(f"messages are a list, each with a role and content, not {type(given).__name__}")
    read = read_messages([*before, *messages], notes)
    first = next((number for number, message in enumerate(read) if message.role != "system"), len(read))
    pace = max([Pace.PROJECT, *(block.pace for block in system)])
    system += [
        SystemBlock(block.text, pace, block.mark, gap="\n\n")
        for message in read[:first]
        for block in message.blocks
        if isinstance(block, Text)
    ]
    system = [block for block in system if not is_blank(block.text)]
    if not system and not read[first:]:
        raise MessageError("there is nothing to send: no system prompt and no message")
    return Outline(tuple(system), _tools(tools or ()), tuple(read[first:]), model="")


def _stretches(prompt: Prompt, notes: list[Note]) -> list[SystemBlock]:
    """Return the system prompt cut where its pace changes; all behind the boundary changes with the turn."""
    static = len(prompt.static_parts)
    stretches: list[SystemBlock] = []
    for number, (part, pace) in enumerate(zip(prompt.parts, prompt.effective_paces, strict=True)):
        pace = pace if number < static else Pace.TURN
        text = scrub(part.text, part.name, notes)
        # A stretch of nothing but white space is refused by itself: it stays with what stands before it.
        if stretches and (stretches[-1].pace == pace or is_blank(stretches[-1].text) or is_blank(text)):
            pace = max(stretches[-1].pace, pace) if not is_blank(text) else stretches[-1].pace
            text = stretches.pop().text + text
        stretches.append(SystemBlock(text, pace))
    return stretches


def _tools(tools: Iterable[Mapping[str, object]]) -> tuple[Tool, ...]:
    """Return tools by name, each once, however they were written: plain, for OpenAI, for Anthropic or for MCP."""
    read: dict[str, Tool] = {}
    for definition in tools:
        tool = _tool(_plain_tool(definition))
        if tool.name in read:
            raise ToolError(f"two tools are called {tool.name!r}; a name may stand once in a request")
        read[tool.name] = tool
    return tuple(read[name] for name in sorted(read))


def _plain_tool(definition: Mapping[str, object]) -> dict[str, Any]:
    """Return a definition as plain values of our own, its keys in the order that it has: a model reads it in that."""
    if not isinstance(definition, Mapping):
        raise ToolError(f"a tool is a mapping with a name, not {type(definition).__name__}")
    try:
        text = json.dumps(dict(definition), ensure_ascii=False, allow_nan=False, default=as_dict)
        plain: dict[str, Any] = json.loads(scrub(text, "tools", []))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"a tool is not JSON: {error}") from None
    return plain


def _tool(definition: dict[str, Any]) -> Tool:
    inner = definition.pop("function", None)
    fields = inner if isinstance(inner, dict) else definition
    for holder in (definition, fields):
        holder.pop("cache_control", None)  # where marks go is the planner's
    kind = definition.pop("type", None) or "function"
    if not isinstance(kind, str):
        raise ToolError(f"the type of a tool is text, not {kind!r:.60}")
    if kind not in ("function", "custom"):
        return Tool(_native_name(kind, definition), "", {}, {}, {"type": kind, **definition})
    of_openai = isinstance(inner, dict) or "parameters" in definition
    of_mcp = "inputSchema" in fields
    name = tool_name({"name": fields.pop("name", None)})
    description = fields.pop("description", None)
    schema = {"type": "object", "properties": {}}
    for key in ("input_schema", "parameters", "inputSchema"):
        schema = fields.pop(key, None) or schema
    if not isinstance(description, str | None) or not isinstance(schema, dict):
        raise ToolError(f"tool {name!r}: its description is text and its schema an object")
    # Left unsaid, as MCP allows, the one is refused by Anthropic and the other by OpenAI.
    if schema.setdefault("type", "object") == "object":
        schema.setdefault("properties", {})
    # What MCP says beside these is for the client, and refused as a part of a definition.
    extra = {} if of_mcp else {"openai" if of_openai else "anthropic": fields}
    return Tool(name, description or "", schema, extra)


def _native_name(kind: str, definition: dict[str, Any]) -> str:
    """Return what a tool that only its provider knows is told apart by: its name, or its type and server."""
    if "name" in definition:
        return tool_name(definition)
    server = definition.get("server_label") or definition.get("mcp_server_name")
    return f"{kind} {server}" if server else kind


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
