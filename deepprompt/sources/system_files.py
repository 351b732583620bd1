"""A project's own system prompt in two files: `system.md` replaces the bundled main prompt, `system_extra.md` follows.

A prompt that somebody wrote is never replaced by another one in silence: a file that is there and cannot be used is an
error.
"""

from __future__ import annotations

import os

from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.prompt import Note, NotedText
from deepprompt.sources.files import path_text, read_below, shown_path
from deepprompt.text.hygiene import is_blank, neutralise, unify_line_ends

MAIN, EXTRA = "system.md", "system_extra.md"
_MOST = 1 << 20


def load_system_files(folder: str | os.PathLike[str]) -> tuple[NotedText, NotedText]:
    """Return the main and the extra prompt in a folder, each without its last line end; "" for a missing file.

    The texts carry notes on hidden characters and control tokens that were neutralised.
    """
    root = path_text(folder, "tiered_system_prompt: folder")
    if not os.path.isdir(root):
        raise SourceError(f"{shown_path(root)}: there is no such folder; it would hold {MAIN} and {EXTRA}")
    main, extra = _load(root, MAIN), _load(root, EXTRA)
    if main is not None and is_blank(main):
        shown = shown_path(os.path.join(root, MAIN))
        raise SourceError(f"{shown}: it is blank; write a prompt, or remove it to use the bundled one")
    return main or NotedText(""), NotedText("") if extra is None or is_blank(extra) else extra


def _load(root: str, name: str) -> NotedText | None:
    shown = shown_path(os.path.join(root, name))
    try:
        data = read_below(root, name, _MOST, lambda _: None, whole=True).data
        text = unify_line_ends(data.decode("utf-8-sig"))
    except FileRefusedError as error:
        if error.kind == "missing":
            return None
        raise SourceError(f"{shown}: {error}") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{shown}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    notes: list[Note] = []
    return NotedText(neutralise(text, shown, notes).removesuffix("\n"), notes)
