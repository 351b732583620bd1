"""What a reader cannot see in a text: spelling stays, and what hides is shown by its code point."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from deepprompt.prompt import Note
from deepprompt.text.characters import (
    ASCII_HIDDEN,
    EMOJI,
    HIDDEN,
    IDEOGRAPHS,
    JOINING,
    MONGOLIAN,
    PICTURES,
    TAG_FLAGS,
    UNSPACED,
    VARIED,
)
from deepprompt.text.plain import EMPTY_CELL, hidden_character, is_hidden, odd_characters

# Marks of direction are ordinary in mixed text, operators in formulas, selectors in names; a text needs only so many.
_MOST_MARKS = 64
# Blank Braille cells are drawn with in rows no wider than this.
_WIDEST_PICTURE = 120
# What tags and tokens are made of: between these no formula needs anything.
_SIGNS = "<>[]`\\"
# A fence, and how far before it the line's margin is looked at.
_FENCES = ("```", "~~~")
_MARGIN = 16
# So many letters in a row are a word, and no variable of a formula.
_WORD = 2
_SURROGATES = "\ud800-\udfff"


@cache
def _concealed(is_ascii: bool) -> re.Pattern[str]:
    return re.compile(f"[{ASCII_HIDDEN}]") if is_ascii else hidden_character()


@cache
def _shown_alone() -> re.Pattern[str]:
    return re.compile("|".join((*TAG_FLAGS, f"[{HIDDEN}{EMPTY_CELL}]")))


@cache
def _one_of(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")


def _is(characters: str, character: str) -> bool:
    return _one_of(characters).match(character) is not None


def find_hidden(text: str) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return where the characters are that `reveal` writes out, by character, and those that it keeps, by kind."""
    found: dict[str, list[int]] = {}
    kept: dict[str, list[int]] = {}
    odd = odd_characters(text)
    if not odd or _concealed(text.isascii()).search(odd) is None:
        return found, kept
    for match in (_concealed(True) if text.isascii() else _shown_alone()).finditer(text):
        character, start = match.group(), match.start()
        kind = _kind(character, text, start)
        if kind and len(kept.setdefault(kind, [])) < _MOST_MARKS:
            kept[kind].append(start)
        elif kind != "":
            found.setdefault(character, []).append(start)
    return dict(sorted(found.items())), dict(sorted(kept.items()))


