"""Folders that only we may enter and that are gone a moment later: in memory where there is room for them.

To make and remove thousands of files can take longer on a busy disk than everything that is done with them. Where the
user names a place for temporary files (TMPDIR, TEMP or TMP), that is the place.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

NAMED = ("TMPDIR", "TEMP", "TMP")
"""The variables in which users name the place for temporary files."""
_MEMORY = "/dev/shm"  # open to all users with the same care as /tmp: who did not make a folder cannot enter or move it
_TIMES = 8
_SPARE = 1 << 20


def in_memory(size: int, *, programs: bool = False) -> str:
    """Return a place in memory that has room for `size` bytes many times over, "" if there is none.

    With `programs`, it is one where they can be started, which some containers forbid.
    """
    try:
        status = os.statvfs(_MEMORY)
    except (OSError, AttributeError):  # not there, or Windows
        return ""
    if status.f_bavail * status.f_frsize <= _TIMES * size + _SPARE or (programs and status.f_flag & os.ST_NOEXEC):
        return ""
    return _MEMORY


def private_folder(size: int, *, programs: bool = False) -> TemporaryDirectory[str]:
    """Return an empty folder with room for `size` bytes. As a context, it yields the path and removes the folder."""
    from tempfile import TemporaryDirectory  # which reading git does without: it imports much

    place = "" if any(map(os.environ.get, NAMED)) else in_memory(size, programs=programs)
    return TemporaryDirectory(prefix="deepprompt-", dir=place or None, ignore_cleanup_errors=True)
