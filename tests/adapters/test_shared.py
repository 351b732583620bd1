"""What the adapters share: tails by conversation, and tools by name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deepprompt import Tail, Watch
from deepprompt.adapters.shared import by_name, judge, tail_of, told, watch_of


def test_one_tail_or_one_for_each_conversation() -> None:
    """A tail is for every conversation; a function is asked with the name of each, "" if there is none."""
    tails = {"": Tail("a"), "1": Tail("b")}
    assert tail_of(tails["1"], "2") is tails["1"]
    assert [tail_of(tails.__getitem__, name) for name in (None, "1")] == [tails[""], tails["1"]]
    watch = Watch("anthropic", "claude-opus-5-5")
    assert watch_of(watch, "1") is watch_of(lambda _: watch, None) is watch


def test_what_cannot_be_judged_does_not_fail(caplog: pytest.LogCaptureFixture) -> None:
    """Impossible numbers are logged, and the run goes on."""
    watch = Watch("anthropic", "claude-opus-5-5")
    body = {"messages": [{"role": "user", "content": "Why?"}]}
    assert not judge(watch, body, {"input_tokens": -1, "output_tokens": 1}, 0.0)
    assert "no verdict on a request: input_tokens is -1" in caplog.text
    assert judge(watch, body, {"input_tokens": 1, "output_tokens": 1}, 0.0)
    assert len(watch.verdicts) == 1


def test_news_comes_before_the_question() -> None:
    """A message has the news only if there is some."""
    tail = Tail("Answer briefly.")
    assert told(tail, "Why?", "Answer briefly.") == ["Why?"]
    news, question = told(tail, "Why?", "Answer at length.")
    assert "Answer at length." in news and question == "Why?"


@pytest.mark.parametrize("turned", [False, True])
def test_tools_of_every_kind_have_one_order(turned: bool) -> None:
    """Objects, functions and JSON are ordered by name, a provider's own tool by its type."""

    def cut() -> None:
        """Do nothing."""

    tools: list[object] = [
        SimpleNamespace(name="ask"), {"name": "bash"}, cut, {"type": "function", "function": {"name": "diff"}},
        {"type": "web_search"},
    ]  # fmt: skip
    assert by_name(tools[::-1] if turned else tools) == tools
