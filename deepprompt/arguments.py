"""Checks for arguments of the wrong type, for callers without a type checker. The message says what would be right.

Only types are checked here; the function that takes a value checks what it means. Modules on the way to a first prompt
import this one only when something is wrong, so that a correct call does not pay for it.
"""

from __future__ import annotations

from deepprompt.errors import DeepPromptError, SourceError

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from types import UnionType
    from typing import Any

MOST_SHOWN = 60


def wrong(
    what: str, takes: str, given: object, where: str = "", error: type[DeepPromptError] = SourceError
) -> DeepPromptError:
    """Return the error that says what the argument `what` takes, and what it was given."""
    return error(f"{what} takes {takes}, not {_shown(given)}{where}")


def expect(
    value: object, kind: type | UnionType, what: str, takes: str, error: type[DeepPromptError] = SourceError
) -> None:
    """Raise if a value is not of the type that the argument `what` takes."""
    if not isinstance(value, kind):
        raise wrong(what, takes, value, error=error)


def expect_each(
    values: object, kind: type | UnionType, what: str, takes: str, error: type[DeepPromptError] = SourceError
) -> tuple[Any, ...]:
    """Return values as a tuple, each of the type that `what` takes. A text is not taken for a list of letters."""
    if isinstance(values, kind):
        raise wrong(what, takes, values, "; put it into a list", error)
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise wrong(what, takes, values, error=error)
    each = tuple(values)
    for value in each:
        if not isinstance(value, kind):
            raise wrong(what, takes, value, " in it", error)
    return each


def expect_texts(holder: object, *fields: str) -> None:
    """Raise if one of these fields of a value is not text."""
    for name in fields:
        expect(getattr(holder, name), str, f"{type(holder).__name__}: {name}", "text")


def expect_time(value: object, what: str) -> None:
    """Raise if a value is not a datetime with a time zone. Without a zone its moment would depend on the machine."""
    from datetime import datetime

    expect(value, datetime, what, "a datetime with its time zone, such as datetime.now(timezone.utc)")
    if isinstance(value, datetime) and value.utcoffset() is None:
        raise SourceError(f"{what} needs a time zone: pass an aware datetime, such as datetime.now(timezone.utc)")


def _shown(value: object) -> str:
    """Return a value as a message shows it: its repr, or the name of its class if the class has none of its own."""
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    return f"{value!r:.{MOST_SHOWN}}"
