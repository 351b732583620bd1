"""Objects that lie in another repository: found, and kept from git.

A repository can borrow objects: a file names other object folders, or a link stands in place of a folder, a pack or a
single object. With a ref that names a foreign commit, git would show what another repository holds. Reading
borrowed objects is refused; `show_own_objects` gives git a folder in which only the repository's own ones are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from deepprompt.errors import SourceError

_BORROWING = ("alternates", "http-alternates")


def find_borrowed(objects: str) -> list[str]:
    """Return what makes git read objects elsewhere, as far as one look at each of a few folders tells."""
    found = [f"objects/info/{name}" for name in _BORROWING if _says_something(os.path.join(objects, "info", name))]
    found += [f"objects/{name}" for name in sorted(_links(objects))]
    for folder in ("pack", "info"):
        found += [f"objects/{folder}/{name}" for name in sorted(_links(os.path.join(objects, folder)))]
    return found


def find_linked(objects: str, deadline: float) -> list[str]:
    """Return the single objects that are links. It looks into every folder, so it takes longer."""
    found = []
    for name in _folders(objects):
        found += [f"objects/{name}/{link}" for link in sorted(_links(os.path.join(objects, name)))]
        if time.monotonic() > deadline:
            raise SourceError("there are too many objects to look through in time")
    return found


def show_own_objects(objects: str, view: str, deadline: float) -> str:
    """Make a folder that leads to a repository's own objects and to no other, and return it."""
    os.mkdir(view)
    for name in (*_folders(objects), "pack"):
        folder = os.path.join(objects, name)
        if os.path.islink(folder) or not os.path.isdir(folder):
            continue
        if not _links(folder):
            os.symlink(folder, os.path.join(view, name))
            continue
        os.mkdir(os.path.join(view, name))
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    os.symlink(entry.path, os.path.join(view, name, entry.name))
                if time.monotonic() > deadline:
                    raise SourceError("there are too many objects to look through in time")
    return view


def _folders(objects: str) -> Iterator[str]:
    """Yield the folders of single objects, each named after two digits."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(objects) as entries:
        for entry in entries:
            if len(entry.name) == 2 and entry.is_dir(follow_symlinks=False):
                yield entry.name


def _links(folder: str) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_symlink()]
    return []


def _says_something(path: str) -> bool:
    """Whether a file has more than nothing. A link is asked for itself: where it leads is not looked at."""
    try:
        return os.lstat(path).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False
