"""Load one file of instructions for the model: read it safely, decode it, show hidden characters, truncate it."""

from __future__ import annotations

from collections.abc import Callable

from deepprompt.errors import FileRefusedError
from deepprompt.prompt import Note
from deepprompt.sources.files import read_below
from deepprompt.text.hygiene import TRUNCATION_MARKER, decode, neutralise, shorten, why_no_text


def load_advice(
    root: str,
    path: str,
    shown: str,
    *,
    file_limit: int,
    limit: int,
    may_pass: Callable[[str], str | None],
    notes: list[Note],
) -> str | None:
    """Return at most `limit` bytes of a file below `root`, or None with a note if there is nothing to show.

    `file_limit` is what any such file may have, `limit` what this one may, and `shown` the path that notes name.
    """
    try:
        # Hidden characters get longer when they are shown, and line ends get shorter: twice the limit is enough.
        contents = read_below(root, path, 2 * file_limit, may_pass)
    except FileRefusedError as error:
        if error.kind != "missing":
            notes.append(Note(error.note_kind, shown, str(error)))
        return None
    if reason := why_no_text(contents.data):
        notes.append(Note("refused", shown, reason))
        return None
    text = neutralise(decode(contents.data, shown, notes, complete=not contents.more), shown, notes)
    if not text:
        notes.append(Note("skipped", shown, "it is empty"))
        return None
    if contents.status.st_nlink > 1:
        notes.append(Note("kept", shown, "a hard link: the same file has another name, maybe outside"))
    content = shorten(text, limit)
    if contents.more and content == text:  # the rest of the file was not read
        content = text + TRUNCATION_MARKER
    if content != text:
        notes.append(Note("cut", shown, f"longer than the {limit} bytes there is room for"))
    return content
