"""The plain text behind a text: what NFKC makes of its characters, without those that are hidden.

Tokens, tags, the boundary and keys are looked for in it, and places in it lead back to the text itself.
"""

from __future__ import annotations

import re
from functools import cache

from deepprompt.text.characters import BLANK, FORM_RUNS, FORMS, HIDDEN

EMPTY_CELL = "\u2800"
_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@cache
def _plain_forms() -> dict[str, str]:
    """Return what stands for each character that NFKC makes ASCII, or that a template writes as such."""
    forms = {character: text for text, characters in FORMS.items() for character in characters}
    for first, count, text in FORM_RUNS:
        forms |= {chr(first + place): chr(ord(text) + place) for place in range(count)}
    forms |= dict.fromkeys(BLANK[BLANK.index("\x85") :], " ")
    # Bars and blanks as DeepSeek's vocabulary has them, and bars that look the same.
    return forms | {"\uff5c": "|", "\uffe8": "|", "\u2502": "|", "\u01c0": "|", "\u2581": "_"}


@cache
def _odd() -> re.Pattern[str]:
    return re.compile(r"[^\t\n -~]+")


class Plain:
    """A text in plain characters, and where each of them stands in the text itself."""

    __slots__ = ("_others", "_places", "_text", "text")

    def __init__(self, text: str) -> None:
        self.text = self._text = text
        self._places: list[int] | None = None
        self._others: re.Pattern[str] | None = None
        # Few characters of a text are odd, and fewer have another form: a pattern of all that could be would take
        # longer to compile than most prompts to build.
        odd = _odd().findall(text)
        others = [character for character in set("".join(odd)) if self._form(character) != character] if odd else []
        if others:
            self._others = re.compile(f"[{re.escape(''.join(sorted(others)))}]")
            self.text = self._others.sub(lambda match: self._form(match[0]), text)

    @staticmethod
    def _form(character: str) -> str:
        if character in _LINE_ENDS:
            return "\n"
        form = _plain_forms().get(character)
        return form if form is not None else "" if is_hidden(character) else character

    def place(self, start: int) -> int:
        """Return where the character is in the text itself that has become the one at `start`."""
        if self._others is None:
            return start
        if self._places is None:
            widths = [1] * len(self._text)
            for match in self._others.finditer(self._text):
                widths[match.start()] = len(self._form(match[0]))
            self._places = [place for place, width in enumerate(widths) for _ in range(width)]
        return self._places[start]


@cache
def hidden_character() -> re.Pattern[str]:
    """Return the pattern of a character that no reader sees, or of a blank of Braille."""
    return re.compile(f"[{HIDDEN}{EMPTY_CELL}]")


def is_hidden(character: str) -> bool:
    """Whether a character, or nothing, is one that no reader sees."""
    return character not in ("", EMPTY_CELL) and hidden_character().match(character) is not None
