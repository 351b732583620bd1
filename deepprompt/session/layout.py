"""Where the pieces of a tiered context go, so that a conversation costs least: which tiers stay, which are rebuilt.

A piece is a file, a block of the symbol map, or the file list. The longer a piece has been still, the less likely it is
to change in the next turn, so still pieces stand first. A tier stays byte for byte as long as nothing in it changed.
When a tier breaks, everything after it has to be written again anyway, and is then sorted again by its age.
The prices of the provider decide whether it pays to lay out more than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Literal

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

PieceKind = Literal["symbols", "file", "tree"]
PieceName = tuple[PieceKind, str]

# The share of files that change in the next commit after so many commits of stillness, measured on the histories of two
# public repositories (datasette, bubbletea; 600 commits each): within a fifth of 0.17 * (stillness + 1) ** -0.7.
_FIRST, _DECAY = 0.17, -0.7
# Of the changes of a file, so many change its block of the symbol map.
_OF_SYMBOLS = 0.43
# How many turns a layout is expected to serve.
_HORIZON = 6
_MOST_CUTS = 12


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the context: what it is, its hash and size, and for how many turns or commits it has been still."""

    kind: PieceKind
    key: str
    digest: str
    tokens: int
    still: int
    name: PieceName = field(init=False, compare=False)
    """What tells it from every other piece."""
    hazard: float = field(init=False, compare=False)
    """How likely it is to change in the next turn."""

    def __post_init__(self) -> None:
        """Set what follows from the other fields: it is asked for often."""
        hazard = _FIRST * float((self.still + 1) ** _DECAY) * (_OF_SYMBOLS if self.kind == "symbols" else 1.0)
        object.__setattr__(self, "name", (self.kind, self.key))
        object.__setattr__(self, "hazard", hazard)


@dataclass(frozen=True, slots=True)
class Prices:
    """What input costs, in multiples of the plain price, and how many tiers can have a mark."""

    read: float
    write: float
    tiers: int
    lookback: int

    @classmethod
    def of(cls, rules: Rules, most: int) -> Prices:
        """Return the prices of a model, for at most so many tiers."""
        marked = rules.caching in ("marked", "implicit")
        tiers = min(most, rules.marks) if marked and rules.marks else most
        return cls(rules.read_price, rules.default_write_price, max(1, tiers), rules.lookback if marked else 1 << 30)


@dataclass(frozen=True, slots=True)
class Talk:
    """The size of the conversation: the tokens in each tier of the last turn, and those of the messages since."""

    tiers: tuple[int, ...] = ()
    new: int = 0
    new_messages: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """The pieces of each tier by name, the number of tiers that stayed, and the files that no tier has."""

    tiers: tuple[tuple[PieceName, ...], ...]
    kept: int
    active: tuple[PieceName, ...]


def plan_layout(
    pieces: Sequence[Piece],
    before: Sequence[Mapping[PieceName, str]],
    most_kept: int,
    fixed: int,
    talk: Talk,
    prices: Prices,
) -> Layout:
    """Return the layout that costs least over the next turns.

    `before` has the pieces of each tier of the last turn with their hashes. At most `most_kept` of these tiers may
    stay, and those whose pieces changed cannot. `fixed` is the size of what the first tier always has. The messages
    that no kept tier has go to the end of the last of these, or of the first tier.
    """
    now = {piece.name: piece for piece in pieces}
    intact = 0
    for tier in before[:most_kept]:
        if any(name not in now or now[name].digest != digest for name, digest in tier.items()):
            break
        intact += 1
    best: tuple[float, Layout] | None = None
    for kept in range(intact, -1, -1):
        stays = {name for tier in before[:kept] for name in tier}
        rest = sorted((piece for piece in pieces if piece.name not in stays), key=lambda each: (each.hazard, each.name))
        for active in _choices(rest):
            outside = {piece.name for piece in active}
            laid = [piece for piece in rest if piece.name not in outside]
            room = prices.tiers - kept
            if laid and room <= 0:
                continue
            survival, cost = _kept_cost([[now[name] for name in tier] for tier in before[:kept]], fixed, talk, prices)
            cuts, laid_cost = _cut(laid, room, survival, prices)
            cost += laid_cost + sum(piece.tokens for piece in active) * (1 + _HORIZON)
            if best is None or cost < best[0] - 1e-9:
                tiers = [tuple(tier) for tier in before[:kept]]
                tiers += [tuple(piece.name for piece in laid[a:b]) for a, b in pairwise(cuts)]
                best = cost, Layout(tuple(tiers), kept, tuple(piece.name for piece in active))
    assert best is not None  # nothing kept and nothing active is always possible
    return best[1]


