"""Text from outside: decode it once, make the invisible visible, keep it from forging structure, cut it.

Every function is deterministic, takes time in proportion to its input, and adds to `notes` what it changed;
each but `cut` is idempotent. Nothing here reads a file: that is `sources.files`. Characters are handled where text is
loaded (`decode`, `reveal`), structure where it is joined (`scrub`, `escape_boundary`, `escape_tags`,
`one_line`).
"""

from __future__ import annotations

import codecs
import re
from functools import cache

from deepprompt.prompt import Note
from deepprompt.sources.characters import BLANK, EMOJI, HIDDEN, JOINING, MONGOLIAN, TAG_FLAGS

TRUNCATION_MARKER = "\n... [truncated]"

# Left-to-right and right-to-left marks are ordinary in mixed text, but a text needs only so many of them.
_MOST_MARKS = 64

_HIDDEN = re.compile("|".join((*TAG_FLAGS, f"[{HIDDEN}]")))
_EMOJI = re.compile(f"[{EMOJI}]")
_JOINING = re.compile(f"[{JOINING}]")
_MONGOLIAN = re.compile(f"[{MONGOLIAN}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAKS = re.compile("[\n\r\v\f\x85\u2028\u2029]+")

# The boundary as a model might take it for one: any width and case of its letters, with blanks or
# invisible characters between them; no newlines are needed around it. A backslash before it has
# neutralised it already. Every quantifier is bounded, so the time is linear.
_EQUALS = "[=\uff1d\ufe66]"
_GAP = f"[{HIDDEN} \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]{{0,8}}"
_BOUNDARY = re.compile(
    rf"(?<!\\)({_EQUALS}{_GAP}){{3}}"
    + _GAP.join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in "DYNAMICCONTEXT"),
    re.IGNORECASE,
)


def decode(data: bytes, source: str, notes: list[Note], *, complete: bool = True) -> str:
    r"""UTF-8 bytes as text: without a BOM, `\n` for each line end, U+FFFD for what is not UTF-8.

    With `complete=False` the bytes stop somewhere in the file, and a character cut in two at the end is left out.
    """
    return unify_line_ends(to_text(data.removeprefix(codecs.BOM_UTF8), source, notes, complete=complete))


def to_text(data: bytes, source: str, notes: list[Note], *, complete: bool = True) -> str:
    """UTF-8 bytes as text with U+FFFD for what is not UTF-8, and nothing else changed."""
    try:
        return codecs.utf_8_decode(data, "strict", complete)[0]
    except UnicodeDecodeError as error:
        text = codecs.utf_8_decode(data, "replace", complete)[0]
        offset = len(unify_line_ends(data[: error.start].decode()))
        count = text.count("\ufffd") - data.count("\ufffd".encode())
        notes.append(Note("replaced", source, "bytes that are not UTF-8, by U+FFFD", offset, count))
        return text


