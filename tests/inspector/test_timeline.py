"""The inspector's view of a session: its turns, what each cost, and why a cache was missed."""

from __future__ import annotations

from typing import Any

from deepprompt import explain, read_request, simulate
from deepprompt.inspector.timeline import timeline_view
from deepprompt.inspector.views import View
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.usage import Usage
from deepprompt.session.transcript import Answer


def requests(*contents: str, system: str = "Be brief. " * 700) -> list[Any]:
    """Requests of a conversation in which each has one more message, the system prompt and the last message marked."""
    marked = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    found = []
    for size in range(1, len(contents) + 1):
        said = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(contents[:size])]
        own = {"model": "claude-opus-5-5", "cache_control": {"type": "ephemeral"}, "system": [marked]}
        found.append(read_request({**own, "messages": said}))
    return found


def timeline(sent: list[Any], **options: Any) -> View:
    """The view of some requests to Anthropic."""
    result = simulate(sent, bundled_facts().rules("anthropic", "claude-opus-5-5"))
    return timeline_view("talk", sent, result, explain(sent[-1]), **options)


def test_a_session() -> None:
    """Each turn has what it read, wrote and paid; one that begins with the one before it has no cause of a miss."""
    view = timeline(requests("Hi", "Hello", "And?"), times=(0.0, 60.0, 120.0), labels=("a", "b", "c"))
    assert (view["kind"], view["provider"], view["model"]) == ("session", "anthropic", "claude-opus-5-5")
    assert [turn["miss"] for turn in view["turns"]] == [False] * 3
    assert [turn["read"] > 0 for turn in view["turns"]] == [False, True, True]
    assert [turn["at"] for turn in view["turns"]] == [0.0, 60.0, 120.0]
    assert [turn["label"] for turn in view["turns"]] == ["a", "b", "c"]
    totals = [turn["read"] + turn["written"] + turn["full"] for turn in view["turns"]]
    assert view["input"] == sum(totals)
    assert [turn["kept"] for turn in view["turns"]] == [0, *totals[:-1]]
    assert view["last"]["tokens"] == explain(requests("Hi", "Hello", "And?")[-1]).tokens


def test_a_miss_has_its_cause() -> None:
    """A request that parts from the one before it says where and why, and how much of it can still be read."""
    sent = [
        *requests("Hi", system="Today is 2026-11-15. " * 400),
        *requests("Hi", system="Today is 2026-11-16. " * 400),
    ]
    view = timeline(sent)
    first, second = view["turns"]
    assert (first["cause"], first["miss"]) == (None, False)
    assert second["miss"]
    assert second["cause"]["kind"] == "clock"
    assert (second["cause"]["old"], second["cause"]["new"]) != ("", "")
    assert second["kept"] == second["cause"]["offset"] // 4


def test_what_was_recorded() -> None:
    """Recorded usage and its verdict stand beside the simulation, and a verdict that is no hit is a miss."""
    answers = {
        0: Answer(Usage(90, 0, {"5m": 80}, 1), "cold start", "x"),
        1: Answer(Usage(90, 0, {}, 1), "expired", "y"),
    }
    view = timeline(requests("Hi", "Hello", "And?"), answers=answers)
    assert view["recorded"] == 2
    assert [turn["miss"] for turn in view["turns"]] == [False, True, False]
    assert view["turns"][0]["recorded"] == {"read": 0, "written": 80, "full": 10, "kind": "cold start", "detail": "x"}
    assert "recorded" not in view["turns"][2]
