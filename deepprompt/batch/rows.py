"""The rows of a batch, read one by one from JSON Lines, CSV or Parquet: any size, in constant memory."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator
from importlib import import_module

from deepprompt.batch.template import Row
from deepprompt.errors import SourceError
from deepprompt.sources.files import reason_of
from deepprompt.sources.remote import open_any, shown_url

_CSV_FIELD = 1 << 26
_PARQUET_ROWS = 4096


def read_rows(path: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a table, each with its place for messages; the kind of table is in the file's name."""
    kinds = {".jsonl": _json_lines, ".ndjson": _json_lines, ".csv": _csv, ".parquet": _parquet}
    where = shown_url(path)
    reader = kinds.get(os.path.splitext(where)[1].lower())
    if reader is None:
        raise SourceError(f"{where}: rows are JSON Lines, CSV or Parquet, by the ending {', '.join(kinds)}")
    try:
        yield from reader(path, where)
    except (OSError, ValueError) as error:
        raise SourceError(f"{where}: {reason_of(error)}") from None


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file."""
    try:
        with open_any(path) as file:
            digest = hashlib.sha256()
            while data := file.read(1 << 20):
                digest.update(data)
            return digest.hexdigest()
    except OSError as error:
        raise SourceError(f"{shown_url(path)}: {reason_of(error)}") from None


def _json_lines(path: str, where: str) -> Iterator[tuple[str, Row]]:
    with open_any(path) as file:
        for number, line in enumerate(file, 1):
            if line.isspace():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{where}:{number}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise SourceError(f"{where}:{number}: a row is an object with a value for each column")
            yield f"{where}:{number}", row


def _csv(path: str, where: str) -> Iterator[tuple[str, Row]]:
    before = csv.field_size_limit(_CSV_FIELD)
    try:
        with open_any(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            columns = next(reader, [])
            if len(set(columns)) < len(columns):
                raise SourceError(f"{where}:1: two columns have the same name")
            for cells in reader:
                if cells and len(cells) != len(columns):
                    raise SourceError(f"{where}:{reader.line_num}: {len(cells)} cells for {len(columns)} columns")
                if cells:
                    yield f"{where}:{reader.line_num}", dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise SourceError(f"{where}: not CSV: {error}") from None
    finally:
        csv.field_size_limit(before)


def _parquet(path: str, where: str) -> Iterator[tuple[str, Row]]:
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise SourceError(f"{where}: Parquet needs the package pyarrow; install it, or convert the rows") from None
    with open_any(path) as file:
        try:
            number = 0
            for batch in parquet.ParquetFile(file).iter_batches(_PARQUET_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{where}: row {number}", row
        except pyarrow.ArrowInvalid as error:
            raise SourceError(f"{where}: not Parquet: {error}") from None
