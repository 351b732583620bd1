"""The neutral values that every provider's request is written from: an outline, its messages and their blocks.

Nothing here knows a provider. The functions that read a prompt or a conversation into these values are in `request`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace
from deepprompt.text.hygiene import scrub
from deepprompt.words import Lifetime, Marks

Payload = dict[str, Any]
"""An object of JSON: a part of a request as a provider gets it, or as a caller wrote it."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str
    mark: str | None = None
    """The lifetime that the caller's own mark asks for, "" for the provider's default, None without a mark."""
    kind = "text"


@dataclass(frozen=True, slots=True)
class Image:
    """An image, by its address or as base64."""

    url: str = ""
    media_type: str = ""
    data: str = ""
    mark: str | None = None
    kind = "image"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by the model. `arguments` is JSON text; `signature` is Gemini's, which must come back."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    mark: str | None = None
    kind = "tool_use"

    def input(self, place: str) -> Payload:
        """Return the arguments as an object."""
        try:
            value = json.loads(self.arguments or "{}")
            # What json reads but no provider does: NaN, 1e999, half a character as an escape.
            value = json.loads(scrub(json.dumps(value, ensure_ascii=False, allow_nan=False), place, []))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise MessageError(f"{place}: the arguments of tool call {self.id!r} are not a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave."""

    call_id: str
    content: tuple[Block, ...] = ()
    is_error: bool = False
    name: str = ""
    mark: str | None = None
    kind = "tool_result"


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning: as text, or Anthropic's as the signed block that must come back unchanged."""

    text: str = ""
    block: Payload | None = None
    mark: str | None = None
    kind = "thinking"


@dataclass(frozen=True, slots=True)
class Native:
    """A block that only some provider knows. It is sent there as it is, and refused elsewhere."""

    block: Payload
    mark: str | None = None

    @property
    def kind(self) -> str:
        """The type that the block says it has."""
        return str(self.block["type"])


Block = Text | Image | ToolCall | ToolResult | Thinking | Native
_AnyBlock = TypeVar("_AnyBlock", Text, Image, ToolCall, ToolResult, Thinking, Native)


@dataclass(frozen=True, slots=True)
class Message:
    """One message: `system`, `user` (tool results too) or `assistant`."""

    role: str
    blocks: tuple[Block, ...]
    index: int
    """The place of the last of the caller's messages that it was made of."""
    notes: tuple[Note, ...] = ()
    """What was changed in it when it was read."""

    @property
    def place(self) -> str:
        """How an error names it."""
        return f"messages[{self.index}]"

    def of(self, kind: type[_AnyBlock]) -> list[_AnyBlock]:
        """Return the blocks of one kind."""
        return [block for block in self.blocks if isinstance(block, kind)]


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """A stretch of the system prompt of one pace."""

    text: str
    pace: Pace
    mark: str | None = None
    gap: str = ""
    """What stands before it where all become one text; the parts of a prompt bring their own."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call; or, with `native`, one that only its provider knows."""

    name: str
    description: str
    schema: Payload
    extra: Payload
    """What the definition has beside these, as the provider that it was written for takes it."""
    native: Payload | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller asks of a request beside its content."""

    max_tokens: int | None = None
    stream: bool = False
    marks: Marks = ""
    prefix_lifetime: Lifetime = ""
    """How long the cache entries of tools and system prompt live; "" for the provider's default."""
    lifetime: Lifetime = ""
    """The same for the conversation."""
    cache_key: str = ""
    cached_content: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """A request before it is written for a provider."""

    system: tuple[SystemBlock, ...]
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]
    model: str
    options: Options = Options()

    @property
    def system_text(self) -> str:
        """The whole system prompt."""
        return "".join([block.gap * (number > 0) + block.text for number, block in enumerate(self.system)])
