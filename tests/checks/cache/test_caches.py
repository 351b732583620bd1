"""What each provider's cache reads, writes and charges: its rules by example, and the laws that hold for all of them.

One character is one token here, so that every number can be counted by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepprompt import blame, build_request
from deepprompt.checks.cache.simulate import Charge, Simulation, simulate
from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import Rules, seconds
from deepprompt.providers.segments import Segment

Request = list[Segment]
Replay = tuple[list[Request], tuple[float, ...]]

MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "claude-opus-5-5",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-3.8-flash",
    "vllm": "any",
    "sglang": "any",
    "llama.cpp": "any",
    "litellm": "any",
}
MINUTE = 60.0


def rules_of(provider: str, model: str = "") -> Rules:
    """The bundled rules for a model."""
    return bundled_facts().rules(provider, model or MODELS[provider])


CLAUDE, BEDROCK, GPT = rules_of("anthropic"), rules_of("bedrock"), rules_of("openai")
GPT_5_5, GPT_5 = rules_of("openai", "gpt-5.5"), rules_of("openai", "gpt-5")
NOVA, NOTHING = rules_of("bedrock", "amazon.nova-pro-v1:0"), rules_of("bedrock", "meta.llama")
DEEPSEEK, GEMINI = rules_of("deepseek"), rules_of("gemini")
VLLM, SGLANG, LLAMA = rules_of("vllm"), rules_of("sglang"), rules_of("llama.cpp")
PLAIN = replace(SGLANG, last_token_recomputed=False)  # token by token, nothing more


def said(text: str, role: str = "user", mark: str | None = None, kind: str = "text", ends: bool = True) -> Segment:
    """A block of a message."""
    return Segment("", "system" if role == "system" else kind, role, text, mark, ends)


def request(*segments: Segment) -> Request:
    """A request of some blocks, each with its place."""
    return [replace(segment, place=segment.place or f"block {number}") for number, segment in enumerate(segments, 1)]


def setting(name: str, value: str) -> Segment:
    """A setting of a request."""
    return Segment(name, "setting", "", value)


def run(requests: Sequence[Request], rules: Rules, *times: float) -> Simulation:
    """Replay requests, counting characters."""
    return simulate(requests, rules, times=times, count=len)


def charges(requests: Sequence[Request], rules: Rules, *times: float) -> list[tuple[int, int, int]]:
    """What each request reads, writes and pays in full."""
    return [(c.read, sum(c.written.values()), c.full) for c in run(requests, rules, *times).charges]


def reads(requests: Sequence[Request], rules: Rules, *times: float) -> list[int]:
    """What each request reads."""
    return [charge.read for charge in run(requests, rules, *times).charges]


def whys(requests: Sequence[Request], rules: Rules, *times: float) -> list[str]:
    """What kept each request from reading more."""
    return [charge.why for charge in run(requests, rules, *times).charges]


SYSTEM = said("s" * 1000, "system")
QUESTION, ANSWER, NEXT = said("q" * 200), said("a" * 300, "assistant"), said("n" * 50)


def marked(segment: Segment, lifetime: str = "") -> Segment:
    """The same block with a mark at its end."""
    return replace(segment, mark=lifetime)


class TestMarked:
    """Anthropic: entries only at marks."""

    def test_a_conversation(self) -> None:
        """The first request writes up to its mark, the next reads that and writes what is new."""
        turns = [request(SYSTEM, marked(QUESTION)), request(SYSTEM, QUESTION, ANSWER, marked(NEXT))]
        assert charges(turns, CLAUDE) == [(0, 1200, 0), (1200, 350, 0)]
        assert whys(turns, CLAUDE) == ["nothing was sent before", ""]

    def test_what_follows_the_last_mark_is_paid_in_full(self) -> None:
        """Only what a mark covers is written."""
        assert charges([request(marked(SYSTEM), QUESTION)] * 2, CLAUDE) == [(0, 1000, 200), (1000, 0, 200)]

    def test_no_mark_no_cache(self) -> None:
        """A prefix that is shared is no hit: without a mark nothing is written or read."""
        turns = [request(SYSTEM, QUESTION)] * 2
        assert charges(turns, CLAUDE) == [(0, 0, 1200)] * 2
        assert whys(turns, CLAUDE) == ["there is no mark; nothing was sent before", "there is no mark"]

    def test_moving_the_mark_costs_nothing(self) -> None:
        """A block that was marked once and no longer is, is read all the same."""
        turns = [request(marked(SYSTEM), QUESTION), request(SYSTEM, marked(NEXT))]
        assert charges(turns, CLAUDE) == [(0, 1000, 200), (1000, 50, 0)]

    def test_an_entry_ends_only_at_a_mark(self) -> None:
        """Where the requests part before the only mark, what they share is in no entry."""
        turns = [request(SYSTEM, marked(QUESTION)), request(SYSTEM, marked(NEXT))]
        assert charges(turns, CLAUDE) == [(0, 1200, 0), (0, 1050, 0)]
        reason = "1,000 tokens were sent before, but no further entry ends in them; differs from block 2 on"
        assert whys(turns, CLAUDE)[1] == reason

    @pytest.mark.parametrize("length", [511, 512])
    def test_minimum(self, length: int) -> None:
        """Below the minimum a mark has no effect, and nothing says so but the numbers."""
        turns = [request(said("x" * length, mark=""))] * 2
        found = [(0, 512, 0), (512, 0, 0)] if length == 512 else [(0, 0, 511)] * 2
        assert charges(turns, CLAUDE) == found
        assert (whys(turns, CLAUDE)[1] == "fewer than 512 tokens are not cached") is (length == 511)

    @pytest.mark.parametrize("second_mark", [False, True])
    def test_lookback(self, second_mark: bool) -> None:
        """The documented example: entries at blocks 10 and 15; from a mark at 35 only 35 to 16 are looked at."""
        blocks = [said(f"{number:100}") for number in range(1, 36)]
        turns = [
            request(*blocks[:9], marked(blocks[9])),
            request(*blocks[:14], marked(blocks[14])),
            request(
                *blocks[:14], marked(blocks[14]) if second_mark else blocks[14], *blocks[15:34], marked(blocks[34])
            ),
        ]
        assert charges(turns, CLAUDE) == [
            (0, 1000, 0),
            (1000, 500, 0),
            (1500, 2000, 0) if second_mark else (0, 3500, 0),
        ]
        missed = "1,500 tokens were sent before, but the entry at block 15 is too many positions before the next mark"
        assert whys(turns, CLAUDE)[2] == ("" if second_mark else missed)

    def test_the_mark_is_the_first_of_twenty_positions(self) -> None:
        """An entry 19 blocks before the mark is found, one 20 before it is not."""
        blocks = [said(f"{number:600}") for number in range(22)]
        turns = [request(marked(blocks[0]))]
        assert reads([*turns, request(*blocks[:19], marked(blocks[19]))], CLAUDE) == [0, 600]
        assert reads([*turns, request(*blocks[:20], marked(blocks[20]))], CLAUDE) == [0, 0]

    @pytest.mark.parametrize(("rules", "read"), [(CLAUDE, 1000), (BEDROCK, 0)], ids=["anthropic", "bedrock"])
    def test_runs_of_tools(self, rules: Rules, read: int) -> None:
        """A run of tool calls is one position, and so is one of results; on Bedrock each counts."""
        calls = [said(f"{n}", "assistant", kind="tool_use") for n in range(30)]
        results = [said(f"{n}", kind="tool_result") for n in range(30)]
        turns = [request(marked(SYSTEM)), request(SYSTEM, *calls, *results, marked(NEXT))]
        assert reads(turns, rules) == [0, read]

    def test_nova_looks_at_its_marks_alone(self) -> None:
        """A lookback of one position: an entry is found only where a mark stands again."""
        first = request(marked(said("s" * 1024, "system")))
        assert reads([first, request(*first, marked(NEXT))], NOVA) == [0, 1024]
        assert reads([first, request(replace(first[0], mark=None), marked(NEXT))], NOVA) == [0, 0]

    @pytest.mark.parametrize(("lifetime", "second", "read"), [
        ("", 299, 1000), ("", 300, 0), ("1h", 3599, 1000), ("1h", 3600, 0),
    ])  # fmt: skip
    def test_lifetime(self, lifetime: str, second: float, read: int) -> None:
        """An entry lives for the lifetime of its mark, from the start of the request that wrote it."""
        turns = [request(marked(SYSTEM, lifetime))] * 2
        assert reads(turns, CLAUDE, 0, second) == [0, read]
        expired = "1,000 tokens were sent before, but the entry at block 1 has expired"
        assert whys(turns, CLAUDE, 0, second)[1] == ("" if read else expired)

    def test_a_read_renews_the_entry(self) -> None:
        """Each use counts as new: four minutes, and four more."""
        turns = [request(marked(SYSTEM))] * 4
        assert reads(turns, CLAUDE, 0, 4 * MINUTE, 8 * MINUTE, 13 * MINUTE) == [0, 1000, 1000, 0]

    def test_an_entry_that_is_only_read_is_renewed_too(self) -> None:
        """Also where its mark has moved on."""
        turns = [request(marked(SYSTEM)), request(SYSTEM, marked(QUESTION)), request(SYSTEM, marked(NEXT))]
        assert reads(turns, CLAUDE, 0, 4 * MINUTE, 8 * MINUTE) == [0, 1000, 1000]

    def test_a_shorter_mark_does_not_shorten_an_entry(self) -> None:
        """Nor does a longer one lengthen it for nothing."""
        long, short = request(marked(SYSTEM, "1h")), request(marked(SYSTEM))
        assert reads([long, short, short], CLAUDE, 0, MINUTE, 30 * MINUTE) == [0, 1000, 1000]
        assert reads([short, long, long], CLAUDE, 0, MINUTE, 30 * MINUTE) == [0, 1000, 0]

    def test_side_by_side(self) -> None:
        """Requests that start together all write: an entry can be read once an answer begins."""
        turns = [request(marked(SYSTEM), said(f"{number}")) for number in range(4)]
        assert charges(turns, CLAUDE, 0, 0, 0, 5) == [(0, 1000, 1)] * 3 + [(1000, 0, 1)]

    def test_two_lifetimes(self) -> None:
        """Read up to A, written for an hour up to B and for five minutes up to C."""
        prefix, first = marked(SYSTEM, "1h"), [marked(SYSTEM, "1h"), marked(QUESTION)]
        turns = [request(*first), request(prefix, QUESTION, ANSWER, marked(NEXT)), request(*first)]
        found = run(turns, CLAUDE, 0, MINUTE, 20 * MINUTE)
        assert found.charges[0] == Charge(0, {"1h": 1000, "5m": 200}, 0, "nothing was sent before")
        assert found.charges[1] == Charge(1200, {"5m": 350}, 0, "")
        expired = "1,200 tokens were sent before, but the entry at block 2 has expired"
        assert found.charges[2] == Charge(1000, {"5m": 200}, 0, expired)
        assert found.paid == pytest.approx(1000 * 2 + 200 * 1.25 + 1200 * 0.05 + 350 * 1.25 + 1000 * 0.05 + 200 * 1.25)

    def test_too_many_marks(self) -> None:
        """A fifth mark is refused, as the provider does."""
        with pytest.raises(MessageError, match=r"^request 2: 5 marks; anthropic takes 4 and refuses more$"):
            run([request(QUESTION), request(*[marked(QUESTION)] * 5)], CLAUDE)

    def test_the_longer_lifetime_comes_first(self) -> None:
        """A mark for an hour after one for five minutes is refused."""
        message = "request 1: a mark for 1h at block 2 after one for 5m; anthropic takes longer lifetimes first"
        with pytest.raises(MessageError, match=f"^{message}$"):
            run([request(marked(SYSTEM), marked(QUESTION, "1h"))], CLAUDE)

    def test_a_lifetime_of_another_provider(self) -> None:
        """It counts as the one that needs no asking, and that is said."""
        found = run([request(marked(SYSTEM, "30m"))], CLAUDE)
        assert found.charges[0].written == {"5m": 1000}
        assert "30m, a lifetime that anthropic has not, is 5m" in found.assumed

    def test_a_setting(self) -> None:
        """A setting that changed costs what stands after it, also back and forth between two that are known."""
        low, high = [request(setting("model", "m"), setting("thinking", value), marked(SYSTEM)) for value in ("1", "2")]
        assert reads([low, high, low], CLAUDE) == [0, 0, 1000]
        assert whys([low, high, low], CLAUDE)[1:] == ["the setting thinking changed", ""]
        assert whys([low, low[1:]], CLAUDE)[1] == "the setting model changed"

    def test_a_setting_of_the_messages(self) -> None:
        """One that stands after the system prompt leaves that to be read."""
        free, forced = (
            request(marked(SYSTEM), setting("tool_choice", choice), marked(QUESTION)) for choice in ("auto", "any")
        )
        assert charges([free, forced, free], CLAUDE) == [(0, 1200, 0), (1000, 200, 0), (1200, 0, 0)]
        assert whys([free, forced], CLAUDE)[1] == "the setting tool_choice changed"
        other = request(said("o" * 1000, "system"), *forced[1:])
        assert whys([free, other, forced], CLAUDE)[2] == "its settings are new here"


class TestImplicit:
    """OpenAI from GPT-5.6 on: entries at the newest message and at marks, exact."""

    DEVELOPER = said("d" * 2000, "system")

    def test_a_conversation(self) -> None:
        """Messages that are appended are read up to the last one that was sent."""
        turns = [request(self.DEVELOPER, QUESTION), request(self.DEVELOPER, QUESTION, ANSWER, NEXT)]
        assert charges(turns, GPT) == [(0, 2200, 0), (2200, 350, 0)]

    def test_a_static_prefix_and_a_changing_suffix(self) -> None:
        """Without a mark that is a permanent miss with paid writes: the prefix has no entry of its own."""
        turns = [request(self.DEVELOPER, said(f"question {number}")) for number in range(3)]
        assert charges(turns, GPT) == [(0, 2010, 0)] * 3
        reason = "2,000 tokens were sent before, but no further entry ends in them; differs from block 2 on"
        assert whys(turns, GPT)[2] == reason
        turns = [request(marked(self.DEVELOPER), said(f"question {number}")) for number in range(3)]
        assert charges(turns, GPT) == [(0, 2010, 0), (2000, 10, 0), (2000, 10, 0)]

    def test_extending_the_last_message(self) -> None:
        """A message that grew is another one; so is one that got a block, as a boundary is the end of a message."""
        first, grown = request(self.DEVELOPER, QUESTION), said(QUESTION.text + "more")
        assert reads([first, request(self.DEVELOPER, grown)], GPT) == [0, 0]
        split = request(self.DEVELOPER, replace(QUESTION, ends_message=False), NEXT)
        assert reads([first, split], GPT) == [0, 0]
        assert whys([first, split], GPT)[1] == (
            "2,200 tokens were sent before, but the entry at block 2 is at no place where one is looked for"
        )
        assert reads([first, request(self.DEVELOPER, marked(split[1]), NEXT)], GPT) == [0, 2200]

    def test_the_developer_message_alone(self) -> None:
        """Its end is a boundary, and is looked at later; tools before it are none."""
        tools = said("t" * 2000, "", kind="tool", ends=False)
        alone, later = request(tools, self.DEVELOPER), request(tools, self.DEVELOPER, QUESTION)
        assert charges([alone, later], GPT) == [(0, 4000, 0), (4000, 200, 0)]
        far = request(tools, self.DEVELOPER, *[said(f"{n}") for n in range(30)])
        assert reads([alone, far], GPT) == [0, 4000]
        assert charges([request(tools), request(tools, ANSWER)], GPT) == [(0, 0, 2000), (0, 0, 2300)]
        assert whys([request(tools)], GPT) == ["there is no mark; nothing was sent before"]

    def test_a_later_developer_message(self) -> None:
        """It is no boundary, nor is an answer: what follows the last user's message is paid in full."""
        late = said("l" * 70, "system")
        assert charges([request(self.DEVELOPER, QUESTION, ANSWER, late)], GPT) == [(0, 2200, 370)]

    def test_a_group_of_results(self) -> None:
        """The last of consecutive results is a boundary, the others are none."""
        results = [said(f"{n:100}", kind="tool_result") for n in range(3)]
        turns = [request(self.DEVELOPER, *results[:2]), request(self.DEVELOPER, *results)]
        assert charges(turns, GPT) == [(0, 2200, 0), (0, 2300, 0)]
        assert charges([turns[0], request(*turns[0], NEXT)], GPT)[1] == (2200, 50, 0)

    def test_the_latest_marks_are_written(self) -> None:
        """Three at most beside the newest message; one more than that is looked at, and never written."""
        blocks = [marked(said(f"{n:1100}", ends=False)) for n in range(4)]
        turns = [request(*blocks, QUESTION), request(blocks[0], NEXT), request(*blocks[:2], NEXT)]
        assert reads(turns, GPT) == [0, 0, 2200]

    def test_twenty_earlier_messages(self) -> None:
        """The newest boundary and twenty before it are looked at; with a mark, an older one is found."""
        messages = [said(f"{n:100}") for n in range(22)]
        turns = [request(self.DEVELOPER, messages[0]), request(self.DEVELOPER, *messages[:21])]
        assert reads(turns, GPT) == [0, 2100]
        turns[1] = request(self.DEVELOPER, *messages)
        assert reads(turns, GPT) == [0, 0]
        turns[1] = request(self.DEVELOPER, marked(messages[0]), *messages[1:])
        assert reads(turns, GPT) == [0, 2100]

    def test_first_and_latest_marks_are_looked_at(self) -> None:
        """The first two and the latest fifty: one between them is not found."""
        explicit = setting("prompt_cache_options", '{"mode": "explicit"}')
        blocks = [marked(said(f"{n:1100}")) for n in range(53)]
        unmarked = [replace(block, mark=None) for block in blocks]
        for place, read in ((0, 1100), (1, 2200), (2, 0), (3, 4400)):
            first = request(explicit, *unmarked[:place], blocks[place])
            assert reads([first, request(explicit, *blocks)], GPT) == [0, read], place

    @pytest.mark.parametrize(("length", "read"), [(1023, 0), (1024, 1024)])
    def test_minimum(self, length: int, read: int) -> None:
        """1,024 tokens, exact from there on."""
        turns = [request(said("x" * length))] * 2
        assert reads(turns, GPT) == [0, read]
        assert whys(turns, GPT)[1] == ("" if read else "fewer than 1,024 tokens are not cached")

    def test_lifetime(self) -> None:
        """30 minutes, from the last use."""
        turns = [request(self.DEVELOPER, QUESTION)] * 4
        assert reads(turns, GPT, 0, 29 * MINUTE, 58 * MINUTE, 88 * MINUTE) == [0, 2200, 2200, 0]

    def test_explicit_mode(self) -> None:
        """Only marks count, four of them; without any nothing is cached, and what follows the last is plain."""
        explicit = setting("prompt_cache_options", '{"mode":"explicit"}')
        assert charges([request(explicit, self.DEVELOPER, QUESTION)] * 2, GPT) == [(0, 0, 2200)] * 2
        turns = [request(explicit, marked(self.DEVELOPER), QUESTION)] * 2
        assert charges(turns, GPT) == [(0, 2000, 200), (2000, 0, 200)]
        blocks = [marked(said(f"{n:1100}", ends=False)) for n in range(5)]
        turns = [request(explicit, *blocks), request(explicit, blocks[0]), request(explicit, *blocks[:2])]
        assert reads(turns, GPT) == [0, 0, 2200]

    def test_from_implicit_to_explicit(self) -> None:
        """The entry of the one mode is found in the other only where a mark stands at its end."""
        explicit = setting("prompt_cache_options", '{"mode": "explicit"}')
        implicit = request(setting("prompt_cache_options", '{"mode":"implicit"}'), self.DEVELOPER, QUESTION)
        assert reads([implicit, request(explicit, marked(self.DEVELOPER), QUESTION)], GPT) == [0, 0]
        assert reads([implicit, request(explicit, self.DEVELOPER, marked(QUESTION))], GPT) == [0, 2200]

    def test_lifetimes_of_responses(self) -> None:
        """12 hours can be asked for, for all or at one mark; no price is published, so the other one holds."""
        responses = rules_of("openai-responses")
        asked = setting("prompt_cache_options", '{"mode": "implicit", "ttl": "12h"}')
        turns = [request(asked, self.DEVELOPER, QUESTION)] * 2
        assert run(turns, responses, 0, 3600).charges[0].written == {"12h": 2200}
        assert reads(turns, responses, 0, 3600) == [0, 2200]
        found = run([request(marked(self.DEVELOPER, "12h"), QUESTION)], responses)
        assert found.charges[0].written == {"12h": 2000, "30m": 200}
        assert found.paid == 2200 * 1.25
        assert found.assumed[-1] == (
            "a write for 12h, whose price is not published, costs what the dearest other one does"
        )

    def test_keys(self) -> None:
        """Two keys do not share a cache."""
        turns = [request(setting("prompt_cache_key", key), self.DEVELOPER, QUESTION) for key in "aba"]
        assert reads(turns, GPT) == [0, 0, 2200]

    def test_without_lifetimes(self) -> None:
        """Facts of one's own need not name any: then nothing expires."""
        rules = replace(GPT, lifetimes=())
        assert run([request(marked(self.DEVELOPER), QUESTION)] * 2, rules, 0, 1e9).charges[1].read == 2200


