"""A repository for a model to read: the names of its files, their texts, their ages, and its own system prompt.

Names come from git, texts from the one careful reader. A text is read when it is asked for and kept until the file
changes. It is safe for a prompt: hidden characters are shown and control tokens are disarmed, with a note.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deepprompt.arguments import expect
from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.prompt import Note, NotedText
from deepprompt.sources.files import is_folder, path_text, read_below, shown_path
from deepprompt.sources.git.names import list_names
from deepprompt.sources.symbols.map import MAP_BUDGET, SymbolMap, cache_file, rank_sources
from deepprompt.sources.symbols.reader import MOST_FILE as MOST_SOURCE
from deepprompt.sources.tree import fold_tree
from deepprompt.text.hygiene import decode, neutralise, why_no_text

TREE_BUDGET = 4_000
_RECENT = 0
MOST_FILE = 1 << 20
_TIMEOUT = 10.0

_Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CodeRepository:
    """The files of a repository at one moment. `refreshed` returns them as they are now."""

    folder: str
    paths: tuple[str, ...]
    """The regular files, tracked or not, that are not ignored; sorted, relative to the folder."""
    ages: Mapping[str, int]
    """How many commits are newer than the last change of each file; without an entry, more than a thousand."""
    tree: tuple[str, ...]
    """The paths within the budget of the tree: a line `folder/ (N files)` stands for files that did not fit."""
    symbols: Mapping[str, str] = field(default_factory=dict)
    """The blocks of the symbol map by path, of the files that changed last: as many as the budget of the map holds."""
    notes: tuple[Note, ...] = ()
    tree_budget: int = TREE_BUDGET
    map_budget: int = 0
    timeout: float = _TIMEOUT
    sources: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The files that the symbol map can have, those that changed last first."""
    symbol_map: SymbolMap | None = field(default=None, repr=False, compare=False)
    signatures: Mapping[str, _Signature] = field(default_factory=dict, repr=False, compare=False)
    texts: dict[str, tuple[_Signature, NotedText]] = field(default_factory=dict, repr=False, compare=False)

    def text(self, path: str) -> NotedText:
        """Return the text of a file as a prompt shows it. Raises `SourceError` if it cannot be shown."""
        expect(path, str, "CodeRepository.text: path", "a path below the folder")
        found = self.texts.get(path)
        if found is None or self.signatures.get(path) != found[0]:
            signature, text = _read(self.folder, path)
            self.texts[path] = found = (signature, text)
        return found[1]

    def refreshed(self) -> CodeRepository:
        """Return the repository as it is now. Texts of files that did not change are not read again."""
        names, _, notes = list_names(self.folder, self.timeout)
        signatures = _signatures(self.folder, names)
        if signatures == self.signatures:
            return self
        paths = tuple(signatures)
        tree = self.tree if paths == self.paths else fold_tree(paths, self.tree_budget)
        known = set(self.paths)
        new = {path: _RECENT for path in paths if path not in known}
        ages = {**self.ages, **new} if new else self.ages
        sources = self.sources if paths == self.paths else rank_sources(paths, ages)
        fresh = replace(self, paths=paths, tree=tree, ages=ages, sources=sources, signatures=signatures)
        return _with_symbols(fresh, notes)


def load_repository(
    folder: str | os.PathLike[str],
    *,
    tree_budget: int = TREE_BUDGET,
    map_budget: int = MAP_BUDGET,
    cache: bool = True,
    timeout: float = _TIMEOUT,
) -> CodeRepository:
    """Return the files of a folder that is, or lies in, a git repository.

    Git lists their names, and how long ago each was changed, within `timeout` seconds. The file list in a prompt gets
    at most `tree_budget` tokens, and the symbol map at most `map_budget`; 0 means no map. With `cache`, outlines are
    kept in your cache folder. Without the extra `map` there is no map, and a note says so. Raises `SourceError` if
    there is no such folder, or if it is in no repository.
    """
    root = os.path.abspath(path_text(folder, "load_repository: folder"))
    expect(tree_budget, int, "load_repository: tree_budget", "a number of tokens")
    expect(map_budget, int, "load_repository: map_budget", "a number of tokens")
    expect(timeout, int | float, "load_repository: timeout", "a number of seconds")
    if not is_folder(root):
        problem = "it is not a folder" if os.path.lexists(root) else "there is no such folder"
        raise SourceError(f"{shown_path(root)}: {problem}")
    names, ages, notes = list_names(root, timeout, ages=True)
    signatures = _signatures(root, names)
    paths = tuple(signatures)
    tree = fold_tree(paths, tree_budget)
    symbol_map = SymbolMap(root, cache_file(root, os.environ) if cache else "") if map_budget > 0 else None
    repository = CodeRepository(
        root, paths, MappingProxyType(ages), tree, tree_budget=tree_budget, map_budget=map_budget, timeout=timeout,
        sources=rank_sources(paths, ages), symbol_map=symbol_map, signatures=signatures,
    )  # fmt: skip
    return _with_symbols(repository, notes)


def _with_symbols(repository: CodeRepository, notes: list[Note]) -> CodeRepository:
    """Return a repository with the symbol map of its files and the notes about both."""
    if repository.symbol_map is None:
        return replace(repository, notes=tuple(notes))
    signatures = repository.signatures
    large = [path for path in repository.sources if signatures[path][1] > MOST_SOURCE]

    def read(path: str) -> bytes | None:
        try:
            data = read_below(repository.folder, path, MOST_SOURCE, lambda _: None, whole=True).data
        except FileRefusedError:
            return None
        return None if why_no_text(data) else data

    # Only files that the parser would take are read.
    sources = [path for path in repository.sources if path not in large] if large else repository.sources
    blocks, more = repository.symbol_map.blocks(sources, signatures, read, repository.map_budget)
    if large:
        detail = f"not in the symbol map: larger than {MOST_SOURCE} bytes"
        more.append(Note("skipped", shown_path(min(large)), detail, count=len(large)))
    return replace(repository, symbols=blocks, notes=(*notes, *more))


def _signatures(root: str, names: list[str]) -> dict[str, _Signature]:
    """Return what tells whether a file changed, for each name that is a regular file."""
    found = {}
    below = root.rstrip(os.sep) + os.sep
    for name in names:
        try:
            status = os.lstat(below + name)
        except (OSError, ValueError):
            continue  # deleted, and not committed yet
        if stat.S_ISREG(status.st_mode):
            found[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def _read(root: str, path: str) -> tuple[_Signature, NotedText]:
    shown = shown_path(path)
    try:
        contents = read_below(root, path, MOST_FILE, lambda _: None, whole=True)
    except FileRefusedError as error:
        raise FileRefusedError(error.kind, f"{shown}: {error}") from None
    if reason := why_no_text(contents.data):
        raise FileRefusedError("refused", f"{shown}: {reason}")
    notes: list[Note] = []
    text = neutralise(decode(contents.data, shown, notes), shown, notes)
    status = contents.status
    return (status.st_mtime_ns, status.st_size, status.st_ino), NotedText(text, notes)
