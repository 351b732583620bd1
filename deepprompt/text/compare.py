"""Classify the change between two texts: a clock, an order, a line end, or plain editing.

Only the first difference counts, because nothing after it can be read from a cache. If the texts are equal except for
one kind of thing, that is the kind of change; otherwise the line with the first difference decides. Time is in
proportion to the texts, even hostile ones: no pattern is tried twice at the same characters.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deepprompt.text.hygiene import unify_line_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import BlameKind


@dataclass(frozen=True, slots=True)
class TextChange:
    """The kind of change between two texts, and the changed value if both are JSON."""

    kind: BlameKind
    path: str = ""
    """The path of the value, such as `input_schema.properties.path.description`."""
    line: int = 0
    """The line in the value, from 1; 0 if it has no lines."""


_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_TIME = r"\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm])?"
_CLOCK = re.compile(
    r"(?<![\w:.])(?:"
    rf"\d{{4}}-\d\d-\d\d(?:[T ]{_TIME})?(?:Z|[+-]\d\d:?\d\d)?|\d{{8}}T\d{{6}}Z?|{_TIME}|\d{{4}}/\d\d/\d\d"
    rf"|\d\d?[/.]\d\d?[/.]\d{{4}}|{_MONTH}\.? \d{{1,2}}(?:,? \d{{4}})?|(?:\d{{1,2}} )?{_MONTH} \d{{4}}"
    r"|1[5-9]\d{8}(?:\d{3}){0,3}(?:\.\d{1,9})?|(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
    r")(?!\w)"
)
_RANDOM = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|0x[0-9a-fA-F]{4,}+|\d{16,}+"
    r"|(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{7,}+"
    r"|[A-Za-z]{2,12}[_-](?=[A-Za-z]*\d[A-Za-z]*\d)[A-Za-z0-9]{8,}+"
    r"|(?<![_-])(?=[A-Z0-9_-]*[a-z])(?=[a-z0-9_-]*[A-Z])(?=(?:[A-Za-z_-]*\d){3})[A-Za-z0-9_-]{20,}+"
    r")(?![0-9A-Za-z])"
)
_PATH = re.compile(r"(?<![\w.@+~/\\-])(?:[A-Za-z]:)?[\w.@+~-]*+(?>(?:[/\\]++[\w.@+~-]++)+)[/\\]?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))
_SEPARATORS = re.compile(r"[\s,;|]+")
# How a text says that something was omitted: in brackets, or after dots.
_CUT_OFF = re.compile(
    r"(?:\.\.\. ?)?[\[(<][^\])>\n]{0,80}(?:truncated|omitted|elided|cleared)[^\])>\n]{0,80}[\])>]"
    r"|\.\.\. ?(?:truncated|omitted)|\[\.\.\.\]|…",
    re.IGNORECASE,
)
# Lines of our own prompts with a value of a known kind.
_LABELS: dict[str, BlameKind] = {
    "- cwd: ": "path",
    "- Working directory: ": "path",
    "- date: ": "clock",
    "Current time: ": "clock",
}

# More combining marks in a row than Unicode's limit for streams are not writing, and slow to compose.
_MOST_MARKS = 30
# If at least this many characters are missing at the end of a text, it was truncated, not edited.
_CUT_SIZE = 32
# How much of long texts is compared after and before their first difference.
_LONG, _NEAR = 1 << 16, 1 << 10
_MOST_REORDERED = 1 << 20


def classify(old: str, new: str) -> TextChange:
    """Return the change between two texts, which must differ."""
    if old.startswith(("{", "[")) and new.startswith(("{", "[")):
        try:
            return _in_json(json.loads(old), json.loads(new)) or TextChange(_in_text(old, new))
        except (ValueError, RecursionError):
            pass
    return TextChange(_in_text(old, new), line=old.count("\n", 0, shared_start(old, new)) + 1)


def shared_start(old: str, new: str) -> int:
    """Return how many characters two texts share at their start."""
    low, high = 0, min(len(old), len(new))
    while low < high:  # each comparison is half as long, so the total is in proportion to the texts
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shared_end(old: str, new: str, start: int) -> int:
    """Return how many characters two texts share at their end, not counting their shared start."""
    low, high = 0, min(len(old), len(new)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _in_json(old: Any, new: Any) -> TextChange | None:
    """Return the change in a JSON value; None if only its spelling changed."""
    found = _first_difference(old, new)
    if found is None:
        return None
    path, before, after, siblings = found
    if siblings is not None:
        spelled = [[json.dumps(value, sort_keys=True) for value in side] for side in siblings]
        if spelled[0] != spelled[1] and Counter(spelled[0]) == Counter(spelled[1]):
            return TextChange("order", path)
    if isinstance(before, dict) and isinstance(after, dict):
        return _in_keys(before, after, path)
    if isinstance(before, str) and isinstance(after, str):
        inner = classify(before, after)
        return replace(inner, path=_under(path, inner.path))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after))
    return TextChange("number" if numbers else "edit", path)


def _in_keys(old: dict[str, Any], new: dict[str, Any], path: str) -> TextChange:
    """Return the change of two objects whose keys differ: one came, one went, or they are in another order."""
    if old.keys() == new.keys():
        return TextChange("key order", path)
    kinds: tuple[tuple[BlameKind, dict[str, Any], dict[str, Any]], ...] = (
        ("removed", old, new),
        ("inserted", new, old),
    )
    for kind, more, less in kinds:
        if [key for key in more if key in less] == list(less):
            return TextChange(kind, _under(path, next(key for key in more if key not in less)))
    return TextChange("edit", path)


_Difference = tuple[str, Any, Any, tuple[list[Any], list[Any]] | None]


def _first_difference(old: Any, new: Any) -> _Difference | None:
    """Return the first difference of two JSON values: its path, both values, and the closest lists around them."""
    if isinstance(old, dict) and isinstance(new, dict):
        for (name, before), (other, after) in zip(old.items(), new.items(), strict=False):
            if name != other:
                return "", old, new, None
            if found := _first_difference(before, after):
                return _under(name, found[0]), *found[1:]
        return None if len(old) == len(new) else ("", old, new, None)
    if isinstance(old, list) and isinstance(new, list):
        for number, (before, after) in enumerate(zip(old, new, strict=False)):
            if found := _first_difference(before, after):
                path, *values, siblings = found
                return _under(f"[{number}]", path), values[0], values[1], siblings or (old, new)
        return None if len(old) == len(new) else ("", old, new, None)
    if isinstance(old, str) or isinstance(new, str):
        return None if old == new else ("", old, new, None)
    return None if repr(old) == repr(new) else ("", old, new, None)  # 1 is neither 1.0 nor true


def _under(path: str, inner: str) -> str:
    return f"{path}.{inner}" if path and inner and not inner.startswith("[") else path + inner


def _in_text(old: str, new: str) -> BlameKind:
    start = shared_start(old, new)
    end = _shared_end(old, new, start)
    # The whole lines around the difference.
    line = old.rfind("\n", 0, start) + 1
    before, after = old[line : len(old) - end], new[line : len(new) - end]
    if not (_ends_line(before) and _ends_line(after)):
        rest = "".join(old[len(old) - end :].partition("\n")[:2])
        before, after = before + rest, after + rest
    if kind := _alike(before, after, start - line):
        return kind
    if _is_cut(old, new, start, end):
        return "truncation"
    if _has_more(after, before) or _goes_on_below(new[start:], old[start:]):
        return "inserted"
    if _has_more(before, after) or _goes_on_below(old[start:], new[start:]):
        return "removed"
    return _in_line(_line_at(old, line, start), _line_at(new, line, start), start - line)


def _alike(old: str, new: str, at: int) -> BlameKind | None:
    """Return the one thing in which two texts differ, None if there are more; long ones are compared near it."""
    if len(old) == len(new) <= _MOST_REORDERED and _reordered(old, new):
        return "order"
    # A piece from the middle of a line may begin or end within a word.
    first = max(0, at - _NEAR)
    pieces = old[first : at + _LONG], new[first : at + _LONG]
    whole = max(len(old), len(new)) <= at + _LONG
    for kind, form in _FORMS:
        was, now = map(form, pieces)
        size = min(len(was), len(now)) - _NEAR
        if was == now if whole else size > 0 and was[:size] == now[:size]:
            return kind
    return None


def _ends_line(text: str) -> bool:
    return not text or text.endswith("\n")


def _line_at(text: str, line: int, at: int) -> str:
    end = text.find("\n", at)
    return text[line : end + 1 if end >= 0 else len(text)]


def _has_more(more: str, less: str) -> bool:
    """Whether a text is another one with more lines before or after it."""
    if len(more) <= len(less):
        return False
    return (more.endswith(less) and more[len(more) - len(less) - 1] == "\n") or (
        more.startswith(less) and _ends_line(less)
    )


def _goes_on_below(more: str, less: str) -> bool:
    """Whether one text ends where the other one goes on, with lines of its own below."""
    blank = more[: len(more) - len(more.lstrip())]
    return "\n" in blank and len(blank) < len(more) and not less.strip()


def _is_cut(old: str, new: str, start: int, end: int) -> bool:
    """Whether one text says that it omits something, or the later one ends in the middle of the earlier."""
    was, now = old[start : len(old) - end], new[start : len(new) - end]
    for own, other in ((now, was), (was, now)):
        mark = _CUT_OFF.search(own, 0, _LONG)
        if mark and not _CUT_OFF.search(other, 0, _LONG):
            lead = own[: mark.start()].strip()
            shorter = len(own) < len(other) and len(lead) < _CUT_SIZE and "\n" not in lead
            at_its_end = not own[mark.end() :].strip()
            if shorter or (at_its_end and (not lead or not other.strip())):
                return True
    at_the_end = not now.strip() and not old[len(old) - end :].strip()
    return at_the_end and len(was.strip()) >= _CUT_SIZE and start > 0 and "\n" not in (old[start - 1], old[start])


def _in_line(old: str, new: str, at: int) -> BlameKind:
    """Return the kind of change in the line with the first difference."""
    if kind := _alike(old, new, at):
        return kind
    for kind, pattern, only in _VALUES:
        ends = [_end_of_value(line, at, pattern, only) for line in (old, new)]
        if min(ends) >= at and max(ends) > at:
            return kind
    return next((kind for label, kind in _LABELS.items() if old[:at].startswith(label)), "edit")


def _end_of_value(line: str, at: int, pattern: re.Pattern[str], only: Callable[[str], bool]) -> int:
    """Return the end of the value at a position of a line, -1 if there is none."""
    for found in pattern.finditer(line, max(0, at - _NEAR), at + _NEAR):
        if found.start() <= at <= found.end() and only(found[0]):
            return found.end()
    return -1


def _is_path(found: str) -> bool:
    """Whether words with slashes between them are a path; `and/or` and `1/2` are not."""
    first, *_, last = re.split(r"[/\\]+", found.rstrip("/\\"))
    several = found.count("/") + found.count("\\") > 1
    named = any(map(str.isalpha, found))
    return named and (several or first in ("", "~", ".", "..") or first.endswith(":") or "." in last)


def _without_blanks(text: str) -> str:
    return "\n".join([line.rstrip() for line in unify_line_ends(text).split("\n") if line.strip()])


def _composed(text: str) -> str:
    if text.isascii():
        return text
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > _MOST_MARKS:
            return text
    return unicodedata.normalize("NFC", text)


def _unescaped(text: str) -> str:
    if "\\" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2]), text)
        # Two escapes may be the halves of one character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


def _reordered(old: str, new: str) -> bool:
    was, now = ([item.strip("[](){}<>'\"`.:") for item in _SEPARATORS.split(text)] for text in (old, new))
    return was != now and Counter(was) == Counter(now)


def _but_for(pattern: re.Pattern[str], only: Callable[[str], bool] = bool) -> Callable[[str], str]:
    return lambda text: pattern.sub(lambda found: "\0" if only(found[0]) else found[0], text)


# Forms that ignore one kind of thing; the first one that makes two texts equal is the kind of change.
_FORMS: tuple[tuple[BlameKind, Callable[[str], str]], ...] = (
    ("line ends", unify_line_ends),
    ("byte order mark", lambda text: text.replace("\ufeff", "")),
    ("trailing blanks", _without_blanks),
    ("Unicode form", _composed),
    ("escapes", _unescaped),
    ("white space", lambda text: "".join(text.split())),
    ("clock", _but_for(_CLOCK)),
    ("random id", _but_for(_RANDOM)),
    ("path", _but_for(_PATH, _is_path)),
    ("number", _but_for(_NUMBER)),
    ("case", str.casefold),
)
# The values that may stand at the first difference of two lines.
_VALUES: tuple[tuple[BlameKind, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("clock", _CLOCK, bool),
    ("random id", _RANDOM, bool),
    ("path", _PATH, _is_path),
    ("number", _NUMBER, bool),
)