class TestAutomatic:
    """What begins like an earlier request is read, in whole blocks."""

    @pytest.mark.parametrize(("rules", "expected"), [
        (GPT_5, 1152), (GPT_5_5, 0), (GEMINI, 0), (VLLM, 1200), (SGLANG, 1210), (LLAMA, 1210),
    ], ids=lambda value: value.model if isinstance(value, Rules) else "")  # fmt: skip
    def test_a_prefix(self, rules: Rules, expected: int) -> None:
        """The requests share 1,210 tokens, the last ten of them inside a block."""
        turns = [
            request(SYSTEM, QUESTION, said("0123456789 and so on")),
            request(SYSTEM, QUESTION, said("0123456789!")),
        ]
        assert reads(turns, rules) == [0, expected]

    @pytest.mark.parametrize(("length", "read"), [(2047, 0), (2048, 2048), (4095, 2048), (4096, 4096)])
    def test_intervals(self, length: int, read: int) -> None:
        """GPT-5.5 has boundaries every 2,048 tokens."""
        turns = [request(said("x" * length), said(end)) for end in "ab"]
        assert reads(turns, GPT_5_5) == [0, read]

    @pytest.mark.parametrize(("rules", "minimum"), [(GPT_5, 1024), (GEMINI, 4096)], ids=["openai", "gemini"])
    def test_minimum(self, rules: Rules, minimum: int) -> None:
        """Less than the minimum is not read."""
        short, enough = ([request(said("x" * length))] * 2 for length in (minimum - 1, minimum))
        assert reads(short, rules) == [0, 0]
        assert reads(enough, rules) == [0, minimum]
        reason = f"{minimum - 1:,} tokens were sent before, but fewer than {minimum:,} are not cached"
        assert whys(short, rules) == ["nothing was sent before", reason]

    @pytest.mark.parametrize(("rules", "minutes"), [(GPT_5, 5), (GPT_5_5, 24 * 60)], ids=["gpt-5", "gpt-5.5"])
    def test_lifetime(self, rules: Rules, minutes: int) -> None:
        """What nobody uses is gone; what a longer request begins with is used by it."""
        first, longer = request(said("x" * 2048)), request(said("x" * 2048), NEXT)
        turns = [first, longer, first, first]
        times = [0, 50 * minutes, 100 * minutes, 160 * minutes]
        assert reads(turns, rules, *times) == [0, 2048, 2048, 0]
        assert whys(turns, rules, *times)[3] == "2,048 tokens were sent before, but some or all of them have expired"

    def test_what_expired_inside_a_block_is_not_read(self) -> None:
        """The text that is most like it is too old, the one that is less like it is not."""
        turns = [request(said("x" * 1500 + end)) for end in ("aaa", "b" + "a" * 300, "aaaa")]
        assert reads(turns, GPT_5, 0, 200, 400) == [0, 1408, 1408]
        turns = [request(said("x" * 1100 + end)) for end in ("y" * 1000, "z" * 1000, "y" * 999)]
        assert reads(turns, GPT_5, 0, 200, 400) == [0, 1024, 1024]
        assert reads(turns, GPT_5, 0, 200, 250) == [0, 1024, 2048]

    @pytest.mark.parametrize(("length", "read"), [(15, 0), (16, 0), (17, 16), (31, 16), (32, 16), (33, 32), (0, 0)])
    def test_vllm(self, length: int, read: int) -> None:
        """Whole blocks of 16; the last token is always computed, so a multiple of 16 loses its last block."""
        assert reads([request(said("x" * length))] * 2, VLLM) == [0, read]

    def test_less_than_a_block(self) -> None:
        """Sharing a prefix is not yet a hit."""
        assert whys([request(said("x" * 10))] * 2, VLLM)[1] == "10 tokens were sent before, but they are read by 16"

    def test_sglang_pages(self) -> None:
        """A page is one token, unless the backend forces larger ones: a fact of one's own."""
        turns = [request(SYSTEM, said(end)) for end in ("ab", "ac")]
        assert reads(turns, SGLANG) == [0, 1001]
        assert reads(turns, replace(SGLANG, granularity=64)) == [0, 960]

    def test_llama_cpp(self) -> None:
        """Token by token, all but the last."""
        turns = [request(SYSTEM), request(SYSTEM), request(SYSTEM, NEXT)]
        assert reads(turns, LLAMA) == [0, 999, 1000]
        assert reads([request()] * 2, LLAMA) == [0, 0]

    def test_the_text_that_is_most_like_it(self) -> None:
        """Of many that followed the same beginning, wherever it was among them."""
        turns = [request(SYSTEM, said(text)) for text in ("aaaa", "mmxx", "mmmx", "zzzz", "mmmm", "mm")]
        assert reads(turns, PLAIN) == [0, 1000, 1002, 1000, 1003, 1002]

    def test_blocks_of_another_kind(self) -> None:
        """The same text in another role, or as another kind of block, is not the same."""
        turns = [request(SYSTEM, QUESTION), request(SYSTEM, replace(QUESTION, role="assistant"))]
        assert reads(turns, PLAIN) == [0, 1000]
        assert whys(turns, PLAIN)[1] == "differs from block 2 on"

    def test_marks_mean_nothing(self) -> None:
        """They change neither the prefix nor the charge."""
        turns = [request(marked(SYSTEM), QUESTION), request(SYSTEM, *[marked(QUESTION)] * 9)]
        assert reads(turns, PLAIN) == [0, 1200]

    def test_blocks_of_no_tokens(self) -> None:
        """Facts of one's own may say 0; that is one."""
        assert reads([request(SYSTEM)] * 2, replace(PLAIN, granularity=0, reported=0)) == [0, 1000]

    def test_a_count_that_is_not_a_sum(self) -> None:
        """A part of a text that counts for more than the whole counts for as much."""
        turns = [request(said("abc")), request(said("abd"))]
        found = simulate(turns, PLAIN, count=lambda text: 1 if len(text) == 3 else 5)
        assert [(charge.read, charge.full) for charge in found.charges] == [(0, 1), (1, 0)]

    def test_bytes(self) -> None:
        """With a count of bytes, the numbers are those of an engine whose tokens are bytes."""
        turns = [request(said("é" * 16 + end)) for end in "ab"]
        found = simulate(turns, VLLM, count=lambda text: len(text.encode()))
        assert [(charge.read, charge.total) for charge in found.charges] == [(0, 33), (32, 33)]


