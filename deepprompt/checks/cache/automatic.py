"""The cache that providers and engines keep without marks: whatever begins like an earlier request is read."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator

from deepprompt.checks.cache.caches import Cache, Charge
from deepprompt.checks.cache.prefixes import NumberedRequest, Prefixes
from deepprompt.providers.rules import Rules, seconds
from deepprompt.text.compare import shared_start

_ITSELF = ("setting", "")  # stands for the end of a prefix: no segment after it has this kind


class Automatic(Cache):
    """A cache that reads the shared start of an earlier request, in whole blocks or in whole units."""

    def __init__(self, rules: Rules, prefixes: Prefixes, capacity: int = 0) -> None:
        super().__init__(rules, prefixes)
        self.capacity = capacity
        """The tokens that the cache holds; 0 if it holds everything."""
        self.held: OrderedDict[int, int] = OrderedDict()
        """The tokens of each prefix that it holds, without those before it; the longest unused first."""
        self.size = 0
        self.lives = seconds(rules.lives)
        self.texts: dict[tuple[int, str, str], list[tuple[str, int]]] = {}
        """The texts that followed a prefix, sorted: the two neighbours of a new text share the most with it."""
        self.units: dict[tuple[int, str, str], dict[str, float]] = {}
        """The units after a prefix: each is the start of a text that followed, with the time of its last use."""
        self.answers: dict[int, int] = {}
        """For a prefix that was a whole request: the prefix that includes the first response seen to it."""

    def charge(self, request: NumberedRequest) -> Charge:
        """Read what is shared with an earlier request, in whole blocks, or the longest unit."""
        rules = self.rules
        index, text = self._alike(request)
        shared = read = self._tokens(request, index, text)
        if rules.whole_units:
            read = max(self._read_units(request), default=0)
        elif rules.keeps_answers:
            ends = [end for prefix, end in self._answers(request) if self._lives(prefix, request)]
            read = max([shared, *(request.up_to(end) - 1 for end in ends)])
        if rules.last_token_recomputed:
            read = min(read, max(request.total - 1, 0))
        for block in (rules.granularity, rules.reported):
            read -= read % max(block, 1)
        known, limit = self._known(request), ""
        if known > index:
            limit = "some or all of them have expired"
        elif shared and read < rules.minimum:
            limit = f"fewer than {rules.minimum:,} are not cached"
        elif rules.whole_units and shared - read >= max(rules.reported, 1):
            limit = "no further unit ends in them"
        elif shared and not read:
            limit = f"they are read by {max(rules.granularity, rules.reported)}"
        if limit:
            limit = f"{max(shared, request.up_to(known)):,} tokens were sent before, but {limit}"
        read = read if read >= rules.minimum else 0
        return Charge(read, {}, request.total - read, self._why(request, limit))

    def keep(self, request: NumberedRequest) -> None:
        """Renew what the request shares with earlier ones, and store what is new."""
        if self.rules.whole_units:
            self._keep_units(request)
        elif self.rules.keeps_answers:
            self._keep_answers(request)
        for index, segment in enumerate(request.segments):
            if request.prefixes[index] not in self.used:
                insort(self.texts.setdefault(request.start(index), []), (segment.text, request.prefixes[index]))
        super().keep(request)
        if self.capacity:
            self._hold(request, self.capacity)

    def forget_all_but(self, kept: set[int]) -> None:
        """Forget the texts, units and responses too."""
        super().forget_all_but(kept)
        self.held = OrderedDict((prefix, tokens) for prefix, tokens in self.held.items() if prefix in kept)
        self.size = sum(self.held.values())
        followed = {start: [one for one in texts if one[1] in kept] for start, texts in self.texts.items()}
        self.texts = {start: texts for start, texts in followed.items() if texts}
        self.units = {start: used for start, used in self.units.items() if start[0] in kept}
        self.answers = {prefix: end for prefix, end in self.answers.items() if prefix in kept and end in kept}

    def _hold(self, request: NumberedRequest, capacity: int) -> None:
        """Make room for a request: what was used longest ago goes first, and the end of a request before its start."""
        for index in reversed(range(len(request.prefixes))):
            prefix, tokens = request.prefixes[index], request.ends[index] - request.up_to(index)
            self.size += tokens - self.held.pop(prefix, 0)
            self.held[prefix] = tokens
        while self.size > capacity:
            _, tokens = self.held.popitem(last=False)
            self.size -= tokens

    def _alike(self, request: NumberedRequest) -> tuple[int, str]:
        """Return how many segments from the start are cached, and the cached start of the next one's text."""
        index = 0
        while index < len(request.prefixes) and self._lives(request.prefixes[index], request):
            index += 1
        if index == len(request.prefixes):
            return index, ""
        text, texts = request.segments[index].text, self.texts.get(request.start(index), [])
        place = bisect_left(texts, (text, 0))
        near = [
            next((other for other, prefix in side if self._lives(prefix, request)), "")
            for side in (reversed(texts[:place]), texts[place:])
        ]
        return index, text[: max(shared_start(text, other) for other in near)]

    def _lives(self, prefix: int, request: NumberedRequest) -> bool:
        if self.capacity and prefix not in self.held:
            return False
        return prefix in self.used and request.at < self.used[prefix] + self.lives

    def _tokens(self, request: NumberedRequest, index: int, text: str) -> int:
        """Return the tokens of the first segments and of the start of the next one's text."""
        before = request.up_to(index)
        # The two halves of a text may have more tokens than the whole.
        return min(before + self.prefixes.count(text), request.ends[index]) if text else before

    def _units(self, request: NumberedRequest) -> Iterator[tuple[int, dict[str, float], str]]:
        """Yield the units that a request contains: their tokens, and where their last use is stored."""
        for index, segment in enumerate(request.segments[: self._known(request) + 1]):
            for text in (used := self.units.get(request.start(index), {})):
                if segment.text.startswith(text):
                    yield self._tokens(request, index, text), used, text
            if used := self.units.get((request.prefixes[index], *_ITSELF), {}):
                yield request.ends[index], used, ""

    def _answers(self, request: NumberedRequest) -> Iterator[tuple[int, int]]:
        """Yield the earlier requests that this one continues, and the end of the response in it."""
        for index, prefix in enumerate(request.prefixes[: self._known(request)]):
            end = index + 1
            while prefix in self.sent and end < len(request.segments) and request.segments[end].role == "assistant":
                end += 1
            answer = request.prefixes[end - 1]
            if answer != prefix and self.answers.get(prefix, answer) == answer:
                yield prefix, end

    def _keep_answers(self, request: NumberedRequest) -> set[int]:
        """Store the responses that the request sends back for the first time, and return where they end."""
        ends = set()
        for prefix, end in list(self._answers(request)):
            self.answers[prefix] = request.prefixes[end - 1]
            ends.add(end)
        for prefix in request.prefixes[-1:]:  # a request that is sent again gets another response
            self.answers.pop(prefix, None)
        return ends

    def _read_units(self, request: NumberedRequest) -> Iterator[int]:
        """Yield the tokens of the units that can be read."""
        yield from (tokens for tokens, used, text in self._units(request) if request.at < used[text] + self.lives)
        yield from (request.up_to(end) for prefix, end in self._answers(request) if self._lives(prefix, request))

    def _keep_units(self, request: NumberedRequest) -> None:
        """Store the units of a request: up to its end, to each response, and to where it leaves another request."""
        for _, used, text in self._units(request):
            used[text] = request.at
        index, text = self._alike(request)
        ends = {len(request.segments), 0 if text else index, *self._keep_answers(request)}
        for end in ends - {0}:
            self.units[request.prefixes[end - 1], *_ITSELF] = {"": request.at}
        if text:
            self.units.setdefault(request.start(index), {})[text] = request.at
