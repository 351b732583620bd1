"""Faults: every call that a loader makes to the system fails once, in each of six ways.

What comes of it is what could still be loaded, whole, and a note on what could not: no other exception than ours where
one is documented, no waiting, nothing half, and no descriptor left open. A file that the system says is not there is
one that is not there, and needs no note.
"""

from __future__ import annotations

import builtins
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    AuditLog,
    DeepPromptError,
    Note,
    PromptAssembler,
    SystemPromptBuilder,
    discover_project_context,
    load_instruction_files,
    load_preset,
    load_skills,
    read_git,
)
from deepprompt.errors import AuditError, PromptAssemblyError, SkillError, SourceError
from deepprompt.prompt import sha256_hex
from deepprompt.sources.claude_md import load_claude_md
from deepprompt.sources.git import process as process_module
from deepprompt.sources.git import run as run_module
from deepprompt.sources.git import snapshot as git_module
from tests.support.hostile.properties import assert_neutral, assert_sound
from tests.support.layout import lay_out
from tests.support.repositories import make_repository

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and descriptors")]

ERRORS = (errno.ENOENT, errno.EACCES, errno.ELOOP, errno.EIO, errno.EMFILE, errno.EINTR)
CALLS = (
    "open", "read", "stat", "lstat", "fstat", "readlink", "scandir", "listdir", "close", "getcwd", "mkdir", "unlink",
    "rmdir", "utime", "uname", "access",
)  # fmt: skip
# Whose calls count: ours, and those that are made for us by the functions on paths.
CALLERS = ("deepprompt.", "posixpath", "genericpath", "os")


@dataclass
class Fault:
    """The call that fails, counted from the first, and how; what was called is written down."""

    at: int
    error: int
    calls: list[str]

    @property
    def failed(self) -> str:
        """The call that failed, "" if there were fewer."""
        return self.calls[self.at] if 0 <= self.at < len(self.calls) else ""

    def strike(self, name: str) -> None:
        """Count a call, and fail it if it is its turn."""
        self.calls.append(name)
        if len(self.calls) - 1 == self.at:
            raise OSError(self.error, os.strerror(self.error))


class Listing:
    """The entries of a folder, of which the next may fail."""

    def __init__(self, entries: Any, made: Fault) -> None:
        self.entries = entries
        self.made = made

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.entries.close()

    def __iter__(self) -> Listing:
        return self

    def __next__(self) -> Any:
        self.made.strike("next entry")
        return next(self.entries)

    def close(self) -> None:
        """Close the listing."""
        self.entries.close()


@contextmanager
def fault(at: int, error: int, module: str = "") -> Iterator[Fault]:
    """While it lasts, one call to the system fails, made by a module or by any of ours."""
    made = Fault(at, error, [])

    def counts() -> bool:
        caller = str(sys._getframe(2).f_globals.get("__name__", ""))
        return caller.startswith(module) if module else caller.startswith(CALLERS)

    def failing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if not counts():
                return real(*arguments, **named)
            if name == "close":  # as the system has it: closed, whatever it says
                real(*arguments)
                return made.strike(name)
            made.strike(name)
            result = real(*arguments, **named)
            return Listing(result, made) if name == "scandir" else result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, failing(name, getattr(os, name)))
        patch.setattr(builtins, "open", failing("open()", builtins.open))
        yield made


def descriptors() -> set[str]:
    """The descriptors that are open."""
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


Found = tuple[dict[str, str], tuple[Note, ...]]


