"""The neutral values that every provider's request is written from: an outline, its messages and their blocks.

Nothing here knows a provider. The functions that read a prompt or a conversation into these values are in `request`.
Blocks and messages are shared by all requests of a conversation, so nobody changes one that is part of it: `replace`
makes another. They are not frozen, because Python makes a frozen value seven times more slowly, and a long conversation
has many.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Pace
from deepprompt.text.hygiene import is_blank, scrub
from deepprompt.words import Lifetime, Marks, Target

Payload = dict[str, Any]
"""A JSON object: a part of a request as a provider gets it, or as a caller wrote it."""

Api = Literal["anthropic", "bedrock", "gemini", "openai", "openai-responses"]
"""The APIs with a spelling of their own. DeepSeek and LiteLLM take what Chat Completions, `openai`, does."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

# Values that json reads but no provider does: half a surrogate pair, as an escape or as it is; NaN, Infinity, 1e999.
_MAY_BE_REFUSED = re.compile(r"\\u[dD]|[\ud800-\udfff]|NaN|Infinity|[0-9][eE]|[0-9]{300}")


@dataclass(slots=True)
class Native:
    """A block that only one API spells so. It goes back there as it is; for the others, see `Draft`."""

    block: Payload
    mark: str | None = None
    api: Api = "anthropic"
    """A user's block with a type has this one even if it is for Chat Completions: its type decides who takes it."""

    @property
    def kind(self) -> str:
        """The type in the block itself, or the field that makes it what it is."""
        return str(self.block.get("type") or next(iter(self.block), ""))


@dataclass(slots=True)
class Text:
    """A text."""

    text: str
    mark: str | None = None
    """The lifetime that the caller's own mark asks for, "" for the provider's default, None without a mark."""
    own: Native | None = None
    """The block as its own API spells it, if that says more than the text."""
    kind = "text"


@dataclass(slots=True)
class Image:
    """An image, by its address or as base64. `detail` is how closely OpenAI's models look at it."""

    url: str = ""
    media_type: str = ""
    data: str = ""
    mark: str | None = None
    detail: str = ""
    own: Native | None = None
    kind = "image"

    @classmethod
    def at(cls, url: str, place: str) -> Image:
        """Return the image of a URL, which may hold its bytes."""
        if match := _DATA_URL.match(url):
            return cls.of_bytes(match[1], url[match.end() :], place)
        if not url.startswith(("http://", "https://")):
            raise MessageError(
                f"the URL of an image starts with https:// or data:MEDIA_TYPE;base64, not {url!r:.40}", place
            )
        return cls(url=url)

    @classmethod
    def of_bytes(cls, media_type: str, data: str, place: str) -> Image:
        """Return the image with these bytes, given as base64."""
        if len(data) % 4 or _BASE64.fullmatch(data) is None:
            raise MessageError("the data of the image is not base64", place)
        return cls(media_type=media_type.lower(), data=data)


@dataclass(slots=True)
class ToolCall:
    """A tool call by the model. `arguments` is JSON text; `signature` is Gemini's and must be sent back."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    mark: str | None = None
    own: Native | None = None
    kind = "tool_use"

    def input(self, place: str) -> Payload:
        """Return the arguments as an object."""
        try:
            value = json.loads(self.arguments or "{}")
            if _MAY_BE_REFUSED.search(self.arguments):
                value = json.loads(scrub(json.dumps(value, ensure_ascii=False, allow_nan=False)))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise MessageError(f"the arguments of tool call {self.id!r} are not a JSON object", place)
        return value


@dataclass(slots=True)
class ToolResult:
    """The result of a tool call."""

    call_id: str
    content: tuple[Block, ...] = ()
    is_error: bool = False
    name: str = ""
    mark: str | None = None
    own: Native | None = None
    kind = "tool_result"


@dataclass(slots=True)
class Thinking:
    """A model's reasoning, as text, or as Anthropic's signed block that must be sent back unchanged."""

    text: str = ""
    block: Payload | None = None
    mark: str | None = None
    own: Native | None = None
    kind = "thinking"


@dataclass(slots=True)
class ToolChange:
    """A tool that can be called, or not any more, from this point of a conversation on. It is in a system message."""

    name: str
    added: bool
    tool: Tool | None = None
    """The definition of a tool that the request does not list; None if it does."""
    mark: str | None = None
    own: Native | None = None

    @property
    def kind(self) -> str:
        """The type of the block, as Anthropic names it."""
        return "tool_addition" if self.added else "tool_removal"


Role = Literal["system", "user", "assistant"]
Block = Text | Image | ToolCall | ToolResult | Thinking | ToolChange | Native
_AnyBlock = TypeVar("_AnyBlock", Text, Image, ToolCall, ToolResult, Thinking, ToolChange, Native)


@dataclass(slots=True)
class Message:
    """One message. Tool results are in a `user` message."""

    role: Role
    blocks: tuple[Block, ...]
    index: int
    """The index of the caller's message; of the last one if several were merged."""
    notes: tuple[Note, ...] = ()
    """What was changed when the message was read."""
    is_item: bool = False
    """Whether it is an item of OpenAI's Responses: neighbours of one role are one message."""
    paused: bool = False
    """Whether the provider stopped in the middle of its response and continues it if it gets it back."""
    name: str = ""
    """The name of the speaker, if the caller gave one. That of an assistant is among its blocks."""
    common: bool = field(default=False, init=False, repr=False, compare=False)
    """Whether every API is known to take all of its blocks as they are. A conversation finds out, once a message."""

    @property
    def place(self) -> str:
        """The message's name in errors and notes."""
        return f"messages[{self.index}]"

    def of(self, kind: type[_AnyBlock]) -> list[_AnyBlock]:
        """Return the blocks of one kind."""
        return [block for block in self.blocks if isinstance(block, kind)]


def is_common(message: Message) -> bool:
    """Whether every API takes all blocks of a message as they are: texts that are not blank, calls, results of text."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            if [inner for inner in block.content if not isinstance(inner, Text) or inner.own is not None]:
                return False
        elif isinstance(block, Text):
            if is_blank(block.text):
                return False
        elif not isinstance(block, ToolCall):
            return False
        if block.own is not None:
            return False
    return bool(message.blocks) and not message.name


def own_form(block: Block, api: Api) -> Payload | None:
    """Return a copy of a block as this API itself spelled it, None if the block came another way."""
    own = block if isinstance(block, Native) else block.own
    return dict(own.block) if own is not None and own.api == api else None


def api_of(to: Target) -> Api:
    """Return the API that a target speaks."""
    return "openai" if to == "deepseek" or to == "litellm" else to


def as_text(value: object) -> str:
    """Return a value as JSON text, with its keys in their own order: a tool's arguments, or its result."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def required(block: Payload, key: str, place: str) -> str:
    """Return a text of a block that has to be there."""
    value = block.get(key)
    if not isinstance(value, str) or not value:
        raise MessageError(f"{key} is {'empty' if value == '' else 'missing or no text'}", place)
    return value


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
