"""The one place that starts git: which git, with which environment, on a private git directory.

A test holds that nothing else in the package starts it. The repository may be hostile: `repository` keeps git from
running its programs, `objects` from reading other repositories, `process` from hanging.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deepprompt.errors import SourceError
from deepprompt.sources.git.objects import show_own_objects
from deepprompt.sources.git.process import run_side_by_side, signals_wait
from deepprompt.sources.git.repository import Repository, State, private_git_dir

_MOST_OUTPUT = 1 << 20

# A second line of defence: the private git directory is enough, and these alone would not stop content filters.
_GIT = (
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=false",
    "-c", "core.quotePath=false",
    "-c", "log.mailmap=false",
    "-c", "safe.bareRepository=explicit",
)  # fmt: skip

Run = Callable[..., list[bytes | None]]


@contextmanager
def open_git(
    repository: Repository, state: State, cwd: str, deadline: float, *, own_only: bool = False, most: int = _MOST_OUTPUT
) -> Iterator[tuple[Run, Callable[[], bool]]]:
    """Yield a function that runs git commands side by side, and one that tells whether a signal came.

    Each output has `most` bytes at most. None stands for a command that failed or was not done by the deadline. With
    `own_only`, git sees only the objects that lie in the repository itself.
    """
    main = os.path.dirname(repository.common_dir)  # the main work tree of a linked one
    git = find_program("git", work_trees(repository.top, main, cwd))
    with signals_wait() as interrupted, private_git_dir(repository, state, deadline) as folder:
        objects = os.path.join(repository.common_dir, "objects")
        if own_only:
            objects = show_own_objects(objects, os.path.join(folder, "own"), deadline)
        environment = _environment(repository, git, folder, objects)

        def run(*commands: tuple[str, ...]) -> list[bytes | None]:
            lines = [(git, "-C", cwd, *_GIT, *command) for command in commands]
            return run_side_by_side(lines, env=environment, deadline=deadline, most=most, give_up=interrupted)

        yield run, interrupted


def find_program(name: str, outside: tuple[str, ...]) -> str:
    """Return a program's absolute path.

    A relative entry of PATH could hold a stranger's program, and so could one inside the folders `outside`.
    """
    name = f"{name}.exe" if os.name == "nt" else name
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if not os.path.isabs(folder) or not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        if not any(
            _lies_in(place, top) for place in (os.path.realpath(path), os.path.realpath(folder)) for top in outside
        ):
            return path
    raise SourceError(f"{name} is not installed, or not in an absolute folder of PATH outside the repository")


def work_trees(*folders: str) -> tuple[str, ...]:
    """Return these folders, and every folder around them that is the top of a repository."""
    found = {os.path.realpath(folder) for folder in set(folders)}
    for place in tuple(found):
        while place != os.path.dirname(place):
            if os.path.lexists(os.path.join(place, ".git")):
                found.add(place)
            place = os.path.dirname(place)
    return tuple(sorted(found - {os.sep}))


def _lies_in(path: str, folder: str) -> bool:
    return (path + os.sep).startswith(folder.rstrip(os.sep) + os.sep)


def _environment(repository: Repository, git: str, folder: str, objects: str) -> dict[str, str]:
    """Return the complete environment of git. It inherits only the folder of git itself."""
    environment = {
        "PATH": os.path.dirname(git),
        "HOME": folder,
        "LC_ALL": "C",
        "GIT_DIR": folder,
        "GIT_WORK_TREE": repository.top,
        # If git writes an object after all, it writes it here.
        "GIT_OBJECT_DIRECTORY": os.path.join(folder, "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects),
        "GIT_INDEX_FILE": os.path.join(folder, "index"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }
    if "SYSTEMROOT" in os.environ:  # Windows starts no program without it
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return environment


def _quoted(path: str) -> str:
    """Return a path as one entry of a list that git splits at colons."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