def every_fault(
    load: Callable[[], Found], allowed: type[DeepPromptError] | None = None, module: str = "", *, in_turn: bool = False
) -> int:
    """Let each call of a loader fail in each way, and hold what it returns to the laws; return how many there were.

    With `in_turn` each call fails in one way, the first in the first, the second in the second, and so on.
    """
    whole, usual = load()
    assert whole
    runs = 0
    for way in ERRORS[:1] if in_turn else ERRORS:
        at = 0
        while True:
            error = ERRORS[at % len(ERRORS)] if in_turn else way
            before = descriptors()
            start = time.monotonic()
            with fault(at, error, module) as made:
                try:
                    found, notes = load()
                except DeepPromptError as raised:
                    assert allowed is not None, (made.failed, error, raised)
                    assert isinstance(raised, allowed)
                    assert_neutral(str(raised))
                    found, notes = {}, ()
                    noted = True
                else:
                    noted = bool(set(notes) - set(usual))
            assert time.monotonic() - start < 5, (made.failed, error)
            assert descriptors() == before, (made.failed, error)
            where = (made.failed, os.strerror(error), at, made.calls[max(0, at - 3) : at + 1])
            for name, text in found.items():
                assert whole.get(name) == text, where  # whole, or not at all
            for note in notes:
                assert_neutral(str(note))
            if error != errno.ENOENT:
                assert noted or set(found) == set(whole), where
            if at >= len(made.calls):
                break
            at += 1
            runs += 1
    return runs


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project with every source, some through links, and a home that has some too."""
    lay_out(
        tmp_path / "home",
        {
            "DEEPSEEK.md": "home",
            "AGENTS.md": "home",
            ".deepseek/instructions.md": "home",
            "skills/h/SKILL.md": "# h\nH",
        },
    )
    cwd = make_repository(tmp_path / "cwd")
    lay_out(
        cwd,
        {
            "docs/agents.md": "agents",
            "DEEPSEEK.md": "deepseek",
            ".deepseek/skills/a/SKILL.md": "# a\nA",
            "skills/deep/b/SKILL.md": "---\nname: b\n---\nB",
            "CLAUDE.md": "top",
            "sub/.claude/CLAUDE.md": "settings",
            "sub/CLAUDE.local.md": "local",
            "a.txt": "changed\n",
        },
    )
    (cwd / "AGENTS.md").symlink_to("docs/agents.md")
    (cwd / "sub/CLAUDE.md").symlink_to("../docs/agents.md")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    git_module._known.cache_clear()
    return cwd


def instructions(cwd: Path) -> Found:
    """Load the instruction files: each as it is shown, by its name; whose it is may change with a fault."""
    files = load_instruction_files(cwd, cwd.parent / "home")
    return {file.path: file.content for file in files}, files.notes


@pytest.mark.parametrize("name", ["cwd", "linked"])
def test_instruction_files(cwd: Path, name: str) -> None:
    """A file that cannot be read is left out with a note; home's takes its place, whole."""
    (cwd.parent / "linked").symlink_to("cwd")
    cwd = cwd.parent / name
    (cwd / "AGENTS.md").unlink()
    home = {
        str(cwd.parent / "home" / name): "home" for name in ("DEEPSEEK.md", "AGENTS.md", ".deepseek/instructions.md")
    }

    def load() -> Found:
        found, notes = instructions(cwd)
        for path, text in home.items():
            assert found.pop(path, text) == text
        return found, notes

    assert every_fault(load) > 100
    (cwd / "AGENTS.md").symlink_to("docs/agents.md")
    assert every_fault(load) > 100


@pytest.mark.parametrize("name", ["cwd", "linked"])
def test_skills(cwd: Path, name: str) -> None:
    """A skill or a folder that cannot be read is left out with a note."""
    (cwd.parent / "linked").symlink_to("cwd")

    def load() -> Found:
        store = load_skills(cwd.parent / name, cwd.parent / "home")
        return {skill.path: skill.index_line() for skill in store.skills}, store.notes

    assert every_fault(load) > 100


def test_bodies_of_skills(cwd: Path) -> None:
    """A body that cannot be read is an error that says so, never half a body."""
    store = load_skills(cwd)
    bodies = {name: store.body(name) for name in store.names()}
    assert bodies == {"a": "# a\nA", "b": "B"}
    for name in bodies:
        assert every_fault(lambda name=name: ({name: store.body(name)}, ()), SkillError) > 20  # type: ignore[misc]


def test_claude_md(cwd: Path) -> None:
    """A file that cannot be read is left out with a note, and no fault makes it look above the repository's top."""
    lay_out(cwd.parent, {"CLAUDE.md": "above"})

    def load() -> Found:
        text = load_claude_md(cwd / "sub")
        assert "above" not in text
        return {piece: piece for piece in text.split("\n\n---\n\n") if piece}, text.notes

    assert set(load()[0]) == {"agents", "settings", "local", "top"}
    assert every_fault(load) > 100


