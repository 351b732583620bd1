"""The blocks of the symbol map: a path and the outline of the file, kept by content, within a budget of tokens.

Outlines are kept in memory and, between processes, in a file of the user's cache folder: one for each repository, with
the outlines of its present files by content hash. While a file does not parse, its last good block is shown.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from deepprompt.prompt import Note
from deepprompt.sources.files import read_named, replace_file
from deepprompt.sources.symbols.languages import LANGUAGES, suffix_of
from deepprompt.sources.symbols.reader import OutlineReader, can_read, is_installed
from deepprompt.text.hygiene import neutralise
from deepprompt.tokens import estimate_tokens

MAP_BUDGET = 40_000
_FORMAT = 1
_LEAST_BLOCK = 8
_WORTH_SAVING = 100
_LONG_AGO = 1_000
_MOST_CACHE = 1 << 28
_Outline = tuple[str, bool]  # the lines, and whether the file parsed


@dataclass(slots=True)
class SymbolMap:
    """The outlines of a repository's files. `blocks` returns those of its present files within a budget."""

    folder: str
    cache: str = ""
    """The file that keeps outlines between processes, "" for none."""
    outlines: dict[str, _Outline] = field(default_factory=dict)
    """By content hash."""
    good: dict[str, str] = field(default_factory=dict)
    """The content hash of the last version of each file that parsed."""
    known: dict[str, tuple[object, str]] = field(default_factory=dict)
    """By path: the signature that shows whether a file changed, and the hash of its content."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why a content has no outline, by hash."""
    reader: OutlineReader = field(default_factory=OutlineReader, repr=False)
    unsaved: int = 0
    """How many outlines are not in the cache file yet."""

    def blocks(
        self,
        ranked: Sequence[str],
        signatures: Mapping[str, object],
        read: Callable[[str], bytes | None],
        budget: int,
    ) -> tuple[dict[str, str], list[Note]]:
        """Return the blocks of the first files, as many as the budget holds, by path; and notes.

        `ranked` is what `rank_sources` returns. `read` returns the bytes of a file, None if it cannot be shown.
        """
        notes: list[Note] = []
        if not is_installed():
            return {}, [Note("skipped", "symbol map", "tree-sitter is not installed: install deepprompt[map]")]
        is_first = not self.known
        missing = self._bring_up_to_date(ranked, signatures, read)
        for suffix in sorted(missing):
            notes.append(Note("skipped", "symbol map", f"the grammar for {suffix} is not installed"))
        blocks: dict[str, str] = {}
        room = budget
        for path in ranked:
            if path not in self.known:
                continue
            digest = self.known[path][1]
            if digest in self.refused:
                notes.append(Note("skipped", path, f"not in the symbol map: {self.refused[digest]}"))
                continue
            block = self._block(path, digest)
            size = estimate_tokens(block) + 1
            if room < max(_LEAST_BLOCK, budget // 50):
                break
            if block and size <= room:
                room -= size
                blocks[path] = block
        if self.unsaved and (is_first or self.unsaved >= _WORTH_SAVING):
            self._save(ranked)
        return dict(sorted(blocks.items())), notes

    def _bring_up_to_date(
        self,
        sources: Sequence[str],
        signatures: Mapping[str, object],
        read: Callable[[str], bytes | None],
    ) -> set[str]:
        """Read the files that changed. Return the kinds of files whose grammar is not installed."""
        known, nothing = self.known, (None, "")
        changed = [path for path in sources if known.get(path, nothing)[0] != signatures[path]]
        missing: set[str] = set()
        usable: dict[str, bool] = {}
        if changed and not self.known:
            self._load()
        asked: deque[tuple[str, str]] = deque()

        def note(path: str, digest: str) -> None:
            self.known[path] = (signatures.get(path), digest)
            if digest in self.outlines and self.outlines[digest][1]:
                self.good[path] = digest

        def unread() -> Iterator[tuple[bytes, str]]:
            for path in changed:
                suffix = suffix_of(path)
                if not usable.setdefault(suffix, can_read(suffix)):
                    missing.add(suffix)
                    continue
                data = read(path)
                if data is None:
                    self.known.pop(path, None)
                    continue
                digest = sha256(f"{suffix}\0".encode() + data).hexdigest()
                if digest in self.outlines or digest in self.refused:
                    note(path, digest)
                else:
                    asked.append((path, digest))
                    yield data, suffix

        for found in self.reader.read_all(unread()):
            path, digest = asked.popleft()
            if isinstance(found, str):
                self.refused[digest] = found
            else:
                self.outlines[digest] = neutralise("\n".join(found[0])), found[1]
                self.unsaved += 1
            note(path, digest)
        return missing

    def _block(self, path: str, digest: str) -> str:
        """Return the block of a file: of its last version that parsed, if this one does not."""
        lines, parses = self.outlines[digest]
        if not parses and self.good.get(path) in self.outlines:
            lines = self.outlines[self.good[path]][0]
        return f"{path}\n{lines}" if lines else ""

    def _load(self) -> None:
        """Take what the cache file has. A file that is not ours or damaged is the same as none."""
        if not self.cache or not _is_private(self.cache):
            return
        try:
            kept = json.loads(read_named(self.cache, _MOST_CACHE))
            if kept["format"] == _FORMAT and kept["grammars"] == _grammars():
                self.outlines |= {
                    digest: (str(lines), bool(good)) for digest, (lines, good) in kept["outlines"].items()
                }
                self.good |= {str(path): str(digest) for path, digest in kept["good"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return

    def _save(self, sources: Iterable[str]) -> None:
        """Keep the outlines of the present files, and of their last good versions."""
        self.unsaved = 0
        if not self.cache:
            return
        present = set(sources)
        good = {path: digest for path, digest in self.good.items() if path in present}
        wanted = {self.known[path][1] for path in present if path in self.known} | set(good.values())
        outlines = {digest: self.outlines[digest] for digest in sorted(wanted) if digest in self.outlines}
        state = {"format": _FORMAT, "grammars": _grammars(), "outlines": outlines, "good": good}
        with suppress(OSError, ValueError):
            os.makedirs(os.path.dirname(self.cache), 0o700, exist_ok=True)
            if _is_private(os.path.dirname(self.cache)):
                replace_file(self.cache, json.dumps(state, separators=(",", ":")).encode(), 0o600)


def rank_sources(paths: Iterable[str], ages: Mapping[str, int]) -> tuple[str, ...]:
    """Return the files that a map can have, those that git saw change last first."""
    sources = [path for path in paths if suffix_of(path)]
    return tuple(sorted(sources, key=lambda path: (ages.get(path, _LONG_AGO), path)))


def cache_file(folder: str, environment: Mapping[str, str]) -> str:
    """Return the file that keeps the outlines of the repository in a folder, "" if the user has no cache folder."""
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    base = environment.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    if not os.path.isabs(base):
        return ""
    name = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return os.path.join(base, "deepprompt", "symbols", f"{name}.json")


def _is_private(path: str) -> bool:
    """Whether a file or folder is the user's own, not a link, and closed to others for writing."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022 and not os.path.islink(path)


def _grammars() -> list[str]:
    """Return the versions of the grammars, which decide what an outline looks like."""
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in sorted({"tree_sitter", *(language.module.partition(":")[0] for language in LANGUAGES)}):
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name.replace('_', '-'))}")
    return versions