def unify_line_ends(text: str) -> str:
    r"""`\n` for each `\r\n` and each lone `\r`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def reveal(text: str, source: str, notes: list[Note]) -> str:
    """Write each hidden, bidirectional or control character as `⟨U+XXXX⟩`, but where it is ordinary spelling."""
    if _HIDDEN.search(text) is None:
        return text
    found: dict[str, list[int]] = {}
    marks: list[int] = []

    def replace(match: re.Match[str]) -> str:
        character, start = match.group(), match.start()
        if character in "\u200e\u200f" and len(marks) < _MOST_MARKS:
            marks.append(start)
            return character
        if _is_ordinary(character, text, start):
            return character
        found.setdefault(character, []).append(start)
        return f"⟨U+{ord(character):04X}⟩"

    visible = _HIDDEN.sub(replace, text)
    for character, places in sorted(found.items()):
        notes.append(Note("neutralised", source, f"hidden U+{ord(character):04X}", places[0], len(places)))
    if marks:
        notes.append(Note("kept", source, "text direction marks", marks[0], len(marks)))
    return visible


def drop_hidden(text: str) -> str:
    """Leave out hidden characters: for comparing names, never for text that is shown."""
    return _HIDDEN.sub("", text)


def _is_ordinary(character: str, text: str, start: int) -> bool:
    """Whether a hidden character stands where the spelling of a language or an emoji puts it."""
    if len(character) > 1:  # a registered flag
        return True
    before = text[start - 1 : start]
    after = text[start + 1 : start + 2]
    if character in "\ufe0e\ufe0f":
        if before in tuple("0123456789#*"):
            return after == "\u20e3"
        return _EMOJI.match(before) is not None
    if character == "\u200d" and _EMOJI.match(after):
        # A selector before the joiner was legal only after an emoji.
        return _EMOJI.match(text[start - 2 : start - 1] if before == "\ufe0f" else before) is not None
    if character in "\u200c\u200d":
        return _JOINING.match(before) is not None or (_JOINING.match(after) is not None and before.isalnum())
    if character in "\u180b\u180c\u180d\u180e\u180f":
        return _MONGOLIAN.match(before) is not None
    return False


def scrub(text: str, source: str, notes: list[Note]) -> str:
    """Replace lone surrogates by U+FFFD, so that the text encodes to UTF-8."""
    if text.isascii():
        return text
    first = _SURROGATE.search(text)
    if first is None:
        return text
    scrubbed, count = _SURROGATE.subn("\ufffd", text)
    notes.append(Note("replaced", source, "lone surrogates, by U+FFFD", first.start(), count))
    return scrubbed


def escape_boundary(text: str, source: str, notes: list[Note]) -> str:
    r"""Write `\` before each look-alike of the dynamic context boundary."""
    if "=" not in text and (text.isascii() or ("\uff1d" not in text and "\ufe66" not in text)):
        return text
    first = _BOUNDARY.search(text)
    if first is None:
        return text
    escaped, count = _BOUNDARY.subn(r"\\\g<0>", text)
    notes.append(Note("neutralised", source, "look-alike of the dynamic context boundary", first.start(), count))
    return escaped


def escape_tags(text: str, names: tuple[str, ...], source: str, notes: list[Note]) -> str:
    """Write the `<` before each of these tag names as `&lt;`, whatever case, width and gaps the tag is written in.

    No closing bracket is needed: what a model takes for a tag is enough. A full-width bracket keeps its width.
    """
    if "<" not in text and (text.isascii() or ("\uff1c" not in text and "\ufe64" not in text)):
        return text
    pattern = _tag_pattern(names)
    first = pattern.search(text)
    if first is None:
        return text
    escaped, count = pattern.subn(lambda match: _BRACKETS[match.group()], text)
    notes.append(Note("neutralised", source, "look-alike of a tag", first.start(), count))
    return escaped


_BRACKETS = {"<": "&lt;", "\uff1c": "&#xFF1C;", "\ufe64": "&#xFE64;"}


@cache
def _tag_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    # Possessive gaps: they may be of any length, and are never tried again shorter, so the time stays linear.
    gap = f"[{HIDDEN}{BLANK}]*+"
    within = f"[{HIDDEN}{BLANK.replace(chr(10), '')}]*+"
    spelled = "|".join(within.join(_any_width(letter) for letter in name) for name in names)
    return re.compile(rf"[<\uff1c\ufe64](?=(?:{gap}[/\uff0f]){{0,3}}+{gap}(?:{spelled}))", re.IGNORECASE)


def _any_width(letter: str) -> str:
    wide = chr(ord(letter) + 0xFEE0)
    return f"[{re.escape(letter)}{wide}]"


def one_line(text: str, source: str, notes: list[Note]) -> str:
    """Write each run of line breaks as one blank."""
    if text.isprintable():
        return text
    first = _LINE_BREAKS.search(text)
    if first is None:
        return text
    joined, count = _LINE_BREAKS.subn(" ", text)
    notes.append(Note("neutralised", source, "line breaks in a one-line field", first.start(), count))
    return joined


def cut(text: str, limit: int) -> str:
    """At most `limit` UTF-8 bytes of the text, no character split, then the truncation marker if any are gone."""
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[:limit].decode("utf-8", "ignore") + TRUNCATION_MARKER


def is_blank(text: str) -> bool:
    """Whether a text has nothing but white space, as Go trims it."""
    return not text.strip(BLANK)


def trim(text: str) -> str:
    """Drop white space at both ends, as Go trims it."""
    return text.strip(BLANK)
