"""The findings of one subject together with the lines they stand on: small enough to pass between processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepprompt.checks.lint.findings import Finding, Subject
from deepprompt.checks.lint.linter import lint_all
from deepprompt.checks.lint.preset_names import texts_of
from deepprompt.checks.lint.slow_text import without_keys
from deepprompt.checks.settings import Settings
from deepprompt.text.display import display

_WIDTH = 100  # of the piece of a line that is shown
_BEFORE = 60  # of it before the finding


@dataclass(frozen=True, slots=True)
class Linted:
    """What lint found in one subject."""

    name: str
    findings: tuple[Finding, ...]
    frames: tuple[tuple[str, ...], ...]
    """For each finding the line it stands on with a mark below it; () where it stands on no line."""
    parts: int
    files: frozenset[str] = frozenset()
    """The places that are files."""
    unread: tuple[str, ...] = ()
    known: int = 0
    """How many findings a baseline has already."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found that has no excuse, and everything could be read."""
        return not self.unread and all(finding.excused for finding in self.findings)


def lint_subject(subject: Subject, settings: Settings, model: str = "") -> Linted:
    """Return the findings of a subject. `model` overrides the model that a request names."""
    found = tuple(lint_all([subject], settings, model))
    texts = {segment.place: segment.text for segment in reversed(subject.segments)} if found else {}
    for preset in subject.presets if found else ():
        texts |= {text.place: text.text for text in texts_of(preset) if text.own}
    frames = tuple(_frame(finding, texts.get(finding.place, "")) for finding in found)
    parts = sum(segment.kind != "setting" for segment in subject.segments)
    files = frozenset((*(segment.place for segment in subject.segments), *texts)) if subject.is_file else frozenset()
    return Linted(subject.name, found, frames, parts, files, subject.unread)


def lint_subjects(subjects: Sequence[Subject], settings: Settings, model: str = "") -> list[Linted]:
    """Return what is found in each of some subjects."""
    return [lint_subject(subject, settings, model) for subject in subjects]


def _frame(finding: Finding, text: str) -> tuple[str, ...]:
    """Return the line of a finding and a mark below its column, without any key."""
    if not finding.line:
        return ()
    lines = without_keys(text).split("\n")
    if finding.line > len(lines):
        return ()
    line, column = lines[finding.line - 1].rstrip("\r"), max(finding.column - 1, 0)
    start = max(0, column - _BEFORE) if len(line) > _WIDTH else 0
    piece = line[start : start + _WIDTH].replace("\t", " ")
    before = display(piece[: column - start])
    head = "… " if start else ""
    tail = " …" if start + _WIDTH < len(line) else ""
    number = f"{finding.line:>5}"
    gap = " " * (len(head) + len(before))
    return f"{number} | {head}{piece}{tail}", f"{'':>5} | {gap}^"
