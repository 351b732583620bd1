"""`deepprompt batch`: the files of a provider's batch from a table of rows, and its results joined with the rows."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator

from deepprompt.batch.files import write_batch
from deepprompt.batch.join import Joined, join_results
from deepprompt.batch.services import Service, find_service, services
from deepprompt.batch.template import RequestTemplate
from deepprompt.commands.inputs import TIMEOUT, name_of, read_input
from deepprompt.commands.options import add_folder_option, count, given, set_options, working_folder
from deepprompt.commands.output import say, say_notes, write_json, write_lines
from deepprompt.errors import MessageError
from deepprompt.prompt import Prompt
from deepprompt.text.display import counted

_JOIN = "join"
_MOST_LISTED = 10
_OF_WRITING = ("prompt", "user", "to", "model", "id", "max_tokens")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `batch`."""
    parser.epilog = (
        "Write the files: deepprompt batch ROWS --prompt TARGET --user TEXT --to SERVICE --model NAME --out DIR. "
        "Join the results: deepprompt batch join DIR RESULTS... --out FILE. After a join, running the first "
        "command again writes only the requests that have no response yet. Nothing is uploaded. "
        "Exit 0: written, or every row has its response; 1: a problem, or a row without a response; 2: wrong usage."
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=given,
        help="a table as .jsonl, .csv or .parquet; or join, the batch's folder, and the result files; URLs work too",
    )
    parser.add_argument(
        "--prompt",
        metavar="TARGET",
        type=given,
        help="the prompt of every request: a file, module:function, or 'build' with its options",
    )
    parser.add_argument(
        "--user", metavar="TEXT", type=given, help="the user's message, with columns in braces, such as {text}"
    )
    parser.add_argument("--to", metavar="SERVICE", type=given, help=f"the batch service: {', '.join(services())}")
    parser.add_argument("--model", metavar="NAME", type=given, help="the model, as the provider calls it")
    parser.add_argument("--id", metavar="COLUMN", type=given, help="the column with the ids (default: row numbers)")
    parser.add_argument("--max-tokens", metavar="N", type=count, help="the output limit of each request")
    parser.add_argument(
        "--out", metavar="PATH", type=given, required=True, help="the folder, or the file for join (.jsonl or .parquet)"
    )
    parser.add_argument("--rows", metavar="FILE", type=given, help="for join: the rows, if they were moved")
    add_folder_option(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Write the files of a batch, or join its results."""
    if options.paths[0] == _JOIN:
        return _join(options)
    if len(options.paths) > 1:
        options.usage_error(f"one table of rows, not {len(options.paths)}; or 'join DIR RESULTS'")
    if missing := [name for name in ("prompt", "user", "to", "model") if getattr(options, name) is None]:
        options.usage_error(f"--{missing[0]} is missing")
    if options.rows:
        options.usage_error("--rows is for join; name the rows themselves")
    service = find_service(options.to)
    service.check_model(options.model)
    template = _template(options, service)
    # Without marks, neither the facts about a model nor what its provider caches elsewhere matter.
    say_notes(note for note in template.request.notes if service.marks or note.kind not in ("model", "cache"))
    manifest = write_batch(options.paths[0], template, service, options.out, options.id or "")
    if options.json:
        write_json(manifest)
    else:
        write_lines(_written(manifest["rounds"], template, service, options.out))
    return 0


def _template(options: argparse.Namespace, service: Service) -> RequestTemplate:
    """Return the template for a service: marks where its batches are cached, and with its lifetime."""
    prompt = read_input(options.prompt, working_folder(options), TIMEOUT)
    if not isinstance(prompt, Prompt | str):
        raise MessageError(
            f"{name_of(options.prompt)}: a request, not a prompt; give a text, or a function that makes one"
        )
    if service.tools and isinstance(prompt, Prompt) and prompt.tools:
        raise MessageError(f"{service.title} takes no tools: {service.tools}")
    return RequestTemplate(
        prompt,
        options.user,
        to=service.target,
        model=options.model,
        max_tokens=options.max_tokens,
        prefix_lifetime=service.lifetime,
        marks=service.marks,
        fields=service.fields,
    )


def _written(
    rounds: list[list[dict[str, int]]], template: RequestTemplate, service: Service, folder: str
) -> Iterable[str]:
    """Yield what was written, and what the shared part costs by how often it is read from the cache."""
    files = rounds[-1]
    requests, size = sum(file["requests"] for file in files), sum(file["bytes"] for file in files)
    again = f", round {len(rounds)}" if len(rounds) > 1 else ""
    yield f"{counted(requests, 'request')} in {counted(len(files), 'file')}, {size:,} bytes, in {folder}{again}"
    for file in files:
        yield f"  {file['name']}: {file['requests']:,} requests, {file['bytes']:,} bytes"
    tokens, rules = template.shared_tokens, template.request.rules
    yield f"shared by every request: about {tokens:,} input tokens; {service.caching} (facts of {service.as_of})"
    if service.price < 1 and template.request.marks:
        plain = tokens * requests * service.price
        write = tokens * max(rules.write_price.values(), default=1.0) * service.price
        read = tokens * rules.read_price * service.price
        costs = [
            f"{share} % read: {(share * read + (100 - share) * write) * requests / 100:,.0f}" for share in (0, 50, 100)
        ]
        yield f"  its cost in tokens at the plain price: {plain:,.0f} without a cache; {'; '.join(costs)}"


def _join(options: argparse.Namespace) -> int:
    """Join results with rows, and report what is missing."""
    if given_ones := set_options(options, _OF_WRITING):
        options.usage_error(f"join takes no {given_ones[0]}")
    if len(options.paths) < 3:
        options.usage_error("join needs the folder of the batch and at least one file of results")
    _, folder, *results = options.paths
    if os.path.realpath(options.out) in map(os.path.realpath, results):
        options.usage_error("--out names a file of results")
    joined = join_results(folder, results, options.out, options.rows or "")
    if options.json:
        write_json(_report(joined))
    else:
        write_lines(_told(joined, options.out))
    for line in _wrong(joined):
        say(line)
    return 0 if joined.complete else 1


def _report(joined: Joined) -> dict[str, object]:
    usage = joined.usage
    return {
        "states": dict(sorted(joined.states.items())),
        "open": joined.still_open,
        "doubled": joined.doubled,
        "foreign": joined.foreign,
        "unreadable": joined.unreadable,
        "usage": {
            "input": usage.input,
            "cached_read": usage.cached_read,
            "cached_write": dict(usage.cached_write),
            "output": usage.output,
        },
        "without_usage": joined.without_usage,
    }


def _told(joined: Joined, out: str) -> Iterator[str]:
    states = ", ".join(f"{number:,} {state}" for state, number in sorted(joined.states.items()))
    yield f"{counted(joined.states.total(), 'row')} in {out}: {states or 'none'}"
    usage = joined.usage
    read = f"{usage.cached_read:,} of them read from the cache"
    yield f"usage: {usage.input:,} input tokens, {read}, {usage.output:,} output"
    if joined.without_usage:
        yield f"  {counted(joined.without_usage, 'response')} without usage"


def _wrong(joined: Joined) -> Iterator[str]:
    """Yield what did not fit, a few of each kind."""
    kinds = {
        "no response": [f"{name} ({why})" for name, why in joined.still_open.items()],
        "more than one response, the first was kept": joined.doubled,
        "no row has this id": joined.foreign,
        "not a result": joined.unreadable,
    }
    for what, names in kinds.items():
        for name in names[:_MOST_LISTED]:
            yield f"{what}: {name}"
        if len(names) > _MOST_LISTED:
            yield f"{what}: and {len(names) - _MOST_LISTED:,} more; --json lists them all"
