"""`deepprompt inspect`: one page, without a network, to look at a prompt, at two of them, or at a session."""

from __future__ import annotations

import argparse
import os
import stat
from typing import TYPE_CHECKING, Any

from deepprompt.commands import counting
from deepprompt.commands.cache import read_gap
from deepprompt.commands.inputs import built, load_request, name_of, parse_request, read_text, target_function
from deepprompt.commands.options import given, working_folder
from deepprompt.commands.output import say
from deepprompt.errors import MessageError, SourceError
from deepprompt.sources.files import reason_of, replace_file

if TYPE_CHECKING:
    from deepprompt.inspector.views import View
    from deepprompt.prompt import Prompt
    from deepprompt.providers.segments import Segment

_GENERATOR = b'<meta name="generator" content="deepprompt inspect">'


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `inspect`."""
    parser.epilog = (
        "A is a file: the text of a prompt, what build --json printed, a recorded request, a saved session, a "
        "transcript as 'deepprompt cache' takes it, or a log of assembled prompts; - is standard input. With B, both "
        "are prompts or requests, to be compared. Without either, it is the prompt of the folder as 'deepprompt "
        "build' makes it. The page has all of their text in it: only its owner can read it."
    )
    parser.add_argument("old", metavar="A", nargs="?", type=given, help="what to look at, or the earlier of two")
    parser.add_argument("new", metavar="B", nargs="?", type=given, help="the later of two")
    parser.add_argument("-o", "--out", type=given, metavar="FILE", help="where to write the page")
    parser.add_argument("--open", action="store_true", help="open it in the browser; without -o, from a new folder")
    parser.add_argument(
        "--as",
        dest="kind",
        choices=("prompt", "session"),
        help="show A as one prompt, or as the requests of a conversation (default: what it looks like)",
    )
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        type=given,
        default=os.curdir,
        help="the project's folder (default: the current one)",
    )
    parser.add_argument(
        "--provider", type=given, metavar="NAME", help="whose cache a session goes through (default: by its model)"
    )
    counting.add_options(parser)
    parser.add_argument(
        "--gap", type=read_gap, metavar="SECONDS", help="the time between requests where none is given (default: 60)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page, and open it if that is wanted."""
    if not options.out and not options.open:
        options.usage_error("say where the page is to go: -o FILE, or --open")
    if options.old == options.new == "-":
        options.usage_error("A and B cannot both be standard input")
    view = _view(options)
    from deepprompt.inspector.page import render

    path = _target(options.out)
    _write(path, render(view).encode())
    if options.open:
        import webbrowser
        from pathlib import Path

        if not webbrowser.open(Path(path).resolve().as_uri()):
            say(f"no browser could be started; open {path}")
            return 1
    return 0


def _view(options: argparse.Namespace) -> View:
    from deepprompt.checks.explain import explain
    from deepprompt.inspector.views import prompt_view

    folder = working_folder(options)
    if not options.old:
        prompt = built(["--cwd", folder])
        title = f"the prompt of {os.path.basename(folder) or os.sep}"
        return prompt_view(explain(prompt, counting.counter(options)), title, prompt.notes)
    name = name_of(options.old)
    if options.new:
        if options.kind == "session":
            options.usage_error("--as session shows one conversation: give A alone")
        return _difference(options, load_request(options.old, folder), load_request(options.new, folder))
    if target_function(options.old, folder) is not None:
        return _prompt(options, load_request(options.old, folder), name)
    text = read_text(options.old, folder)
    wanted = options.kind == "session" or bool(options.provider)  # only a session goes through somebody's cache
    if options.kind != "prompt" and (wanted or _is_conversation(text)):
        from deepprompt.commands.inspect_session import view_session

        return view_session(options, text, name)
    return _prompt(options, parse_request(text, name), name)


def _prompt(options: argparse.Namespace, segments: list[Segment], name: str) -> View:
    from deepprompt.checks.explain import explain
    from deepprompt.inspector.views import prompt_view

    counter = counting.counter(options, counting.model_of(segments))
    return prompt_view(explain(segments, counter), name)


def _difference(options: argparse.Namespace, old: list[Segment], new: list[Segment]) -> View:
    from deepprompt.checks.blame.blame import blame, total_tokens
    from deepprompt.checks.explain import explain
    from deepprompt.inspector.views import difference_view

    names = name_of(options.old), name_of(options.new)
    counter = counting.counter(options, counting.model_of(new))
    totals = total_tokens(old), total_tokens(new)
    found = blame(list(old), list(new))
    return difference_view(explain(old, counter), explain(new, counter), names, found, totals)


def _is_conversation(text: str) -> bool:
    """Whether a text is a saved session, several requests, or a log, and no single prompt."""
    from deepprompt.commands.transcript import parse_lines

    if not text.removeprefix("\ufeff").lstrip().startswith(("{", "[")):
        return False
    try:
        data: Any = parse_lines(text.removeprefix("\ufeff"), "")
    except (MessageError, RecursionError):
        return False
    if isinstance(data, dict):
        return ("session" in data and "sha256" in data) or "assembled_prompt_hash" in data
    if not text.removeprefix("\ufeff").lstrip().startswith("["):  # a value a line
        return True
    is_request = [isinstance(item, dict) and "role" not in item and "type" not in item for item in data]
    return bool(is_request) and all(is_request)


def _target(path: str | None) -> str:
    """Return where the page goes: a new file, or one that is a page of ours. Nothing else is ever replaced."""
    if not path:
        import tempfile

        return os.path.join(tempfile.mkdtemp(prefix="deepprompt-"), "page.html")
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) or _GENERATOR not in _begin(path):
            raise SourceError(f"{path}: is there already, and is no page of 'deepprompt inspect'; name another file")
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {reason_of(error)}") from None
    return path


def _begin(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(2048)


def _write(path: str, data: bytes) -> None:
    try:
        replace_file(path, data, 0o600)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {reason_of(error)}") from None


def compose_record(record: dict[str, Any]) -> Prompt:
    """Return the prompt that a record of a log has the text of, a part for each file that it was made of."""
    from deepprompt.prompt import Pace, Part, Prompt

    text = record.get("assembled_prompt")
    if not isinstance(text, str):
        raise MessageError("its text is not stored, neither in it nor beside it")
    parts = []
    try:
        for span in record.get("spans") or []:
            piece = text[span["start"] : span["end"]]
            parts.append(Part(str(span["name"]), piece, Pace.RELEASE, f"file:{span['path']}"))
    except (KeyError, TypeError):
        raise MessageError("its spans do not say what its text was made of") from None
    if "".join(part.text for part in parts) != text:  # a log of before there were spans, or a damaged one
        parts = [Part(str(record.get("task_ref") or "text"), text, Pace.RELEASE, "")]
    return Prompt(tuple(parts))
