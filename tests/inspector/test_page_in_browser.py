"""The inspector's page in a real browser: it opens without a word, can be searched and used by keys, and is fast.

These need Playwright and Chromium; without them they are skipped with what to install, or fail if
DEEPPROMPT_NEED_BROWSER=1 says that they are to run.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Session, SystemPromptBuilder, Usage
from deepprompt.cli import main
from tests.support.browser import watched

pytestmark = pytest.mark.slow

WORDS = ("cache", "prefix", "token", "part", "turn", "read", "write", "boundary", "session", "漢字", "naïve")


def prose(size: int, seed: int = 1) -> str:
    """Some lines of words."""
    chosen = random.Random(seed)
    lines: list[str] = []
    while sum(map(len, lines)) < size:
        lines.append(" ".join(chosen.choices(WORDS, k=12)) + "\n")
    return "".join(lines)


def built(*parts: tuple[str, str, str, str]) -> str:
    """A prompt as `build --json` prints it, of names, paces, origins and texts."""
    rows = [
        {"name": name, "pace": pace, "origin": origin, "bytes": len(text.encode())}
        for name, pace, origin, text in parts
    ]
    return json.dumps({"text": "".join(text for *_, text in parts), "parts": rows})


PARTS = (
    ("identity", "release", "deepprompt:base/1.0.0/identity.md", "You are an agent.\n"),
    ("rules", "project", "file:AGENTS.md", "Be kind.\nHidden\u200b here.\n"),
    ("mine", "project", "my/parts:base/1.0.0/style.md", "In short.\n"),
    ("boundary", "turn", "deepprompt", "\n---\n"),
    ("git status", "turn", "project", " M a.py\n"),
)

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Write a page of some texts, open it, and see in the end that nothing went wrong and nothing went out."""

    def open_page(*texts: str | Path, width: int = 1280, scheme: str = "light") -> Any:
        names = []
        for number, text in enumerate(texts):
            path = text if isinstance(text, Path) else tmp_path / f"given {number}.json"
            if isinstance(text, str):
                path.write_text(text, "utf-8")
            names.append(str(path))
        target = tmp_path / "page.html"
        assert main(["inspect", *names, "-o", str(target)]) == 0
        return show(target, width, scheme)

    with watched(browser) as show:
        yield open_page


def shown(page: Any, selector: str) -> list[str]:
    """The texts of the elements that are not hidden. One that was never on the screen has no inner text yet."""
    shown = "all.filter((e) => !e.hidden && !e.closest('[hidden]'))"
    found: list[str] = page.eval_on_selector_all(
        selector, f"all => {shown}.map((e) => (e.innerText || e.textContent).trim())"
    )
    return found


def chosen(page: Any, selector: str) -> str:
    """The text of the one that is chosen."""
    return str(page.inner_text(f"{selector}.chosen"))


