"""Put the results of a batch and its rows together again: by id, in the order of the rows, whatever the results' order.

Results are not kept in memory: each is found again by its place in the file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO

from deepprompt.batch.files import Manifest, leave_open, read_manifest
from deepprompt.batch.requests import row_ids
from deepprompt.batch.rows import digest_of, read_rows
from deepprompt.batch.services import Result, read_result
from deepprompt.errors import MessageError, SourceError, UsageError
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.sources.files import reason_of
from deepprompt.sources.remote import open_any, shown_url

PARQUET = ".parquet"
_ROW_GROUP, _MOST_OPEN = 4096, 64
_BETTER = {"done": 2, "expired": 1, "canceled": 1, "failed": 1}


Line = dict[str, object]
"""A row with its result."""


@dataclass
class Joined:
    """What a join found: how many rows ended how, the ids without a response, and what did not fit."""

    states: Counter[str] = field(default_factory=Counter)
    still_open: dict[str, str] = field(default_factory=dict)
    """Why each row without a response has none, by id."""
    doubled: list[str] = field(default_factory=list)
    """The ids with more than one response; the first is kept."""
    foreign: list[str] = field(default_factory=list)
    """The ids of results that no row has."""
    unreadable: list[str] = field(default_factory=list)
    """The lines that are no result, such as the last one of a file that was cut off."""
    usage: Usage = field(default_factory=Usage)
    """The tokens of all responses that say how many they took."""
    without_usage: int = 0

    @property
    def complete(self) -> bool:
        """Whether every row has a response, and every result is of a row."""
        return not (self.still_open or self.foreign or self.unreadable)


def join_results(folder: str, results: list[str], out: str, rows: str = "") -> Joined:
    """Write one line for each row with its result to `out`, and remember in the folder what is still open.

    If `out` ends in `.parquet`, it is a table of texts, with row and response as JSON.
    """
    manifest = read_manifest(folder)
    if out.lower().endswith(PARQUET):
        _arrow()  # before anything is written
    path = rows or manifest["rows"]["path"]
    if digest_of(path) != manifest["rows"]["sha256"]:
        raise SourceError(f"{shown_url(path)}: not the rows that the batch was made of; name them with --rows FILE")
    joined = Joined()
    index = _Index(results, joined)
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise SourceError(f"{out}: {reason_of(error)}") from None
    with index, open(descriptor, "wb") as file:
        lines = _lines(manifest, path, index, joined)
        write = _write_parquet if out.lower().endswith(PARQUET) else _write_lines
        write(file, lines)
    joined.foreign = sorted(index.places)
    leave_open(folder, manifest, list(joined.still_open))
    return joined


def _lines(manifest: Manifest, path: str, index: _Index, joined: Joined) -> Iterator[Line]:
    """Yield each row with its result."""
    for name, _, row in row_ids(read_rows(path), manifest["id"]):
        result = index.take(name)
        state = result.state if result else "missing"
        joined.states[state] += 1
        line: Line = {"id": name, "row": row, "state": state}
        if result is None or result.state != "done":
            joined.still_open[name] = (result.reason if result else "") or state
        if result is not None:
            line |= {"response": result.response} | ({"reason": result.reason} if result.reason else {})
            if result.state == "done":
                try:
                    joined.usage += read_usage(result.response)
                except UsageError:
                    joined.without_usage += 1
        yield line


def _write_lines(file: BinaryIO, lines: Iterator[Line]) -> None:
    for line in lines:
        file.write(_json(line) + b"\n")


def _write_parquet(file: BinaryIO, lines: Iterator[Line]) -> None:
    arrow, parquet = _arrow()
    columns = ("id", "state", "reason", "row", "response")
    schema = arrow.schema([(name, arrow.large_string()) for name in columns])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := list(islice(lines, _ROW_GROUP)):
            table = {name: [_cell(line.get(name)) for line in some] for name in columns}
            writer.write_table(arrow.table(table, schema))


def _cell(value: object) -> str | None:
    """Return a value for Parquet: a text that is valid UTF-8, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value and value.encode("utf-8", "replace").decode()
    return _json(value).decode()


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")


def _arrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise SourceError("Parquet needs the package pyarrow: 'pip install deepprompt[parquet]'") from None


class _Index:
    """Where the result of each id is; a response wins over an error, and the first over later ones."""

    def __init__(self, paths: list[str], joined: Joined) -> None:
        self.places: dict[str, tuple[str, int, int, int]] = {}
        self._files: dict[str, BinaryIO] = {}
        for path in paths:
            where = shown_url(path)
            try:
                with open_any(path) as file:
                    start = 0
                    for number, line in enumerate(file, 1):
                        if not line.isspace():
                            self._add(line, f"{where}:{number}", (path, start, len(line)), joined)
                        start += len(line)
            except OSError as error:
                raise SourceError(f"{where}: {reason_of(error)}") from None

    def __enter__(self) -> _Index:
        return self

    def __exit__(self, *_: object) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _add(self, line: bytes, place: str, span: tuple[str, int, int], joined: Joined) -> None:
        try:
            result = _parse(line)
        except (ValueError, RecursionError, MessageError) as error:
            joined.unreadable.append(f"{place}: {error}")
            return
        rank = _BETTER[result.state]
        known = self.places.get(result.id)
        if known is not None and known[3] == rank == _BETTER["done"]:
            joined.doubled.append(result.id)
        if known is None or known[3] < rank:
            self.places[result.id] = (*span, rank)

    def take(self, name: str) -> Result | None:
        """Return the result of an id, once."""
        place = self.places.pop(name, None)
        if place is None:
            return None
        path, start, size, _ = place
        try:
            file = self._file(path)
            file.seek(start)
            return _parse(file.read(size))
        except (OSError, ValueError, MessageError) as error:  # it was there a moment ago
            reason = reason_of(error) if isinstance(error, OSError) else "changed while it was read"
            raise SourceError(f"{shown_url(path)}: {reason}") from None

    def _file(self, path: str) -> BinaryIO:
        if path not in self._files:
            if len(self._files) == _MOST_OPEN:
                self._files.pop(next(iter(self._files))).close()
            self._files[path] = open_any(path)
        return self._files[path]


def _parse(line: bytes) -> Result:
    value: Any = json.loads(line)
    return read_result(value)
