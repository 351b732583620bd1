"""The moves of the perturbation test: each changes one thing in the surroundings of a function.

Two of them need a copy of the project: one is a call in that folder, and one a call after the copy got the line ends
that git gives a checkout on Windows. They share one copy, so the second comes after the first.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache, partial

from deepprompt.errors import SourceError
from deepprompt.sources.checkout import copy_project, use_crlf
from deepprompt.sources.function import Function, Scene
from deepprompt.sources.git.run import find_program, work_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import MoveKind

MOVES: dict[MoveKind, str] = {
    "again": "nothing: the same call in another process",
    "turn": "the turn: a second call in the same process",
    "clock": "the time of day: by a minute, by a day, over midnight",
    "time zone": "TZ",
    "locale": "LC_ALL, LANG and LANGUAGE",
    "hash seed": "PYTHONHASHSEED, which orders sets",
    "folder": "a copy of the project in another folder, as new as a checkout",
    "line ends": "that copy with CRLF in every text file that git may give it",
    "home": "HOME, under another name",
    "user": "the user's name",
    "host": "the machine's name",
    "terminal": "COLUMNS and the terminal's width",
    "listing": "the order in which folders are listed",
    "umask": "which permissions new files get",
    "temp": "TMPDIR",
}
"""Every kind of move, with what it changes."""

_MINUTE, _DAY, _NOON = 60, 86_400, 43_200
_MINUTE_LATER = "a minute later"
_OF_SESSION = ("time zone", "locale", "folder", "home", "user", "host", "temp")
# A set of two texts has either order for half of all seeds: eight of them leave one set in 256 unnoticed.
_SEEDS = range(1, 9)
_MOST_LINKS = 1_000


@dataclass(frozen=True, slots=True)
class Move:
    """One change of the surroundings."""

    kind: MoveKind
    """A key of `MOVES`."""
    said: str
    """What exactly changes, and to what."""
    surroundings: Scene
    function: Function
    then: Callable[[], None] | None = None
    """The step between two calls in these surroundings, if these two calls are compared."""
    copied: Callable[[], tuple[Function, str]] | None = None
    """Makes the copy of the project, if the move needs one: returns the function in it, and why there is no copy."""

    @property
    def of_session(self) -> bool:
        """Whether it changes the machine, the folder or the day, with which parts of pace SESSION may change."""
        return self.kind in _OF_SESSION or (self.kind == "clock" and self.said != _MINUTE_LATER)


def starting_point(folder: str) -> Scene:
    """Return the surroundings that moves start from: the real ones at noon, so that a minute never changes the day.

    A day later is never another month or a weekend either, so the result does not depend on the date of the run.
    """
    day = date.today()
    while day.weekday() >= 5 or (day + timedelta(1)).month != day.month:
        day -= timedelta(1)
    noon = time.mktime((day.year, day.month, day.day, 12, 0, 0, 0, 0, -1))
    folder = os.path.abspath(folder)
    return Scene(folder, noon, environment={"PWD": folder})


def plan_moves(function: Function, start: Scene, private: str, skip: frozenset[MoveKind]) -> Iterator[Move]:
    """Yield every move except the skipped ones. Files that they need go into a private folder."""
    for kind, said, changed in _plain_moves(start, private):
        if kind not in skip:
            yield Move(kind, said, changed, function)
    copy = os.path.join(private, "copy", "project")
    there = replace(start, folder=copy, environment={**start.environment, "PWD": copy})
    copied = cache(partial(_copied, function, start.folder, copy, private))
    if "folder" not in skip:
        yield Move("folder", "to a copy in another folder", there, function, copied=copied)
    if "line ends" not in skip:
        then = partial(use_crlf, copy, start.folder)
        yield Move("line ends", "to CRLF, in a copy", there, function, then, copied)


def _copied(function: Function, folder: str, copy: str, private: str) -> tuple[Function, str]:
    """Copy the project. Return the function in the copy, and why there is none."""
    problem = copy_project(folder, copy, private)
    return _moved(function, folder, copy), problem


def _plain_moves(start: Scene, private: str) -> Iterator[tuple[MoveKind, str, Scene]]:
    """Yield the moves that need no copy of the project."""

    def environment(**changes: str | None) -> Scene:
        return replace(start, environment={**start.environment, **changes})

    yield "again", "nothing, in another process", start
    yield "turn", "a second call in one process", replace(start, turn=2)
    # The call takes longer as well, so that durations change too.
    yield "clock", _MINUTE_LATER, replace(start, clock=start.clock + _MINUTE, tick=17 * start.tick)
    yield "clock", "a day later", replace(start, clock=start.clock + _DAY)
    yield "clock", "over midnight", replace(start, clock=start.clock + _NOON + 1)
    zone = _other_zone()
    yield "time zone", f"to TZ={zone}", environment(TZ=zone)
    for locale in _other_locales(start.folder):
        yield "locale", f"to {locale}", environment(LC_ALL=locale, LANG=locale, LANGUAGE=locale.partition(".")[0])
    for seed in _SEEDS:
        yield "hash seed", f"to {seed}", replace(start, hash_seed=seed)
    home = _other_home(private)
    real = os.path.expanduser("~") + os.sep
    inside = {name: os.path.join(home, path.removeprefix(real)) for name, path in os.environ.items()
              if name.startswith("XDG_") and path.startswith(real)}  # fmt: skip
    yield "home", f"HOME to {home}", environment(HOME=home, USERPROFILE=home, **inside)
    names = dict.fromkeys(("USER", "LOGNAME", "USERNAME"), "someone-else")
    yield "user", "to someone-else", replace(environment(**names), user="someone-else")
    host = environment(HOSTNAME="another-host", COMPUTERNAME="another-host")
    yield "host", "to another-host", replace(host, host="another-host")
    yield "terminal", "to 213 columns", replace(start, columns=213)
    yield "listing", "backwards", replace(start, reversed=True)
    yield "umask", "to 077", replace(start, umask=0o077)
    temp = _other_temp(private)
    yield "temp", f"TMPDIR to {temp}", environment(TMPDIR=temp, TEMP=temp, TMP=temp)


def _other_zone() -> str:
    """Return a time zone beyond the date line; by name if the system knows it, because libraries ask for the name."""
    name, rule = ("Pacific/Tongatapu", "<+13>-13") if time.timezone > -12 * 3600 else ("Pacific/Pago_Pago", "<-11>11")
    return name if any(os.path.isfile(os.path.join(path, name)) for path in zoneinfo.TZPATH) else rule


def _other_locales(folder: str) -> list[str]:
    """Return up to two installed locales other than the current one, of another language if there is one."""
    current = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "C")
    try:
        command = [find_program("locale", work_trees(folder)), "-a"]
        run = subprocess.run(command, capture_output=True, timeout=10, check=False, cwd=os.sep)
        installed = run.stdout.decode(errors="replace").split()
    except (SourceError, OSError, subprocess.TimeoutExpired):
        installed = []
    plain = ("C", "POSIX", "C.utf8", "C.UTF-8")
    language = current.partition("_")[0]
    others = [name for name in installed if name not in plain and name.partition("_")[0] not in ("", language)]
    others.sort(key=lambda name: (not name.lower().endswith(("utf8", "utf-8")), name))
    return [*others[:1], "C.UTF-8" if current in ("C", "POSIX") else "C"]


def _other_home(private: str) -> str:
    """Return a link to the home folder under another name, or an empty folder if there is no home."""
    home, real = os.path.join(private, "another-home"), os.path.expanduser("~")
    if os.path.isdir(real):
        with suppress(OSError):  # Windows may not allow links
            os.symlink(real, home)
    os.makedirs(home, exist_ok=True)
    return home


def _other_temp(private: str) -> str:
    """Return another folder for temporary files, with links to the existing ones: some are caches."""
    temp = os.path.join(private, "another-temp")
    os.makedirs(temp, exist_ok=True)
    real = os.path.realpath(tempfile.gettempdir())
    with suppress(OSError):
        for name in os.listdir(real)[:_MOST_LINKS]:
            if not name.startswith("deepprompt-"):
                os.symlink(os.path.join(real, name), os.path.join(temp, name))
    return temp


def _moved(function: Function, folder: str, copy: str) -> Function:
    """Return the function in a copy of its project. Paths that the copy does not have stay as they are."""

    def there(path: str) -> str:
        inside = os.path.relpath(os.path.abspath(path), folder)
        moved = os.path.normpath(os.path.join(copy, inside))
        return moved if not inside.startswith(os.pardir) and os.path.exists(moved) else path

    file = there(function.file) if function.file else ""
    return replace(function, file=file, path=tuple(there(entry) for entry in function.path))
