"""Edit blocks, as the prompt of a tiered context teaches them: find them in a response, and apply them to texts.

A block is a path on a line of its own, then `=@= EDIT =@=`, the old lines, `=@= REPLACE =@=`, the new lines and
`=@= END =@=`. The old lines are whole lines that the file has exactly once. Nothing here reads or writes a file, and
nothing is matched approximately: a block is applied as it stands, or it changes nothing and the result says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deepprompt.arguments import expect
from deepprompt.errors import MessageError

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.words import EditStatus

_MARKER = re.compile(r"^([ \t]*)=@= (EDIT|REPLACE|END) =@=[ \t\r]*$", re.MULTILINE)
# What Markdown puts around a path, and no file's name has at that place.
_DRESSED = re.compile(r"^(?:[`*#>-]|```|\d+\.\s)|[`*:]$")
_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Edit:
    """One block of a response. `line` is where it begins there, and `problem` says why it cannot be used, if so."""

    path: str
    old: str
    new: str
    line: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of one block: its status, and the reason if it was not applied."""

    edit: Edit
    status: EditStatus
    reason: str = ""

    @property
    def done(self) -> bool:
        """Whether the file has what the block asks for."""
        return self.status in ("applied", "already there")

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.edit.path or 'a block'} (line {self.edit.line}): {self.status}{reason}"


@dataclass(frozen=True, slots=True)
class Edited:
    """The files that blocks changed or created, by path, with their new texts; and a result for each block."""

    files: dict[str, str]
    results: tuple[EditResult, ...]


def parse_edits(answer: str) -> tuple[Edit, ...]:
    """Return the edit blocks of a response, in order. A block that is not well formed has a `problem`.

    Text around the blocks is ignored. A fence may stand around a block, but not between its path and EDIT.
    """
    expect(answer, str, "parse_edits: answer", "the text of a response", MessageError)
    edits: list[Edit] = []
    path, old, begins, start, line, seen = "", "", 0, -1, 1, 0
    inside = ""  # "EDIT" while old lines are read, "REPLACE" while new ones are

    def close(problem: str, new: str = "") -> None:
        edits.append(Edit(path, old, new, begins, problem or why_no_path(path)))

    for match in _MARKER.finditer(answer):
        indent, word = match[1], match[2]
        line += answer.count("\n", seen, match.start())
        seen = match.start()
        if indent:
            if not inside:
                edits.append(Edit("", "", "", line, f"{word}: a marker line starts in the first column"))
            continue
        text = answer[start : match.start()] if inside else ""
        if word == "EDIT":
            if inside:
                close(f"no {'REPLACE' if inside == 'EDIT' else 'END'} line before the next block")
            path, old, begins, inside = _line_before(answer, match.start()), "", line, "EDIT"
        elif inside == "EDIT" and word == "REPLACE":
            old, inside = text, "REPLACE"
        elif inside == "REPLACE" and word == "END":
            close("", text)
            inside = ""
        elif inside:
            close(f"{word} stands where {'REPLACE' if inside == 'EDIT' else 'END'} belongs")
            inside = ""
        else:
            edits.append(Edit("", "", "", line, f"{word}: there is no EDIT line before it"))
        start = match.end() + 1
    if inside:
        close("the response ends inside the block; it may have been truncated")
    return tuple(edits)


def _line_before(text: str, end: int) -> str:
    start = text.rfind("\n", 0, max(0, end - 1)) + 1
    line = text[start : max(0, end - 1)].strip() if end else ""
    return "" if _MARKER.match(line) else line


def render_edit(edit: Edit) -> str:
    """Return a block in the form that `parse_edits` reads. Raises `MessageError` if it cannot be written."""
    for text in (edit.old, edit.new):
        if any(not match[1] for match in _MARKER.finditer(text)):
            raise MessageError(f"{edit.path}: a block cannot hold a line that is a marker")
        if text and not text.endswith("\n"):
            raise MessageError(f"{edit.path}: a block holds whole lines, so its texts end with a line end")
    if problem := why_no_path(edit.path):
        raise MessageError(f"{edit.path}: {problem}")
    return f"{edit.path}\n=@= EDIT =@=\n{edit.old}=@= REPLACE =@=\n{edit.new}=@= END =@=\n"


