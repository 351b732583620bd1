"""Cases in which plain git waits for ever, prints without end, or takes all the memory there is."""

# ruff: noqa: D103 - a function that sets one kind of trap says it by its name

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deepprompt.sources.git.snapshot import STATUS_LIMIT, GitSnapshot
from deepprompt.text.hygiene import TRUNCATION_MARKER
from tests.support.hostile.places import index_of
from tests.support.hostile.programs import STATUS, append
from tests.support.hostile.scene import (
    FAILED,
    SHORT,
    Says,
    Scene,
    Trap,
    all_but,
    case,
    cases,
    change,
    right,
    right_or_noted,
    unavailable,
)
from tests.support.repositories import commit, git, make_repository, write

HIDDEN = "\u200b" * 80
# Large, but no reason to give up: a fifth of a second on a quiet machine, and on a busy one what it takes.
UNHURRIED = 10.0
EVERY = ("status", "diff", "diff --stat", "log", "rev-parse HEAD")


# G43: more files than anybody wants to read about.
@case("G43")
def flood_of_files(scene: Scene) -> Trap:
    for number in range(20_000):
        (scene.repository / f"flood-{number:05}").touch()

    def says(snapshot: GitSnapshot) -> None:
        assert snapshot.status.startswith(" M a.txt\n?? flood-00000\n")
        assert snapshot.status.endswith(TRUNCATION_MARKER)
        assert len(snapshot.status) == STATUS_LIMIT + len(TRUNCATION_MARKER)
        assert [(note.kind, note.source) for note in snapshot.notes] == [("cut", "git status")]

    return Trap(scene.shows("flood-19999", *STATUS), says)


@case("G43")
def flood_in_a_folder(scene: Scene) -> Trap:
    scene.set({"status.showUntrackedFiles": "all"})
    (scene.repository / "new").mkdir()
    for number in range(5_000):
        (scene.repository / f"new/{number}").touch()
    return Trap(scene.shows("new/4999", *STATUS), right(status=" M a.txt\n?? new/\n"))


@case("G43")
def flood_of_hidden_names(scene: Scene) -> Trap:
    """A megabyte of names that have to be made visible, staged and changed again."""
    folder = make_repository(scene.folder / "hidden")
    for number in range(1_500):
        (folder / f"{HIDDEN}{number}").write_bytes(b"1\n")
    git(folder, "add", "--all")
    for number in range(1_500):
        (folder / f"{HIDDEN}{number}").write_bytes(b"2\n")

    def says(snapshot: GitSnapshot) -> None:
        assert snapshot.status.startswith("AM ⟨U+200B⟩")
        assert {note.kind for note in snapshot.notes} == {"cut", "neutralised"}

    return Trap(scene.shows(HIDDEN, "-c", "core.quotePath=false", *STATUS, cwd=folder), says, cwd=folder)


@case("G43")
def flood_of_keys(scene: Scene) -> Trap:
    """Keys are long and what is shown for them is short; that some output is missing is said all the same."""
    begin = "-----BEGIN RSA PRIVATE KEY-----"
    for number in range(150):
        (scene.repository / f"{begin}{number:03}{'A' * 200}").touch()

    def says(snapshot: GitSnapshot) -> None:
        assert snapshot.status.endswith(TRUNCATION_MARKER)
        assert "[redacted: private key]" in snapshot.status
        assert "A" * 50 not in snapshot.status

    return Trap(scene.shows(begin, *STATUS), says)


# G44: a named pipe at each place that git opens, and what can still be said.
def pipe_at(name: str, says: Says, timeout: float = SHORT, alone: bool = True) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        repository = scene.repository
        if name == ".git/packed-refs":
            git(repository, "pack-refs", "--all")
        place = repository / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        os.mkfifo(place)
        return Trap(scene.waits(place, *EVERY), says, timeout=timeout, alone=alone)

    return make


