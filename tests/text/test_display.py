"""A stranger's text on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.text.display import display

KEY = "ghp_" + "a1B2" * 9

SHOWN = {
    "plain": ("naïve 文字 ❤️", "naïve 文字 ❤️"),
    "escape-sequence": ("a\x1b[31mb\x9b0m", "a⟨U+001B⟩[31mb⟨U+009B⟩0m"),
    "line-breaks": ("a\nb\n\n\nc", "a b c"),
    "carriage-return": ("a\rb", "a⟨U+000D⟩b"),
    "tab": ("a\tb", "a\tb"),
    "hidden": ("a\u200bb\u202ec", "a⟨U+200B⟩b⟨U+202E⟩c"),
    "key": (f"token {KEY}!", "token [redacted: GitHub token]!"),
    "key-over-lines": (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nx9/+=\n-----END PRIVATE KEY-----\nend",
        "[redacted: private key] end",
    ),
    "lone-surrogate": ("a\ud800b", "a\ufffdb"),
    "undecodable-byte": ("a\udcffb", "a\ufffdb"),
    "byte-of-a-character": ("\udcc3\udca9", "é"),
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_text_is_shown_on_one_line(text: str, shown: str) -> None:
    """Keys are redacted, hidden characters shown, line breaks joined, broken characters replaced."""
    assert display(text) == shown


@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b\n\r\t\u2028\ud800\udcff⟨")))
def test_whatever_the_text_is_it_can_be_printed(text: str) -> None:
    """The result encodes to UTF-8, has no line break and no control character, and displays as itself."""
    shown = display(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert not any((ord(character) < 32 and character != "\t") or 127 <= ord(character) < 160 for character in shown)
    assert display(shown) == shown
