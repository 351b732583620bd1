"""DP1: text that changes where a prompt should stay the same: times, ids, paths of one machine, counters.

The patterns are in `moving_times.py`, `moving_ids.py` and `moving_places.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.lines import Lines
from deepprompt.checks.lint.slow_text import slow_texts

_LATER = "put it into a message or after the boundary"
_OUT = f"Leave it out, or {_LATER}."
_FACT = f"State it with the other facts about the project: {_LATER}."

RULES = (
    Rule("DP101", "clock", "A time in slow text makes every prompt different.", _OUT),
    Rule("DP102", "random-id", "A random id in slow text makes every prompt different.", _OUT),
    Rule("DP103", "session-id", "The id of a session, a request or a run keeps them from sharing a cache.", _OUT),
    Rule(
        "DP104",
        "home-path",
        "A path below a home folder is different for every user.",
        f"Write it relative to the project or with '~/', or {_LATER}.",
    ),
    Rule("DP105", "temp-path", "A temporary path with a generated name is different each time.", _OUT),
    Rule("DP106", "process-id", "A process id in slow text is different each time.", _OUT),
    Rule(
        "DP107",
        "memory-address",
        "An object was printed as its memory address, which is different each time.",
        "Print the object's content instead.",
    ),
    Rule("DP108", "working-folder", "The path of the working folder is different on each machine.", _FACT),
    Rule("DP109", "counter", "A count of turns in slow text changes with every turn.", _OUT),
    Rule(
        "DP110",
        "budget",
        "The used or remaining part of a budget changes with every request.",
        f"State the limit, which is constant; if the remaining part is needed, {_LATER}.",
    ),
    Rule("DP111", "machine-state", "The name or the state of a machine differs elsewhere and over time.", _OUT),
    Rule("DP112", "git-state", "The current branch or commit changes as work goes on.", _FACT),
)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the pieces of slow text that change from run to run."""
    for slow in slow_texts(subject):
        lines = Lines(slow.segment.text if slow.movements else "")
        for code, what, start, end, count in slow.movements:
            more = f", and {count - 1} more" if count > 1 else ""
            message = f"{what}, {excerpt(slow.text[start:end])}{more}"
            yield Finding(code, message, subject.name, slow.segment.place, *lines.at(start))
