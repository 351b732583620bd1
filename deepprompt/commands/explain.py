"""`deepprompt explain`: the parts of a prompt in order, with origins and sizes that add up, and the notes on them."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import sys
from collections.abc import Iterator, Sequence

from deepprompt.checks.explain import Explanation, Row, explain, read_notes
from deepprompt.commands.build.target import built
from deepprompt.commands.inputs import TIMEOUT, counter_from_options, name_of, read_input, segments_of
from deepprompt.commands.options import add_counting_options, add_folder_option, given, working_folder
from deepprompt.commands.output import write, write_json
from deepprompt.prompt import Pace
from deepprompt.providers.recognise import model_of
from deepprompt.text.display import display

_HEADS = ("part", "pace", "bytes", "tokens", "share", "sha256", "origin")
_TO_THE_RIGHT = (2, 3, 4)
_LEAST = 10
_COLOURS = {Pace.RELEASE: "34", Pace.PROJECT: "32", Pace.SESSION: "33", Pace.TURN: "31"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain`."""
    parser.epilog = (
        "PROMPT is a file: the text of a prompt, what build --json printed, a saved session, or the JSON of a recorded "
        "request to any provider; or a function, as module:function. - is standard input. Without one, it is the "
        "prompt that 'deepprompt build' prints for the folder. The tokens of a part are the increase in the count "
        "when it is added, so that they add up."
    )
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", type=given, help="what to explain")
    add_folder_option(parser)
    add_counting_options(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with whole hashes")


def run(options: argparse.Namespace) -> int:
    """Print the parts, the boundaries and marks between them, and the totals."""
    if options.prompt:
        value = read_input(options.prompt, working_folder(options), TIMEOUT)
        segments = segments_of(value, name_of(options.prompt))
        found = explain(segments, counter_from_options(options, model_of(segments)))
        found = dataclasses.replace(found, notes=read_notes(value))
    else:
        found = explain(built(["--cwd", working_folder(options)]), counter_from_options(options))
    if options.json:
        write_json(_report(found))
    else:
        write("".join(f"{line}\n" for line in _table(found)))
    return 0


def _report(found: Explanation) -> dict[str, object]:
    bytes_before, tokens_before = found.up_to(found.static)
    return {
        "bytes": found.bytes,
        "tokens": found.tokens,
        "sha256": found.sha256,
        "prefix_bytes": bytes_before,
        "prefix_tokens": tokens_before,
        "counted": found.basis,
        "exact": found.exact,
        "settings": dict(found.settings),
        "parts": [
            {
                "name": row.name,
                "kind": row.kind,
                "role": row.role,
                "pace": _pace(row),
                "origin": row.origin,
                "version": row.version,
                "override": row.own,
                "start": row.start,
                "bytes": row.bytes,
                "tokens": row.tokens,
                "share": round(row.share, 6),
                "sha256": row.sha256,
                "mark": row.mark,
                "static": number < found.static,
            }
            for number, row in enumerate(found.rows)
        ],
        "notes": [dataclasses.asdict(note) for note in found.notes],
    }


def _pace(row: Row) -> str | None:
    return None if row.pace is None else row.pace.name.lower()


def _table(found: Explanation) -> Iterator[str]:
    """Yield the lines of the table. On a terminal they fit its width, and paces have colours."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    whole = ("whole", "", f"{found.bytes:,}", f"{found.tokens:,}", "100.0%" if found.tokens else "", found.sha256[:12])
    rows = [_HEADS, *map(_cells, found.rows), (*whole, "")]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if terminal:
        _fit(widths, shutil.get_terminal_size().columns)
    lines = [_line(row, widths) for row in rows]
    yield lines[0].rstrip()
    tokens = 0
    for number, (row, line) in enumerate(zip(found.rows, lines[1:-1], strict=True)):
        if number == found.static and number:
            yield f"-- static prefix up to here: {tokens:,} tokens --"
        tokens += row.tokens
        yield f"\x1b[{_COLOURS[row.pace]}m{line}\x1b[0m" if colour and row.pace is not None else line.rstrip()
        if row.mark is not None:
            yield f"-- cache mark{f' for {_plain(row.mark)}' if row.mark else ''}: {tokens:,} tokens up to here --"
    yield lines[-1].rstrip()
    yield ""
    yield f"tokens: {_plain(found.basis)}"
    for name, value in found.settings:
        yield _plain(f"{name}: {value[:80]}")
    if found.notes:
        yield ""
        yield "notes:"
        yield from (_plain(str(note)) for note in found.notes)


def _cells(row: Row) -> tuple[str, ...]:
    origin = f"{row.origin} (override)" if row.own else row.origin
    name = row.name if row.kind == "system" else f"{row.name} ({row.kind})"
    sizes = (f"{row.bytes:,}", f"{row.tokens:,}", f"{row.share:.1%}")
    return _plain(name), _pace(row) or "-", *sizes, row.sha256[:12], _plain(origin)


def _plain(text: str) -> str:
    """Return a text as one cell of a table."""
    return display(text).replace("\t", " ")


def _fit(widths: list[int], columns: int) -> None:
    """Narrow the columns of text to fit the terminal, the origin first."""
    for column in (len(widths) - 1, 0):
        over = sum(widths) + 2 * (len(widths) - 1) - columns
        widths[column] -= max(0, min(over, widths[column] - _LEAST))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        if len(cell) > width:  # the end of a path says more than its beginning
            cell = f"…{cell[len(cell) - width + 1 :]}"
        shown.append(cell.rjust(width) if number in _TO_THE_RIGHT else cell.ljust(width))
    return "  ".join(shown)
