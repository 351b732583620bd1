"""DP4: parts that are empty, too large or repeated, and instruction files that will be truncated."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deepprompt.checks.lint.findings import Finding, Limits, Lines, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.slow_text import plain, without_code, without_keys
from deepprompt.providers.segments import Segment
from deepprompt.sources.instructions import WHITELIST
from deepprompt.text.compare import shared_start
from deepprompt.text.hygiene import TRUNCATION_MARKER, is_blank
from deepprompt.tokens import estimate_tokens

RULES = (
    Rule("DP401", "empty-part", "A part has no text: something did not fill it.", "Fill it or drop it."),
    Rule(
        "DP402",
        "large-part",
        "A part is so large that the important things in it get lost.",
        "Split it, or let the model read the rest with a tool when it needs it.",
    ),
    Rule(
        "DP403",
        "repeated-passage",
        "The same passage stands in two places: it costs twice, and one day only one of them will be updated.",
        "Keep one of them.",
    ),
    Rule(
        "DP404",
        "instructions-cut",
        "An instruction file is longer than the builder reads, so the model never sees its end.",
        "Shorten it, or move details into files that it names.",
    ),
)

_SECTION = re.compile(r"^#{1,2} ", re.MULTILINE)
_FEWEST = 14  # the fewest different characters in a passage that means something
_STEP = 64
# Rows of tables and addresses look alike in many places without being repeated text.
_FORM = re.compile(r"^[ \t]*+\|[^\n]*+|https?://[^\s)>]++", re.MULTILINE)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:
    """Yield parts that are empty, too large, repeated or truncated."""
    parts = [part for part in subject.segments if part.role in ("", "system") and part.kind != "setting"]
    for part in parts:
        yield from _size(subject, part, limits)
        yield from _cut(subject, part, limits)
    yield from _repeated(subject, parts, limits.repeated_characters)


def _size(subject: Subject, part: Segment, limits: Limits) -> Iterator[Finding]:
    # A piece of a template may be nothing but the line ends between two includes, and nothing needs to follow the
    # boundary.
    layout = part.changing or (part.joins and part.text and not subject.is_file and len(subject.segments) > 1)
    if is_blank(part.text) and not layout:
        yield Finding("DP401", "an empty part", subject.name, part.place)
    # If the prompt is one text, its sections count as parts.
    whole = part.kind == "tool" or subject.is_file or (part.joins and len(subject.segments) > 1)
    starts = [0] if whole else [0, *(match.start() for match in _SECTION.finditer(part.text) if match.start())]
    for start, end in pairwise([*starts, len(part.text)]):
        tokens = estimate_tokens(part.text[start:end])
        if tokens > limits.part_tokens:
            line = part.text.count("\n", 0, start) + 1 if start else 0
            message = f"about {tokens:,} tokens, more than {limits.part_tokens:,}"
            yield Finding("DP402", message, subject.name, part.place, line)


def _cut(subject: Subject, part: Segment, limits: Limits) -> Iterator[Finding]:
    size = len(part.text.encode(errors="surrogatepass"))
    if subject.is_instruction_file(part) and size > limits.instruction_bytes:
        message = f"{size:,} bytes, of which the first {limits.instruction_bytes:,} are read"
        yield Finding("DP404", message, subject.name, part.place)
    elif part.origin.endswith(WHITELIST) and part.text.rstrip().endswith(TRUNCATION_MARKER):
        line = part.text.count("\n", 0, len(part.text.rstrip())) + 1
        yield Finding("DP404", f"{part.origin} was cut", subject.name, part.place, line)


def _repeated(subject: Subject, parts: Sequence[Segment], shortest: int) -> Iterator[Finding]:
    """Yield each passage that also stands earlier, whatever the blanks between its words."""
    stream = _Stream(parts)
    text = stream.text
    lines: dict[int, Lines] = {}
    block = max(shortest // 2, 1)
    # Every passage of this length contains one of these blocks completely, wherever it begins.
    known: dict[str, int] = {}
    for place in range(0, len(text) - block, block):
        known.setdefault(text[place : place + block], place)
    place = 0
    while place <= len(text) - block:
        piece = text[place : place + block]
        earlier = known.get(piece, place)
        if earlier < place and len(set(piece)) >= _FEWEST:
            before, after = _reach(stream, earlier, place, shortest)
            start = stream.word_from(place - before)
            if place + after - start >= shortest:
                first = earlier - (place - start)
                (part, at), (other, there) = stream.origin(start), stream.origin(first)
                if not parts[part].kind == parts[other].kind == "tool":  # tools may describe the same thing
                    for number in (part, other):
                        lines.setdefault(number, Lines(parts[number].text))
                    where = f"{parts[other].place}, line {lines[other].at(there)[0]}"
                    message = (
                        f"{excerpt(text[start : place + after])}, {place + after - start} characters, as in {where}"
                    )
                    yield Finding("DP403", message, subject.name, parts[part].place, *lines[part].at(at))
                place += after
                continue
        place += 1


class _Stream:
    """The words of all parts, without code, joined by single blanks, and where each came from."""

    def __init__(self, parts: Sequence[Segment]) -> None:
        self._starts: list[int] = []
        self._origins: list[tuple[int, int]] = []
        self.ends: list[int] = []
        pieces: list[str] = []
        size = 0
        for number, part in enumerate(parts):
            text = _FORM.sub(lambda found: " " * len(found[0]), without_code(without_keys(plain(part))))
            for word in re.finditer(r"\S+", text):
                self._starts.append(size)
                self._origins.append((number, word.start()))
                pieces.append(word[0])
                size += len(word[0]) + 1
            self.ends.append(size)
        self.text = " ".join(pieces)

    def origin(self, place: int) -> tuple[int, int]:
        """Return the part that a character belongs to, and its position there."""
        word = bisect_right(self._starts, place) - 1
        part, start = self._origins[word]
        return part, start + place - self._starts[word]

    def word_from(self, place: int) -> int:
        """Return the start of the first word at or after a position."""
        word = bisect_left(self._starts, place)
        return self._starts[word] if word < len(self._starts) else len(self.text)

    def bounds(self, place: int) -> tuple[int, int]:
        """Return the start and the end of the part that a character belongs to."""
        part = bisect_right(self.ends, place)
        return self.ends[part - 1] if part else 0, self.ends[part] if part < len(self.ends) else len(self.text)


def _reach(stream: _Stream, first: int, second: int, most_before: int) -> tuple[int, int]:
    """Return how many characters before and after two positions are equal, each within its part."""
    text = stream.text
    (low, high), (other_low, other_high) = stream.bounds(first), stream.bounds(second)
    most = min(first - low, second - other_low, most_before)
    before = 0
    while before < most and text[first - before - 1] == text[second - before - 1]:
        before += 1
    most = min(high - first, other_high - second, second - before - first)
    return before, _alike(text, first, second, most)


def _alike(text: str, first: int, second: int, most: int) -> int:
    """Return how many characters from two positions on are equal. The steps grow, so the work is in proportion."""
    done, step = 0, _STEP
    while done < most:
        size = min(step, most - done)
        was, now = text[first + done : first + done + size], text[second + done : second + done + size]
        if was != now:
            return done + shared_start(was, now)
        done, step = done + size, step * 2
    return done
