"""DP1: text that changes where a prompt should stay the same: times, ids, paths of one machine, counters."""

from __future__ import annotations

from collections.abc import Iterator

from deepprompt.checks.lint.findings import Finding, Limits, Lines, Rule, Subject
from deepprompt.checks.lint.keys import excerpt
from deepprompt.checks.lint.moving_text import movements
from deepprompt.checks.lint.slow_text import slow_texts

_LATER = "put it into a message or behind the boundary"
_OUT = f"Leave it out, or {_LATER}."
_FACT = f"Say it where the project's facts are said: {_LATER}."

RULES = (
    Rule("DP101", "clock", "A time in slow text makes every prompt a new one.", _OUT),
    Rule("DP102", "random-id", "A random id in slow text makes every prompt a new one.", _OUT),
    Rule("DP103", "session-id", "With the id of a session, a request or a run, no two of them share a cache.", _OUT),
    Rule(
        "DP104",
        "home-path",
        "A path below somebody's home folder is another one for everybody else.",
        f"Write it relative to the project or with '~/', or {_LATER}.",
    ),
    Rule("DP105", "temp-path", "A temporary path with a generated name is another one each time.", _OUT),
    Rule("DP106", "process-id", "A process id in slow text is another one each time.", _OUT),
    Rule(
        "DP107",
        "memory-address",
        "An object was printed as its address in memory, which is another one each time.",
        "Print what the object says instead of the object.",
    ),
    Rule("DP108", "working-folder", "The path of the working folder is another one on each machine.", _FACT),
    Rule("DP109", "counter", "A count of turns in slow text changes with each of them.", _OUT),
    Rule(
        "DP110",
        "budget",
        "What is used or left of a budget changes with each request.",
        f"Give the limit, which stays; if the rest must be said, {_LATER}.",
    ),
    Rule("DP111", "machine-state", "The name or the state of a machine is another one elsewhere and later.", _OUT),
    Rule("DP112", "git-state", "The branch or the commit of the moment changes with the work.", _FACT),
)


def find(subject: Subject, limits: Limits) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what moves in the slow texts of a subject."""
    for slow in slow_texts(subject):
        moving = movements(slow)
        lines = Lines(slow.segment.text if moving else "")
        for code, what, start, end in moving:
            message = f"{what}, {excerpt(slow.text[start:end])}"
            yield Finding(code, message, subject.name, slow.segment.place, *lines.at(start))
