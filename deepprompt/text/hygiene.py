"""Text from outside: decode it, show hidden characters, keep it from forging structure, truncate it.

Every function is deterministic and takes time in proportion to its input; all but `cut` and `shorten` are idempotent.
If you pass a list as `notes`, changes are added to it; `source` is the name of the text in these notes. Loaders use
`decode`, `neutralise` and `shorten`, which suit any prompt. Systems use `scrub`, `escape_boundary`, `escape_tags` and
`one_line` where they join text, to protect the structure of their prompt.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise

from deepprompt.prompt import BOUNDARY_TITLE, Note
from deepprompt.text.characters import (
    ALPHABETS,
    ASCII_BLANK,
    ASCII_HIDDEN,
    BLANK,
    EMOJI,
    HIDDEN,
    JOINING,
    LETTER_FORMS,
    MONGOLIAN,
    TAG_FLAGS,
)

TRUNCATION_MARKER = "\n... [truncated]"

# Left-to-right and right-to-left marks are ordinary in mixed text, but a text needs only so many of them.
_MOST_MARKS = 64


# Patterns are compiled when a text needs them, each once: together they take longer than building a prompt.
@cache
def _hidden(is_ascii: bool) -> re.Pattern[str]:
    return re.compile(f"[{ASCII_HIDDEN}]" if is_ascii else "|".join((*TAG_FLAGS, f"[{HIDDEN}]")))


@cache
def _unshown() -> re.Pattern[str]:
    return re.compile("|".join((*TAG_FLAGS, f"[{HIDDEN}{_SURROGATES}]")))


@cache
def _line_breaks() -> re.Pattern[str]:
    return re.compile("[\n\r\v\f\x85\u2028\u2029]+")


@cache
def _one_of(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")


_SURROGATES = "\ud800-\udfff"


def decode(data: bytes, source: str = "", notes: list[Note] | None = None, *, complete: bool = True) -> str:
    r"""UTF-8 bytes as text: without a BOM, `\n` for each line end, U+FFFD for what is not UTF-8.

    With `complete=False` the bytes stop somewhere in the file, and a character cut in two at the end is left out.
    """
    return unify_line_ends(to_text(data.removeprefix(codecs.BOM_UTF8), source, notes, complete=complete))


def to_text(data: bytes, source: str = "", notes: list[Note] | None = None, *, complete: bool = True) -> str:
    """UTF-8 bytes as text with U+FFFD for what is not UTF-8, and nothing else changed."""
    try:
        return codecs.utf_8_decode(data, "strict", complete)[0]
    except UnicodeDecodeError as error:
        text = codecs.utf_8_decode(data, "replace", complete)[0]
        if notes is not None:
            offset = len(unify_line_ends(data[: error.start].decode()))
            count = text.count("\ufffd") - data.count("\ufffd".encode())
            notes.append(Note("replaced", source, "bytes that are not UTF-8, by U+FFFD", offset, count))
        return text


def from_system(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Return text from the operating system, such as an argument or a file name, as UTF-8 whatever the locale is."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # it came from somewhere else
        return scrub(text, source, notes)
    return to_text(data, source, notes)


def unify_line_ends(text: str) -> str:
    r"""`\n` for each `\r\n` and each lone `\r`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def neutralise(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Show hidden characters, and escape what a model could take for the end of a turn or for another speaker."""
    visible = reveal(text, source, notes)
    found: list[Note] = []
    neutral = escape_roles(visible, source, found)
    if notes is not None:
        notes += [replace(note, offset=_place_before(text, visible, note.offset or 0)) for note in found]
    return neutral


def _place_before(text: str, visible: str, place: int) -> int:
    """Return the position in the original text of a position in the revealed one."""
    longer = 0
    for match in _hidden(text.isascii()).finditer(text):
        start = match.start() + longer
        if start >= place:
            break
        if visible[start] != match.group()[0]:
            longer += len(f"U+{ord(match.group()):04X}") + 1
    return place - longer


def find_hidden(text: str) -> tuple[dict[str, list[int]], list[int]]:
    """Return where the characters are that `reveal` writes out, by character, and the direction marks that it keeps."""
    found: dict[str, list[int]] = {}
    marks: list[int] = []
    for match in _hidden(text.isascii()).finditer(text):
        character, start = match.group(), match.start()
        if character in "\u200e\u200f" and len(marks) < _MOST_MARKS:
            marks.append(start)
        elif not _is_ordinary(character, text, start):
            found.setdefault(character, []).append(start)
    return dict(sorted(found.items())), marks


def reveal(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Write each hidden, bidirectional or control character as `⟨U+XXXX⟩`, except where ordinary spelling needs it."""
    if _hidden(text.isascii()).search(text) is None:  # true of nearly every text, and faster than collecting nothing
        return text
    found, marks = find_hidden(text)
    if notes is not None:
        for character, places in found.items():
            notes.append(Note("neutralised", source, f"hidden U+{ord(character):04X}", places[0], len(places)))
        if marks:
            notes.append(Note("kept", source, "text direction marks", marks[0], len(marks)))
    if not found:
        return text
    pieces, start = [], 0
    for place in sorted(place for places in found.values() for place in places):
        pieces += [text[start:place], f"⟨U+{ord(text[place]):04X}⟩"]
        start = place + 1
    return "".join([*pieces, text[start:]])


def drop_hidden(text: str) -> str:
    """Remove hidden characters, for comparing names. Never use it for text that is shown."""
    return _hidden(text.isascii()).sub("", text)


def split_hidden(text: str) -> list[str | int]:
    """Return a text as pieces: what can be shown as it is, and the code point of each character that cannot.

    As in `reveal`, but that marks of direction are hidden as well, and lone surrogates.
    """
    pieces: list[str | int] = []
    start = 0
    for match in _unshown().finditer(text):
        if not _is_ordinary(match.group(), text, match.start()):
            pieces += [text[start : match.start()]] if start < match.start() else []
            pieces.append(ord(match.group()))
            start = match.end()
    return [*pieces, text[start:]] if start < len(text) else pieces


def _is_ordinary(character: str, text: str, start: int) -> bool:
    """Whether the spelling of a language or an emoji needs this hidden character at this position."""
    if len(character) > 1:  # a registered flag
        return True
    before = text[start - 1 : start]
    after = text[start + 1 : start + 2]
    if character in "\ufe0e\ufe0f":
        if before in tuple("0123456789#*"):
            return after == "\u20e3"
        return _one_of(EMOJI).match(before) is not None
    if character == "\u200d" and _one_of(EMOJI).match(after):
        # A selector before the joiner was legal only after an emoji.
        return _one_of(EMOJI).match(text[start - 2 : start - 1] if before == "\ufe0f" else before) is not None
    if character in "\u200c\u200d":
        return _one_of(JOINING).match(before) is not None or (
            _one_of(JOINING).match(after) is not None and before.isalnum()
        )
    if character in "\u180b\u180c\u180d\u180e\u180f":
        return _one_of(MONGOLIAN).match(before) is not None
    return False


def scrub(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Replace lone surrogates by U+FFFD, so that the text encodes to UTF-8."""
    if text.isascii():
        return text
    surrogates = _one_of(_SURROGATES)
    first = surrogates.search(text)
    if first is None:
        return text
    scrubbed, count = surrogates.subn("\ufffd", text)
    if notes is not None:
        notes.append(Note("replaced", source, "lone surrogates, by U+FFFD", first.start(), count))
    return scrubbed


def escape_boundary(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    r"""Write `\` before each look-alike of the dynamic context boundary."""
    is_ascii = text.isascii()
    if text.count("=") + (0 if is_ascii else text.count("\uff1d") + text.count("\ufe66")) < 3:
        return text
    detail = "look-alike of the dynamic context boundary"
    pattern = _boundary_pattern(is_ascii)
    return _escape(text, pattern, lambda equals: f"\\{equals}", Note("neutralised", source, detail), notes)


def escape_tags(text: str, names: tuple[str, ...], source: str = "", notes: list[Note] | None = None) -> str:
    """Write the `<` before each of these tag names as `&lt;`, whatever case, form and gaps the tag is written in.

    No closing bracket is needed: what a model takes for a tag is enough. A full-width bracket keeps its width.
    """
    if "<" not in text and (text.isascii() or ("\uff1c" not in text and "\ufe64" not in text)):
        return text
    note = Note("neutralised", source, "look-alike of a tag")
    return _escape(text, _tag_pattern(names, text.isascii()), _BRACKETS.__getitem__, note, notes)


def escape_roles(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Write as `&lt;` the `<` of each special token (`<|im_end|>`, `<｜User｜>`) and of each tag that names a speaker.

    A tag's name counts only as a whole, so that the placeholders of ordinary text, such as `<username>`, stay.
    """
    if "<" not in text and (text.isascii() or ("\uff1c" not in text and "\ufe64" not in text)):
        return text
    note = Note("neutralised", source, "look-alike of a special token or a speaker's tag")
    return _escape(text, _role_pattern(text.isascii()), _BRACKETS.__getitem__, note, notes)


def _escape(
    text: str, pattern: re.Pattern[str], write: Callable[[str], str], note: Note, notes: list[Note] | None
) -> str:
    """Replace the first character of each match. Letters match in all their forms, such as full width."""
    plain = text if text.isascii() else text.translate(_plain_forms())
    places = [match.start() for match in pattern.finditer(plain)]
    if not places:
        return text
    pieces = [text[: places[0]]]
    for place, following in pairwise([*places, len(text)]):
        pieces += (write(text[place]), text[place + 1 : following])
    if notes is not None:
        notes.append(replace(note, offset=places[0], count=len(places)))
    return "".join(pieces)


@cache
def _plain_forms() -> dict[int, str]:
    """Return a translation of every other form of a letter or sign to its plain form, one character for one."""
    forms = {ord(form): letter for letter, others in LETTER_FORMS.items() for form in others}
    for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz"):
        forms |= {first + place: letter for first in ALPHABETS}
    return forms


def _unseen(is_ascii: bool) -> tuple[str, str]:
    """Return the hidden characters and the blanks that a text can contain."""
    return (ASCII_HIDDEN, ASCII_BLANK) if is_ascii else (HIDDEN, BLANK)


@cache
def _boundary_pattern(is_ascii: bool) -> re.Pattern[str]:
    # The boundary as a model might take it for one: any form and case of its letters, with blanks or invisible
    # characters between them; no newlines are needed around it. A backslash before it has neutralised it already.
    # Possessive gaps, as in _tag_pattern.
    gap = f"[{ASCII_HIDDEN} \t]*+" if is_ascii else f"[{HIDDEN} \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]*+"
    return re.compile(rf"(?<!\\)(={gap}){{3}}{gap.join(BOUNDARY_TITLE.replace(' ', ''))}", re.IGNORECASE)


@cache
def _tag_pattern(names: tuple[str, ...], is_ascii: bool) -> re.Pattern[str]:
    # Possessive gaps: they may be of any length, and are never tried again shorter, so the time stays linear. Groups
    # are atomic for that, not possessive: up to Python 3.11.4 a possessive group loses its place.
    hidden, blank = _unseen(is_ascii)
    gap = f"[{hidden}{blank}]*+"
    within = f"[{hidden}{blank.replace(chr(10), '')}]*+"
    spelled = "|".join(within.join(map(re.escape, name)) for name in names)
    return re.compile(rf"<(?=(?>(?:{gap}/){{0,3}}){gap}(?:{spelled}))", re.IGNORECASE)


# Speakers of a chat, the special tokens of models that do not write them with bars, and the tag of our reminders.
_ROLES = ("system", "developer", "assistant", "user", "tool", "function", "human")
_TOKENS = ("im_start", "im_end", "endoftext", "start_of_turn", "end_of_turn", "eot_id", "system-reminder")


@cache
def _role_pattern(is_ascii: bool) -> re.Pattern[str]:
    # As in _tag_pattern; no gap may be tried twice, and no closing bracket is needed.
    hidden, blank = _unseen(is_ascii)
    gap = f"[{hidden}{blank}]*+"
    within = f"[{hidden}]*+"
    roles = "|".join(within.join(role) for role in _ROLES)
    tokens = "|".join(within.join(token) for token in _TOKENS)
    slashes = rf"(?>(?:{gap}/){{0,3}}){gap}"
    close = rf"{within}(?>(?:/{within}){{0,3}})"
    # Without a blank any name after a bar is a token; with blanks only a known one: `a <| b` and `a < |b|` are code.
    token = rf"{close}\|{close}(?:[^\W\d]|\u2581)"
    spaced = rf"{slashes}\|{slashes}(?:(?:{roles}){gap}\||(?:{tokens}))"
    whole = rf"(?!(?>(?:(?![{blank}])[{hidden}])*)[\w-])"  # a hidden line break ends a name like any other
    tag = rf"{slashes}(?:(?:{roles}){whole}|(?:{tokens}))"
    return re.compile(rf"<(?={token}|{spaced}|{tag})", re.IGNORECASE)


_BRACKETS = {"<": "&lt;", "\uff1c": "&#xFF1C;", "\ufe64": "&#xFE64;"}


def one_line(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Replace each run of line breaks by one blank."""
    if text.isprintable():
        return text
    breaks = _line_breaks()
    first = breaks.search(text)
    if first is None:
        return text
    joined, count = breaks.subn(" ", text)
    if notes is not None:
        notes.append(Note("neutralised", source, "line breaks in a one-line field", first.start(), count))
    return joined


def cut(text: str, limit: int) -> str:
    """Return at most `limit` UTF-8 bytes of a text, no character split, and a marker if it was truncated."""
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + TRUNCATION_MARKER


def shorten(text: str, limit: int) -> str:
    """Truncate a neutralised text, and keep it neutral: half a flag is hidden text, half of `<username>` a tag."""
    short = cut(text, limit)
    while short != text and neutralise(short) != short:
        limit = len(short.removesuffix(TRUNCATION_MARKER).encode()) - 1
        short = cut(text, limit)
    return short


def is_blank(text: str) -> bool:
    """Whether a text is empty or only white space, as defined by Go."""
    return not text.strip(BLANK)


def trim(text: str) -> str:
    """Remove white space at both ends, as defined by Go."""
    return text.strip(BLANK)
