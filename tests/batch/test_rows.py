"""Rows from JSON Lines, CSV and Parquet, and what is wrong with them, by file and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepprompt.batch.rows import read_rows
from deepprompt.errors import SourceError


def test_json_lines(tmp_path: Path) -> None:
    """A row for each line that is not blank; a byte order mark is not part of the first."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":"x"}\r\n\n{"a":2}')
    assert list(read_rows(str(path))) == [(f"{path}:1", {"a": "x"}), (f"{path}:3", {"a": 2})]


def test_csv(tmp_path: Path) -> None:
    """Cells may have line breaks and quotes."""
    path = tmp_path / "r.csv"
    path.write_bytes('\ufeffa,b\r\n1,"x\r\n""y"""\r\n\r\n2,ä\r\n'.encode())
    assert [row for _, row in read_rows(str(path))] == [{"a": "1", "b": 'x\r\n"y"'}, {"a": "2", "b": "ä"}]


def test_parquet(tmp_path: Path) -> None:
    """Rows of Parquet, if pyarrow is installed."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table({"a": ["x", "y"], "n": [1, 2]}), path)
    assert [row for _, row in read_rows(str(path))] == [{"a": "x", "n": 1}, {"a": "y", "n": 2}]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("r.jsonl", b'{"a":1}\n{"a":', r"r\.jsonl:2: not JSON: "),
        ("r.jsonl", b"[1]\n", r"r\.jsonl:1: a row is an object"),
        ("r.jsonl", b"\xff\n", r"r\.jsonl:1: not JSON: "),
        ("r.jsonl", b"[" * 100_000, r"r\.jsonl:1: not JSON: "),
        ("r.csv", b"a,a\n1,2\n", r"r\.csv:1: two columns have the same name"),
        ("r.csv", b"a,b\n1\n", r"r\.csv:2: 1 cells for 2 columns"),
        ("r.csv", b'a\n"x', r"r\.csv: not CSV: "),
        ("r.txt", b"a", r"rows are JSON Lines, CSV or Parquet, by the ending \.jsonl, "),
    ],
)
def test_wrong(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    """Whatever is wrong with a table is an error with file and line."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=message):
        list(read_rows(str(tmp_path / name)))


def test_nothing_waits(tmp_path: Path) -> None:
    """A pipe in place of a table is refused, and a missing table is named."""
    os.mkfifo(tmp_path / "r.jsonl")
    with pytest.raises(SourceError, match="not a regular file"):
        list(read_rows(str(tmp_path / "r.jsonl")))
    with pytest.raises(SourceError, match=r"gone\.csv: "):
        list(read_rows(str(tmp_path / "gone.csv")))
