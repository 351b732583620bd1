"""`deepprompt lock`: the file it writes, the review of what has drifted, and what it says when it cannot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.guarded import failure, project, run, wrong

Capture = pytest.CaptureFixture[str]


def test_the_lock_is_written_and_holds(tmp_path: Path, capsys: Capture) -> None:
    """What was locked a moment ago has not drifted, here and in a copy of the project elsewhere."""
    folder = project(tmp_path / "here")
    assert run(capsys, "lock", "--cwd", folder) == "deepprompt.lock: 1 prompt, 12 tokens locked\n"
    lines = (folder / "deepprompt.lock").read_text().split("\n")
    assert lines[3:6] == ["[[prompt]]", 'name = "main"', 'target = "app:prompt"']
    assert lines[7:9] == ["bytes = 48", "tokens = 12"]
    assert lines[10].startswith('  { part = "text", pace = "static", bytes = 48, tokens = 12, sha256 = "')
    shutil.copytree(folder, tmp_path / "there")
    for place in (folder, tmp_path / "there"):
        said = run(capsys, "lock", "--check", "--cwd", place)
        assert said == "deepprompt.lock: 1 prompt is as it was locked (12 tokens)\n"


def test_the_same_prompts_give_the_same_bytes(tmp_path: Path, capsys: Capture) -> None:
    """Locking again changes no byte of the file."""
    folder = project(tmp_path)
    run(capsys, "lock", "--cwd", folder)
    before = (folder / "deepprompt.lock").read_bytes()
    run(capsys, "lock", "--cwd", folder)
    assert (folder / "deepprompt.lock").read_bytes() == before


@pytest.mark.slow
def test_a_review_of_what_has_drifted(tmp_path: Path, capsys: Capture) -> None:
    """Part by part, with the difference in tokens and what the providers' caches make of it."""
    settings = (
        '[tool.deepprompt]\nmodels = ["anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro"]\n'
        "[tool.deepprompt.prompts]\n"
        "main = \"build --preset deepseek@1.1.0 --portable --no-git --home ''\"\n"
    )
    folder = project(tmp_path, settings)
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    run(capsys, "lock", "--cwd", folder)
    (folder / "AGENTS.md").write_text("Use tabs, never blanks.\n")
    (folder / "DEEPSEEK.md").write_text("Be brief.\n")
    said = run(capsys, "lock", "--check", "--cwd", folder, code=1)
    assert said == (
        "main: 2,205 -> 2,215 tokens (+10)\n"
        "  + instructions DEEPSEEK.md (project): +6 tokens\n"
        "  ~ instructions AGENTS.md (project): 6 -> 9 tokens (+3)\n"
        "  the first 2,198 tokens are the same; writing the rest costs more than reading it, by\n"
        "    anthropic claude-opus-5-5: 31 tokens at the input price: 26 to write, 2,189 can be read "
        "(facts of 2026-11-18)\n"
        "    deepseek deepseek-v4-pro: 2,142 tokens at the input price: 2,215 to write, 0 can be read "
        "(facts of 2026-11-18)\n"
        "If that is meant, run 'deepprompt lock' and commit deepprompt.lock.\n"
    )
    report = json.loads(run(capsys, "lock", "--check", "--json", "--cwd", folder, code=1))
    assert [change["change"] for change in report["prompts"][0]["changes"]] == ["+", "~"]
    assert [cost["written"] for cost in report["prompts"][0]["costs"]] == [26, 2215]
    assert not (folder / "deepprompt.lock").read_text().count("DEEPSEEK"), "--check writes nothing"


def test_prompts_come_and_go(tmp_path: Path, capsys: Capture) -> None:
    """A prompt that is not locked yet, and one that the project no longer names."""
    folder = project(tmp_path)
    run(capsys, "lock", "--cwd", folder)
    (folder / "pyproject.toml").write_text('[tool.deepprompt.prompts]\nother = "rules.md"\n')
    said = run(capsys, "lock", "--check", "--cwd", folder, code=1)
    assert said.split("\n")[:2] == ["other: not locked yet", "main: locked, but the project has no such prompt"]
    said = run(capsys, "lock", "--cwd", folder)
    assert said == ("main: locked, but the project has no such prompt\ndeepprompt.lock: 1 prompt, 7 tokens locked\n")


