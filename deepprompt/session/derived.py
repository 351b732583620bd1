"""What the methods of a session return: an open call, a new epoch, a session that goes on from a point."""

from __future__ import annotations

from dataclasses import dataclass

from deepprompt.session.notices import Change

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.session.session import Session


@dataclass(frozen=True, slots=True)
class EpochSwitch:
    """A new epoch: what changed in the prefix, and how many tokens, by estimate, have to be paid for again."""

    epoch: int
    changes: tuple[Change, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call that waits for its result."""

    id: str
    """The id that the result has to name."""
    name: str
    arguments: str
    """The arguments as the model wrote them, normally a JSON object."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A session that goes on from a point of another one, or of itself, and how much of that is in a cache."""

    session: Session
    shared: int
    """How many tokens of the next request, by estimate."""
    note: str
