"""Output of commands: exact bytes to standard output or a file, JSON, and lines to standard error."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.sources.files import replace_file
from deepprompt.text.display import display
from deepprompt.text.hygiene import from_system

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import BinaryIO


# DEL, C1 controls, and what changes the direction or the line; JSON escapes the other controls itself.
_STEERING = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_PROGRESS_WIDTH = 79


def write(text: str, path: str = "") -> None:
    """Write the exact bytes of a text to standard output, or replace a file with them."""
    data = from_system(text).encode()
    if path:
        _write_file(data, path)
    elif sys.stdout is None:  # closed before we started
        raise SourceError("standard output is closed; use --out FILE")
    else:
        sys.stdout.flush()
        _write_all(sys.stdout.buffer, data)


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write all of the data. An unbuffered stream may take only a part of it at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]
    file.flush()


def _write_file(data: bytes, path: str) -> None:
    """Replace a file atomically, so that readers see the old text or the new. A pipe or device is written to."""
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode if os.path.exists(target) else None
        if mode is not None and not stat.S_ISREG(mode):
            with open(target, "wb", buffering=0) as file:
                _write_all(file, data)
            return
        replace_file(target, data, None if mode is None else stat.S_IMODE(mode))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None


def refuse_links(folder: str, path: str) -> None:
    """Refuse to write to a path below a folder if a link stands on the way: it could lead out of the folder."""
    place = folder
    for name in path.replace(os.sep, "/").split("/"):
        place = os.path.join(place, name)
        if os.path.islink(place):
            raise SourceError(f"{path}: {place} is a link, and nothing is written through it")


def write_lines(lines: Iterable[str], path: str = "") -> None:
    """Write lines for a person to read, each made safe by `display`."""
    write("".join([f"{display(line)}\n" for line in lines]), path)


def write_json(value: object, path: str = "") -> None:
    """Write a value as indented JSON. Characters that steer a terminal are escaped."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    write(re.sub(_STEERING, lambda match: f"\\u{ord(match[0]):04x}", text) + "\n", path)


def table(rows: Sequence[Sequence[str]], to_the_right: Collection[int] = ()) -> list[str]:
    """Return rows of cells as lines with aligned columns; the columns `to_the_right` are aligned at their end."""
    shown = [[display(cell).replace("\t", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = (
        (cell.rjust(width) if number in to_the_right else cell.ljust(width))
        for row in shown
        for number, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return ["  ".join(next(lines) for _ in row).rstrip() for row in shown]


def say(message: str) -> None:
    """Print one line to standard error, made safe by `display`."""
    if sys.stderr is not None:
        with suppress(OSError):  # a full disk behind it is no reason to lose the result
            print("deepprompt:", display(message), file=sys.stderr, flush=True)


def show_progress(text: str) -> None:
    """Show how far a command is, on one line of a terminal that the next text replaces; "" clears it."""
    if sys.stderr is not None and sys.stderr.isatty():
        with suppress(OSError):
            print(f"\r\x1b[K{display(text)[:_PROGRESS_WIDTH]}", end="", file=sys.stderr, flush=True)


def say_notes(notes: Iterable[Note]) -> None:
    """Print notes to standard error, one on each line."""
    for note in notes:
        say(str(note))
