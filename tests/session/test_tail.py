"""`Tail`: a frozen prefix and its news, without a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt import Session, Tail
from deepprompt.errors import SessionError
from deepprompt.prompt import BOUNDARY_PART, Pace, Part, Prompt

TOOL: dict[str, object] = {
    "name": "read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {}},
}


def prompt(rules: str = "Be brief.", status: str = "(clean)", tools: tuple[dict[str, object], ...] = (TOOL,)) -> Prompt:
    """Return a prompt with instructions of a project and its state."""
    return Prompt(
        (
            Part("base", "You are an agent.\n", Pace.RELEASE, "assets:base"),
            Part("AGENTS.md", f"\n{rules}\n", Pace.PROJECT, "file:AGENTS.md"),
            Part(BOUNDARY_PART, "\n=== BOUNDARY ===\n", Pace.TURN, "deepprompt"),
            Part("git status", status, Pace.TURN, "git"),
        ),
        tools,
    )


def test_the_first_news_is_the_state_of_the_project() -> None:
    """The prefix holds no state, so the first news tells it, and the second nothing."""
    tail = Tail(prompt())
    assert "(clean)" not in tail.prefix.text
    assert "(clean)" in tail.news(prompt())
    assert tail.news(prompt()) == ""


def test_a_change_is_told_once() -> None:
    """An edit of a file is news once, and the prefix stays byte for byte."""
    tail = Tail(prompt())
    before = tail.prefix
    tail.news(prompt())
    news = tail.news(prompt("Be thorough."))
    assert "Be thorough." in news and "AGENTS.md" in news and "(clean)" not in news
    assert tail.news(prompt("Be thorough.")) == ""
    assert "Be brief." in tail.news(prompt())
    assert tail.prefix == before


def test_the_news_is_what_a_session_tells() -> None:
    """A session writes the same texts into its messages."""
    tail, session = Tail(prompt()), Session(prompt())
    for number, now in enumerate([prompt(), prompt("New."), prompt("New.", "M a.py"), prompt(tools=())]):
        seen = len(session.messages)
        session.user(f"question {number}", now)
        told = [message["content"] for message in session.messages[seen:-1]]
        assert [text for text in [tail.news(now)] if text] == told


def test_changes_wait() -> None:
    """With `wait`, an edited part is not news, and is listed."""
    tail = Tail(prompt(), on_change="wait")
    tail.news(prompt())
    assert tail.news(prompt("New.")) == ""
    assert [change.source for change in tail.waiting] == ["AGENTS.md"]


def test_a_saved_tail_goes_on(tmp_path: Path) -> None:
    """A loaded tail knows what was told; a saved session is no tail."""
    tail = Tail(prompt())
    tail.news(prompt("New."))
    tail.save(tmp_path / "tail.json")
    loaded = Tail.load(tmp_path / "tail.json")
    assert loaded.prefix == tail.prefix
    assert loaded.news(prompt("New.")) == ""
    assert loaded.news(prompt("Newer.")) == tail.news(prompt("Newer."))
    Session(prompt()).save(tmp_path / "session.json")
    with pytest.raises(SessionError, match=r"a saved session, not a saved tail; load it with Session\.load"):
        Tail.load(tmp_path / "session.json")
    (tmp_path / "tail.json").write_text("{}")
    with pytest.raises(SessionError, match="not a saved session, or damaged"):
        Tail.load(tmp_path / "tail.json")
