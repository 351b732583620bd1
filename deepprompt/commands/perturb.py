"""`deepprompt perturb`: call a function with one thing changed at a time, and check that its static prefix stays."""

from __future__ import annotations

import argparse
import os

from deepprompt.checks.perturb.moves import MOVES
from deepprompt.checks.perturb.perturb import perturb
from deepprompt.checks.settings import Settings
from deepprompt.commands.inputs import TIMEOUT, is_there, stay_inside, target_function
from deepprompt.commands.options import add_folder_option, add_prompt_option, given, working_folder
from deepprompt.commands.output import say, write_json, write_lines
from deepprompt.commands.settings import add_settings_options, configured_prompt, settings_of
from deepprompt.errors import CallError, SourceError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.sources.function import Function, find_function


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `perturb`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(
        [
            "What is changed (the moves), each in a fresh process:",
            *(f"  {kind:<10} {what}" for kind, what in MOVES.items()),
            "",
            "The function runs as your own code does. It may return a text, a Prompt, a",
            "list of messages or the body of a request. Exit 0: the static prefix stayed;",
            "1: it changed, or the function failed; 2: wrong usage.",
        ]
    )
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        type=given,
        help="module:function, file.py:function, or 'build ...'",
    )
    add_prompt_option(parser, "perturb this prompt of [tool.deepprompt.prompts]; may be repeated")
    add_folder_option(parser)
    add_settings_options(parser)
    parser.add_argument(
        "--skip", metavar="MOVE", action="append", default=[], type=_move, help="leave out this change; may be repeated"
    )
    parser.add_argument(
        "--boundary",
        metavar="TEXT",
        type=given,
        default=DYNAMIC_CONTEXT_BOUNDARY,
        help="the text that ends the static prefix of a plain text (default: the boundary of build)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=TIMEOUT,
        help=f"how long one call may take (default: {TIMEOUT:g})",
    )
    parser.add_argument("--json", action="store_true", help="print every outcome as JSON")


def _move(value: str) -> str:
    """Take the name of a move."""
    names = [kind for kind in MOVES if kind != "again"]
    if value not in names:
        raise argparse.ArgumentTypeError(f"no move {value!r}; there are: {', '.join(names)}")
    return value


def _seconds(value: str) -> float:
    """Take a number of seconds above 0."""
    try:
        time = float(value)
    except ValueError:
        time = 0.0
    if not 0 < time < float("inf"):
        raise argparse.ArgumentTypeError(f"{value!r} is not a number of seconds above 0")
    return time


def run(options: argparse.Namespace) -> int:
    """Perturb each target and print the outcome."""
    folder = working_folder(options)
    settings = settings_of(folder, options) if options.prompts else Settings()
    configured = [configured_prompt(name, settings, options) for name in options.prompts]
    for target in configured:
        stay_inside(target, folder)
    targets = [*options.targets, *configured]
    if not targets:
        options.usage_error("nothing to perturb: name module:function, file.py:function or 'build', or --prompt NAME")
    functions = [_function(target, folder, options) for target in targets]
    found: list[dict[str, object]] = []
    for function in functions:
        try:
            result = perturb(
                function, folder=folder, boundary=options.boundary, skip=options.skip, timeout=options.timeout
            )
        except CallError as error:  # the other targets are still tried
            found.append({"target": str(function), "stable": False, "failed": str(error)})
            say(str(error))
            continue
        found.append(result.as_json())
        if not options.json:
            write_lines(result.report().split("\n"))
    if options.json:
        write_json(found)
    return 0 if all(result["stable"] for result in found) else 1


def _function(target: str, folder: str, options: argparse.Namespace) -> Function:
    function = target_function(target, folder)
    if function is not None:
        return function
    if is_there(os.path.join(folder, target)) and not target.endswith(".py"):
        options.usage_error(f"{target}: a file never changes by itself; perturb calls functions")
    try:
        return find_function(target, folder)
    except SourceError as error:
        options.usage_error(str(error))
        raise
