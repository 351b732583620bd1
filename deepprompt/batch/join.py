"""Put the results of a batch and its rows together again: by id, in the order of the rows, whatever the results' order.

Results are not kept in memory: each is found again by its place in the file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from deepprompt.batch.files import Manifest, leave_open, read_manifest, row_ids
from deepprompt.batch.rows import digest_of, read_rows
from deepprompt.batch.services import Result, read_result
from deepprompt.errors import MessageError, SourceError, UsageError
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.sources.files import open_named, reason_of

_BETTER = {"done": 2, "expired": 1, "canceled": 1, "failed": 1}


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
    """Write one line for each row with its result to `out`, and remember in the folder what is still open."""
    manifest = read_manifest(folder)
    path = rows or manifest["rows"]["path"]
    if digest_of(path) != manifest["rows"]["sha256"]:
        raise SourceError(f"{path}: not the rows that the batch was made of; name them with --rows FILE")
    joined = Joined()
    index = _Index(results, joined)
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise SourceError(f"{out}: {reason_of(error)}") from None
    with open(descriptor, "wb") as file:
        for line in _lines(manifest, path, index, joined):
            file.write(json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n")
    joined.foreign = sorted(index.places)
    leave_open(folder, manifest, list(joined.still_open))
    return joined


def _lines(manifest: Manifest, path: str, index: _Index, joined: Joined) -> Iterator[dict[str, object]]:
    """Yield each row with its result."""
    for name, _, row in row_ids(read_rows(path), manifest["id"]):
        result = index.take(name)
        state = result.state if result else "missing"
        joined.states[state] += 1
        line: dict[str, object] = {"id": name, "row": row, "state": state}
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


class _Index:
    """Where the result of each id is; a response wins over an error, and the first over later ones."""

    def __init__(self, paths: list[str], joined: Joined) -> None:
        self.places: dict[str, tuple[str, int, int, int]] = {}
        for path in paths:
            try:
                with open_named(path) as file:
                    start = 0
                    for number, line in enumerate(file, 1):
                        if not line.isspace():
                            self._add(line, f"{path}:{number}", (path, start, len(line)), joined)
                        start += len(line)
            except OSError as error:
                raise SourceError(f"{path}: {reason_of(error)}") from None

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
        with open_named(path) as file:
            file.seek(start)
            return _parse(file.read(size))


def _parse(line: bytes) -> Result:
    value: Any = json.loads(line)
    return read_result(value)