class TestUnits:
    """DeepSeek: only whole units are read."""

    A = said("A" * 1280, "system")

    def test_the_third_request_hits(self) -> None:
        """A+B and A+C share A, and still miss: that makes A a unit, which A+D reads."""
        turns = [request(self.A, said(end * 200)) for end in "BCD"]
        assert charges(turns, DEEPSEEK) == [(0, 0, 1480), (0, 0, 1480), (1280, 0, 200)]
        assert whys(turns, DEEPSEEK)[1] == (
            "1,280 tokens were sent before, but no further unit ends in them; differs from block 2 on"
        )

    def test_a_common_prefix_inside_a_block(self) -> None:
        """It ends wherever the texts part, and nowhere before."""
        turns = [request(said("A" * 1280 + end * 200)) for end in "BCD"]
        assert reads(turns, DEEPSEEK) == [0, 0, 1280]
        turns = [request(self.A, said(text)) for text in ("x" * 200, "x" * 199, "y")]
        assert reads(turns, DEEPSEEK) == [0, 0, 0]

    def test_an_append_only_conversation(self) -> None:
        """The end of the input and the end of the answer are units: all but the new message is read."""
        question, answer = said("q" * 128), said("a" * 256, "assistant")
        turns = [request(self.A, question), request(self.A, question, answer, NEXT)]
        assert reads(turns, DEEPSEEK) == [0, 1664]

    def test_an_answer_that_was_changed(self) -> None:
        """The answer is what was sent back first; another one in its place is not read."""
        other = said("b" * 256, "assistant")
        answer = said("a" * 256, "assistant")
        turns = [request(self.A), request(self.A, answer, NEXT), request(self.A, other, NEXT)]
        assert reads(turns, DEEPSEEK) == [0, 1536, 1280]

    def test_a_request_that_is_sent_again(self) -> None:
        """It has another answer, which is read as the first one is."""
        first, second = said("a" * 256, "assistant"), said("b" * 256, "assistant")
        turns = [request(self.A), request(self.A, first, NEXT), request(self.A), request(self.A, second, NEXT)]
        turns.append(request(self.A, first, QUESTION))
        assert reads(turns, DEEPSEEK) == [0, 1536, 1280, 1536, 1536]

    def test_an_answer_of_several_blocks(self) -> None:
        """All that the assistant says in a row is its answer."""
        thought, call = said("t" * 128, "assistant", kind="thinking"), said("c" * 128, "assistant", kind="tool_use")
        result = said("r" * 128, kind="tool_result")
        assert reads([request(self.A), request(self.A, thought, call, result)], DEEPSEEK) == [0, 1536]

    def test_a_message_in_place_of_an_answer(self) -> None:
        """A request that goes on with the user leaves the answer open."""
        answer = said("a" * 256, "assistant")
        turns = [request(self.A), request(self.A, NEXT), request(self.A, answer, NEXT)]
        assert reads(turns, DEEPSEEK) == [0, 1280, 1536]

    def test_rounded_down(self) -> None:
        """What is read was only ever seen in multiples of 128."""
        assert reads([request(said("x" * 1300))] * 2, DEEPSEEK) == [0, 1280]
        found = run([request(said("x" * 100))] * 2, DEEPSEEK).charges[1]
        assert (found.read, found.why) == (0, "100 tokens were sent before, but they are read by 128")

    def test_lifetime(self) -> None:
        """Where facts of one's own say one, a unit lives that long after its last use."""
        rules = replace(DEEPSEEK, lives="1h")
        turns = [request(self.A, said(end * 200)) for end in "BCDE"]
        assert reads(turns, rules, 0, 1, 2, 3601.5) == [0, 0, 1280, 1280]
        assert reads(turns, rules, 0, 1, 2, 3602) == [0, 0, 1280, 0]
        inside = [request(said("A" * 1280 + end * 200)) for end in "BCDE"]
        assert reads(inside, rules, 0, 1, 2, 3601.5) == [0, 0, 1280, 1280]
        assert reads(inside, rules, 0, 1, 2, 3602) == [0, 0, 1280, 0]
        longer = [*turns[:2], request(*turns[1], NEXT), turns[3]]
        assert reads(longer, rules, 0, 1, 1800, 3700) == [0, 0, 1408, 1280]
        answered = [request(self.A), request(self.A, said("a" * 256, "assistant"), NEXT)]
        assert reads(answered, rules, 0, 3599) == [0, 1536]
        assert reads(answered, rules, 0, 3600) == [0, 0]


