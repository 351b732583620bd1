"""`deepprompt replay`: assemble the prompts of a log again, and report which includes changed."""

from __future__ import annotations

import argparse
import difflib
import os

from deepprompt.commands.options import given
from deepprompt.commands.output import say, write_json, write_lines
from deepprompt.errors import AuditError
from deepprompt.systems.audit import read_log, replay
from deepprompt.systems.template import PromptAssembler
from deepprompt.text.display import counted


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `replay`."""
    parser.add_argument("log", metavar="LOG", help="a log that 'assemble --log' or AuditLog wrote")
    parser.add_argument(
        "--root",
        type=given,
        default=os.curdir,
        metavar="DIR",
        help="the folder of the files (default: the current one)",
    )
    parser.add_argument(
        "--last",
        type=given,
        metavar="HASH",
        help="the record_hash of the last record you know of, to notice if records were removed from the end",
    )
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the prompts that changed; exit 1 if there are any."""
    contents = read_log(options.log, last=options.last or "")
    assemblers: dict[tuple[str, bool], PromptAssembler] = {}
    drifts = [(number, record, replay(record, assemblers, options.root)) for number, record in contents.records]
    found = [(number, record, drift) for number, record, drift in drifts if drift is not None]
    if options.json:
        write_json(
            [
                {"line": number, "task_ref": record.get("task_ref"), "reason": drift.reason, "moved": list(drift.moved)}
                for number, record, drift in found
            ]
        )
    else:
        for number, record, drift in found:
            write_lines([f"{options.log}:{number}: {record.get('task_ref')}: {drift.reason}"])
            lines = difflib.unified_diff(
                drift.before.split("\n"), drift.after.split("\n"), "recorded", "now", lineterm=""
            )
            write_lines(lines)
    for number, reason in contents.altered:
        say(f"{options.log}:{number}: {reason}")
    for number in contents.damaged:
        say(f"{options.log}:{number}: not a whole record; skipped")
    if contents.damaged and not drifts:  # success would say nothing
        raise AuditError(f"{options.log}: no record in it; is it a log of assembled prompts?")
    are = "is" if len(drifts) == 1 else "are"
    say(f"{len(drifts) - len(found)} of {counted(len(drifts), 'prompt')} {are} the same")
    return 1 if found or contents.altered else 0
