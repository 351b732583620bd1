"""Records of several logs in the order of time, within a bounded amount of memory.

A log that fits into the budget is sorted. A longer one is streamed if its start is in order, and else sorted through
temporary files that only their owner can read.
"""

from __future__ import annotations

import heapq
import itertools
import os
import pickle
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from operator import attrgetter
from typing import IO

from deepprompt.errors import SourceError
from deepprompt.fleet.readers import files_in, read_file
from deepprompt.fleet.record import Record, Unread
from deepprompt.sources.remote import shown_url

_BUDGET = 16 << 20
_LEAST = 1 << 20
_GAP = 60.0
_TIME = attrgetter("at")


def in_order(
    paths: Iterable[str | os.PathLike[str]],
    unread: list[Unread],
    budget: int = _BUDGET,
    starts: Sequence[float] = (),
) -> Iterator[Record]:
    """Yield the records of logs by time, and add to `unread` what is none. `unread` may be emptied meanwhile.

    A record without a time starts a minute after the one before it in its file. `starts` are the times of the first
    records, if they are known: then a file is opened only when its time comes. A file that cannot be read to its end is
    one `Unread`.
    """
    files = [file for path in paths for file in files_in(os.fspath(path))]
    share = max(budget // max(len(files), 1), _LEAST)
    known = starts if len(starts) == len(files) else [-inf] * len(files)
    waiting = deque(sorted(zip(known, range(len(files)), strict=True)))
    heads: list[tuple[float, int, Record, Iterator[Record]]] = []
    while waiting or heads:
        while waiting and (not heads or waiting[0][0] <= heads[0][0]):
            number = waiting.popleft()[1]
            _push(heads, number, _in_file(files[number], unread, share))
        if heads:
            _, number, record, stream = heads[0]
            yield record
            heapq.heappop(heads)
            _push(heads, number, stream)


def _push(heads: list[tuple[float, int, Record, Iterator[Record]]], number: int, stream: Iterator[Record]) -> None:
    """Put the next record of a file among those of the others."""
    if (record := next(stream, None)) is not None:
        heapq.heappush(heads, (record.at or 0.0, number, record, stream))


def _in_file(path: str, unread: list[Unread], budget: int) -> Iterator[Record]:
    records = _timed(path, unread)
    chunk, whole = _take(records, budget)
    ordered = all(one.at <= two.at for one, two in itertools.pairwise(chunk))  # type: ignore[operator]
    if whole or ordered:
        chunk.sort(key=_TIME)
        yield from chunk
        last = chunk[-1].at if chunk else None
        del chunk
        for record in records:  # the rest of a long file, whose start was in order
            record.at = last = record.at if last is None or (record.at or 0.0) >= last else last
            yield record
        return
    runs: list[IO[bytes]] = []
    try:
        while chunk:
            chunk.sort(key=_TIME)
            runs.append(_spilled(chunk))
            chunk, _ = _take(records, budget)
        yield from heapq.merge(*map(_loaded, runs), key=_TIME)
    finally:
        for run in runs:
            run.close()


def _timed(path: str, unread: list[Unread]) -> Iterator[Record]:
    last = -_GAP
    try:
        for record in read_file(path):
            if isinstance(record, Unread):
                unread.append(record)
                continue
            if record.at is None:
                record.at = last + _GAP
            last = record.at
            yield record
    except SourceError as error:
        where = shown_url(path)
        unread.append(Unread(where, str(error).removeprefix(f"{where}: ")))


def _take(records: Iterator[Record], budget: int) -> tuple[list[Record], bool]:
    """Return the next records within a budget of characters, and whether that was all."""
    chunk: list[Record] = []
    size = 0
    for record in records:
        chunk.append(record)
        # A body that is not text takes about three times its JSON in memory, which is some 30 KB.
        size += len(record.raw) + (100_000 if record.body is not None else 1_000)
        if size > budget:
            return chunk, False
    return chunk, True


def _spilled(chunk: list[Record]) -> IO[bytes]:
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed, and so removed, by the caller
    for record in chunk:
        pickle.dump(record, file, pickle.HIGHEST_PROTOCOL)
    file.seek(0)
    return file


def _loaded(file: IO[bytes]) -> Iterator[Record]:
    """Yield the records of a temporary file that this process wrote itself."""
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return
