"""A tiered context turn after turn: out of a repository and a selection, with the tiers where they cost least.

`Tiers` remembers what it showed and for how long each piece has been still. Its strategy decides where pieces go; see
`session.layout` for `strict`, whose texts are always current. The result is a `TieredContext`, which
`assemble_messages` and `compose_messages` take as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from deepprompt.arguments import expect, expect_each
from deepprompt.errors import FileRefusedError, MessageError, SessionError
from deepprompt.prompt import Note, NotedText, notes_of, sha256_hex
from deepprompt.providers.facts import bundled_facts
from deepprompt.session.layout import Layout, Piece, PieceName, Prices, Talk, plan_layout
from deepprompt.session.saved import pack, read_file, unpack, write_file
from deepprompt.sources.code import CodeRepository
from deepprompt.sources.files import clean_path, shown_path
from deepprompt.systems.tiers import FILE_TREE, OK, TIERS, Tier, TieredContext, UrlContent, tiered_system_prompt
from deepprompt.text.display import counted
from deepprompt.tokens import estimate_tokens

MAP_LEGEND = (
    "A file is its path, then its declarations as the file has them, without bodies; deeper means inside.\n"
    "There are no abbreviations or aliases. The map has the files that changed last, as many as there is room for.\n"
)
_FORMAT = 1
_MOST_MOVES = 20
_OLD = 1_000  # the stillness of a file that git did not see change
_TREE_STILL = 4


@dataclass(frozen=True, slots=True)
class TierReport:
    """What one turn did: the tiers that stayed, the pieces that went elsewhere and why, and the estimated cost."""

    turn: int
    kept: int
    reason: str
    """Why tiers were laid out anew; "" if all stayed."""
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
            + (f"; the others were laid out anew: {self.reason}" if self.reason else ""),
        ]
        lines += [f"  {name:7}{tokens:>9,} tokens" for name, tokens in self.tokens.items()]
        lines += [f"  moved  {piece}: {old} -> {new}" for piece, old, new in self.moved[:_MOST_MOVES]]
        if len(self.moved) > _MOST_MOVES:
            lines.append(f"  moved  {len(self.moved) - _MOST_MOVES} more")
        return "\n".join([*lines, *([f"  {self.outdated:,} tokens are outdated"] if self.outdated else [])])


@dataclass(slots=True)
class _Seen:
    """What is remembered of a piece: its hash, and for how long it has been still."""

    digest: str
    still: int


@dataclass(slots=True)
class _Laid:
    """A tier as it was sent: its pieces with their hashes, and the hashes of the messages of its history."""

    pieces: dict[PieceName, str] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)


class Tiers:
    """Makes a `TieredContext` each turn. With the strategy `strict`, every text in it is current.

    `to` and `model` say whose prices and marks count.
    """

    def __init__(self, strategy: str = "strict", *, to: str = "anthropic", model: str = "claude-opus-5-5") -> None:
        if strategy != "strict":
            raise SessionError(f"no strategy {strategy!r:.40}; there is: strict")
        self.strategy = strategy
        self.to, self.model = to, model
        facts = bundled_facts()
        self._rules = facts.rules(facts.behind(to, model), model)
        self._prices = Prices.of(self._rules, len(TIERS))
        self.turn = 0
        self.notes: tuple[Note, ...] = ()
        """The notes of the last turn: files that could not be shown, and what was changed in texts."""
        self._seen: dict[PieceName, _Seen] = {}
        self._laid: list[_Laid] = []
        self._head = ""
        self._report: TierReport | None = None

    def next(
        self,
        repository: CodeRepository,
        selected: Iterable[str],
        history: Sequence[Mapping[str, object]] = (),
        urls: Sequence[UrlContent] = (),
        user_prompt: str = "",
        *,
        images: Sequence[str] = (),
        system_prompt: str | None = None,
    ) -> TieredContext:
        """Return the context of the next turn.

        `selected` are the paths of the files that the model should see. `history` is the conversation so far, without
        the current message. The system prompt is the bundled one, or `system.md` and `system_extra.md` in the folder
        of the repository. A selected file that cannot be shown is left out, and `notes` say why.
        """
        expect(repository, CodeRepository, "Tiers.next: repository", "what load_repository returns", MessageError)
        paths = expect_each(selected, str, "Tiers.next: selected", "paths of files", MessageError)
        notes: list[Note] = [*repository.notes]
        prompt = tiered_system_prompt(folder=repository.folder) if system_prompt is None else system_prompt
        texts = self._texts(repository, dict.fromkeys(map(clean_path, paths)), notes)
        pieces = self._pieces(texts, repository)
        digests = [_digest(message) for message in history]
        head = sha256_hex(f"{prompt}")
        kept = self._kept(head, digests)
        fixed = estimate_tokens(prompt)
        before = [laid.pieces for laid in self._laid]
        sizes = [estimate_tokens(json.dumps(message, ensure_ascii=False, default=_plain)) for message in history]
        layout = plan_layout(pieces, before, kept, fixed, self._talk(sizes), self._prices)
        old = self._laid
        self._lay(layout, {piece.name: piece.digest for piece in pieces}, digests)
        self._report = self._reported(layout, pieces, old, fixed, sizes, user_prompt, head != self._head)
        self._head = head
        self.turn += 1
        self.notes = tuple(notes)
        return self._context(texts, history, prompt, urls, user_prompt, images)

    def explain(self) -> TierReport:
        """Return what the last turn did, and what it costs by estimate."""
        if self._report is None:
            raise SessionError("there was no turn yet; call next() first")
        return self._report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is remembered to a file that only you can read. No text of the repository is in it."""
        state = {
            "format": _FORMAT, "tiers": self.strategy, "to": self.to, "model": self.model, "turn": self.turn,
            "head": self._head, "seen": [[*name, each.digest, each.still] for name, each in self._seen.items()],
            "laid": [
                {"pieces": [[*name, digest] for name, digest in laid.pieces.items()], "history": laid.history}
                for laid in self._laid
            ],
        }  # fmt: skip
        write_file(os.fspath(path), pack(json.dumps(state, separators=(",", ":")).encode()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tiers:
        """Return the tiers that a file has. The next turn is the same, byte for byte, as without saving."""
        name = os.fspath(path)
        state = unpack(read_file(name), name)
        try:
            tiers = cls(state["tiers"], to=state["to"], model=state["model"])
            tiers.turn, tiers._head = int(state["turn"]), str(state["head"])
            tiers._seen = {(kind, key): _Seen(str(digest), int(still)) for kind, key, digest, still in state["seen"]}
            tiers._laid = [
                _Laid({(kind, key): str(digest) for kind, key, digest in laid["pieces"]}, list(laid["history"]))
                for laid in state["laid"]
            ]
        except (KeyError, TypeError, ValueError):
            raise SessionError(f"{name}: not what Tiers.save() wrote") from None
        return tiers

    def _texts(self, repository: CodeRepository, paths: Iterable[str], notes: list[Note]) -> dict[PieceName, str]:
        """Return the text of every piece that is to be shown."""
        texts: dict[PieceName, str] = {}
        if repository.tree:
            lines = "\n".join([f"# File Tree ({len(repository.paths)} files)", "", *repository.tree])
            texts["tree", ""] = FILE_TREE + lines
        texts |= {("symbols", path): block for path, block in repository.symbols.items()}
        for path in paths:
            try:
                text: NotedText = repository.text(path)
            except FileRefusedError as error:
                shown = shown_path(path)
                reason = str(error).removeprefix(f"{shown}: ")
                notes.append(Note(error.note_kind, shown, f"it is selected and cannot be shown: {reason}"))
                continue
            notes += notes_of(text)
            texts["file", path] = text
        return texts

    def _pieces(self, texts: Mapping[PieceName, str], repository: CodeRepository) -> list[Piece]:
        """Return the pieces with their stillness, and remember it."""
        pieces = []
        for name, text in sorted(texts.items()):
            digest = sha256_hex(text)
            seen = self._seen.get(name)
            if seen is None:
                still = _TREE_STILL if name[0] == "tree" else repository.ages.get(name[1], _OLD)
                if not repository.ages and name[0] != "tree":
                    still = _TREE_STILL
            else:
                still = seen.still + 1 if seen.digest == digest else 0
            self._seen[name] = _Seen(digest, still)
            pieces.append(Piece(*name, digest, estimate_tokens(text), still))
        return pieces

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

    def _context(
        self,
        texts: Mapping[PieceName, str],
        history: Sequence[Mapping[str, object]],
        prompt: str,
        urls: Sequence[UrlContent],
        user_prompt: str,
        images: Sequence[str],
    ) -> TieredContext:
        tiers: dict[str, Tier] = {}
        at = 0
        shown: set[PieceName] = set()
        for name, laid in zip(TIERS, self._laid, strict=False):
            messages: list[Mapping[str, object]] = []
            if ("tree", "") in laid.pieces:
                messages += [
                    {"role": "user", "content": texts["tree", ""]}, {"role": "assistant", "content": OK},
                ]  # fmt: skip
            messages += history[at : at + len(laid.history)]
            at += len(laid.history)
            shown |= set(laid.pieces)
            tiers[name] = Tier(
                symbols={key: texts[kind, key] for kind, key in laid.pieces if kind == "symbols"},
                files={key: texts[kind, key] for kind, key in laid.pieces if kind == "file"},
                history=messages,
            )
        active = {key: text for (kind, key), text in texts.items() if kind == "file" and (kind, key) not in shown}
        legend = MAP_LEGEND if any(kind == "symbols" for kind, _ in texts) else ""
        return TieredContext(
            prompt,
            legend,
            tiers=tiers,
            urls=tuple(urls),
            active_files=active,
            user_prompt=user_prompt,
            images=tuple(images),
        )

    def _reported(
        self,
        layout: Layout,
        pieces: Sequence[Piece],
        old: Sequence[_Laid],
        fixed: int,
        talk: Sequence[int],
        user_prompt: str,
        new_prompt: bool,
    ) -> TierReport:
        sizes = {piece.name: piece.tokens for piece in pieces}
        tokens: dict[str, int] = {}
        for name, laid in zip(TIERS, self._laid, strict=False):
            tokens[name] = sum(sizes[piece] for piece in laid.pieces) + (fixed if name == "L0" else 0)
        before = sum(len(laid.history) for laid in old[: layout.kept])
        at = 0
        for name, laid in zip(TIERS, self._laid, strict=False):
            tokens[name] += sum(talk[at : at + len(laid.history)])
            at += len(laid.history)
        active = sum(sizes[name] for name in layout.active)
        said = estimate_tokens(user_prompt)
        read = sum(list(tokens.values())[: layout.kept]) - sum(talk[before:]) * bool(layout.kept)
        written = sum(tokens.values()) - read
        full = active + said
        total = read + written + full
        paid = read * self._prices.read + written * self._prices.write + full
        reason = ""
        if layout.kept < len(old):
            reason = "the system prompt changed" if new_prompt else _why(old[layout.kept], pieces)
        return TierReport(
            self.turn + 1, layout.kept, reason, _moves(old, self._laid), tokens | {"active": active}, read, written,
            full, paid / total if total else 1.0,
        )  # fmt: skip


def _digest(message: object) -> str:
    if not isinstance(message, Mapping):
        raise MessageError(f"a message is a mapping with a role and content, not {type(message).__name__}")
    try:
        return sha256_hex(json.dumps(message, sort_keys=True, ensure_ascii=False, default=_plain))
    except (TypeError, ValueError, RecursionError):
        raise MessageError("a message of the history cannot be written as JSON") from None


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _name_of(name: PieceName) -> str:
    kind, key = name
    return "the file tree" if kind == "tree" else key if kind == "file" else f"symbols of {key}"


def _why(laid: _Laid, pieces: Sequence[Piece]) -> str:
    """Return why a tier of the last turn did not stay."""
    now = {piece.name: piece.digest for piece in pieces}
    changed = [name for name, digest in laid.pieces.items() if name in now and now[name] != digest]
    gone = [name for name in laid.pieces if name not in now]
    if changed:
        return f"{_name_of(min(changed))} changed" + (f", and {len(changed) - 1} more" if len(changed) > 1 else "")
    if gone:
        return f"{_name_of(min(gone))} is no longer shown"
    return "it costs less than to leave other pieces outside, or messages were dropped"


def _moves(old: Sequence[_Laid], new: Sequence[_Laid]) -> tuple[tuple[str, str, str], ...]:
    """Return the pieces that are in another tier than before."""
    before = {piece: name for name, laid in zip(TIERS, old, strict=False) for piece in laid.pieces}
    after = {piece: name for name, laid in zip(TIERS, new, strict=False) for piece in laid.pieces}
    names = sorted({*before, *after})
    return tuple(
        (_name_of(name), before.get(name, "-"), after.get(name, "-"))
        for name in names
        if before.get(name) != after.get(name)
    )
