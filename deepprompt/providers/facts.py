"""What is known of each provider's cache and of what it takes: dated data, and the rules for one model out of it.

The data is `assets/providers/<date>/facts.json`. Such facts go stale within months, so nothing in the code knows
one: a newer file, or a user's own laid over it with `load_facts`, changes what every request is built by, and the
date goes wherever a rule is shown. A model that the data does not know gets the provider's careful defaults.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

from deepprompt.catalog import bundled
from deepprompt.errors import AssetError, MessageError
from deepprompt.text.suggest import did_you_mean, nearest

CACHING = ("marked", "implicit", "automatic", "none")
_SECONDS = {"s": 1, "m": 60, "h": 3600}

_FAMILY = "providers"
_FILE_LIMIT = 1 << 24

# What stands around a model's own name: a region and maker before it, a date and a version after it.
_BEFORE = re.compile(r"(?:[a-z0-9-]+\.)*(?:anthropic|amazon|openai|google|deepseek)\.")
_AFTER = re.compile(r"(?:@[\w-]+|-v\d+(?::\d+)?(?::\w+)?|-latest|-\d{8}|-\d{4}-\d{2}-\d{2})+")


@dataclass(frozen=True, slots=True)
class Rules:
    """What one provider takes for one model, and how it caches. Prices are multiples of the plain input price."""

    provider: str
    model: str
    as_of: str
    known: bool
    """Whether the data knows the model; if not, these are the provider's careful defaults."""
    caching: str = "none"
    """`marked` at marks only, `implicit` at marks and at the newest message, `automatic`, or `none`."""
    marks: int = 0
    """How many marks a request may carry."""
    lookback: int = 0
    """How many positions before a mark an earlier entry is looked for, the mark's own being the first.

    Where caching is `implicit`: how many ends of earlier messages.
    """
    lookup_first: int = 0
    lookup_latest: int = 0
    """At how many of a request's first and latest marks an entry is looked for; 0 where the lookback is all."""
    tool_runs_count_once: bool = False
    lifetimes: tuple[str, ...] = ()
    """How long an entry may live, the one that needs no asking first."""
    lives: str = ""
    """How long an unused entry lives at least where no lifetime can be asked for, "" where nobody says."""
    lives_from_start: bool = False
    """Whether that is counted from the start of the request that wrote or read it, not from its end."""
    minimum: int = 0
    """The fewest tokens that are cached."""
    explicit_minimum: int = 0
    granularity: int = 1
    """Of how many tokens, whole, what is read from the cache is made."""
    reported: int = 1
    """Of how many tokens, whole, what the answer says was read is made."""
    whole_units: bool = False
    """Whether only an entry that the request repeats to its end is read, not a part of one."""
    last_token_recomputed: bool = False
    write_price: Mapping[str, float] = field(default_factory=dict)
    read_price: float = 1.0
    input_includes_cached: bool = True
    carriers: frozenset[str] = frozenset()
    """The kinds of block that may carry a mark."""
    blocks: frozenset[str] = frozenset()
    """Further kinds of block that the provider takes as they are."""
    images: frozenset[str] = frozenset()
    image_urls: bool = False
    tool_name: str = ".+"
    call_id: str = ".+"
    call_signature: str = ""
    """What a tool call from another model's history carries where the provider insists on a signature."""
    max_tokens: int = 0
    """The limit of the answer that is sent when none is asked for, where the provider insists on one."""
    system_messages: bool = False
    """Whether a system message may stand inside the conversation."""
    system_role: str = "system"
    named: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Where the data does not know the model: those that it does, for who misspelt one. Patterns are left out."""

    def paid(self, read: int, written: Mapping[str, int], full: int) -> float:
        """Return what input costs of which so much was read from a cache and written to it, in tokens at full price.

        What was written for a lifetime that nobody told ("") costs as the usual one does; for one whose price is not
        published, as the dearest.
        """
        usual = self.write_price.get(self.lifetimes[0] if self.lifetimes else self.lives)
        dearest = max(self.write_price.values(), default=1.0)
        prices = {"": dearest if usual is None else usual} | dict(self.write_price)
        writes = sum(count * prices.get(lifetime, dearest) for lifetime, count in written.items())
        return full + read * self.read_price + writes

    @property
    def label(self) -> str:
        """The provider, the model and the date of the facts, for messages."""
        return f"{self.provider} ({self.model or 'no model'}, facts of {self.as_of})"

    @property
    def default_write_price(self) -> float:
        """The price of writing an entry with the default lifetime; 1.0 where the facts name none."""
        return self.write_price.get(self.lifetimes[0], 1.0) if self.lifetimes else 1.0

    def positions(self, kinds: Iterable[str]) -> list[int]:
        """Return the lookback position of each block, given the kinds of all blocks in order.

        A run of tool calls, or of tool results, may count as one position.
        """
        runs = ("tool_use", "tool_result") if self.tool_runs_count_once else ()
        found: list[int] = []
        before = ""
        for kind in kinds:
            found.append((found[-1] if found else -1) + (not found or kind != before or kind not in runs))
            before = kind
        return found


def seconds(lifetime: str) -> float:
    """Return a lifetime such as `5m` in seconds; "", which means no limit, is infinite."""
    if not lifetime:
        return math.inf
    number, unit = lifetime[:-1], lifetime[-1]
    if unit not in _SECONDS or not number.isascii() or not number.isdecimal():
        raise MessageError(f"a lifetime is a number and s, m or h, such as 5m, not {lifetime!r:.40}")
    return float(number) * _SECONDS[unit]


class Facts:
    """The facts of one date. `rules(provider, model)` is what the rest of the package asks."""

    def __init__(self, data: Mapping[str, Any], label: str) -> None:
        self.label = label
        _check(data, label)
        self.data = data
        self.as_of: str = data["as_of"]
        self._check_links()

    def providers(self) -> list[str]:
        """Return the names of the providers and engines, sorted."""
        return sorted(self.data["providers"])

    def rules(self, provider: str, model: str) -> Rules:
        """Return what holds for a model, by the first entry that names it."""
        if provider not in self.data["providers"]:
            raise AssetError(f"{self.label} has no provider {provider!r}; there are: {', '.join(self.providers())}")
        layers = self._layers(provider)
        entry = next((entry for entry in _models(layers) if _names(entry, model)), None)
        values = _values(layers, entry)
        if entry is None:
            values["named"] = tuple(name for other in _models(layers) for name in _plain_names(other))
        return Rules(provider=provider, model=model, as_of=self.as_of, known=entry is not None, **values)

    def examples(self) -> list[tuple[str, str]]:
        """Return one model of each provider whose models it knows: the first that it names."""
        named = [(name, model) for name in self.providers() for model in self._first_names(name)]
        return [(name, model) for name, model in named if self.rules(name, model).caching != "none"]

    def _first_names(self, provider: str) -> list[str]:
        models = self.data["providers"][provider].get("models", ())
        return [name for entry in models for name in _plain_names(entry)][:1]

    def sources(self, provider: str) -> list[dict[str, str]]:
        """Return where the facts about a provider were read, and when."""
        return [source for layer in self._layers(provider) for source in layer.get("sources", ())]

    def behind(self, to: str, model: str) -> str:
        """Return whose rules hold for what is sent to `to`: LiteLLM's own only where nobody is known behind it."""
        return (self.route(model) or to) if to == "litellm" else to

    def route(self, model: str) -> str:
        """Return the provider behind a LiteLLM model name, "" where the data knows none."""
        known = self.data["providers"]
        routes: dict[str, str] = known.get("litellm", {}).get("routes", {})
        for start in sorted(routes, key=len, reverse=True):
            if model.startswith(start if "/" in start else f"{start}/"):
                return routes[start]
        named = [name for name in known if "/" not in model and self.rules(name, model).known]
        return named[0] if named else ""

    def overlaid(self, data: Mapping[str, Any], label: str) -> Facts:
        """Return these facts with some of one's own over them: defaults by key, models before ours."""
        merged = dict(self.data["providers"])
        for name, entry in data["providers"].items():
            old = merged.get(name, {})
            both = dict(old) | dict(entry)
            for table in ("defaults", "routes"):
                both[table] = dict(old.get(table, {})) | dict(entry.get(table, {}))
            kinds = (old.get("kinds", {}), entry.get("kinds", {}))
            both["kinds"] = {kind: {**kinds[0].get(kind, {}), **kinds[1].get(kind, {})} for kind in kinds[0] | kinds[1]}
            both["models"] = [*entry.get("models", ()), *old.get("models", ())]
            both["sources"] = [*entry.get("sources", ()), *old.get("sources", ())]
            merged[name] = both
        return Facts({"as_of": data.get("as_of", self.as_of), "providers": merged}, f"{self.label} under {label}")

    def _layers(self, provider: str) -> list[Mapping[str, Any]]:
        """Return a provider's entry and those that it is like, the plainest first."""
        entry = self.data["providers"][provider]
        return [*(self._layers(entry["like"]) if "like" in entry else ()), entry]

    def _check_links(self) -> None:
        """Refuse what points nowhere, and marks that have no lifetime: nothing could be built by them."""
        known = self.data["providers"]
        for provider in known:
            where, line = f"{self.label}: {provider}", [provider]
            while (like := known[line[-1]].get("like")) is not None:
                if like not in known:
                    raise AssetError(f"{where}: like {like!r}, which is no provider; there are: {', '.join(known)}")
                if like in line:
                    raise AssetError(f"{where}: like goes in a circle: {' -> '.join([*line, like])}")
                line.append(like)
            layers = self._layers(provider)
            kinds = sorted({kind for layer in layers for kind in layer.get("kinds", ())})
            for entry in (None, *_models(layers)):
                name = "defaults" if entry is None else f"model {entry['names'][0]}"
                if entry is not None and "like" in entry and entry["like"] not in kinds:
                    there = f"its kinds are {', '.join(kinds)}" if kinds else "it has no kinds"
                    raise AssetError(f"{where}: {name}: like {entry['like']!r}; {there}")
                values = _values(layers, entry)
                if values.get("marks") and not values.get("lifetimes"):
                    raise AssetError(f'{where}: {name}: marks need lifetimes, such as ["5m"]')
            for start, target in known[provider].get("routes", {}).items():
                if target not in known:
                    raise AssetError(f"{where}: route {start!r} leads to {target!r}; there are: {', '.join(known)}")


