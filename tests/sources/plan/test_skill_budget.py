"""The budget of a list of skills."""

from __future__ import annotations

from deepprompt.sources.plan.skill_budget import LEAST, shorten, shortened
from deepprompt.sources.skills import Skill, SkillStore


def skills(*sizes: int) -> tuple[Skill, ...]:
    """Return skills with descriptions of some lengths."""
    return tuple(
        Skill(f"s{number:03}", ("word " * size)[:size], "direct", "0" * 64, (), "/", "p")
        for number, size in enumerate(sizes)
    )


def test_a_list_that_fits_stays() -> None:
    """Within the budget nothing is shortened, and there is no note."""
    assert shortened(skills(100, 50), 1_000) == (skills(100, 50), ())


def test_long_descriptions_are_shortened_evenly() -> None:
    """All get the same longest length, short ones stay whole, a shortened one ends visibly, and a note says so."""
    listed, (note,) = shortened(skills(30, 500, 900), 600)
    assert listed[0] == skills(30)[0]
    assert all(skill.description.endswith("…") for skill in listed[1:])
    assert abs(len(listed[1].description) - len(listed[2].description)) <= 5
    assert sum(len(skill.index_line().encode()) for skill in listed) <= 600
    assert note.detail.startswith("2 of 3 descriptions are shortened to ")


def test_lines_are_left_out_at_last() -> None:
    """Descriptions never get shorter than a few words; then skills are left out, and a note says how many."""
    store = SkillStore(skills(*[200] * 50), budget=2_000)
    text = store.index_text()
    assert len(text.encode()) <= 2_000
    assert text.notes[-1].detail.endswith("skills are not listed, to fit 2,000 bytes")
    assert all(len(line.split(" | ")[1]) <= LEAST for line in text.splitlines())


def test_an_ellipsis_shows_the_cut() -> None:
    """A text is cut after a word if one is near, otherwise within it."""
    assert shorten("one two three", 20) == "one two three"
    assert shorten("one two three", 9) == "one two…"
    assert shorten("x" * 50, 10) == "x" * 9 + "…"