class TestNothing:
    """A model that nothing is cached for."""

    def test_all_is_paid_in_full(self) -> None:
        """Every time."""
        assert charges([request(marked(SYSTEM))] * 2, NOTHING) == [(0, 0, 1000)] * 2
        assert whys([request()], NOTHING) == ["nothing is cached"]


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


# The laws. Requests are drawn from few texts, so that they share a lot, and minimums are as small as they are.

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

texts = st.sampled_from(["", "a", "ab", "abc", "abcdefgh", "abcdefgx", "b" * 16, "b" * 15 + "c", "é\ud800"])


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """A block without a mark."""
    kinds = ("user text", "user text", "assistant text", "assistant tool_use", "user tool_result", "system system")
    role, kind = draw(st.sampled_from(kinds)).split()
    return Segment("here", kind, role, draw(texts), None, draw(st.booleans()))


@st.composite
def conversations(draw: st.DrawFn, least: int = 0) -> list[Request]:
    """Requests of which many go on from another: some cut short, some with something else at the end."""
    requests: list[Request] = []
    for _ in range(draw(st.integers(least, 6))):
        goes_on = bool(requests) and draw(st.integers(0, 4)) > 0
        before = draw(st.sampled_from(requests)) if goes_on else list[Segment]()
        kept = before[: draw(st.integers(0, len(before)))] if draw(st.booleans()) else before
        blocks = [replace(block, mark=None) for block in kept if block.kind != "setting"]
        blocks += draw(st.lists(segments(), max_size=4))
        places = draw(st.lists(st.integers(0, len(blocks) - 1), max_size=3, unique=True)) if blocks else []
        lifetimes = sorted(draw(st.lists(st.sampled_from(["", "1h"]), min_size=3, max_size=3)), reverse=True)
        for place, lifetime in zip(sorted(places), lifetimes, strict=False):
            blocks[place] = replace(blocks[place], mark=lifetime)
        settings = [setting("model", "m")] if draw(st.integers(0, 3)) == 0 else []
        explicit = setting("prompt_cache_options", '{"mode":"explicit"}')
        options = [explicit] if draw(st.integers(0, 2)) == 0 else []
        requests.append([*settings, *options, *blocks])
    return requests


