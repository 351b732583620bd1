"""The report of a failing snapshot: the first byte that differs, what it belongs to, and the lines around each change.

Characters that are invisible, or look like something else, are spelled out as `⟨U+XXXX⟩`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from unicodedata import category, normalize

from deepprompt.checks.places import Place, of_text
from deepprompt.checks.segments import read_request
from deepprompt.prompt import Prompt
from deepprompt.testing.readable import Stored
from deepprompt.text.hidden import drop_hidden, reveal
from deepprompt.text.hygiene import to_text
from deepprompt.text.plain import BLANK

# With two lines around it, a change of one line fits into the eight lines that pytest shows without -vv, and with
# these widths mostly into its 640 characters.
_CONTEXT = 2
_CONTEXT_WIDTH = 80
_WIDTH = 200

# For a longer comparison, read the file.
_MOST_COMPARED = 1000
_MOST_SHOWN = 400

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r"(?P<heading>#{1,6} .*\S)\s*|(?P<opened><[A-Za-z][\w.-]*(?: [^<>]*)?>)|</[A-Za-z][\w.-]*>")
# Unusual blanks, and the direction marks that `reveal` keeps as ordinary text.
_ODD = re.compile("[" + "".join(sorted(set(BLANK) - set(" \t\n"))) + "\u200e\u200f]")
_NOT_PLAIN = re.compile("[^ -~]")
_NO_CHARACTER = ("Cn", "Co", "Cs")  # not assigned, of private use, or a byte that is not UTF-8
_BYTE = re.compile("[\udc80-\udcff]")
_PATH = re.compile(rb'(?:[^":]|"(?:[^"\\]|\\.)*")*(?=:)')
_IN_JSON = re.compile(rb"\\u[0-9a-f]{4}|\\.|[^\\\x80-\xbf]")


def first_difference(old: bytes, new: Stored) -> str:
    """Return the place of the first byte that differs, and the part, section or path of the new value there."""
    offset = _shared(old, new)
    at = _start_of_character(old, new, offset)
    start = new.rfind(b"\n", 0, at) + 1
    line, column = new.count(b"\n", 0, at) + 1, len(_decoded(new[start:at])) + 1
    where = f"byte {offset}, line {line}, column {column}"
    owner = _gone(old, new, at) or _owner(new, at)
    return f"first difference: {where}{owner}{_characters(old[at : at + 4], new[at : at + 4])}"


def _gone(old: bytes, new: Stored, at: int) -> str:
    """Return the path of the stored leaf if the new value no longer has it; "" if it does."""
    if not new.is_lines or at >= len(old):
        return ""
    path, (now, inside) = _leaf(old, at)[0], _leaf(new, at)
    gone = path and now and new.find(f"{path}:".encode()) < 0 and not inside.startswith(b"\n")
    return f", {spelled(path)} is gone" if gone else ""


def visible_diff(old: bytes, new: bytes) -> Iterator[tuple[str, str]]:
    r"""Yield the diff as pairs of sign and line: `-`, `+`, a blank for context, `@` for a range, `\` for remarks."""
    olds, news = _LINE.findall(old), _LINE.findall(new)
    start = max(0, _shared(olds, news) - _CONTEXT)
    end = start + _MOST_COMPARED
    shown = list(_hunks(olds[start:end], news[start:end], start))
    yield from shown[:_MOST_SHOWN]
    if len(shown) > _MOST_SHOWN or max(len(olds), len(news)) > end:
        yield "\\", "the rest is not shown"


def spelled(text: str) -> str:
    """Return a text with its invisible characters spelled out, except where they are ordinary spelling."""
    visible = _ODD.sub(_code, reveal(text))
    return "".join([_coded(character) if category(character) in _NO_CHARACTER else character for character in visible])


def _shared(old: Sequence[object], new: Sequence[object]) -> int:
    """Return how many elements two sequences have in common at their start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(old), len(new)))


def _start_of_character(old: bytes, new: bytes, offset: int) -> int:
    """Return the start of the character that a byte belongs to, or the byte's own place if it belongs to none."""
    at = offset
    while at > max(0, offset - 3) and any(side[at] & 0xC0 == 0x80 for side in (old, new) if at < len(side)):
        at -= 1
    return at if at < len(new) and new[at] >= 0xC0 else offset


def _owner(new: Stored, at: int) -> str:
    """Return what a place in the new value belongs to; "" if unknown."""
    if not new.is_lines:
        if new.prompt is not None:
            return f", {_part(new.prompt, len(_decoded(new[:at])))}"
        section = _section(to_text(new), len(to_text(new[:at])))
        return f", {section}" if section else ""
    path, inside = _leaf(new, at)
    block = inside.startswith(b"\n")
    if path == "text" and new.prompt is not None:
        text = b"\n".join([line[2:] for line in inside.split(b"\n")[1:]]) if block else inside.removeprefix(b' "')
        return f", at text, {_part(new.prompt, len(_decoded(text) if block else _IN_JSON.findall(text)))}"
    line = f", line {inside.count(10)} of it" if block and at < len(new) else ""
    return f", {'at' if at < len(new) else 'after'} {spelled(path) or 'the top'}{line}"


def _leaf(new: bytes, at: int) -> tuple[str, bytes]:
    """Return the path of the leaf at a place, and the bytes between the path and the place."""
    start = new.rfind(b"\n", 0, min(at, len(new) - 1)) + 1
    while new.startswith(b"|", start):
        start = new.rfind(b"\n", 0, start - 1) + 1
    path = _PATH.match(new, start)
    return (_decoded(path[0]), new[path.end() + 1 : at]) if path else ("", b"")


def _part(prompt: Prompt, at: int) -> str:
    """Return the part of a prompt that a character of its text belongs to."""
    segments = [segment for segment in read_request(prompt) if segment.joins]
    if not segments:
        return "in a prompt without parts"
    number = 0
    while number < len(segments) - 1 and at >= len(segments[number].text):
        at -= len(segments[number].text)
        number += 1
    place = of_text(segments, number, at)
    end = "at the end of" if at >= len(segments[number].text) else "in"
    return f"{end} part {place.place!r} ({_source(place)})"


def _section(text: str, at: int) -> str:
    """Return the section of a text: from the builder's layout, or else the heading or tag above the place."""
    place = of_text(read_request(text), 0, at)
    if place.source != place.place:
        return f"in {_source(place)}"
    end = text.find("\n", at)
    heading, tags = "", list[str]()
    for line in (text if end < 0 else text[:end]).split("\n"):
        found = _HEADING.fullmatch(line)
        if found and found["heading"]:
            heading, tags = found["heading"], []
        elif found and found["opened"]:
            tags.append(line)
        elif found and tags:
            tags.pop()
    below = tags[-1] if tags else heading
    return f"below {spelled(below[:_CONTEXT_WIDTH])}" if below else ""


def _source(place: Place) -> str:
    return f"{spelled(place.source)}, line {place.line}" if place.line else spelled(place.source)


def _characters(old: bytes, new: bytes) -> str:
    """Return which characters differ, if one of them is missing or hard to see."""
    if not old or not new:
        return f"; the {'new' if old else 'stored'} one ends here"
    was, now = (_decoded(side)[0] for side in (old, new))
    if all(" " < character <= "~" for character in (was, now)):
        return ""
    return f"; {_named(was)} became {_named(now)}"


def _named(character: str) -> str:
    code = f"byte {ord(character) - 0xDC00:#x}" if _BYTE.match(character) else f"U+{ord(character):04X}"
    return f"{code} ({character})" if character.isalnum() or "!" <= character <= "~" else code


def _hunks(olds: Sequence[bytes], news: Sequence[bytes], start: int) -> Iterator[tuple[str, str]]:
    for group in SequenceMatcher(None, olds, news).get_grouped_opcodes(_CONTEXT):
        (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
        yield "@", f"-{_range(start, a1, a2)} +{_range(start, b1, b2)}"
        for kind, i1, i2, j1, j2 in group:
            removed, added = olds[i1:i2], news[j1:j2]
            if kind == "equal":
                for line in removed:
                    yield from _shown(" ", line, line)
                continue
            # In pairs if the lines match one to one, so that the first change is complete without the rest.
            step = 1 if len(removed) == len(added) else max(len(removed), len(added))
            for first in range(0, max(len(removed), len(added)), step):
                for sign, lines, others in (("-", removed, added), ("+", added, removed)):
                    for number in range(first, min(first + step, len(lines))):
                        yield from _shown(sign, lines[number], (*others[number : number + 1], lines[number])[0])


def _range(start: int, first: int, end: int) -> str:
    """Return a range of lines as in a unified diff: from 1, or from the line before if the range is empty."""
    return f"{start + first + (end > first)},{end - first}"


def _shown(sign: str, line: bytes, other: bytes) -> Iterator[tuple[str, str]]:
    """Yield a line as it is shown beside its counterpart."""
    text, against = (_decoded(side.removesuffix(b"\n")) for side in (line, other))
    width = _CONTEXT_WIDTH if sign == " " else _WIDTH
    at = 0 if text == against else _shared(text, against)
    start = max(0, min(at - width // 4, len(text) - width))
    piece = text[start : start + width]
    left = len(text) - start - len(piece)
    words = piece if left else piece.rstrip(" \t")
    alike = text != against and _look(text) == _look(against)
    seen = _NOT_PLAIN.sub(_code, words) if alike else spelled(words)
    yield sign, f"{_left_out(start)}{seen}{_blanks(piece[len(words) :])}{_left_out(left)}"
    if not line.endswith(b"\n"):
        yield "\\", "no newline at the end"


def _look(text: str) -> str:
    """Return what a reader sees of a text, without blanks, hidden characters and Unicode forms that look the same."""
    return " ".join(normalize("NFKC", drop_hidden(text)).split())


def _code(match: re.Match[str]) -> str:
    return _coded(match[0])


def _coded(character: str) -> str:
    return f"⟨0x{ord(character) - 0xDC00:02X}⟩" if _BYTE.match(character) else f"⟨U+{ord(character):04X}⟩"


def _blanks(text: str) -> str:
    """Return the blanks at the end of a line, each run spelled once with its length."""
    runs = re.findall(r" +|\t+", text)
    return "".join([f"⟨U+{ord(run[0]):04X}{f' ×{len(run)}' if len(run) > 1 else ''}⟩" for run in runs])


def _left_out(count: int) -> str:
    return f"⟨{count:,} characters⟩" if count else ""


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
