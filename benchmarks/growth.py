"""How cost grows: with parts of a prompt, messages, skills, instruction files, sessions of a report, a hostile text.

The ratio is the time for one of them over that in the line before, or for one character over that in a text of half the
length; 1 is linear growth. It is the processor's time, because nothing is timed beside it that the same noise would
hit.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.builds import SENTENCE, example_project
from benchmarks.fleet_logs import TURNS, write_logs
from benchmarks.measure import Row, Settings, shown
from deepprompt import Part, Session, SystemPromptBuilder, load_skills, plan_instructions, report
from deepprompt.prompt import Note, Pace
from deepprompt.systems.tagged import TAGS
from deepprompt.text.disarm import escape_boundary, escape_tags
from deepprompt.text.hygiene import neutralise
from deepprompt.text.secrets import redact

Work = Callable[[], object]

# A text from outside can make a search slow by repeating the beginning of what is searched for.
REPEATED = {
    "brackets": "<",
    "brackets and bars": "<|",
    "square brackets": "[/",
    "halves of a token": "<|im_en",
    "halves of a tag": "</I n s t r ",
    "lines of a speaker": "<system>\n",
    "fences": "> ```\n- ~~~\n",
    "bars": "|DSML",
    "equals signs": "= ",
    "backslashes": "\\",
    "hidden characters": "\u200b",
    "blank Braille cells": "⣿\u2800",
    "forms of letters": "ﬆ㎃",
    "beginnings of keys": "sk-ant-eyJ",
    "beginnings of addresses": "://a:",
    "beginnings of private keys": "-----BEGIN A ",
}


def rows(settings: Settings) -> Iterator[Row]:
    """Measure everything that there may be much of."""
    runs = 3 if settings.quick else 7
    yield from _grown("parts", {count: _parts(count) for count in (1, 10, 100, 1_000)}, runs * 3)
    yield from _grown(
        "messages",
        {count: _messages(count) for count in (100, 1_000, 10_000, 100_000)[: 2 if settings.quick else 4]},
        3,
    )
    with tempfile.TemporaryDirectory() as folder:
        works = {
            count: _skills(Path(folder), count) for count in (10, 100, 1_000, 10_000)[: 2 if settings.quick else 4]
        }
        yield from _grown("skills", works, 3)
        counts = (10, 100, 1_000)[: 2 if settings.quick else 3]
        yield from _grown("instruction files", {count: _files(Path(folder), count) for count in counts}, 3)
        yield from _grown("sessions in a report", {count: _sessions(Path(folder), count) for count in counts}, 3)
    size = 1 << (12 if settings.quick else 16)
    for name, unit in REPEATED.items():
        half, whole = (_median(_text(unit * (length // len(unit))), runs) for length in (size, 2 * size))
        yield Row(f"{2 * size:,} characters: {name}", shown(whole), shown(half), whole / half / 2)


def _grown(name: str, works: dict[int, Work], runs: int) -> Iterator[Row]:
    before = 0.0
    for count, work in works.items():
        one = _median(work, runs) / count
        yield Row(f"{count:,} {name}", shown(one * count), shown(one), one / before if before else 1.0)
        before = one


def _median(work: Work, runs: int) -> float:
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def _parts(count: int) -> Work:
    texts = [f"# Part {number}\n{SENTENCE * 11}\n" for number in range(count)]
    project = example_project(0)

    def work() -> str:
        parts = [Part(str(number), text, Pace.RELEASE, "benchmark") for number, text in enumerate(texts)]
        return SystemPromptBuilder(base_parts=parts, project=project).build()

    return work


def _messages(count: int) -> Work:
    prompt = SystemPromptBuilder("Be brief.").compose()

    def work() -> object:
        session = Session(prompt)
        for number in range(0, count, 2):
            session.user(f"Message {number}. {SENTENCE}")
            session.append({"role": "assistant", "content": f"Answer {number}. {SENTENCE}"})
        session.user("The last one.")
        return session.request(to="anthropic", model="claude-opus-5-5")

    return work


def _text(text: str) -> Work:
    def work() -> str:
        notes: list[Note] = []
        return escape_boundary(escape_tags(neutralise(redact(text, "", notes), "", notes), TAGS, "", notes), "", notes)

    return work


def _skills(folder: Path, count: int) -> Work:
    root = folder / str(count)
    for number in range(count):
        place = root / "skills" / f"skill-{number}"
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\nname: skill-{number}\ndescription: Does {number}\n---\n{SENTENCE}\n")
    return lambda: load_skills(root).index_text()


def _files(folder: Path, count: int) -> Work:
    root = folder / f"rules-{count}"
    for name in (".git/HEAD", *(f".claude/rules/rule-{number}.md" for number in range(count))):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SENTENCE)
    return lambda: plan_instructions(root, profile="claude-code")


def _sessions(folder: Path, count: int) -> Work:
    logs = folder / f"logs-{count}"
    write_logs(logs, count * TURNS, 1)
    return lambda: report(logs)
