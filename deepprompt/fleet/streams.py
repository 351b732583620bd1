"""Logs as streams of JSON values: plain or compressed, one value a line or the elements of one long array.

Nothing here holds more than one value at a time, so a log may have any size. A document of several lines that is
neither is read whole.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, cast

from deepprompt.errors import SourceError
from deepprompt.sources.remote import is_url, open_any, shown_url

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz", b"PAR1": "parquet"}
_CHUNK = 1 << 20
_PEEK = 1 << 16
_ENTRIES = re.compile(r'\{\s*"log"\s*:\s*\{')
_ENTRY_LIST = re.compile(r'"entries"\s*:\s*\[')
_BLANK = re.compile(r"[\s,]*")
_DECODE = json.JSONDecoder().raw_decode


@dataclass
class Line:
    """One value of a log, and where it stands."""

    where: str
    text: str

    @cached_property
    def value(self) -> Any:
        """The value, parsed. None if it is not JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


@contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], str]]:
    """Open a log, and tell by its first bytes how it is packed."""
    try:
        raw = cast(io.BufferedReader, open_any(path)) if is_url(path) else io.BufferedReader(io.FileIO(path), _CHUNK)
    except (OSError, ValueError) as error:
        raise SourceError(f"{shown_url(path)}: {getattr(error, 'strerror', None) or error}") from None
    with raw:
        yield raw, _packed(raw.peek(8)[:8])


def packed(path: str) -> str:
    """Return how a file is compressed, by its first bytes; "" if it is not."""
    with open(path, "rb") as file:
        return _packed(file.read(8))


def _packed(start: bytes) -> str:
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "")


def _unpacked(raw: IO[bytes], kind: str, path: str) -> IO[bytes]:
    if kind == "gzip":
        import gzip

        return io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if kind == "xz":
        import lzma

        return io.BufferedReader(lzma.LZMAFile(raw))
    if kind == "zstd":
        return io.BufferedReader(_unzstd(raw, path), _CHUNK)
    return raw


def _unzstd(raw: IO[bytes], path: str) -> io.RawIOBase:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        return zstd.ZstdFile(raw)  # type: ignore[no-any-return, unused-ignore]
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise SourceError(f'{path}: is zstd; pip install "deepprompt[report]" reads it, or unpack it first') from None
    stream: Any = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return cast(io.RawIOBase, stream)


def lines_of(path: str) -> Iterator[Line]:
    """Yield the values of a log in the order of the file."""
    where = shown_url(path)
    try:
        with _opened(path) as (raw, kind):
            if kind == "parquet":
                yield from _rows(raw, where)
                return
            unpacked = _unpacked(raw, kind, where)
            # Invalid UTF-8 becomes U+FFFD.
            with io.TextIOWrapper(unpacked, encoding="utf-8", errors="replace", newline="\n") as stream:
                yield from _values(stream, where)
    except (OSError, EOFError) as error:
        raise SourceError(
            f"{where}: {error.strerror if isinstance(error, OSError) and error.strerror else error}"
        ) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("zlib", "lzma", "zstd", "zstandard", "_zstd"):
            raise SourceError(f"{where}: damaged: {error}") from None
        raise


def _rows(raw: IO[bytes], path: str) -> Iterator[Line]:
    from deepprompt.fleet.parquet import rows_in

    for number, row in enumerate(rows_in(raw, path), 1):
        line = Line(f"{path}#{number}", "")
        line.value = row
        yield line


def _values(stream: IO[str], path: str) -> Iterator[Line]:
    begin = stream.read(_PEEK).removeprefix("\ufeff")
    start = begin.lstrip()
    if start.startswith("["):
        yield from _elements(stream, begin, begin.index("[") + 1, path)
    elif _ENTRIES.match(start):
        while not (found := _ENTRY_LIST.search(begin)) and (more := stream.read(_CHUNK)):
            begin += more
        if found:
            yield from _elements(stream, begin, found.end(), path)
    else:
        yield from _by_line(stream, begin, path)


def _by_line(stream: IO[str], begin: str, path: str) -> Iterator[Line]:
    """Yield each line; if the first is only the start of a value, the whole text is that value."""
    first = begin.lstrip().partition("\n")[0]
    if first in ("{", "{\r") or ("\n" in begin.strip() and not first.rstrip().endswith("}") and first.startswith("{")):
        text = begin + stream.read()
        if Line(path, text).value is not None:
            yield Line(path, text)
            return
        begin, stream = text, io.StringIO()
    for number, line in enumerate(_joined(begin, stream), 1):
        if line.strip():
            yield Line(f"{path}:{number}", line)


def _joined(rest: str, stream: IO[str]) -> Iterator[str]:
    """Yield the lines of a text that a stream goes on with."""
    *whole, last = rest.split("\n")
    yield from whole
    yield last + stream.readline()
    yield from stream


def _elements(stream: IO[str], text: str, at: int, path: str) -> Iterator[Line]:
    """Yield the elements of an array, reading on only as far as the next one needs."""
    number, more = 0, True
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
        if at < len(text) and text[at] == "]":
            return
        try:
            _, end = _DECODE(text, at) if at < len(text) else (None, len(text))
        except (ValueError, RecursionError):
            end = len(text)
        if end < len(text):
            number += 1
            yield Line(f"{path}#{number}", text[at:end])
            at = end
        elif more:
            added = stream.read(max(_CHUNK, len(text) - at))
            more, text, at = bool(added), text[at:] + added, 0
        else:
            if text[at:].strip():
                yield Line(f"{path}#{number + 1}", text[at:])
            return
