"""One file of a project for editing: its text as it is, and what has to be kept when it is written back.

Unlike text for a prompt, nothing in it is changed: line ends and hidden characters stay. A byte order mark is kept
aside, so that the first line can be matched. A file that is reached through a link is neither read nor written.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from deepprompt.errors import FileRefusedError
from deepprompt.sources.files import read_below, replace_file
from deepprompt.text.hygiene import why_no_text

_MOST = 1 << 24
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text file below a root: its text without a byte order mark, whether it has one, and its mode."""

    text: str
    has_bom: bool = False
    mode: int | None = None


def read_source(root: str, path: str) -> SourceFile | None:
    """Return the file at a path below a root, None if there is none. Raise if it is no text, or reached by a link."""
    try:
        contents = read_below(root, path, _MOST, lambda _: None, whole=True)
    except FileRefusedError as error:
        if error.kind == "missing" and not _link_on(root, path):
            return None
        raise
    if link := _link_on(root, path):
        raise FileRefusedError("refused", f"{link} is a link; edit the file that it leads to")
    if reason := why_no_text(contents.data):
        raise FileRefusedError("refused", reason)
    try:
        text = contents.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileRefusedError("refused", f"not UTF-8 at byte {error.start}") from None
    return SourceFile(text.removeprefix(_BOM), text.startswith(_BOM), stat.S_IMODE(contents.status.st_mode))


def write_source(root: str, path: str, text: str, was: SourceFile | None) -> None:
    """Replace a file below a root atomically, or create it with its folders. Nothing is written through a link."""
    if link := _link_on(root, path):
        raise FileRefusedError("refused", f"{link} is a link now, and nothing is written through it")
    place = os.path.join(root, *path.split("/"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    data = (_BOM if was and was.has_bom else "") + text
    replace_file(place, data.encode(), None if was is None else was.mode)


def _link_on(root: str, path: str) -> str:
    """Return the first link on the way to a path below a root, as a path below it; "" if there is none."""
    names = path.split("/")
    for end in range(1, len(names) + 1):
        if os.path.islink(os.path.join(root, *names[:end])):
            return "/".join(names[:end])
    return ""
