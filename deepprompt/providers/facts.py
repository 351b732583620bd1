"""The dated facts about each provider: how it caches, what it accepts and what it charges.

The data is `assets/providers/<date>/facts.json`. Such facts go out of date within months, so none of them is written
in the code. A newer file, or a file of your own laid over it with `load_facts`, changes how every request is built,
and every message about a rule names the date. A model that the data does not know gets the provider's conservative
defaults.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

from deepprompt.catalog import bundled
from deepprompt.errors import AssetError
from deepprompt.providers.rules import FIELDS, ProviderFacts, Rules, is_named, models_in, plain_names, values_for
from deepprompt.sources.files import read_named
from deepprompt.text.suggest import did_you_mean, nearest
from deepprompt.words import Caching

_FAMILY = "providers"
_FILE_LIMIT = 1 << 24


class Facts:
    """The facts of one date. Use `rules(provider, model)` to look something up.

    Raises `AssetError` for data of another form, and for a provider that the facts do not have.
    """

    def __init__(self, data: Mapping[str, Any], label: str) -> None:
        self.label = label
        _refuse(_faults(data, label))
        self.data = data
        self.as_of: str = data["as_of"]
        self._providers: dict[str, ProviderFacts] = data["providers"]
        _refuse(self._link_faults())

    def providers(self) -> list[str]:
        """Return the names of the providers and engines, sorted."""
        return sorted(self._providers)

    def rules(self, provider: str, model: str) -> Rules:
        """Return the rules for a model, taken from the first entry that names it."""
        if provider not in self._providers:
            raise AssetError(f"{self.label} has no provider {provider!r}; there are: {', '.join(self.providers())}")
        layers = self._layers(provider)
        entry = next((entry for entry in models_in(layers) if is_named(entry, model)), None)
        values = values_for(entry, layers)
        if entry is None:
            values["named"] = tuple(name for other in models_in(layers) for name in plain_names(other))
        return Rules(provider=provider, model=model, as_of=self.as_of, known=entry is not None, **values)

    def examples(self) -> list[tuple[str, str]]:
        """Return each caching provider with the first model that its facts name, if they name one."""
        named = [(name, model) for name in self.providers() for model in self._first_names(name)]
        return [(name, model) for name, model in named if self.rules(name, model).caching != "none"]

    def _first_names(self, provider: str) -> list[str]:
        models = self._providers[provider].get("models", ())
        return [name for entry in models for name in plain_names(entry)][:1]

    def sources(self, provider: str) -> list[dict[str, str]]:
        """Return where and when the facts about a provider were read."""
        return [source for layer in self._layers(provider) for source in layer.get("sources", ())]

    def behind(self, to: str, model: str) -> str:
        """Return the provider whose rules apply: for LiteLLM, the one that its model name routes to, if known."""
        return (self.route(model) or to) if to == "litellm" else to

    def route(self, model: str) -> str:
        """Return the provider behind a LiteLLM model name, "" if the facts know none."""
        routes = self._providers.get("litellm", {}).get("routes", {})
        for start in sorted(routes, key=len, reverse=True):
            if model.startswith(start if "/" in start else f"{start}/"):
                return routes[start]
        named = [name for name in self._providers if "/" not in model and self.rules(name, model).known]
        return named[0] if named else ""

    def overlaid(self, data: Mapping[str, Any], label: str) -> Facts:
        """Return these facts with others laid over them: rules replace ours by name, models come before ours."""
        merged = dict(self._providers)
        added: dict[str, ProviderFacts] = data["providers"]
        for name, new in added.items():
            old = merged.get(name, {})
            kinds, new_kinds = old.get("kinds", {}), new.get("kinds", {})
            merged[name] = {
                **old,
                **new,
                "defaults": {**old.get("defaults", {}), **new.get("defaults", {})},
                "routes": {**old.get("routes", {}), **new.get("routes", {})},
                "kinds": {kind: {**kinds.get(kind, {}), **new_kinds.get(kind, {})} for kind in kinds | new_kinds},
                "models": [*new.get("models", ()), *old.get("models", ())],
                "sources": [*new.get("sources", ()), *old.get("sources", ())],
            }
        return Facts({"as_of": data.get("as_of", self.as_of), "providers": merged}, f"{self.label} under {label}")

    def _layers(self, provider: str) -> list[ProviderFacts]:
        """Return the entry of a provider after those that it is like."""
        entry = self._providers[provider]
        return [*(self._layers(entry["like"]) if "like" in entry else ()), entry]

    def _link_faults(self) -> Iterator[str]:
        """Yield what points nowhere, and marks without a lifetime, which no request could be built with."""
        known, seen = self._providers, set[object]()
        for provider, entry in known.items():
            where, line = f"{self.label}: {provider}", [provider]
            while (like := known[line[-1]].get("like")) in known and like not in line:
                line.append(like)
            if like in line:
                circle = frozenset(line[line.index(like) :])
                if circle not in seen:
                    yield f"{where}: like goes in a circle: {' -> '.join([*line, like])}"
                seen.add(circle)
            elif like is not None and len(line) == 1:  # a link further up is reported where it stands
                yield f"{where}: like {like!r}, which is no provider; there are: {', '.join(known)}"
            elif like is None:
                for fault in self._model_faults(provider):
                    if fault not in seen:  # a provider that is like this one inherits it
                        yield f"{where}: {fault}"
                    seen.add(fault)
            for start, target in entry.get("routes", {}).items():
                if target not in known:
                    yield f"{where}: route {start!r} leads to {target!r}; there are: {', '.join(known)}"

    def _model_faults(self, provider: str) -> Iterator[str]:
        layers = self._layers(provider)
        kinds = sorted({kind for layer in layers for kind in layer.get("kinds", ())})
        for entry in (None, *models_in(layers)):
            name = "defaults" if entry is None else f"model {entry['names'][0]}"
            if entry is not None and "like" in entry and entry["like"] not in kinds:
                there = f"its kinds are {', '.join(kinds)}" if kinds else "it has no kinds"
                yield f"{name}: like {entry['like']!r}; {there}"
                continue
            values = values_for(entry, layers)
            if values.get("marks") and not values.get("lifetimes"):
                yield f'{name}: marks need lifetimes, such as ["5m"]'


@cache
def bundled_facts() -> Facts:
    """Return the newest facts that are part of this package."""
    _, version = bundled().resolve(_FAMILY)
    return Facts(json.loads(bundled().file(_FAMILY, version, "facts.json")), f"facts of {version}")


def load_facts(path: str | os.PathLike[str]) -> Facts:
    """Return the bundled facts with those of a file laid over them. All faults of the file are in one `AssetError`.

    The file is laid out like ours and needs only what differs:
    `{"as_of": "2027-01-10", "providers": {"anthropic": {"models": [{"names": ["claude-next"], "minimum": 512}]}}}`.
    """
    name = os.fspath(path)
    try:
        data = json.loads(read_named(name, _FILE_LIMIT).decode("utf-8-sig"))
    except OSError as error:
        raise AssetError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise AssetError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except RecursionError:
        raise AssetError(f"{name}: nested too deeply") from None
    except ValueError as error:
        raise AssetError(f"{name}: not JSON: {error}") from None
    ours = bundled_facts()
    whole = {"as_of": ours.as_of, **data} if isinstance(data, dict) else data
    _refuse([*_faults(whole, name), *_misspelt_providers(whole, ours.providers(), name)])
    return ours.overlaid(data, name)


def _refuse(faults: Iterable[str]) -> None:
    """Raise one error with every fault, if there are any."""
    if found := list(faults):
        raise AssetError("; ".join(found))


def _misspelt_providers(data: Any, known: list[str], where: str) -> Iterator[str]:
    """Yield new providers with nearly the name of a known one: no request would be built with their facts."""
    providers = data.get("providers") if isinstance(data, dict) else None
    for provider in sorted(set(providers) - set(known)) if isinstance(providers, dict) else ():
        if near := nearest(provider, known, 0.8):
            yield f"{where}: there is no provider {provider!r}; did you mean {near[0]!r}?"


_OF_PROVIDER: dict[str, tuple[type, str]] = {
    "title": (str, "text"),
    "like": (str, "the name of a provider"),
    "sources": (list, 'a list of {"read": DATE, "from": WHERE}'),
    "defaults": (dict, "an object of rules"),
    "models": (list, "a list of objects"),
    "kinds": (dict, "an object of objects"),
    "routes": (dict, "an object of texts"),
}
_TEXTS = "a list of texts"
_EXPECTED = {
    "str": "text", "Caching": "text", "int": "a whole number",
    "bool": "true or false", "float": "a number", "tuple[str, ...]": _TEXTS,
    "frozenset[str]": _TEXTS, "Mapping[str, float]": "an object of numbers",
}  # fmt: skip


def _faults(data: Any, label: str) -> Iterator[str]:
    """Yield what is wrong with some facts. An unknown name is a fault, because a misspelt fact would have no effect."""
    if not isinstance(data, dict) or not isinstance(data.get("providers"), dict):
        yield f'{label}: facts are {{"as_of": DATE, "providers": {{NAME: ...}}}}'
        return
    for unknown in sorted(set(data) - {"as_of", "providers"}):
        yield f"{label}: {unknown!r} is not known; there are: as_of, providers"
    if not isinstance(data.get("as_of"), str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", data["as_of"]):
        yield f"{label}: as_of is a date such as 2026-11-15, not {data.get('as_of')!r:.60}"
    for provider, entry in data["providers"].items():
        yield from _faults_of_provider(entry, f"{label}: {provider}")


def _faults_of_provider(entry: Any, where: str) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{where}: expected an object, not {entry!r:.60}"
        return
    sound: dict[str, Any] = {}
    for key, value in entry.items():
        if key not in _OF_PROVIDER:
            yield f"{where}: {key!r} is not known; there are: {', '.join(sorted(_OF_PROVIDER))}"
        elif not isinstance(value, _OF_PROVIDER[key][0]):
            yield f"{where}: {key} is {_OF_PROVIDER[key][1]}, not {value!r:.60}"
        else:
            sound[key] = value
    for number, source in enumerate(sound.get("sources", ())):
        if not isinstance(source, dict) or not all(isinstance(source.get(key), str) for key in ("read", "from")):
            yield f'{where}: sources[{number}] is {{"read": DATE, "from": WHERE}}, not {source!r:.60}'
    for start, target in sound.get("routes", {}).items():
        if not isinstance(target, str):
            yield f"{where}: route {start!r} leads to the name of a provider, not {target!r:.60}"
    for number, model in enumerate(sound.get("models", ())):
        names = model.get("names") if isinstance(model, dict) else None
        if not names or not _is(names, _TEXTS):
            yield f"{where}: models[{number}] needs names, a list of patterns"
        if isinstance(model, dict):
            yield from _faults_of_rules(model, f"{where}: models[{number}]", ("names", "like"))
    yield from _faults_of_rules(sound.get("defaults", {}), f"{where}: defaults")
    for name, table in sound.get("kinds", {}).items():
        if isinstance(table, dict):
            yield from _faults_of_rules(table, f"{where}: kind {name!r}")
        else:
            yield f"{where}: kind {name!r} is an object of rules, not {table!r:.60}"


def _faults_of_rules(table: Mapping[str, Any], where: str, beside: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in table.items():
        if key in beside:
            continue
        if key not in FIELDS:
            yield f"{where}: {key!r} is no rule; {did_you_mean(key, sorted(FIELDS))}"
        elif not _is(value, expected := _EXPECTED[FIELDS[key]]):
            yield f"{where}: {key} is {expected}, not {value!r:.60}"
        elif key == "caching" and value not in get_args(Caching):
            yield f"{where}: caching is one of {', '.join(get_args(Caching))}, not {value!r:.60}"
        elif key in ("tool_name", "call_id"):
            try:
                re.compile(value)
            except re.error as error:
                yield f"{where}: {key} is no regular expression: {error}"


def _is(value: Any, expected: str) -> bool:
    """Whether a JSON value is what a rule expects."""
    if expected == _TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if expected == "an object of numbers":
        return isinstance(value, dict) and all(_is(item, "a number") for item in value.values())
    if isinstance(value, bool) or expected == "true or false":
        return isinstance(value, bool) and expected == "true or false"
    if expected == "text":
        return isinstance(value, str)
    return isinstance(value, int if expected == "a whole number" else int | float) and 0 <= value < math.inf
