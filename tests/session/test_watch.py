"""`Watch`: verdicts on requests that somebody else built."""

from __future__ import annotations

from typing import Any

import pytest

from deepprompt import Watch
from deepprompt.errors import MessageError, UsageError

MODEL = "claude-sonnet-4-5"
LONG = "Keep functions small, and say why rather than what. " * 400


def body(turns: int, system: str = LONG) -> dict[str, Any]:
    """Return a request of a framework, with its own marks."""
    messages = [{"role": ("user", "assistant")[number % 2], "content": f"{number}: {LONG}"} for number in range(turns)]
    mark = {"cache_control": {"type": "ephemeral"}}
    return {"model": MODEL, **mark, "system": [{"type": "text", "text": system, **mark}], "messages": messages}


def usage(read: int, written: int, fresh: int = 10) -> dict[str, int]:
    """Return the usage of a response, as Anthropic spells it."""
    return {
        "input_tokens": fresh, "output_tokens": 5, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }  # fmt: skip


def test_a_conversation_that_grows_is_read() -> None:
    """A cold start, then hits; the simulation says how much should be read."""
    watch = Watch("anthropic", MODEL)
    verdicts = [watch.saw(body(1), usage(0, 10_000), 0.0), watch.saw(body(3), usage(10_000, 10_000), 10.0)]
    assert [verdict.kind for verdict in verdicts] == ["cold start", "hit"]
    assert watch.verdicts == verdicts
    assert [charge.read > 0 for charge in watch.simulation.charges] == [False, True]


def test_a_miss_has_a_cause() -> None:
    """An edited system prompt is named as the cause, and a long break as another."""
    watch = Watch("anthropic", MODEL)
    watch.saw(body(1), usage(0, 10_000), 0.0)
    verdict = watch.saw(body(3, f"Edited. {LONG}"), usage(0, 10_000), 10.0)
    assert verdict.kind == "ours" and "system" in verdict.detail
    late = watch.saw(body(5, f"Edited. {LONG}"), usage(0, 20_000), 4_000.0)
    assert late.kind == "expired"


def test_a_request_without_marks_is_ours() -> None:
    """A framework that sets no marks gets nothing from a provider that needs them."""
    watch = Watch("anthropic", MODEL)
    bare = [{"model": MODEL, "messages": body(turns)["messages"]} for turns in (1, 3)]
    watch.saw(bare[0], usage(0, 0, 10_000))
    verdict = watch.saw(bare[1], usage(0, 0, 20_000))
    assert (verdict.kind, verdict.detail) == ("ours", "the earlier request had no marks, so nothing was cached")


def test_a_body_is_copied() -> None:
    """Frameworks append to the lists that they sent; the verdict is about what was sent."""
    watch = Watch("anthropic", MODEL)
    sent = body(1)
    watch.saw(sent, usage(0, 10_000))
    sent["messages"].insert(0, {"role": "user", "content": "earlier"})
    sent["messages"].pop(0)
    sent["messages"] += body(3)["messages"][1:]
    assert watch.saw(sent, usage(10_000, 10_000)).kind == "hit"


def test_wrong_values_are_named() -> None:
    """A body, a model or a usage of the wrong kind is an error that says what is right."""
    with pytest.raises(MessageError, match=r"Watch\.saw: body is the JSON of a request, not str"):
        Watch("anthropic", MODEL).saw("{}", usage(0, 0))  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="Watch: model is the name of a model"):
        Watch("anthropic", "")
    with pytest.raises(UsageError, match="no usage"):
        Watch("anthropic", MODEL).saw(body(1), object())
