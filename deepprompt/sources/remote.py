"""Files that somebody named by a URL, such as `s3://` or `https://`: read as streams through the package fsspec.

A name with `://` is always a URL, so a folder called `s3:` cannot take its place. `file://` is a path, with the same
checks. Passwords and signed queries in a URL are never shown.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit

from deepprompt.sources.files import open_named
from deepprompt.text.secrets import redact

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_PASSWORD = re.compile(r"(//[^/@:]*):[^/@]*@")
_CHUNK = 1 << 20
_LONGEST = 300

T = TypeVar("T")


def is_url(path: str) -> bool:
    """Whether a name is a URL, and not a path."""
    return _URL.match(path) is not None


def shown_url(path: str) -> str:
    """Return a URL without its password and, on the web, its query, which may be signed. A path stays as it is."""
    found = _URL.match(path)
    if found is None:
        return path
    url = _PASSWORD.sub(r"\1@", path)
    return url.partition("?")[0] if found[1].lower() in ("http", "https") else url


def open_any(path: str) -> BinaryIO:
    """Open a regular file by its path, or a file of any kind that fsspec knows by its URL. Failure is an OSError."""
    if (local := _local(path)) is not None:
        return open_named(local)
    file = _asked(path, lambda: _fsspec().open(path, "rb").open())
    return io.BufferedReader(_Stream(path, file), _CHUNK)


def files_at(url: str, endings: tuple[str, ...]) -> list[str]:
    """Return the URL itself, or what is in the folder that it names, or what its `*` stand for: sorted.

    In a folder, only files with one of the endings count, and none whose name begins with a dot. Failure is an OSError.
    """
    if "::" in url or ("*" not in url and urlsplit(url).path.lower().endswith(endings)):
        return [url]

    def listed() -> list[str]:
        system, path = _fsspec().core.url_to_fs(url)
        if "*" in url:
            return [system.unstrip_protocol(name) for name in system.glob(path)]
        if system.isfile(path):
            return [url]
        names = [name for name in system.find(path) if name.lower().endswith(endings)]
        return [system.unstrip_protocol(name) for name in names if not name.rpartition("/")[2].startswith(".")]

    return sorted(_asked(url, listed))


def size_at(url: str) -> int:
    """Return how many bytes a file has, 0 if its server does not say."""
    try:
        return int(_asked(url, lambda: _fsspec().open(url, "rb").fs.size(_fsspec().core.url_to_fs(url)[1])) or 0)
    except OSError:
        return 0


def _local(path: str) -> str | None:
    """Return the path of a local file, None for a URL of another kind."""
    found = _URL.match(path)
    if found is None:
        return path
    if "::" in found[0] or found[1].lower() not in ("file", "local"):
        return None
    return unquote(path[found.end() :])


def _fsspec() -> Any:
    try:
        return import_module("fsspec")
    except ImportError:
        raise OSError(errno.ENOSYS, "a URL needs the package fsspec: 'pip install deepprompt[remote]'") from None


def _asked(url: str, ask: Callable[[], T]) -> T:
    """Return what a file system says. Each has errors of its own; they become an OSError that shows no secret."""
    try:
        return ask()
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown_url(url)) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSYS:
            raise
        reason = redact(str(error).replace(url, shown_url(url)) or type(error).__name__)
        raise OSError(errno.EIO, " ".join(reason.split())[:_LONGEST]) from None


class _Stream(io.RawIOBase):
    """A remote file as Python's own streams take it."""

    def __init__(self, url: str, file: Any) -> None:
        self._url, self._remote = url, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._remote.seekable())

    def readinto(self, buffer: Any) -> int:
        data = _asked(self._url, lambda: self._remote.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(_asked(self._url, lambda: self._remote.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._remote.tell())

    def close(self) -> None:
        if not self.closed:
            with suppress(Exception):
                self._remote.close()
        super().close()
