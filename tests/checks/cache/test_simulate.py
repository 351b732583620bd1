"""A whole conversation through a cache: what each request reads, and the laws that hold for all providers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepprompt import blame, build_request
from deepprompt.checks.cache.simulate import Simulator, simulate
from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.providers.rules import Rules, seconds
from deepprompt.providers.segments import Segment
from tests.support.cached import (
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    GPT,
    GPT_5,
    GPT_5_5,
    MODELS,
    NEXT,
    NOTHING,
    NOVA,
    QUESTION,
    SGLANG,
    SYSTEM,
    VLLM,
    Replay,
    Request,
    marked,
    reads,
    request,
    rules_of,
    run,
    said,
    setting,
)

# A sentence of what is assumed, by provider.
ASSUMED = {
    "anthropic": "an entry is renewed by every request that has a mark at its end, also where a longer one is read",
    "openai": "only what lies between the longest entry that is read and the last boundary is written",
    "openai-responses": "entries are looked for at the first 2 and the latest 50 marks and 20 earlier messages, where "
    "pages differ",
    "deepseek": "units end with a request, with its answer and where two requests part: other intervals are not "
    "published",
    "gemini": "an answer can be read once it was sent back",
    "vllm": "the model attends to all of its input: with a sliding window or a state, an engine reads less",
}


class TestSimulation:
    """The sums, and what is assumed."""

    def test_sums(self) -> None:
        """Totals over all requests; the share leaves the first one out, as nothing can be read there."""
        found = run([request(marked(SYSTEM), QUESTION), request(marked(SYSTEM), NEXT)], CLAUDE)
        assert (found.total, found.read, found.read_share) == (2250, 1000, 1000 / 1050)
        assert found.paid == 1000 * 1.25 + 200 + 1000 * 0.05 + 50
        assert found.price == found.paid / 2250

    @pytest.mark.parametrize("requests", [[], [request()], [request(), request()]])
    def test_nothing_at_all(self, requests: list[Request]) -> None:
        """No tokens cost what no tokens cost."""
        found = run(requests, CLAUDE)
        assert (found.total, found.read_share, found.price, found.paid) == (0, 0.0, 1.0, 0.0)

    def test_the_estimate_is_the_default(self) -> None:
        """Bytes divided by four, as everywhere; that is said."""
        found = simulate([request(SYSTEM)], CLAUDE)
        assert found.charges[0].full == 250
        assert "tokens are estimated, as bytes divided by four" in found.assumed
        assert "tokens are estimated, as bytes divided by four" not in run([], CLAUDE).assumed

    @pytest.mark.parametrize(("provider", "sentence"), ASSUMED.items())
    def test_what_is_assumed(self, provider: str, sentence: str) -> None:
        """Each provider's simulation says what it takes for granted."""
        assumed = run([], rules_of(provider)).assumed
        assert sentence in assumed
        assert len(set(assumed)) == len(assumed)
        assert "one cache serves every request, and keeps what it has for its whole lifetime" in assumed

    def test_what_is_reported_is_assumed_too(self) -> None:
        """Where answers round."""
        rounded = "what is read is rounded down to 128 tokens, as answers report it"
        assert rounded in run([], DEEPSEEK).assumed
        assert rounded not in run([], VLLM).assumed

    @pytest.mark.parametrize("kind", ["image", "tool_result"])
    def test_images(self, kind: str) -> None:
        """What an image costs is not known, wherever it stands; that is said."""
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 1000}}
        block = image if kind == "image" else {"type": "tool_result", "tool_use_id": "x", "content": [image]}
        found = run([read_request([{"role": "user", "content": [block]}])], CLAUDE)
        assert found.total < 250
        assert found.assumed[-1] == "images and files count for next to nothing"
        assert found.assumed[-1] not in run([request(said("sha256:"))], CLAUDE).assumed

    def test_cached_content(self) -> None:
        """What Gemini keeps under a name is not in the request, and not counted."""
        found = run([request(setting("cachedContent", '"cachedContents/x"'), QUESTION)], GEMINI)
        assert found.total == 200
        assert found.assumed[-1] == "cachedContent is no part of the input"

    @pytest.mark.parametrize(("times", "message"), [
        ((0.0,), "1 times for 2 requests; give one each, or none"),
        ((0.0, math.nan), "a time is a number of seconds, not nan"),
        ((0.0, math.inf), "a time is a number of seconds, not inf"),
        ((9.5, 2.0), "request 2 starts 7.5 seconds before request 1"),
    ])  # fmt: skip
    def test_times(self, times: tuple[float, ...], message: str) -> None:
        """One a request, in order."""
        with pytest.raises(MessageError, match=f"^{message}$"):
            run([request(QUESTION)] * 2, CLAUDE, *times)

    @pytest.mark.parametrize(("lifetime", "expected"), [("90s", 90), ("5m", 300), ("24h", 86400), ("", math.inf)])
    def test_seconds(self, lifetime: str, expected: float) -> None:
        """A lifetime is a number and a unit."""
        assert seconds(lifetime) == expected

    @pytest.mark.parametrize("lifetime", ["5", "m", "5d", "-5m", "5 m", "²m", "٣m", "1.5h"])
    def test_no_lifetime(self, lifetime: str) -> None:
        """Anything else is refused: facts of one's own may have a typing error."""
        with pytest.raises(MessageError, match=r"^a lifetime is a number and s, m or h, such as 5m, not "):
            run([], replace(GPT_5, lives=lifetime))


