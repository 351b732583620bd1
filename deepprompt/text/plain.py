"""The plain text behind a text: what NFKC makes of its characters, without those that are hidden.

Tokens, tags, the boundary and keys are looked for in it, and places in it lead back to the text itself. The data about
characters is loaded when a text has an odd one.
"""

from __future__ import annotations

import re
from functools import cache

# White space as defined by Go's unicode.IsSpace. Python's str.strip() also removes U+001C to U+001F.
BLANK = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
EMPTY_CELL = "\u2800"
_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_ORDINARY = bytes((*b"\t\n", *range(0x20, 0x7F)))
# Replacing one character at a time is the fastest way for a few of them, and the slowest for thousands.
_FEW = 64


@cache
def _plain_forms() -> dict[str, str]:
    """Return what stands for each character that NFKC makes ASCII, or that a template writes as such."""
    from deepprompt.text.forms import FORM_RUNS, FORMS

    forms = {character: text for text, characters in FORMS.items() for character in characters}
    for first, count, text in FORM_RUNS:
        forms |= {chr(first + place): chr(ord(text) + place) for place in range(count)}
    forms |= dict.fromkeys(BLANK[BLANK.index("\x85") :], " ")
    # Bars and blanks as DeepSeek's vocabulary has them, and bars that look the same.
    return forms | {"\uff5c": "|", "\uffe8": "|", "\u2502": "|", "\u01c0": "|", "\u2581": "_"}


def odd_characters(text: str) -> str:
    """Return what a text has besides printable ASCII, tabs and newlines: for most texts nothing."""
    if text.isascii() and text.isprintable():  # as most texts of one line
        return ""
    # A pattern that finds the same takes ten times as long.
    data = text.encode("utf-8", "surrogatepass").translate(None, _ORDINARY)
    return data.decode("utf-8", "surrogatepass") if data else ""


class Plain:
    """A text in plain characters, and where each of them stands in the text itself."""

    __slots__ = ("_forms", "_places", "_text", "text")

    def __init__(self, text: str) -> None:
        self.text = self._text = text
        self._places: list[int] | None = None
        self._forms: dict[str, str] = {}  # of the characters that are written in another way
        odd = odd_characters(text)
        if odd:
            forms = {character: self._form(character) for character in set(odd)}
            self._forms = {character: form for character, form in forms.items() if form != character}
            self.text = self._written()

    def _written(self) -> str:
        if len(self._forms) > _FEW:
            return self._text.translate({ord(character): form for character, form in self._forms.items()})
        text = self._text
        for character, form in self._forms.items():  # in any order: no form has a character that has one
            text = text.replace(character, form)
        return text

    @staticmethod
    def _form(character: str) -> str:
        if character in _LINE_ENDS:
            return "\n"
        if "\ud800" <= character <= "\udfff":  # a lone surrogate, which no digest can be made of
            return "\ufffd"
        form = _plain_forms().get(character)
        return form if form is not None else "" if is_hidden(character) else character

    def place(self, start: int) -> int:
        """Return where the character is in the text itself that has become the one at `start`."""
        if not self._forms:
            return start
        if self._places is None:
            widths = {character: len(form) for character, form in self._forms.items()}
            self._places = [
                place for place, character in enumerate(self._text) for _ in range(widths.get(character, 1))
            ]
        return self._places[start]

    def is_behind_hidden(self, start: int) -> bool:
        """Whether a hidden character stands in the text itself before the one that has become the one at `start`."""
        place = self.place(start) if self._forms else 0
        return place > 0 and is_hidden(self._text[place - 1])


@cache
def hidden_character() -> re.Pattern[str]:
    """Return the pattern of a character that no reader sees, or of a blank of Braille."""
    from deepprompt.text.characters import HIDDEN

    return re.compile(f"[{HIDDEN}{EMPTY_CELL}]")


def is_hidden(character: str) -> bool:
    """Whether a character, or nothing, is one that no reader sees."""
    return character not in ("", EMPTY_CELL) and hidden_character().match(character) is not None
