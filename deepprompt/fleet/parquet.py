"""The rows of a Parquet log, such as Langfuse exports by default, as the JSON objects that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import IO, Any

from deepprompt.errors import SourceError

# So many rows are in memory at once.
_BATCH = 64


def rows_in(file: IO[bytes], where: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an open Parquet file. `where` names it in an error."""
    try:
        from pyarrow.lib import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise SourceError(f'{where}: is Parquet; pip install "deepprompt[parquet]" reads it') from None
    try:
        for batch in ParquetFile(file).iter_batches(_BATCH):
            for row in batch.to_pylist():
                yield {name: _plain(value) for name, value in row.items()}
    except (ArrowException, OSError) as error:
        raise SourceError(f"{where}: damaged: {error}") from None


def _plain(value: Any) -> Any:
    """Return a value of a table as JSON has it: times and bytes as text, maps as objects."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list) and value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
        return {str(name): _plain(inner) for name, inner in value}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return {name: _plain(inner) for name, inner in value.items()} if isinstance(value, dict) else value
