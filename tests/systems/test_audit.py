"""The log of assembled prompts: what a record holds, who may read it, and what crashes and full disks leave."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deepprompt.errors import AuditError
from deepprompt.prompt import sha256_hex
from deepprompt.systems.audit import AuditLog, Drift, LogContents, prompts_folder, read_log, record_of, replay
from deepprompt.systems.template import AssembledPrompt, PromptAssembler

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links, FIFOs and signals")

OWN = "a log is a regular file of your own, with one name"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

# Appends records whose ids are PREFIX-0, PREFIX-1, …; says so on standard output after each if asked to.
APPENDER = """
import sys
from deepprompt.systems.audit import AuditLog
from deepprompt.systems.template import PromptAssembler
root, path, prefix, count, aloud = sys.argv[1:]
log, assembler = AuditLog(path), PromptAssembler(root)
for number in range(int(count)):
    log.append(assembler.assemble("t", {}, f"{prefix}-{number}"))
    if aloud == "aloud":
        print(number, flush=True)
"""

# Appends once below a limit on the size of files.
LIMITED = """
import resource, signal, sys
from deepprompt.systems.audit import AuditLog
from deepprompt.systems.template import PromptAssembler
root, path, size = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
assembled = PromptAssembler(root).assemble("t", {}, "too much")
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), before[1]))
try:
    AuditLog(path).append(assembled)
finally:  # what measures coverage writes files too
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a template t and an include."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "t.txt").write_text("x\n$$include a.txt\n")
    (folder / "a.txt").write_text("é世\n")
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a log may be, outside the root."""
    return tmp_path / "logs" / "audit.jsonl"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB, where one can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        options = ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(folder)]
        mounted = subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("cannot mount here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def assembled(root: Path, correlation_id: str = "id") -> AssembledPrompt:
    """The prompt of t."""
    return PromptAssembler(str(root)).assemble("t", {}, correlation_id, now=NOW)


def ids(path: Path) -> list[str]:
    """The ids of a log's records."""
    return [record["correlation_id"] for _, record in read_log(str(path)).records]


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Run code in a process of its own."""
    command = [sys.executable, "-c", code, *(str(argument) for argument in arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.seed("002.11")
def test_record(root: Path, log: Path) -> None:
    """A record has the seed's fields, and beside them what replay needs; a line each, in ASCII."""
    AuditLog(str(log)).append(assembled(root))
    content = "x\né世\n"
    template, include = sha256_hex("x\n$$include a.txt\n"), sha256_hex("é世\n")
    record = {
        "task_ref": "t",
        "includes_resolved": {"a.txt": "a.txt"},
        "assembled_prompt": content,
        "assembled_prompt_hash": sha256_hex(content),
        "assembly_timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "id",
        "format": 1,
        "template_root": ".",
        "minify_json": False,
        "spans": [
            {"name": "template", "path": "t.txt", "start": 0, "end": 2, "file_hash": template},
            {"name": "a.txt", "path": "a.txt", "start": 2, "end": 4, "file_hash": include},
            {"name": "template", "path": "t.txt", "start": 4, "end": 5, "file_hash": template},
        ],
    }
    assert record_of(assembled(root)) == record
    assert read_log(str(log)) == LogContents([(1, record)], [])
    line = log.read_bytes()
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"}\n")


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_only_for_its_owner(umask: int, root: Path, log: Path) -> None:
    """A log, its texts and the folders made for them are the owner's alone, whatever the umask is."""
    before = os.umask(umask)
    try:
        AuditLog(str(log), prompts="by-hash").append(assembled(root))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [log.parent, *log.parent.rglob("*")]}
    text = f"{assembled(root).content_hash}.txt"
    assert modes == {"logs": 0o700, "audit.jsonl": 0o600, "audit.jsonl.prompts": 0o700, text: 0o600}


def test_open_log_is_closed_to_others(root: Path, tmp_path: Path) -> None:
    """A log that others could read is theirs no more after the next record."""
    path = tmp_path / "log"
    path.touch(0o644)
    path.chmod(0o644)
    AuditLog(str(path)).append(assembled(root))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("what", ["hard link", "fifo"])
