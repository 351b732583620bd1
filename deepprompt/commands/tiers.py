"""`deepprompt tiers`: the message array that shows a model files of a repository, with its tiers where they pay."""

from __future__ import annotations

import argparse
import dataclasses
import os

from deepprompt.commands.options import given, own_text
from deepprompt.commands.output import say_notes, write, write_json
from deepprompt.errors import MessageError, SessionError, SourceError
from deepprompt.providers import TARGETS
from deepprompt.request.request import build_request
from deepprompt.session.ledger import Ledger
from deepprompt.session.tiers import Tiers
from deepprompt.sources.code import load_repository
from deepprompt.systems.tiers import assemble_messages, compose_messages
from deepprompt.text.parse import parse_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tiers`."""
    parser.epilog = (
        "Prints the message array as JSON, or with --to the body of a request. With --state, a later call continues "
        "where this one ended: texts that did not change stay where they are, so that the provider reads them from its "
        "cache."
    )
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=given,
        default=os.curdir,
        help="the repository's folder (default: the current one)",
    )
    parser.add_argument(
        "--select",
        metavar="PATH",
        nargs="+",
        action="extend",
        default=[],
        help="files that the model should see; may be repeated",
    )
    parser.add_argument("--ask", metavar="TEXT", type=given, required=True, help="the user's message")
    parser.add_argument(
        "--history", metavar="FILE", type=given, help="the conversation so far: a JSON list of messages"
    )
    parser.add_argument("--state", metavar="FILE", type=given, help="a file that remembers the tiers between calls")
    parser.add_argument(
        "--outdated", metavar="SHARE", type=_share,
        help="keep outdated copies of files, up to this share of what is shown, such as 0.25 (default: none)",
    )  # fmt: skip
    parser.add_argument("--to", metavar="PROVIDER", type=given, help="print the body of this provider's request")
    parser.add_argument("--model", metavar="NAME", type=given, help="the model, as the provider calls it")
    parser.add_argument("--explain", action="store_true", help="print what moved and what it costs instead")
    parser.add_argument("--json", action="store_true", help="print the messages, the report and the notes as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the array of the next turn, and remember it if asked to."""
    if options.to and options.to not in TARGETS:
        options.usage_error(f"--to {options.to:.40}: there are: {', '.join(TARGETS)}")
    if bool(options.to) != bool(options.model):
        options.usage_error("--to and --model belong together")
    tiers = _tiers(options)
    repository = load_repository(options.folder)
    context = tiers.next(repository, options.select, _history(options.history), user_prompt=options.ask)
    messages = assemble_messages(context)
    notes = tiers.notes
    if options.json:
        report = {**dataclasses.asdict(tiers.explain()), "price": round(tiers.explain().price, 4)}
        write_json({"messages": messages, "report": report, "notes": [dataclasses.asdict(note) for note in notes]})
    elif options.explain:
        write(f"{tiers.explain()}\n")
    elif options.to:
        request = build_request(compose_messages(context), to=options.to, model=options.model, marks="own")
        notes += tuple(note for note in request.notes if note not in notes)
        write_json(request.body)
    else:
        write_json(messages)
    say_notes(notes)
    if options.state:
        tiers.save(options.state)
    return 0


def _tiers(options: argparse.Namespace) -> Tiers:
    """Return the tiers of the state file, or new ones for the provider and the model."""
    wanted = {"to": options.to, "model": options.model} if options.to else {}
    strategy = "strict" if options.outdated is None else Ledger(options.outdated)
    if not options.state or not os.path.lexists(options.state):
        return Tiers(strategy, **wanted)
    tiers = Tiers.load(options.state)
    if options.outdated is not None and tiers.strategy != strategy:
        raise SourceError(f"{options.state}: it was begun with another --outdated; use another file")
    if wanted and (tiers.to, tiers.model) != (options.to, options.model):
        raise SourceError(f"{options.state}: it is for {tiers.to} and {tiers.model}; use another file for each model")
    return tiers


def _share(value: str) -> float:
    """Take a share from 0 to 1."""
    try:
        return Ledger(float(value)).outdated
    except (ValueError, SessionError):
        raise argparse.ArgumentTypeError(f"expected a share from 0 to 1, not {value!r:.40}") from None


def _history(path: str | None) -> list[dict[str, object]]:
    if path is None:
        return []
    found = parse_json(own_text(path), path, SourceError)
    if not isinstance(found, list):
        raise MessageError(f"{path}: expected a JSON list of messages")
    return found