SOME_RULES = [
    *(replace(rules_of(provider), minimum=8) for provider in MODELS),
    replace(CLAUDE, minimum=0, lookback=2),
    replace(NOVA, minimum=8),
    NOTHING,
    replace(GPT, minimum=8, lookback=1, lookup_first=1, lookup_latest=1),
    replace(GPT_5, minimum=8, granularity=4, reported=2),
    replace(GPT_5_5, minimum=0, granularity=4, reported=1),
    replace(DEEPSEEK, reported=1),
    replace(DEEPSEEK, reported=1, lives="1h"),
    replace(VLLM, granularity=2),
    SGLANG,
]
EXACT_UNITS = replace(DEEPSEEK, reported=1)
TEXTS = st.sampled_from(["", "a", "ab", "abc", "abcdefgh", "abcdefgx", "b" * 16, "b" * 15 + "c", "é\ud800"])

KINDS = st.sampled_from(
    ("user text", "user text", "assistant text", "assistant tool_use", "user tool_result", "system system")
)


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """A block without a mark."""
    role, kind = draw(KINDS).split()
    return Segment("here", kind, role, draw(TEXTS), None, draw(st.booleans()))


# Made once: making a strategy for each draw takes longer than drawing from it.
MORE = st.lists(segments(), max_size=4)
LIFETIMES = st.lists(st.sampled_from(["", "1h"]), min_size=3, max_size=3)
GAPS = st.sampled_from([0, 1, 250, 2000, 90000])


@cache
@st.composite
def conversations(draw: st.DrawFn, least: int = 0) -> list[Request]:
    """Requests that mostly continue an earlier one. Some stop early, and some end differently."""
    requests: list[Request] = []
    for _ in range(draw(st.integers(least, 6))):
        goes_on = bool(requests) and draw(st.integers(0, 4)) > 0
        before = draw(st.sampled_from(requests)) if goes_on else list[Segment]()
        kept = before[: draw(st.integers(0, len(before)))] if draw(st.booleans()) else before
        blocks = [replace(block, mark=None) for block in kept if block.kind != "setting"]
        blocks += draw(MORE)
        places = draw(st.lists(st.integers(0, len(blocks) - 1), max_size=3, unique=True)) if blocks else []
        lifetimes = sorted(draw(LIFETIMES), reverse=True)
        for place, lifetime in zip(sorted(places), lifetimes, strict=False):
            blocks[place] = replace(blocks[place], mark=lifetime)
        settings = [setting("model", "m")] if draw(st.integers(0, 3)) == 0 else []
        explicit = setting("prompt_cache_options", '{"mode":"explicit"}')
        options = [explicit] if draw(st.integers(0, 2)) == 0 else []
        requests.append([*settings, *options, *blocks])
    return requests


@st.composite
def replays(draw: st.DrawFn, least: int = 0) -> Replay:
    """Requests with or without times. Some may be equal."""
    requests = draw(conversations(least))
    if draw(st.booleans()):
        return requests, ()
    gaps = draw(st.lists(GAPS, min_size=len(requests), max_size=len(requests)))
    return requests, tuple(float(sum(gaps[: number + 1])) for number in range(len(gaps)))


some_rules = st.sampled_from(SOME_RULES)


def visible(times: tuple[float, ...], number: int) -> list[int]:
    """The earlier requests that one can read from."""
    return [earlier for earlier in range(number) if not times or times[earlier] < times[number]]


