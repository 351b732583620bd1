"""How a provider's API spells things: the tables that each provider's file fills in about its requests and its usage.

`reading` reads a body with the tables of all providers together, because one body may mix them: LiteLLM and other
gateways take Anthropic's marks in OpenAI's messages, and SDKs write camelCase as snake_case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.segments import Segment
    from deepprompt.words import Target

Body = Mapping[str, Any]
"""A request body, or an object in one, as JSON."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names that one API uses in its request bodies, and functions for what no name can say."""

    provider: Target
    recognise: Callable[[Body], bool]
    """Whether a body is written for this API, given that no dialect after it in `recognise.DIALECTS` claims it."""
    models: str = r"(?!)"
    """A regular expression that matches the start of the names of the provider's own models."""
    model: str = "model"
    """The field that names the model."""
    settings: tuple[str, ...] = ()
    """Fields on which the whole cache entry depends, as dotted paths."""
    settings_after_tools: tuple[str, ...] = ()
    """Fields that leave cached tools readable when they change."""
    tool_choice: Callable[[Body], tuple[str, object] | None] | None = None
    """Return the path and value of a tool choice that leaves only tools and system prompt readable when it changes."""
    tools: tuple[str, ...] = ("tools",)
    """Fields that list the tools, as dotted paths."""
    tool: str = ""
    """The field inside a tool that holds its definition."""
    tool_groups: tuple[str, ...] = ()
    """Fields inside a tool that list several definitions."""
    system: tuple[str, ...] = ()
    """Fields that hold the system prompt."""
    messages: str = "messages"
    """The field that lists the messages."""
    content: str = "content"
    """The field of a message, or of a system prompt that is an object, that holds its blocks."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Names of roles that mean `system`, `assistant` or `tool_result`, which is a whole message as a tool's result."""
    before_content: Mapping[str, str] = field(default_factory=dict)
    after_content: Mapping[str, str] = field(default_factory=dict)
    """Fields of a message beside its content, in the order in which chat templates write them, with their kinds."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The segment kind of each type of block, or of the field that makes an untyped block what it is."""
    kind_endings: Mapping[str, str] = field(default_factory=dict)
    """The same for types of block that are known by how their name ends."""
    results: Mapping[str, str] = field(default_factory=dict)
    """Fields that wrap a tool's result, with the field inside that holds its content."""
    mark: str = ""
    """The field that makes a block carry a cache mark."""
    mark_element: str = ""
    """The field of an element of its own that marks the block before it."""
    own_data: tuple[str, ...] = ()
    """Fields that hold a tool's own data, where no name means anything to the API."""
    files: tuple[str, ...] = ()
    """Fields that hold the bytes of an image or a file."""
    is_image: Callable[[Body], bool] | None = None
    """Whether a block is an image, if the cache of this API depends on a request having images."""
    unread: tuple[str, ...] = ()
    """Fields of a body on which no cache depends, such as the temperature or the caller's own metadata."""
    without_names: Callable[[Body], Body] | None = None
    """Return an item that is no message without the fields that only the API reads."""
    mark_by_itself: Callable[[Body, list[Segment]], None] | None = None
    """Put the mark that the API adds automatically on one of the segments."""


@dataclass(frozen=True, slots=True)
class UsageShape:
    """The names, as dotted paths, under which one kind of usage states its numbers.

    Names are written in snake_case; in a dict they are found in camelCase as well. The numbers of `input` and of
    `output` are summed. Those of `read` and of `written` are names for the same number, so the largest counts: a
    gateway may fill in one of them and leave another at zero.
    """

    known_by: tuple[str, ...]
    """The names that all have to be there."""
    read: tuple[str, ...]
    """Tokens read from the cache."""
    written: tuple[str, ...] = ()
    """Tokens written to the cache, for any lifetime."""
    written_for: tuple[str, ...] = ()
    """Tokens written for one lifetime; the `*` is replaced by the lifetime."""
    written_details: tuple[str, ...] = ()
    """Lists of objects with a `ttl` and `input_tokens`."""
    input: tuple[str, ...] = ("input_tokens",)
    output: tuple[str, ...] = ("output_tokens",)
    input_has_cached: bool = True
    """Whether the input includes the tokens that were read from the cache or written to it."""
    leaves_out_zero: bool = False
    """Whether a number that is not there means zero. Otherwise nothing is known of the cache."""
    when: Callable[[object], bool] | None = None
    """Whether a usage that has the names is of this shape, if the names alone do not tell."""
    further: Callable[[object], list[object]] | None = None
    """Return usages inside this one that its own numbers leave out."""


def value_at(value: object, path: str) -> object:
    """Return the value at a dotted path in dicts or objects, None if it is not there. A dict may use camelCase."""
    for name in path.split("."):
        if isinstance(value, Mapping):
            head, *rest = name.split("_")
            value = value.get(name, value.get(head + "".join(map(str.capitalize, rest))))
        else:
            value = getattr(value, name, None)
    return value


def items(value: object) -> Sequence[Any]:
    """Return the elements of a list, or nothing if the value is not a list."""
    return value if isinstance(value, list | tuple) else ()


def objects(value: object) -> list[Body]:
    """Return the objects in a list, or nothing if the value is not a list."""
    return [item for item in items(value) if isinstance(item, Mapping)]


def time_of(mark: object) -> str:
    """Return the lifetime that a cache mark asks for, "" for the default."""
    return str(mark.get("ttl") or "") if isinstance(mark, Mapping) else ""


def model_named(body: Body) -> str:
    """Return the `model` of a body in lower case, "" without one."""
    model = body.get("model")
    return model.strip().lower() if isinstance(model, str) else ""


def is_chat(body: Body) -> bool:
    """Whether a body has a system message or tool messages, as Chat Completions does and Anthropic does not."""
    roles = [message.get("role") for message in objects(body.get("messages"))]
    return "tool" in roles or "developer" in roles or roles[:1] == ["system"]


def has_mark(body: Body, name: str) -> bool:
    """Whether anything in a body carries a mark of this name, wherever Anthropic, OpenAI or LiteLLM take one."""
    return any(name in holder for holder in blocks(body))


def blocks(body: Body) -> Iterator[Body]:
    """Yield the tools, system blocks, messages and blocks of messages of a body with `messages`."""
    for tool in objects(body.get("tools")):
        yield tool
        if isinstance(tool.get("function"), Mapping):
            yield tool["function"]
    yield from objects(body.get("system"))
    for message in objects(body.get("messages")):
        yield message
        yield from objects(message.get("content"))