def reveal(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Write each hidden, bidirectional or control character as `⟨U+XXXX⟩`, but where it is ordinary spelling."""
    notes = [] if notes is None else notes
    found, kept = find_hidden(text)
    for character, places in found.items():
        notes.append(Note("neutralised", source, f"hidden U+{ord(character):04X}", places[0], len(places)))
    for kind, places in kept.items():
        notes.append(Note("kept", source, kind, places[0], len(places)))
    if not found:
        return text
    pieces, start = [], 0
    for place in sorted(place for places in found.values() for place in places):
        pieces += [text[start:place], f"⟨U+{ord(text[place]):04X}⟩"]
        start = place + 1
    return "".join([*pieces, text[start:]])


def _kind(character: str, text: str, start: int) -> str | None:
    """Return "" for ordinary spelling, a name for what is kept so many times only, and None for what hides."""
    if len(character) > 1:  # a registered flag
        return ""
    if character in "\u200e\u200f":
        return "text direction marks"
    before = text[start - 1 : start]
    after = text[start + 1 : start + 2]
    rule = _RULES.get(character) or (_selector if "\ufe00" <= character <= "\ufe0f" else None)
    if rule is not None:
        return rule(character, text, start, before, after)
    if "\U000e0100" <= character <= "\U000e01ef":
        alone = _is(IDEOGRAPHS, before) and not is_hidden(after)
        return "variation sequences" if alone else None
    return None


def _selector(character: str, text: str, start: int, before: str, after: str) -> str | None:
    if character in "\ufe0e\ufe0f":
        # What is left of an emoji that some program took away: alone, after a blank or a quote, or as the first
        # character of a link to a heading that has one (`(#-setup)`, with a selector after the `#`).
        orphan = not before or before in " \t\n\"'`([|" or text[max(start - 2, 0) : start] == "(#"
        if before and before in "0123456789#*" and not orphan:
            return "" if after == "\u20e3" else None
        if _is(PICTURES + EMOJI, before):
            return ""
        return "presentation selectors without an emoji" if orphan and not is_hidden(after) else None
    if character in "\ufe00\ufe01\ufe02":
        if _is(IDEOGRAPHS, before):
            return None if is_hidden(after) else "variation sequences"
        if character != "\ufe02" and _is(VARIED, before):
            return None if is_hidden(after) else "variation sequences"
    return None


def _joiner(character: str, text: str, start: int, before: str, after: str) -> str | None:
    if character == "\u200d" and _is(EMOJI, after):
        # A selector before the joiner was legal only after an emoji.
        return "" if _is(EMOJI, text[start - 2 : start - 1] if before == "\ufe0f" else before) else None
    joins = _is(JOINING, before) or (_is(JOINING, after) and before.isalnum())
    return "" if joins else None


def _word_break(character: str, text: str, start: int, before: str, after: str) -> str | None:  # noqa: ARG001
    # Documents about Markdown put one before a fence, so that it does not end the example that it stands in.
    if text.startswith(_FENCES, start + 1):
        margin = text[max(start - _MARGIN, 0) : start].rpartition("\n")[2]
        return None if margin.strip(" \t>") else "word breaks before a fence"
    # Sites of documentation put one into the link beside each heading, as all of its text or behind it.
    if before and not is_hidden(before) and text.startswith("](", start + 1):
        return ""
    # One at a time, and something on both sides of it.
    if not before or not after or is_hidden(before) or is_hidden(after):
        return None
    if before.islower() and after.isupper():  # sites let a long name such as `companyCreate` break there
        return ""
    return "" if _is(UNSPACED, before) or _is(UNSPACED, after) else None


def _soft_hyphen(character: str, text: str, start: int, before: str, after: str) -> str | None:  # noqa: ARG001
    return "" if before.isalpha() and (after.isalpha() or after in ("", "\n")) else None


def _byte_order_mark(character: str, text: str, start: int, before: str, after: str) -> str | None:  # noqa: ARG001
    # Where one file was appended to another. At the start of a text, `decode` has removed the one that belongs there.
    appended = before == "\n" and not is_hidden(after) and not text[: min(start, _MARGIN)].isspace()
    return "byte order marks at the start of a line" if appended else None


def _operator(character: str, text: str, start: int, before: str, after: str) -> str | None:
    # Between two things of a formula: never inside a word, and never two.
    if not before or not after or before.isspace() or after.isspace() or is_hidden(before) or is_hidden(after):
        return None
    if before in _SIGNS or after in _SIGNS:
        return None
    if character == "\u2060":  # keeps a line from breaking at a sign; between letters no line breaks anyway
        return None if before.isalpha() and after.isalpha() else "joiners in formulas"
    left, right = text[max(start - _WORD, 0) : start], text[start + 1 : start + 1 + _WORD]
    if character == "\u2061":  # the application of a function: its name may be a word
        applied = before.isalpha() and (len(right) < _WORD or not right.isalpha())
        return "joiners in formulas" if applied else None
    if (left.isalpha() and len(left) == _WORD) or (right.isalpha() and len(right) == _WORD):
        return None
    return "joiners in formulas"


def _mongolian(character: str, text: str, start: int, before: str, after: str) -> str | None:  # noqa: ARG001
    return "" if _is(MONGOLIAN, before) else None


def _empty_cell(character: str, text: str, start: int, before: str, after: str) -> str | None:  # noqa: ARG001
    # A blank of Braille beside Braille; in a picture made of it, a run of them no wider than the picture.
    left = text[max(start - _WIDEST_PICTURE, 0) : start]
    right = text[start + 1 : start + 1 + _WIDEST_PICTURE]
    inner, outer = left.rstrip(EMPTY_CELL), right.lstrip(EMPTY_CELL)
    if len(left) - len(inner) + len(right) - len(outer) >= _WIDEST_PICTURE:
        return None
    return "" if "\u2801" <= inner[-1:] <= "\u28ff" or "\u2801" <= outer[:1] <= "\u28ff" else None


_Rule = Callable[[str, str, int, str, str], str | None]
_RULES: dict[str, _Rule] = {
    "\u200b": _word_break,
    "\u200c": _joiner,
    "\u200d": _joiner,
    "\xad": _soft_hyphen,
    "\ufeff": _byte_order_mark,
    EMPTY_CELL: _empty_cell,
    **dict.fromkeys("\u2060\u2061\u2062\u2063\u2064", _operator),
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", _mongolian),
}


def place_before(text: str, visible: str, place: int) -> int:
    """Return where a place of a revealed text was in the text itself."""
    if text is visible:
        return place
    longer = 0
    for match in (_concealed(True) if text.isascii() else _shown_alone()).finditer(text):
        start = match.start() + longer
        if start >= place:
            break
        if visible[start] != match.group()[0]:
            longer += len(f"U+{ord(match.group()):04X}") + 1
    return place - longer


def drop_hidden(text: str) -> str:
    """Leave out hidden characters: for comparing names, never for text that is shown."""
    return re.sub(f"[{ASCII_HIDDEN}]" if text.isascii() else f"[{HIDDEN}]", "", text)


@cache
def _unshown() -> re.Pattern[str]:
    return re.compile("|".join((*TAG_FLAGS, f"[{HIDDEN}{EMPTY_CELL}{_SURROGATES}]")))


def split_hidden(text: str) -> list[str | int]:
    """Return a text as pieces: what can be shown as it is, and the code point of each character that cannot.

    As in `reveal`, but that what is kept only so many times is hidden as well, and lone surrogates.
    """
    pieces: list[str | int] = []
    start = 0
    for match in _unshown().finditer(text):
        if _kind(match.group(), text, match.start()) != "":
            pieces += [text[start : match.start()]] if start < match.start() else []
            pieces.append(ord(match.group()))
            start = match.end()
    return [*pieces, text[start:]] if start < len(text) else pieces
