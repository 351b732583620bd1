"""The plain text behind a text: the same for a whole text as for each of its characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.text.forms import FORMS
from deepprompt.text.plain import Plain, odd_characters
from tests.support.examples import examples

ODD = "".join(FORMS.values()) + "\x00\r\x1c\x7f\x85\xa0\xad\u200b\u2028\u2800\u3000\ufe0f\ud800\udc80\U000e0041é日👩"
TEXTS = st.text(st.one_of(st.sampled_from("ab <|=\t\n~"), st.sampled_from(ODD), st.characters()), max_size=60)


@examples(300)
@given(TEXTS)
def test_a_text_is_written_as_its_characters_are(text: str) -> None:
    """Each character has its own form, whatever stands beside it, and places lead back to it."""
    forms = [Plain(character).text for character in text]
    plain = Plain(text)
    assert plain.text == "".join(forms)
    assert [plain.place(start) for start in range(len(plain.text))] == [
        place for place, form in enumerate(forms) for _ in form
    ]


@pytest.mark.parametrize("count", [1, 63, 64, 65, len(ODD)])
def test_many_forms_are_written_as_few_are(count: int) -> None:
    """However many different characters have another form, each is written in it."""
    text = "".join(f"<{character}a" for character in ODD[:count])
    assert Plain(text).text == "".join(f"<{Plain(character).text}a" for character in ODD[:count])


@examples(300)
@given(TEXTS)
def test_odd_characters(text: str) -> None:
    """Odd is all but printable ASCII, tabs and newlines, in the order of the text."""
    assert odd_characters(text) == "".join(one for one in text if one not in "\t\n" and not " " <= one <= "~")


def test_no_form_has_a_form() -> None:
    """A plain text is plain: so the order in which its characters are replaced makes no difference."""
    everything = "".join(map(chr, (*range(0x20000), *range(0xE0000, 0xE2000))))
    plain = Plain(everything).text
    assert plain != everything
    assert Plain(plain).text == plain
