"""The neutral values that every provider's request is written from: an outline, its messages and their blocks.

Nothing here knows a provider. The functions that read a prompt or a conversation into these values are in `request`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace
from deepprompt.text.hygiene import scrub
from deepprompt.words import Lifetime, Marks

Payload = dict[str, Any]
"""A JSON object: a part of a request as a provider gets it, or as a caller wrote it."""


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
    """A tool call by the model. `arguments` is JSON text; `signature` is Gemini's and must be sent back."""

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
            # Values that json reads but no provider does: NaN, 1e999, half a surrogate pair as an escape.
            value = json.loads(scrub(json.dumps(value, ensure_ascii=False, allow_nan=False)))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise MessageError(f"the arguments of tool call {self.id!r} are not a JSON object", place)
        return value


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    call_id: str
    content: tuple[Block, ...] = ()
    is_error: bool = False
    name: str = ""
    mark: str | None = None
    kind = "tool_result"


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning, as text, or as Anthropic's signed block that must be sent back unchanged."""

    text: str = ""
    block: Payload | None = None
    mark: str | None = None
    kind = "thinking"


@dataclass(frozen=True, slots=True)
class Native:
    """A block that only some providers know. They get it as it is, and the others refuse it."""

    block: Payload
    mark: str | None = None

    @property
    def kind(self) -> str:
        """The type in the block itself."""
        return str(self.block["type"])


Role = Literal["system", "user", "assistant"]
Block = Text | Image | ToolCall | ToolResult | Thinking | Native
_AnyBlock = TypeVar("_AnyBlock", Text, Image, ToolCall, ToolResult, Thinking, Native)


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Tool results are in a `user` message."""

    role: Role
    blocks: tuple[Block, ...]
    index: int
    """The index of the caller's message; of the last one if several were merged."""
    notes: tuple[Note, ...] = ()
    """What was changed when the message was read."""

    @property
    def place(self) -> str:
        """The message's name in errors and notes."""
        return f"messages[{self.index}]"

    def of(self, kind: type[_AnyBlock]) -> list[_AnyBlock]:
        """Return the blocks of one kind."""
        return [block for block in self.blocks if isinstance(block, kind)]


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """Consecutive text of the system prompt with one pace."""

    text: str
    pace: Pace
    mark: str | None = None
    gap: str = ""
    """The separator before it if all blocks become one text; parts of a prompt bring their own."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. With `native`, it is a definition that only its provider knows."""

    name: str
    description: str
    schema: Payload
    extra: Payload
    """The other fields of the definition, by the provider that it was written for."""
    native: Payload | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may ask of a request, apart from its content."""

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
