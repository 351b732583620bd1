"""The lock: every part of every prompt of a project, pinned so that a pull request shows what changed.

A locked part has its pace, version, size and hash if it is the same on every machine, and only its name if it changes
with the machine, the day or the turn. `compare_locks` finds what changed. `file` reads and writes the lock file, and
`review` says what a change costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deepprompt.checks.lint.subjects import subject_of
from deepprompt.checks.places import CATALOGUED
from deepprompt.checks.static import split_static
from deepprompt.errors import MessageError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY, Pace, sha256_hex
from deepprompt.providers.recognise import model_of, provider_of
from deepprompt.providers.segments import Segment
from deepprompt.text.hygiene import scrub
from deepprompt.text.secrets import redact
from deepprompt.tokens import estimate_tokens
from deepprompt.tools import fingerprint

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class LockedPart:
    """A locked part. One that changes with the machine or the turn has no size and no hash."""

    part: str
    pace: str
    version: str = ""
    bytes: int = 0
    tokens: int = 0
    sha256: str = ""
    mark: str = ""
    """The lifetime of the mark at its end, `default` for the default lifetime; "" without a mark."""
    value: str = ""
    """The value of a setting of a request."""


@dataclass(frozen=True, slots=True)
class LockedPrompt:
    """A locked prompt: its parts, and the size of its static prefix."""

    name: str
    target: str
    fingerprint: str
    """The `fingerprint` of the locked text and the tools."""
    bytes: int
    tokens: int
    parts: tuple[LockedPart, ...]
    model: str = ""
    """PROVIDER/MODEL, if it is a request that names both."""


@dataclass(frozen=True, slots=True)
class LockChange:
    """The difference between a prompt as it was locked and as it is now; a side without the prompt is None."""

    name: str
    old: LockedPrompt | None
    new: LockedPrompt | None

    @property
    def same(self) -> int:
        """The tokens before the first part that changed: the most that any cache can still read."""
        return sum(part.tokens for part in self._same_parts())

    @property
    def marked(self) -> int:
        """The unchanged tokens up to the last mark; for a prompt, up to the last change of pace.

        There `build_request` puts its marks.
        """
        same = self._same_parts()
        parts = self.new.parts if self.new else ()
        ends = [n for n in range(1, len(same) + 1) if n < len(parts) and parts[n - 1].pace != parts[n].pace]
        if self.new and self.new.model:
            ends = [n for n, part in enumerate(same, 1) if part.mark]
        return sum(part.tokens for part in same[: ends[-1] if ends else 0])

    def _same_parts(self) -> list[LockedPart]:
        same = []
        for old, new in zip(self.old.parts if self.old else (), self.new.parts if self.new else (), strict=False):
            if (old.sha256, old.pace) != (new.sha256, new.pace):
                break
            same.append(new)
        return same

    @property
    def rows(self) -> list[tuple[str, LockedPart | None, LockedPart | None]]:
        """Each changed part: `+` added, `-` removed, `~` changed or `>` moved, and the part before and after."""
        olds, news = _numbered(self.old), _numbered(self.new)
        rows: list[tuple[str, LockedPart | None, LockedPart | None]] = []
        moved = _moved(list(olds), list(news))
        for key, new in news.items():
            old = olds.get(key)
            if old is None:
                rows.append(("+", None, new))
            elif old != new:
                rows.append(("~", old, new))
            elif key in moved:
                rows.append((">", old, new))
        return rows + [("-", old, None) for key, old in olds.items() if key not in news]


def lock_prompt(
    name: str, target: str, value: object, *, folder: str = "", boundary: str = DYNAMIC_CONTEXT_BOUNDARY
) -> LockedPrompt:
    """Return a prompt as the lock pins it. Paths below the folder are written relative to it."""
    static, changing = split_static(value, boundary)
    if not any(segment.text for segment in static if segment.kind != "setting"):
        raise MessageError(
            "it has no static prefix to lock: no text before the boundary, or, in a request, no tools, no system "
            "prompt and no cache mark"
        )
    rows = [_locked(segment, folder) for segment in static]
    pinned = [s for s, row in zip(static, rows, strict=True) if row.sha256 and s.kind != "setting"]
    rows += [
        _locked(s, folder) if s.kind == "setting" else LockedPart(_below(s.place, folder), "turn") for s in changing
    ]
    text = "".join(segment.text for segment in pinned if segment.kind != "tool")
    whole = fingerprint(text, [_tool(segment) for segment in pinned if segment.kind == "tool"]).combined
    size = sum(row.bytes for row in rows)
    return LockedPrompt(name, target, whole, size, size // 4, tuple(rows), _model(value))


def _model(value: object) -> str:
    """Return PROVIDER/MODEL of a request; "" if either is unclear."""
    subject = subject_of(value, "")
    provider, model = provider_of(subject.body), model_of(subject.segments)
    return f"{provider}/{model}" if provider and model else ""


def _locked(segment: Segment, folder: str) -> LockedPart:
    name, pace = _below(segment.place, folder), "static" if segment.pace is None else segment.pace.name.lower()
    if segment.pace is Pace.SESSION:
        return LockedPart(name, pace)
    text = scrub(segment.text)
    if segment.kind == "setting":
        return LockedPart(name, "setting", sha256=sha256_hex(text), value=redact(text)[:_SHOWN])
    mark = "" if segment.mark is None else segment.mark or "default"
    version = _version(segment.origin)
    return LockedPart(name, pace, version, len(text.encode()), estimate_tokens(text), sha256_hex(text), mark)


def _tool(segment: Segment) -> Mapping[str, Any]:
    """Return a tool definition. A provider's own tool has no name, so its type stands in for it."""
    tool: Mapping[str, Any] = json.loads(segment.text)
    return tool if "name" in tool or "function" in tool else {**tool, "name": segment.place}


def _below(name: str, folder: str) -> str:
    return name.replace(f"{folder}/", "") if folder else name


def _version(origin: str) -> str:
    """Return the version of a catalogue part, such as `base/1.0.0`; "" if the part has none."""
    match = CATALOGUED.fullmatch(origin)
    return f"{match['family']}/{match['version']}" if match else ""


def compare_locks(olds: Iterable[LockedPrompt], news: Iterable[LockedPrompt]) -> list[LockChange]:
    """Return the prompts that changed since they were locked, in the order of the new ones; removed ones come last."""
    locked = {prompt.name: prompt for prompt in olds}
    made = {prompt.name: prompt for prompt in news}
    drifts = [LockChange(name, locked.get(name), new) for name, new in made.items() if locked.get(name) != new]
    return drifts + [LockChange(name, old, None) for name, old in locked.items() if name not in made]


def _numbered(prompt: LockedPrompt | None) -> dict[tuple[str, int], LockedPart]:
    """Return the parts by name and number; the number tells parts of the same name apart."""
    parts: dict[tuple[str, int], LockedPart] = {}
    for part in prompt.parts if prompt else ():
        number = 0
        while (part.part, number) in parts:
            number += 1
        parts[part.part, number] = part
    return parts


def _moved(olds: list[tuple[str, int]], news: list[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the parts that both sides have, but in another order."""
    was = [key for key in olds if key in set(news)]
    now = [key for key in news if key in set(olds)]
    return {new for old, new in zip(was, now, strict=True) if old != new}