def _choices(rest: Sequence[Piece]) -> list[list[Piece]]:
    """Return which files may stay outside of the tiers: none, those that just changed, or those of late."""
    files = [piece for piece in rest if piece.kind == "file"]
    choices = [[piece for piece in files if piece.still <= still] for still in (-1, 0, 2)]
    choices.append(files)
    return [choice for number, choice in enumerate(choices) if choice not in choices[:number]]


def _kept_cost(tiers: Sequence[Sequence[Piece]], fixed: int, talk: Talk, prices: Prices) -> tuple[float, float]:
    """Return how likely tiers that stay are to survive the next turn, and what they and the messages cost."""
    survival, cost = 1.0, 0.0
    moved = sum(talk.tiers[len(tiers) :]) + talk.new
    for number, tier in enumerate(tiers):
        tokens = sum(piece.tokens for piece in tier) + talk.tiers[number] + (0 if number else fixed)
        for piece in tier:
            survival *= 1 - piece.hazard
        # The provider finds the end of the last tier only if not too much was put behind it.
        found = number < len(tiers) - 1 or talk.new_messages < prices.lookback
        cost += tokens * ((prices.read if found else prices.write) + _HORIZON * _expected(survival, prices))
    if not tiers:
        moved += fixed
    return survival, cost + moved * (prices.write + _HORIZON * _expected(survival, prices))


def _expected(survival: float, prices: Prices) -> float:
    """Return what a token costs in the next turn, if its tier survives with this likelihood."""
    return survival * prices.read + (1 - survival) * prices.write


def _cut(laid: Sequence[Piece], room: int, survival: float, prices: Prices) -> tuple[list[int], float]:
    """Return where pieces in order are cut into at most `room` tiers, with 0 and the end, and what that costs."""
    if not laid:
        return [0], 0.0
    sizes = [0, *accumulate(piece.tokens for piece in laid)]
    alive = [survival]
    for piece in laid:
        alive.append(alive[-1] * (1 - piece.hazard))
    places = _places(sizes)

    def cost(start: int, end: int) -> float:
        tokens = sizes[end] - sizes[start]
        return tokens * (prices.write + _HORIZON * _expected(alive[end], prices))

    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [0])}
    done = (cost(0, len(laid)), [0, len(laid)])
    for _ in range(max(1, room)):
        longer: dict[int, tuple[float, list[int]]] = {}
        for end in places[1:]:
            options = [(best[start][0] + cost(start, end), start) for start in best if start < end]
            if options:
                least, start = min(options)
                longer[end] = least, [*best[start][1], end]
        best = longer
        if len(laid) in best and best[len(laid)][0] < done[0] - 1e-9:
            done = best[len(laid)]
    return done[1], done[0]


def _places(sizes: Sequence[int]) -> list[int]:
    """Return the places where a tier may end: a few, at about equal distances in tokens, and the end."""
    last = len(sizes) - 1
    if last <= _MOST_CUTS:
        return list(range(last + 1))
    step = max(1, sizes[last] // _MOST_CUTS)
    places, reached = [0], 0
    for place in range(1, last):
        if sizes[place] - reached >= step:
            places.append(place)
            reached = sizes[place]
    return [*places, last]