refused = unavailable("not a regular file")
ignored = right()
cases(
    "G44",
    {
        "config": pipe_at(".git/config", refused),
        "head": pipe_at(".git/HEAD", refused),
        "common_dir": pipe_at(".git/commondir", ignored, 2.0),
        "index": pipe_at(".git/index", refused),
        "attributes": pipe_at(".gitattributes", refused),
        "packed_refs": pipe_at(".git/packed-refs", refused),
        "branch": pipe_at(".git/refs/heads/main", refused),
        "alternates": pipe_at(".git/objects/info/alternates", refused),
        "ignore": pipe_at(".gitignore", refused),
        "exclude": pipe_at(".git/info/exclude", refused),
        "info_attributes": pipe_at(".git/info/attributes", ignored, 2.0),
        "mailmap": pipe_at(".mailmap", ignored, 2.0, alone=False),
        "shallow": pipe_at(".git/shallow", refused),
        "nested_ignore": pipe_at("sub/.gitignore", all_but("status")),
        "nested_attributes": pipe_at("sub/.gitattributes", all_but("status", "unstaged diff")),
        "commit_graph": pipe_at(".git/objects/info/commit-graph", right_or_noted),
        "pack_index": pipe_at(".git/objects/pack/multi-pack-index", right_or_noted),
    },
)


