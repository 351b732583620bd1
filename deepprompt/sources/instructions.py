"""Instruction files: a whitelist of names, looked up in the project and then in the home folder.

Instructions are advice: a file that cannot or may not be read is skipped with a note, never an exception. CLAUDE.md
belongs to another agent and is never loaded here, under any name or through any link.

Limits count UTF-8 bytes of the text as the prompt shows it. Truncation markers of earlier files count against the
total; the marker of the file that fills it does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from deepprompt.errors import SourceError
from deepprompt.frozen import dataclass
from deepprompt.prompt import Note
from deepprompt.sources.advice import load_advice
from deepprompt.sources.files import clean_path, path_text, refuse_claude, search_roots, shown_path

WHITELIST = ("DEEPSEEK.md", "AGENTS.md", ".deepseek/instructions.md")
FILE_LIMIT = 4_000
TOTAL_LIMIT = 12_000
DEFAULT_PROFILE = "deepseek"
"""The profile whose files are loaded here; the others are in `sources.plan`."""


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """A loaded instruction file: the path that the prompt shows, and its text as it will appear."""

    path: str
    content: str


class InstructionFiles(list[InstructionFile]):
    """The loaded files in order, with notes on files that were skipped, refused or truncated, and why."""

    def __init__(self, files: Iterable[InstructionFile] = (), notes: Iterable[Note] = ()) -> None:
        super().__init__(files)
        self.notes = tuple(notes)


def load_instruction_files(
    cwd: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = "",
    *,
    portable: bool = False,
    profile: str | os.PathLike[str] = DEFAULT_PROFILE,
    root: str | os.PathLike[str] | None = None,
    file_limit: int | None = None,
    total_limit: int | None = None,
) -> InstructionFiles:
    """Load the whitelisted files of `cwd`, then those of `home` whose base name is not loaded yet.

    The prompt shows each file with the path that was looked up. With `portable`, that is its path in the project, or
    after `~/` in the home folder, so every machine with the same files has the same prefix. Another `profile` loads the
    files that `plan_instructions` lists for it, no higher than `root`. The limits, in bytes, replace those of the
    profile. Raises `SourceError` for an empty `cwd` or a limit below 1. A file that cannot be read is a note.
    """
    for limit, what in ((file_limit, "file_limit"), (total_limit, "total_limit")):
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise SourceError(f"load_instruction_files: {what} takes a number of bytes above 0, not {limit!r:.40}")
    if profile != DEFAULT_PROFILE:
        from deepprompt.sources.plan.plan import load_planned

        return load_planned(cwd, home, profile, root, portable, file_limit, total_limit)
    return _load_default(cwd, home, portable, file_limit or FILE_LIMIT, total_limit or TOTAL_LIMIT)


def _load_default(
    cwd: str | os.PathLike[str], home: str | os.PathLike[str] | None, portable: bool, file_limit: int, total_limit: int
) -> InstructionFiles:
    cwd = path_text(cwd, "load_instruction_files: cwd")
    home = path_text(home or "", "load_instruction_files: home")
    if not cwd:
        raise SourceError("load_instruction_files: empty cwd; pass the project's folder")
    files: list[InstructionFile] = []
    notes: list[Note] = []
    loaded: set[str] = set()
    room = total_limit
    if not os.path.isdir(cwd):
        is_file = os.path.exists(cwd)
        detail = "it is a file; pass the folder that it lies in" if is_file else "there is no such folder"
        notes.append(Note("skipped", shown_path(clean_path(cwd)), detail))
    for number, root in enumerate(search_roots(cwd, home)):
        for name in WHITELIST:
            path = clean_path(os.path.join(root, name))
            named = (f"~/{name}" if number else name) if portable else path
            shown = shown_path(named)
            base = os.path.basename(name)
            if base in loaded or room <= 0:
                if os.path.lexists(path):
                    full = f"the files before it fill the limit of {total_limit} bytes"
                    notes.append(Note("skipped", shown, f"{base} is loaded already" if base in loaded else full))
                continue
            content = load_advice(
                root,
                name,
                shown,
                file_limit=file_limit,
                limit=min(file_limit, room),
                may_pass=refuse_claude,
                notes=notes,
            )
            if content is not None:
                room -= len(content.encode())
                loaded.add(base)
                files.append(InstructionFile(shown_path(named, notes), content))
    return InstructionFiles(files, notes)
