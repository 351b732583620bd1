"""What engines do beside the general rules, each a dated fact or a stated assumption."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deepprompt.checks.cache.simulate import Simulator, simulate
from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.providers.facts import bundled_facts

FACTS = bundled_facts()
ENGINES = ("vllm", "sglang", "llama.cpp")
SYSTEM = "Be brief. " * 640  # 1,600 tokens
TOOL = {"type": "function", "function": {"name": "look", "description": "d" * 3150, "parameters": {}}}


def body(*texts: str, **more: Any) -> dict[str, Any]:
    """Return a body of Chat Completions: a system prompt and messages of 400 tokens each."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text * 1600} for number, text in enumerate(texts)]
    return {"model": "m", "messages": [{"role": "system", "content": SYSTEM}, *messages], **more}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "setting",
    [{"response_format": {"type": "json_object"}}, {"reasoning_effort": "high"}, {"service_tier": "flex"},
     {"verbosity": "low"}, {"prompt_cache_key": "k"}, {"user_id": "u"}],
)  # fmt: skip
def test_settings_that_no_engine_keys_on(engine: str, setting: dict[str, Any]) -> None:
    """They cost nothing at an engine, and the assumptions say which settings do; at OpenAI they cost everything."""
    requests = [body("a"), body("a", **setting)]
    found = simulate(requests, FACTS.rules(engine, "any"))
    assert found.charges[1].read >= 1984
    assert any(sentence.startswith("of the settings only model") for sentence in found.assumed)
    if "user_id" not in setting:
        assert simulate(requests, FACTS.rules("openai", "gpt-5.4")).charges[1].read == 0


@pytest.mark.parametrize(
    ("engine", "salt"), [("vllm", "cache_salt"), ("sglang", "extra_key"), ("sglang", "cache_salt")]
)
def test_settings_that_engines_key_on(engine: str, salt: str) -> None:
    """Another salt shares nothing."""
    assert simulate([body("a"), body("a", **{salt: "x"})], FACTS.rules(engine, "any")).charges[1].read == 0


@pytest.mark.parametrize(("engine", "read"), [("vllm", 1600), ("sglang", 0), ("llama.cpp", 0)])
def test_requests_at_the_same_time(engine: str, read: int) -> None:
    """They share on vLLM, whose blocks are there at once, and not on SGLang."""
    found = simulate([body("a"), body("b")], FACTS.rules(engine, "any"), times=(0, 0))
    assert found.charges[1].read == read
    can = "can" if read else "cannot"
    assert f"a request takes no time, and requests at the same time {can} read what each other writes" in found.assumed


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("model", "read"), [("Qwen/Qwen3-32B", 1600), ("meta-llama/Llama-3.1-8B-Instruct", 1600), ("gpt-oss-120b", 1600),
                        ("mistral-small", 0)],
)  # fmt: skip
def test_tools_behind_the_system_prompt(engine: str, model: str, read: int) -> None:
    """Where the chat template puts the tools last, another tool leaves the system prompt readable."""
    other = {"type": "function", "function": {**TOOL["function"], "name": "xlook"}}  # type: ignore[dict-item]
    found = simulate([body("a", tools=[TOOL]), body("a", tools=[other])], FACTS.rules(engine, model))
    assert read <= found.charges[1].read < read + 48
    where = "behind" if read else "before"
    assert f"the chat template puts the tools {where} the system prompt" in found.assumed


@pytest.mark.parametrize(("engine", "read"), [("vllm", 2384), ("sglang", 2399), ("llama.cpp", 2399)])
def test_answers_are_kept(engine: str, read: int) -> None:
    """An answer is read when it comes back, all but its last token: 1,600 + 400 + 400 - 1, in whole blocks."""
    assert simulate([body("a"), body("a", "b", "c")], FACTS.rules(engine, "any")).charges[1].read == read


def test_another_answer_is_not_kept() -> None:
    """Only the first answer that comes back can be the one that was given."""
    rules = FACTS.rules("sglang", "any")
    found = simulate([body("a"), body("a", "b", "c"), body("a", "x", "c")], rules)
    assert [charge.read for charge in found.charges] == [0, 2399, 2000]


class TestSize:
    """How much the cache holds."""

    RULES = FACTS.rules("sglang", "any")

    def test_a_rotation(self) -> None:
        """Four conversations in rotation read all of their own, if there is room for four, and else what they share."""
        requests = [body(name, *"bc" * turn) for turn in range(3) for name in "wxyz"]
        longest = 2400 + 4 * 400
        free, wide, tight = (simulate(requests, self.RULES, cache_tokens=size) for size in (None, 4 * longest, longest))
        assert free.read == wide.read > tight.read
        assert min(charge.read for charge in tight.charges[1:]) >= 1600
        assert free.assumed[0] == "one cache serves every request, and keeps what it has for its whole lifetime"
        assert tight.assumed[0] == f"one cache serves every request and holds {longest:,} tokens, those used last"

    def test_the_end_goes_first(self) -> None:
        """Of one request the start is kept longest: it is what the next one shares."""
        found = simulate([body("a"), body("a")], self.RULES, cache_tokens=1600)
        assert found.charges[1].read == 1600

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, "8"])
    def test_wrong(self, wrong: Any) -> None:
        """A size is a whole number of tokens."""
        with pytest.raises(MessageError, match="cache_tokens is a number of tokens, 1 or more"):
            Simulator(self.RULES, cache_tokens=wrong)


@pytest.mark.parametrize("provider", ["vllm", "sglang", "deepseek", "anthropic", "openai"])
def test_one_by_one(provider: str) -> None:
    """Adding requests one by one gives what simulating all of them does."""
    rules = FACTS.rules(provider, {"anthropic": "claude-opus-5-5", "openai": "gpt-5.6-sol"}.get(provider, "any"))
    requests = [body("a"), body("a"), body("a", "b", "c"), body("x", "b", "c"), body("a", "b", "c", "d", "e")]
    times = (0.0, 0.0, 10.0, 10.0, 500.0)
    one = Simulator(rules)
    charges = [one.add(read_request(request), at) for request, at in zip(requests, times, strict=True)]
    whole = simulate(requests, rules, times=times)
    assert (tuple(charges), one.assumed) == (whole.charges, whole.assumed)
    assert replace(whole, charges=tuple(charges)) == whole
