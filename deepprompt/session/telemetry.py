"""Sets attributes of a request on OpenTelemetry's current span, if the program has imported OpenTelemetry.

OpenTelemetry is never imported here, so a program without it pays for one look into a dict. The names are dated data,
`assets/telemetry/<date>/names.json`, since the GenAI conventions still change. Texts of a prompt are never attributes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from deepprompt.catalog import bundled
from deepprompt.checks.blame.blame import Blame
from deepprompt.prompt import Pace, Prompt, file_of
from deepprompt.providers.usage import Usage
from deepprompt.request.request import Request
from deepprompt.session.record import Verdict
from deepprompt.tools import fingerprint

_FAMILY = "telemetry"
_OF_A_PRESET = re.compile(r"[^:/]+:([^/]+)/([^/]+)(?:/|$)")
_DIGITS = 12

Attributes = dict[str, str | int | float]


def trace(request: Request, usage: Usage, verdict: Verdict, prompt: Prompt, epoch: int) -> None:
    """Put what a session recorded on the current span, if there is one."""
    if (span := current_span()) is None:
        return
    rules = request.rules
    found = attributes_of(rules.provider, request.model, usage, verdict.kind, verdict.blame, rules.as_of)
    names = _data()["names"]
    found |= {names["expected"]: verdict.expected, names["epoch"]: epoch}
    if verdict.read is not None:
        found[names["read"]] = verdict.read
    describe(span, found | prompt_attributes(prompt))


def current_span() -> Any:
    """Return the current span if one is being recorded, else None."""
    find = getattr(sys.modules.get("opentelemetry.trace"), "get_current_span", None)
    span = find() if find is not None else None
    return span if span is not None and span.is_recording() else None


def describe(span: Any, attributes: Mapping[str, str | int | float]) -> None:
    """Set attributes on a span, except those that an instrumentation has set already.

    A miss is an event too. A span that has ended stays as it is.
    """
    if not span.is_recording():
        return
    known = getattr(span, "attributes", None) or {}
    span.set_attributes({name: value for name, value in attributes.items() if name not in known})
    names = _data()["names"]
    verdict = attributes.get(names["verdict"], "hit")
    if verdict not in ("hit", "cold start"):
        ours = {name: value for name, value in attributes.items() if name.startswith("deepprompt.")}
        span.add_event(names["miss"], ours)


def attributes_of(
    provider: str, model: str, usage: Usage | None, verdict: str, blame: Blame | None, facts: str
) -> Attributes:
    """Return the attributes for one request and its response."""
    data = _data()
    names = data["names"]
    found: dict[str, Any] = {"operation": "chat", "provider": data["providers"].get(provider, provider)}
    found |= {"model": model, "verdict": verdict, "facts": facts}
    lives: dict[str, int] = {}
    if usage is not None:
        found |= {name: getattr(usage, name) for name in ("input", "cached_read", "output")}
        found["cached_write"] = usage.written
        lives = {names["cached_write_for"] + life: count for life, count in usage.cached_write.items() if life}
    if blame is not None:
        found |= {"blame_kind": blame.kind, "blame_place": blame.place, "blame_source": blame.source}
        found |= {"blame_line": blame.line, "blame_repeated": blame.repeated}
    return {names[key]: value for key, value in found.items() if value != ""} | lives


def prompt_attributes(prompt: Prompt) -> Attributes:
    """Return the preset that a prompt begins with, and the prompt's fingerprint, which is the version of any other."""
    names, digest = _data()["names"], fingerprint(prompt.text, prompt.tools).combined[:_DIGITS]
    released = [part.origin for part in prompt.parts if part.pace is Pace.RELEASE and not file_of(part.origin)]
    preset = next((one for origin in released if (one := _OF_A_PRESET.match(origin))), None)
    found: Attributes = {names["fingerprint"]: digest, names["prompt_version"]: preset[2] if preset else digest}
    return found | ({names["prompt_name"]: preset[1]} if preset else {})


@cache
def _data() -> dict[str, Any]:
    _, version = bundled().resolve(_FAMILY)
    data: dict[str, Any] = json.loads(bundled().file(_FAMILY, version, "names.json"))
    return data
