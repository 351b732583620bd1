"""The pieces of a preset as values: what a file's text is, and that nothing changes once it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.catalog import bundled, from_folder
from deepprompt.prompt import Pace
from deepprompt.systems.rows import BUILT_IN, LISTS, File, Row, Variable
from tests.support.layout import lay_out


@pytest.mark.parametrize(
    ("data", "stripped", "kept"),
    [
        (b"One.\n", "One.", "One.\n"),
        (b"One.\n\n", "One.\n", "One.\n\n"),
        (b"One.", "One.", "One."),
        (b"\xef\xbb\xbfOne.\r\nTwo.\r\n", "One.\nTwo.", "One.\nTwo.\n"),
        (b"", "", ""),
    ],
)
def test_the_text_of_a_file(data: bytes, stripped: str, kept: str, tmp_path: Path) -> None:
    """One final newline is dropped unless the preset keeps it; a BOM and a checkout's CRLF never reach the prompt."""
    catalog = from_folder(lay_out(tmp_path, {"own/1.0/one.md": data}))
    file = File(catalog, "own", "1.0", "one.md")
    assert (file.text, file.but(keeps_newline=True).text) == (stripped, kept)


def test_a_bundled_file_is_not_changed() -> None:
    """The bytes of a bundled file are checked against the manifest and sent as they are."""
    file = File(bundled(), "base", "1.0.0", "style.md", keeps_newline=True)
    assert file.text == bundled().text("base", "1.0.0", "style")
    assert (file.name, file.origin) == ("style", "deepprompt:base/1.0.0/style.md")


def test_values_never_change() -> None:
    """A field cannot be assigned; `but` makes a copy and leaves the original alone."""
    row = Row("part", "rules")
    with pytest.raises(AttributeError, match="Row never changes; make another"):
        row.when = "dry_run"  # type: ignore[misc]
    other = row.but(when="dry_run", pace=Pace.TURN)
    assert (row.when, row.pace, other.when, other.pace, other.name) == (
        "always", Pace.RELEASE, "dry_run", Pace.TURN, "rules",
    )  # fmt: skip
    assert repr(Variable("TEAM", about="who decides")) == "Variable(name='TEAM', about='who decides')"


def test_files_by_role() -> None:
    """A row has its files by role, and all of them can be replaced at once."""
    frame, item = (File(bundled(), "slots", "1.0.0", f"{name}.md") for name in ("skills", "skill"))
    row = Row("each", "skills", "skills", files=(("frame", frame), ("item", item)))
    assert (row.file("item"), row.file("end")) == (item, None)
    swapped = row.with_files(lambda file: file.but(path=f"other/{file.path}"))
    assert [(role, file.path) for role, file in swapped.files] == [
        ("frame", "other/skills.md"), ("item", "other/skill.md"),
    ]  # fmt: skip
    assert [file.path for _, file in row.files] == ["skills.md", "skill.md"]
    plain = Row("text", "brief", "Be brief.")
    assert plain.with_files(lambda file: file) is plain


def test_what_every_preset_has() -> None:
    """No built-in variable has the name of a field of a list: inside an item, the field would hide it."""
    fields = {field for _, names in LISTS.values() for field in names}
    assert {*BUILT_IN} & fields == set()