def test_claude_md_where_the_folder_is_gone(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder of a process whose own is gone is an error of ours."""
    gone = cwd / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for folder in (".", "x"):
        with pytest.raises(SourceError, match=f"^load_claude_md: cwd '{folder}' cannot be used: No such file"):
            load_claude_md(folder)
        assert load_instruction_files(folder) == []
        assert load_skills(folder).skills == ()


def snapshot(cwd: Path) -> Found:
    """Read git, as if it had never been read: each field by its name."""
    git_module._known.cache_clear()
    found = read_git(cwd)
    fields = {
        "status": found.status,
        "diff": found.diff,
        "branch": found.active_branch,
        "commits": "\n".join(found.recent_commits),
    }
    return {name: text for name, text in fields.items() if text}, found.notes


@pytest.fixture
def canned(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let git's programs say what they said before, without running them."""
    real = process_module.run_side_by_side
    said: dict[tuple[str, ...], bytes | None] = {}

    def say(commands: list[tuple[str, ...]], **named: Any) -> list[bytes | None]:
        missing = [command for command in commands if tuple(command) not in said]
        if missing:
            said.update(zip(map(tuple, missing), real(missing, **named), strict=True))
        return [said[tuple(command)] for command in commands]

    monkeypatch.setattr(run_module, "run_side_by_side", say)
    return cwd


def test_git(canned: Path) -> None:
    """A repository of which anything cannot be read gives what is whole, or nothing, and a note."""
    temporary = canned.parent / "temporary"

    def load() -> Found:
        for folder in temporary.iterdir():  # left by the fault before this one
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()
        return snapshot(canned)

    assert set(load()[0]) == {"status", "diff", "branch", "commits"}
    assert every_fault(load, SourceError) > 200


def test_git_leaves_no_folder(canned: Path) -> None:
    """Whatever fails while the private folder is made, it is removed again."""
    temporary = canned.parent / "temporary"
    for error in (errno.EIO, errno.EACCES):
        for at in range(1_000):
            with fault(at, error) as made, suppress(SourceError):
                snapshot(canned)
            if made.failed in ("scandir", "next entry", "unlink", "rmdir", "close"):
                for folder in temporary.iterdir():
                    os.system(f"rm -rf {folder}")
            assert os.listdir(temporary) == [], made.calls[at - 3 : at + 1]
            if at >= len(made.calls):
                break


def test_git_programs(cwd: Path) -> None:
    """A pipe that cannot be read costs what it would have said, and there is a note."""
    assert every_fault(lambda: snapshot(cwd), module=process_module.__name__) > 10


def test_project_context(cwd: Path) -> None:
    """What the system does not say is `unknown`."""
    with fault(0, errno.EIO) as made:
        project = discover_project_context(cwd)
    assert made.failed == "uname"
    assert project == replace(discover_project_context(cwd), os_version="unknown")


def test_whole_prompt(canned: Path) -> None:
    """Whatever fails once, there is a prompt of all the rest, and a note on what is missing."""
    home = canned.parent / "home"

    def load() -> Found:
        skills = load_skills(canned, home)
        git_module._known.cache_clear()
        try:
            git = read_git(canned)
        except SourceError as error:  # the folder is not one, says the system
            git = git_module.GitSnapshot(notes=(Note("skipped", "git", str(error)),))
        project = replace(
            discover_project_context(canned),
            active_branch=git.active_branch,
            git_status=git.status,
            git_diff=git.diff,
            os_version="",
        )
        files = load_instruction_files(canned, home)
        prompt = SystemPromptBuilder(instructions=files, skill_directory=skills.index_text(), project=project).compose()
        assert_sound(prompt)
        found = {file.path: file.content for file in files if "home" not in file.path}
        found |= {skill.path: skill.index_line() for skill in skills.skills}
        found |= {name: text for name, text in (("status", git.status), ("branch", git.active_branch)) if text}
        return found, (*prompt.notes, *skills.notes, *git.notes)

    assert every_fault(load, in_turn=True) > 200
    os.system(f"rm -rf {canned.parent}/temporary/*")


def test_templates(cwd: Path) -> None:
    """A template or an include that cannot be read is an error by file and line, never half a prompt."""
    lay_out(cwd, {"t.txt": "x\n$$include docs/agents.md\n$$include AGENTS.md\n"})

    def load() -> Found:
        content = PromptAssembler(str(cwd)).assemble("t", {}).content
        return {"t": sha256_hex(content)}, ()

    assert every_fault(load, PromptAssemblyError) > 50


PRESET = 'format = 1\nrows = [{ part = "one" }]\n'


def test_catalogues(cwd: Path) -> None:
    """A part that cannot be read is an error that names it, never an empty one."""
    lay_out(cwd / "parts", {"f/1.0/preset.toml": PRESET, "f/1.0/one.md": "One.\n"})

    def load() -> Found:
        return {part.name: part.text for part in load_preset("f", cwd / "parts").compose().parts}, ()

    assert every_fault(load, DeepPromptError) > 50


def test_logs(cwd: Path) -> None:
    """A record that cannot be written is an error of ours, and the log has whole records only."""
    lay_out(cwd, {"t.txt": "x\n"})
    assembled = PromptAssembler(str(cwd)).assemble("t", {}, "id")
    log = cwd.parent / "log"
    for prompts in ("inline", "by-hash"):

        def load(prompts: str = prompts) -> Found:
            AuditLog(str(log), prompts=prompts).append(assembled)
            return {"log": "logged"}, ()

        assert every_fault(load, AuditError) > 10
    assert all(line.startswith(b"{") and line.endswith(b"}") for line in log.read_bytes().split(b"\n")[:-1])
