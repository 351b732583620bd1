"""The requests of a table: its rows with their ids, checked, and some at a time so that filling them in is fast."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from sys import getsizeof

from deepprompt.batch.rows import read_rows
from deepprompt.batch.services import Service
from deepprompt.batch.template import RequestTemplate, Row
from deepprompt.errors import MessageError, SourceError

_MOST_PROBLEMS = 20
# So many rows are filled in at a time, or so many bytes of their values.
_MOST_ROWS, _MOST_BYTES = 1000, 4 << 20

Named = tuple[str, str, Row]
"""A row with its id and its place."""
Requests = tuple[list[str], list[list[str]]]
"""The ids of some requests, and the texts of each of their holes."""


def row_ids(rows: Iterable[tuple[str, Row]], column: str) -> Iterator[Named]:
    """Yield each row with its place and its id: the value of a column, or the number of the row."""
    for number, (place, row) in enumerate(rows, 1):
        if not column:
            yield f"row-{number:07}", place, row
            continue
        value = row.get(column)
        if value is None or isinstance(value, bool) or not isinstance(value, str | int):
            raise SourceError(f"{place}: no id in column {column!r}; columns: {', '.join(map(str, row))}")
        yield str(value), place, row


def requests_of(
    path: str, template: RequestTemplate, service: Service, column: str, only: frozenset[str] | None
) -> Iterator[Requests]:
    """Yield the requests of a table, or of `only` some ids: in the order of the rows or, for an engine, sorted by text.

    Raises one error at the end with the problems of all rows, at most twenty.
    """
    check = _Check(template, service, bool(column))
    made = (_kept(*some, only) for some in check.requests(row_ids(read_rows(path), column)))
    if service.sorted:
        table = sorted((texts, name) for names, columns in made for name, *texts in zip(names, *columns, strict=True))
        made = (_turned(table[start : start + _MOST_ROWS]) for start in range(0, len(table), _MOST_ROWS))
    yield from (some for some in made if some[0])
    if check.problems:
        raise MessageError("; ".join(check.problems))


def _kept(names: list[str], columns: list[list[str]], only: frozenset[str] | None) -> Requests:
    if only is None:
        return names, columns
    kept = [number for number, name in enumerate(names) if name in only]
    return [names[number] for number in kept], [[column[number] for number in kept] for column in columns]


def _turned(table: list[tuple[list[str], str]]) -> Requests:
    return [name for _, name in table], [list(column) for column in zip(*(texts for texts, _ in table), strict=True)]


class _Check:
    """Makes requests of rows until one is wrong; after that it only looks for more problems."""

    def __init__(self, template: RequestTemplate, service: Service, named: bool) -> None:
        self.problems: list[str] = []
        self._template, self._service, self._named = template, service, named
        self._seen: set[bytes] = set()

    def requests(self, rows: Iterable[Named]) -> Iterator[Requests]:
        """Yield the requests of rows, some at a time."""
        for some in self._chunks(rows):
            columns = self._texts(some)
            if len(self.problems) > _MOST_PROBLEMS:
                self.problems[_MOST_PROBLEMS:] = ["and perhaps more"]
                return
            if not self.problems:
                yield [name for name, _, _ in some], columns

    def _chunks(self, rows: Iterable[Named]) -> Iterator[list[Named]]:
        """Yield rows in lists that do not take much memory."""
        chunk: list[Named] = []
        size = 0
        for one in rows:
            chunk.append(one)
            size += sum(map(getsizeof, map(one[2].get, self._template.columns)))
            if size > _MOST_BYTES or len(chunk) == _MOST_ROWS:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _texts(self, rows: list[Named]) -> list[list[str]]:
        """Return the texts of some rows. If any is wrong, add its problem and return nothing."""
        wrong = self._wrong_ids(rows) if self._named else {}  # numbers are unique and plain
        columns: list[list[str]] = []
        try:
            columns = self._template.texts([row for _, _, row in rows])
        except MessageError:
            for number, (_, _, row) in enumerate(rows):
                try:
                    self._template.texts([row])
                except MessageError as error:
                    wrong.setdefault(number, str(error))
        self.problems += [f"{rows[number][1]}: {wrong[number]}" for number in sorted(wrong)]
        return columns

    def _wrong_ids(self, rows: list[Named]) -> dict[int, str]:
        wrong = {}
        for number, (name, _, _) in enumerate(rows):
            try:
                self._service.check_id(name)
            except MessageError as error:
                wrong[number] = str(error)
            digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).digest()
            if digest in self._seen:
                wrong[number] = f"the id {name!r:.80} stands twice"
            self._seen.add(digest)
        return wrong