def content(one: Request) -> list[tuple[str, str, str]]:
    """What counts of a request, settings aside."""
    return [(block.kind, block.role, block.text) for block in one if block.kind != "setting"]


def settings_of(one: Request) -> list[Segment]:
    """What a prefix depends on beside its text."""
    return [block for block in one if block.kind == "setting" and block.place != "prompt_cache_options"]


def shared(one: Request, other: Request) -> tuple[int, str]:
    """How many blocks two requests share, and how much of the next one's text."""
    if settings_of(one) != settings_of(other):
        return 0, ""
    pairs = list(zip(content(one), content(other), strict=False))
    whole = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    if whole == len(pairs) or pairs[whole][0][:2] != pairs[whole][1][:2]:
        return whole, ""
    letters = takewhile(lambda pair: pair[0] == pair[1], zip(pairs[whole][0][2], pairs[whole][1][2], strict=False))
    return whole, "".join(letter for letter, _ in letters)


def tokens(one: Request, whole: int, part: str = "") -> int:
    """How many tokens the first blocks of a request have, and the beginning of the next."""
    return sum(len(text) for _, _, text in content(one)[:whole]) + len(part)


def answer_end(one: Request, earlier: Request) -> int:
    """Where the answer to an earlier request ends in one that begins with it, 0 if it does not."""
    size = len(content(earlier))
    if settings_of(one) != settings_of(earlier) or content(one)[:size] != content(earlier):
        return 0
    return size + len(list(takewhile(lambda block: block[1] == "assistant", content(one)[size:])))


def begins_with(one: Request, unit: Request, whole: int, part: str) -> bool:
    """Whether a request begins with some blocks of another, and the beginning of its next."""
    own_whole, own_part = shared(one, unit)
    same = settings_of(one) == settings_of(unit)
    return same and (own_whole > whole or (own_whole == whole and own_part.startswith(part)))


def lifetime_of(rules: Rules) -> float:
    """The longest that anything lives unused."""
    lifetimes = [seconds(life) for life in rules.lifetimes] or [seconds(rules.lives)]
    return max(lifetimes)


