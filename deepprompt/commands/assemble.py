"""`deepprompt assemble`: print one prompt assembled from a template and its includes, and log it on request."""

from __future__ import annotations

import argparse

from deepprompt.commands.options import add_root_options, given
from deepprompt.commands.output import say_notes, write, write_json
from deepprompt.systems.audit import AuditLog, record_of
from deepprompt.systems.template import PromptAssembler


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assemble`."""
    parser.add_argument("task_ref", metavar="TASK_REF", help="the template's name, without .txt")
    parser.add_argument(
        "--include", action="append", default=[], metavar="NAME=PATH", help="the file for $$NAME; may be repeated"
    )
    add_root_options(parser)
    parser.add_argument("--log", type=given, metavar="FILE", help="append a record to this log, outside the root")
    parser.add_argument("--log-in-root", action="store_true", help="allow a log inside the root")
    parser.add_argument(
        "--by-hash", action="store_true", help="store each text once, next to the log, instead of in its record"
    )
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


def run(options: argparse.Namespace) -> int:
    """Assemble the prompt, log it and print it."""
    includes = {}
    for text in options.include:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            options.usage_error(f"--include {text}: write NAME=PATH")
        if name in includes:
            options.usage_error(f"--include {name}: given twice")
        includes[name] = path
    if options.by_hash and not options.log:
        options.usage_error("--by-hash needs --log FILE")
    assembler = PromptAssembler(options.root, options.template_root, options.minify_json)
    assembled = assembler.assemble(options.task_ref, includes)
    say_notes(assembled.notes)
    if options.log:
        prompts = "by-hash" if options.by_hash else "inline"
        AuditLog(options.log, workspace=options.root, prompts=prompts, inside_workspace=options.log_in_root).append(
            assembled
        )
    if options.json:
        write_json(record_of(assembled))
    else:
        write(assembled.content)
    return 0
