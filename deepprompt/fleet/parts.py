"""Cut logs into parts that can be summed up apart, by their content alone: any number of workers gets the same parts.

A part is a group of files, as bodies are never moved about. Small logs are one part. Large ones are cut by what their
requests begin with, because caches share nothing between requests that begin differently. Where too many files share
that, they are cut by conversation, and each part begins with an empty cache.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from math import inf

from deepprompt.errors import SourceError
from deepprompt.fleet.engines import run
from deepprompt.fleet.readers import files_in, read_file
from deepprompt.fleet.record import Record, Unread, session_in
from deepprompt.fleet.streams import packed
from deepprompt.providers.recognise import MESSAGES, MODELS
from deepprompt.sources.remote import is_url, shown_url, size_at
from deepprompt.words import Engine

SIZE = 32 << 20
"""The size of a part, in characters of its requests."""
_UNPACKED = 16
# What the tools and prompts of a request stand under, those that come first in a cache before the others.
_FIRST = ("tools", "system", "instructions", "systemInstruction", "system_instruction", *MESSAGES)
_START = 256
_MODEL = re.compile(rf'"(?:{"|".join(MODELS)})"\s*:\s*"([^"]{{1,200}})"')
_SESSION = re.compile(r'(?:session_id|thread_id)\\*"\s*:\s*\\*"([^"\\]+)|_session_([\w-]+)"')
_BY_START = "the logs are {} parts, cut by what requests begin with: each part has all that its cache could share"
_BY_TALK = (
    "the logs are {} parts; {} are cut by conversation, as too many files share their start: each begins with an "
    "empty cache"
)


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are summed up together."""

    files: tuple[str, ...]
    starts: tuple[float, ...] = ()
    """The times of their first requests, if they are known."""

    def __str__(self) -> str:
        """Return its first file, and how many more there are."""
        first = shown_url(self.files[0])
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"


@dataclass(slots=True)
class Scanned:
    """What a file has to say about the parts."""

    size: int = 0
    start: float = inf
    starts: set[bytes] = field(default_factory=set)
    """What its requests begin with."""
    sessions: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Scan:
    """What all files have to say."""

    files: dict[str, Scanned] = field(default_factory=dict)

    def add(self, other: Scan) -> None:
        """Add other files."""
        self.files |= other.files


def parts_of(
    paths: Iterable[str | os.PathLike[str]], *, engine: Engine = "process", jobs: int = 1
) -> tuple[list[Part], str]:
    """Return the parts of logs, and a sentence on how they were cut; "" for one part.

    Each file is read once more for this, quickly, if there are several and they are large.
    """
    files = sorted({file for path in paths for file in files_in(os.fspath(path))})
    if len(files) == 1 or sum(map(_size, files)) <= SIZE:
        return [Part(tuple(files))], ""
    return cut(run(files, scan, Scan(), engine=engine, jobs=jobs).files)


def _size(path: str) -> int:
    """Return about how long a file is, unpacked. One that cannot be read has no size."""
    if is_url(path):
        return size_at(path) * (_UNPACKED if path.lower().endswith((".gz", ".xz", ".zst")) else 1)
    try:
        size = os.path.getsize(path)
        return size * _UNPACKED if packed(path) else size
    except (OSError, ValueError):
        return 0


def scan(path: str) -> Scan:
    """Return what one file has to say about the parts."""
    found = Scanned()
    try:
        for record in read_file(path):
            if isinstance(record, Unread):
                continue
            found.size += len(record.raw) or 1000
            if record.at is not None:
                found.start = min(found.start, record.at)
            elif found.start == inf:
                found.start = 0.0
            start, session = _keys(record)
            if start:
                found.starts.add(start)
            found.sessions.add(session or _digest(path))
    except SourceError:
        pass  # told when it is read again
    return Scan({path: found})


def _keys(record: Record) -> tuple[bytes, bytes]:
    """Return digests of what a request begins with and of its session; empty ones if there is none.

    Only a glance is taken: a wrong answer can cost no more than a cache that is empty at the start of a part.
    """
    raw, body = record.raw, record.body
    if body is not None:
        first = next((f"{name}{body[name]!r:.{_START}}" for name in _FIRST if body.get(name)), "")
        model = next((str(body[name]) for name in MODELS if name in body), "")
        session = record.session or session_in(body)
    elif raw:
        places = (raw.find(f'"{name}"') for name in _FIRST)
        place = next((place for place in places if place >= 0), 0)
        first = raw[place : place + _START]
        named = _MODEL.search(raw)
        model = named[1] if named else ""
        session = record.session
        if not session and (inside := _SESSION.search(raw)):
            session = inside[1] or inside[2]
    else:
        return b"", _digest(record.session) if record.session else b""
    return _digest(record.model or model, first), _digest(session) if session else b""


def _digest(*texts: str) -> bytes:
    return blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=8).digest()


def cut(files: Mapping[str, Scanned]) -> tuple[list[Part], str]:
    """Return the parts of files that were scanned, and a sentence on how they were cut."""
    groups: list[list[str]] = []
    pieces = 0
    for group in _joined(files, lambda one: (*(("start", key) for key in one.starts), *one.sessions)):
        if sum(files[file].size for file in group) <= SIZE:
            groups.append(group)
            continue
        smaller = list(_packed(_joined({file: files[file] for file in group}, lambda one: one.sessions), files))
        groups += smaller
        pieces += len(smaller) if len(smaller) > 1 else 0
    parts = [Part(tuple(group), tuple(files[file].start for file in group)) for group in _packed(groups, files)]
    if len(parts) == 1:
        return parts, ""
    return parts, _BY_TALK.format(len(parts), pieces) if pieces else _BY_START.format(len(parts))


def _joined(files: Mapping[str, Scanned], keys_of: Callable[[Scanned], Iterable[Hashable]]) -> Iterator[list[str]]:
    """Yield the files in groups: those that share a key, directly or by way of others, are together."""
    by_key: dict[Hashable, list[str]] = defaultdict(list)
    for file, scanned in files.items():
        for key in keys_of(scanned):
            by_key[key].append(file)
    seen: set[str] = set()
    for file in sorted(files):
        if file in seen:
            continue
        seen.add(file)
        group, waiting = [], [file]
        while waiting:
            group.append(one := waiting.pop())
            for key in keys_of(files[one]):
                new = [other for other in by_key.pop(key, ()) if other not in seen]
                seen.update(new)
                waiting += new
        yield sorted(group)


def _packed(groups: Iterable[list[str]], files: Mapping[str, Scanned]) -> Iterator[list[str]]:
    """Yield groups, small ones of about the same time put together up to the size of a part."""
    full: list[str] = []
    size = 0
    for group in sorted(groups, key=lambda one: (min(files[file].start for file in one), one)):
        more = sum(files[file].size for file in group)
        if full and size + more > SIZE:
            yield sorted(full)
            full, size = [], 0
        full += group
        size += more
    if full:
        yield sorted(full)
