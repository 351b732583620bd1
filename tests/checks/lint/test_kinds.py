"""Which files of a folder are prompts, which a tool reads, and which are only documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.checks.lint.kinds import is_repository, is_sent_whole, kind_of
from deepprompt.cli import main

ROLE = "You are a careful agent.\n"
PLAIN = "# Notes\n\nSome text.\n"

# A path, a text, and what it is in a folder that has prompts.
KINDS: dict[str, tuple[str, str, str]] = {
    "an instruction file": ("AGENTS.md", PLAIN, "prompt"),
    "a nested one": ("packages/api/CLAUDE.md", PLAIN, "prompt"),
    "an instruction file of tests": ("tests/AGENTS.md", PLAIN, "prompt"),
    "a skill in a record's folder": (".claude/skills/sessions/SKILL.md", PLAIN, "prompt"),
    "a rule": (".cursor/rules/style.mdc", PLAIN, "prompt"),
    "a command": (".claude/commands/plan.md", PLAIN, "prompt"),
    "a text in a folder of prompts": ("src/prompts/intro.txt", PLAIN, "prompt"),
    "Windows' separators": ("src\\prompts\\intro.txt", PLAIN, "prompt"),
    "a text that says who the model is": ("src/texts/intro.md", ROLE, "prompt"),
    "the reference of a skill": ("skills/deploy/references/api.md", PLAIN, "reference"),
    "the reference of a skill with a folder of docs": ("skills/deploy/docs/api.md", PLAIN, "reference"),
    "a text beside an agent's settings": (".claude/EXECUTE.md", PLAIN, "reference"),
    "a page": ("docs/guide.md", PLAIN, "document"),
    "a page that quotes a prompt": ("docs/guide.md", ROLE, "document"),
    "a plan": ("docs/plans/2026-11-01-thing.md", ROLE, "document"),
    "a plan of an agent": (".claude/plans/thing.md", ROLE, "document"),
    "a recorded chat": ("agents/one/chat.md", ROLE, "document"),
    "a recorded session": (".agents/archive/sessions/3.md", ROLE, "document"),
    "a prompt with a date at its end": ("prompts/helper_05132024.md", ROLE, "document"),
    "a dated prompt": ("prompts/202611/freeze.md", ROLE, "document"),
    "a readme of skills": ("skills/README.md", PLAIN, "document"),
    "an example": ("skills/deploy/examples.md", PLAIN, "document"),
    "anything else": ("src/notes.md", PLAIN, "document"),
    "the readme of agents": (".claude/agents/README.md", ROLE, "document"),
    "instructions inside of a skill": (".claude/skills/react/AGENTS.md", PLAIN, "reference"),
    "a sample of a prompt": ("flows/prompts/samples/one.md", PLAIN, "document"),
    "a question that was asked": (".gemini/.question.txt", PLAIN, "output"),
    "the answer to it": (".gemini/.answer.md", PLAIN, "document"),
    "what a program printed": ("build_log.txt", PLAIN, "output"),
    "a list of packages": ("requirements.txt", PLAIN, "output"),
    "a prompt without markup": ("prompts/system.txt", PLAIN, "prompt"),
}


@pytest.mark.parametrize(("path", "text", "wanted"), KINDS.values(), ids=KINDS)
def test_a_file_of_a_folder_has_a_kind(path: str, text: str, wanted: str) -> None:
    """By its name, its folder, or how it begins."""
    assert kind_of(path, text) == wanted


def test_a_folder_of_parts_has_no_known_prompt() -> None:
    """Then every text in it counts."""
    assert not is_repository(["intro.md", "tools.txt", "notes/3.md"])
    assert is_repository(["intro.md", "AGENTS.md"])
    assert is_repository(["intro.md", "README.md"])
    assert is_repository(["skills/a/reference.md"])


def test_the_folder_that_was_named_makes_no_document() -> None:
    """Folders below it do."""
    assert not is_repository(["docs/a.md", "docs/b.md"], "docs")
    assert kind_of("docs/a.md", ROLE, "docs") == "prompt"
    assert kind_of("docs/docs/a.md", ROLE, "docs") == "document"
    assert kind_of("tests/prompts/a.md", PLAIN, "tests") == "prompt"


def test_output_of_programs_is_searched_for_keys_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text without markup counts as a prompt in a repository only if it is one."""
    for name in ("AGENTS.md", "build.txt", "prompts/system.txt", "tail.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{ROLE if name == 'tail.txt' else ''}a\u202eb\npassword: OqkVCJTBJahe84\n")
    prompts = {(code, name) for code in ("DP302", "DP501") for name in ("AGENTS.md", "prompts/system.txt", "tail.txt")}
    assert found(tmp_path, capsys) == {*prompts, ("DP501", "build.txt")}