@cache
def bundled_facts() -> Facts:
    """Return the newest facts that are part of this package."""
    _, version = bundled().resolve(_FAMILY)
    return Facts(json.loads(bundled().file(_FAMILY, version, "facts.json")), f"facts of {version}")


def load_facts(path: str | os.PathLike[str]) -> Facts:
    """Return the bundled facts with those of a file over them.

    The file is laid out like ours and needs only what differs:
    `{"as_of": "2027-01-10", "providers": {"anthropic": {"models": [{"names": ["claude-next"], "minimum": 512}]}}}`.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            text = file.read(_FILE_LIMIT + 1)
        if len(text) > _FILE_LIMIT:
            raise AssetError(f"{name}: larger than {_FILE_LIMIT} bytes")
        data = json.loads(text.decode("utf-8-sig"))
    except OSError as error:
        raise AssetError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise AssetError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except RecursionError:
        raise AssetError(f"{name}: nested too deeply") from None
    except ValueError as error:
        raise AssetError(f"{name}: not JSON: {error}") from None
    ours = bundled_facts()
    _check({"as_of": ours.as_of, **data} if isinstance(data, dict) else data, name)
    _check_spelling(sorted(set(data["providers"]) - set(ours.providers())), ours.providers(), name)
    return ours.overlaid(data, name)


def _check_spelling(new: list[str], known: list[str], where: str) -> None:
    """Refuse a new provider that is called nearly like a known one: its facts would be nobody's."""
    for provider in new:
        if near := nearest(provider, known, 0.8):
            raise AssetError(f"{where}: there is no provider {provider!r}; did you mean {near[0]!r}?")


