"""Arguments of the wrong kind, as whoever has no type checker passes them: one sentence says what would be right.

Only kinds are looked at here; what a value means is the business of the function that takes it. Modules that a first
prompt needs import this one when something is wrong, so that a right call does not pay for it.
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
    """Return the error that says what `what`, a function and its argument, takes, and what it was given."""
    return error(f"{what} takes {takes}, not {_shown(given)}{where}")


def expect(
    value: object, kind: type | UnionType, what: str, takes: str, error: type[DeepPromptError] = SourceError
) -> None:
    """Refuse a value that is not of the kind which `what` takes."""
    if not isinstance(value, kind):
        raise wrong(what, takes, value, error=error)


def expect_each(
    values: object, kind: type | UnionType, what: str, takes: str, error: type[DeepPromptError] = SourceError
) -> tuple[Any, ...]:
    """Return values as a tuple, each of the kind that `what` takes. One text is no list, though it has letters."""
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
    """Refuse a value of a class of ours whose fields of these names are not all text."""
    for name in fields:
        expect(getattr(holder, name), str, f"{type(holder).__name__}: {name}", "text")


def expect_time(value: object, what: str) -> None:
    """Refuse what is no time, and a time without its zone: which moment it is would depend on the machine."""
    from datetime import datetime

    expect(value, datetime, what, "a datetime with its time zone, such as datetime.now(timezone.utc)")
    if isinstance(value, datetime) and value.utcoffset() is None:
        raise SourceError(f"{what} needs a time zone: pass an aware datetime, such as datetime.now(timezone.utc)")


def _shown(value: object) -> str:
    """Return a value as a message shows it: one whose class does not say how as what it is."""
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    return f"{value!r:.{MOST_SHOWN}}"