class TestLaws:
    """What holds under all rules."""

    @given(replays(), some_rules)
    def test_every_token_is_charged_once(self, replay: Replay, rules: Rules) -> None:
        """Read, written and full make up the input, and none is negative."""
        requests, times = replay
        found = run(requests, rules, *times)
        for one, charge in zip(requests, found.charges, strict=True):
            assert charge.total == tokens(one, len(one))
            assert min(charge.read, charge.full, *charge.written.values(), 0) == 0
            assert set(charge.written) <= set(rules.lifetimes)
        assert found.total == sum(charge.total for charge in found.charges)

    @given(replays(), some_rules)
    def test_only_what_was_sent_is_read(self, replay: Replay, rules: Rules) -> None:
        """No request reads more than it shares with an earlier one; with whole units, and with the answer to it."""
        requests, times = replay
        rules = replace(rules, shares_at_once=False, keyed_by=())
        for number, charge in enumerate(run(requests, rules, *times).charges):
            one = requests[number]
            earlier = [requests[index] for index in visible(times, number)]
            most = max((tokens(one, *shared(one, other)) for other in earlier), default=0)
            if rules.whole_units or rules.keeps_answers:
                most = max([most, *(tokens(one, answer_end(one, other)) for other in earlier)])
            assert charge.read <= most

    @given(replays(1), some_rules)
    @example(([[Segment("here", "text", "user", "b" * 16, "", True)]], ()), SOME_RULES[0])
    def test_a_repeated_request_reads_all_it_may(self, replay: Replay, rules: Rules) -> None:
        """Sent again at once, a request reads what it wrote, or what the engine's blocks allow."""
        one = replay[0][-1]
        first, second, third = run([one] * 3, rules).charges
        if rules.caching in ("marked", "implicit"):
            allowed = sum(first.written.values())
        elif rules.caching == "none":
            allowed = 0
        else:
            allowed = first.total - (rules.last_token_recomputed and first.total > 0)
            allowed -= allowed % rules.granularity
            allowed -= allowed % rules.reported
            allowed = allowed if allowed >= rules.minimum else 0
        assert second.read == third.read == allowed
        assert not second.written

    @given(replays(), some_rules)
    def test_nothing_is_read_after_its_lifetime(self, replay: Replay, rules: Rules) -> None:
        """Requests further apart than anything lives read nothing."""
        requests, _ = replay
        life = lifetime_of(rules)
        if math.isfinite(life):
            assert not any(reads(requests, rules, *(life * number for number in range(len(requests)))))

    @given(replays(), some_rules)
    def test_the_numbers_are_in_range(self, replay: Replay, rules: Rules) -> None:
        """A share is a share, and a price lies between reading all and writing all at the dearest."""
        requests, times = replay
        found = run(requests, rules, *times)
        assert 0 <= found.read_share <= 1
        assert min(rules.read_price, 1) <= found.price <= max([1, *rules.write_price.values()]) + 1e-9

    @given(replays(), some_rules, st.integers(0, 6))
    def test_later_requests_change_nothing(self, replay: Replay, rules: Rules, end: int) -> None:
        """A charge is settled when the request is sent."""
        requests, times = replay
        assert run(requests[:end], rules, *times[:end]).charges == run(requests, rules, *times).charges[:end]

    @given(replays(), some_rules)
    def test_a_reason_is_given(self, replay: Replay, rules: Rules) -> None:
        """Where not even what was sent before is read, by a block's length, something is said."""
        requests, times = replay
        for number, charge in enumerate(run(requests, rules, *times).charges):
            sent = [tokens(requests[number], shared(requests[number], requests[index])[0])
                    for index in visible(times, number)]  # fmt: skip
            if charge.read == 0 and max(sent, default=0) > 0:
                assert charge.why

    @given(replays(), st.sampled_from([rules for rules in SOME_RULES if rules.caching == "automatic"]))
    def test_blocks_of_the_longest_shared_prefix(self, replay: Replay, rules: Rules) -> None:
        """The rule of the engines, word by word: the longest prefix that is shared and alive, in whole blocks."""
        requests, times = replay
        rules = replace(rules, whole_units=False, keeps_answers=False, shares_at_once=False, keyed_by=())
        for number, read in enumerate(reads(requests, rules, *times)):
            one = requests[number]
            alive = [requests[index] for index in visible(times, number)
                     if not times or times[number] < times[index] + seconds(rules.lives)]  # fmt: skip
            expected = max((tokens(one, *shared(one, other)) for other in alive), default=0)
            expected = min(expected, max(tokens(one, len(one)) - rules.last_token_recomputed, 0))
            expected -= expected % rules.granularity
            expected -= expected % rules.reported
            assert read == (expected if expected >= rules.minimum else 0)

    @given(conversations())
    def test_whole_units(self, requests: list[Request]) -> None:
        """DeepSeek's rule, word by word: units end with a request, its first answer, and where any two part."""
        for number, read in enumerate(reads(requests, EXACT_UNITS)):
            one, units = requests[number], list[tuple[Request, int, str]]()
            for index, other in enumerate(requests[:number]):
                if not content(other):
                    continue
                units.append((other, len(content(other)), ""))
                units += [(other, *shared(other, third)) for third in requests[:index]]
                goes_on = [later for later in requests[index + 1 : number + 1]
                           if answer_end(later, other) > len(content(other))]  # fmt: skip
                units += [(later, answer_end(later, other), "") for later in goes_on[:1]]
            held = [tokens(one, whole, part) for unit, whole, part in units if begins_with(one, unit, whole, part)]
            assert read == max(held, default=0)

    @given(replays(), st.sampled_from([rules for rules in SOME_RULES if rules.caching == "marked"]))
    def test_entries_at_marks(self, replay: Replay, rules: Rules) -> None:
        """Anthropic's rule, word by word: walk back from each mark over so many positions, and take the longest."""
        requests, times = replay
        times = tuple(time + number / 1000 for number, time in enumerate(times))  # one after the other
        entries: dict[str, tuple[float, float]] = {}
        for number, (one, charge) in enumerate(zip(requests, run(requests, rules, *times).charges, strict=True)):
            now = times[number] if times else 0.0
            blocks = [block for block in one if block.kind != "setting"]
            keys = [repr((settings_of(one), content(one)[: index + 1])) for index in range(len(blocks))]
            marks = [index for index, block in enumerate(blocks) if block.mark is not None]
            alive = {index for index, key in enumerate(keys) if key in entries and now < entries[key][0]}
            hits = [index for mark in marks for index in range(mark + 1)
                    if index in alive and positions(blocks[index : mark + 1], rules) <= rules.lookback]  # fmt: skip
            read = tokens(one, max(hits, default=-1) + 1)
            writes = {index: 3600.0 if blocks[index].mark == "1h" and "1h" in rules.lifetimes else 300.0
                      for index in marks if tokens(one, index + 1) >= rules.minimum}  # fmt: skip
            assert charge.read == read
            assert charge.read + sum(charge.written.values()) == max([read, *(tokens(one, at + 1) for at in writes)])
            for index in {max(hits, default=-1), *writes} - {-1}:
                life = entries[keys[index]][1] if index in alive else writes[index]
                entries[keys[index]] = (now + life, life)


