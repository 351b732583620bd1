"""Simulate a provider's cache over a conversation: what each request reads, writes and pays in full.

The rules come from the dated facts; no provider is contacted. You may pass the function that counts tokens; the default
is the package's estimate. Assumptions that the rules leave open are listed in `Simulation.assumed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import isfinite

from deepprompt.checks.cache.automatic import Automatic
from deepprompt.checks.cache.caches import Cache, Implicit, Marked
from deepprompt.checks.cache.caches import Charge as Charge
from deepprompt.checks.cache.prefixes import NumberedRequest, Prefixes
from deepprompt.checks.segments import as_segments
from deepprompt.errors import MessageError
from deepprompt.tokens import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.providers.rules import Rules

_CACHES: dict[str, type[Cache]] = {
    "none": Cache, "marked": Marked, "implicit": Implicit, "automatic": Automatic,
}  # fmt: skip
_ALWAYS = (
    "one cache serves every request, and keeps what it has for its whole lifetime",
    "a request takes no time, and requests at the same time cannot read what each other writes",
    "a setting that changes costs all that stands after it",
)
_ASSUMED = {
    "none": (),
    "marked": ("an entry is renewed by every request that has a mark at its end, also where a longer one is read",),
    "implicit": ("only what lies between the longest entry that is read and the last boundary is written",),
    "automatic": (
        "all that was sent can be read by the next request, though nobody promises that",
        "what stands around the texts, such as a chat template or a hidden system prompt, has no tokens",
    ),
}
_ANSWERS_COUNT = "an answer can be read when it is sent back for the first time, just as it was given"
_ANSWERS_WAIT = "an answer can be read once it was sent back"
_UNITS_END = "units end with a request, with its answer and where two requests part: other intervals are not published"
_FULL_ATTENTION = "the model attends to all of its input: with a sliding window or a state, an engine reads less"
_ESTIMATED = "tokens are estimated, as bytes divided by four"
_DIGESTS = "images and files count for next to nothing"
_NO_CONTENT = "cachedContent is no part of the input"


@dataclass(frozen=True, slots=True)
class Simulation:
    """The charges of a conversation under the rules of one provider."""

    rules: Rules
    charges: tuple[Charge, ...]
    assumed: tuple[str, ...]
    """The assumptions beside the rules, a sentence each."""

    @property
    def total(self) -> int:
        """All input tokens of all requests."""
        return sum(charge.total for charge in self.charges)

    @property
    def read(self) -> int:
        """The input tokens that were read from the cache."""
        return sum(charge.read for charge in self.charges)

    @property
    def read_share(self) -> float:
        """The share of the input after the first request that was read from the cache."""
        later = sum(charge.total for charge in self.charges[1:])
        return sum(charge.read for charge in self.charges[1:]) / later if later else 0.0

    @property
    def paid(self) -> float:
        """The cost of the input, in tokens at the plain price. A write without a published price costs the highest."""
        return sum(self.rules.paid(charge.read, charge.written, charge.full) for charge in self.charges)

    @property
    def price(self) -> float:
        """The cost of the input, relative to the cost without a cache."""
        return self.paid / self.total if self.total else 1.0


def simulate(
    requests: Iterable[object],
    rules: Rules,
    *,
    times: Sequence[float] = (),
    count: Callable[[str], int] = estimate_tokens,
) -> Simulation:
    """Return what each request of a conversation reads, writes and pays in full.

    A request is whatever `read_request` takes, or what it returned. `rules` are those of a model, from `Facts.rules`.
    `times` are the start times of the requests in seconds, in order. Without them, no entry expires.
    """
    if not hasattr(rules, "caching"):
        wanted = "bundled_facts().rules(PROVIDER, MODEL)"
        raise MessageError(f"simulate: rules are those of a model, as {wanted} returns, not {rules!r:.60}")
    if isinstance(requests, str | Mapping) or not isinstance(requests, Iterable):
        raise MessageError(f"simulate: requests are a list, one or more, not {type(requests).__name__}")
    read = [as_segments(request) for request in requests]
    _check_times(times, len(read))
    prefixes = Prefixes(count)
    cache = _CACHES[rules.caching](rules, prefixes)
    starts = times or [0.0] * len(read)
    numbered = [prefixes.number_request(n, *request) for n, request in enumerate(zip(read, starts, strict=True))]
    charges: list[Charge] = []
    for _, group in groupby(numbered, key=lambda request: request.at if times else request.number):
        beside = list(group)
        charges += [cache.charge(request) for request in beside]
        for request in beside:
            cache.keep(request)
    return Simulation(rules, tuple(charges), tuple(_assumed(rules, prefixes, numbered)))


def _check_times(times: Sequence[float], requests: int) -> None:
    if times and len(times) != requests:
        raise MessageError(f"{len(times)} times for {requests} requests; give one each, or none")
    if wrong := [time for time in times if not isfinite(time)]:
        raise MessageError(f"a time is a number of seconds, not {wrong[0]}")
    for number, (before, time) in enumerate(pairwise(times), 2):
        if time < before:
            raise MessageError(f"request {number} starts {before - time:g} seconds before request {number - 1}")


def _assumed(rules: Rules, prefixes: Prefixes, numbered: Sequence[NumberedRequest]) -> Iterator[str]:
    """Yield the assumptions that matter for these requests."""
    yield from (*_ALWAYS, *_ASSUMED[rules.caching])
    if rules.caching == "automatic":
        yield from (_ANSWERS_COUNT, _UNITS_END) if rules.whole_units else (_ANSWERS_WAIT,)
        if rules.reported > 1:
            yield f"what is read is rounded down to {rules.reported} tokens, as answers report it"
        if rules.read_price == 1.0:
            yield _FULL_ATTENTION
    if rules.caching == "implicit":
        marks_looked_at = f"the first {rules.lookup_first} and the latest {rules.lookup_latest} marks"
        yield f"entries are looked for at {marks_looked_at} and {rules.lookback} earlier messages, where pages differ"
    if prefixes.count is estimate_tokens:
        yield _ESTIMATED
    if prefixes.digests:
        yield _DIGESTS
    if any("cachedContent" in request.settings for request in numbered):
        yield _NO_CONTENT
    marks = {segment.mark for request in numbered for segment in request.segments if segment.mark}
    if rules.lifetimes and (unknown := sorted(marks.difference(rules.lifetimes))):
        yield f"{unknown[0]}, a lifetime that {rules.provider} has not, is {rules.lifetimes[0]}"
    if rules.write_price and (unpriced := sorted(marks.intersection(rules.lifetimes).difference(rules.write_price))):
        yield f"a write for {unpriced[0]}, whose price is not published, costs what the dearest other one does"
