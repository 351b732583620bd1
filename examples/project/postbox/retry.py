"""When a message is tried again, and when it is given up."""

from collections.abc import Callable

from postbox.limits import MOST_TRIES, PAUSE

SENT, LATER, GONE = "sent", "later", "gone"
FINAL = (SENT, GONE)


def pauses() -> list[float]:
    """Return the seconds before each further try."""
    return [PAUSE * 2**number for number in range(MOST_TRIES - 1)]


def deliver(send: Callable[[], str], wait: Callable[[float], None]) -> str:
    """Send a message until it is sent, gone or given up, and return what became of it."""
    said = send()
    for pause in pauses():
        if said in FINAL:
            break
        wait(pause)
        said = send()
    return said
