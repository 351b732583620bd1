"""A segment: one block of a request in neutral terms, whichever provider the request was written for.

The code that compares, counts or lints requests works on segments and knows no provider's JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from deepprompt.prompt import Pace


@dataclass(frozen=True, slots=True)
class Segment:
    """One block of a request: where it stands, what it is, and its exact text.

    The fields after `pace` repeat in a usable form what `place` and `text` already say, so they do not count when two
    segments are compared.
    """

    place: str
    """Its path in the request or the name of the part, for people to read. A tool's name follows its path."""
    kind: str
    """`setting`, `tool`, `system`, `text`, `image`, `tool_use`, `tool_result`, `thinking`, or the block's own type."""
    role: str
    """`system`, `user` or `assistant`; "" for settings and tools."""
    text: str
    """The text as it was sent. An image or file is replaced by its SHA-256; any other block is compact JSON."""
    mark: str | None = None
    """The lifetime of the cache mark at its end, "" for the default lifetime; None without a mark."""
    ends_message: bool = False
    origin: str = ""
    """The file or call that the text came from, if known."""
    joins: bool = False
    """Whether it continues the text before it, so that where one piece ends and the next begins does not matter."""
    changing: bool = False
    """Whether it is known to change with the turn."""
    pace: Pace | None = field(default=None, compare=False)
    """How often it may change, if it was a part with a pace."""
    owner: str = field(default="", compare=False)
    """The path of the tool, message or field it belongs to, such as `messages[3]`; "" if that is the place itself."""
    index: int | None = field(default=None, compare=False)
    """The number of its message, or of the tool, in its list; None for everything else."""
    tool: str = field(default="", compare=False)
    """The name of the tool that it defines."""
    digest: str = field(default="", compare=False)
    """The SHA-256 in hex of the first image or file in it; the size of that in tokens is unknown."""
    unknown: bool = field(default=False, compare=False)
    """Whether it is an item or a field that no provider's file knows. Such a segment is compact JSON."""
    bare: bool = field(default=False, compare=False)
    """Whether it is a whole prompt given as nothing but text: its tools and messages are unknown."""
    shows_image: bool = field(default=False, compare=False)
    """Whether it has an image block as Anthropic takes them. The first one of a request changes how messages cache."""
