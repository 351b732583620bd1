"""Guards in a program of one's own: lint, blame, perturbation, tokens, the simulated cache."""

from __future__ import annotations

from typing import assert_type

from deepprompt import Prompt, blame, count_tokens, explain, lint, perturb, read_request, simulate
from deepprompt.checks.blame.blame import Blame
from deepprompt.checks.explain import Explanation
from deepprompt.checks.lint.findings import Finding
from deepprompt.checks.perturb.perturb import Stability
from deepprompt.providers.segments import Segment
from deepprompt.words import MoveKind
from deepprompt.counters import counter_for
from deepprompt.providers.facts import bundled_facts


def codes(value: Prompt | str) -> list[str]:
    """The codes of what lint finds."""
    found: list[Finding] = lint(value, select=["DP1", "DP3"], comments=False)
    return [finding.code for finding in found if not finding.excused]


def where_they_part(old: str, new: str) -> str:
    """Where two prompts part."""
    first = blame(old, new)
    assert_type(first, Blame | None)
    return "nowhere" if first is None else f"{first.place}, line {first.line}: {first.why}"


def moves(target: str) -> Stability:
    """Whether a function's prefix stays."""
    stability = perturb(target, skip=["locale", "time zone"], timeout=30.0)
    assert_type([outcome.kind for outcome in stability.unstable], list[MoveKind])
    return stability


def size(prompt: Prompt | str) -> int:
    """How many tokens a prompt has."""
    explanation: Explanation = explain(prompt, counter_for("gpt-5.6"))
    assert_type(explanation.tokens, int)
    return max(explanation.tokens, count_tokens(prompt if isinstance(prompt, str) else prompt.text))


def share_read(turns: list[list[dict[str, str]]]) -> float:
    """How much of a conversation a cache would have read."""
    requests: list[list[Segment]] = [read_request(turn) for turn in turns]
    return simulate(requests, bundled_facts().rules("deepseek", "deepseek-v4-pro")).read_share


if __name__ == "__main__":
    print(codes("Today is Monday, 2026-11-16.\n"), where_they_part("one\ntwo\n", "one\nthree\n"))
    print(size("You are careful.") > 0, share_read([[{"role": "user", "content": "Hi"}]]))
