"""One session is used by one task at a time: two at once raise, before either gets a wrong body.

A call that runs while another one does is noticed by a lock that never waits. Two tasks that take turns are noticed
when a response is appended: other messages were appended since the request that it answers.
"""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from weakref import WeakKeyDictionary

from deepprompt.errors import SessionError

_ADVICE = "use a session from one task at a time, and session.fork() to work in parallel"


class Alone:
    """Guards the calls of one session. A copy of a session has a guard of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: WeakKeyDictionary[object, int] = WeakKeyDictionary()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise SessionError(f"this session is in use by another call right now; {_ADVICE}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._lock.release()

    def __deepcopy__(self, memo: object) -> Alone:
        return Alone()

    def __reduce__(self) -> tuple[type[Alone], tuple[()]]:
        return Alone, ()

    def note_request(self, size: int) -> None:
        """Remember that this task was given the request for so many messages."""
        self._asked[_task()] = size

    def check_response(self, size: int) -> None:
        """Refuse a response to an earlier request than the one for so many messages."""
        asked = self._asked.pop(_task(), size)
        if asked != size:
            raise SessionError(
                f"this response is to a request of {asked} messages, and the session has {size} now; {_ADVICE}"
            )


def _task() -> object:
    """Return the task that calls, or its thread if no event loop runs in it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return task or threading.current_thread()