def why_no_path(path: str) -> str:
    """Return why a path cannot be edited, "" if it can: it must stay below the root, outside of git's own folder."""
    if not path:
        return "there is no path on the line before EDIT"
    if _CONTROLS.search(path):
        return "its path has a character that no path has"
    if path.startswith("/") or "\\" in path or _DRIVE.match(path):
        return "a path is relative to the repository's top folder, with / between its names"
    if _DRESSED.search(path):
        return "the path stands alone on its line, without Markdown or a colon"
    names = path.split("/")
    if any(name in ("", ".", "..") or name != name.strip() for name in names):
        return "a path has no empty name, no blank at either end of a name, and neither . nor .. in it"
    if any(name.rstrip(". ").lower() in (".git", "git~1") for name in names):
        return "git's own files are not edited"
    return ""


def apply_edits(edits: Iterable[Edit], files: Mapping[str, str]) -> Edited:
    """Apply blocks to the texts of files, one after the other, each to the result of the one before.

    A path that is not in `files` counts as a new file. A block that fails changes nothing. Files whose lines all end in
    CRLF keep these line ends, whatever the block has. `files` itself is not changed.
    """
    expect(files, Mapping, "apply_edits: files", "a mapping of paths to texts", MessageError)
    now: dict[str, str] = {}
    results = []
    for edit in edits:
        expect(edit, Edit, "apply_edits: edits", "what parse_edits returns", MessageError)
        text = now.get(edit.path, files.get(edit.path))
        if text is not None:
            expect(text, str, f"apply_edits: files[{edit.path!r}]", "text", MessageError)
        result, changed = _apply(edit, text)
        results.append(result)
        if result.status == "applied":
            now[edit.path] = changed
    return Edited({path: text for path, text in now.items() if files.get(path) != text}, tuple(results))


def _apply(edit: Edit, text: str | None) -> tuple[EditResult, str]:
    """Return what becomes of a block and, if it is applied, the new text."""
    if problem := edit.problem or why_no_path(edit.path):
        return EditResult(edit, "refused", problem), ""
    if _SURROGATES.search(edit.new):
        return EditResult(edit, "refused", "its new text has a character that no file can hold"), ""
    if not edit.old:
        return _create(edit, text)
    if text is None:
        return EditResult(edit, "not found", "there is no such file"), ""
    old, new = (_with_ends_of(text, side) for side in (edit.old, edit.new))
    padded, end = _padded(text)
    first = padded.find(f"\n{old}")
    if first < 0:
        if new and padded.find(f"\n{new}") >= 0:
            return EditResult(edit, "already there"), ""
        return EditResult(edit, "not found", "the file has no such lines"), ""
    if padded.find(f"\n{old}", first + 1) >= 0:
        return EditResult(edit, "several", "the file has these lines more than once; add neighbouring lines"), ""
    if new != old and _inserted(padded, first, old, new):
        return EditResult(edit, "already there"), ""
    changed = padded[1 : first + 1] + new + padded[first + 1 + len(old) :]
    # A file whose last line has no line end keeps it so.
    return EditResult(edit, "applied"), changed.removesuffix(end)


def _create(edit: Edit, text: str | None) -> tuple[EditResult, str]:
    """Return what becomes of a block without old lines: a new file, or the text of an empty one."""
    if text is None or (not text and edit.new):
        return EditResult(edit, "applied"), edit.new
    if _with_ends_of(text, edit.new) == text or edit.new == text:
        return EditResult(edit, "already there"), ""
    return EditResult(edit, "refused", "the file exists and is not empty; give old lines to change it"), ""


def _padded(text: str) -> tuple[str, str]:
    """Return a text with a line end before its first and after its last line, and the one that was added at its end."""
    end = "" if not text or text.endswith("\n") else _with_ends_of(text, "\n")
    return f"\n{text}{end}", end


def _with_ends_of(text: str, side: str) -> str:
    """Return a side of a block with the line ends of a file, if that has one kind only."""
    is_windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
    return side.replace("\n", "\r\n") if is_windows and "\r" not in side else side


def _inserted(padded: str, first: int, old: str, new: str) -> bool:
    """Whether new lines before or after the old ones stand there already."""
    start = first + 1
    if new.startswith(old):
        return padded.startswith(new, start)
    before = start - (len(new) - len(old))
    return new.endswith(old) and before > 0 and padded[before - 1] == "\n" and padded.startswith(new, before)