# A text of a document, and whether something in it hides.
SHOWN = {
    "the colors of a terminal": ("a \x1b[32mgreen\x1b[0m line", False),
    "a lost letter": ("scripts\x08uild.bat", False),
    "one character between quotes": ("the file begins with `\ufeff`", False),
    "one in a word": ("pass\u200bword", False),
    "two side by side": ("\u200b\u200bword", False),
    "three side by side": ("\u200b\u200c\u200bword", True),
    "hidden text": ("hello \U000e0041\U000e0042\U000e0043\U000e0044", True),
}


@pytest.mark.parametrize(("text", "hides"), SHOWN.values(), ids=SHOWN)
def test_a_document_may_show_control_characters(
    text: str, hides: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What hides text from a reader is found in it; a prompt has no use for any of them."""
    (tmp_path / "AGENTS.md").write_text(f"{text}\n")
    (tmp_path / "NEWS.md").write_text(f"# News\n\n{text}\n")
    wanted = {("DP301", "AGENTS.md"), ("DP301", "NEWS.md")} if hides else {("DP301", "AGENTS.md")}
    assert found(tmp_path, capsys) == wanted


MOVING = "Today's date is 2026-11-16.\nThe server's notes are in /home/eve/notes.\n"


def found(folder: Path, capsys: pytest.CaptureFixture[str]) -> set[tuple[str, str]]:
    """Return the code and the file of each finding of `lint FOLDER`."""
    main(["lint", "--cwd", str(folder), "--isolated", "--json", "."])
    return {(one["code"], one["place"]) for one in json.loads(capsys.readouterr().out)["findings"]}


def test_only_prompts_are_searched_for_moving_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reference may say when it was written, but not where one user keeps things; a document may say both."""
    names = ("AGENTS.md", "skills/a/reference.md", "docs/guide.md", "agents/one/chat.md")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MOVING)
    assert found(tmp_path, capsys) == {
        ("DP101", "AGENTS.md"),
        ("DP104", "AGENTS.md"),
        ("DP104", "skills/a/reference.md"),
    }


def test_a_folder_of_parts_is_searched_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file that is known as a prompt, all of them are."""
    (tmp_path / "facts.md").write_text(MOVING)
    assert found(tmp_path, capsys) == {("DP101", "facts.md"), ("DP104", "facts.md")}


def test_hidden_text_and_keys_are_found_in_documents_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that reads a document with a tool sees them."""
    (tmp_path / "AGENTS.md").write_text("Run the tests.\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("a\u202eb\npassword: OqkVCJTBJahe84\n")
    assert found(tmp_path, capsys) == {("DP302", "docs/guide.md"), ("DP501", "docs/guide.md")}


def test_what_tests_are_fed_with_is_not_linted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is what macOS puts beside files in an archive."""
    for name in ("AGENTS.md", "tests/fixtures/AGENTS.md", "._AGENTS.md", "__MACOSX/AGENTS.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MOVING if name == "AGENTS.md" else f"{MOVING}\u202e\n")
    assert {place for _, place in found(tmp_path, capsys)} == {"AGENTS.md"}


@pytest.mark.parametrize("name", ["AGENTS.md", "a/CLAUDE.local.md", ".cursorrules", "x.prompt.md"])
def test_files_that_agents_send_whole(name: str) -> None:
    """They are known by their names."""
    assert is_sent_whole(name)
