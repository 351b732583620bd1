"""`deepprompt edits`: what the edit blocks of a response change, as a diff, or the change itself."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping

from deepprompt.commands.options import add_folder_option, given, own_text, working_folder
from deepprompt.commands.output import say, write, write_json
from deepprompt.errors import FileRefusedError
from deepprompt.sources.files import reason_of
from deepprompt.sources.source_file import SourceFile, read_source, write_source
from deepprompt.systems.edits import Edit, Edited, EditResult, apply_edits, parse_edits, why_no_path
from deepprompt.text.display import counted
from deepprompt.text.hygiene import neutralise


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `edits`."""
    parser.epilog = (
        "ANSWER is a file with the text of a response; - is standard input. Without --apply nothing is written: a diff "
        "goes to standard output, and a line for each block to standard error. A block that fails changes nothing. "
        "Exit 0: every block is applied or already there; 1: some are not."
    )
    parser.add_argument("answer", metavar="ANSWER", type=given, help="the text of a response with edit blocks")
    parser.add_argument("--apply", action="store_true", help="change the files")
    add_folder_option(parser)
    parser.add_argument("--json", action="store_true", help="print the results and the diff as JSON")


def run(options: argparse.Namespace) -> int:
    """Apply the blocks to the texts of the files; print what changes, or write it."""
    folder = working_folder(options)
    edits = parse_edits(own_text(options.answer))
    files, refused = _read(folder, edits)
    edited = apply_edits(edits, {path: file.text for path, file in files.items() if file is not None})
    results = [_judged(result, refused) for result in edited.results]
    if options.apply:
        unwritten = _write(folder, files, edited)
        results = [_judged(result, unwritten) for result in results]
    diff = "".join(_diff(edited, files))
    if options.json:
        write_json({"results": [_report(result) for result in results], "diff": diff, "written": options.apply})
    else:
        if not options.apply:
            # A program gets the exact bytes, a terminal nothing that steers it.
            write(neutralise(diff) if sys.stdout is not None and sys.stdout.isatty() else diff)
        for result in results:
            say(str(result))
        done = sum(result.done for result in results)
        say(f"{done} of {counted(len(results), 'block')} {'in place' if options.apply else 'would be in place'}")
    return 0 if all(result.done for result in results) else 1


def _read(folder: str, edits: Iterable[Edit]) -> tuple[dict[str, SourceFile | None], dict[str, str]]:
    """Return the files that blocks name, None for one that does not exist; and why others cannot be used."""
    files: dict[str, SourceFile | None] = {}
    refused: dict[str, str] = {}
    for path in dict.fromkeys(edit.path for edit in edits if not why_no_path(edit.path)):
        try:
            files[path] = read_source(folder, path)
        except FileRefusedError as error:
            refused[path] = str(error)
    return files, refused


def _judged(result: EditResult, refused: Mapping[str, str]) -> EditResult:
    """Return the result of a block whose file may have turned out to be out of reach."""
    reason = refused.get(result.edit.path)
    return result if reason is None or result.status == "refused" else EditResult(result.edit, "refused", reason)


def _write(folder: str, files: Mapping[str, SourceFile | None], edited: Edited) -> dict[str, str]:
    """Write the changed files. Return why some could not be written."""
    refused: dict[str, str] = {}
    for path, text in edited.files.items():
        if path not in files:
            continue
        try:
            if read_source(folder, path) != files[path]:
                refused[path] = "the file was changed while its blocks were applied"
                continue
            write_source(folder, path, text, files[path])
        except FileRefusedError as error:
            refused[path] = str(error)
        except OSError as error:
            refused[path] = f"cannot be written: {reason_of(error)}"
    return refused


def _diff(edited: Edited, files: Mapping[str, SourceFile | None]) -> Iterator[str]:
    """Yield the lines of a unified diff, as git would show it."""
    for path, text in edited.files.items():
        if path not in files:
            continue
        before = files[path]
        names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}")
        old = _lines(before.text) if before is not None else []
        for line in difflib.unified_diff(old, _lines(text), *names):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only a newline ends a line."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _report(result: EditResult) -> dict[str, object]:
    return {
        "path": result.edit.path, "line": result.edit.line, "status": result.status, "reason": result.reason,
    }  # fmt: skip
