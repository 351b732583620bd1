"""`deepprompt report`: what the cache costs in the requests of logs, and why, ranked by money."""

from __future__ import annotations

import argparse
import os
import re
import time
from math import inf
from typing import Any, get_args

from deepprompt.commands.options import given
from deepprompt.commands.output import show_progress, write_json, write_lines
from deepprompt.commands.pages import write_page
from deepprompt.errors import SourceError
from deepprompt.fleet.advice import ADVICE
from deepprompt.fleet.engines import cores
from deepprompt.fleet.prices import bundled_prices, load_prices
from deepprompt.fleet.readers.shared import time_of
from deepprompt.fleet.report import Report, report
from deepprompt.fleet.store import default_store
from deepprompt.fleet.summary import GROUPS, as_json, known_causes, lines_of_report
from deepprompt.sources.files import reason_of, replace_file
from deepprompt.words import Engine

_MOST_JOBS = 256
_AGO = re.compile(r"(\d{1,6})([dhm])")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60}
_KINDS = (".html", ".csv", ".parquet", ".json")
_CAUSES = ("all", *ADVICE)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    parser.epilog = (
        "A log is what 'deepprompt record' wrote, JSON Lines of request bodies, HAR, LiteLLM's or Helicone's logs, "
        "OpenTelemetry's spans as JSON, Langfuse's export, Codex's rollouts or Claude Code's transcripts; plain, gzip, "
        "xz or zstd. Exit 0: done; 1: more was lost than --fail-over allows, or a log cannot be read; 2: wrong usage."
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        type=given,
        help="logs or folders of logs, or their URLs (default: what 'record' wrote)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "-o",
        "--out",
        type=given,
        metavar="FILE",
        help="write an HTML page (.html), rows for tables (.csv, .parquet), or everything (.json)",
    )
    parser.add_argument(
        "--by",
        type=_groups,
        default=("agent", "model"),
        metavar="NAMES",
        help=f"group by any of {', '.join(GROUPS)} (default: agent,model)",
    )
    parser.add_argument(
        "--what-if", type=given, metavar="CAUSE", help="simulate the costs without a cause: its kind, its place, or all"
    )
    parser.add_argument(
        "--fail-over",
        type=_percent,
        metavar="SHARE",
        help="exit 1 if breaks cost a larger share of the input, such as 5%%",
    )
    parser.add_argument(
        "--since",
        type=_since,
        metavar="TIME",
        help="only requests since a date such as 2026-11-18, a time, or an age such as 7d or 12h",
    )
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=0,
        metavar="N",
        help="work with N processes on large logs of several files (default: one for each core)",
    )
    parser.add_argument(
        "--engine",
        choices=get_args(Engine),
        default="process",
        metavar="NAME",
        help="how to split large logs: process, or ray for the Ray cluster in your settings (default: process)",
    )
    parser.add_argument("--prices", type=given, metavar="FILE", help="your own price table, instead of the bundled one")


def _groups(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    if wrong := [name for name in names if name not in GROUPS]:
        raise argparse.ArgumentTypeError(f"no group {wrong[0]!r:.40}; there are: {', '.join(GROUPS)}")
    return names


def _since(value: str) -> float:
    if found := _AGO.fullmatch(value):
        return time.time() - int(found[1]) * _SECONDS[found[2]]
    if (at := time_of(value)) is None:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-11-18, a time, 7d or 12h, not {value!r:.40}")
    return at


def _jobs(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"expected a number of processes, 1 to {_MOST_JOBS}, not {value!r:.40}")
    return int(value)


def _percent(value: str) -> float:
    try:
        share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"expected a share such as 5% or 0.05, not {value!r:.40}")
    return share


def run(options: argparse.Namespace) -> int:
    """Print the report, or write it to a file, and compare what was lost with the limit."""
    if options.out and not options.out.lower().endswith(_KINDS):
        options.usage_error(f"--out writes {', '.join(_KINDS)}; {options.out!r} ends in none of them")
    paths = options.paths or [default_store()]
    if not options.paths and not _has_logs(paths[0]):
        raise SourceError("nothing recorded yet; run 'deepprompt record -- COMMAND' first, or name a log")
    prices = load_prices(options.prices) if options.prices else bundled_prices()
    page = (options.out or "").lower().endswith(".html")
    what_if = options.what_if or ""
    if options.jobs and options.engine != "process":
        options.usage_error(f"--jobs is for processes; how many workers there are is a setting of {options.engine}")
    run_on: dict[str, Any] = {"engine": options.engine, "jobs": options.jobs or cores()}
    try:
        found = report(
            paths,
            prices=prices,
            what_if=what_if,
            since=-inf if options.since is None else options.since,
            turns=page,
            told=_told,
            **run_on,
        )
    finally:
        show_progress("")
    if what_if and not found.tally.saving.requests and what_if not in _CAUSES:
        options.usage_error(f"--what-if: no cause {what_if!r:.60} in these logs; there are: {known_causes(found)}")
    if options.out:
        _write(options.out, found)
    if options.json:
        write_json(as_json(found))
    elif not options.out or options.fail_over is not None:
        write_lines(lines_of_report(found, options.by))
    return int(options.fail_over is not None and found.lost_share() > options.fail_over)


def _has_logs(folder: str) -> bool:
    return os.path.isdir(folder) and any(name.endswith(".jsonl") for name in os.listdir(folder))


def _told(done: int, parts: int) -> None:
    if parts > 1:
        show_progress(f"{done} of {parts} parts")


def _write(path: str, found: Report) -> None:
    kind = os.path.splitext(path)[1].lower()
    if kind == ".html":
        from deepprompt.fleet.page import report_view

        write_page(path, report_view(found))
        return
    from deepprompt.fleet.tables import as_csv, as_parquet

    if kind == ".json":
        import json

        data = json.dumps(as_json(found), indent=1).encode()
    else:
        data = as_csv(found) if kind == ".csv" else as_parquet(found)
    try:
        replace_file(path, data, 0o600)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {reason_of(error)}") from None
