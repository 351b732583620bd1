"""The rules for one model: what its provider accepts, and how its cache works, as far as the facts say.

The data and where it comes from are in `facts`; here is how its layers make the rules of one model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, TypedDict

from deepprompt.errors import MessageError
from deepprompt.text.suggest import nearest
from deepprompt.words import Caching

_SECONDS = {"s": 1, "m": 60, "h": 3600}

# The parts of a full name around a model's own name: a region and a maker before it, a date and a version after it.
_BEFORE = re.compile(r"(?:[a-z0-9-]+\.)*(?:anthropic|amazon|openai|google|deepseek)\.")
_AFTER = re.compile(r"(?:@[\w-]+|-v\d+(?::\d+)?(?::\w+)?|-latest|-\d{8}|-\d{4}-\d{2}-\d{2})+")

ModelFacts = Mapping[str, Any]
"""What the facts say about some models: `names`, the `like` of a kind, and rules."""


class ProviderFacts(TypedDict, total=False):
    """What the facts say about one provider, as in the JSON."""

    title: str
    like: str
    """Another provider; its facts apply here too."""
    sources: list[dict[str, str]]
    defaults: dict[str, Any]
    models: list[ModelFacts]
    kinds: dict[str, dict[str, Any]]
    """Rules that several models share, by a name that models refer to."""
    routes: dict[str, str]
    """The provider behind each start of a model name, for LiteLLM."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one provider accepts for one model, and how it caches. Prices are multiples of the plain input price."""

    provider: str
    model: str
    as_of: str
    known: bool
    """Whether the facts know the model; if not, these are the provider's conservative defaults."""
    caching: Caching = "none"
    """Where entries end: `marked` only at marks, `implicit` at marks and the newest message, `automatic` anywhere."""
    marks: int = 0
    """The most marks that a request may carry."""
    lookback: int = 0
    """How many positions the provider looks back from a mark for an earlier entry, the mark's own included.

    With `implicit` caching, how many ends of earlier messages it looks at.
    """
    lookup_first: int = 0
    lookup_latest: int = 0
    """At how many of a request's first and latest marks the provider looks for an entry; 0 if the lookback is all."""
    tool_runs_count_once: bool = False
    lifetimes: tuple[str, ...] = ()
    """The lifetimes that an entry may have, the default first."""
    lives: str = ""
    """How long an unused entry lives at least if a request cannot ask for a lifetime; "" if that is not published."""
    lives_from_start: bool = False
    """Whether a lifetime starts with the request that wrote or read the entry, not with its end."""
    minimum: int = 0
    """The shortest prefix that is cached, in tokens."""
    explicit_minimum: int = 0
    granularity: int = 1
    """A cache read is a whole multiple of so many tokens."""
    reported: int = 1
    """The cache read that a response reports is a whole multiple of so many tokens."""
    whole_units: bool = False
    """Whether an entry is read only if the request repeats all of it."""
    last_token_recomputed: bool = False
    keeps_answers: bool = False
    """Whether an answer is cached as it is made, all but its last token, and read when it is sent back."""
    shares_at_once: bool = False
    """Whether requests that start at the same time read what each other writes."""
    tools_after_system: bool = False
    """Whether the tools stand behind the system prompt, as many chat templates put them."""
    keyed_by: tuple[str, ...] = ()
    """The only settings that an entry depends on; empty if every setting that the readers know counts."""
    write_price: Mapping[str, float] = field(default_factory=dict)
    read_price: float = 1.0
    input_includes_cached: bool = True
    carriers: frozenset[str] = frozenset()
    """The kinds of block that may carry a mark."""
    blocks: frozenset[str] = frozenset()
    """More kinds of block that the provider accepts as they are."""
    images: frozenset[str] = frozenset()
    image_urls: bool = False
    tool_name: str = ".+"
    call_id: str = ".+"
    call_signature: str = ""
    """The signature for tool calls of another model, if the provider insists on one."""
    max_tokens: int = 0
    """The output limit to send if the caller gives none and the provider insists on one."""
    system_messages: bool = False
    """Whether the conversation may contain system messages."""
    system_role: str = "system"
    named: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """For an unknown model, the names of the known ones, to suggest one of them. Patterns are left out."""

    def paid(self, read: int, written: Mapping[str, int], full: int) -> float:
        """Return what input costs, in tokens at full price: those read from a cache, those written to it, and the rest.

        A write without a known lifetime ("") costs what the default one does. A lifetime without a published price
        costs as much as the most expensive one.
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


FIELDS = {
    field.name: str(field.type)
    for field in fields(Rules)
    if field.name not in ("provider", "model", "as_of", "known", "named")
}
"""The rules that facts can set, with their types as they are written."""


def bare_model_name(model: str) -> str:
    """Return a model's own name: without route, region, maker, date and version."""
    bare = model.strip().lower().rpartition("/")[2]
    if before := _BEFORE.match(bare):
        bare = bare[before.end() :]
    after = next((found for found in _AFTER.finditer(bare) if found.end() == len(bare)), None)
    return bare[: after.start()] if after else bare


@lru_cache(maxsize=64)  # a conversation asks for its model each turn
def near_model(model: str, named: tuple[str, ...]) -> str:
    """Return a model's name with its own name corrected to the nearest of some names; "" if none is near."""
    own = bare_model_name(model)
    near = nearest(own, named, 0.85)
    if not near:
        return ""
    before, _, after = model.strip().lower().rpartition(own)
    return f"{before}{near[0]}{after}"


def unknown_model(rules: Rules, route: str = "") -> str:
    """Return a warning about a model that the facts do not know; "" for a known one and for engines."""
    if rules.known or not rules.named:
        return ""
    near = near_model(rules.model, rules.named)
    meant = f"; did you mean {route}{near}?" if near else ""
    unknown = f"{route}{rules.model} is not in the facts of {rules.as_of}"
    return f"{unknown}, so the provider's conservative defaults apply{meant}"


def plain_names(entry: ModelFacts) -> list[str]:
    """Return the names of an entry that are neither patterns nor routes."""
    return [name for name in entry["names"] if not set("*?[/") & set(name)]


def is_named(entry: ModelFacts, model: str) -> bool:
    """Whether an entry is about a model."""
    whole = model.strip().lower()
    called = {whole, whole.rpartition("/")[2], bare_model_name(model)}
    return any(fnmatchcase(name, pattern.lower()) for pattern in entry["names"] for name in called)


def models_in(layers: list[ProviderFacts]) -> Iterator[ModelFacts]:
    """Yield the model entries in the order of precedence."""
    for layer in reversed(layers):
        yield from layer.get("models", ())


def values_for(entry: ModelFacts | None, layers: list[ProviderFacts]) -> dict[str, Any]:
    """Return the rules for the model of an entry, or the defaults for None, out of a provider's layers."""
    values: dict[str, Any] = {}
    for layer in layers:
        values |= layer.get("defaults", {})
    if entry is not None:
        for layer in layers:
            values |= layer.get("kinds", {}).get(entry.get("like", ""), {})
        values |= {key: value for key, value in entry.items() if key not in ("names", "like")}
    return {key: _frozen(FIELDS[key], value) for key, value in values.items()}


def _frozen(kind: str, value: Any) -> Any:
    if kind == "frozenset[str]":
        return frozenset(value)
    return tuple(value) if kind == "tuple[str, ...]" else value
