"""Notices: what a session says of parts and tools that changed, when it says so, and what waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deepprompt import (
    InstructionFile,
    Pace,
    Part,
    Prompt,
    Session,
    SystemPromptBuilder,
)
from deepprompt.session.notices import Change
from tests.support.sessions import (
    AGENTS,
    BASH,
    EDITED,
    FIX,
    FORGED,
    PROJECT,
    READ,
    changed,
    make,
    told,
)

# What moves in the prefix: the prompt as it is now, the changes, and what the model reads of each.
CHANGES: dict[str, tuple[Prompt, list[Change], list[str]]] = {
    "an edit": (
        make(files=(InstructionFile("/p/AGENTS.md", "Use blanks."),)),
        [Change("replaced", "instructions /p/AGENTS.md", "[/p/AGENTS.md]\nUse blanks.")],
        ["From here on it reads as follows", "\n\n[/p/AGENTS.md]\nUse blanks.\n</notice>"],
    ),
    "a new file": (
        make(files=(AGENTS, FIX)),
        [Change("added", "instructions /p/FIX.md", "[/p/FIX.md]\nFix it.")],
        ["It holds from here on.\n\n[/p/FIX.md]\nFix it.\n</notice>"],
    ),
    "a file that went": (
        make(files=()),
        [Change("removed", "instructions /p/AGENTS.md")],
        ['<notice kind="removed" source="instructions /p/AGENTS.md">', "It no longer holds.\n</notice>"],
    ),
    "other skills": (
        make(skills="fly | Takes off. | direct | 0 | "),
        [Change("replaced", "skills", make(skills="fly | Takes off. | direct | 0 | ").parts[3].text.strip("\n"))],
        ['<notice kind="replaced" source="skills">', "fly | Takes off."],
    ),
    "no skills": (make(skills=""), [Change("removed", "skills")], ['<notice kind="removed" source="skills">']),
    "a new tool": (
        make(tools=(BASH, READ, {"name": "Fly"})),
        [Change("added", "tool Fly")],
        ['<notice kind="added" source="tool Fly">\nThese tools exist now but cannot be called in this conversation.'],
    ),
    "a tool that went": (
        make(tools=(READ,)),
        [Change("removed", "tool Bash")],
        ['<notice kind="removed" source="tool Bash">\nThese tools are gone.'],
    ),
    "a tool that changed": (
        make(tools=(EDITED, READ)),
        [Change("replaced", "tool Bash")],
        ['<notice kind="replaced" source="tool Bash">\nThese tools work differently now'],
    ),
    "all tools": (
        make(tools=()),
        [Change("removed", "tool Bash"), Change("removed", "tool Read")],
        ['<notice kind="removed" source="tools Bash, Read">\nThese tools are gone.'],
    ),
}


@pytest.mark.parametrize(("now", "changes", "texts"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(now: Prompt, changes: list[Change], texts: list[str]) -> None:
    """It is said once, before the user's message, and the prefix stays."""
    session, seen = changed(now)
    assert list(seen) == changes
    *_, notice, own = told(session)
    assert own == "Two."
    assert notice.count("<notice ") == notice.count("</notice>") == 1
    assert all(text in notice for text in texts), notice
    assert session.fingerprint == Session(make()).fingerprint
    size = len(session.messages)
    assert session.user("Three.", now) == ()
    assert session.update(now) == ()
    assert len(session.messages) == size + 1
    assert session.waiting == ()


@pytest.mark.parametrize(("now", "changes", "texts"), CHANGES.values(), ids=CHANGES)
def test_a_change_waits(now: Prompt, changes: list[Change], texts: list[str]) -> None:
    """It is returned once, is in `waiting` until the next epoch takes it up, and the model hears nothing."""
    session, seen = changed(now, "wait")
    waiting = tuple(replace(change, told=False) for change in changes)
    assert seen == waiting == session.waiting
    assert told(session)[-2:] == ["Yes.", "Two."]
    assert session.user("Three.", now) == ()
    assert session.waiting == waiting
    switch = session.new_epoch(now)
    assert list(switch.changes) == changes
    assert session.waiting == ()
    assert session.user("Four.", now) == ()
    assert told(session)[-2:] == ["Three.", "Four."]
    assert all(text not in "".join(told(session)) for text in texts)


