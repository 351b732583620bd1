"""The page of a report in a real browser: it fits narrow and wide windows, and ten thousand conversations are fast.

These need Playwright and Chromium; without them they are skipped with what to install.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deepprompt.cli import main
from tests.support.browser import watched

pytestmark = pytest.mark.slow

Open = Callable[..., Any]
BEGIN = 1_794_909_600


def write_log(path: Path, conversations: int, *, turns: int = 2, rules: int = 200, usage: bool = False) -> None:
    """Write a log of conversations of some requests each, with a clock in the prompt."""
    with path.open("w") as file:
        for number in range(conversations):
            talk = [{"role": "user", "content": f"Task {number}."}]
            for turn in range(turns):
                text = "Follow the rules of the house. " * rules + f"It is 10:0{turn}."
                system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
                body = {"model": "claude-opus-5-5", "system": system, "messages": list(talk)}
                record: dict[str, Any] = {"at": BEGIN + number / 10 + turn, "session": f"s{number}", "agent": "demo"}
                if usage:
                    record["usage"] = {"input_tokens": 1600, "output_tokens": 1}
                file.write(json.dumps(record | {"body": body}) + "\n")
                talk += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "More."}]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Report on a log as a page, open it, and see in the end that nothing went wrong and nothing went out."""

    def open_page(log: Path, width: int = 1280, scheme: str = "light") -> Any:
        target = tmp_path / "page.html"
        target.unlink(missing_ok=True)
        assert main(["report", str(log), "-o", str(target)]) == 0
        return show(target, width, scheme)

    with watched(browser) as show:
        yield open_page


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ten_conversations(width: int, scheme: str, opened: Open, tmp_path: Path) -> None:
    """Nothing is wider than the window, labels differ, the first cause is open, and a conversation opens."""
    write_log(tmp_path / "log.jsonl", 10, usage=True)
    page = opened(tmp_path / "log.jsonl", width, scheme)
    ticks = page.eval_on_selector_all(
        ".plot span", "all => all.map((e) => e.textContent).filter((t) => t.includes(':'))"
    )
    assert ticks[0] == "10:00:00"
    assert len(ticks) == len(set(ticks)) > 1
    edges = page.eval_on_selector_all(".plot span", "all => all.map((e) => e.getBoundingClientRect().right)")
    assert max(edges) <= width
    assert "Put it into the newest message" in page.inner_text("details.ranked[open]")
    assert "The API reported no cached tokens at all: demo claude-opus-5-5 could have read" in page.inner_text("main")
    assert page.get_attribute(".chart .cursor", "visibility") == "hidden"
    page.focus(".chart")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".plot + p").startswith("2026-11-17 10:00:00: ")
    page.click("table.named button")
    heights = page.eval_on_selector_all("table.steps tr", "all => all.map((e) => e.getBoundingClientRect().height)")
    assert max(heights) < 40  # a row is one line, at any width
    assert page.inner_text("table.steps tr.miss td:nth-child(7)") == "clock at system[0]"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_ten_thousand_conversations(opened: Open, tmp_path: Path) -> None:
    """The page opens and searches within seconds, and shows a hundred at a time."""
    write_log(tmp_path / "log.jsonl", 10_000, turns=1, rules=10)
    began = time.monotonic()
    page = opened(tmp_path / "log.jsonl", 400)
    page.fill("#find", "s9999")
    assert page.inner_text(".search [role=status]") == "1 of 1 conversation"
    page.fill("#find", "")
    assert page.inner_text(".search [role=status]") == "100 of 10,000 conversations"
    assert time.monotonic() - began < 60  # the report itself takes most of it
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
