"""`deepprompt inspect` for a session, a transcript or a log of assembled prompts: whose rules hold, and the view."""

from __future__ import annotations

import argparse
import os
from collections import Counter as Tally
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from deepprompt.checks.blocks import items
from deepprompt.checks.explain import explain
from deepprompt.checks.segments import read_request
from deepprompt.commands import counting
from deepprompt.commands.cache import replay_transcript
from deepprompt.commands.inspect import compose_record
from deepprompt.commands.options import working_folder
from deepprompt.commands.transcript import Transcript, parse_lines, parse_transcript
from deepprompt.counters import ESTIMATE, ByBytes, Counter
from deepprompt.errors import MessageError
from deepprompt.inspector.timeline import Answer, timeline_view
from deepprompt.inspector.views import View
from deepprompt.providers.facts import Facts, Rules, bundled_facts
from deepprompt.providers.segments import Segment
from deepprompt.session.record import Recorded
from deepprompt.systems.audit import read_log
from deepprompt.tokens import estimate_tokens

# Whose models are called how. What is called otherwise, or not at all, goes through an engine's cache, which reads
# whatever begins like an earlier request.
_BY_NAME = (
    ("claude", "anthropic"), ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"),
    ("deepseek", "deepseek"), ("gemini", "gemini"),
)  # fmt: skip
_ENGINE = ("vllm", "any-model")


def view_session(options: argparse.Namespace, text: str, name: str) -> View:
    """Return what the page shows of a conversation."""
    text = text.removeprefix("\ufeff")
    try:
        data = parse_lines(text, name)
    except RecursionError:
        raise MessageError(f"{name}: nested too deeply") from None
    facts = bundled_facts()
    if options.provider and options.provider not in facts.providers():
        options.usage_error(f"no provider {options.provider!r:.40}; there are: {', '.join(facts.providers())}")
    labels: list[str] = []
    if _is_log(data):
        provider, rules = _rules(options, facts, "", "")
        transcript, labels = _log(options.old, working_folder(options), name)
    else:
        provider, rules = _rules(options, facts, *_sent_to(data))
        transcript = parse_transcript(text, name, provider, rules, facts)
    counter = counting.counter(options, rules.model)
    replay = replay_transcript(transcript, rules, options.gap, _count(counter))
    answers = {number: _answer(answer) for number, answer in transcript.answers.items()}
    requests: Sequence[Sequence[Segment]] = transcript.requests
    return timeline_view(
        name,
        requests,
        replay.result,
        explain(list(requests[-1]), counter),
        times=replay.times,
        answers=answers,
        assumed=replay.assumed,
        labels=labels,
    )


def _count(counter: Counter) -> Any:
    """Return what the simulation counts by; it says by itself that the plain estimate is one."""
    plain = isinstance(counter, ByBytes) and (counter.tokens, counter.bytes) == (ESTIMATE.tokens, ESTIMATE.bytes)
    return estimate_tokens if plain else counter


def _answer(answer: Any) -> Answer:
    if isinstance(answer, Recorded):
        return Answer(answer.usage, answer.kind, answer.detail)
    return Answer(answer)


def _rules(options: argparse.Namespace, facts: Facts, provider: str, model: str) -> tuple[str, Rules]:
    """Return the provider and its rules: those that are asked for, or else those that the requests went by."""
    model = options.model or model
    provider = options.provider or (provider if not options.model else "") or _provider_of(model)
    if not provider or not model:
        provider, model = provider or _ENGINE[0], model or _ENGINE[1]
    return provider, facts.rules(facts.behind(provider, model), model)


def _provider_of(model: str) -> str:
    name = model.rpartition("/")[2].lower()
    return next((provider for start, provider in _BY_NAME if name.startswith(start)), "")


def _sent_to(data: Any) -> tuple[str, str]:
    """Return the provider and the model that most of the requests of a conversation went to, as far as they say."""
    if isinstance(data, dict) and isinstance(session := data.get("session"), dict):
        sent = [row for row in items(session.get("recorded")) or items(session.get("lines")) if isinstance(row, list)]
        named = Tally((str(row[0]), str(row[1])) for row in sent if len(row) > 1)
    else:
        records = data if isinstance(data, list) else [data]
        bodies = [record.get("body", record) for record in records if isinstance(record, dict)]
        models = [body.get("model") for body in bodies if isinstance(body, dict)]
        named = Tally(("", model) for model in models if isinstance(model, str))
    return named.most_common(1)[0][0] if named else ("", "")


def _is_log(data: Any) -> bool:
    records = data if isinstance(data, list) else [data]
    return any(isinstance(record, dict) and "assembled_prompt_hash" in record for record in records)


def _log(path: str, folder: str, name: str) -> tuple[Transcript, list[str]]:
    """Return the prompts of a log as requests, when each was assembled, and for which task."""
    if path == "-":
        raise MessageError("a log is read from its file, as its texts may be stored beside it; name it")
    requests, times, labels = [], [], []
    for number, record in read_log(os.path.join(folder, path)).records:
        try:
            requests.append(read_request(compose_record(record)))
            times.append(datetime.fromisoformat(str(record.get("assembly_timestamp"))).timestamp())
        except (MessageError, ValueError, OverflowError) as error:
            raise MessageError(f"{name}:{number}: {error}") from None
        labels.append(str(record.get("task_ref")))
    if not requests:
        raise MessageError(f"{name}: no whole record in it")
    first = min(times)
    # Several processes may have written it, each in its own order.
    order = sorted(range(len(times)), key=times.__getitem__)
    transcript = Transcript(name, tuple(requests[at] for at in order), tuple(times[at] - first for at in order), False)
    return transcript, [labels[at] for at in order]
