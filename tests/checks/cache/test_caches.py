"""What each provider's cache reads, writes and charges: its rules by example, and the laws that hold for all of them.

One character is one token here, so that every number can be counted by hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from deepprompt.checks.cache.simulate import Charge, simulate
from deepprompt.errors import MessageError
from deepprompt.providers.rules import Rules
from tests.support.cached import (
    ANSWER,
    BEDROCK,
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    GPT,
    GPT_5,
    GPT_5_5,
    LLAMA,
    MINUTE,
    NEXT,
    NOTHING,
    NOVA,
    PLAIN,
    QUESTION,
    SGLANG,
    SYSTEM,
    VLLM,
    charges,
    marked,
    reads,
    request,
    rules_of,
    run,
    said,
    setting,
    whys,
)


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


# The laws. Requests are drawn from few texts, so that they share a lot, and minimums are as small as they are.
