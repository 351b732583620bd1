"""The strategy `strict`: every text is current, and the tiers are laid out by how still their pieces are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from deepprompt.session.layout import Layout, Piece, PieceName, Prices, Talk, plan_layout
from deepprompt.session.turn import Arranged, TierReport, Turn, name_of, tree_pair
from deepprompt.systems.tiers import TIERS, Tier
from deepprompt.tokens import estimate_tokens


@dataclass(slots=True)
class _Laid:
    """A tier as it was sent: its pieces with their hashes, and the hashes of the messages of its history."""

    pieces: dict[PieceName, str] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)


class Strict:
    """Remembers the tiers of the last turn, and lays out those of the next."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._laid: list[_Laid] = []
        self._head = ""

    def arrange(self, turn: Turn) -> Arranged:
        """Return the tiers of a turn, and remember them."""
        kept = self._kept(turn.head, turn.digests)
        before = [laid.pieces for laid in self._laid]
        layout = plan_layout(turn.pieces, before, kept, turn.fixed, self._talk(turn.sizes), self._prices)
        old, new_prompt = self._laid, turn.head != self._head
        self._lay(layout, {piece.name: piece.digest for piece in turn.pieces}, turn.digests)
        self._head = turn.head
        tiers, active = self._tiers(turn)
        return Arranged(tiers, self._report(layout, turn, old, new_prompt), active)

    def state(self) -> dict[str, Any]:
        """Return what is remembered, as JSON values. No text is in it."""
        laid = [
            {"pieces": [[*name, digest] for name, digest in laid.pieces.items()], "history": laid.history}
            for laid in self._laid
        ]
        return {"head": self._head, "laid": laid}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what `state` returned."""
        self._head = str(state["head"])
        self._laid = [
            _Laid({(kind, key): str(digest) for kind, key, digest in laid["pieces"]}, list(laid["history"]))
            for laid in state["laid"]
        ]

    def _kept(self, head: str, digests: Sequence[str]) -> int:
        """Return how many tiers may stay: those before the first one whose history is no longer the same."""
        if head != self._head:
            return 0
        at = 0
        for number, laid in enumerate(self._laid):
            if list(digests[at : at + len(laid.history)]) != laid.history:
                return number
            at += len(laid.history)
        return len(self._laid)

    def _talk(self, sizes: Sequence[int]) -> Talk:
        """Return the size of the conversation, by the tiers of the last turn."""
        ends = [0]
        for laid in self._laid:
            ends.append(ends[-1] + len(laid.history))
        tiers = tuple(sum(sizes[start:end]) for start, end in pairwise(ends))
        return Talk(tiers, sum(sizes[ends[-1] :]), len(sizes[ends[-1] :]))

    def _lay(self, layout: Layout, digests: Mapping[PieceName, str], history: Sequence[str]) -> None:
        """Remember the tiers. The messages that no kept tier has go to the end of the last of these.

        Without one they go to the first tier.
        """
        kept = self._laid[: layout.kept]
        new = [_Laid({name: digests[name] for name in tier}) for tier in layout.tiers[layout.kept :]]
        self._laid = [_Laid(dict(laid.pieces), [*laid.history]) for laid in kept] + new
        if not self._laid:
            self._laid = [_Laid()]
        placed = sum(len(laid.history) for laid in self._laid)
        self._laid[max(0, layout.kept - 1)].history += history[placed:]

    def _tiers(self, turn: Turn) -> tuple[dict[str, Tier], dict[str, str]]:
        """Return the tiers with their texts, and the files that no tier has."""
        texts = turn.texts
        tiers: dict[str, Tier] = {}
        at = 0
        shown: set[PieceName] = set()
        for name, laid in zip(TIERS, self._laid, strict=False):
            messages: list[Mapping[str, object]] = []
            if ("tree", "") in laid.pieces:
                messages += tree_pair(texts["tree", ""])
            messages += turn.history[at : at + len(laid.history)]
            at += len(laid.history)
            shown |= set(laid.pieces)
            tiers[name] = Tier(
                symbols={key: texts[kind, key] for kind, key in laid.pieces if kind == "symbols"},
                files={key: texts[kind, key] for kind, key in laid.pieces if kind == "file"},
                history=messages,
            )
        active = {key: text for (kind, key), text in texts.items() if kind == "file" and (kind, key) not in shown}
        return tiers, active

    def _report(self, layout: Layout, turn: Turn, old: Sequence[_Laid], new_prompt: bool) -> TierReport:
        sizes = {piece.name: piece.tokens for piece in turn.pieces}
        tokens: dict[str, int] = {}
        at = 0
        for name, laid in zip(TIERS, self._laid, strict=False):
            tokens[name] = sum(sizes[piece] for piece in laid.pieces) + (turn.fixed if name == "L0" else 0)
            tokens[name] += sum(turn.sizes[at : at + len(laid.history)])
            at += len(laid.history)
        before = sum(len(laid.history) for laid in old[: layout.kept])
        active = sum(sizes[name] for name in layout.active)
        read = sum(list(tokens.values())[: layout.kept]) - sum(turn.sizes[before:]) * bool(layout.kept)
        written = sum(tokens.values()) - read
        full = active + estimate_tokens(turn.user_prompt)
        total = read + written + full
        paid = read * self._prices.read + written * self._prices.write + full
        reason = ""
        if layout.kept < len(old):
            reason = "the system prompt changed" if new_prompt else _why(old[layout.kept], turn.pieces)
        return TierReport(
            turn.number, layout.kept, reason, _moves(old, self._laid), tokens | {"active": active}, read, written,
            full, paid / total if total else 1.0,
        )  # fmt: skip


def _why(laid: _Laid, pieces: Sequence[Piece]) -> str:
    """Return why a tier of the last turn did not stay."""
    now = {piece.name: piece.digest for piece in pieces}
    changed = [name for name, digest in laid.pieces.items() if name in now and now[name] != digest]
    gone = [name for name in laid.pieces if name not in now]
    if changed:
        return f"{name_of(min(changed))} changed" + (f", and {len(changed) - 1} more" if len(changed) > 1 else "")
    if gone:
        return f"{name_of(min(gone))} is no longer shown"
    return "it costs less than to leave other pieces outside, or messages were dropped"


def _moves(old: Sequence[_Laid], new: Sequence[_Laid]) -> tuple[tuple[str, str, str], ...]:
    """Return the pieces that are in another tier than before."""
    before = {piece: name for name, laid in zip(TIERS, old, strict=False) for piece in laid.pieces}
    after = {piece: name for name, laid in zip(TIERS, new, strict=False) for piece in laid.pieces}
    return tuple(
        (name_of(name), before.get(name, "-"), after.get(name, "-"))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )
