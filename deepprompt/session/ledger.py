"""The strategy `ledger`: two pages that stay as they are, and a log to which everything new is appended.

A file that changes is shown again at the end of the log, and its old copy stays, outdated. That costs less than writing
the pages again, as long as not too much is outdated: then the pages are rebuilt. Whether a model that sees outdated
copies answers worse was not measured, so this strategy is a choice and not the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepprompt.errors import SessionError
from deepprompt.session.layout import PieceName, Prices
from deepprompt.session.turn import Arranged, TierReport, Turn, name_of, pair, tree_pair
from deepprompt.systems.tiers import STRUCTURE_CONTINUED, Message, Tier, show_working_files
from deepprompt.tokens import estimate_tokens

_COLD = 20  # pieces that have been still for so long go to the first page
_LEGEND = "A file or a list may be shown more than once. Then the last copy is the current one; ignore the others.\n"

Page = dict[PieceName, str]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The strategy `ledger`: at most this share of the shown text may be outdated copies.

    It cost less than `strict` in every history that was replayed; docs/systems/repository.md has the figures. How
    outdated copies affect the model's responses is not known. Raises `SessionError` for a share below 0 or above 1.
    """

    outdated: float = 0.25

    def __post_init__(self) -> None:
        """Raise if the share is no share."""
        if not isinstance(self.outdated, int | float) or not 0 <= self.outdated <= 1:
            raise SessionError(f"Ledger: outdated takes a share from 0 to 1, not {self.outdated!r:.40}")


