"""The files of a batch: requests split by a service's limits, and a manifest that says what is where.

All files are written under temporary names first, and renamed when every row has passed. A file that is there already
with the same bytes stays as it is. Files are private to the user.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from typing import Any

from deepprompt.batch.requests import requests_of
from deepprompt.batch.rows import digest_of
from deepprompt.batch.services import Service
from deepprompt.batch.template import RequestTemplate, join_rows
from deepprompt.errors import MessageError, SourceError
from deepprompt.sources.files import read_named, reason_of, replace_file
from deepprompt.sources.remote import is_url, shown_url

MANIFEST = "manifest.json"
OPEN = "open.json"
_LIMIT = 1 << 28

Manifest = dict[str, Any]


def write_batch(path: str, template: RequestTemplate, service: Service, folder: str, column: str = "") -> Manifest:
    """Write the requests of all rows to files in a folder, or of those that a join left open, and return the manifest.

    Raises one error with the problems of all rows, at most twenty, and then nothing is written.
    """
    head = {
        "format": 1,
        "service": service.name,
        "facts": service.as_of,
        "model": template.request.model,
        "template": template.digest,
        "rows": {"path": shown_url(path) if is_url(path) else os.path.abspath(path), "sha256": digest_of(path)},
        "id": column,
    }
    old, still_open = _before(folder, head)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    writer = _Writer(folder, service, template.pieces, len(old["rounds"]) + 1 if old and still_open is not None else 1)
    try:
        for names, columns in requests_of(path, template, service, column, still_open):
            writer.add(names, columns)
        files = writer.finish()
    finally:
        writer.clean()
    rounds = [*old["rounds"], files] if old and still_open is not None else [files]
    manifest = {**head, "rounds": rounds}
    _save(os.path.join(folder, MANIFEST), manifest)
    if still_open is not None:
        os.unlink(os.path.join(folder, OPEN))
    return manifest


def read_manifest(folder: str) -> Manifest:
    """Return the manifest of a folder of batch files."""
    path = os.path.join(folder, MANIFEST)
    try:
        manifest = json.loads(read_named(path, _LIMIT))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {reason_of(error)}; write the batch with `deepprompt batch` first") from None
    if not isinstance(manifest, dict) or manifest.get("format") != 1:
        raise SourceError(f"{path}: not the manifest of a batch, or of a newer version")
    return manifest


def leave_open(folder: str, manifest: Manifest, names: list[str]) -> None:
    """Remember which requests have no result, for the next run of `write_batch`; none removes the list."""
    path = os.path.join(folder, OPEN)
    if names:
        _save(path, {"template": manifest["template"], "ids": names})
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _before(folder: str, head: Manifest) -> tuple[Manifest | None, frozenset[str] | None]:
    """Return the manifest of an earlier run and the ids that a join left open, None for all."""
    if not os.path.lexists(os.path.join(folder, MANIFEST)):
        return None, None
    old = read_manifest(folder)
    if changed := [key for key in head if key != "facts" and old.get(key) != head[key]]:
        raise SourceError(f"{folder}: holds another batch ({', '.join(changed)} changed); write to another folder")
    path = os.path.join(folder, OPEN)
    if not os.path.lexists(path):
        return old, None
    try:
        return old, frozenset(json.loads(read_named(path, _LIMIT))["ids"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "not what `deepprompt batch join` wrote"
        raise SourceError(f"{path}: {reason}") from None


class _Writer:
    """Writes requests to files, and starts a new one where the limits of the service say so."""

    def __init__(self, folder: str, service: Service, pieces: tuple[bytes, ...], round_number: int) -> None:
        self._folder, self._service = folder, service
        self._stem = "" if round_number == 1 else f"{round_number}-"
        before, between, after = (piece.encode() for piece in service.line)
        self._begin, self._between, self._end = (piece.encode() for piece in service.file)
        first, *inner, last = pieces
        self._pieces = (before + b'"', b'"' + between + first, *inner, last + after + self._between)
        self._files: list[dict[str, Any]] = []
        self._temporary: list[str] = []
        self._start()

    def _start(self) -> None:
        self._file: Any = None
        self._count = self._size = 0

    def add(self, names: list[str], columns: list[list[str]]) -> None:
        """Add some requests: all at once if they fit into the file, or else in halves."""
        lines = join_rows(self._pieces, [names, *columns]).removesuffix(self._between)
        service, count = self._service, len(names)
        size = (self._size + len(self._between) if self._count else len(self._begin)) + len(lines) + len(self._end)
        if (not service.bytes or size <= service.bytes) and not 0 < service.requests < self._count + count:
            self._write(names, lines)
        elif count > 1:
            half = count // 2
            self.add(names[:half], [column[:half] for column in columns])
            self.add(names[half:], [column[half:] for column in columns])
        elif self._count:
            self._close()
            self.add(names, columns)
        else:
            raise MessageError(f"{names[0]}: {len(lines):,} bytes, more than {service.title} takes in a whole file")

    def _write(self, names: list[str], lines: bytes) -> None:
        if self._file is None:
            self._open()
        if self._count:
            self._put(self._between)
        self._put(lines)
        entry = self._files[-1]
        entry.setdefault("first", names[0])
        entry["last"] = names[-1]
        self._count += len(names)

    def _open(self) -> None:
        path = os.path.join(self._folder, f".deepprompt-{os.urandom(8).hex()}")
        self._file = open(  # noqa: SIM115
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb", 1 << 20
        )
        self._temporary.append(path)
        self._hash = hashlib.sha256()
        name = f"{self._stem}{len(self._files) + 1:05}{self._service.suffix}"
        self._files.append({"name": name})
        self._put(self._begin)

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._hash.update(data)
        self._size += len(data)

    def _close(self) -> None:
        self._put(self._end)
        self._file.close()
        self._files[-1].update(sha256=self._hash.hexdigest(), requests=self._count, bytes=self._size)
        self._start()

    def finish(self) -> list[dict[str, Any]]:
        """Give the files their names, and return what the manifest says of them."""
        if self._file is not None:
            self._close()
        if not self._files:
            raise MessageError("no rows to write")
        for entry in self._files:
            path = os.path.join(self._folder, entry["name"])
            if os.path.lexists(path) and (os.path.islink(path) or digest_of(path) != entry["sha256"]):
                raise SourceError(f"{path}: exists, and is another file; write to another folder")
        for entry, temporary in zip(self._files, self._temporary, strict=True):
            path = os.path.join(self._folder, entry["name"])
            if os.path.lexists(path):
                entry["kept"] = True
            else:
                os.replace(temporary, path)
        return self._files

    def clean(self) -> None:
        """Remove what is left under temporary names."""
        if self._file is not None:
            self._file.close()
        for path in self._temporary:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _save(path: str, value: object) -> None:
    try:
        replace_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode(), 0o600)
    except OSError as error:
        raise SourceError(f"{path}: {reason_of(error)}") from None