@st.composite
def replays(draw: st.DrawFn, least: int = 0) -> Replay:
    """Requests with or without times, of which some may be the same."""
    requests = draw(conversations(least))
    if draw(st.booleans()):
        return requests, ()
    gaps = draw(st.lists(st.sampled_from([0, 1, 250, 2000, 90000]), min_size=len(requests), max_size=len(requests)))
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
        for number, charge in enumerate(run(requests, rules, *times).charges):
            one = requests[number]
            earlier = [requests[index] for index in visible(times, number)]
            most = max((tokens(one, *shared(one, other)) for other in earlier), default=0)
            if rules.whole_units:
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
        rules = replace(rules, whole_units=False)
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
    """200 requests of 500 blocks take well under a second; the limit is for slow machines."""

    RULES = (CLAUDE, GPT, GPT_5_5, DEEPSEEK, VLLM)

    @pytest.mark.parametrize("rules", RULES, ids=lambda rules: f"{rules.provider} {rules.model}")
    @pytest.mark.parametrize("shape", ["growing", "parting"])
    def test_speed(self, rules: Rules, shape: str) -> None:
        """Whether they grow, or all part from each other early on."""
        blocks = [said(f"{number} " * 150, ("user", "assistant")[number % 2]) for number in range(500)]
        if shape == "growing":
            requests = [request(*blocks[: 300 + turn], marked(blocks[300 + turn])) for turn in range(200)]
        else:
            requests = [request(blocks[0], said(f"{'x' * 500}{turn}", mark=""), *blocks[2:]) for turn in range(200)]
        start = process_time()
        simulate(requests, rules)
        assert process_time() - start < 5


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
