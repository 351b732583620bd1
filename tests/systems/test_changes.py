"""Changes of an extension, one verb at a time, and the wording of one preset in the layout of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.errors import PresetError, UnknownPartError
from deepprompt.prompt import Pace
from deepprompt.systems.changes import every_file, files_of, with_wording
from deepprompt.systems.presets import Preset, load_preset
from tests.support.layout import lay_out

PARENT = """\
format = 1
rows = [
  { part = "a" }, { part = "b", when = "list:mcp" }, { slot = "append" }, { boundary = true }, { slot = "project" },
]
"""
FILES: dict[str, str | bytes] = {
    "parent/1.0/preset.toml": PARENT, "parent/1.0/a.md": "A.\n", "parent/1.0/b.md": "B.\n",
    "own/1.0/c.md": "C.\n",
}  # fmt: skip


def own(root: Path, changes: str, **parts: str) -> Preset:
    """Load an extension of the parent that has the part `c`."""
    files: dict[str, str | bytes] = {f"own/1.0/{name}.md": text for name, text in parts.items()}
    toml = f'format = 1\nextends = "parent"\nchanges = [{changes}]\n'
    return load_preset("own", lay_out(root, {**FILES, **files, "own/1.0/preset.toml": toml}))


ADD = '{ add = "c" }'


@pytest.mark.parametrize(
    ("changes", "order"),
    [
        (ADD, "a b c append boundary project"),
        ('{ add = "c", before = "a" }', "c a b append boundary project"),
        ('{ add = "c", after = "a" }', "a c b append boundary project"),
        ('{ add = { part = "c", name = "d" }, after = "b" }', "a b d append boundary project"),
        (f'{ADD}, {{ remove = "b" }}', "a c append boundary project"),
        (f'{ADD}, {{ move = "c", before = "b" }}', "a c b append boundary project"),
        (f'{ADD}, {{ move = "a", after = "c" }}', "b c a append boundary project"),
    ],
)
def test_order(changes: str, order: str, tmp_path: Path) -> None:
    """Changes apply in their order. A row that is added without a place stands at the end of the prefix."""
    assert [row.name for row in own(tmp_path, changes).rows] == order.split()


def test_replace(tmp_path: Path) -> None:
    """A replaced row keeps its place, condition and pace, and has the text of the extension."""
    preset = own(tmp_path, f'{{ replace = "b" }}, {ADD}', b="Mine.\n")
    row = preset.rows[1]
    file = row.file("part")
    assert file is not None
    assert (row.name, row.when, row.pace, file.text) == ("b", "list:mcp", Pace.RELEASE, "Mine.")
    assert file.origin == f"{tmp_path}:own/1.0/b.md"


def test_set(tmp_path: Path) -> None:
    """Condition, pace and separator of a row can be set, and what is not named stays."""
    rows = {row.name: row for row in own(tmp_path, f'{ADD}, {{ set = "b", before = "" }}').rows}
    assert (rows["b"].when, rows["b"].before) == ("list:mcp", "")
    rows = {row.name: row for row in own(tmp_path / "x", f'{ADD}, {{ set = "b", when = "always" }}').rows}
    assert (rows["b"].when, rows["b"].before) == ("always", None)


def test_every_wrong_change_is_told(tmp_path: Path) -> None:
    """A change that cannot be made is a problem with its number, and the others still apply."""
    wrong = (
        f'{ADD}, {{}}, {{ remove = "a", move = "b" }}, {{ remove = "aa" }}, {{ move = "a" }}, '
        '{ set = "a", wen = "x" }, { replace = "e" }, { add = "c", name = "f", befor = "a" }'
    )
    with pytest.raises(PresetError) as caught:
        own(tmp_path, wrong)
    place = f"{tmp_path}:own/1.0/preset.toml: "
    assert [problem.removeprefix(place) for problem in caught.value.problems] == [
        "change 2: a change has one of add, replace, remove, move, set",
        "change 3: a change has one of add, replace, remove, move, set",
        "change 4: no row 'aa'; there are: a, b, c, append, boundary, project",
        "change 5: give one of before and after, the name of a row",
        "change 6: no key 'wen' here; there are: set, when, pace, before",
        "change 7: nothing to replace is called 'e'; there are: b, c, a",
        "change 8: no key 'befor' here; there are: name, when, pace, from, frame, item, between, end, raw, limit, "
        "more, requires",
    ]


def test_wording_in_another_layout() -> None:
    """The parts of one preset stand in the layout of another, joined as their own preset joins them."""
    layout, wording = load_preset("deepseek@1.0.0"), load_preset("coder@1.0.0")
    preset = with_wording(layout, wording)
    assert [row.name for row in preset.rows if row.kind not in ("part", "text")] == [
        "instructions", "skills", "append", "boundary", "project",
    ]  # fmt: skip
    assert preset.compose().static_prefix == wording.compose().static_prefix
    with pytest.raises(UnknownPartError, match=r"coder@1\.0\.0 has no wording"):
        with_wording(layout, wording.but(rows=wording.rows[-1:]))


def test_files() -> None:
    """Every file of a preset is found once by its path: of rows, cases, tools, agents and reminders."""
    preset = load_preset("claude_code@2.1.37")
    names = {*files_of(preset)}
    assert {"main", "focus_style", "tools/Bash", "tools/Bash.json", "agents/task", "reminders/date_changed"} <= names
    assert len(every_file(preset)) >= len(names) > 90