class TestPrompt:
    """One prompt."""

    def test_the_text_is_there(self, opened: Open) -> None:
        """Parts stand in order in the colours of their paces, with their origins; what is hidden is drawn."""
        page = opened(built(*PARTS))
        assert [name.split("\n")[0] for name in shown(page, ".list button .name")] == [name for name, *_ in PARTS]
        assert [text.replace("⟨U+200B⟩", "\u200b") for text in shown(page, ".part pre")] == [
            text.strip() for *_, text in PARTS
        ]
        classes = page.eval_on_selector_all(".part", "all => all.map((e) => e.className)")
        assert classes == [f"part {pace}" for _, pace, _, _ in PARTS]
        assert shown(page, ".hidden") == ["⟨U+200B⟩"]
        headers = shown(page, ".part header")
        assert "file:AGENTS.md" in headers[1]
        assert "your own: my/parts:base/1.0.0/style.md" in headers[2]
        assert shown(page, ".text .rule") == ["end of the static prefix"]
        assert page.title().endswith("given 0.json – deepprompt inspect")

    def test_the_strip_is_in_proportion(self, opened: Open) -> None:
        """A part is as wide in the strip as its tokens are many."""
        page = opened(built(("a", "release", "", "x" * 3000), ("b", "turn", "", "y" * 1000)))
        widths = page.eval_on_selector_all(".strip button", "all => all.map((e) => e.getBoundingClientRect().width)")
        assert widths[0] / widths[1] == pytest.approx(3, rel=0.02)

    def test_parts_are_found(self, opened: Open) -> None:
        """Parts are found by name, by origin and by their text, and Escape shows all of them again."""
        page = opened(built(*PARTS))
        for wanted, found in {
            "IDENT": "identity",
            "agents.md": "rules",
            "a.py": "git status",
            "u+200b": "rules",
        }.items():
            page.fill("#find", wanted)
            assert [name.split("\n")[0] for name in shown(page, ".list button .name")] == [found]
            assert len(shown(page, ".part")) == 1
            assert "1 of 5 parts" in shown(page, ".search span")
        page.press("#find", "Escape")
        assert len(shown(page, ".part")) == 5

    def test_nothing_is_found(self, opened: Open) -> None:
        """A search without a match says so, on each page, and not before."""
        nothing = "No part matches the search and the boxes above. Escape clears the search."
        for page, said in (
            (opened(built(*PARTS)), nothing),
            (opened(built(*PARTS), built(*PARTS[:3])), "No part matches."),
            (opened(transcript(3)), "No turn matches."),
        ):
            assert said not in shown(page, "p")
            page.fill("input[type=search] >> nth=0", "no such word")
            assert said in shown(page, "p")

    def test_one_of_each(self, opened: Open) -> None:
        """One part of one token is not counted in plurals, and a text without a boundary has no share before it."""
        page = opened("Hey.\n")
        assert shown(page, ".figures span") == ["token", "bytes", "part", "hidden characters"]
        assert shown(page, ".legend .soft") == ["1 token"]

    def test_paces_are_filtered(self, opened: Open) -> None:
        """A pace can be left out."""
        page = opened(built(*PARTS))
        page.uncheck(".legend label.turn input")
        assert [name.split("\n")[0] for name in shown(page, ".list button .name")] == ["identity", "rules", "mine"]
        page.fill("#find", "e")
        assert len(shown(page, ".part")) <= 3

    def test_the_origin_is_told_on_hover_and_focus(self, opened: Open) -> None:
        """What is under the pointer, or has the focus, is described with its origin."""
        page = opened(built(*PARTS))
        page.hover(".part:nth-of-type(2)")
        assert "file:AGENTS.md" in page.inner_text(".status")
        page.focus(".list button:first-child")
        assert "deepprompt:base/1.0.0/identity.md" in page.inner_text(".status")
        assert "with a release" in page.inner_text(".status")

    def test_keys(self, opened: Open) -> None:
        """A slash goes to the search, Enter to the first part that fits, arrows through the list."""
        page = opened(built(*PARTS))
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "find"
        page.keyboard.type("r")
        page.keyboard.press("Enter")
        first = chosen(page, ".list button")
        page.keyboard.press("ArrowDown")
        assert chosen(page, ".list button") != first
        page.keyboard.press("End")
        assert chosen(page, ".list button").startswith("git status")
        assert "git status" in page.inner_text(".part.chosen header")
        focused = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert focused == "solid"

    @pytest.mark.parametrize("width", [1280, 400])
    def test_nothing_is_wider_than_the_window(self, opened: Open, width: int) -> None:
        """At any width nothing has to be scrolled sideways, however long a name or a line is."""
        long = ("n" * 300, "project", "file:" + "x" * 300, "y" * 5000 + "\n" + "z " * 2000)
        page = opened(built(*PARTS, long), width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    def test_paper(self, opened: Open) -> None:
        """When printed, the search and the status are gone, and all parts are there."""
        page = opened(built(*PARTS))
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('.search')).display") == "none"
        assert page.evaluate("getComputedStyle(document.querySelector('.list')).maxHeight") == "none"
        assert len(shown(page, ".part pre")) == 5

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_contrast(self, opened: Open, scheme: str) -> None:
        """Text can be read in light and in dark: every kind of it has the contrast that WCAG AA asks for."""
        page = opened(built(*PARTS), scheme=scheme)
        ratios = page.evaluate(CONTRAST)
        assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
        assert len(ratios) > 5


