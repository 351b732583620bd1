"""A request as the rules of DP6 see it: its marks with the blocks that carry them, and the provider's rules.

Segments keep one mark for each block, and not what carries it. Whether a mark is allowed depends on that, so this
module finds marks in the body itself. It looks only where a request may have blocks, never into a tool's own data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepprompt.checks.lint.findings import Finding, Limits, Subject
from deepprompt.providers import anthropic, bedrock, openai
from deepprompt.providers.blocks import kind_of
from deepprompt.providers.dialect import items, time_of
from deepprompt.providers.recognise import MESSAGES, provider_of
from deepprompt.providers.segments import Segment
from deepprompt.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

ANTHROPICS, OPENAIS, BEDROCKS = anthropic.DIALECT.mark, openai.DIALECT.mark, bedrock.DIALECT.mark_element
"""The fields that are marks."""

_FIELDS = (ANTHROPICS, OPENAIS, BEDROCKS)
_SYSTEMS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class CarriedMark:
    """A mark, where it stands, and what carries it."""

    field: str
    """`cache_control`, `prompt_cache_breakpoint` or `cachePoint`."""
    place: str
    """The place of the block that it ends, as segments name it, without a tool's name."""
    kind: str
    """The kind of block that carries it, in the words of the facts: `tools`, `system`, `text`, `tool_result`..."""
    role: str
    value: object
    block: Mapping[str, Any] | None
    """The block that carries it; None if nothing does."""
    on: str = "block"
    """`block`; `message`, beside its content; `inside`, in a block; `instructions`."""

    @property
    def lifetime(self) -> str:
        """Its lifetime; "" for the default."""
        return time_of(self.value)


@dataclass(frozen=True, slots=True)
class RequestView:
    """One request: its body, its marks, and what is known of its provider."""

    subject: Subject
    body: Mapping[str, Any]
    segments: tuple[Segment, ...]
    """Its segments, without the settings."""
    marks: tuple[CarriedMark, ...]
    looks_like: str
    """The provider that the body is written for; "" if that is unclear."""
    rules: Rules | None

    @property
    def provider(self) -> str:
        """The provider that finally gets it; "" if unknown."""
        if self.rules is not None:
            return self.rules.provider
        return "" if self.is_litellm else self.looks_like

    @property
    def is_litellm(self) -> bool:
        """Whether it goes through LiteLLM."""
        return self.looks_like == "litellm"

    @property
    def model(self) -> str:
        """The model that it names."""
        named = self.body.get("model")
        return named if isinstance(named, str) else ""

    @property
    def automatic(self) -> object:
        """The request's own cache_control, which marks the last block (Anthropic); None without one."""
        return self.body.get(ANTHROPICS)

    @property
    def options(self) -> Mapping[str, Any]:
        """OpenAI's cache options; {} if the request has none."""
        options = self.body.get("prompt_cache_options")
        return options if isinstance(options, Mapping) else {}

    @property
    def newest(self) -> int:
        """Index of the first segment after the last assistant message."""
        said = [number for number, segment in enumerate(self.segments) if segment.role == "assistant"]
        return said[-1] + 1 if said else 0

    def tokens(self, end: int | None = None) -> int:
        """Return the estimated tokens of the segments before `end`, or of all."""
        return sum(estimate_tokens(segment.text) for segment in self.segments[:end])

    def found(self, code: str, place: str, message: str) -> Finding:
        """Return a finding. The place of a tool gets the tool's name."""
        named = (s.place for s in self.segments if s.tool and s.owner == place)
        return Finding(code, message, self.subject.name, next(named, place))


def view_request(subject: Subject, limits: Limits) -> RequestView | None:
    """Return a subject as a request; None if it is not one."""
    if subject.body is None:
        return None
    segments = tuple(segment for segment in subject.segments if segment.kind != "setting")
    marks = tuple(_marks(subject.body))
    return RequestView(subject, subject.body, segments, marks, provider_of(subject.body), limits.rules)


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
    for _, block in _blocks(message.get("output"), place):  # an item of the Responses API
        yield from _on(block, place, "tool_result", "user")
    beside = "tool_result" if kind_of(message) == "tool_result" else kind
    yield from _on(message, place, beside, role, "message")


def _inside(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks inside a tool's result."""
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
    """Yield the marks that a block has as fields. SDKs write every possible field, so null is not a mark."""
    for field in _FIELDS if on in ("message", "inside") else _FIELDS[:2]:
        if block.get(field) is not None:
            yield CarriedMark(field, place, kind, role, block[field], block, on)


def _points(value: object, place: str, role: str, kind: str = "") -> Iterator[CarriedMark]:
    """Yield the marks that are elements of their own; each belongs to the block before it."""
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
