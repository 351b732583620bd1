"""One module for each kind of log: `sniff` tells by a value whether it is of that kind, `read` makes records of it.

A reader never guesses. A line that it cannot make a request of is an `Unread` with its place and the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from types import ModuleType

from deepprompt.errors import SourceError
from deepprompt.fleet.readers import claude, codex, har, helicone, langfuse, litellm, otlp, store
from deepprompt.fleet.record import Record, Unread
from deepprompt.fleet.streams import lines_of
from deepprompt.sources.remote import files_at, is_url, shown_url

READERS: tuple[ModuleType, ...] = (har, otlp, langfuse, litellm, helicone, codex, claude, store)
"""Every reader, the most distinctive first."""

_ENDINGS = (".jsonl", ".json", ".har", ".gz", ".zst", ".xz", ".log", ".ndjson", ".parquet")
# So many values at the start of a file decide about its kind: some logs begin with a line about themselves.
_SNIFFED = 20


def read_records(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Iterator[Record | Unread]:
    """Yield the requests of logs of any known kind, and an `Unread` for each line that holds no request.

    Pass files, or folders whose logs are read in the order of their names. Records of one file come in the order of the
    file. A name may be a URL, such as one of an object store. Raises `SourceError` for a file that cannot be read at
    all.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    for path in chain.from_iterable(files_in(os.fspath(one)) for one in given):
        yield from read_file(path)


def files_in(path: str) -> list[str]:
    """Return a file, or the logs in a folder and below it, sorted. A URL may have `*` in it."""
    if is_url(path):
        return _files_at(path)
    if not os.path.isdir(path):
        return [path]
    found = [
        os.path.join(folder, name)
        for folder, folders, names in os.walk(path)
        for name in names
        if name.lower().endswith(_ENDINGS) and not name.startswith(".")
    ]
    if not found:
        raise SourceError(f"{path}: no log in it; logs end in {', '.join(_ENDINGS)}")
    return sorted(found)


def _files_at(url: str) -> list[str]:
    try:
        found = files_at(url, _ENDINGS)
    except OSError as error:
        raise SourceError(f"{shown_url(url)}: {error.strerror or error}") from None
    if not found:
        raise SourceError(f"{shown_url(url)}: no log there; logs end in {', '.join(_ENDINGS)}")
    return found


def read_file(path: str) -> Iterator[Record | Unread]:
    """Yield the requests of one log."""
    lines = lines_of(path)
    first = list(islice(lines, _SNIFFED))
    if not first:
        return
    values = [line.value for line in first if isinstance(line.value, Mapping)]
    reader = next((one for one in READERS for value in values if one.sniff(value)), None)
    if reader is None:
        yield Unread(first[0].where, f"no request in it: its kind is none of {', '.join(one.NAME for one in READERS)}")
        return
    yield from reader.read(chain(first, lines))