CONTRAST = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = numbers(colour).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    while (e) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!(numbers(colour).length === 4 && numbers(colour)[3] === 0)) return colour;
      e = e.parentElement;
    }
    return "rgb(255, 255, 255)";
  };
  const found = {};
  const kinds = [
    "h1", ".soft", ".figures b", ".list .name", ".list .size", ".list .rule", ".part header", ".part header b",
    ".release pre", ".project pre", ".turn pre", ".hidden",
  ];
  for (const which of kinds) {
    for (const e of document.querySelectorAll(which)) {
      const [one, two] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
      found[which] = Math.min(found[which] || 99, (one + 0.05) / (two + 0.05));
    }
  }
  return found;
}"""


class TestDifference:
    """Two prompts."""

    def test_where_they_part(self, opened: Open) -> None:
        """The first place where they part is named, and the first part that changed is open at its lines."""
        after = [*PARTS[:1], (*PARTS[1][:3], "Be kind.\nHidden\u200b there.\n"), *PARTS[2:]]
        page = opened(built(*PARTS), built(*after))
        cause = page.inner_text(".cause")
        assert "edit: the text was edited" in cause
        assert "byte 37" in cause
        assert shown(page, "summary .badge") == ["changed"]
        lines = shown(page, "details[open] .lines pre")
        assert [line for line in lines if line[:1] in ("+", "-")] == [
            "- Hidden⟨U+200B⟩ here.",
            "+ Hidden⟨U+200B⟩ there.",
        ]
        assert shown(page, "details[open] .minus mark") == ["here."]
        assert shown(page, "details[open] .plus mark") == ["there."]

    def test_what_is_the_same_can_be_shown(self, opened: Open) -> None:
        """At first there is only what changed; all parts can be shown, and are found by name."""
        page = opened(built(*PARTS), built(*PARTS[:-1], (*PARTS[-1][:3], " M b.py\n")))
        assert shown(page, "summary bdi:first-of-type")[:1] == ["git status"]
        assert "1 of 5 parts" in shown(page, ".search span")
        page.check(".search label input")
        assert shown(page, "summary .badge") == ["same", "same", "same", "same", "changed"]
        page.fill("#find", "nothing")
        assert "0 of 5 parts" in shown(page, ".search span")

    def test_a_longer_one(self, opened: Open) -> None:
        """A second prompt that begins with the first has no cause of a miss."""
        page = opened(built(*PARTS[:2]), built(*PARTS[:3]))
        said = "There is none before the end of the first: 10 tokens can be read from the cache, 3 are new (estimated)."
        assert page.inner_text(".cause.fine") == said

    def test_two_that_are_the_same(self, opened: Open) -> None:
        """The page says that nothing differs, and shows every part."""
        page = opened(built(*PARTS), built(*PARTS))
        said = page.inner_text(".cause.fine")
        assert re.fullmatch(r"There is none: all [0-9]+ tokens can be read from the cache \(estimated\)\.", said)
        assert len(shown(page, "details")) == len(PARTS)

    @pytest.mark.parametrize("width", [1280, 400])
    def test_nothing_is_wider_than_the_window(self, opened: Open, width: int) -> None:
        """At any width nothing has to be scrolled sideways."""
        page = opened(built(*PARTS), built(("n" * 300, "turn", "file:" + "x" * 300, "z" * 3000), *PARTS), width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def transcript(turns: int) -> str:
    """Requests of a conversation whose system prompt has a date that moves once, in the middle."""
    messages: list[Any] = []
    lines = []
    for number in range(turns):
        messages.append({"role": "user", "content": f"Question {number}?"})
        date = "2026-11-15" if number < turns // 2 else "2026-11-16"
        system = [{"type": "text", "text": prose(9000) + f"Today is {date}.\n", "cache_control": {"type": "ephemeral"}}]
        body = {"model": "claude-opus-5-5", "max_tokens": 9, "system": system, "messages": list(messages)}
        usage = {"input_tokens": 20, "output_tokens": 1, "cache_read_input_tokens": 2000 if number else 0}
        lines.append(json.dumps({"at": 30 * number, "body": body, "usage": usage}))
        messages.append({"role": "assistant", "content": "Yes."})
    return "\n".join(lines)


class TestSession:
    """A conversation."""

    def test_the_timeline(self, opened: Open) -> None:
        """Every turn has its column, the miss its mark and its cause, and the chosen turn is told."""
        page = opened(transcript(8))
        assert page.evaluate("document.querySelectorAll('.chart').length") == 2
        heights = page.eval_on_selector_all(".chart .read", "all => all.map((e) => e.getBoundingClientRect().height)")
        assert len(heights) == 6
        assert min(heights) > 10
        assert page.evaluate("document.querySelectorAll('.chart .missed').length") >= 1
        assert "clock: a date or a time changed" in page.inner_text(".detail")
        assert "Turn 5" in page.inner_text(".detail")
        assert "2026-11-16" in page.inner_text(".detail")

    def test_turns_are_chosen(self, opened: Open) -> None:
        """By the table, by a click into the chart, and by arrow keys."""
        page = opened(transcript(8))
        page.focus(".chart")
        page.keyboard.press("Home")
        assert "Turn 1" in page.inner_text(".detail")
        page.keyboard.press("ArrowRight")
        assert "Turn 2" in page.inner_text(".detail")
        box = page.locator(".chart").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] - 5, box["y"] + 100)
        assert "Turn 8" in page.inner_text(".detail")
        page.uncheck(".search label input >> nth=0")
        page.click("tbody tr:nth-child(3) button")
        assert "Turn 3" in page.inner_text(".detail")

    def test_misses_are_found(self, opened: Open) -> None:
        """The table begins with the misses; all turns can be shown and searched."""
        page = opened(transcript(8))
        assert len(shown(page, "tbody tr")) < 8
        page.uncheck(".search label input >> nth=0")
        assert len(shown(page, "tbody tr")) == 8
        page.fill("input[placeholder^='Find turns']", "clock")
        assert len(shown(page, "tbody tr")) == 1

    def test_a_short_conversation(self, opened: Open) -> None:
        """The columns of a few turns are no wider than those of sixteen, and a click beside them selects the last."""
        page = opened(transcript(2))
        chart, column = page.locator(".chart").first.bounding_box(), page.locator(".chart rect").first.bounding_box()
        assert column["width"] <= chart["width"] / 16
        page.mouse.click(chart["x"] + chart["width"] - 5, chart["y"] + 20)
        assert "Turn 2" in page.inner_text(".detail")

    def test_recorded_tokens_can_be_drawn(self, opened: Open) -> None:
        """Where usage was recorded, the chart can show it in place of the simulation."""
        page = opened(transcript(8))
        page.select_option("select", "recorded")
        assert page.evaluate("document.querySelectorAll('.chart .read').length") == 7
        assert "2,000 read, 0 written, 20 in full" in page.inner_text(".detail")

    @pytest.mark.parametrize("width", [1280, 400])
    def test_nothing_is_wider_than_the_window(self, opened: Open, width: int) -> None:
        """At any width nothing has to be scrolled sideways, and no label stands on another."""
        page = opened(transcript(30), width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OVERLAPS) == 0


OVERLAPS = """() => {
  let count = 0;
  for (const plot of document.querySelectorAll(".plot")) {
    const boxes = [...plot.querySelectorAll("span")].map((e) => e.getBoundingClientRect());
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
      if (a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1) count += 1;
    }));
  }
  return count;
}"""

SEARCH = """() => {
  const field = document.getElementById("find"), start = performance.now();
  field.value = "boundary cache";
  field.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  return performance.now() - start;
}"""


class TestSize:
    """Large ones open and answer. The limits leave room for a slow machine: it takes a fraction of them."""

    def test_a_megabyte(self, opened: Open) -> None:
        """A prompt of a megabyte, one line of it very long, opens in seconds and is searched at once."""
        parts = [(f"part {n}", "project", f"file:{n}.md", prose(17_000, n)) for n in range(56)]
        start = time.perf_counter()
        page = opened(built(*parts, ("line", "turn", "", "y" * 80_000)))
        page.wait_for_selector("#find")
        page.screenshot()
        assert time.perf_counter() - start < 15
        assert page.evaluate(SEARCH) < 1000
        page.click(".list button:not([hidden])")
        assert page.evaluate("document.querySelectorAll('.part').length") == 57

    def test_five_hundred_turns(self, opened: Open, tmp_path: Path) -> None:
        """A session of 500 turns opens in seconds, and a turn is chosen at once."""
        session = Session(SystemPromptBuilder().compose())
        for number in range(500):
            session.user(prose(200, number))
            session.request(to="anthropic", model="claude-opus-5-5")
            session.record(Usage(3000, 2990 if number else 0, {}, 9), at=30.0 * number)
            session.append({"role": "assistant", "content": prose(500, -number)})
        session.save(tmp_path / "session.json")
        start = time.perf_counter()
        page = opened(tmp_path / "session.json")
        page.wait_for_selector(".chart")
        page.screenshot()
        assert time.perf_counter() - start < 30
        assert page.evaluate("document.querySelectorAll('tbody tr').length") == 500
        page.focus(".chart")
        taken = page.evaluate(
            """() => {
              const chart = document.querySelector(".chart"), start = performance.now();
              for (let n = 0; n < 20; n += 1) chart.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
              document.body.offsetHeight;
              return (performance.now() - start) / 20;
            }"""
        )
        assert taken < 200
