"""Reading `preset.toml`: every key of a wrong type, and every key that means nothing, is a problem with its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from deepprompt.catalog import Catalog, from_folder
from deepprompt.errors import UnknownPartError
from deepprompt.prompt import Pace
from deepprompt.systems.preset_file import Reader
from tests.support.layout import lay_out


def reader(root: Path, toml: str) -> tuple[Reader, list[str]]:
    """Return the reader of a preset with the part `rules`, and the list that it collects problems in."""
    catalog = from_folder(lay_out(root, {"own/1.0/rules.md": "Rules.\n", "own/1.0/tools/Run.md": "Runs."}))

    def find(ask: str) -> tuple[Catalog, str, str]:
        raise UnknownPartError(f"no family {ask!r}")

    problems: list[str] = []
    return Reader(tomllib.loads(toml), (catalog, "own", "1.0"), find, problems), problems


def said(root: Path, problems: list[str]) -> list[str]:
    """Return problems without their place, which is the same for all."""
    place = f"{root}:own/1.0/preset.toml: "
    assert [problem for problem in problems if not problem.startswith(place)] == []
    return [problem.removeprefix(place).replace(str(root), "DIR") for problem in problems]


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("", "format: this version of deepprompt reads format = 1, and the file has none"),
        ("format = 2", "format: this version of deepprompt reads format = 1, not 2"),
        ("format = 1\nabuot = 'x'", "no key 'abuot' here; did you mean about?"),
        ("format = 1\nfinal_newline = 'drop'", "final_newline: 'strip' or 'keep', not 'drop'"),
        ("format = 1\nfinal_newline = true", "final_newline: final_newline is text, not True"),
    ],
)
def test_top(toml: str, problem: str, tmp_path: Path) -> None:
    """The keys of the file itself."""
    read, problems = reader(tmp_path, toml)
    read.top()
    assert said(tmp_path, problems) == [problem]


KINDS = "a row has exactly one of part, text, slot, each, boundary"


@pytest.mark.parametrize(
    ("row", "problems"),
    [
        ("5", ["row 3: a row is a table such as { part = 'rules' }, not 5"]),
        ("{ parts = 'rules' }", [f"row 3: this row has none; {KINDS}",
                                 "row 3: no key 'parts' here; did you mean part?"]),
        ("{ part = 'rules', slot = 'append' }", [f"row 3: this row has part and slot; {KINDS}"]),
        ("{ part = 'rules', wen = 'x' }", ["row rules: no key 'wen' here; did you mean when, end or between?"]),
        ("{ part = 'rules', pace = 'fast' }",
         ["row rules: pace is one of release, project, session, turn, not 'fast'"]),
        ("{ part = 'rules', raw = 1 }", ["row rules: raw is true or false, not 1"]),
        ("{ part = 'rulse' }", ["row rulse: there is no file own/1.0/rulse.md in DIR; did you mean rules?"]),
        ("{ part = 'rules.md' }", ["row rules.md: there is no file own/1.0/rules.md.md in DIR; did you mean rules?"]),
        ("{ part = 'rules', from = 'x@1' }", ["row rules: from: no family 'x@1'"]),
        ("{ part = 'rules', item = 'rules' }", ["row rules: item is for rows of each"]),
        ("{ text = 'Be brief.' }", ["row 3: a row with a text of its own needs a name"]),
        ("{ each = 'mcp' }", ["row mcp: a row of each needs an item, the part for one of them"]),
    ],
)  # fmt: skip
def test_a_wrong_row(row: str, problems: list[str], tmp_path: Path) -> None:
    """Each mistake in a row is a problem of its own, with the row's name, or its number if it has none."""
    read, found = reader(tmp_path, f"row = {row}")
    read.row(read.data["row"], 3)
    assert said(tmp_path, found) == problems


@pytest.mark.parametrize(
    ("row", "pace"),
    [
        ("{ part = 'rules' }", Pace.RELEASE),
        ("{ slot = 'project' }", Pace.TURN),
        ("{ slot = 'append' }", Pace.PROJECT),
        ("{ each = 'tools', item = 'rules' }", Pace.RELEASE),
        ("{ each = 'mcp', item = 'rules' }", Pace.PROJECT),
        ("{ slot = 'append', pace = 'turn' }", Pace.TURN),
    ],
)
def test_the_pace_of_a_row(row: str, pace: Pace, tmp_path: Path) -> None:
    """A row that names no pace has that of its slot or list; a part is released wording."""
    read, problems = reader(tmp_path, f"row = {row}")
    found = read.row(read.data["row"])
    assert found is not None
    assert (found.pace, problems) == (pace, [])


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("variables.TEAM = 5", "variable TEAM: a default, or a table such as { about = '...' }, not 5"),
        ("variables.TEAM = { defualt = 'x' }", "variable TEAM: no key 'defualt' here; did you mean default?"),
        ("variables.TEAM = { default = 'x', literal = true }", "variable TEAM: default and literal exclude each other"),
        ("variables.TEAM = { cases = [{ when = 'x' }] }", "variable TEAM: a case has a text or a part"),
        ("flags.channel = [1]", "flag channel: channel is a list of texts"),
        ("lists.servers = {}", "list servers: a list has fields, such as { fields = ['NAME'] }"),
        ("tools.Run = true", "tool Run: a table, {} at the least, not True"),
        ("tools.Run = { names = 'R' }", "tool Run: names is a list, not 'R'"),
        ("agents.auditor = { tool = ['Run'] }", "agent auditor: no key 'tool' here; there are: about, tools"),
        ("reminders = 'x'", "reminders: reminders is a table, not 'x'"),
    ],
)  # fmt: skip
def test_a_wrong_table(table: str, problem: str, tmp_path: Path) -> None:
    """Wrong entries of the tables are problems, each with the entry's name."""
    read, problems = reader(tmp_path, table)
    for method in (read.variables, read.flags, read.lists, read.tools, read.agents, read.reminders):
        method()
    assert any(found.startswith(problem) for found in said(tmp_path, problems))


def test_variables(tmp_path: Path) -> None:
    """A bare text is a default; a value without one may differ from project to project."""
    read, problems = reader(
        tmp_path, "[variables]\nPRODUCT = 'Pilot'\nTEAM = { about = 'who' }\nHOME = { literal = true }\n"
    )
    found = read.variables()
    assert problems == []
    assert (found["PRODUCT"].default, found["PRODUCT"].pace) == ("Pilot", Pace.RELEASE)
    assert (found["TEAM"].default, found["TEAM"].about, found["TEAM"].pace) == (None, "who", Pace.PROJECT)
    assert found["HOME"].literal
