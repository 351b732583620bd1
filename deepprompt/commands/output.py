"""What commands share about writing: exact bytes to standard output or a file, JSON, notes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from deepprompt.prompt import Note


def write(text: str, path: str = "") -> None:
    """Write a text's exact bytes to standard output, or all at once to a file."""
    data = text.encode()
    if not path:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    # Beside the target and then over it: whoever reads the target sees the old text or the new, never half.
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError as error:
        if os.path.exists(beside):
            os.unlink(beside)
        raise OSError(error.errno, error.strerror, path) from None


def write_json(value: object, path: str = "") -> None:
    """Write a value as indented JSON."""
    import json

    write(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path)


def say_notes(notes: Iterable[Note]) -> None:
    """Print notes to standard error, a line each."""
    for note in notes:
        line = " ".join(f"deepprompt: {note}".split("\n"))
        print(line.encode(errors="backslashreplace").decode(), file=sys.stderr)