class LedgerBook:
    """Remembers the pages and the log, and appends to them or rebuilds them."""

    def __init__(self, prices: Prices, outdated: float) -> None:
        self._prices = prices
        self._limit = outdated
        self._head = ""
        self._pages: list[Page] = []
        self._log: list[Message] = []
        self._copies: list[tuple[PieceName, str]] = []
        """The copies in the log, in order: the piece and its text."""
        self._spoken: list[str] = []
        """The hashes of the caller's messages in the log."""

    def arrange(self, turn: Turn) -> Arranged:
        """Return the pages and the log of a turn, and remember them."""
        before = len(self._log)
        reason = self._why_anew(turn)
        kept = len(self._pages)
        if not reason:
            appended = self._append(turn)
            if over := self._over(turn):
                reason = over
        if reason:
            kept = self._lay(turn, keep_first=turn.head == self._head)
            before = len(self._log)
            appended = []
        self._head = turn.head
        first, second = self._pages
        tiers = {
            "L0": _tier(first),
            "L1": _tier(second, tree_pair(second["tree", ""]) if ("tree", "") in second else []),
            "L2": Tier(history=self._log[:before]),
            "L3": Tier(history=self._log[before:]),
        }
        report = self._report(turn, kept, reason if turn.number > 1 else "", before, appended)
        return Arranged(tiers, report, legend=_LEGEND)

    def state(self) -> dict[str, Any]:
        """Return what is remembered, as JSON values: with the texts, as outdated copies are nowhere else."""
        return {
            "head": self._head, "log": self._log, "spoken": self._spoken,
            "pages": [[[*name, text] for name, text in page.items()] for page in self._pages],
            "copies": [[*name, text] for name, text in self._copies],
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what `state` returned."""
        self._head, self._log = str(state["head"]), list(state["log"])
        self._spoken = list(state["spoken"])
        self._pages = [{(kind, key): str(text) for kind, key, text in page} for page in state["pages"]]
        self._copies = [((kind, key), str(text)) for kind, key, text in state["copies"]]

    def _why_anew(self, turn: Turn) -> str:
        """Return why the pages cannot stay, "" if they can."""
        if not self._pages:
            return "there are no pages yet"
        if turn.head != self._head:
            return "the system prompt changed"
        if list(turn.digests[: len(self._spoken)]) != self._spoken:
            return "messages were dropped or changed"
        return ""

    def _shown(self) -> dict[PieceName, str]:
        """Return the last copy of every piece that was shown."""
        shown: dict[PieceName, str] = {}
        for page in self._pages:
            shown |= page
        return shown | dict(self._copies)

    def _append(self, turn: Turn) -> list[PieceName]:
        """Append new messages and new copies to the log. Return the pieces that were appended."""
        self._say(turn)
        shown = self._shown()
        new = [
            name
            for name, text in sorted(turn.texts.items())
            # The declarations of a file that is shown whole say nothing more.
            if shown.get(name) != text and not (name[0] == "symbols" and ("file", name[1]) in turn.texts)
        ]
        files = {key: turn.texts[kind, key] for kind, key in new if kind == "file"}
        symbols = [turn.texts[name] for name in new if name[0] == "symbols"]
        if ("tree", "") in new:
            self._log += tree_pair(turn.texts["tree", ""])
        if symbols:
            self._log += pair(STRUCTURE_CONTINUED + "\n".join(symbols))
        if files:
            self._log += pair(show_working_files(files))
        self._copies += [(name, turn.texts[name]) for name in new]
        return new

    def _say(self, turn: Turn) -> None:
        """Append the caller's messages that the log has not."""
        self._log += [dict(message) for message in turn.history[len(self._spoken) :]]
        self._spoken = list(turn.digests)

    def _over(self, turn: Turn) -> str:
        """Return which limit the pages and the log exceed, "" if none."""
        live = sum(piece.tokens for piece in turn.pieces)
        wrong, extra = self._wrong(turn)
        if wrong > self._limit * live:
            return f"{wrong:,} of {live:,} tokens would be outdated"
        return f"{extra:,} tokens are no longer selected" if extra > live else ""

    def _wrong(self, turn: Turn, pages: Sequence[Page] | None = None) -> tuple[int, int]:
        """Return the tokens of outdated copies, and of current ones that are no longer asked for."""
        copies = [item for page in (self._pages if pages is None else pages) for item in page.items()]
        copies += self._copies if pages is None else []
        last = dict(copies)
        wrong = extra = 0
        seen: set[PieceName] = set()
        for name, text in reversed(copies):
            tokens = estimate_tokens(text)
            if name in seen or (name in turn.texts and text != turn.texts[name]):
                wrong += tokens
            elif name not in turn.texts:
                extra += tokens
            seen.add(name)
        assert len(last) == len(seen)
        return wrong, extra

    def _lay(self, turn: Turn, *, keep_first: bool) -> int:
        """Rebuild the pages; the first one stays if little in it is outdated. Return how many stayed."""
        live = sum(piece.tokens for piece in turn.pieces)
        keep = keep_first and bool(self._pages) and sum(self._wrong(turn, self._pages[:1])) <= self._limit / 2 * live
        first: Page = self._pages[0] if keep else {
            piece.name: turn.texts[piece.name]
            for piece in turn.pieces
            if piece.still >= _COLD and piece.kind != "tree"
        }  # fmt: skip
        second = {name: text for name, text in turn.texts.items() if first.get(name) != text}
        self._pages = [first, second]
        self._log, self._copies, self._spoken = [], [], []
        self._say(turn)
        return 1 if keep else 0

    def _report(self, turn: Turn, kept: int, reason: str, before: int, appended: Sequence[PieceName]) -> TierReport:
        sizes = [sum(map(estimate_tokens, page.values())) for page in self._pages]
        new = sum(estimate_tokens(str(message.get("content"))) for message in self._log[before:])
        log = sum(estimate_tokens(str(message.get("content"))) for message in self._log)
        tokens = {"L0": sizes[0] + turn.fixed, "L1": sizes[1], "log": log}
        said = estimate_tokens(turn.user_prompt)
        read = (tokens["L0"] if kept else 0) + (tokens["L1"] + log - new if kept > 1 else 0)
        written = sum(tokens.values()) - read
        total = read + written + said
        paid = read * self._prices.read + written * self._prices.write + said
        moved = tuple((name_of(name), "-", "log") for name in appended)
        return TierReport(
            turn.number, kept, reason, moved, tokens, read, written, said, paid / total if total else 1.0,
            self._wrong(turn)[0],
        )  # fmt: skip


def _tier(page: Page, history: Sequence[Message] = ()) -> Tier:
    return Tier(
        symbols={key: text for (kind, key), text in page.items() if kind == "symbols"},
        files={key: text for (kind, key), text in page.items() if kind == "file"},
        history=history,
    )
