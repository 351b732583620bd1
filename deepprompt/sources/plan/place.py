"""Where to look: the project's root, the folders from there to cwd, and how high a plan may read."""

from __future__ import annotations

import os

from deepprompt.errors import SourceError
from deepprompt.frozen import dataclass
from deepprompt.sources.files import clean_path, path_text, reason_of, shown_path
from deepprompt.sources.plan.profile import Profile

MOST_FOLDERS = 256


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one plan. All of them are real paths, except that `given` is cwd as the caller wrote it."""

    given: str
    cwd: str
    project: str
    """The project's root: the nearest folder with a marker."""
    top: str
    """The highest folder that may be read; links may lead anywhere below it."""
    home: str
    chain: tuple[str, ...]
    """The walk, from its start to cwd."""
    above: tuple[str, ...] = ()
    """The folders above `top` that the agent reads and we do not."""

    def below_top(self, path: str) -> str | None:
        """Return a real path relative to the top, None if it lies outside."""
        if path == self.top:
            return "."
        prefix = self.top.rstrip(os.sep) + os.sep
        return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else None


def find_place(
    cwd: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    root: str | os.PathLike[str] | None,
    profile: Profile,
) -> Place:
    """Return where a profile looks for the files of a folder. `root` is the highest folder that may be read."""
    given = path_text(cwd, "plan_instructions: cwd")
    home = path_text(home or "", "plan_instructions: home")
    if not given:
        raise SourceError("plan_instructions: empty cwd; pass the project's folder")
    if root is not None and not os.fspath(root):
        raise SourceError("plan_instructions: empty root; pass a folder, or leave it out for the project's own")
    try:
        start = os.path.realpath(given)
        ceiling = os.path.realpath(path_text(root, "plan_instructions: root")) if root is not None else ""
    except (OSError, ValueError) as error:
        raise SourceError(f"plan_instructions: cwd {shown_path(given)!r}: {reason_of(error)}") from None
    if ceiling and not (start + os.sep).startswith(ceiling.rstrip(os.sep) + os.sep):
        shown = [shown_path(path) for path in (given, ceiling)]
        raise SourceError(f"plan_instructions: cwd {shown[0]!r} is not below root {shown[1]!r}")
    marked = _marked(start, ceiling, profile.markers)
    project = marked or (ceiling or start if profile.unmarked == "top" else start)
    top = ceiling or project
    parents = _parents(project)  # from the project upwards
    goes_on = profile.above < 0 or (not marked and profile.unmarked == "top")
    wanted = parents if goes_on else parents[: profile.above]
    inside = [folder for folder in wanted if (folder + os.sep).startswith(top.rstrip(os.sep) + os.sep)]
    chain = [*reversed(inside), *_down(project, start)]
    if profile.folders == "ends":
        chain = list(dict.fromkeys([project, start]))
    chain = chain[-MOST_FOLDERS:]
    outside = tuple(reversed([folder for folder in wanted if folder not in inside]))
    return Place(clean_path(given), start, project, top, clean_path(home) if home else "", tuple(chain), outside)


def ordered(chain: tuple[str, ...], order: str) -> tuple[str, ...]:
    """Return the folders of a walk in a profile's order."""
    if order == "leaf first":
        return chain[::-1]
    if order == "ends first" and len(chain) > 2:
        return (chain[0], chain[-1], *chain[-2:0:-1])
    return chain


def _marked(start: str, ceiling: str, markers: tuple[str, ...]) -> str:
    """Return the nearest folder with a marker, no higher than the ceiling; "" if there is none."""
    for folder in [start, *_parents(start)] if markers else []:
        for marker in markers:
            try:
                os.lstat(os.path.join(folder, marker))
                return folder
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:  # it may be there: do not go past it
                return ""
        if folder == ceiling:
            return ""
    return ""


def _parents(folder: str) -> list[str]:
    """Return the folders above a folder, nearest first."""
    parents: list[str] = []
    while (above := os.path.dirname(folder)) != folder:
        parents.append(above)
        folder = above
    return parents


def _down(top: str, folder: str) -> list[str]:
    """Return the folders from one down to another below it."""
    below = os.path.relpath(folder, top)
    names = [] if below == os.curdir else below.split(os.sep)
    return [os.path.join(top, *names[:depth]) for depth in range(len(names) + 1)]
