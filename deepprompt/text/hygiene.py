"""Text from outside: decode it, show hidden characters, keep it from forging structure, truncate it.

Every function is deterministic and takes time in proportion to its input; all but `cut` and `shorten` are idempotent.
If you pass a list as `notes`, changes are added to it; `source` is the name of the text in these notes. Loaders use
`decode`, `neutralise` and `shorten`, which suit any prompt. Systems use `scrub`, `escape_boundary`, `escape_tags` and
`one_line` where they join text, to protect the structure of their prompt.
"""

from __future__ import annotations

import codecs
import re
from functools import cache

from deepprompt.frozen import replace
from deepprompt.prompt import Note
from deepprompt.text.disarm import escape_roles
from deepprompt.text.plain import BLANK, odd_characters

TRUNCATION_MARKER = "\n... [truncated]"


@cache
def _line_breaks() -> re.Pattern[str]:
    return re.compile("[\n\r\v\f\x85\u2028\u2029]+")


@cache
def _one_of(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")


_SURROGATES = "\ud800-\udfff"
# The control characters that no text has; ESC and those that move the cursor are in logs and drawings.
_CONTROLS = bytes([*range(7), *range(14, 27), *range(28, 32), 127])
_LEAST_TO_JUDGE = 512
# How files of these kinds begin. No text does.
_SIGNATURES = {
    b"\x89PNG\r\n": "a PNG image", b"\xff\xd8\xff": "a JPEG image", b"GIF87a": "a GIF image", b"GIF89a": "a GIF image",
    b"%PDF-": "a PDF", b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "gzip data", b"BZh91AY": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data", b"\x28\xb5\x2f\xfd": "zstd data", b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x7fELF": "a program", b"\x00asm": "a program", b"SQLite format 3\x00": "a database",
}  # fmt: skip


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


def why_no_text(data: bytes) -> str:
    """Return why the bytes of a file are not text, "" if they may be. A few bytes with no known start may be."""
    for start, kind in _SIGNATURES.items():
        if data.startswith(start):
            return f"not a text file: it is {kind}"
    if len(data) < _LEAST_TO_JUDGE:
        return ""
    wrong = len(data) - len(data.translate(None, _CONTROLS))
    if not data.isascii():
        wrong += data.decode("utf-8", "replace").count("\ufffd")
    if wrong * 10 <= len(data) * 3:
        return ""
    what = f"{wrong} of {len(data)} bytes are control characters or not UTF-8"
    return f"not a text file: {what}; save it as UTF-8 if it is text"


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
    """Show what is hidden, and disarm control tokens, lines of a speaker's tag and the tag of our reminders."""
    if not odd_characters(text):
        return escape_roles(text, source, notes)
    from deepprompt.text.hidden import place_before, reveal

    notes = [] if notes is None else notes
    visible = reveal(text, source, notes)
    found: list[Note] = []
    neutral = escape_roles(visible, source, found)
    notes += [replace(note, offset=place_before(text, visible, note.offset or 0)) for note in found]
    return neutral


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
    """Cut a neutralised text so that it stays one: half a flag is hidden, half of a line may be a speaker's tag."""
    short = cut(text, limit)
    while short != text:
        neutral = neutralise(short, "", [])
        if neutral == short:
            break
        # Everything up to the first character that would be written in another way can stay.
        kept = next(place for place, pair in enumerate(zip(short, neutral, strict=False)) if pair[0] != pair[1])
        limit = min(len(short[:kept].encode()), len(short.removesuffix(TRUNCATION_MARKER).encode()) - 1)
        short = cut(text, limit)
    return short


def is_blank(text: str) -> bool:
    """Whether a text is empty or only white space, as defined by Go."""
    return not text or (text[0] in BLANK and not text.strip(BLANK))


def trim(text: str) -> str:
    """Remove white space at both ends, as defined by Go."""
    return text.strip(BLANK)