def own_name(model: str) -> str:
    """Return a model's own name: without route, region, maker, date and version."""
    bare = model.strip().lower().rpartition("/")[2]
    if before := _BEFORE.match(bare):
        bare = bare[before.end() :]
    after = next((found for found in _AFTER.finditer(bare) if found.end() == len(bare)), None)
    return bare[: after.start()] if after else bare


@lru_cache(maxsize=64)  # a conversation asks for its model each turn
def near_model(model: str, named: tuple[str, ...]) -> str:
    """Return a model's name with its own name put right, if it is close to one of those; "" if none is."""
    own = own_name(model)
    near = nearest(own, named, 0.85)
    if not near:
        return ""
    before, _, after = model.strip().lower().rpartition(own)
    return f"{before}{near[0]}{after}"


def unknown_model(rules: Rules, route: str = "") -> str:
    """Return what to say of a model that the facts do not know; "" where they do, and of an engine, which has none."""
    if rules.known or not rules.named:
        return ""
    near = near_model(rules.model, rules.named)
    meant = f"; did you mean {route}{near}?" if near else ""
    return f"{route}{rules.model} is not in the facts of {rules.as_of}, so the provider's careful defaults count{meant}"


def _plain_names(entry: Mapping[str, Any]) -> list[str]:
    """Return those names of an entry that are no patterns and have no route."""
    return [name for name in entry["names"] if not set("*?[/") & set(name)]


def _names(entry: Mapping[str, Any], model: str) -> bool:
    whole = model.strip().lower()
    called = {whole, whole.rpartition("/")[2], own_name(model)}
    return any(fnmatchcase(name, pattern.lower()) for pattern in entry["names"] for name in called)


