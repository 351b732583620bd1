"""The inspector's page: texts in pieces, and one file with all of it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.inspector.page import SCRIPTS, STYLES, render_page, text_of
from deepprompt.text.hidden import reveal

PIECES: dict[str, str | list[str | int]] = {
    "": "",
    "plain\ttext\n": "plain\ttext\n",
    "a\u200bb": ["a", 0x200B, "b"],
    "\u202e": [0x202E],
    "a\r\nb": ["a", 13, "\nb"],
    "left\u200eright": ["left", 0x200E, "right"],
    "👨‍👩‍👧 می‌خواهم ❤️": "👨‍👩‍👧 می‌خواهم ❤️",
    "half \ud83d": ["half ", 0xD83D],
    "⟨U+200B⟩": "⟨U+200B⟩",
}


@pytest.mark.parametrize(("text", "pieces"), PIECES.items(), ids=[ascii(text) for text in PIECES])
def test_hidden_characters_are_numbers(text: str, pieces: object) -> None:
    """What cannot be seen is a number, what spelling or an emoji needs stays, and a written code is only text."""
    assert text_of(text) == pieces


@given(st.text())
def test_pieces_are_the_text(text: str) -> None:
    """The pieces are the text, whole, and hide nothing that `reveal` would show."""
    pieces = text_of(text)
    whole = "".join(piece if isinstance(piece, str) else chr(piece) for piece in pieces)
    assert whole == text
    shown = "".join(piece if isinstance(piece, str) else f"⟨U+{piece:04X}⟩" for piece in pieces)
    assert reveal(shown, "", []) == shown


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_data_are_what_was_given(value: Any) -> None:
    """Whatever stands in the data is read back from the page as it was."""
    page = render_page({"kind": "prompt", "value": value})
    (block,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(block)["value"] == value
    page.encode()


def test_the_page_is_one_file() -> None:
    """The page names nothing outside itself, and all that it is made of is in the package."""
    page = render_page({"kind": "prompt"})
    assert "{{" not in page.replace("${{", "")
    assert re.findall(r"""(?:src|href|url)\s*[=(]|@import|https?://(?!www\.w3\.org/2000/svg)""", page) == []
    for name in ("page.html", *STYLES, *SCRIPTS):
        assert files("deepprompt.inspector").joinpath(name).is_file()
