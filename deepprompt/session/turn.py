"""One turn of a tiered context: what a strategy gets, what it returns, and the report about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepprompt.session.layout import Piece, PieceName
from deepprompt.systems.tiers import FILE_TREE, OK, Message, Tier
from deepprompt.text.display import counted
from deepprompt.tokens import estimate_tokens

_MOST_MOVES = 20


@dataclass(frozen=True, slots=True)
class Turn:
    """What there is to show: the system prompt, the pieces with their texts, and the conversation."""

    number: int
    prompt: str
    head: str
    """The hash of the system prompt."""
    texts: Mapping[PieceName, str]
    pieces: Sequence[Piece]
    history: Sequence[Mapping[str, object]]
    digests: Sequence[str]
    """The hash of each message."""
    sizes: Sequence[int]
    """The tokens of each message."""
    user_prompt: str

    @property
    def fixed(self) -> int:
        """The tokens of the system prompt."""
        return estimate_tokens(self.prompt)


@dataclass(frozen=True, slots=True)
class TierReport:
    """What one turn did: the tiers that stayed, the pieces that went elsewhere and why, and the estimated cost."""

    turn: int
    kept: int
    reason: str
    """Why the tiers were rearranged; "" if all stayed."""
    moved: tuple[tuple[str, str, str], ...]
    """Each piece that is in another place than before, with that place and the new one; "-" for none."""
    tokens: Mapping[str, int]
    """The size of each tier, and of what no tier has (`active`)."""
    read: int
    written: int
    full: int
    price: float
    """The cost of the input by the provider's prices, relative to the cost without a cache."""
    outdated: int = 0
    """The tokens of copies that are no longer current; always 0 with `strict`."""

    def __str__(self) -> str:
        total = self.read + self.written + self.full
        lines = [
            f"turn {self.turn}: about {total:,} tokens: {self.read:,} read from the cache, {self.written:,} written, "
            f"{self.full:,} neither; costs {self.price:.2f} of an uncached request",
            f"  {counted(self.kept, 'tier')} as before"
            + (f"; the others were rebuilt: {self.reason}" if self.reason else ""),
        ]
        lines += [f"  {name:7}{tokens:>9,} tokens" for name, tokens in self.tokens.items()]
        lines += [f"  moved  {piece}: {old} -> {new}" for piece, old, new in self.moved[:_MOST_MOVES]]
        if len(self.moved) > _MOST_MOVES:
            lines.append(f"  moved  {len(self.moved) - _MOST_MOVES} more")
        return "\n".join([*lines, *([f"  {self.outdated:,} tokens are outdated"] if self.outdated else [])])


@dataclass(frozen=True, slots=True)
class Arranged:
    """The tiers of a turn, the files that no tier has, and the report."""

    tiers: dict[str, Tier]
    report: TierReport
    active: dict[str, str] = field(default_factory=dict)
    legend: str = ""
    """A sentence for the legend of the map, if the strategy needs one."""


def tree_pair(text: str) -> list[Message]:
    """Return the messages that show the list of files."""
    return pair(FILE_TREE + text)


def pair(text: str) -> list[Message]:
    """Return a message of the user's with its acknowledgement."""
    return [{"role": "user", "content": text}, {"role": "assistant", "content": OK}]


def name_of(name: PieceName) -> str:
    """Return a piece as a report names it."""
    kind, key = name
    return "the file tree" if kind == "tree" else key if kind == "file" else f"symbols of {key}"