def _models(layers: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of models, those that count first first."""
    for layer in reversed(layers):
        yield from layer.get("models", ())


def _values(layers: list[Mapping[str, Any]], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the rules for the model of an entry, or for one that has none."""
    values: dict[str, Any] = {}
    for layer in layers:
        values |= layer.get("defaults", {})
    if entry is not None:
        for layer in layers:
            values |= layer.get("kinds", {}).get(entry.get("like"), {})
        values |= {key: value for key, value in entry.items() if key not in ("names", "like")}
    return {key: _frozen(key, value) for key, value in values.items()}


_RULES = {
    field.name: str(field.type)
    for field in fields(Rules)
    if field.name not in ("provider", "model", "as_of", "known", "named")
}
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
    "str": "text", "int": "a whole number", "bool": "true or false", "float": "a number", "tuple[str, ...]": _TEXTS,
    "frozenset[str]": _TEXTS, "Mapping[str, float]": "an object of numbers",
}  # fmt: skip


def _check(data: Any, label: str) -> None:
    """Refuse what no rule is called, so that a misspelt fact is not silently without effect."""
    if not isinstance(data, dict) or not isinstance(data.get("providers"), dict):
        raise AssetError(f'{label}: facts are {{"as_of": DATE, "providers": {{NAME: ...}}}}')
    if unknown := sorted(set(data) - {"as_of", "providers"}):
        raise AssetError(f"{label}: {unknown[0]!r} is not known; there are: as_of, providers")
    if not isinstance(data.get("as_of"), str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", data["as_of"]):
        raise AssetError(f"{label}: as_of is a date such as 2026-11-15, not {data.get('as_of')!r:.60}")
    for provider, entry in data["providers"].items():
        _check_provider(entry, f"{label}: {provider}")


def _check_provider(entry: Any, where: str) -> None:
    if not isinstance(entry, dict):
        raise AssetError(f"{where}: expected an object, not {entry!r:.60}")
    for key, value in entry.items():
        if key not in _OF_PROVIDER:
            raise AssetError(f"{where}: {key!r} is not known; there are: {', '.join(sorted(_OF_PROVIDER))}")
        kind, expected = _OF_PROVIDER[key]
        if not isinstance(value, kind):
            raise AssetError(f"{where}: {key} is {expected}, not {value!r:.60}")
    for number, source in enumerate(entry.get("sources", ())):
        if not isinstance(source, dict) or not all(isinstance(source.get(key), str) for key in ("read", "from")):
            raise AssetError(f'{where}: sources[{number}] is {{"read": DATE, "from": WHERE}}, not {source!r:.60}')
    for start, target in entry.get("routes", {}).items():
        if not isinstance(target, str):
            raise AssetError(f"{where}: route {start!r} leads to the name of a provider, not {target!r:.60}")
    for number, model in enumerate(entry.get("models", ())):
        names = model.get("names") if isinstance(model, dict) else None
        if not names or not _is(names, _TEXTS):
            raise AssetError(f"{where}: models[{number}] needs names, a list of patterns")
        _check_rules(model, f"{where}: models[{number}]", ("names", "like"))
    _check_rules(entry.get("defaults", {}), f"{where}: defaults")
    for name, table in entry.get("kinds", {}).items():
        if not isinstance(table, dict):
            raise AssetError(f"{where}: kind {name!r} is an object of rules, not {table!r:.60}")
        _check_rules(table, f"{where}: kind {name!r}")


def _check_rules(table: Mapping[str, Any], where: str, beside: tuple[str, ...] = ()) -> None:
    for key, value in table.items():
        if key in beside:
            continue
        if key not in _RULES:
            raise AssetError(f"{where}: {key!r} is no rule; {did_you_mean(key, sorted(_RULES))}")
        expected = _EXPECTED[_RULES[key]]
        if not _is(value, expected):
            raise AssetError(f"{where}: {key} is {expected}, not {value!r:.60}")
        if key == "caching" and value not in CACHING:
            raise AssetError(f"{where}: caching is one of {', '.join(CACHING)}, not {value!r:.60}")
        if key in ("tool_name", "call_id"):
            try:
                re.compile(value)
            except re.error as error:
                raise AssetError(f"{where}: {key} is no regular expression: {error}") from None


def _is(value: Any, expected: str) -> bool:
    """Whether a value of JSON is what a rule expects."""
    if expected == _TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if expected == "an object of numbers":
        return isinstance(value, dict) and all(_is(item, "a number") for item in value.values())
    if isinstance(value, bool) or expected == "true or false":
        return isinstance(value, bool) and expected == "true or false"
    if expected == "text":
        return isinstance(value, str)
    return isinstance(value, int if expected == "a whole number" else int | float) and 0 <= value < math.inf


def _frozen(key: str, value: Any) -> Any:
    if _RULES[key] == "frozenset[str]":
        return frozenset(value)
    return tuple(value) if _RULES[key] == "tuple[str, ...]" else value
