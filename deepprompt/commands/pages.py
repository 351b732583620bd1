"""Writing a page of the inspector to a file: only a new one, or in place of an earlier page of ours."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from deepprompt.errors import SourceError
from deepprompt.inspector.page import render_page
from deepprompt.sources.files import open_named, reason_of, replace_file

_GENERATOR = b'<meta name="generator" content="deepprompt inspect">'


def new_page() -> str:
    """Return the path of a page in a new temporary folder."""
    import tempfile

    return os.path.join(tempfile.mkdtemp(prefix="deepprompt-"), "page.html")


def write_page(path: str, view: Mapping[str, object]) -> None:
    """Write a page that only its owner can read. No file that is not a page of ours is ever replaced."""
    _check(path)
    try:
        replace_file(path, render_page(view).encode(), 0o600)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {reason_of(error)}") from None


def _check(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) or _GENERATOR not in _begin(path):
            raise SourceError(f"{path}: exists, and is not a page of 'deepprompt inspect'; name another file")
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {reason_of(error)}") from None


def _begin(path: str) -> bytes:
    with open_named(path) as file:
        return file.read(2048)
