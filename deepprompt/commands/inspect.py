"""`deepprompt inspect`: write one self-contained page that shows a prompt, two prompts, or a session."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from deepprompt.checks.blame.blame import blame, total_tokens
from deepprompt.checks.explain import explain
from deepprompt.commands.build.target import built
from deepprompt.commands.inputs import (
    counter_from_options,
    load_request,
    name_of,
    parse_request,
    read_text,
    target_function,
)
from deepprompt.commands.options import (
    add_counting_options,
    add_folder_option,
    check_provider,
    given,
    seconds,
    working_folder,
)
from deepprompt.commands.output import say
from deepprompt.commands.pages import new_page, write_page
from deepprompt.counters import ESTIMATE, ByBytes, Counter
from deepprompt.errors import MessageError
from deepprompt.inspector.timeline import timeline_view
from deepprompt.inspector.views import View, difference_view, prompt_view
from deepprompt.providers.facts import Facts, bundled_facts
from deepprompt.providers.recognise import model_of, provider_of_model
from deepprompt.providers.rules import Rules
from deepprompt.providers.segments import Segment
from deepprompt.session.transcript import (
    are_messages,
    are_requests,
    is_log,
    is_session,
    read_log_transcript,
    read_transcript,
    sent_to,
)
from deepprompt.text.parse import parse_json_lines
from deepprompt.tokens import estimate_tokens

# For a model that no provider is known by: an engine's cache, which reads any prefix that it has seen.
_ENGINE = ("vllm", "any-model")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `inspect`."""
    parser.epilog = (
        "A is a file: the text of a prompt, what build --json printed, a recorded request, a saved session, a "
        "transcript as 'deepprompt cache' takes it, or a log of assembled prompts; - is standard input. With B, both "
        "are prompts or requests, and the page compares them. Without either, it shows the prompt of the folder "
        "as 'deepprompt build' makes it. The page contains all of their text, so only its owner can read it."
    )
    parser.add_argument(
        "old", metavar="A", nargs="?", type=given, help="the prompt or session to show, or the earlier of two prompts"
    )
    parser.add_argument("new", metavar="B", nargs="?", type=given, help="the later of two prompts")
    parser.add_argument("-o", "--out", type=given, metavar="FILE", help="write the page to this file")
    parser.add_argument(
        "--open",
        action="store_true",
        help="open the page in the browser; without -o, it is written to a new temporary folder",
    )
    parser.add_argument(
        "--as",
        dest="kind",
        choices=("prompt", "session"),
        help="show A as one prompt, or as the requests of a conversation: session (default: by its content)",
    )
    add_folder_option(parser)
    parser.add_argument(
        "--provider",
        type=given,
        metavar="NAME",
        help="simulate this provider's cache for a session (default: by its model)",
    )
    add_counting_options(parser)
    parser.add_argument(
        "--gap", type=seconds, metavar="SECONDS", help="the time between requests if there are no times (default: 60)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page, and open it with --open."""
    if not options.out and not options.open:
        options.usage_error("say where to write the page: -o FILE, or --open")
    if options.old == options.new == "-":
        options.usage_error("A and B cannot both be standard input")
    view = _view(options)
    path = options.out or new_page()
    write_page(path, view)
    if options.open:
        import webbrowser
        from pathlib import Path

        if not webbrowser.open(Path(path).resolve().as_uri()):
            say(f"could not start a browser; open {path}")
            return 1
    return 0


def _view(options: argparse.Namespace) -> View:
    folder = working_folder(options)
    if not options.old:
        prompt = built(["--cwd", folder])
        title = f"the prompt of {os.path.basename(folder) or os.sep}"
        return prompt_view(explain(prompt, counter_from_options(options)), title, prompt.notes)
    name = name_of(options.old)
    if options.new:
        if options.kind == "session":
            options.usage_error("--as session shows one conversation: give A alone")
        return _difference(options, load_request(options.old, folder), load_request(options.new, folder))
    if target_function(options.old, folder) is not None:
        return _prompt(options, load_request(options.old, folder), name)
    text = read_text(options.old, folder)
    wanted = options.kind == "session" or bool(options.provider)  # only a session is simulated with a cache
    bare = text.removeprefix("\ufeff")
    begin = bare.lstrip()
    if options.kind != "prompt" and (wanted or begin.startswith(("{", "["))):
        try:
            data = parse_json_lines(bare, name)
        except MessageError:
            if wanted:
                raise
        else:
            if wanted or _is_conversation(data, begin, name):
                return _session(options, data, name)
    return _prompt(options, parse_request(text, name), name)


def _prompt(options: argparse.Namespace, segments: list[Segment], name: str) -> View:
    counter = counter_from_options(options, model_of(segments))
    return prompt_view(explain(segments, counter), name)


def _difference(options: argparse.Namespace, old: list[Segment], new: list[Segment]) -> View:
    names = name_of(options.old), name_of(options.new)
    counter = counter_from_options(options, model_of(new))
    totals = total_tokens(old), total_tokens(new)
    found = blame(list(old), list(new))
    return difference_view(explain(old, counter), explain(new, counter), names, found, totals)


def _is_conversation(data: Any, text: str, name: str) -> bool:
    """Whether parsed JSON is a saved session, several requests or a log, and not one prompt."""
    if isinstance(data, dict):
        return is_session(data) or is_log(data)
    if text.startswith("["):
        return are_requests(data)
    if not (are_requests(data) or are_messages(data) or is_log(data)):  # without a bracket a value was on each line
        raise MessageError(
            f"{name}: has no requests, but lines of another kind of log; 'deepprompt report' reads more kinds"
        )
    return True


def _session(options: argparse.Namespace, data: Any, name: str) -> View:
    """Return the view of a conversation."""
    facts = bundled_facts()
    check_provider(options, facts.providers())
    logged = is_log(data)
    provider, rules = _rules(options, facts, *(("", "") if logged else sent_to(data)))
    if logged and options.old == "-":
        raise MessageError("a log is read from its file, as its texts may be stored beside it; name it")
    if logged:
        transcript = read_log_transcript(os.path.join(working_folder(options), options.old), name)
    else:
        transcript = read_transcript(data, name, provider, rules, facts)
    for line in transcript.doubts:
        say(line)
    counter = counter_from_options(options, rules.model)
    replay = transcript.replay(rules, options.gap, _count(counter))
    return timeline_view(
        name,
        transcript.requests,
        replay.result,
        explain(list(transcript.requests[-1]), counter),
        times=replay.times,
        answers=transcript.answers,
        assumed=replay.assumed,
        labels=transcript.labels,
        doubts=transcript.doubts,
    )


def _count(counter: Counter) -> Callable[[str], int]:
    """Return the function that the simulation counts with. For the plain estimate it adds that it is one."""
    plain = isinstance(counter, ByBytes) and (counter.tokens, counter.bytes) == (ESTIMATE.tokens, ESTIMATE.bytes)
    return estimate_tokens if plain else counter


def _rules(options: argparse.Namespace, facts: Facts, provider: str, model: str) -> tuple[str, Rules]:
    """Return the provider and its rules: those that the options name, or else those that the requests went to."""
    model = options.model or model
    provider = options.provider or (provider if not options.model else "") or provider_of_model(model)
    if not provider or not model:
        provider, model = provider or _ENGINE[0], model or _ENGINE[1]
    return provider, facts.rules(facts.behind(provider, model), model)
