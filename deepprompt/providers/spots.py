"""The ends of the blocks of a request, where a cache mark may go, with their tokens; and what is written only once.

A `Draft` records the spots, and `request.marks` chooses among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from deepprompt.prompt import Note, Pace
from deepprompt.providers.neutral import Block, Native, Payload, Text, Thinking, Tool, ToolCall, ToolChange, ToolResult
from deepprompt.tokens import estimate_tokens

Path = tuple[str | int, ...]
"""The way to something in a body, by keys and indexes."""

Put = Callable[[Any, Any, str], None]
"""Puts a mark at a key or an index of something in a body, with a lifetime, "" for the default."""

AUTOMATIC = "automatic"
"""The kind of a spot that is the whole request: its mark lets the provider mark the newest block."""


@dataclass(slots=True)
class Spot:
    """The end of a block, by the way to it in the body. `put` is None if no mark may be there."""

    path: Path
    kind: str
    """The kind of block: `tools`, `system`, `text`, `image`, `tool_use`, `tool_result` and so on."""
    tokens: int
    """The tokens of the block, by estimate."""
    put: Put | None = None
    message: int = -1
    """The index of the caller's message that it belongs to; -1 before the conversation."""
    pace: Pace | None = None
    """How often a system block changes, including everything before it."""
    asked: str | None = None
    """The lifetime of the caller's own mark here; None without a mark."""

    @property
    def place(self) -> str:
        """Its name in marks and notes, such as `messages[3].content[0]`."""
        name = ""
        for key in self.path:
            name += f"[{key}]" if isinstance(key, int) else f".{key}"
        return name.removeprefix(".")

    def mark(self, body: Payload, lifetime: str) -> None:
        """Put a mark into a body. What its lists hold is copied first, because other bodies hold it too."""
        holder: Any = body
        shared = False
        for key in self.path[:-1]:
            inner = holder[key]
            if shared:
                inner = holder[key] = inner.copy()
            shared = shared or isinstance(inner, list)
            holder = inner
        if self.put is not None:
            self.put(holder, self.path[-1], lifetime)


@dataclass(slots=True)
class Settled:
    """The start of a conversation as it was written for an earlier request, without marks. It only grows."""

    messages: list[Payload] = field(default_factory=list)
    size: int = 0
    """How many of the caller's messages were written."""
    spots: list[Spot] = field(default_factory=list)
    """The last spots in it, where a later request may put a mark."""
    tokens: int = 0
    """The tokens before these spots."""
    notes: list[Note] = field(default_factory=list)
    """The notes of the messages in it that the current request is the first to have."""
    betas: set[str] = field(default_factory=set)
    """The features in trial that the provider has to be asked for by name."""
    called: set[str] = field(default_factory=set)
    """The tools that were called although the request lists none."""

    def forget_notes(self) -> None:
        """Forget what an earlier request has noted, and which marks it has asked for."""
        self.notes = []
        for spot in self.spots:
            spot.asked = None


@dataclass(slots=True)
class Tools:
    """The tools as one provider spells them, without marks: written once, since they stay over a conversation."""

    of: tuple[Tool, ...] = ()
    written: list[Payload] = field(default_factory=list)
    tokens: int = 0

    def write(self, tools: tuple[Tool, ...], write: Callable[[Tool], Payload], *, apart: bool) -> None:
        """Spell tools, and count their tokens: as one text, or each apart and without those that are loaded later."""
        self.of, self.written = tools, [write(tool) for tool in tools]
        loaded = [tool for tool in self.written if not tool.get("defer_loading")]
        texts: list[object] = [*loaded] if apart else [self.written]
        self.tokens = sum(estimate_tokens(json.dumps(text, ensure_ascii=False)) for text in texts)


def tokens_of(block: Block) -> int:
    """Return the tokens of a block, by estimate. An image counts as zero, since its number of tokens is unknown."""
    if isinstance(block, (Text, Thinking)):
        return estimate_tokens(block.text)
    if isinstance(block, ToolCall):
        return estimate_tokens(block.name + block.arguments)
    if isinstance(block, ToolResult):
        return sum([tokens_of(inner) for inner in block.content])
    if isinstance(block, ToolChange):
        return estimate_tokens(str(block.tool or block.name))
    return estimate_tokens(str(block.block)) if isinstance(block, Native) else 0
