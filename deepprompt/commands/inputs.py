"""The prompts that commands take: a file, standard input, a function of the user's, or what `build` would print.

A file is the text of a prompt, or JSON: what `build --json` printed, a saved session, a message array, or the body of
a request. A function is `module:function`. A target that begins with `build` is that command with its options.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Mapping

from deepprompt.checks.segments import read_request
from deepprompt.commands.options import own_bytes, own_text
from deepprompt.counters import Counter, calibrate, counter_for
from deepprompt.errors import MessageError, SourceError, UsageError
from deepprompt.providers.reading import unknown_fields
from deepprompt.providers.recognise import MESSAGES, body_in
from deepprompt.providers.segments import Segment
from deepprompt.sources.function import Function, Scene, call_function, find_function, is_function
from deepprompt.text.parse import parse_json, parse_json_lines

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.providers.facts import Facts
    from deepprompt.providers.rules import Rules
    from deepprompt.session.transcript import Transcript

TIMEOUT = 60.0
"""The time that one call of a function may take, in seconds, unless set otherwise."""

_BOM = "\ufeff"
_SEVERAL = (
    "; a value a line is a log: 'deepprompt report FILE' reads all of it, one line in a file of its own is a request"
)
# Folders that `build` only names in the prompt, or looks no higher than for a repository.
_BUILT = "deepprompt.commands.build.target"
"""The module whose `built` makes the prompt of a target `build ...`."""
_ONLY_SHOWN = ("--directory", "--root")
# A text that begins like this is meant as JSON, even if it is not valid.
_LIKE_JSON = re.compile(r'(?:\[\s*)?\{\s*"')


def load_request(target: str, folder: str = os.curdir) -> list[Segment]:
    """Return the segments of the prompt or request in a file, or of what a function returns."""
    return segments_of(read_input(target, folder, TIMEOUT), name_of(target))


def load_request_and_unknown(target: str) -> tuple[list[Segment], dict[str, str]]:
    """Return the segments of a prompt or request, and the fields of its body that no provider's file knows, as JSON."""
    value = read_input(target, os.curdir, TIMEOUT)
    body = body_in(value) if isinstance(value, Mapping) else {}
    is_request = any(isinstance(body.get(name), list) for name in MESSAGES)  # and not what build --json printed
    return segments_of(value, name_of(target)), unknown_fields(body) if is_request else {}


def parse_request(text: str, name: str) -> list[Segment]:
    """Return the segments of the prompt or request in a text."""
    return segments_of(parse_input(text, name), name)


def segments_of(value: object, name: str) -> list[Segment]:
    """Return the segments of a prompt or request; errors name it."""
    try:
        return read_request(value)
    except MessageError as error:
        raise MessageError(f"{name}: {error}") from None


def parse_input(text: str, name: str) -> object:
    """Return the JSON in a text if it is meant as JSON, and otherwise the text, which is a prompt."""
    begin = text.removeprefix(_BOM).lstrip()
    if not begin.startswith(("{", "[")):
        return text
    if not name.endswith(".json") and not _LIKE_JSON.match(begin):
        try:
            return json.loads(begin)
        except json.JSONDecodeError:
            return text
        except (ValueError, RecursionError):
            pass  # it is JSON, and parse_json says what is wrong with it
    return parse_json(begin, name, line=1 + text.count("\n", 0, len(text) - len(begin)), several=_SEVERAL)


def load_transcript(path: str, provider: str, rules: Rules, facts: Facts) -> Transcript:
    """Return the requests in a file, or those that a conversation in it needs under a provider's rules."""
    from deepprompt.session.transcript import read_transcript

    name = name_of(path)
    text = own_text(path)
    if not text.strip():
        raise MessageError(f"{name}: no request in it: nothing but blank lines")
    return read_transcript(parse_json_lines(text, name), name, provider, rules, facts)


def counter_from_options(options: argparse.Namespace, model: str = "") -> Counter:
    """Return the counter that the counting options ask for; `model` is the one that the request names."""
    asked = options.model or model
    return counter_for(asked, _calibrated(options.usage, asked) if options.usage else None)


