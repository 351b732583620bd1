"""The list of a repository's files within a budget of tokens: folders that do not fit stand for their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deepprompt.tokens import estimate_tokens


def fold_tree(paths: Sequence[str], budget: int) -> tuple[str, ...]:
    """Return sorted paths as lines of at most `budget` tokens: a path, or `folder/ (N files)` for all below it.

    Folders are opened from the top down, smaller ones first, as long as their lines fit. If not even the top fits, what
    is left over is counted on a last line.
    """
    if estimate_tokens("\n".join(paths)) <= budget:
        return tuple(paths)
    below: dict[str, list[str]] = {"": []}  # what lies directly in each folder
    counts: dict[str, int] = {}
    for path in paths:
        names = path.split("/")
        for depth in range(1, len(names)):
            folder = "/".join(names[:depth]) + "/"
            if folder not in below:
                below[folder] = []
                below["/".join(names[: depth - 1]) + "/" if depth > 1 else ""].append(folder)
            counts[folder] = counts.get(folder, 0) + 1
        below["/".join(names[:-1]) + "/" if len(names) > 1 else ""].append(path)

    def line(entry: str) -> str:
        return f"{entry} ({counts[entry]} files)" if entry.endswith("/") else entry

    def size(entries: Sequence[str]) -> int:
        return sum(len(line(entry).encode()) + 1 for entry in entries)

    shown = _fitting(sorted(below[""], key=lambda entry: (not entry.endswith("/"), entry)), 4 * budget, size)
    room = 4 * budget - size(shown)
    level = [entry for entry in shown if entry.endswith("/")]
    opened: set[str] = set()
    while level:
        deeper = []
        for folder in sorted(level, key=lambda entry: (size(below[entry]), entry)):
            cost = size(below[folder]) - size([folder])
            if cost <= room:
                room -= cost
                opened.add(folder)
                deeper += [entry for entry in below[folder] if entry.endswith("/")]
        level = deeper
    lines = [line(entry) for entry in _walk(shown, below, opened)]
    left = len(below[""]) - len(shown)
    return tuple(sorted(lines)) + ((f"({left} more)",) if left else ())


def _fitting(entries: Sequence[str], most: int, size: Callable[[Sequence[str]], int]) -> list[str]:
    """Return the first entries whose lines fit."""
    fitting: list[str] = []
    used = 0
    for entry in entries:
        used += size([entry])
        if used > most:
            break
        fitting.append(entry)
    return fitting


def _walk(entries: Sequence[str], below: dict[str, list[str]], opened: set[str]) -> list[str]:
    """Return the entries, with those of opened folders in place of the folders."""
    found: list[str] = []
    todo = list(entries)
    while todo:
        entry = todo.pop()
        if entry in opened:
            todo += below[entry]
        else:
            found.append(entry)
    return found
