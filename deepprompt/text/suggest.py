"""Suggestions for names that do not exist: "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_LISTED = 20
_MOST_SUGGESTED = 5


def nearest(name: str, names: Iterable[str], likeness: float = 0.7) -> list[str]:
    """Return the names that resemble a name, nearest first. Case and folders are ignored.

    `likeness` is how much they have in common at least, from 0 to 1.
    """
    from difflib import SequenceMatcher

    wanted = _compared(name)
    ratios = {other: SequenceMatcher(None, wanted, _compared(other)).ratio() for other in names}
    return sorted((other for other in ratios if ratios[other] >= likeness), key=lambda other: -ratios[other])


def _compared(name: str) -> str:
    return name.rpartition("/")[2].casefold()


def did_you_mean(name: str, names: list[str], otherwise: str = "there are") -> str:
    """Return the end of a message about an unknown name: the nearest of many names, or else a list of them."""
    near = nearest(name, names, 0.6)[:_MOST_SUGGESTED] if len(names) > 8 else []
    if near:
        *others, last = near
        return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    listed = names if len(names) <= _MOST_LISTED else [*names[:8], f"and {len(names) - 8} more"]
    return f"{otherwise}: {', '.join(listed) or 'none'}"
