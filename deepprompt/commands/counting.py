"""What commands share about counting tokens: the model whose vocabulary counts, and usage that calibrates."""

from __future__ import annotations

import argparse

from deepprompt.commands.options import given
from deepprompt.counters import Counter, calibrate, counter_for, size_of
from deepprompt.errors import UsageError
from deepprompt.providers.segments import Segment


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who counts."""
    parser.add_argument(
        "--model",
        type=given,
        metavar="NAME",
        help="count for this model: exactly where its vocabulary is public and deepprompt[tokens] is installed; "
        "by default the model that a request names, or else by estimate",
    )
    parser.add_argument(
        "--usage",
        type=given,
        metavar="FILE",
        help="calibrate the estimate by recorded usage: a saved session, or a transcript whose records have one",
    )


def counter(options: argparse.Namespace, model: str = "") -> Counter:
    """Return the counter that the options ask for; `model` is the one that the request names."""
    asked = options.model or model
    return counter_for(asked, _calibrated(options.usage, asked) if options.usage else None)


def model_of(segments: list[Segment]) -> str:
    """Return the model that a request names, "" where it names none."""
    return next((segment.text for segment in segments if (segment.place, segment.kind) == ("model", "setting")), "")


def _calibrated(path: str, model: str) -> Counter:
    """Return the estimate by what a file recorded of a model, or of any, where nobody says which it is about."""
    from deepprompt.commands.transcript import read_transcript
    from deepprompt.providers.facts import bundled_facts
    from deepprompt.session.record import Recorded

    facts = bundled_facts()
    # Nothing is asked of these rules: they only say how requests that were not recorded would be marked.
    transcript = read_transcript(path, "vllm", facts.rules("vllm", model or "any"), facts)
    measured = []
    for number, answer in transcript.answers.items():
        request = [segment for segment in transcript.requests[number] if segment.kind != "setting"]
        usage = answer.usage if isinstance(answer, Recorded) else answer
        told = answer.model if isinstance(answer, Recorded) else model_of(list(transcript.requests[number]))
        pictured = any(segment.digest for segment in request)
        if not pictured and (not model or not told or told == model):  # of an image there is no size in bytes
            measured.append((sum(size_of(segment.text) for segment in request), usage.input))
    try:
        return calibrate(measured)
    except UsageError:
        whose = f" of {model}" if model else ""
        raise UsageError(f"{transcript.name}: no recorded usage{whose} to calibrate by") from None
