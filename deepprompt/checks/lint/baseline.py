"""The baseline: findings that a project had when it began to lint, which do not fail a run until they change.

A finding is known by its rule, its file and its message, not by its line, so that an edit above it makes it no new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from deepprompt.checks.lint.findings import Finding
from deepprompt.checks.lint.linted import Linted
from deepprompt.errors import SourceError
from deepprompt.prompt import sha256_hex
from deepprompt.text.parse import parse_json

_HEAD = "deepprompt lint baseline, version 1"


def fingerprint(finding: Finding) -> str:
    """Return the name of a finding that stays the same when its line moves."""
    return sha256_hex("\0".join((finding.code, finding.subject, finding.place, finding.message)))


def baseline_of(linted: Iterable[Linted]) -> dict[str, object]:
    """Return the open findings for a baseline file: by file, then by rule and fingerprint."""
    files: dict[str, Counter[str]] = {}
    for one in linted:
        for finding in one.findings:
            if not finding.excused:
                files.setdefault(finding.place, Counter())[f"{finding.code} {_mark(finding)}"] += 1
    rows = {place: dict(sorted(counts.items())) for place, counts in sorted(files.items())}
    return {"about": _HEAD, "findings": rows}


def read_baseline(text: str, name: str) -> Counter[tuple[str, str]]:
    """Return how often a baseline has each finding, by file and mark; raise if it is no baseline."""
    value = parse_json(text, name, SourceError)
    rows = value.get("findings") if isinstance(value, dict) and value.get("about") == _HEAD else None
    if not isinstance(rows, dict) or not all(isinstance(counts, dict) for counts in rows.values()):
        raise SourceError(f"{name}: is no baseline of lint; write one with --write-baseline FILE")
    known: Counter[tuple[str, str]] = Counter()
    for place, counts in rows.items():
        for mark, count in counts.items():
            known[place, mark] += count if isinstance(count, int) else 0
    return known


def without_known(linted: Linted, known: Counter[tuple[str, str]]) -> Linted:
    """Return what is left of findings without those that a baseline has; each of its rows counts so many times."""
    kept = []
    for finding, frame in zip(linted.findings, linted.frames, strict=True):
        row = finding.place, f"{finding.code} {_mark(finding)}"
        if not finding.excused and known[row] > 0:
            known[row] -= 1
        else:
            kept.append((finding, frame))
    gone = len(linted.findings) - len(kept)
    return replace(linted, findings=tuple(f for f, _ in kept), frames=tuple(f for _, f in kept), known=gone)


def _mark(finding: Finding) -> str:
    return fingerprint(finding)[:16]
