"""Problems of a whole preset: files, schemas, descriptions, flags, variables and the order of its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.errors import PresetError
from deepprompt.systems.presets import load_preset
from tests.support.layout import lay_out

TOML = """\
format = 1
rows = [{ part = "rules" }, { part = "deploying", when = "tool:Run and not dry_run" }, { slot = "append" }]
[flags]
dry_run = "nothing is written"
[variables]
TEAM = { default = "us" }
[tools]
Run = {}
"""
FILES: dict[str, str | bytes] = {
    "own/1.0/preset.toml": TOML,
    "own/1.0/rules.md": "Ask ${TEAM}.\n",
    "own/1.0/deploying.md": "Deploy.\n",
    "own/1.0/tools/Run.md": "Runs it.\n",
    "own/1.0/tools/Run.json": '{"type": "object", "properties": {}}',
}


def problems(root: Path, **changes: str | bytes | None) -> list[str]:
    """Return the problems of the preset with some files changed or left out, without the place of `preset.toml`."""
    changed = {f"own/1.0/{name.replace('__', '/').replace('_', '.')}": text for name, text in changes.items()}
    files = {path: text for path, text in {**FILES, **changed}.items() if text is not None}
    try:
        load_preset("own", lay_out(root, files))
    except PresetError as error:
        return [problem.removeprefix(f"{root}:own/1.0/preset.toml: ") for problem in error.problems]
    return []


def test_good(tmp_path: Path) -> None:
    """The preset that the other tests spoil has no problem."""
    assert problems(tmp_path) == []


SCHEMA = "tool Run: tools/Run.json is no JSON Schema"


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("", "not JSON"),
        ("\n", "not JSON"),
        ("{,}", "tools/Run.json:1: not JSON"),
        ("[]", f"{SCHEMA} of an object: type is not object"),
        ("null", f"{SCHEMA} of an object: type is not object"),
        ("{}", f"{SCHEMA} of an object: type is not object"),
        ('{"name": "Run", "input_schema": {}}', "type is not object; leave out what stands around 'input_schema'"),
        ('{"type": "function", "function": {}}', "type is not object; leave out what stands around 'function'"),
        ('{"type": "object", "properties": []}', f"{SCHEMA}: properties is not an object"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_schemas(schema: str | bytes, problem: str, tmp_path: Path) -> None:
    """A file that is no schema is a problem when the preset is loaded, whether or not the tool is enabled."""
    (found,) = problems(tmp_path, tools__Run_json=schema)
    assert problem in found


def test_descriptions(tmp_path: Path) -> None:
    """An empty description is a problem, and so is a variable in one that would be sent unchanged."""
    empty = "tool Run: tools/Run.md is empty: a model needs to know what a tool does"
    assert problems(tmp_path / "a", tools__Run_md="\n") == [empty]
    (found,) = problems(tmp_path / "b", tools__Run_md="Runs it for ${TEAM}.\n")
    assert found.startswith("tool Run: tools/Run.md: ${TEAM} would be sent unchanged")
    assert problems(tmp_path / "c", tools__Run_md="Expands ${HOME}.\n") == []


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"notes_md": "x"}, ["notes.md: nothing refers to this file"]),
        ({"ruless_md": "x"}, ["ruless.md: nothing refers to this file; did you mean rules.md?"]),
        ({"rules_md": None}, ["row rules: there is no file own/1.0/rules.md in DIR", "variable TEAM: no part uses it"]),
        ({"rules_md": "Ask ${TEM}.\n"}, ["row rules: rules.md: ${TEM} is not declared; did you mean TEAM?",
                                         "variable TEAM: no part uses it"]),
        ({"rules_md": b"\xff"}, ["variable TEAM: no part uses it", "DIR: own/1.0/rules.md: not UTF-8 at byte 0"]),
    ],
)  # fmt: skip
def test_files(changes: dict[str, str | bytes | None], wanted: list[str], tmp_path: Path) -> None:
    """Files and the rows that name them fit together, and each problem is told once."""
    found = [problem.replace(str(tmp_path), "DIR") for problem in problems(tmp_path, **changes)]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("not dry_run", "not dryrun", "no flag 'dryrun'; there are: dry_run"),
        ("tool:Run and not dry_run", "dry_run && tool:Run", "'&&' is left over; write 'and' or 'or' between two words"),
        ("tool:Run and", "tool:Runn and", "no tool 'Runn'; did you mean Run?"),
        ("tool:Run and", "set:TEEM and", "no variable 'TEEM'; did you mean TEAM?"),
        (" when = \"tool:Run and not dry_run\"", " name = \"rules\", when = \"dry_run\"", "2 rows have this name"),
        ('dry_run = "nothing is written"', 'dry_run = "x"\nloud = "y"', "flag loud: no condition asks for loud"),
        ('TEAM = {', 'CWD = "x"\nTEAM = {', "variable CWD: every preset has this variable; choose another name"),
        ('TEAM = {', 'team = "x"\nTEAM = {', "variable team: a name is capital letters, digits and _, such as"),
        ('default = "us"', 'pace = "turn"',
         "if TEAM is the same from release to release, declare it with pace = 'release'; or set fixed_order = true"),
    ],
)  # fmt: skip
def test_names_and_order(old: str, new: str, problem: str, tmp_path: Path) -> None:
    """Conditions, flags, variables and paces are checked for every row, chosen or not."""
    assert old in TOML
    assert any(problem in found for found in problems(tmp_path, preset_toml=TOML.replace(old, new)))


def test_circles(tmp_path: Path) -> None:
    """A variable whose text leads back to itself is told, however long the way."""
    circle = 'TEAM = { cases = [{ text = "${OTHER}" }] }\nOTHER = { cases = [{ text = "${TEAM}" }] }'
    found = problems(tmp_path, preset_toml=TOML.replace('TEAM = { default = "us" }', circle))
    assert found == [f"variable {name}: its text leads back to itself" for name in ("TEAM", "OTHER")]
