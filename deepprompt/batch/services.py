"""Batch services: what a request's line looks like for each, how large a file may be, and how a result is read.

The data is `assets/batch/<date>/services.json`, since limits change. `vllm` is the file of OpenAI, without its limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from deepprompt.catalog import bundled
from deepprompt.errors import MessageError
from deepprompt.text.suggest import did_you_mean
from deepprompt.words import Lifetime, Target

_FAMILY = "batch"

State = Literal["done", "failed", "expired", "canceled"]
"""How a request of a batch ended."""


@dataclass(frozen=True, slots=True)
class Service:
    """One batch service, with the limits of a date. A limit of 0 is none."""

    name: str
    as_of: str
    title: str
    target: Target
    line: tuple[str, str, str]
    """The JSON before a request's id, between the id and the body, and after it."""
    caching: str
    """What is known about the cache in batches."""
    file: tuple[str, str, str] = ("", "\n", "\n")
    """The text before the first line of a file, between lines, and at the end."""
    suffix: str = ".jsonl"
    id: str = ".{1,512}"
    """The pattern of a request's id."""
    requests: int = 0
    bytes: int = 0
    price: float = 1.0
    """The price of a request, as a multiple of the plain one."""
    lifetime: Lifetime = ""
    marks: bool = True
    sorted: bool = False
    """Whether rows are sorted by their text, so that rows with a common beginning follow each other."""
    tools: str = ""
    """Why the service takes no tools, "" if it does."""
    models: str = ""
    """The pattern of the models whose requests the service takes in this form, "" for all."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a request that are set, or left out if their value is None."""
    sources: tuple[Mapping[str, str], ...] = ()

    def check_id(self, value: str) -> None:
        """Raise `MessageError` for an id that the service refuses."""
        if not re.fullmatch(self.id, value) or not value.isprintable():
            raise MessageError(f"{self.title} takes no id {value!r:.80}; it has to match {self.id}")

    def check_model(self, model: str) -> None:
        """Raise `MessageError` for a model whose requests have another form."""
        if self.models and not re.search(self.models, model):
            raise MessageError(
                f"{self.title} has another form for the model {model!r:.80}; it has to match {self.models}"
            )


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one request: its id, how it ended, the provider's response, and what was wrong."""

    id: str
    state: State
    response: object = None
    reason: str = ""


@cache
def services() -> Mapping[str, Service]:
    """Return every batch service by name."""
    _, version = bundled().resolve(_FAMILY)
    data = json.loads(bundled().file(_FAMILY, version, "services.json"))
    return {name: _service(name, data["as_of"], entry) for name, entry in data["services"].items()}


def find_service(name: str) -> Service:
    """Return the batch service of a name, or raise `MessageError`."""
    known = services()
    if name not in known:
        raise MessageError(f"no batch service {name!r}; {did_you_mean(name, sorted(known))}")
    return known[name]


def _service(name: str, as_of: str, entry: dict[str, Any]) -> Service:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Service(name=name, as_of=as_of, **values)


def read_result(line: object) -> Result:
    """Return the result in one line of a provider's output, or raise `MessageError` for a line of another kind."""
    if isinstance(line, Mapping):
        if isinstance(line.get("recordId"), str):
            return _outcome(line["recordId"], line.get("modelOutput"), line.get("error"))
        if isinstance(line.get("key"), str):
            return _outcome(line["key"], line.get("response"), line.get("error") or line.get("status"))
        if isinstance(line.get("custom_id"), str):
            return _anthropic(line) if isinstance(line.get("result"), Mapping) else _openai(line)
    raise MessageError("not a result of a batch: no custom_id, key or recordId")


def _openai(line: Mapping[str, Any]) -> Result:
    response, error = line.get("response"), line.get("error")
    if not isinstance(response, Mapping):
        return _outcome(line["custom_id"], None, error)
    status = response.get("status_code", 200)
    body = response.get("body")
    if isinstance(status, int) and 200 <= status < 300 and not error:
        return Result(line["custom_id"], "done", body)
    inner = body.get("error") if isinstance(body, Mapping) else None
    return Result(line["custom_id"], "failed", body, _reason(error or inner) or f"status {status}")


def _anthropic(line: Mapping[str, Any]) -> Result:
    result = line["result"]
    kind = result.get("type")
    if kind == "succeeded":
        return Result(line["custom_id"], "done", result.get("message"))
    error = result.get("error")
    inner = error.get("error") if isinstance(error, Mapping) else None
    state: State = kind if kind in ("expired", "canceled") else "failed"
    return Result(line["custom_id"], state, None, _reason(inner or error) or str(kind))


def _outcome(name: str, response: object, error: object) -> Result:
    """Return the result of a service that gives either a response or an error."""
    if response is not None and not error:
        return Result(name, "done", response)
    reason = _reason(error)
    return Result(name, "expired" if "expired" in reason else "failed", response, reason or "no response")


def _reason(error: object) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, Mapping):
        parts = [str(error[key]) for key in ("type", "code", "status", "message", "errorMessage") if error.get(key)]
        return ": ".join(dict.fromkeys(parts))
    return "" if error is None else str(error)
