"""Requests to a cache, written by hand, and what its simulation says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deepprompt.checks.cache.simulate import Simulation, simulate
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import Rules
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