@pytest.mark.parametrize("now", [now for now, _, _ in CHANGES.values()], ids=CHANGES)
def test_a_change_that_is_taken_back(now: Prompt) -> None:
    """The model hears of that too; what only waited is forgotten."""
    session, first = changed(now)
    back = session.user("Back.", make())
    assert [change.source for change in back] == [change.source for change in first]
    assert told(session)[-2].startswith("<notice ")
    assert session.user("Again?", make()) == ()
    waiting, _ = changed(now, "wait")
    assert waiting.user("Back.", make()) == ()
    assert waiting.waiting == ()


def test_a_tool_that_is_back_counts_again() -> None:
    """It is as it is listed, so nothing is said of tools that cannot be called."""
    session, _ = changed(make(tools=(READ,)))
    assert session.user("Back.", make()) == (Change("added", "tool Bash"),)
    assert told(session)[-2] == (
        '<notice kind="added" source="tool Bash">\n'
        "These tools are there again. They can be called as they are listed.\n</notice>"
    )
    assert session.user("Other.", make(tools=(READ, EDITED))) == (Change("replaced", "tool Bash"),)
    assert session.user("Other still.", make(tools=(READ, {**EDITED, "strict": True}))) == (
        Change("replaced", "tool Bash"),
    )


def test_released_wording_waits() -> None:
    """It belongs to the next epoch, whatever is chosen for the rest: new, other or gone."""
    session = Session(make())
    session.user("One.")
    now = make(base="Be very brief.")
    waiting = (Change("replaced", "base", "Be very brief.", told=False),)
    assert session.user("Two.", now) == waiting == session.waiting
    assert session.user("Three.", now) == ()
    assert told(session)[-2:] == ["Two.", "Three."]
    gone = Prompt(now.parts[1:], now.tools)
    assert session.user("Four.", gone) == (Change("removed", "base", told=False),)
    more = Prompt((Part("more", "More.", Pace.RELEASE, "test"), *make().parts), now.tools)
    assert session.user("Five.", more) == (Change("added", "more", "More.", told=False),)
    assert [text for text in told(session) if text.startswith("<notice")] == []


def test_parts_of_one_name_count_together() -> None:
    """Two appended texts are one thing to be told of; neither is lost."""
    own = [Part("append", text, Pace.PROJECT, "argument:append") for text in ("One.", "Two.")]
    session = Session(SystemPromptBuilder("Be brief.", append=own).compose())
    own[0] = replace(own[0], text="Three.")
    now = SystemPromptBuilder("Be brief.", append=own).compose()
    assert session.user("Hi", now) == (Change("replaced", "append", "Three.\n\nTwo."),)


def test_neighbours_do_not_change_a_part() -> None:
    """The empty lines around a part come and go with what stands beside it."""
    parts = [Part(name, f"\n\n{name}\n", Pace.PROJECT, "test") for name in ("one", "two")]
    session = Session(Prompt(tuple(parts)))
    assert session.user("Hi", Prompt((replace(parts[1], text="two"),))) == (Change("removed", "one"),)


def test_what_is_quoted_cannot_end_a_notice() -> None:
    """A file, a section or a name that holds our tags holds them disarmed."""
    forged = make(files=(InstructionFile('/p/"><b>\nx.md', FORGED),), project=replace(PROJECT, git_diff=FORGED))
    session = Session(make())
    session.user("One.")
    session.user("Two.", forged)
    (news,) = told(session, 2)[:1]
    assert news.count("</notice>") == news.count("<notice ") == 2
    assert news.count("</context>") == news.count("<context>") == 1
    assert news.lower().count("notice >") == news.count("<\\ / NOTICE >") == 2
    assert "＜\\/context" in news
    assert news.endswith("\n</context>")
    assert 'source="instructions /p/&quot;&gt;&lt;b&gt; x.md"' in news


def test_a_name_is_one_line() -> None:
    """Also where the part's own name is not."""
    part = Part("my\nrules", "Be kind.", Pace.PROJECT, "test")
    session = Session(make())
    session.user("Hi", Prompt((*make().static_parts, part), make().tools))
    assert '<notice kind="added" source="my rules">' in told(session)[0]


def test_half_a_character_is_told_once() -> None:
    """What cannot be encoded is replaced when it comes in, so that a resume changes nothing."""
    parts = (
        Part("ru\ud800les", "Be\ud800 brief.", Pace.PROJECT, "te\ud800st"),
        Part("no\ud800w", "Noon\ud800.", Pace.TURN, "test"),
    )
    session = Session(Prompt(parts))
    session.user("Hi\ud800", Prompt(parts))
    assert session.prefix.text == "Be\ufffd brief."
    assert told(session)[-1] == "Hi\ufffd"
    assert session.user("Hi", Prompt(parts)) == ()
    assert len(session.messages) == 3
