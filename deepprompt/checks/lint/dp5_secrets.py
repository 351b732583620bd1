"""DP5: keys in a prompt."""

from __future__ import annotations

from collections.abc import Iterator

from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.keys import keys
from deepprompt.checks.lint.lines import Lines

RULES = (
    Rule(
        "DP501",
        "key",
        "The text has a key or a password, which every provider and every log then sees too.",
        "Remove it and revoke it; pass secrets to tools where the model cannot see them.",
        error=True,
        excusable=False,
    ),
)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield every key in any text of a subject."""
    for segment in subject.segments:
        found = [key for key in keys(segment.text) if not key.is_example]
        lines = Lines(segment.text if found else "")
        for key in found:
            article = "an" if key.kind[0] in "AEIOU" else "a"
            message = f"{article} {key.kind}, SHA-256 {key.digest}"
            yield Finding("DP501", message, subject.name, segment.place, *lines.at(key.start))
