"""`lint --fix`: what it fixes, what it leaves alone, and what it never writes to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.checks.lint.fixes import fix_text
from deepprompt.cli import main
from tests.support.examples import examples

SAID = (
    "Never write to the production database. If a change of data is needed, write a migration. "
    + "Have it reviewed. " * 2
    + "Go."
)

# A text, what is made of it, and what was fixed.
CASES = {
    "nothing": ("Be kind.\n", "Be kind.\n", {}),
    "byte-order-mark": ("\ufeffBe kind.\n", "Be kind.\n", {"byte order mark": 1}),
    "windows": ("a\r\nb\r\n", "a\nb\n", {"Windows line end": 2}),
    "blanks": ("a \nb\t\n \nc", "a\nb\n\nc", {"line with blanks at its end": 3}),
    "a-line-break": ("a  \nb   \nc", "a  \nb\nc", {"line with blanks at its end": 1}),
    "blanks-in-code": ("```\na \n \n```\nb \n", "```\na \n \n```\nb\n", {"line with blanks at its end": 1}),
    "hidden": ("a\u200b b\u202e\n", "a b\n", {"hidden character": 2}),
    "spelling": ("Silben\u00adtrennung 👩\u200d💻\n", "Silben\u00adtrennung 👩\u200d💻\n", {}),
    "paragraph": (f"{SAID}\n\nA.\n\n{SAID}\n\nB.\n", f"{SAID}\n\nA.\n\nB.\n", {"repeated paragraph": 1}),
    "paragraph-at-the-end": (f"{SAID}\n\nA.\n\n{SAID}\n", f"{SAID}\n\nA.\n", {"repeated paragraph": 1}),
    "paragraph-without-an-end": (f"{SAID}\n\n{SAID}", SAID, {"repeated paragraph": 1}),
    "paragraph-in-code": (f"```\n{SAID}\n\n{SAID}\n```\n", f"```\n{SAID}\n\n{SAID}\n```\n", {}),
}


@pytest.mark.parametrize(("text", "wanted", "fixed"), CASES.values(), ids=CASES)
def test_a_text_is_fixed(text: str, wanted: str, fixed: dict[str, int]) -> None:
    """Only that, and with a second run nothing more."""
    assert fix_text(text) == (wanted, fixed)
    assert fix_text(wanted) == (wanted, {})


@given(st.text(st.sampled_from("ab .\n\r\t`#-\u200b\ufeff" + SAID[:3]), max_size=300))
@examples(200)
def test_the_words_stay(text: str) -> None:
    """Whatever the text, no visible character is lost but of a repeated paragraph, and nothing is left to fix."""
    new, done = fix_text(text)
    visible = [[one for one in side if not one.isspace() and one not in "\u200b\ufeff"] for side in (text, new)]
    if not done["repeated paragraph"]:
        assert visible[0] == visible[1]
    again, _ = fix_text(new)
    assert fix_text(again)[0] == again


def test_files_are_fixed_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With their mode, and nothing beside them; a file that cannot be fixed is reported and left alone."""
    file = tmp_path / "AGENTS.md"
    file.write_bytes(b"Be kind. \r\n")
    file.chmod(0o640)
    (tmp_path / "latin.md").write_bytes(b"caf\xe9 \n")
    (tmp_path / "data.json").write_bytes(b"{} \r\n")
    assert main(["lint", "--cwd", str(tmp_path), "--fix", "."]) == 0
    said = capsys.readouterr().err
    assert "AGENTS.md: fixed: 1 Windows line end, 1 line with blanks at its end" in said
    assert "latin.md: not fixed: not UTF-8" in said
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"Be kind.\n", 0o640)
    assert (tmp_path / "latin.md").read_bytes() == b"caf\xe9 \n"
    assert sorted(os.listdir(tmp_path)) == ["AGENTS.md", "data.json", "latin.md"]


def test_no_link_is_written_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a link to a file nor one to a folder on the way: what it leads to is not the project's."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside):
        folder.mkdir()
    (outside / "a.md").write_text("Be kind. \n")
    (inside / "link.md").symlink_to(outside / "a.md")
    (inside / "folder").symlink_to(outside)
    for target in ("link.md", "folder/a.md", "."):
        main(["lint", "--cwd", str(inside), "--fix", target])
        assert (outside / "a.md").read_text() == "Be kind. \n"
    assert "is a link, and nothing is written through it" in capsys.readouterr().err


@pytest.mark.parametrize(("target", "times", "left"), [("AGENTS.md", 1, 1), (".", 1, 2), (".", 3, 1)])
def test_only_what_lint_reports_is_removed(target: str, times: int, left: int, tmp_path: Path) -> None:
    """A short paragraph may end each section of a file that was found in a folder: --fix leaves it, as lint does."""
    passage = " ".join([SAID] * times)
    file = tmp_path / "AGENTS.md"
    file.write_text(f"# A\n\n{passage}\n\n# B\n\n{passage}\n\nC.\n")
    found = main(["lint", "--cwd", str(tmp_path), "--isolated", target])
    assert found == (1 if left == 1 else 0)
    main(["lint", "--cwd", str(tmp_path), "--isolated", "--fix", target])
    assert file.read_text().count(passage) == left
