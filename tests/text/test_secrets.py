"""Keys in names: what is taken for one, what is not, and that no part of one is anywhere afterwards."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import (
    Note,
    ProjectContext,
    SystemPromptBuilder,
    load_claude_md,
    load_instruction_files,
    load_skills,
    read_git,
)
from deepprompt.errors import SkillError, SourceError
from deepprompt.prompt import sha256_hex
from deepprompt.sources.files import shown_path
from deepprompt.systems import context
from deepprompt.systems.context import forget, render_sections
from deepprompt.text.secrets import find_secrets, redact
from tests.support.examples import examples
from tests.support.keys import KEYS, WORD
from tests.support.layout import lay_out
from tests.support.repositories import commit, git, make_repository

# Addresses, and what is left of them.
ADDRESSES = {
    "https": ("https://bob:hunter2@example.org/x", "https://[redacted: password in an address]@example.org/x"),
    "no-user": ("redis://:hunter2@localhost:6379", "redis://[redacted: password in an address]@localhost:6379"),
    "token": ("https://x-access-token:abc@h", "https://[redacted: password in an address]@h"),
    "port": ("https://bob:hunter2@h:8080/a@b:c", "https://[redacted: password in an address]@h:8080/a@b:c"),
}

ORDINARY = [
    "",
    "main",
    "sk-learn-upgrade-to-new-version",
    "feature/sk-learn-upgrade-to-new-version",
    "task-1234567890-abcdefghijklmnopqrstuvwxyz",
    "task-proj-refactoring-of-the-whole-module",
    "risk-admin-and-a-very-long-name-of-a-branch",
    "desk-live-view-with-many-more-words-in-it",
    "sk-12345",
    "sk-ant-",
    "sk-ant-short",
    "sk-short-and-then-many-words-without-any-key",
    "SK-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ghp_short",
    "graph_abcdefghijklmnopqrstuvwxyz0123456789",
    "ghx_abcdefghijklmnopqrstuvwxyz0123456789",
    "akia0123456789abcdef",
    "AKIASHORT",
    "glpat-short",
    "xoxo-with-love-from-all-of-us",
    "npm_config_registry_and_other_variables_of_npm",
    "hf_hub_download_of_a_large_model_file",
    "pypi-release-automation-with-trusted-publishing",
    "eyJust-a-word.eyJ",
    "eyJhbGciOiJIUzI1NiJ9 and more",
    "-----BEGIN PUBLIC KEY-----MIIB",
    "-----BEGIN CERTIFICATE-----",
    "the PRIVATE KEY of a house",
    "https://example.org:8080/path",
    "https://bob@example.org",
    "git@github.com:owner/name.git",
    "a://b c:d@e",
    "12:30@noon",
    "C:\\Users\\me",
    "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "src/skeleton/desk-lamp.py | 2 +-",
    "größer/日本語/🐘",
    "[redacted: API key]",
]

TEXTS = st.lists(
    st.sampled_from([*"ab1 /:@-_.\n", "sk-", "sk-ant-", "ghp_", "eyJ", ".eyJ", "://", "AKIA", "-----BEGIN ",
                     "PRIVATE KEY-----", WORD, "A" * 20, "[redacted: "]),
    max_size=20,
).map("".join)  # fmt: skip
PLAIN = examples(100)


def digest(key: str) -> str:
    """Return the start of a key's hash, as a note has it."""
    return sha256_hex(key)[:12]


@pytest.mark.parametrize(("kind", "key"), KEYS.values(), ids=KEYS)
def test_a_key_is_written_as_its_kind(kind: str, key: str) -> None:
    """The whole of a key goes, what stands around it stays, and the note has kind, place and the start of its hash."""
    for before, after in (("", ""), ("fix/", ""), ("use ", ", then"), ("_", ":"), ("(", ")"), ("é", "é")):
        notes: list[Note] = []
        assert redact(before + key + after, "git branch", notes) == f"{before}[redacted: {kind}]{after}"
        (note,) = notes
        assert (note.kind, note.source, note.offset, note.count) == ("redacted", "git branch", len(before), 1)
        assert re.fullmatch(rf"{kind}, SHA-256 [0-9a-f]{{12}}", note.detail)


@pytest.mark.parametrize(("kind", "key"), KEYS.values(), ids=KEYS)
def test_the_hash_is_that_of_the_key(kind: str, key: str) -> None:
    """Whoever has the key can find out that it was this one."""
    notes: list[Note] = []
    redact(f"<{key}>", "path", notes)
    assert [note.detail for note in notes] == [f"{kind}, SHA-256 {digest(key)}"]


