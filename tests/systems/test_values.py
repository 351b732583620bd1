"""Facts, variables and lists while a prompt is composed: what stands where, and what takes its line with it."""

from __future__ import annotations

from typing import Any

import pytest

from deepprompt.errors import PresetError
from deepprompt.prompt import Pace
from deepprompt.sources.project import ProjectContext
from deepprompt.sources.surroundings import Surroundings
from deepprompt.systems.inputs import Inputs
from deepprompt.systems.presets import Preset
from deepprompt.systems.rows import Case, OwnList, Row, Variable
from deepprompt.systems.values import Values, of_project

AROUND = Surroundings(project=ProjectContext(cwd="/srv/x", os_name="linux", os_version="6.9", active_branch="main"))
PRESET = Preset(
    "own",
    "1.0",
    rows=(Row("text", "all", "x"), Row("boundary", "boundary")),
    flags={"dry_run": "nothing is written", "channel": ("slack", "email")},
    variables={
        "TEAM": Variable("TEAM"),
        "PRODUCT": Variable("PRODUCT", "Pilot"),
        "HOME": Variable("HOME", literal=True),
        "TONE": Variable("TONE", cases=(Case("channel:slack", "Short, ${PRODUCT}."), Case("dry_run", "\n"))),
        "LOOP": Variable("LOOP", cases=(Case(text="${LOOP}"),)),
        "NAMES": Variable("NAMES", cases=(Case(text="- ${NAME}"),), each="servers"),
    },
    lists={"servers": OwnList("servers", ("NAME", "NOTES"), ("production",), "NAME")},
    kept={},
)


def values(around: Surroundings | None = AROUND, **given: Any) -> Values:
    """Return the values of one prompt."""
    return Values(PRESET, around, Inputs(**given))


@pytest.mark.parametrize(
    ("text", "given", "expanded"),
    [
        pytest.param("By ${TEAM}.", {"TEAM": "us\nall"}, "By us all.", id="a value in a sentence stands on one line"),
        pytest.param("a\n${TEAM}\nb", {"TEAM": "us\nall"}, "a\nus\nall\nb", id="alone on its line it keeps its lines"),
        pytest.param("a\n${TEAM}\nb", {"TEAM": ""}, "a\n\nb", id="an empty value keeps its line"),
        pytest.param("${TEAM}", {"TEAM": "${PRODUCT} $${TEAM}"}, "${PRODUCT} $${TEAM}", id="a value never expands"),
        pytest.param("${HOME}/x", {}, "${HOME}/x", id="a literal stays"),
        pytest.param("${home} $PRODUCT ${PRODUCT", {}, "${home} $PRODUCT ${PRODUCT", id="other spellings stay"),
        pytest.param("<n>\n${TEAM}\n</n>", {"TEAM": "</n>"}, "<n>\n<\\/n>\n</n>", id="a value cannot close a fence"),
    ],
)
def test_expanded(text: str, given: dict[str, str], expanded: str) -> None:
    """Variables are replaced once, by position, and a value forges nothing."""
    assert values(variables=given).expand(text, "part") == expanded


@pytest.mark.parametrize(
    ("flags", "expanded"),
    [
        pytest.param(["channel:slack"], "a\nShort, Pilot.\nb", id="the first case that holds, expanded"),
        pytest.param(["dry_run"], "a\n\nb", id="a case of one newline is an empty line"),
        pytest.param([], "a\nb", id="no case: the line goes too"),
    ],
)
def test_cases(flags: list[str], expanded: str) -> None:
    """A text of the author's depends on conditions, and a block that says nothing takes its line with it."""
    assert values(flags=flags).expand("a\n${TONE}\nb", "part") == expanded


def test_a_value_wins_over_cases() -> None:
    """A value that the caller gives replaces the cases, and is not expanded."""
    assert values(variables={"TONE": "${PRODUCT}"}, flags=["dry_run"]).expand("${TONE}", "part") == "${PRODUCT}"


def test_lists() -> None:
    """A list is sorted by its field, stands item by item in a variable, and takes its line with it if it is empty."""
    servers = [{"NAME": "web-2", "NOTES": ""}, {"NAME": "web-1", "NOTES": "x", "production": True}]
    found = values(lists={"servers": servers})
    assert [item["NAME"] for item in found.items("servers")] == ["web-1", "web-2"]
    assert found.expand("a\n${NAMES}\nb", "part") == "a\n- web-1\n- web-2\nb"
    assert values().expand("a\n${NAMES}\nb", "part") == "a\nb"


@pytest.mark.parametrize(
    ("word", "holds"),
    [
        ("always", True), ("dry_run", True), ("channel:slack", False), ("tool:Bash", True), ("tool:Grep", False),
        ("set:TEAM", False), ("set:PRODUCT", True), ("set:BRANCH", True), ("list:servers", True), ("list:mcp", False),
        ("item:NAME", False),
    ],
)  # fmt: skip
def test_facts(word: str, holds: bool) -> None:
    """Each kind of word asks for something else. A default counts as a value; outside a list there is no item."""
    given = values(flags=["dry_run"], tools=["Bash"], lists={"servers": [{"NAME": "a", "NOTES": ""}]})
    assert given.fact(word) is holds


def test_the_project() -> None:
    """A value of the project is taken from the surroundings, is told to the cache, and is unknown without them."""
    found = values()
    assert found.expand("${CWD} on ${OS}", "part") == "/srv/x on linux 6.9"
    assert found.read == {"CWD": "/srv/x", "OS": "linux 6.9"}
    assert values(None).expand("${CWD}", "part") == "unknown"
    assert of_project("BRANCH", None) == ""


def test_the_pace_of_a_text() -> None:
    """A text is as fast as its fastest variable."""
    found = values()
    for text, pace in (("x", Pace.RELEASE), ("${CWD}", Pace.SESSION), ("${CWD} ${BRANCH}", Pace.TURN)):
        found.pace = Pace.RELEASE
        found.expand(text, "part")
        assert found.pace is pace


def test_a_circle_ends() -> None:
    """A variable that contains itself is an error, not an endless text: a preset made in code is not checked before."""
    with pytest.raises(PresetError, match="variable LOOP: it contains itself"):
        values().expand("${LOOP}", "part")


def test_everything_missing_is_one_error() -> None:
    """Wrong flags, variables and lists, and every missing value, are in one error, with what was meant."""
    found = values(flags=["dry-run", "channel:slack", "channel:email"], variables={"TEEM": "x", "PRODUCT": 5},
                   lists={"servers": [{"NAME": "a", "NOTE": "b"}], "server": []})  # fmt: skip
    found.check()
    found.expand("${TEAM} ${TAEM}", "rules")
    with pytest.raises(PresetError) as caught:
        found.refuse_problems()
    assert [problem.removeprefix("preset own@1.0: ") for problem in caught.value.problems] == [
        "no flag 'dry-run'; there are: dry_run, channel:slack, channel:email",
        "flags channel:slack and channel:email exclude each other",
        "no variable 'TEEM'; did you mean TEAM?",
        "variable PRODUCT takes text, not 5",
        "list servers[0]: no field 'NOTE'; there are: NAME, NOTES, production",
        "list servers[0]: no NOTES",
        "no list 'server'; there are: servers",
        "part 'rules' needs a value for TEAM, TAEM; did you mean TEAM?",
    ]
