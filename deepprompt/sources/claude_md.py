"""CLAUDE.md files, only for who asks for them: nothing else here loads one, and the assembler takes them as data."""

from __future__ import annotations

import os

from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.sources.advice import load_advice
from deepprompt.sources.files import shown_path

FILE_LIMIT = 40_000
SEPARATOR = "\n\n---\n\n"

_OWN_NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


def load_claude_md(cwd: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> str:
    """Return the CLAUDE.md files of `cwd`, then of each folder above it up to and including `root`, joined.

    Without a `root` that is the top of the repository, or `cwd` itself where there is none.
    """
    return read_claude_md(cwd, root, [])


def read_claude_md(cwd: str | os.PathLike[str], root: str | os.PathLike[str] | None, notes: list[Note]) -> str:
    """Do the same, with notes on what was skipped, refused or cut."""
    cwd = os.fspath(cwd)
    if not cwd:
        raise SourceError("load_claude_md: empty cwd; pass the project's folder")
    if root is not None and not os.fspath(root):
        raise SourceError("load_claude_md: empty root; pass a folder, or leave it out for the repository's top")
    start = os.path.realpath(cwd)
    top = os.path.realpath(root) if root is not None else _repository_top(start)
    if not (start + os.sep).startswith(top.rstrip(os.sep) + os.sep):
        raise SourceError(f"load_claude_md: cwd {cwd!r} is not below root {os.fspath(root or top)!r}")
    below = os.path.relpath(start, top)
    folders = [] if below == os.curdir else below.split(os.sep)
    paths = ["/".join([*folders, name]) for name in _OWN_NAMES]
    paths += ["/".join([*folders[:depth], "CLAUDE.md"]) for depth in reversed(range(len(folders)))]
    texts = [_load(top, path, notes) for path in paths]
    return SEPARATOR.join(text for text in texts if text)


def _repository_top(start: str) -> str:
    folder = start
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return start
        folder = above
    return folder


def _load(root: str, path: str, notes: list[Note]) -> str | None:
    shown = shown_path(os.path.join(root, path), [])
    return load_advice(root, path, shown, file_limit=FILE_LIMIT, limit=FILE_LIMIT, may_pass=lambda _: None, notes=notes)
