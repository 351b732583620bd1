"""DP5: keys in a prompt."""

from __future__ import annotations

from collections import Counter
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
    """Yield every key in any text of a subject: once for each text, however often it stands there."""
    for segment in subject.segments:
        found = [key for key in keys(segment.text) if not key.is_example]
        lines = Lines(segment.text if found else "")
        times = Counter(key.digest for key in found)
        for key in {key.digest: key for key in reversed(found)}.values():
            article = "an" if key.kind[0] in "AEIOU" else "a"
            more = f", and {times[key.digest] - 1} more of the same" if times[key.digest] > 1 else ""
            message = f"{article} {key.kind}, SHA-256 {key.digest}{more}"
            yield Finding("DP501", message, subject.name, segment.place, *lines.at(key.start))
