"""Ten messages more after ten thousand, and the request with them, beside building all of it: for each provider."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.coding_session import coding_session
from benchmarks.measure import Row, Settings, shown
from benchmarks.sessions import MOST_TIME, TIMED, time_of_ten_more


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a conversation that grows."""
    turn = coding_session()[0]
    for to, model in TIMED[:1] if settings.quick else TIMED:
        ten, whole = time_of_ten_more(turn, to, model, runs=1 if settings.quick else 3)
        yield Row(f"ten messages appended to 10,000: {to}", shown(ten), shown(whole), ten / whole, MOST_TIME, "%")
