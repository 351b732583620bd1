"""A request as the rules look at it: its marks with what carries them, and whose rules hold. No rules live here.

`read_request` keeps one mark a block and nothing of who carries it; what is allowed depends on just that, so marks are
found here in the body itself. Only places where a request may have blocks are looked at: a tool's own data is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepprompt.checks.lint.findings import Finding, Limits, Subject
from deepprompt.providers.blocks import kind_of
from deepprompt.providers.dialect import items, time_of
from deepprompt.providers.recognise import MESSAGES, provider_of
from deepprompt.providers.segments import Segment
from deepprompt.tokens import estimate_tokens

if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

ANTHROPICS, OPENAIS, BEDROCKS = "cache_control", "prompt_cache_breakpoint", "cachePoint"
"""What a mark is called."""

_FIELDS = (ANTHROPICS, OPENAIS, BEDROCKS)
_SYSTEMS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class CarriedMark:
    """A mark, where it stands, and what carries it."""

    field: str
    """`cache_control`, `prompt_cache_breakpoint` or `cachePoint`."""
    place: str
    """Of the block before its end, as segments name it, but for a tool's name."""
    kind: str
    """What carries it, in the words of the facts: `tools`, `system`, `text`, `tool_result`, `thinking` and so on."""
    role: str
    value: object
    block: Mapping[str, Any] | None
    """What carries it, None where nothing does."""
    on: str = "block"
    """`block`; `message`, beside its content; `inside`, in a block; `instructions`."""

    @property
    def lifetime(self) -> str:
        """For how long it is, "" for the default."""
        return time_of(self.value)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: its body, its marks, and what is known of who gets it."""

    subject: Subject
    body: Mapping[str, Any]
    segments: tuple[Segment, ...]
    """Settings aside."""
    marks: tuple[CarriedMark, ...]
    looks_like: str
    """Whose request it is by its shape, "" where that is unclear."""
    rules: Rules | None

    @property
    def provider(self) -> str:
        """Who gets it at last, "" where nobody knows."""
        if self.rules is not None:
            return self.rules.provider
        return "" if self.is_litellm else self.looks_like

    @property
    def is_litellm(self) -> bool:
        """Whether LiteLLM stands between."""
        return self.looks_like == "litellm"

    @property
    def model(self) -> str:
        """The model that it names."""
        named = self.body.get("model")
        return named if isinstance(named, str) else ""

    @property
    def automatic(self) -> object:
        """Anthropic's choice of the last block, None where it is not asked for."""
        return self.body.get(ANTHROPICS)

    @property
    def options(self) -> Mapping[str, Any]:
        """OpenAI's options of the cache."""
        options = self.body.get("prompt_cache_options")
        return options if isinstance(options, Mapping) else {}

    @property
    def newest(self) -> int:
        """Where what nobody answered yet begins."""
        said = [number for number, segment in enumerate(self.segments) if segment.role == "assistant"]
        return said[-1] + 1 if said else 0

    def tokens(self, end: int | None = None) -> int:
        """Return how many tokens the segments up to one have, by estimate."""
        return sum(estimate_tokens(segment.text) for segment in self.segments[:end])

    def found(self, code: str, place: str, message: str) -> Finding:
        """Return a finding; a tool is named as its segment is."""
        named = (s.place for s in self.segments if s.tool and s.owner == place)
        return Finding(code, message, self.subject.name, next(named, place))


def read_sent(subject: Subject, limits: Limits) -> Sent | None:
    """Return a subject as a request, None where it is none."""
    if subject.body is None:
        return None
    segments = tuple(segment for segment in subject.segments if segment.kind != "setting")
    return Sent(subject, subject.body, segments, tuple(_marks(subject.body)), provider_of(subject.body), limits.rules)


def _marks(body: Mapping[str, Any]) -> Iterator[CarriedMark]:
    """Yield the marks of a body in the order of the cache: tools, system, messages."""
    config = body.get("toolConfig")
    for key, tools in (
        ("tools", body.get("tools") or body.get("functions")),
        ("toolConfig.tools", config.get("tools") if isinstance(config, Mapping) else None),
    ):
        for place, tool in _blocks(tools, key):
            inner = [tool[name] for name in ("function", "toolSpec") if isinstance(tool.get(name), Mapping)]
            for holder in (tool, *inner):
                yield from _on(holder, place, "tools", "")
        yield from _points(tools, key, "", "tools")
    for key in ("system", "instructions"):
        on = "instructions" if key == "instructions" else "block"
        for place, block in _blocks(body.get(key), key):
            yield from _on(block, place, _kind(block, "system"), "system", on)
        yield from _points(body.get(key), key, "system")
    for key in MESSAGES:
        for place, message in _blocks(body.get(key), key):
            yield from _of_message(message, place)


def _of_message(message: Mapping[str, Any], place: str) -> Iterator[CarriedMark]:
    role = message.get("role")
    role = "assistant" if role == "model" else "system" if role in _SYSTEMS else role if isinstance(role, str) else ""
    kind = "tool_result" if role == "tool" else role if role == "system" else "text"
    content = f"{place}.content"
    for where, block in _blocks(message.get("content"), content):
        named = place if role == "tool" else where
        yield from _on(block, named, _kind(block, role), role)
        for inner in _inside(block):
            yield from _on(inner, named, "tool_result", role, "inside")
    yield from _points(message.get("content"), content, role)
    for _, block in _blocks(message.get("output"), place):  # of an item of Responses
        yield from _on(block, place, "tool_result", "user")
    beside = "tool_result" if kind_of(message) == "tool_result" else kind
    yield from _on(message, place, beside, role, "message")


def _inside(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what a tool's result is made of."""
    result = block.get("toolResult", block)
    if isinstance(result, Mapping) and kind_of(block) == "tool_result":
        yield from (inner for inner in items(result.get("content")) if isinstance(inner, Mapping))


def _kind(block: Mapping[str, Any], role: str) -> str:
    kind = kind_of(block)
    return "system" if role == "system" and kind == "text" else kind


def _blocks(value: object, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, block in enumerate(items(value)):
        if isinstance(block, Mapping):
            yield f"{place}[{number}]", block


def _on(block: Mapping[str, Any], place: str, kind: str, role: str, on: str = "block") -> Iterator[CarriedMark]:
    """Yield the marks that a block has as fields. SDKs write every field there could be: null is no mark."""
    for field in _FIELDS if on in ("message", "inside") else _FIELDS[:2]:
        if block.get(field) is not None:
            yield CarriedMark(field, place, kind, role, block[field], block, on)


def _points(value: object, place: str, role: str, kind: str = "") -> Iterator[CarriedMark]:
    """Yield the marks that are elements of their own, each on what stands before it."""
    before: Mapping[str, Any] | None = None
    where = place
    for number, block in enumerate(items(value)):
        if not isinstance(block, Mapping):
            continue
        if block.get(BEDROCKS) is not None:
            of = kind or (_kind(before, role) if before is not None else "")
            yield CarriedMark(BEDROCKS, where, of, role, block[BEDROCKS], before)
        else:
            before, where = block, f"{place}[{number}]"
