"""A tiered context turn after turn: out of a repository and a selection, with the tiers where they cost least.

`Tiers` knows the pieces and for how long each has been still. Its strategy decides where they go: `session.strict`,
whose texts are always current, or `session.ledger`. The result is a `TieredContext`, which `assemble_messages` and
`compose_messages` take as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepprompt.arguments import expect, expect_each
from deepprompt.errors import FileRefusedError, MessageError, SessionError
from deepprompt.prompt import Note, notes_of, sha256_hex
from deepprompt.providers.facts import bundled_facts
from deepprompt.session.layout import Piece, PieceName, Prices
from deepprompt.session.ledger import Ledger, LedgerBook
from deepprompt.session.saved import pack, read_file, unpack, write_file
from deepprompt.session.strict import Strict
from deepprompt.session.turn import TierReport, Turn
from deepprompt.sources.code import CodeRepository
from deepprompt.sources.files import clean_path, shown_path
from deepprompt.systems.tiers import TIERS, TieredContext, UrlContent, tiered_system_prompt
from deepprompt.tokens import estimate_tokens

MAP_LEGEND = (
    "A file is its path, then its declarations as the file has them, without bodies; deeper means inside.\n"
    "There are no abbreviations or aliases. The map has the files that changed last, as many as there is room for.\n"
)
_FORMAT = 1
_OLD = 1_000  # the stillness of a file that git did not see change
_TREE_STILL = 4


@dataclass(slots=True)
class _Seen:
    """What is remembered of a piece: its hash, and for how long it has been still."""

    digest: str
    still: int


class Tiers:
    """Makes a `TieredContext` each turn.

    The strategy is `"strict"`, with which every text in it is current, or a `Ledger`, which keeps outdated copies for a
    while. The prices and cache marks are those of `to` and `model`. Raises `SessionError` for an unknown strategy.
    """

    def __init__(
        self, strategy: str | Ledger = "strict", *, to: str = "anthropic", model: str = "claude-opus-5-5"
    ) -> None:
        if strategy == "ledger":
            strategy = Ledger()
        if strategy != "strict" and not isinstance(strategy, Ledger):
            raise SessionError(f"no strategy {strategy!r:.40}; there are: 'strict', 'ledger', Ledger(outdated=0.25)")
        self.strategy = strategy
        self.to, self.model = to, model
        facts = bundled_facts()
        prices = Prices.of(facts.rules(facts.behind(to, model), model), len(TIERS))
        self._book = LedgerBook(prices, strategy.outdated) if isinstance(strategy, Ledger) else Strict(prices)
        self.turn = 0
        self.notes: tuple[Note, ...] = ()
        """The notes of the last turn: files that could not be shown, and what was changed in texts."""
        self._seen: dict[PieceName, _Seen] = {}
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
        the current message. The system prompt is the bundled one, or `system.md` and `system_extra.md` in the folder of
        the repository. A selected file that cannot be shown is left out, and `notes` say why. Raises `MessageError` for
        a history that is not a list of messages.
        """
        expect(repository, CodeRepository, "Tiers.next: repository", "what load_repository returns", MessageError)
        paths = expect_each(selected, str, "Tiers.next: selected", "paths of files", MessageError)
        notes: list[Note] = [*repository.notes]
        prompt = tiered_system_prompt(folder=repository.folder) if system_prompt is None else system_prompt
        texts = _texts(repository, dict.fromkeys(map(clean_path, paths)), notes)
        written = [_as_json(message) for message in history]
        turn = Turn(
            self.turn + 1, prompt, sha256_hex(prompt), texts, self._pieces(texts, repository), tuple(history),
            [sha256_hex(text) for text in written], [estimate_tokens(text) for text in written], user_prompt,
        )  # fmt: skip
        arranged = self._book.arrange(turn)
        self._report, self.notes = arranged.report, tuple(notes)
        self.turn += 1
        legend = (MAP_LEGEND if repository.symbols else "") + arranged.legend
        return TieredContext(
            prompt, legend, arranged.tiers, urls=tuple(urls), active_files=arranged.active, user_prompt=user_prompt,
            images=tuple(images),
        )  # fmt: skip

    def explain(self) -> TierReport:
        """Return what the last turn did, and what it costs by estimate.

        Raises `SessionError` before the first turn.
        """
        if self._report is None:
            raise SessionError("there was no turn yet; call next() first")
        return self._report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is remembered to a file that only you can read. With `strict`, no text is in it."""
        share = self.strategy.outdated if isinstance(self.strategy, Ledger) else None
        state = {
            "format": _FORMAT, "outdated": share, "to": self.to, "model": self.model, "turn": self.turn,
            "seen": [[*name, each.digest, each.still] for name, each in self._seen.items()],
            "tiers": self._book.state(),
        }  # fmt: skip
        write_file(os.fspath(path), pack(json.dumps(state, separators=(",", ":")).encode()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tiers:
        """Return the tiers that a file has. The next turn is the same, byte for byte, as without saving.

        Raises `SessionError` if the file cannot be read or `save` did not write it.
        """
        name = os.fspath(path)
        state = unpack(read_file(name), name)
        try:
            share = state["outdated"]
            tiers = cls("strict" if share is None else Ledger(share), to=state["to"], model=state["model"])
            tiers.turn = int(state["turn"])
            tiers._seen = {(kind, key): _Seen(str(digest), int(still)) for kind, key, digest, still in state["seen"]}
            tiers._book.restore(state["tiers"])
        except (KeyError, TypeError, ValueError):
            raise SessionError(f"{name}: not what Tiers.save() wrote") from None
        return tiers

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


def _texts(repository: CodeRepository, paths: Iterable[str], notes: list[Note]) -> dict[PieceName, str]:
    """Return the text of every piece that is to be shown."""
    texts: dict[PieceName, str] = {}
    if repository.tree:
        texts["tree", ""] = "\n".join([f"# File Tree ({len(repository.paths)} files)", "", *repository.tree])
    texts |= {("symbols", path): block for path, block in repository.symbols.items()}
    for path in paths:
        try:
            text = repository.text(path)
        except FileRefusedError as error:
            shown = shown_path(path)
            reason = str(error).removeprefix(f"{shown}: ")
            notes.append(Note(error.note_kind, shown, f"it is selected and cannot be shown: {reason}"))
            continue
        notes += notes_of(text)
        texts["file", path] = text
    return texts


def _as_json(message: object) -> str:
    if not isinstance(message, Mapping):
        raise MessageError(f"a message is a mapping with a role and content, not {type(message).__name__}")
    try:
        return json.dumps(message, sort_keys=True, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        raise MessageError("a message of the history cannot be written as JSON") from None


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError
