"""Shorten the descriptions of skills evenly, so that their index fits a budget, and say so."""

from __future__ import annotations

from deepprompt.frozen import replace
from deepprompt.prompt import Note

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.skills import Skill

LEAST = 40
"""Descriptions are never shortened below this many characters: lines are left out instead."""


def shortened(skills: tuple[Skill, ...], budget: int) -> tuple[tuple[Skill, ...], tuple[Note, ...]]:
    """Return the skills with descriptions that fit the budget in bytes, and a note if any was shortened.

    All of them get the same longest length, so that short descriptions stay whole.
    """
    if _size(skills) <= budget:
        return skills, ()
    low, high = LEAST, max(len(skill.description) for skill in skills)
    while low < high:  # the longest length that fits
        middle = (low + high + 1) // 2
        if _size(_cut(skills, middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    fitting = _cut(skills, low)
    count = sum(was != now for was, now in zip(skills, fitting, strict=True))
    left = len(fitting)
    while left and _size(fitting[:left]) > budget:
        left -= max(1, (_size(fitting[:left]) - budget) // 4_096)
    detail = f"{count} of {len(skills)} descriptions are shortened to {low} characters, to fit {budget:,} bytes"
    notes = [Note("cut", "skills", detail)] if count else []
    if left < len(fitting):
        notes.append(Note("cut", "skills", f"{len(fitting) - left} skills are not listed, to fit {budget:,} bytes"))
    return fitting[:left], tuple(notes)


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text; an ellipsis, after a word if one is near, shows a cut."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    space = kept.rfind(" ", max(0, limit - 24))
    return (kept[:space] if space > 0 else kept).rstrip(" ,;:.-") + "…"


def _cut(skills: tuple[Skill, ...], limit: int) -> tuple[Skill, ...]:
    return tuple(
        replace(skill, description=shorten(skill.description, limit)) if len(skill.description) > limit else skill
        for skill in skills
    )


def _size(skills: tuple[Skill, ...]) -> int:
    return sum(len(skill.index_line().encode()) for skill in skills)