def test_not_a_log(what: str, root: Path, tmp_path: Path) -> None:
    """What is not a regular file with one name is no log, and stays as it was."""
    path, other = tmp_path / "log", tmp_path / "other"
    other.write_text("mine")
    os.mkfifo(path) if what == "fifo" else os.link(other, path)
    with pytest.raises(AuditError) as caught:
        AuditLog(str(path)).append(assembled(root))
    assert str(caught.value) == f"{path}: {OWN}"
    assert other.read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_foreign_log(root: Path, tmp_path: Path) -> None:
    """A file of somebody else is no log."""
    path = tmp_path / "log"
    path.write_text("")
    os.chown(path, 12345, 12345)
    with pytest.raises(AuditError) as caught:
        AuditLog(str(path)).append(assembled(root))
    assert str(caught.value) == f"{path}: {OWN}"
    assert path.read_text() == ""


@pytest.mark.parametrize("what", ["link", "dangling link", "folder", "below a file"])
def test_log_cannot_be_opened(what: str, root: Path, tmp_path: Path) -> None:
    """A log that is a link, or cannot be opened, is an error that says that nothing was logged."""
    path, other = tmp_path / "log", tmp_path / "other"
    if what == "folder":
        path.mkdir()
        reason = "Is a directory"
    elif what == "below a file":
        other.write_text("")
        path = other / "log"
        reason = "Not a directory"
    else:
        os.symlink(other, path)
        reason = "Too many levels of symbolic links"
        if what == "link":
            other.write_text("")
    with pytest.raises(AuditError) as caught:
        AuditLog(str(path)).append(assembled(root))
    assert str(caught.value) == f"{path}: {reason}; the prompt was not logged"
    assert not other.exists() or other.read_text() == ""


@pytest.mark.parametrize("path", ["log", "deep/log", "../root/log", "../link/log"])
def test_inside_the_workspace(path: str, root: Path) -> None:
    """A log in the workspace, by any name of it, is refused unless the caller says so."""
    os.symlink("root", root.parent / "link")
    place = f"{root}/{path}"
    with pytest.raises(AuditError) as caught:
        AuditLog(place, workspace=str(root))
    says = f"{place}: the log would lie in the workspace {root}, which could rewrite it; choose another folder, or "
    assert str(caught.value) == f"{says}allow it with inside_workspace=True (--log-in-root on the command line)"
    AuditLog(place, workspace=str(root), inside_workspace=True).append(assembled(root))
    assert ids(Path(place)) == ["id"]


