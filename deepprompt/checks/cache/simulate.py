"""Simulate a provider's cache over a conversation: what each request reads, writes and pays in full.

The rules come from the dated facts; no provider is contacted. You may pass the function that counts tokens; the default
is the package's estimate. Assumptions that the rules leave open are listed in `Simulation.assumed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite

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
    from deepprompt.providers.segments import Segment

_CACHES: dict[str, type[Cache]] = {
    "none": Cache, "marked": Marked, "implicit": Implicit, "automatic": Automatic,
}  # fmt: skip
_HOLDS_ALL = "one cache serves every request, and keeps what it has for its whole lifetime"
_AT_ONCE = "a request takes no time, and requests at the same time {} read what each other writes"
_SETTINGS = "a setting that changes costs all that stands after it"
_KEYED = "of the settings only {} count; another one costs nothing unless the chat template writes it into the prompt"
_SIZE = "the cache is large enough for all conversations that run side by side (--cache-tokens N)"
_TOOLS = "the chat template puts the tools {} the system prompt"
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
_ANSWERS_KEPT = "an answer can be read, but for its last token, when it is sent back for the first time as it was given"
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
    cache_tokens: int | None = None,
) -> Simulation:
    """Return what each request of a conversation reads, writes and pays in full.

    A request is whatever `read_request` takes, or what it returned. `rules` are those of a model, from `Facts.rules`.
    `times` are the start times of the requests in seconds, in order. Without them, no entry expires. `cache_tokens` is
    how much an engine's cache holds; by default it holds everything. Raises `MessageError` for requests that cannot be
    read, and for times that are too few, too many or out of order.
    """
    if not hasattr(rules, "caching"):
        wanted = "bundled_facts().rules(PROVIDER, MODEL)"
        raise MessageError(f"simulate: rules are those of a model, as {wanted} returns, not {rules!r:.60}")
    if isinstance(requests, str | Mapping) or not isinstance(requests, Iterable):
        raise MessageError(f"simulate: requests are a list, one or more, not {type(requests).__name__}")
    read = [as_segments(request) for request in requests]
    _check_times(times, len(read))
    simulator = Simulator(rules, count=count, cache_tokens=cache_tokens)
    starts: Sequence[float | None] = times or [None] * len(read)
    charges = [simulator.add(segments, at) for segments, at in zip(read, starts, strict=True)]
    return Simulation(rules, tuple(charges), simulator.assumed)


class Simulator:
    """A simulated cache to which requests are added one by one, each with its charge.

    With `memory`, a number of bytes, it forgets what was used longest ago as soon as it remembers more than about that.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        count: Callable[[str], int] = estimate_tokens,
        cache_tokens: int | None = None,
        memory: float = inf,
    ) -> None:
        if cache_tokens is not None and (not isinstance(cache_tokens, int) or cache_tokens < 1):
            raise MessageError(f"cache_tokens is a number of tokens, 1 or more, not {cache_tokens!r:.40}")
        self.rules = rules
        self.cache_tokens = cache_tokens
        self.memory = memory
        self.prefixes = Prefixes(count)
        kind = _CACHES[rules.caching]
        self.cache = (
            Automatic(rules, self.prefixes, cache_tokens or 0) if kind is Automatic else kind(rules, self.prefixes)
        )
        self._waiting: list[NumberedRequest] = []
        """The requests of the latest time, which cannot read what each other writes."""
        self._at = -inf
        self._requests = 0
        self._tools = self._content = False
        self._marks: set[str] = set()

    def add(self, segments: Sequence[Segment], at: float | None = None) -> Charge:
        """Return what a request reads, writes and pays in full, and keep it. `at` never goes back; None never expires.

        Either all requests have a time or none has.
        """
        if at is None or at != self._at:
            self._keep_waiting()
            if self.prefixes.size > self.memory:
                self._forget()
        self._at = 0.0 if at is None else at
        request = self.prefixes.number_request(self._requests, arranged(segments, self.rules), self._at)
        self._requests += 1
        self._notice(request)
        charge = self.cache.charge(request)
        self._waiting.append(request)
        if at is None or self.rules.shares_at_once:
            self._keep_waiting()
        return charge

    def _keep_waiting(self) -> None:
        for request in self._waiting:
            self.cache.keep(request)
        self._waiting.clear()

    def _forget(self) -> None:
        """Forget the half that was used longest ago; everything, if all was used at once."""
        times = sorted(self.cache.used.values())
        middle = times[len(times) // 2] if times else 0.0
        kept = self.prefixes.forget_all_but({prefix for prefix, at in self.cache.used.items() if at > middle})
        if self.prefixes.size > self.memory:
            kept = self.prefixes.forget_all_but(set())
        self.cache.forget_all_but(kept)

    def _notice(self, request: NumberedRequest) -> None:
        """Note what the assumptions depend on."""
        self._tools = self._tools or any(segment.kind == "tool" for segment in request.segments)
        self._content = self._content or "cachedContent" in request.settings
        self._marks.update(segment.mark for segment in request.segments if segment.mark)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The assumptions that matter for the requests so far, a sentence each."""
        return tuple(self._assumed())

    def _assumed(self) -> Iterator[str]:
        rules, size = self.rules, self.cache_tokens
        is_engine = rules.caching == "automatic" and rules.read_price == 1.0
        yield f"one cache serves every request and holds {size:,} tokens, those used last" if size else _HOLDS_ALL
        yield _AT_ONCE.format("can" if rules.shares_at_once else "cannot")
        yield _KEYED.format(", ".join(rules.keyed_by)) if rules.keyed_by else _SETTINGS
        yield from _ASSUMED[rules.caching]
        if rules.caching == "automatic":
            kept = _ANSWERS_KEPT if rules.keeps_answers else _ANSWERS_WAIT
            yield from (_ANSWERS_COUNT, _UNITS_END) if rules.whole_units else (kept,)
            if rules.reported > 1:
                yield f"what is read is rounded down to {rules.reported} tokens, as answers report it"
        if is_engine:
            yield _FULL_ATTENTION
            yield from () if size else (_SIZE,)
            yield from (_TOOLS.format("behind" if rules.tools_after_system else "before"),) if self._tools else ()
        if rules.caching == "implicit":
            marks_looked_at = f"the first {rules.lookup_first} and the latest {rules.lookup_latest} marks"
            messages = f"{rules.lookback} earlier messages, where pages differ"
            yield f"entries are looked for at {marks_looked_at} and {messages}"
        if self.prefixes.count is estimate_tokens:
            yield _ESTIMATED
        if self.prefixes.digests:
            yield _DIGESTS
        if self._content:
            yield _NO_CONTENT
        yield from self._assumed_of_marks()

    def _assumed_of_marks(self) -> Iterator[str]:
        rules = self.rules
        if rules.lifetimes and (unknown := sorted(self._marks.difference(rules.lifetimes))):
            yield f"{unknown[0]}, a lifetime that {rules.provider} has not, is {rules.lifetimes[0]}"
        known = self._marks.intersection(rules.lifetimes)
        if rules.write_price and (unpriced := sorted(known.difference(rules.write_price))):
            yield f"a write for {unpriced[0]}, whose price is not published, costs what the dearest other one does"


def arranged(segments: Sequence[Segment], rules: Rules) -> Sequence[Segment]:
    """Return the segments of a request as a cache sees them: without settings that it ignores, tools where they go."""
    if rules.keyed_by:
        segments = [one for one in segments if one.kind != "setting" or one.place in rules.keyed_by]
    if not rules.tools_after_system or not any(segment.kind == "tool" for segment in segments):
        return segments
    first = next((n for n, one in enumerate(segments) if one.role not in ("", "system")), len(segments))
    before = segments[:first]
    settings = [one for one in before if one.kind == "setting"]
    tools = [one for one in before if one.kind == "tool"]
    system = [one for one in before if one.kind not in ("setting", "tool")]
    return [*settings, *system, *tools, *segments[first:]]


def _check_times(times: Sequence[float], requests: int) -> None:
    if times and len(times) != requests:
        raise MessageError(f"{len(times)} times for {requests} requests; give one each, or none")
    if wrong := [time for time in times if not isfinite(time)]:
        raise MessageError(f"a time is a number of seconds, not {wrong[0]}")
    for number, (before, time) in enumerate(pairwise(times), 2):
        if time < before:
            raise MessageError(f"request {number} starts {before - time:g} seconds before request {number - 1}")
