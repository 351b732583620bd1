"""H: content that would be more than text on the inspector's page: markup, script, links, hidden and turned text."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt, explain, read_request
from deepprompt.checks.blame.blame import blame, total_tokens
from deepprompt.checks.cache.simulate import simulate
from deepprompt.inspector.page import render_page
from deepprompt.inspector.timeline import timeline_view
from deepprompt.inspector.views import difference_view, prompt_view
from deepprompt.prompt import Note
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.usage import Usage
from deepprompt.session.transcript import Answer

MARKER = "window.owned=1"
SCRIPT = f"</script><script>{MARKER}</script><!-- <script> --></style><style>*{{color:red}}</style>"
MARKUP = (
    f'<img src=x onerror="{MARKER}"><svg/onload={MARKER}><iframe srcdoc="<script>parent.{MARKER}</script>"></iframe>'
)
ATTRIBUTE = f'a" onmouseover="{MARKER}" x=\'{MARKER}\' `{MARKER}` {{{{SCRIPT}}}} {{{{DATA}}}}'
SEPARATORS = "a\u2028b\u2029c\ud800d\x00e\ufffff"
LINKS = "javascript:window.owned=1 https://example.com/?q=1 data:text/html,<script>window.owned=1</script>"
TURNED = "safe\u202egnp.exe\u2066x\u2069 שלום \u200f"
HIDDEN = "a\u200bb\U000e0041\u2062c\ufeffd \xade"

CASES = {
    "H01": SCRIPT,
    "H02": MARKUP,
    "H03": ATTRIBUTE,
    "H05": SEPARATORS,
    "H06": LINKS,
    "H07": TURNED,
    "H08": HIDDEN,
}


def prompt(text: str) -> Prompt:
    """A prompt that has a text in every place that the page shows."""
    return Prompt(
        (
            Part("first", "One.\n", Pace.RELEASE, "deepprompt:base/1.0.0/identity.md"),
            Part(f"p {text}", f"Two {text}\n{text}", Pace.PROJECT, f"file:{text}"),
            Part("last", f"{text}", Pace.TURN, text),
        ),
        tools=({"name": text, "description": text, "input_schema": {"type": "object"}},),
    )


def pages(text: str) -> dict[str, str]:
    """The three kinds of page, each with a text wherever one can be."""
    one, two = prompt(text), prompt(f"{text} and {text}")
    settings = {"model": text, "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text}]}
    asked = read_request({"model": text, "messages": [{"role": "user", "content": f"{text}?"}]})
    requests = [read_request(settings), asked, read_request(two)]
    simulation = simulate(requests, bundled_facts().rules("anthropic", text))
    answers = {1: Answer(Usage(9, 1, {}, 1), text, text)}
    both = difference_view(explain(one), explain(two), (text, text), blame(one, two), (total_tokens(one), 9))
    timeline = timeline_view(
        text, requests, simulation, explain(requests[-1]), answers=answers, assumed=[text], labels=[text] * 3
    )
    return {
        "prompt": render_page(prompt_view(explain(one), text, [Note("kept", text, text)])),
        "difference": render_page(both),
        "session": render_page(timeline),
    }


class Elements(HTMLParser):
    """Every element of a page with its attributes, and what stands in its block of data."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Counter[tuple[str, tuple[tuple[str, str | None], ...]]] = Counter()
        self.comments: list[str] = []
        self.data = ""
        self._in_data = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element."""
        self.found[tag, tuple(attrs)] += 1
        self._in_data = ("id", "data") in attrs

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - which one it is does not matter
        """Leave the data."""
        self._in_data = False

    def handle_data(self, data: str) -> None:
        """Take the data."""
        if self._in_data:
            self.data += data

    def handle_comment(self, data: str) -> None:
        """Keep what should not be there."""
        self.comments.append(data)


BENIGN = {kind: Elements(page) for kind, page in pages("benign").items()}


@pytest.mark.parametrize("case", CASES)
def test_h10_elements_are_those_of_a_benign_page(case: str) -> None:
    """Whatever the content is, the page has the same elements with the same attributes, and its data can be read."""
    for kind, page in pages(CASES[case]).items():
        elements = Elements(page)
        assert elements.found == BENIGN[kind].found
        assert elements.comments == []
        assert json.loads(elements.data)["kind"] == kind
        page.encode()


def island(page: str) -> str:
    """The block of data as it is written."""
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return str(block)


@pytest.mark.parametrize("case", CASES)
def test_h05_the_data_island_is_ascii_where_it_matters(case: str) -> None:
    """Nothing in the data can end their block, begin a comment, or break a line of a script; and they are all there."""
    for page in pages(CASES[case]).values():
        block = island(page)
        assert not re.search("[<>&\u2028\u2029\ud800-\udfff\x00-\x1f]", block)
    rows = json.loads(island(pages(CASES[case])["prompt"]))["rows"]
    texts = [row["text"] for row in rows if row["name"] == "last"]
    assert texts
    whole = "".join(piece if isinstance(piece, str) else chr(piece) for piece in texts[0])
    assert whole == CASES[case]


@pytest.mark.parametrize("case", CASES)
def test_h01_the_policy_allows_one_script_and_one_style(case: str) -> None:
    """The policy is the first thing in the head, and names the hashes of the one script and the one style."""
    for page in pages(CASES[case]).values():
        head = page.partition("<head>\n")[2]
        (policy,) = re.findall(r'\A<meta http-equiv="Content-Security-Policy" content="([^"]*)">', head)
        (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        hashes = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
        assert policy == (
            f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
            "base-uri 'none'; form-action 'none'"
        )


def test_h02_no_script_writes_markup() -> None:
    """Nothing on the page turns text into markup, code or an address."""
    script = "".join(path.read_text("utf-8") for path in Path(render_page.__code__.co_filename).parent.glob("*.js"))
    forbidden = (
        "innerHTML|outerHTML|insertAdjacentHTML|document\\.write|eval\\(|Function\\(|\\.src\\b|href|DOMParser|fetch\\("
    )
    assert re.findall(forbidden, script) == []


def opened(browser: Any, tmp_path: Path, text: str, kind: str) -> tuple[Any, list[str]]:
    """Open a page, and return it with everything that went wrong or out."""
    path = tmp_path / "page.html"
    path.write_text(pages(text)[kind], "utf-8")
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if request.url != path.as_uri() else None)
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    page.evaluate("for (const box of document.querySelectorAll('details')) { box.hidden = false; box.open = true; }")
    page.wait_for_function("[...document.querySelectorAll('details')].every((box) => box.children.length > 1)")
    return page, said


@pytest.mark.parametrize("case", ["H01", "H02"])
def test_h01_the_same_content_runs_on_a_careless_page(browser: Any, tmp_path: Path, case: str) -> None:
    """What the other tests are about is real: written as markup, without a policy, the content runs."""
    path = tmp_path / "careless.html"
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><script type=text/json>{CASES['H01']}</script>{CASES[case]}")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.owned") == 1
    page.close()


def test_h01_the_policy_stops_what_markup_would_do(browser: Any, tmp_path: Path) -> None:
    """Were content ever written as markup, the policy would still let none of it run."""
    path = tmp_path / "page.html"
    path.write_text(pages("benign")["prompt"].replace("</main>", f"</main>{SCRIPT}{MARKUP}"), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.owned") is None
    page.close()


@pytest.mark.parametrize("kind", ["prompt", "difference", "session"])
@pytest.mark.parametrize("case", ["H01", "H02", "H03", "H06"])
def test_h03_nothing_runs_or_loads_in_a_browser(browser: Any, tmp_path: Path, case: str, kind: str) -> None:
    """In a real browser the content is text: no script runs, nothing is loaded, no element comes of it."""
    page, said = opened(browser, tmp_path, CASES[case], kind)
    assert said == []
    assert page.evaluate("window.owned") is None
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, a, base, form, link').length") == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('style').length") == 1
    assert page.evaluate("[...document.querySelectorAll('*')].some((e) => e.hasAttribute('onmouseover'))") is False
    assert CASES[case] in page.evaluate("document.body.textContent")
    page.close()


@pytest.mark.parametrize("kind", ["prompt", "difference", "session"])
def test_h06_addresses_are_no_links(browser: Any, tmp_path: Path, kind: str) -> None:
    """An address in a prompt leads nowhere: there is no link on the page."""
    page, said = opened(browser, tmp_path, LINKS, kind)
    assert (said, page.evaluate("document.links.length")) == ([], 0)
    page.close()


@pytest.mark.parametrize("kind", ["prompt", "difference", "session"])
def test_h07_turned_text_is_isolated(browser: Any, tmp_path: Path, kind: str) -> None:
    """Controls of direction are drawn and never obeyed, and every text from outside stands in an isolate of its own."""
    page, said = opened(browser, tmp_path, TURNED, kind)
    for button in page.query_selector_all(".list button"):
        button.focus()
    assert said == []
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", page.evaluate("document.body.innerText"))
    outside = """() => {
      const walk = document.createTreeWalker(document.getElementById("page"), NodeFilter.SHOW_TEXT), found = [];
      while (walk.nextNode()) {
        const node = walk.currentNode;
        if (!node.data.includes("שלום")) continue;
        let box = node.parentElement, isolated = false;
        while (box && !isolated) {
          isolated = getComputedStyle(box).unicodeBidi.includes("isolate");
          box = box.parentElement;
        }
        if (!isolated) found.push(node.data);
      }
      return found;
    }"""
    assert page.evaluate(outside) == []
    page.close()


@pytest.mark.parametrize("kind", ["prompt", "difference", "session"])
def test_h08_hidden_characters_are_drawn(browser: Any, tmp_path: Path, kind: str) -> None:
    """Every hidden character is seen by its code, and none is on the page itself."""
    page, said = opened(browser, tmp_path, HIDDEN, kind)
    assert said == []
    drawn = set(page.evaluate("[...document.querySelectorAll('.hidden')].map((e) => e.textContent)"))
    assert {"⟨U+200B⟩", "⟨U+E0041⟩", "⟨U+2062⟩", "⟨U+FEFF⟩", "⟨U+00AD⟩"} <= drawn
    text = page.evaluate("document.getElementById('page').textContent")
    assert not set(text) & set("\u200b\U000e0041\u2062\ufeff\xad")
    page.close()


@pytest.mark.parametrize("text", ["\u200b" * 200_000, "\u200b\u200c" * 5_000], ids=["one", "two"])
def test_h08_very_many_hidden_characters(browser: Any, tmp_path: Path, text: str) -> None:
    """A text of nothing but hidden characters is no bomb: a run of one is drawn once, a long name by its ends."""
    hidden = Prompt((Part(f"p {text}", text, Pace.PROJECT, f"file:{text}"),))
    path = tmp_path / "page.html"
    path.write_text(render_page(prompt_view(explain(hidden), text)), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    drawn = page.eval_on_selector_all(".part pre .hidden", "all => all.map((e) => e.textContent)")
    assert drawn == (["⟨U+200B⟩ × 200,000"] if text[0] == text[1] else ["⟨U+200B⟩", "⟨U+200C⟩"] * 5_000)
    assert len(page.inner_text(".list .name")) < 8_000
    page.close()