@pytest.mark.seed("002.14")
@pytest.mark.parametrize("below", [".", "deep/er"])
@pytest.mark.parametrize("is_repository", [True, False])
def test_002_f_not_in_the_current_project(
    below: str, is_repository: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a workspace, a log in the project that the process works in is refused, unless you allow it."""
    (root / "deep/er").mkdir(parents=True)
    if is_repository:
        (root / ".git").mkdir()
    monkeypatch.chdir(root / below)
    place = root if is_repository else root / below
    for path in ("log", str(place / "log"), str(place / "a/b/log")):
        with pytest.raises(AuditError) as caught:
            AuditLog(path)
        assert str(caught.value) == (
            f"{path}: the log would lie in the workspace {place}, which could rewrite it; choose another folder, or "
            "allow it with inside_workspace=True (--log-in-root on the command line)"
        )
    AuditLog(str(root.parent / "log")).append(assembled(root))
    AuditLog("log", inside_workspace=True).append(assembled(root))
    assert (root / below / "log").exists()


@pytest.mark.parametrize("cwd", ["home", "root", "dotfiles", "removed"])
def test_002_f_home_is_no_project(cwd: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the home folder, from the root of the file system or from a removed folder, a log may lie anywhere."""
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    if cwd == "dotfiles":
        (home / ".git").mkdir()
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir({"home": home, "root": Path("/"), "dotfiles": home / "work", "removed": gone}[cwd])
    gone.rmdir()
    AuditLog(str(home / "logs/log")).append(assembled(root))
    assert ids(home / "logs/log") == ["id"]


def test_002_f_a_log_that_is_a_link_is_not_read(root: Path, log: Path, tmp_path: Path) -> None:
    """A link is refused for reading as it is for writing, wherever it leads."""
    AuditLog(str(log)).append(assembled(root))
    link = tmp_path / "link"
    link.symlink_to(log)
    with pytest.raises(AuditError) as caught:
        read_log(link)
    assert str(caught.value) == f"{link}: it is a link, and a log is never written through one; read the log itself"


@pytest.mark.seed("002.13")
def test_002_f_records_removed_from_the_end(root: Path, log: Path) -> None:
    """A reader who knows the last record's hash notices that records are missing at the end."""
    audit = AuditLog(str(log))
    hashes = [audit.append(assembled(root, str(number))) for number in range(3)]
    contents = read_log(log, last=hashes[2])
    assert (contents.hashes, contents.altered) == (hashes, [])
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
    assert read_log(log).altered == []
    says = f"no record has the hash {hashes[2]}: records were removed from the end"
    assert read_log(log, last=hashes[2]).altered == [(2, says)]
    assert read_log(log, last=hashes[1]).altered == []
    log.write_bytes(b"")
    assert read_log(log, last=hashes[0]).altered == [(0, says.replace(hashes[2], hashes[0]))]


def test_beside_the_workspace(root: Path) -> None:
    """A folder whose name only starts like the workspace's is outside it."""
    path = root.parent / "rooted" / "log"
    AuditLog(str(path), workspace=str(root)).append(assembled(root))
    assert ids(path) == ["id"]


def test_unknown_way_to_store(tmp_path: Path) -> None:
    """Prompts are stored inline or by hash."""
    with pytest.raises(AuditError, match=r"^prompts is 'inline' or 'by-hash', not 'zip'$"):
        AuditLog(str(tmp_path / "log"), prompts="zip")


def test_by_hash(root: Path, log: Path) -> None:
    """By hash, a text is stored once and read back in its place; the record itself has none."""
    audit = AuditLog(str(log), prompts="by-hash")
    audit.append(assembled(root, "1"))
    (stored,) = Path(prompts_folder(str(log))).iterdir()
    before = stored.stat()
    audit.append(assembled(root, "2"))
    assert (stored.stat().st_ino, stored.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert stored.read_bytes() == "x\né世\n".encode()
    assert [json.loads(line)["assembled_prompt"] for line in log.read_text().splitlines()] == [None, None]
    assert [record["assembled_prompt"] for _, record in read_log(str(log)).records] == ["x\né世\n"] * 2
    (root / "a.txt").write_text("other")
    audit.append(assembled(root, "3"))
    assert len(list(stored.parent.iterdir())) == 2


@pytest.mark.parametrize("damage", ["missing", "not UTF-8", "a path"])
def test_by_hash_without_its_text(damage: str, root: Path, log: Path) -> None:
    """A record whose text is gone has none, and no hash leads out of the folder."""
    AuditLog(str(log), prompts="by-hash").append(assembled(root))
    (stored,) = Path(prompts_folder(str(log))).iterdir()
    if damage == "missing":
        stored.unlink()
    elif damage == "not UTF-8":
        stored.write_bytes(b"\xff")
    else:
        (log.parent / "secret.txt").write_text("secret")
        log.write_text(log.read_text().replace(stored.stem, "../secret"))
    assert [record["assembled_prompt"] for _, record in read_log(str(log)).records] == [None]


def test_text_cannot_be_stored(root: Path, log: Path) -> None:
    """By hash, a text that cannot be stored leaves no record either."""
    log.parent.mkdir()
    Path(prompts_folder(str(log))).write_text("in the way")
    with pytest.raises(AuditError, match=r"File exists; the prompt was not logged$"):
        AuditLog(str(log), prompts="by-hash").append(assembled(root))
    assert not log.exists()


def test_damaged_lines(root: Path, log: Path) -> None:
    """Lines that are no whole records are told by their number; blank lines are nothing."""
    audit = AuditLog(str(log))
    audit.append(assembled(root, "1"))
    with log.open("ab") as file:
        file.write(b'{"half\n\n[]\n\xff\xfe\n' + b"[" * 100_000 + b"\n\0\0\n")
    audit.append(assembled(root, "8"))
    contents = read_log(str(log))
    assert [number for number, _ in contents.records] == [1, 8]
    assert contents.damaged == [2, 4, 5, 6, 7]


def test_no_log(tmp_path: Path) -> None:
    """A log that is not there is an error, and so is a name that no file has."""
    with pytest.raises(AuditError) as caught:
        read_log(str(tmp_path / "none"))
    assert str(caught.value) == f"{tmp_path / 'none'}: No such file or directory"
    with pytest.raises(AuditError) as caught:
        read_log("\ud800")
    assert str(caught.value) == "\ud800: a character that no path has"


def test_torn_line(root: Path, log: Path) -> None:
    """Wherever the last line was cut, the records before it stay and the next one is whole."""
    audit = AuditLog(str(log))
    for number in ("1", "2"):
        audit.append(assembled(root, number))
    data = log.read_bytes()
    first = data.index(b"\n") + 1
    for cut in {first, first + 1, *range(first + 2, len(data) - 1, 37), len(data) - 2, len(data) - 1}:
        log.write_bytes(data[:cut])
        assert ids(log) == ["1"]
        assert read_log(str(log)).damaged == ([] if cut == first else [2])
        audit.append(assembled(root, "3"))
        complete = cut == len(data) - 1  # only the newline was missing
        assert ids(log) == (["1", "2", "3"] if complete else ["1", "3"])
        assert read_log(str(log)).damaged == ([] if complete or cut == first else [2])


@pytest.mark.parametrize("prompts", ["inline", "by-hash"])
def test_full_disk(prompts: str, root: Path, small_disk: Path) -> None:
    """On a full disk nothing is lost and nothing half is left; when there is room again, records follow."""
    (root / "a.txt").write_text("long " * 1000)
    path, ballast = small_disk / "log", small_disk / "ballast"
    ballast.write_bytes(bytes(20_000))
    audit = AuditLog(str(path), prompts=prompts)
    written = 0
    with pytest.raises(AuditError) as caught:
        for written in range(1000):
            (root / "a.txt").write_text(f"{written} " + "long " * 1000)
            audit.append(assembled(root, str(written)))
    assert str(caught.value) == f"{path}: No space left on device; the prompt was not logged"
    assert ids(path) == [str(number) for number in range(written)]
    assert path.read_bytes().endswith(b"\n")
    assert written > 2
    assert not [name for name in os.listdir(small_disk) if name not in ("log", "ballast", "log.prompts")]
    ballast.unlink()
    audit.append(assembled(root, "after"))
    contents = read_log(str(path))
    assert contents.damaged == []
    assert [record["correlation_id"] for _, record in contents.records][written:] == ["after"]
    assert all(record["assembled_prompt"] for _, record in contents.records)


@pytest.mark.parametrize("torn", [b"", b'{"torn'])
def test_half_a_write(torn: bytes, root: Path, log: Path) -> None:
    """A write that the system cuts short is taken back, and the log is as it was."""
    audit = AuditLog(str(log))
    audit.append(assembled(root, "1"))
    with log.open("ab") as file:
        file.write(torn)
    before = log.read_bytes()
    child = start(LIMITED, root, log, len(before) + 100)
    assert b"AuditError: " in child.communicate()[1]
    assert child.returncode == 1
    assert log.read_bytes() == before
    audit.append(assembled(root, "2"))
    assert ids(log) == ["1", "2"]


@pytest.mark.slow
def test_kills(root: Path, log: Path) -> None:
    """Killed at any moment, a process loses no record that it had written, and the next one goes on."""
    (root / "a.txt").write_text("long " * 50_000)  # so that many kills hit a write
    chance = random.Random(5)
    promised: list[str] = []
    for kill in range(30):
        child = start(APPENDER, root, log, f"k{kill}", 100_000, "aloud")
        assert child.stdout is not None
        assert child.stdout.readline() == b"0\n"
        time.sleep(chance.random() * 0.02)
        child.send_signal(signal.SIGKILL)
        said = child.stdout.read().split(b"\n")[:-1]  # communicate() forgets what readline() has read ahead
        child.communicate()
        promised += [f"k{kill}-{number}" for number in range(len(said) + 1)]
    AuditLog(str(log)).append(assembled(root, "after"))
    found, contents = ids(log), read_log(str(log))
    assert found[-1] == "after"
    assert [name for name in found if name in set(promised)] == promised
    assert len(found) <= len(promised) + 30 + 1
    assert len(contents.damaged) <= 30
    assert all(
        sha256_hex(record["assembled_prompt"]) == record["assembled_prompt_hash"] for _, record in contents.records
    )


@pytest.mark.slow
def test_two_writers(root: Path, log: Path) -> None:
    """Two processes that append 10,000 records each lose none, and keep each its order."""
    children = [start(APPENDER, root, log, name, 10_000, "quiet") for name in ("a", "b")]
    assert [child.communicate()[1] for child in children] == [b"", b""]
    contents = read_log(str(log))
    assert contents.damaged == []
    found = [record["correlation_id"] for _, record in contents.records]
    assert len(found) == 20_000
    for name in ("a", "b"):
        assert [one for one in found if one.startswith(name)] == [f"{name}-{number}" for number in range(10_000)]


@pytest.mark.seed("002.12")
def test_replay_of_the_same(root: Path) -> None:
    """A record whose files are as they were has no drift, whatever else is there now."""
    (root / "b.txt").write_text("new")
    assert replay(record_of(assembled(root)), {}, str(root)) is None


@pytest.mark.seed("002.12")
def test_replay_names_what_moved(root: Path) -> None:
    """A drift names the files whose text is another, with the text before and after."""
    record = record_of(assembled(root))
    (root / "a.txt").write_text("new")
    assert replay(record, {}, str(root)) == Drift("a.txt moved", ("a.txt",), "x\né世\n", "x\nnew\n")
    (root / "t.txt").write_text("y\n$$include b.txt")
    (root / "b.txt").write_text("b")
    drift = replay(record, {}, str(root))
    assert drift == Drift("t.txt, a.txt, b.txt moved", ("t.txt", "a.txt", "b.txt"), "x\né世\n", "y\nb")


def test_replay_of_another_hash(root: Path) -> None:
    """A hash that no file explains is a drift too."""
    record = record_of(assembled(root)) | {"assembled_prompt_hash": "0", "assembled_prompt": None}
    drift = replay(record, {}, str(root))
    assert drift is not None
    assert (drift.reason, drift.moved) == ("the way it is put together moved", ())


def test_replay_cannot_assemble(root: Path) -> None:
    """A prompt that can no longer be assembled is a drift that says why."""
    record = record_of(assembled(root))
    (root / "a.txt").unlink()
    assert replay(record, {}, str(root)) == Drift("it can no longer be assembled: t.txt:2: a.txt is not there")


def test_replay_of_one_key_twice(root: Path) -> None:
    """A name and an included file of the same name are both assembled again."""
    (root / "t.txt").write_text("$$CTX\n$$include CTX")
    (root / "CTX").write_text("file")
    record = record_of(PromptAssembler(str(root)).assemble("t", {"CTX": "a.txt"}))
    assert record["assembled_prompt"] == "é世\nfile"
    assert replay(record, {}, str(root)) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"template_root": ...}, "'template_root'"),
        ({"minify_json": ...}, "'minify_json'"),
        ({"includes_resolved": ...}, "'includes_resolved'"),
        ({"task_ref": ...}, "'task_ref'"),
        ({"assembled_prompt_hash": ...}, "'assembled_prompt_hash'"),
        ({"assembled_prompt": ...}, "'assembled_prompt'"),
        ({"spans": ...}, "'spans'"),
        ({"spans": [{"name": "a"}]}, "'path'"),
        ({"spans": [{"name": "a", "path": "b"}]}, "'file_hash'"),
        ({"spans": 5}, "'int' object is not iterable"),
        ({"includes_resolved": 5}, "'int' object is not a mapping"),
        ({"includes_resolved": [[1, 2]]}, "'list' object is not a mapping"),
    ],
)
def test_replay_of_an_incomplete_record(changes: dict[str, Any], says: str, root: Path) -> None:
    """A record that lacks something is a drift, not a crash."""
    record = {name: value for name, value in {**record_of(assembled(root)), **changes}.items() if value is not ...}
    assert replay(record, {}, str(root)) == Drift(f"the record is incomplete: {says}")


@pytest.mark.parametrize(
    "changes",
    [
        {"assembled_prompt": 5, "assembled_prompt_hash": None},
        {"spans": [{"name": 1, "path": 2, "file_hash": 3}], "assembled_prompt_hash": []},
        {"includes_resolved": {"A": 5}, "task_ref": None},
    ],
)
def test_replay_of_nonsense(changes: dict[str, Any], root: Path) -> None:
    """A record with values of the wrong kind is a drift whose texts are text."""
    drift = replay(record_of(assembled(root)) | changes, {}, str(root))
    assert drift is not None
    assert all(isinstance(text, str) for text in (drift.before, drift.after, *drift.moved))
