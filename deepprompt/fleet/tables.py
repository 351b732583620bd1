"""A report's sums as tables for other programs: CSV, and Parquet with the extra `parquet`."""

from __future__ import annotations

import csv
import io

from deepprompt.errors import SourceError
from deepprompt.fleet.report import Report, rows_of


def as_csv(found: Report) -> bytes:
    """Return the rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    rows = list(rows_of(found))
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
    return out.getvalue().encode("utf-8", "replace")


def _safe(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def as_parquet(found: Report) -> bytes:
    """Return the rows as Parquet. Raises `SourceError` if pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise SourceError("Parquet needs pyarrow: 'pip install deepprompt[parquet]', or write CSV") from None
    table = pyarrow.Table.from_pylist([dict(row) for row in rows_of(found)])
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, compression="zstd")
    return out.getvalue()