@pytest.mark.slow
def test_named_targets_leave_the_others_alone(tmp_path: Path, capsys: Capture) -> None:
    """Of the prompts in the lock only those that are named are written or checked; a name of the settings is one."""
    folder = project(tmp_path)
    run(capsys, "lock", "--cwd", folder)
    assert run(capsys, "lock", "--cwd", folder, "rules=rules.md") == "deepprompt.lock: 2 prompts, 19 tokens locked\n"
    (folder / "rules.md").write_text("Run the tests with make check, always.\n")
    assert run(capsys, "lock", "--check", "--cwd", folder, "main", code=1).startswith("main: 12 -> 14 tokens (+2)\n")
    assert run(capsys, "lock", "--cwd", folder, "main").startswith(
        "main: 12 -> 14 tokens (+2)\n  ~ text (static): 12 -> 14 tokens (+2)\ndeepprompt.lock: 2 prompts"
    )
    run(capsys, "lock", "--check", "--cwd", folder, "main")
    run(capsys, "lock", "--check", "--cwd", folder, "rules=rules.md", code=1)
    assert "main: named twice" in wrong(capsys, "lock", "--cwd", folder, "main=rules.md", "main=app.py:prompt")
    (folder / "pyproject.toml").unlink()
    said = wrong(capsys, "lock", "--check", "--cwd", folder)
    assert "; deepprompt.lock has rules=rules.md main=app:prompt" in said


def test_only_a_lock_is_replaced(tmp_path: Path, capsys: Capture) -> None:
    """Somebody's notes and the lock of a newer release stay as they are."""
    folder = project(tmp_path)
    (folder / "notes.txt").write_text("Mine.\n")
    said = failure(capsys, "lock", "--cwd", folder, "--lock", "notes.txt")
    assert said == "notes.txt: exists, and is not a lock file; name another with --lock FILE"
    run(capsys, "lock", "--cwd", folder)
    newer = (folder / "deepprompt.lock").read_text().replace("lock = 1", "lock = 2")
    (folder / "deepprompt.lock").write_text(newer)
    assert "a lock of format 2; this release writes and reads 1" in failure(capsys, "lock", "--cwd", folder)
    assert (folder / "deepprompt.lock").read_text() == newer
    assert (folder / "notes.txt").read_text() == "Mine.\n"


@pytest.mark.slow
def test_targets_of_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    """A target with and without a name, and another file for the lock; no configuration is needed."""
    folder = project(tmp_path, "")
    run(capsys, "lock", "--cwd", folder, "--lock", "my.lock", "app:request", "rules=rules.md", "app.py:prompt")
    names = [line for line in (folder / "my.lock").read_text().split("\n") if line.startswith("name")]
    assert names == ['name = "app:request"', 'name = "rules"', 'name = "app.py:prompt"']
    run(
        capsys,
        "lock",
        "--check",
        "--cwd",
        folder,
        "--lock",
        "my.lock",
        "app:request",
        "rules=rules.md",
        "app.py:prompt",
    )


def test_what_cannot_be_locked(tmp_path: Path, capsys: Capture) -> None:
    """No lock, no prompt, no such function, no such file, and a function that fails."""
    folder = project(tmp_path)
    assert failure(capsys, "lock", "--check", "--cwd", folder) == (
        "deepprompt.lock: no such file; write it with 'deepprompt lock', and commit it"
    )
    assert "app:promt: " in failure(capsys, "lock", "--cwd", folder, "app:promt")
    assert failure(capsys, "lock", "--cwd", folder, "absent.md").startswith("absent.md: no such file; a prompt is a")
    said = failure(capsys, "lock", "--cwd", folder, "build --frob")
    assert said == "build --frob: unrecognized arguments: --frob"
    (folder / "bad.json").write_text('{"frob": 1}')
    assert "bad.json: not a request of any provider" in failure(capsys, "lock", "--cwd", folder, "bad.json")
    assert "standard input cannot be locked" in failure(capsys, "lock", "--cwd", folder, "x=-")
    assert failure(capsys, "lock", "--cwd", folder, "app.py") == (
        "app.py: is Python source, not a prompt; name the function, as app.py:function"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "nothing to lock: name a file, module:function" in wrong(capsys, "lock", "--cwd", empty)
    assert not (folder / "deepprompt.lock").exists()


def test_a_lock_that_two_branches_changed(tmp_path: Path, capsys: Capture) -> None:
    """What git could not merge is neither compared nor written over; the message says the way out."""
    folder = project(tmp_path)
    run(capsys, "lock", "--cwd", folder)
    lock = folder / "deepprompt.lock"
    lock.write_text(lock.read_text().replace("bytes = 48", "<<<<<<< main\nbytes = 48\n=======\nbytes = 49\n>>>>>>> a"))
    for arguments in (("lock", "--check"), ("lock",)):
        said = failure(capsys, *arguments, "--cwd", folder)
        assert said.startswith("deepprompt.lock: not a lock file: ")
        assert said.endswith("; restore it, or delete it and run 'deepprompt lock'")
    lock.unlink()
    run(capsys, "lock", "--cwd", folder)
    run(capsys, "lock", "--check", "--cwd", folder)
