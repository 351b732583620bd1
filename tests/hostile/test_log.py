"""L: a log that others could read, redirect or break, and keys that should be in no log, no prompt and no message."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deepprompt import (
    AuditLog,
    DeepPromptError,
    ProjectContext,
    PromptAssembler,
    SystemPromptBuilder,
    load_skills,
    read_git,
)
from deepprompt.errors import AuditError, SkillError
from deepprompt.prompt import sha256_hex
from deepprompt.sources.files import shown_path
from deepprompt.systems.audit import prompts_folder, read_log, record_of
from deepprompt.systems.template import AssembledPrompt
from tests.support.hostile.doors import gathered, reported, run
from tests.support.keys import FORMATS, HEX, drawn
from tests.support.layout import lay_out
from tests.support.repositories import commit, git, make_repository

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and modes")

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a template and an include."""
    return lay_out(tmp_path / "root", {"t.txt": "x\n$$include a\n", "a": "text"})


def assembled(root: Path, correlation_id: str = "id") -> AssembledPrompt:
    """The prompt of t."""
    return PromptAssembler(str(root)).assemble("t", {}, correlation_id, now=NOW)


@pytest.mark.parametrize("prompts", ["inline", "by-hash"])
def test_l01_modes_without_a_umask(root: Path, tmp_path: Path, prompts: str) -> None:
    """Whatever the umask lets through, log, texts and the folders made for them are their owner's alone."""
    log = tmp_path / "deep/er/log"
    before = os.umask(0)
    try:
        AuditLog(str(log), prompts=prompts).append(assembled(root))
    finally:
        os.umask(before)
    for path in (log.parent.parent, log.parent, *log.parent.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("target", ["victim", "missing", "/dev/null"])
def test_l02_log_that_is_a_link(root: Path, tmp_path: Path, target: str) -> None:
    """A link is not written through, wherever it leads."""
    (tmp_path / "victim").write_text("mine")
    os.symlink(target, tmp_path / "log")
    with pytest.raises(AuditError, match="the prompt was not logged"):
        AuditLog(str(tmp_path / "log")).append(assembled(root))
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (tmp_path / "missing").exists()


def test_l02_folder_of_texts_that_is_a_link(root: Path, tmp_path: Path) -> None:
    """Nor is a text stored through a link, and then there is no record of it either."""
    (tmp_path / "elsewhere").mkdir()
    os.symlink("elsewhere", prompts_folder(str(tmp_path / "log")))
    with pytest.raises(AuditError, match="texts are stored in a folder of your own, not through a link"):
        AuditLog(str(tmp_path / "log"), prompts="by-hash").append(assembled(root))
    assert os.listdir(tmp_path / "elsewhere") == []
    assert not (tmp_path / "log").exists()


def test_l02_text_that_is_a_link(root: Path, tmp_path: Path) -> None:
    """A link with the name of a text is not written through: what it leads to stays as it was."""
    audit = AuditLog(str(tmp_path / "log"), prompts="by-hash")
    folder = Path(prompts_folder(str(tmp_path / "log")))
    folder.mkdir(0o700)
    (folder / f"{assembled(root).content_hash}.txt").symlink_to(tmp_path / "victim")
    audit.append(assembled(root))
    assert not (tmp_path / "victim").exists()


def test_l03_folder_that_anybody_may_write_to(root: Path, tmp_path: Path) -> None:
    """In a folder of everybody's, what somebody has planted is not used, and what is ours stays ours."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (tmp_path / "victim").write_text("mine")
    for plant in (os.symlink, os.link):
        plant(tmp_path / "victim", shared / "log")
        with pytest.raises(AuditError):
            AuditLog(str(shared / "log")).append(assembled(root))
        (shared / "log").unlink()
    assert (tmp_path / "victim").read_text() == "mine"
    (shared / "log").touch(0o666)
    (shared / "log").chmod(0o666)
    AuditLog(str(shared / "log")).append(assembled(root))
    assert stat.S_IMODE((shared / "log").stat().st_mode) == 0o600
    assert len(read_log(str(shared / "log")).records) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_l03_folder_of_texts_that_is_anothers(root: Path, tmp_path: Path) -> None:
    """A folder for texts that somebody else has made is not used."""
    folder = Path(prompts_folder(str(tmp_path / "log")))
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with pytest.raises(AuditError, match="a folder of your own"):
        AuditLog(str(tmp_path / "log"), prompts="by-hash").append(assembled(root))
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    "text",
    ["a\nb\r\nc", "\x1b]0;title\x07", "\u2028\u2029\x85", '"},{"', "\ud800", "\x00", "\u202e", "</script>", "\\u0000"],
)
def test_l04_one_line_a_record(root: Path, tmp_path: Path, text: str) -> None:
    """Whatever a prompt, an id or a name holds, a record is one line of printable ASCII that reads back the same."""
    lay_out(root, {"a": text.encode(errors="replace")})
    log = tmp_path / "log"
    for _ in range(2):
        AuditLog(str(log)).append(assembled(root, text))
    lines = log.read_bytes().split(b"\n")
    assert len(lines) == 3
    assert lines[2] == b""
    assert all(line.isascii() and line.decode().isprintable() for line in lines)
    stored = json.loads(lines[0])
    assert (stored.pop("previous_hash"), len(stored.pop("record_hash"))) == ("", 64)
    assert stored == record_of(assembled(root, text))
    assert [record["correlation_id"] for _, record in read_log(str(log)).records] == [text, text]


@pytest.mark.slow
def test_l05_project_that_says_where_the_log_is(root: Path) -> None:
    """Nothing in a project chooses a log, and one inside the project is refused unless its owner says so."""
    lay_out(root, dict.fromkeys((".env", "deepprompt.toml", "pyproject.toml"), "log = here\nDEEPPROMPT_LOG=here\n"))
    before = sorted(os.listdir(root))
    assert run("assemble", "t", "--root", str(root), cwd=root, env={"DEEPPROMPT_LOG": "here"}).returncode == 0
    assert sorted(os.listdir(root)) == before
    os.symlink(root, root.parent / "outside")
    for log in ("log", "../root/log", str(root / "log"), str(root.parent / "outside/log")):
        done = run("assemble", "t", "--root", str(root), "--log", log, cwd=root)
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"the log would lie in the workspace" in done.stderr
    assert sorted(os.listdir(root)) == before


# Keys of every kind that a repository may carry in a name. None is anybody's.
KEYS = {
    "AWS key": "AKIA" + "Q7RZ2MXN4KP9" + "TVWB",
    "GitHub token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "API key": "sk-ant-api03-" + "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe" * 3,
    "Slack token": "xoxb-" + "123456789012-abcdefABCDEF",
}
URL = "https://bob:hunter2-correct-horse@example.org/x.git"
PEM = "-----BEGIN RSA PRIVATE KEY-----MIIEpAIBAAKCAQEA7bq3-----END RSA PRIVATE KEY-----"
SECRETS = [*KEYS.values(), "hunter2-correct-horse", "MIIEpAIBAAKCAQEA7bq3"]


def shows_none(*texts: str) -> None:
    """See that no key, and no eight characters of one, is in any of these texts."""
    for text in texts:
        for secret in SECRETS:
            body = secret.split("_")[-1].split("-")[-1] if len(secret) > 40 else secret
            for start in range(len(body) - 7):
                assert body[start : start + 8] not in text, (secret, text)


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    """A repository with a key in its path, its branch, its subjects, its files, its skills and its changes."""
    cwd = make_repository(tmp_path / f"work-{KEYS['AWS key']}/project")
    git(cwd, "checkout", "--quiet", "-b", f"fix/{KEYS['GitHub token']}")
    for key in (*KEYS.values(), PEM, f"mirror {URL}"):
        commit(cwd, f"use {key} now")
    name = f"deep/{'er/' * 10}{KEYS['API key']}.txt"
    commit(cwd, f"clone {URL}", {name: "one\n", f"{KEYS['Slack token']}.md": "one\n"})
    lay_out(cwd, {name: "one\ntwo\n", f"{KEYS['Slack token']}.md": "two\n", "AGENTS.md": "x\u200b"})
    lay_out(cwd, {f"skills/{KEYS['GitHub token']}/SKILL.md": "no heading", f"new-{KEYS['AWS key']}.txt": ""})
    lay_out(cwd, {f"skills/b/{KEYS['GitHub token']}/SKILL.md": b"\xff\n# named"})
    return cwd


@pytest.mark.slow
def test_l06_keys_in_names(leaky: Path) -> None:
    """No key, nor the end of one, is in a prompt, a note, the report or on standard error."""
    prompt = gathered(leaky, git=True)
    shows_none(prompt.text, *map(str, prompt.notes), *(part.name + part.origin for part in prompt.parts))
    kinds = {note.detail.partition(",")[0] for note in prompt.notes if note.kind == "redacted"}
    assert kinds >= {*KEYS} - {"AWS key"}
    report = reported(leaky)
    shows_none(json.dumps(report, ensure_ascii=False))
    done = run("build", "--home", "", cwd=leaky)
    assert done.returncode == 0
    assert b"redacted" in done.stderr
    shows_none(done.stdout.decode(), done.stderr.decode())
    preset = run("build", "--preset", "claude_code", "--claude-md", cwd=leaky)
    shows_none(preset.stdout.decode(), preset.stderr.decode())


@pytest.mark.slow
def test_l06_keys_in_messages(leaky: Path, tmp_path: Path) -> None:
    """Nor in the message of an error, the command's or a loader's, nor in a log."""
    store = load_skills(leaky)
    for path in leaky.rglob("SKILL.md"):
        path.unlink()
    for name in store.names():
        with pytest.raises(SkillError) as caught:
            store.body(name)
        shows_none(str(caught.value))
    (leaky / ".git/HEAD").write_text("nonsense")
    shows_none(*map(str, gathered(leaky, git=True).notes))
    for arguments in (
        ("--cwd", KEYS["AWS key"]),
        ("--base-file", KEYS["API key"]),
        ("--append-file", PEM),
        ("--home", URL),
    ):
        done = run("build", *arguments, cwd=tmp_path)
        shows_none(done.stderr.decode())
    lay_out(leaky, {"t.txt": "x\n"})
    log = tmp_path / "log"
    AuditLog(str(log)).append(PromptAssembler(str(leaky)).assemble("t", {}))
    shows_none(log.read_text())


def test_l07_home_in_a_log(root: Path, tmp_path: Path) -> None:
    """A record names files by where they are below the root: neither a home nor the root is in it."""
    AuditLog(str(tmp_path / "log")).append(assembled(root))
    text = (tmp_path / "log").read_text()
    assert str(tmp_path) not in text
    assert os.path.expanduser("~") + "/" not in text
    lay_out(root, {"skills/x/SKILL.md": "# x"})
    assert str(root) not in load_skills(root).index_text()


# Appends records whose ids are PREFIX-0, PREFIX-1, …
APPENDER = """
import sys
from deepprompt.systems.audit import AuditLog
from deepprompt.systems.template import PromptAssembler
root, path, prefix, count = sys.argv[1:]
log, assembler = AuditLog(path), PromptAssembler(root)
for number in range(int(count)):
    log.append(assembler.assemble("t", {}, f"{prefix}-{number}"))
"""


@pytest.mark.slow
def test_l09_two_writers(root: Path, tmp_path: Path) -> None:
    """Two processes that append at once lose no line and break none, each in its order."""
    log = tmp_path / "log"
    children = [
        subprocess.Popen([sys.executable, "-c", APPENDER, root, log, name, "10000"], stderr=subprocess.PIPE)
        for name in "ab"
    ]
    assert [child.communicate()[1] for child in children] == [b"", b""]
    lines = log.read_bytes().split(b"\n")
    assert lines.pop() == b""
    ids = [json.loads(line)["correlation_id"] for line in lines]
    assert [one for one in ids if one[0] == "a"] == [f"a-{number}" for number in range(10_000)]
    assert [one for one in ids if one[0] == "b"] == [f"b-{number}" for number in range(10_000)]
    assert len(ids) == 20_000


def test_l10_no_preview(leaky: Path) -> None:
    """A note on a key has its kind, its place and the start of its hash, and not one character of it."""
    notes = [note for note in gathered(leaky, git=True).notes if note.kind == "redacted"]
    assert notes
    for note in notes:
        assert note.offset is not None
        shows_none(str(note))
    token = KEYS["GitHub token"]
    assert f"GitHub token, SHA-256 {sha256_hex(token)[:12]}" in {note.detail for note in notes}
    with pytest.raises(DeepPromptError) as caught:
        load_skills(leaky).body("none")
    shows_none(str(caught.value))


@pytest.fixture
def by_hash(root: Path, tmp_path: Path) -> Path:
    """A log with one record, whose text is stored beside it."""
    AuditLog(str(tmp_path / "log"), prompts="by-hash").append(assembled(root))
    return tmp_path / "log"


def stored(log: Path) -> Path:
    """The one text that is stored beside a log."""
    (path,) = Path(prompts_folder(str(log))).iterdir()
    return path


def test_l11_text_planted_under_a_hash(root: Path, by_hash: Path) -> None:
    """A stored text that does not match its hash never comes back; a new record with that hash puts it right."""
    assert read_log(by_hash).altered == []
    stored(by_hash).write_text("planted")
    contents = read_log(by_hash)
    assert [record["assembled_prompt"] for _, record in contents.records] == [None]
    assert contents.altered == [(1, "its stored text does not match its hash")]
    done = run("replay", "log", "--root", "root", cwd=by_hash.parent)
    assert done.returncode == 1
    assert b"log:1: its stored text does not match its hash" in done.stderr
    AuditLog(str(by_hash), prompts="by-hash").append(assembled(root))
    assert [record["assembled_prompt"] for _, record in read_log(by_hash).records] == ["x\ntext\n"] * 2


@pytest.mark.parametrize("target", ["same", "other", "/dev/zero"])
def test_l12_stored_text_that_is_a_link(by_hash: Path, target: str) -> None:
    """A link in the store is not followed, even to the very text."""
    path = stored(by_hash)
    (by_hash.parent / "same").write_bytes(path.read_bytes())
    (by_hash.parent / "other").write_text("kept outside")
    path.unlink()
    path.symlink_to(by_hash.parent / target)
    contents = read_log(by_hash)
    assert [record["assembled_prompt"] for _, record in contents.records] == [None]
    assert contents.altered == [(1, "its stored text is a link, which is not followed")]
    done = run("replay", "log", "--root", "root", cwd=by_hash.parent)
    assert (done.returncode, b"kept outside" in done.stdout + done.stderr) == (1, False)


def test_l12_stored_text_that_is_a_pipe(by_hash: Path) -> None:
    """A FIFO in the store is not waited for."""
    path = stored(by_hash)
    path.unlink()
    os.mkfifo(path)
    assert read_log(by_hash).altered == [(1, "its stored text: not a regular file")]


@pytest.mark.parametrize("how", ["link", 0o777, 0o770, 0o702])
def test_l13_store_of_others(root: Path, by_hash: Path, how: str | int) -> None:
    """A store that is a link, or that others may write to, is neither read nor written."""
    store = Path(prompts_folder(str(by_hash)))
    if isinstance(how, int):
        store.chmod(how)
    else:
        store.rename(by_hash.parent / "elsewhere")
        store.symlink_to("elsewhere")
    with pytest.raises(AuditError, match="a folder of your own, not through a link, and nobody else may write to it"):
        read_log(by_hash)
    with pytest.raises(AuditError, match="nobody else may write to it"):
        AuditLog(str(by_hash), prompts="by-hash").append(assembled(root, "2"))
    assert by_hash.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("prompts", ["inline", "by-hash"])
def test_l14_folder_swapped_for_a_link(root: Path, tmp_path: Path, level: int, prompts: str) -> None:
    """A folder above the log that becomes a link later does not lead the log into the workspace."""
    log = tmp_path / "deep/er/log"
    audit = AuditLog(str(log), workspace=str(root), prompts=prompts)
    audit.append(assembled(root))
    before = sorted(root.rglob("*"))
    swapped = (log.parent, log.parent.parent)[level]
    swapped.rename(tmp_path / "aside")
    swapped.symlink_to(root)
    with pytest.raises(AuditError, match="is a link now, and nothing is written through it"):
        audit.append(assembled(root, "2"))
    assert sorted(root.rglob("*")) == before


def test_l14_link_before_the_log_was_made(root: Path, tmp_path: Path) -> None:
    """A link that stood there from the start is the owner's way to the log, and is followed."""
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    AuditLog(str(tmp_path / "way/log"), workspace=str(root)).append(assembled(root))
    assert len(read_log(tmp_path / "real/log").records) == 1


def chain(root: Path, log: Path, count: int = 4) -> list[bytes]:
    """Write some records, and return their lines."""
    for number in range(count):
        AuditLog(str(log)).append(assembled(root, str(number)))
    assert read_log(log).altered == []
    return log.read_bytes().splitlines(keepends=True)


@pytest.mark.seed("002.13")
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize(("old", "new"), [(b"text", b"evil"), (b'"id', b'"ID'), (b"2026-01-02", b"2026-01-03")])
def test_l15_edited_record(root: Path, tmp_path: Path, place: int, old: bytes, new: bytes) -> None:
    """A record that was edited is noticed, the last one too."""
    lines = chain(root, tmp_path / "log")
    lines[place] = lines[place].replace(b'"correlation_id":"', b'"correlation_id":"id').replace(old, new)
    (tmp_path / "log").write_bytes(b"".join(lines))
    assert (place + 1, "it was changed after it was written") in read_log(tmp_path / "log").altered
    done = run("replay", "log", "--root", "root", cwd=tmp_path)
    assert done.returncode == 1
    said = f"log:{place + 1}: it was changed after it was written"
    assert said.encode() in done.stderr
    done = run("inspect", "log", "--out", "page.html", cwd=tmp_path)
    assert f"deepprompt: {said}\n".encode() in done.stderr
    assert said in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.seed("002.13")
@pytest.mark.parametrize("order", [(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 2, 1, 3), (0, 1, 1, 2, 3), (3, 0, 1, 2)])
def test_l15_deleted_moved_or_repeated_record(root: Path, tmp_path: Path, order: tuple[int, ...]) -> None:
    """A record that was removed, moved or repeated is noticed, wherever another one follows."""
    lines = chain(root, tmp_path / "log")
    (tmp_path / "log").write_bytes(b"".join(lines[place] for place in order))
    reasons = {reason for _, reason in read_log(tmp_path / "log").altered}
    assert reasons == {"the record before it was changed, removed or inserted"}


def test_l15_record_without_hashes(root: Path, tmp_path: Path) -> None:
    """A log of an earlier version still reads, and goes on with hashes; a record without them after that is noticed."""
    log = tmp_path / "log"
    bare = json.dumps(record_of(assembled(root))).encode() + b"\n"
    log.write_bytes(bare * 2)
    AuditLog(str(log)).append(assembled(root))
    assert read_log(log).altered == []
    log.write_bytes(log.read_bytes() + bare)
    assert read_log(log).altered == [(4, "it has no hashes, and records before it have")]
    changed = log.read_bytes().replace(b"text", b"evil", 2)
    log.write_bytes(changed)
    assert 3 in dict(read_log(log).altered)


def test_l15_after_a_torn_line(root: Path, tmp_path: Path) -> None:
    """A crash in the middle of a record, however long, is damage and not an edit."""
    log = tmp_path / "log"
    first, *_ = chain(root, log, 2)
    with log.open("ab") as file:
        file.write(first[:-1][:100] + b"x" * 200_000)
    AuditLog(str(log)).append(assembled(root))
    contents = read_log(log)
    assert (contents.damaged, contents.altered, len(contents.records)) == ([3], [], 3)


def split(key: str) -> str:
    """Return a key with hidden characters inside."""
    return key[:3] + "\u200b" + key[3:9] + "\u2060" + key[9:]


@pytest.mark.parametrize("make", [str, "x{}".format, split], ids=["alone", "glued", "split"])
def test_l16_keys_of_every_kind(tmp_path: Path, make: Callable[[str], str]) -> None:
    """Keys of every kind in subjects, branches and paths are redacted, also glued to a letter or split."""
    cwd = make_repository(tmp_path / "cwd")
    keys = [make(key.replace("\n", "")) for key in FORMATS.values()]
    shown: list[str] = []
    for start in range(0, len(keys), 6):
        commit(cwd, "use " + " ".join(keys[start : start + 6]))
        shown += read_git(cwd).recent_commits[:1]
    for key in ("Groq key", "Docker token", "GitLab token, deploy", "Shopify token", "Stripe secret"):
        git(cwd, "branch", "--move", f"fix/{make(FORMATS[key])}")
        shown.append(read_git(cwd).active_branch)
    lay_out(cwd, {f"f/{key}": "" for key in keys if "/" not in key and len(key.encode()) < 250})
    shown += [read_git(cwd).status, SystemPromptBuilder(project=ProjectContext().with_git(read_git(cwd))).build()]
    shown += [shown_path(key, []) for key in keys]
    text = "\n".join(shown)
    assert text.count("[redacted: ") >= 2 * len(keys) + 5
    for part in (drawn(64), drawn(64, HEX)):
        assert not any(part[place : place + 10] in text for place in range(4, 54))