def _calibrated(path: str, model: str) -> Counter:
    """Return the estimate by what a file recorded for a model, or for any model if none is named."""
    from deepprompt.providers.facts import bundled_facts

    facts = bundled_facts()
    # These rules only decide how requests that were not recorded would be marked, which does not matter here.
    transcript = load_transcript(path, "vllm", facts.rules("vllm", model or "any"), facts)
    try:
        return calibrate(transcript.measured(model))
    except UsageError:
        whose = f" of {model}" if model else ""
        raise UsageError(f"{transcript.name}: no recorded usage{whose} to calibrate by") from None


def name_of(path: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if path == "-" else path


def read_text(path: str, folder: str = os.curdir) -> str:
    """Return the exact text of a file, including a byte order mark and its line ends."""
    name = name_of(path)
    data = own_bytes(path if path == "-" else os.path.join(folder, path), name)
    if not data:
        raise SourceError(f"{name}: is empty")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


def read_input(target: str, folder: str, timeout: float) -> object:
    """Return the prompt of a target: what a function or `build` makes now, or the content of a file."""
    function = target_function(target, folder)
    if function is not None:
        return call_function(function, _now(folder), timeout)
    if target != "-" and not is_there(os.path.join(folder, target)):
        raise SourceError(
            f"{target}: no such file; a prompt is a file, a function as module:function, or 'build' with its options"
        )
    if target.endswith(".py"):
        raise SourceError(f"{target}: is Python source, not a prompt; name the function, as {target}:function")
    return parse_input(read_text(target, folder), name_of(target))


def is_code(target: str, folder: str) -> bool:
    """Whether a target is a function of the project. What `build` makes is ours, and files are only read."""
    return target.split(None, 1)[:1] != ["build"] and target_function(target, folder) is not None


def is_there(path: str) -> bool:
    """Whether there is anything under a path, be it a link that leads nowhere."""
    try:
        return os.path.lexists(path)
    except ValueError:  # no path has a NUL
        return False


def stay_inside(target: str, folder: str) -> None:
    """Refuse a target of a project's settings if it is read from outside the project, or a link leads there."""
    top = os.path.realpath(folder).rstrip(os.sep)
    for path in _paths(target, folder):
        try:
            place = os.path.realpath(os.path.join(folder, path))
        except ValueError:  # no path has a NUL
            place = ""
        if not f"{place}{os.sep}".startswith(f"{top}{os.sep}"):
            what = target if path == target else f"{target}: {path}"
            raise SourceError(f"{what}: leads out of the project; only a file named on the command line may")


def _paths(target: str, folder: str) -> list[str]:
    """Return the files and folders that a target reads: itself, the file of a function, or those of `build`'s options.

    Modules are left out, since Python finds them, and packages are installed elsewhere.
    """
    function = target_function(target, folder)
    if function is None:
        return [target] if is_there(os.path.join(folder, target)) else []
    if function.module != _BUILT:
        return [target.rpartition(":")[0]] if function.file else []
    from deepprompt.commands.build.target import build_parser
    from deepprompt.commands.parsers import path_values
    from deepprompt.sources.plan.profile_file import SUFFIX

    parser = build_parser()
    options = parser.parse_args(shlex.split(target)[1:])
    if options.instructions is None:
        return path_values(parser, options, but=_ONLY_SHOWN)
    if options.instructions.endswith(SUFFIX):  # it could name any file in the user's home folder
        raise SourceError(f"{target}: a profile of your own is only for the command line; settings name a bundled one")
    # A profile may follow links and imports as far up as the root, so it has to lie inside too.
    return path_values(parser, options, but=_ONLY_SHOWN[:1])


def _now(folder: str) -> Scene:
    """Return the surroundings of a call as they are: the folder and the time."""
    return Scene(os.path.abspath(folder), time.time())


def target_function(target: str, folder: str) -> Function | None:
    """Return the function that a target names, None for a file.

    Something that exists under the whole name is a file, even if it is a link that leads nowhere: names that a
    stranger gave to files never run anything. Only the bare word `build` is always the command.
    """
    if target.strip() != "build" and is_there(os.path.join(folder, target)):
        return None
    words = target.split(None, 1)
    if words and words[0] == "build":
        try:
            arguments = shlex.split(target)[1:]
        except ValueError as error:
            raise SourceError(f"{target}: {error}") from None
        path = tuple(entry for entry in sys.path if entry)
        from deepprompt.sources.git.run import work_trees

        return Function(_BUILT, "", "built", path, (arguments, list(work_trees(folder))), target)
    return find_function(target, folder) if is_function(target) else None
