"""The price of a change is what the simulated cache says, for `blame` as for `cache`."""

from __future__ import annotations

from typing import Any

import pytest

from deepprompt.checks.cache.price import ANY, price_change
from deepprompt.checks.cache.simulate import simulate
from deepprompt.checks.segments import read_request
from deepprompt.providers.facts import bundled_facts

FACTS = bundled_facts()
CLAUDE = FACTS.rules("anthropic", "claude-opus-5-5")
MARK = {"cache_control": {"type": "ephemeral"}}


def body(system: str, *texts: str, marked: bool = True) -> dict[str, Any]:
    """Return a body with a mark on its system prompt and on its last message."""
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[number % 2], "content": [{"type": "text", "text": text * 1000}]}
        for number, text in enumerate(texts)
    ]
    blocks = [{"type": "text", "text": system}]
    if marked:
        blocks[0] |= MARK  # type: ignore[arg-type]
        messages[-1]["content"][0] |= MARK
    return {"model": "claude-opus-5-5", "system": blocks, "messages": messages}


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.6-sol"), ("openai", "gpt-5.5"),
     ("deepseek", "deepseek-v4-pro"), ("vllm", "any"), ("gemini", "gemini-3.8-flash")],
)  # fmt: skip
def test_the_same_as_the_cache(provider: str, model: str) -> None:
    """What the later request reads is what `simulate` says, and nothing costs more than it could have saved."""
    rules = FACTS.rules(provider, model)
    old, new = (read_request(body(f"{day} " + "Be brief. " * 4000, "a", "b", "c")) for day in ("Monday", "Tuesday"))
    found = price_change(old, new, rules)
    assert found.charge == simulate([old, new], rules).charges[1]
    assert found.charge.read == 0
    assert found.lost == found.could > 0
    assert found.cost == pytest.approx(found.lost * (rules.paid(0, found.charge.written, found.charge.full)
                                                     / found.charge.total - rules.read_price))  # fmt: skip


def test_marks_count() -> None:
    """Without a mark nothing is cached, so nothing is lost; only what was marked is."""
    old, new = (read_request(body("Be brief. " * 400, text, "b", "c", marked=False)) for text in "ax")
    found = price_change(old, new, CLAUDE)
    assert (found.could, found.cost, found.note) == (0, 0, "A has no mark, so nothing of it is cached")
    old, new = (read_request(body("Be brief. " * 400, text, "b", "c")) for text in "ax")
    found = price_change(old, new, CLAUDE)
    assert (found.could, found.charge.read, found.lost) == (1750, 1000, 750)
    assert found.cost == pytest.approx(750 * 1.2)


def test_units_count() -> None:
    """A cache in whole units reads nothing of a request that only begins like an earlier one."""
    old, new = (read_request(body("Be brief. " * 400, "a", "b", text)) for text in "xy")
    assert price_change(old, new, FACTS.rules("deepseek", "deepseek-v4-pro")).charge.read == 0
    assert price_change(old, new, ANY).charge.read == 1500


def test_refused_marks() -> None:
    """Marks that the provider refuses have no price; the note says why."""
    old = body("Be brief.", *"abcdefg")
    for message in old["messages"]:
        message["content"][0] |= MARK
    found = price_change(read_request(old), read_request(old), CLAUDE)
    assert (found.cost, found.lost) == (0, 0)
    assert "8 marks; anthropic takes 4 and refuses more" in found.note


def test_what_extends_loses_nothing() -> None:
    """A request that begins with all of the earlier one reads what it can."""
    old, new = (read_request(body("Be brief. " * 400, *texts)) for texts in ("a", "abc"))
    found = price_change(old, new, CLAUDE)
    assert (found.lost, found.cost) == (0, 0)
    assert found.charge.read == found.could == 1250
