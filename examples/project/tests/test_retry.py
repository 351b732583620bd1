"""Tests of when a message is tried again."""

from postbox.retry import GONE, LATER, SENT, deliver, pauses


def test_pauses_double() -> None:
    """Each pause is twice the one before."""
    assert pauses() == [2.0, 4.0]


def test_sent_at_last() -> None:
    """A message that is sent later is sent."""
    said = iter([LATER, SENT])
    assert deliver(lambda: next(said), lambda _: None) == SENT


def test_gone_is_final() -> None:
    """A message whose address does not exist is not tried again."""
    said = iter([GONE])
    assert deliver(lambda: next(said), lambda _: None) == GONE
