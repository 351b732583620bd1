"""Load CLAUDE.md files, for callers who ask for them. Nothing else here loads one; the assembler takes them as data."""

from __future__ import annotations

import os

from deepprompt.errors import SourceError
from deepprompt.prompt import Note, NotedText
from deepprompt.sources.advice import load_advice
from deepprompt.sources.files import path_text, reason_of, shown_path
from deepprompt.sources.project import repository_top

FILE_LIMIT = 40_000
SEPARATOR = "\n\n---\n\n"


class ClaudeMd(NotedText):
    """The text of CLAUDE.md files, joined, with the path and the content of each."""

    files: tuple[tuple[str, str], ...]


_OWN_NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


def load_claude_md(cwd: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> ClaudeMd:
    """Return the CLAUDE.md files of `cwd`, then of each folder above it up to and including `root`, joined.

    Without a `root` that is the top of the repository, or `cwd` itself outside a repository. The text carries notes on
    files that were skipped, refused or truncated. Raises `SourceError` if `cwd` is empty or not below `root`.
    """
    notes: list[Note] = []
    cwd = path_text(cwd, "load_claude_md: cwd")
    if not cwd:
        raise SourceError("load_claude_md: empty cwd; pass the project's folder")
    if root is not None and not os.fspath(root):
        raise SourceError("load_claude_md: empty root; pass a folder, or leave it out for the repository's top")
    try:
        start = os.path.realpath(cwd)
        top = os.path.realpath(root) if root is not None else repository_top(start, notes)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise SourceError(f"load_claude_md: cwd {shown_path(cwd)!r} cannot be used: {reason}") from None
    if not (start + os.sep).startswith(top.rstrip(os.sep) + os.sep):
        shown = [shown_path(path) for path in (cwd, os.fspath(root or top))]
        raise SourceError(f"load_claude_md: cwd {shown[0]!r} is not below root {shown[1]!r}")
    below = os.path.relpath(start, top)
    folders = [] if below == os.curdir else below.split(os.sep)
    paths = ["/".join([*folders, name]) for name in _OWN_NAMES]
    paths += ["/".join([*folders[:depth], "CLAUDE.md"]) for depth in reversed(range(len(folders)))]
    texts = [(path, _load(top, path, notes)) for path in paths]
    files = tuple((shown_path(path), text) for path, text in texts if text)
    loaded = ClaudeMd(SEPARATOR.join(text for _, text in files), notes)
    loaded.files = files
    return loaded


def _load(root: str, path: str, notes: list[Note]) -> str | None:
    shown = shown_path(os.path.join(root, path))
    return load_advice(root, path, shown, file_limit=FILE_LIMIT, limit=FILE_LIMIT, may_pass=lambda _: None, notes=notes)