def pipe_by_setting(key: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        pipe = scene.folder / "pipe"
        os.mkfifo(pipe)
        scene.set({key: pipe})
        return Trap(scene.waits(pipe, *EVERY), right())

    return make


cases(
    "G44",
    {
        key.replace(".", "_").lower(): pipe_by_setting(key)
        for key in ("include.path", "core.excludesFile", "core.attributesFile", "mailmap.file", "diff.orderFile")
    },
)


@case("G44")
def commit_object(scene: Scene) -> Trap:
    digest = git(scene.repository, "rev-parse", "HEAD")
    path = scene.repository / ".git/objects" / digest[:2] / digest[2:]
    path.unlink()
    os.mkfifo(path)
    return Trap(scene.waits(path, *EVERY), right_or_noted, timeout=SHORT)


@case("G44")
def alternates_that_lead_to_a_pipe(scene: Scene) -> Trap:
    pipe = scene.folder / "borrowed/info/alternates"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    write(scene.repository, {".git/objects/info/alternates": f"{scene.folder}/borrowed\n"})
    return Trap(scene.waits(pipe, *EVERY), right_or_noted, timeout=SHORT)


@case("G44")
def head_of_a_repository_inside(scene: Scene) -> Trap:
    inside = make_repository(scene.repository / "inside")
    git(scene.repository, "-c", "advice.addEmbeddedRepo=false", "add", "inside")
    git(scene.repository, "commit", "--quiet", "--message", "inside")
    (inside / ".git/HEAD").unlink()
    os.mkfifo(inside / ".git/HEAD")
    change(scene.repository)
    return Trap(scene.waits(inside / ".git/HEAD", *EVERY), right_or_noted, timeout=SHORT)


# G45: what is no file, no folder and no pipe either.
def endless(key: str) -> Callable[[Scene], Trap]:
    """A setting that makes plain git read a device without end."""

    def make(scene: Scene) -> Trap:
        scene.set({key: "/dev/zero"})
        command = ("log",) if key == "mailmap.file" else ("diff",)
        return Trap(scene.is_slow(*command), right())

    return make


cases("G45", {key.replace(".", "_").lower(): endless(key) for key in ("diff.orderFile", "mailmap.file")})


def instead_of_git(make_it: Callable[[Path], object], reason: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        folder = scene.folder / "folder"
        folder.mkdir()
        make_it(folder / ".git")
        return Trap(scene.fails(*STATUS, cwd=folder), unavailable(reason), cwd=folder)

    return make


def bind(path: Path) -> None:
    """Make a socket; its address may be too long, so its name is used from beside it."""
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


cases(
    "G45",
    {
        "pipe": instead_of_git(os.mkfifo, "neither a folder nor a file"),
        "socket": instead_of_git(bind, "neither a folder nor a file"),
        "loop": instead_of_git(lambda path: path.symlink_to(".git"), "neither a folder nor a file"),
        "garbage": instead_of_git(lambda path: path.write_bytes(b"\0\xff"), "does not say where"),
        "megabytes": instead_of_git(lambda path: path.write_bytes(b"x" * (2 << 20)), "larger than"),
        "empty_folder": instead_of_git(Path.mkdir, "HEAD"),
    },
)


@case("G45")
def device_in_place_of_a_file(scene: Scene) -> Trap:
    """Links to devices are shown as links; what they lead to is not opened."""
    (scene.repository / "a.txt").unlink()
    (scene.repository / "a.txt").symlink_to("/dev/zero")
    (scene.repository / "more").symlink_to("/dev/zero")
    status = " T a.txt\n?? more\n"
    diff = " a.txt | 3 +--\n 1 file changed, 1 insertion(+), 2 deletions(-)"
    return Trap(scene.shows(" T a.txt", *STATUS), right(status, diff))


# G46: damage. Plain git fails; we say what can be said, and take little memory.
def damaged(damage: Callable[[Path], None], says: Says, *command: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        damage(scene.repository)
        return Trap(scene.fails(*command), says, memory=200)

    return make


def index_of_garbage(folder: Path) -> None:
    (folder / ".git/index").write_bytes(b"DIRC" + b"\xff" * 100)


def index_cut_short(folder: Path) -> None:
    os.truncate(folder / ".git/index", 20)


def index_that_counts_four_billion(folder: Path) -> None:
    data = b"DIRC" + struct.pack(">II", 2, 0xFFFFFFFF)
    (folder / ".git/index").write_bytes(data + hashlib.sha1(data).digest())


def index_that_counts_a_hundred_million(folder: Path) -> None:
    index = index_of([b"a.txt"], "0" * 40)
    data = index[:8] + struct.pack(">I", 100_000_000) + index[12:-20]
    (folder / ".git/index").write_bytes(data + hashlib.sha1(data).digest())


def index_with_an_unknown_extension(folder: Path) -> None:
    data = (folder / ".git/index").read_bytes()[:-20] + b"evil" + struct.pack(">I", 4) + b"xxxx"
    (folder / ".git/index").write_bytes(data + hashlib.sha1(data).digest())


def index_with_a_bad_name_length(folder: Path) -> None:
    data = index_of([b"a.txt"], "0" * 40)
    data = data[:72] + b"\x0f\xfe" + data[74:-20]
    (folder / ".git/index").write_bytes(data + hashlib.sha1(data).digest())


no_index = all_but("status", "unstaged diff", "staged diff")
cases(
    "G46",
    {
        function.__name__: damaged(function, no_index, *STATUS)
        for function in (
            index_of_garbage,
            index_cut_short,
            index_that_counts_four_billion,
            index_that_counts_a_hundred_million,
            index_with_an_unknown_extension,
        )
    },
)


def nonsense(damage: Callable[[Path], None]) -> Callable[[Scene], Trap]:
    """Damage that plain git does not see: what it says of it is nonsense, and so is what we say, but nothing more."""

    def make(scene: Scene) -> Trap:
        damage(scene.repository)
        plain = scene.shows(" M a.txt", *STATUS)
        return Trap(lambda: not plain(), branch_is_main, memory=200)

    return make


def branch_is_main(snapshot: GitSnapshot) -> None:
    assert snapshot.active_branch in ("main", "")


def index_cut_in_an_entry(folder: Path) -> None:
    os.truncate(folder / ".git/index", 50)


cases(
    "G46",
    {function.__name__: nonsense(function) for function in (index_cut_in_an_entry, index_with_a_bad_name_length)},
)


def pack_with_other_bytes(folder: Path) -> None:
    git(folder, "gc", "--quiet", "--prune=now")
    [pack] = (folder / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    data[20:-20] = bytes(byte ^ 0x55 for byte in data[20:-20])
    pack.write_bytes(data)


def pack_cut_short(folder: Path) -> None:
    git(folder, "gc", "--quiet", "--prune=now")
    [pack] = (folder / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o644)
    os.truncate(pack, 30)


def pack_index_of_garbage(folder: Path) -> None:
    git(folder, "gc", "--quiet", "--prune=now")
    [index] = (folder / ".git/objects/pack").glob("*.idx")
    index.chmod(0o644)
    index.write_bytes(b"\xfftOc" + b"\xff" * 2000)


def commit_of_garbage(folder: Path) -> None:
    digest = git(folder, "rev-parse", "HEAD")
    path = folder / ".git/objects" / digest[:2] / digest[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"commit 9\0garbage!!"))


def objects_gone(folder: Path) -> None:
    shutil.rmtree(folder / ".git/objects")
    (folder / ".git/objects").mkdir()


cases(
    "G46",
    {
        function.__name__: damaged(function, right_or_noted, "log")
        for function in (
            pack_with_other_bytes,
            pack_cut_short,
            pack_index_of_garbage,
            commit_of_garbage,
            objects_gone,
        )
    },
)


@case("G46")
def commit_of_another_kind(scene: Scene) -> Trap:
    blob = git(scene.repository, "rev-parse", "HEAD:a.txt")
    (scene.repository / ".git/refs/heads/main").write_text(f"{blob}\n")

    def says(snapshot: GitSnapshot) -> None:
        assert (snapshot.status, snapshot.diff, snapshot.recent_commits) == ("", "", ())
        assert [note.detail for note in snapshot.notes] == [
            f"no {name}: {FAILED}" for name in ("status", "staged diff")
        ]

    return Trap(scene.fails(*STATUS), says, memory=200)


@case("G46")
def commit_graph_that_lies(scene: Scene) -> Trap:
    """A commit graph with other parents: what is said is right, or noted, and nothing breaks."""
    scene.commit("second")
    git(scene.repository, "commit-graph", "write", "--reachable")
    path = scene.repository / ".git/objects/info/commit-graph"
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[8:] = bytes(byte ^ 0x55 for byte in data[8:])
    path.write_bytes(data)
    return Trap(scene.fails("commit-graph", "verify"), right_or_noted, memory=200)


# G47: little on the disk, much in memory or time.
@case("G47")
def settings_without_end(scene: Scene) -> Trap:
    append(scene.repository / ".git/config", "[a]\n" + "b = x\n" * 170_000)
    return Trap(scene.shows("a.b=x", "config", "--list"), right())


def bomb(folder: Path, kind: str, begin: bytes) -> str:
    """Write an object of a gigabyte as a file of one megabyte, and return its name, which git does not check here."""
    block = b" \n" * (1 << 19)
    header = f"{kind} {len(begin) + (len(block) << 10)}\0".encode() + begin
    packer = zlib.compressobj(9)
    data = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    data += (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)) * 1024  # each stands for itself
    name = "1" * 40
    path = folder / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir()
    path.write_bytes(data + packer.flush())
    return name


@case("G47")
def commit_that_unpacks_to_a_gigabyte(scene: Scene) -> Trap:
    name = bomb(scene.repository, "commit", git(scene.repository, "cat-file", "commit", "HEAD").encode() + b"\n")
    (scene.repository / ".git/refs/heads/main").write_text(f"{name}\n")
    return Trap(scene.is_slow("log", "-1", seconds=0.3), right_or_noted, timeout=SHORT, memory=1200)


@case("G47")
def file_that_unpacks_to_a_gigabyte(scene: Scene) -> Trap:
    scene.set({"core.bigFileThreshold": "8g"})
    name = bomb(scene.repository, "blob", b"")
    git(scene.repository, "update-index", "--add", "--cacheinfo", f"100644,{name},bomb")
    return Trap(scene.is_slow("diff", "--stat", "--cached", seconds=0.3), right_or_noted, timeout=SHORT, memory=1200)


@case("G47")
def pattern_that_never_ends(scene: Scene) -> Trap:
    """A pattern of many stars takes time that doubles with each of them."""
    scene.commit("ignore", {".gitignore": "**/" * 14 + "b\n"})
    write(scene.repository, {"a/" * 40 + "x": ""})
    return Trap(scene.is_slow(*STATUS), all_but("status", commits=2), timeout=1.0, mended=True)


def spoil_index(folder: Path, data: bytes) -> None:
    """Put data at the end of an index, in place of its checksum, and an extension that no git knows."""
    index = folder / ".git/index"
    index.write_bytes(index.read_bytes()[:-20] + data + b"evil" + bytes(4))


def index_as_large_as(size: int, timeout: float, says: Says) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        spoil_index(scene.repository, b"")
        os.truncate(scene.repository / ".git/index", size)
        return Trap(scene.fails(*STATUS), says, timeout=timeout, memory=300)

    return make


cases(
    "G47",
    {
        "index_of_sixteen_gigabytes": index_as_large_as(1 << 34, 2.0, unavailable("larger than 536870912 bytes")),
        "index_of_half_a_gigabyte": index_as_large_as((1 << 29) - 1, 2.0, unavailable("too large to be used in time")),
        "index_of_a_hundred_megabytes": index_as_large_as(100 << 20, UNHURRIED, no_index),
        "index_too_large_for_a_short_time": index_as_large_as(
            100 << 20, SHORT, unavailable("too large to be used in time")
        ),
    },
)


def shared_indexes(scene: Scene, count: int) -> list[str]:
    names = [hashlib.sha1(b"%d" % number).hexdigest() for number in range(count)]
    for name in names:
        (scene.repository / f".git/sharedindex.{name}").touch()
    return names


@case("G47")
def index_that_shares_many(scene: Scene) -> Trap:
    """Each of the halves that a split index claims to have is as large as may be."""
    names = shared_indexes(scene, 4)
    for name in names:
        os.truncate(scene.repository / f".git/sharedindex.{name}", (1 << 29) - 1)
    links = b"".join(b"link" + struct.pack(">I", 28) + bytes.fromhex(name) + bytes(8) for name in names)
    spoil_index(scene.repository, links)
    return Trap(scene.fails(*STATUS), unavailable("more than one"), timeout=SHORT, memory=200)


@case("G47")
def halves_that_nobody_names(scene: Scene) -> Trap:
    """Thousands of halves beside a large index: looking for their names takes no longer than reading it."""
    shared_indexes(scene, 3_000)
    spoil_index(scene.repository, b"")
    os.truncate(scene.repository / ".git/index", 20 << 20)
    return Trap(scene.fails(*STATUS), no_index, timeout=UNHURRIED, memory=200)


@case("G47")
def index_full_of_links(scene: Scene) -> Trap:
    """The word by which a half is named, millions of times."""
    shared_indexes(scene, 3)
    spoil_index(scene.repository, b"evil" + bytes(4) + b"link\0\0\0\x14" * (2 << 20))
    return Trap(scene.fails(*STATUS), no_index, timeout=UNHURRIED, memory=300)


@case("G47")
def folders_without_end(scene: Scene) -> Trap:
    """Folders in folders, almost deeper than a path may be long."""
    depth = (os.pathconf(scene.repository, "PC_PATH_MAX") - len(str(scene.repository)) - 300) // 201
    write(scene.repository, {"/".join(["d" * 200] * depth + ["file"]): ""})
    return Trap(scene.shows(f"?? {'d' * 200}/", *STATUS), right(status=f" M a.txt\n?? {'d' * 200}/\n"))


# G49: files that change under us while we read them.
@case("G49")
def swapped_while_it_is_read(scene: Scene) -> Trap:
    """Index, HEAD and configuration are pipes, links and files in turn: never a wait, never another's words."""
    private = make_repository(scene.folder / "private")
    commit(private, "the secret plan", {"id_rsa": "secret\n"})
    git_dir = scene.repository / ".git"
    good = {name: (git_dir / name).read_bytes() for name in ("index", "HEAD", "config", "refs/heads/main")}

    @contextmanager
    def swapping() -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=swap, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def swap(stop: threading.Event) -> None:
        pipe, link, file = (scene.folder / f"swap-{kind}" for kind in ("pipe", "link", "file"))
        while not stop.is_set():
            for name, data in good.items():
                os.mkfifo(pipe)
                os.replace(pipe, git_dir / name)
                link.symlink_to(private / ".git" / name)
                os.replace(link, git_dir / name)
                file.write_bytes(data)
                os.replace(file, git_dir / name)

    def fires() -> bool:
        (git_dir / "HEAD").unlink()
        os.mkfifo(git_dir / "HEAD")
        fired = scene.waits(git_dir / "HEAD", *EVERY)()
        (git_dir / "HEAD").unlink()
        (git_dir / "HEAD").write_bytes(good["HEAD"])
        return fired

    return Trap(
        fires,
        lambda _snapshot: None,
        timeout=SHORT,
        turns=60,
        secrets=("the secret plan", "id_rsa"),
        changing=lambda path: path.startswith("repository/.git"),
        during=swapping,
        steady=False,
    )