def positions(blocks: Sequence[Segment], rules: Rules) -> int:
    """How many positions some blocks are, where a run of tool calls or results may be one."""
    kinds = [block.kind for block in blocks]
    runs = ("tool_use", "tool_result") if rules.tool_runs_count_once else ()
    return sum(kind not in runs or number == 0 or kinds[number - 1] != kind for number, kind in enumerate(kinds))


@pytest.mark.slow
class TestSpeed:
    """100 requests of 250 blocks take a tenth of a second; the limit is for slow machines."""

    RULES = (CLAUDE, GPT, GPT_5_5, DEEPSEEK, VLLM)

    @pytest.mark.parametrize("rules", RULES, ids=lambda rules: f"{rules.provider} {rules.model}")
    @pytest.mark.parametrize("shape", ["growing", "parting"])
    def test_speed(self, rules: Rules, shape: str) -> None:
        """Whether they grow, or all part from each other early on."""
        blocks = [said(f"{number} " * 150, ("user", "assistant")[number % 2]) for number in range(250)]
        if shape == "growing":
            requests = [request(*blocks[: 150 + turn], marked(blocks[150 + turn])) for turn in range(100)]
        else:
            requests = [request(blocks[0], said(f"{'x' * 500}{turn}", mark=""), *blocks[2:]) for turn in range(100)]
        start = process_time()
        simulate(requests, rules)
        assert process_time() - start < 1.25


class TestWhatIsTaken:
    """What stands for a request, and what for rules."""

    def test_bodies_and_requests(self) -> None:
        """A request, its body and what was read of it are one thing, and may stand side by side."""
        asked = [{"role": "user", "content": "Why does the build fail?"}]
        sent = build_request("You are careful. " * 200, asked, to="anthropic", model="claude-opus-5-5")
        read = [read_request(sent.body)] * 3
        assert simulate([sent, sent.body, read[0]], CLAUDE) == simulate(read, CLAUDE)
        assert blame(sent, sent.body) is None

    @pytest.mark.parametrize("one", [{"model": "m", "messages": []}, "You are careful.", None, 3])
    def test_one_request_is_no_list(self, one: object) -> None:
        """A body by itself would be read as a list of its keys."""
        with pytest.raises(MessageError) as found:
            simulate(one, CLAUDE)  # type: ignore[arg-type]
        assert str(found.value) == f"simulate: requests are a list, one or more, not {type(one).__name__}"

    def test_rules_by_name(self) -> None:
        """Rules are those of a model; a provider's name is none."""
        with pytest.raises(MessageError) as found:
            simulate([], "anthropic")  # type: ignore[arg-type]
        wanted = "as bundled_facts().rules(PROVIDER, MODEL) returns"
        assert str(found.value) == f"simulate: rules are those of a model, {wanted}, not 'anthropic'"


class TestMemory:
    """A simulator that forgets."""

    @pytest.mark.parametrize("rules", list(map(rules_of, MODELS)), ids=list(MODELS))
    def test_what_goes_on_is_charged_as_ever(self, rules: Rules) -> None:
        """Conversations that come one after the other are charged the same, and only so much is remembered."""
        little, whole = Simulator(rules, memory=150_000), Simulator(rules)
        for number in range(40):
            talk = [Segment("system", "system", "system", chr(0x4E00 + number) + "s" * 9000, mark="")]
            for turn in range(4):
                talk = [*talk, Segment("messages", "text", "user", f"{turn}" * 400, ends_message=True)]
                one, two = (simulator.add(talk, 100.0 * number + turn) for simulator in (little, whole))
                assert (one.read, one.written, one.full) == (two.read, two.written, two.full)
                talk = [*talk, Segment("messages", "text", "assistant", f"Yes {turn}.", ends_message=True)]
        assert little.prefixes.size < 170_000 < whole.prefixes.size
        assert len(little.cache.used) < 150