@pytest.mark.parametrize(("text", "shown"), ADDRESSES.values(), ids=ADDRESSES)
def test_a_password_in_an_address(text: str, shown: str) -> None:
    """User and password go, the address stays."""
    notes: list[Note] = []
    assert redact(text, "git log", notes) == shown
    assert [note.detail.partition(",")[0] for note in notes] == ["password in an address"]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_names_stay(text: str) -> None:
    """What only begins like a key, or has the letters of one in a word, is left alone and not noted."""
    notes: list[Note] = []
    assert redact(text, "s", notes) == text
    assert notes == []


def test_several_keys() -> None:
    """Each key has its own note, in the order of the text."""
    (_, one), (_, two) = KEYS["github-personal"], KEYS["aws"]
    notes: list[Note] = []
    assert redact(f"{one} {two}/{one}", "s", notes) == (
        "[redacted: GitHub token] [redacted: AWS key]/[redacted: GitHub token]"
    )
    assert [(note.offset, note.detail.partition(",")[0]) for note in notes] == [
        (0, "GitHub token"),
        (len(one) + 1, "AWS key"),
        (len(one) + len(two) + 2, "GitHub token"),
    ]


@PLAIN
@given(TEXTS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Nothing that is written in a key's place is taken for another."""
    notes: list[Note] = []
    once = redact(text, "s", notes)
    assert redact(once, "s", []) == once
    assert (once != text) == bool(notes)


@PLAIN
@given(st.sampled_from([key for _, key in KEYS.values()]), TEXTS, TEXTS)
def test_no_note_has_a_part_of_a_key(key: str, before: str, after: str) -> None:
    """A note on any text has nothing of the text in it."""
    notes: list[Note] = []
    redact(f"{before} {key} {after}", "s", notes)
    for note in notes:
        assert re.fullmatch(r"[A-Za-z ]+, SHA-256 [0-9a-f]{12}", note.detail)


def pieces(text: str) -> set[str]:
    """Return every eight characters of a text that stand together."""
    return {text[start : start + 8] for start in range(len(text) - 7)}


def secrets_in(*texts: str) -> list[str]:
    """Return the keys of which eight characters or more are in any of these texts."""
    found = []
    shown = set().union(*map(pieces, texts))
    for _, key in KEYS.values():
        body = key.replace("-----BEGIN", "").replace("-----END", "").replace("PRIVATE KEY-----", "")
        if pieces(body) & shown:
            found.append(key)
    return found


def test_paths() -> None:
    """A path is shown without the keys in it."""
    for kind, key in KEYS.values():
        notes: list[Note] = []
        name = key.replace("\n", "")
        assert secrets_in(shown_path(f"/home/{name}/x", notes)) == []
        assert [note.detail.partition(",")[0] for note in notes] == [kind]


def test_fields_of_a_project() -> None:
    """A branch, a status or a folder that a host passes in itself is redacted when it is shown."""
    for kind, key in KEYS.values():
        notes: list[Note] = []
        project = ProjectContext(cwd=f"/{key}", active_branch=key, git_status=f"?? {key}\n", git_diff=f" {key} | 1 +\n")
        assert secrets_in("".join(render_sections(project, notes))) == []
        assert [note.detail.partition(",")[0] for note in notes if note.kind == "redacted"] == [kind] * 4


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    """A repository with a key in the path to it, its branch, its subjects, its files and its skills."""
    keys = {name: key.replace("\n", "") for name, (_, key) in KEYS.items()}
    cwd = make_repository(tmp_path / keys["gitlab"] / "project")
    git(cwd, "checkout", "--quiet", "-b", f"fix/{keys['github-personal']}")
    commit(cwd, f"use {keys['openai']} and {keys['web-token']}")
    long = f"a/b/c/d/e/f/{keys['anthropic']}.txt"
    commit(cwd, f"use {keys['private-key-of-openssh']}", {long: "1\n", f"{keys['slack-bot']}.txt": "1\n"})
    lay_out(cwd, {long: "2\n", f"{keys['slack-bot']}.txt": "2\n", f"{keys['google']}.txt": "new"})
    lay_out(cwd, {f"skills/{keys['npm']}/SKILL.md": "no heading", "AGENTS.md": b"\xff"})
    lay_out(cwd, {f"skills/linked/{keys['aws']}": ""})
    os.symlink("x", cwd / f"skills/{keys['stripe']}")
    return cwd


def test_no_key_is_in_a_prompt_or_a_note(leaky: Path) -> None:
    """Neither the text of a prompt, nor the names and origins of its parts, nor its notes have a part of a key."""
    skills, snapshot = load_skills(leaky), read_git(leaky)
    project = ProjectContext(str(leaky), "", snapshot.status, snapshot.diff, snapshot.active_branch)
    prompt = SystemPromptBuilder(
        instructions=load_instruction_files(leaky), skill_directory=skills.index_text(), project=project
    ).compose()
    notes = [str(note) for note in (*prompt.notes, *snapshot.notes)]
    shown = [prompt.text, *notes, *(part.name + part.origin for part in prompt.parts), *snapshot.recent_commits]
    assert secrets_in(*shown, *skills.names(), *prompt.digests) == []
    assert any(note.startswith("redacted: ") for note in notes)


def test_names_that_git_abbreviates(leaky: Path) -> None:
    """Where a key is in a changed name, the ends of long names are left out of the diff: one could be a key's."""
    diff = read_git(leaky).diff
    assert re.search(r"^ \.\.\. +\| +2 ", diff, re.MULTILINE)
    assert secrets_in(diff) == []


def test_long_names_are_abbreviated_as_ever(tmp_path: Path) -> None:
    """Without a key the diff is git's own."""
    long = f"a/b/c/{'very-' * 15}long-name.txt"
    cwd = make_repository(tmp_path / "cwd", {long: "1\n"})
    lay_out(cwd, {long: "2\n"})
    assert re.match(r" \.\.\.\S*long-name\.txt \| 2 ", read_git(cwd).diff)


def test_no_key_is_in_an_error(leaky: Path) -> None:
    """Errors that name a path or a skill name it without a key."""
    store = load_skills(leaky)
    for path in leaky.rglob("SKILL.md"):
        path.unlink()
    messages = []
    for name in store.names():
        with pytest.raises(SkillError) as gone:
            store.body(name)
        messages.append(str(gone.value))
    for call in (lambda: read_git(leaky / "none"), lambda: load_claude_md(leaky, leaky / "sub")):
        with pytest.raises(SourceError) as wrong:
            call()
        messages.append(str(wrong.value))
    (leaky / ".git/HEAD").unlink()
    messages += map(str, read_git(leaky).notes)
    assert len(messages) == 4
    assert secrets_in(*messages) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--json"], [], ["--preset", "claude_code"], ["--cwd", "none"]], ids=" ".join)
def test_no_key_is_in_what_the_command_prints(leaky: Path, options: list[str]) -> None:
    """Neither on standard output nor on standard error, nor in the report as JSON."""
    if options[:1] == ["--cwd"]:
        options = ["--cwd", str(leaky / "none")]
    done = subprocess.run(
        [sys.executable, "-m", "deepprompt", "build", "--home", "", *options],
        cwd=leaky,
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == (1 if "--cwd" in options else 0)
    assert secrets_in(done.stdout.decode(), done.stderr.decode()) == []
    if options == ["--json"]:
        kinds = {note["kind"] for note in json.loads(done.stdout)["notes"]}
        assert "redacted" in kinds


@pytest.mark.parametrize("field", ["cwd", "active_branch", "git_status", "git_diff"])
def test_a_context_with_a_key_is_not_remembered(field: str) -> None:
    """Sections that needed no change are remembered; one with a key in it, and the key, are not."""
    key = KEYS["github-personal"][1]
    project = ProjectContext(**{field: f"x/{key}"})  # type: ignore[arg-type]
    forget()

    notes: list[Note] = []
    first = render_sections(project, notes)

    assert [note.kind for note in notes] == ["redacted"]
    caches = (context._project_section, context._status_section, context._diff_section)
    assert sum(cache.cache_info().currsize for cache in caches) == 2
    assert key not in str([gc.get_referents(cache) for cache in caches])
    again: list[Note] = []
    assert (render_sections(project, again), again) == (first, notes)


def test_find_secrets_names_each_key() -> None:
    """Every key is returned with its kind and its exact place, in order."""
    text = "a ghp_0123456789abcdefGHIJ b https://me:secret@host c"
    found = [(kind, text[start:end]) for kind, start, end, _ in find_secrets(text)]
    assert found == [("GitHub token", "ghp_0123456789abcdefGHIJ"), ("password in an address", "me:secret")]
    assert find_secrets("no key") == []
