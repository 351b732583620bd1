"""A conversation that grows, and one that is built from nothing, for each provider."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator

from benchmarks.coding_session import Turn, coding_session
from benchmarks.measure import Row, Settings, shown
from benchmarks.sessions import MOST_TIME, TIMED, grown, time_of_ten_more
from deepprompt import Session
from deepprompt.words import Target

MOST_OF_ALL = 6.0
MOST_OF_A_TURN = 10.0
TEXT = "The retry budget is read before the lock is taken. " * 4


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a conversation that grows, and one from nothing."""
    turn = coding_session()[0]
    for to, model in TIMED[:1] if settings.quick else TIMED:
        ten, whole = time_of_ten_more(turn, to, model, runs=1 if settings.quick else 3)
        yield Row(f"ten messages appended to 10,000: {to}", shown(ten), shown(whole), ten / whole, MOST_TIME, "%")
    for to, model in TIMED[:1] if settings.quick else TIMED:
        ours, limit = time_from_nothing(turn, to, model, settings.rounds(5))
        name = f"request of 10,000 messages from nothing, over json.dumps: {to}"
        yield Row(name, shown(ours), shown(limit), ours / limit, MOST_OF_ALL)
    for to, model in TIMED[:1] if settings.quick else TIMED:
        ours, limit = time_of_a_turn(turn, to, model, settings.rounds(200))
        name = f"a turn at 1,000 turns, over json.dumps of what is new: {to}"
        yield Row(name, shown(ours), shown(limit), ours / limit, MOST_OF_A_TURN)


def time_from_nothing(turn: Turn, to: Target, model: str, runs: int) -> tuple[float, float]:
    """Return the median times of a session of 10,000 messages with its request, and of dumping the body."""
    messages = grown(turn, to, model).messages
    times: list[tuple[float, float]] = []
    for _ in range(runs):
        begin = time.perf_counter()
        session = Session(turn.prompt)
        session.extend(messages)
        body = session.request(to=to, model=model).body
        built = time.perf_counter()
        json.dumps(body)
        times.append((built - begin, time.perf_counter() - built))
        del session, body  # the next one begins with nothing to clear away
    ours, limit = zip(*times, strict=True)
    return statistics.median(ours), statistics.median(limit)


def time_of_a_turn(turn: Turn, to: Target, model: str, runs: int) -> tuple[float, float]:
    """Return the median times of a user's message with its request, and of dumping the turn's two messages."""
    session = Session(turn.prompt)
    session.user("Begin.", turn.prompt)
    times: list[tuple[float, float]] = []
    for number in range(1000 + runs):
        session.request(to=to, model=model)
        answer = {"role": "assistant", "content": TEXT}
        session.append(answer)
        question = f"{number}: {TEXT}"
        begin = time.perf_counter()
        session.user(question)
        session.request(to=to, model=model)
        asked = time.perf_counter()
        json.dumps([answer, {"role": "user", "content": question}])
        times.append((asked - begin, time.perf_counter() - asked))
    ours, limit = zip(*times[1000:], strict=True)
    return statistics.median(ours), statistics.median(limit)
