"""Reading one file below a root that may be hostile, by descriptors and by the portable way."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from deepprompt.errors import DeepPromptError, FileRefusedError, SourceError
from deepprompt.prompt import Note
from deepprompt.sources import files
from deepprompt.sources.files import clean_path, read_below, refuse_claude, search_roots, shown_path
from deepprompt.words import RefusalKind
from tests.support.hostile.doors import unprivileged

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links, FIFOs and sockets")

CLAUDE = "CLAUDE files belong to another agent and are never loaded"
NOT_REGULAR = "not a regular file"
OUT = "leads out of its root"
NOT_READ = (b"(missing)", b"(outside)", b"(refused)", b"(replaced)", b"(unreadable)")
MISSING = "there is no such file"

# The links of the world below, by the path of the link.
LINKS = {
    "inside.md": "docs/x.md",
    "docs/up.md": "../plain.md",
    "absolute.md": "{ROOT}/docs/x.md",
    "by-alias.md": "{ALIAS}/docs/x.md",
    "folder": "docs",
    "two-folders": "folder",
    "dots.md": "./docs//./x.md",
    "via": "deep/er",
    "after-a-link.md": "via/../here.md",
    "up-through-a-link.md": "via/../../plain.md",
    "dangling.md": "gone.md",
    "secret.md": "../secret.md",
    "secret-absolute.md": "{OUTSIDE}/secret.md",
    "secret-chain.md": "secret.md",
    "outside": "../outside",
    "sibling": "../root-of-another",
    "dangling-outside.md": "../gone.md",
    "there-and-back.md": "../outside/back.md",
    "zero": "/dev/zero",
    "to-fifo": "fifo",
    "to-folder": "docs",
    "agent.md": "CLAUDE.md",
    "through-a-link.md": "CLAUDE.link",
    "CLAUDE.link": "docs/x.md",
    "into-a-folder.md": ".claude/x.md",
}

READABLE = {
    "plain": ("plain.md", b"plain"),
    "empty": ("empty.md", b""),
    "in-a-folder": ("docs/x.md", b"x"),
    "not-clean": ("docs/../docs/./x.md", b"x"),
    "link-inside": ("inside.md", b"x"),
    "link-upwards-inside": ("docs/up.md", b"plain"),
    "absolute-link-inside": ("absolute.md", b"x"),
    "absolute-link-inside-by-another-name-of-the-root": ("by-alias.md", b"x"),
    "linked-folder": ("folder/x.md", b"x"),
    "link-to-a-linked-folder": ("two-folders/x.md", b"x"),
    "link-with-dots": ("dots.md", b"x"),
    "link-that-turns-back-after-a-link": ("after-a-link.md", b"here"),
    "link-that-turns-back-twice-after-a-link": ("up-through-a-link.md", b"plain"),
    "hard-link": ("hard.md", b"plain"),
    "name-in-nfd": ("e\u0301.md", b"nfd"),
    "name-that-is-not-utf8": (os.fsdecode(b"\xff.md"), b"ff"),
}

REFUSED = {
    "missing": ("gone.md", "missing", MISSING),
    "missing-folder": ("gone/x.md", "missing", MISSING),
    "file-as-folder": ("plain.md/x.md", "missing", MISSING),
    "dangling-link": ("dangling.md", "missing", MISSING),
    "the-root": (".", "refused", NOT_REGULAR),
    "nothing": ("", "refused", NOT_REGULAR),
    "upwards": ("../secret.md", "outside", OUT),
    "upwards-later": ("docs/../../secret.md", "outside", OUT),
    "absolute": ("/etc/passwd", "outside", OUT),
    "sibling-with-the-same-beginning": ("../root-of-another/secret.md", "outside", OUT),
    "link-out": ("secret.md", "outside", OUT),
    "absolute-link-out": ("secret-absolute.md", "outside", OUT),
    "link-to-a-link-out": ("secret-chain.md", "outside", OUT),
    "linked-folder-out": ("outside/secret.md", "outside", OUT),
    "linked-sibling": ("sibling/secret.md", "outside", OUT),
    "dangling-link-out": ("dangling-outside.md", "outside", OUT),
    "link-out-and-back": ("there-and-back.md", "outside", OUT),
    "link-to-a-device": ("zero", "outside", OUT),
    "fifo": ("fifo", "refused", NOT_REGULAR),
    "link-to-a-fifo": ("to-fifo", "refused", NOT_REGULAR),
    "socket": ("socket", "refused", NOT_REGULAR),
    "folder": ("docs", "refused", NOT_REGULAR),
    "link-to-a-folder": ("to-folder", "refused", NOT_REGULAR),
    "claude": ("CLAUDE.md", "forbidden", CLAUDE),
    "claude-folder": (".claude/x.md", "forbidden", CLAUDE),
    "link-to-claude": ("agent.md", "forbidden", CLAUDE),
    "link-through-a-link-named-claude": ("through-a-link.md", "forbidden", CLAUDE),
    "link-into-a-claude-folder": ("into-a-folder.md", "forbidden", CLAUDE),
    "name-too-long": ("n" * 300, "unreadable", f"cannot be read: {os.strerror(errno.ENAMETOOLONG)}"),
}

CLAUDE_NAMES = {
    "plain": "CLAUDE.md",
    "mixed-case": "docs/cLaUdE.MD",
    "folder": ".claude/instructions.md",
    "part-of-a-name": "my-claude-notes.md",
    "local": "CLAUDE.local.md",
    "full-width": "ＣＬＡＵＤＥ.md",
    "circled": "Ⓒⓛⓐⓤⓓⓔ.md",
    "mathematical": "𝐂𝐋𝐀𝐔𝐃𝐄.md",
    "zwsp": "CLA\u200bUDE.md",
    "soft-hyphen": "CLAU\xadDE.md",
    "tag": "C\U000e0041LAUDE.md",
    "trailing-dot": "CLAUDE.md.",
    "short-name": "CLAUDE~1.MD",
}
OTHER_NAMES = ["AGENTS.md", "DEEPSEEK.md", "cla/ude.md", "CLUADE.md", "größe.md", "日本語.md", "cloud.md"]

CLEAN = {
    "/a/b": "/a/b",
    "/a/b/": "/a/b",
    "/a//b/./c/..": "/a/b",
    "//a": "/a",
    "///a": "/a",
    "/": "/",
    "/..": "/",
    "a/../..": "..",
    "": ".",
}

ROOTS = {
    "no-home": ("/srv/app", "", ["/srv/app"]),
    "both": ("/srv/app", "/home/me", ["/srv/app", "/home/me"]),
    "same": ("/srv/app", "/srv/app", ["/srv/app"]),
    "same-once-clean": ("/srv/./app/", "//srv/app", ["/srv/app"]),
    "relative": (".", "..", [".", ".."]),
}


def nothing(_: str) -> None:
    """Let every path pass."""


@pytest.fixture(params=[True, False], ids=["walking", "portable"])
def walks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Read with descriptors of folders, and then as on a system that has none."""
    if request.param and not files._WALKS:
        pytest.skip("this system cannot open relative to a folder")
    monkeypatch.setattr(files, "_WALKS", request.param)
    return bool(request.param)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root for a test that changes it, and the current folder."""
    alias = make_root(tmp_path)
    monkeypatch.chdir(alias)
    return alias


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of all tests that only read."""
    return make_root(tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root that is only read, and the current folder."""
    monkeypatch.chdir(made)
    return made


def make_root(tmp_path: Path) -> Path:
    """Make a root with files, links and things that are neither, next to secrets; return an alias of it."""
    root = tmp_path / "root"
    for folder in ("root/docs", "root/deep/er", "root/.claude", "outside", "root-of-another"):
        (tmp_path / folder).mkdir(parents=True)
    for path in ("secret.md", "outside/secret.md", "root-of-another/secret.md"):
        (tmp_path / path).write_bytes(b"secret")
    for path, data in {"plain.md": b"plain", "empty.md": b"", "docs/x.md": b"x", "deep/here.md": b"here"}.items():
        (root / path).write_bytes(data)
    for path in ("CLAUDE.md", ".claude/x.md", "here.md"):
        (root / path).write_bytes(b"not this one")
    (root / "e\u0301.md").write_bytes(b"nfd")
    Path(os.fsdecode(bytes(root) + b"/\xff.md")).write_bytes(b"ff")
    os.link(root / "plain.md", root / "hard.md")
    alias = tmp_path / "alias"
    alias.symlink_to("root")
    places = {"ROOT": root, "ALIAS": alias, "OUTSIDE": tmp_path / "outside"}
    for path, target in LINKS.items():
        (root / path).symlink_to(target.format(**places))
    (tmp_path / "outside/back.md").symlink_to(root / "docs/x.md")
    os.mkfifo(root / "fifo")
    # The address of a socket has room for a short path only.
    with contextlib.chdir(root), socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    return alias


def chain(folder: Path, links: int) -> None:
    """Make a file `0` and links `1`, `2` … each to the one before."""
    (folder / "0").write_bytes(b"end")
    for number in range(1, links + 1):
        (folder / str(number)).symlink_to(str(number - 1))


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize(("path", "data"), READABLE.values(), ids=READABLE)
def test_what_stays_below_the_root_is_read(world: Path, path: str, data: bytes) -> None:
    """A regular file is read, also through links that stay below the root."""
    contents = read_below(str(world), path, 100, refuse_claude)
    assert contents.data == data
    assert not contents.more
    assert contents.status.st_size == len(data)


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize(("path", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_a_file_below_the_root_is_refused(world: Path, path: str, kind: str, message: str) -> None:
    """What is missing, leads out, is no regular file or is another agent's gives an error that says so."""
    with pytest.raises(FileRefusedError) as caught:
        read_below(str(world), path, 100, refuse_claude)
    assert (caught.value.kind, str(caught.value)) == (kind, message)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize("path", ["a\0b", "\ud800.md"], ids=["nul", "surrogate"])
def test_a_name_that_no_file_can_have_is_unreadable(root: Path, path: str) -> None:
    """A path that cannot be passed to the system is an error of ours, with the system's reason."""
    with pytest.raises(FileRefusedError, match=r"^cannot be read: .*(null|no path has)") as caught:
        read_below(str(root), path, 100, nothing)
    assert caught.value.kind == "unreadable"


@pytest.mark.usefixtures("walks")
def test_a_missing_root_has_no_files(tmp_path: Path) -> None:
    """A root that does not exist is not an error of its own."""
    with pytest.raises(FileRefusedError, match=f"^{MISSING}$") as caught:
        read_below(str(tmp_path / "gone"), "AGENTS.md", 100, nothing)
    assert caught.value.kind == "missing"


@pytest.mark.usefixtures("walks")
def test_the_top_of_the_file_system_can_be_a_root(tmp_path: Path) -> None:
    """Below `/` a path has no doubled separator to stumble over."""
    (tmp_path / "a.md").write_bytes(b"a")
    assert read_below("/", str(tmp_path.resolve() / "a.md")[1:], 100, nothing).data == b"a"


def test_the_refusal_is_a_source_error() -> None:
    """A runtime can catch the refusal of a file together with every other error of ours."""
    error = FileRefusedError("missing", MISSING)
    assert isinstance(error, SourceError)
    assert isinstance(error, DeepPromptError)


def test_a_note_says_whether_a_file_could_not_or_may_not_be_read() -> None:
    """A file that cannot be read is skipped; any other is refused."""
    kinds = {kind: FileRefusedError(kind, "").note_kind for kind in get_args(RefusalKind)}
    assert [kind for kind in kinds if kinds[kind] == "skipped"] == ["missing", "unreadable"]
    assert set(kinds.values()) == {"skipped", "refused"}


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize(("size", "data", "more"), [(9, 9, False), (10, 10, False), (11, 10, True)])
def test_no_more_than_the_limit_is_read(tmp_path: Path, size: int, data: int, more: bool) -> None:
    """A file at the limit is whole; of a longer one the first bytes come, and that there are more."""
    (tmp_path / "a.md").write_bytes(b"a" * size)
    contents = read_below(str(tmp_path), "a.md", 10, nothing)
    assert (contents.data, contents.more) == (b"a" * data, more)


@pytest.mark.usefixtures("walks")
def test_a_huge_file_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    """Of 50 GiB only the first bytes are read."""
    (tmp_path / "huge.md").touch()
    try:
        os.truncate(tmp_path / "huge.md", 50 << 30)
    except OSError as error:
        pytest.skip(f"this file system has no sparse files: {error}")
    contents = read_below(str(tmp_path), "huge.md", 8000, nothing)
    assert (contents.data, contents.more) == (bytes(8000), True)


@pytest.mark.usefixtures("walks")
@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="needs /proc")
def test_a_file_gives_no_more_than_it_promised() -> None:
    """A file that says it is empty, as those of the kernel do, is empty."""
    contents = read_below("/proc/self", "environ", 8000, nothing)

    assert (contents.data, contents.more) == (b"", False)


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize("size", [0, 3])
def test_a_file_that_shrinks_while_it_is_read_gives_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """The end of the file ends the reading, whatever its size was."""
    (tmp_path / "a.md").write_bytes(b"a" * 10)
    fstat = os.fstat

    def shrink_afterwards(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        os.truncate(tmp_path / "a.md", size)
        return status

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", shrink_afterwards)
        contents = read_below(str(tmp_path), "a.md", 100, nothing)
    assert contents.data == b"a" * size


@pytest.mark.usefixtures("walks")
@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs devices")
def test_a_device_is_not_opened() -> None:
    """A device below the root is refused like anything that is no regular file."""
    with pytest.raises(FileRefusedError, match=f"^{NOT_REGULAR}$"):
        read_below("/dev", "null", 100, nothing)


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize(("name", "mode"), [("a.md", 0o000), (".", 0o644), ("folder", 0o644), ("folder", 0o000)])
def test_what_modes_forbid_is_unreadable(name: str, mode: int) -> None:
    """A file of mode 000, or in a folder that may not be entered, is an error with the system's reason."""
    with unprivileged() as folder:
        root = folder / "root"
        (root / "folder").mkdir(parents=True)
        (root / "a.md").touch()
        (root / "folder/a.md").touch()
        (root / name).chmod(mode)
        try:
            with pytest.raises(FileRefusedError) as caught:
                read_below(str(root), "folder/a.md" if name == "folder" else "a.md", 100, nothing)
        finally:
            root.chmod(0o755)
            (root / "folder").chmod(0o755)
    assert (caught.value.kind, str(caught.value)) == ("unreadable", f"cannot be read: {os.strerror(errno.EACCES)}")


@pytest.mark.usefixtures("walks")
def test_a_folder_that_may_be_entered_but_not_listed_is_enough() -> None:
    """Reading a file by its name needs no right to list the folders on the way."""
    with unprivileged() as folder:
        root = folder / "root"
        (root / "docs").mkdir(parents=True)
        (root / "docs/x.md").write_bytes(b"x")
        (root / "docs").chmod(0o311)
        root.chmod(0o311)
        try:
            assert read_below(str(root), "docs/x.md", 100, nothing).data == b"x"
        finally:
            root.chmod(0o755)
            (root / "docs").chmod(0o755)


@pytest.mark.usefixtures("walks")
def test_sixteen_links_in_a_row_are_followed(tmp_path: Path) -> None:
    """A chain of links as long as anybody needs leads to its file."""
    chain(tmp_path, 16)
    assert read_below(str(tmp_path), "16", 100, nothing).data == b"end"


@pytest.mark.skipif(not files._WALKS, reason="this system cannot open relative to a folder")
def test_a_longer_chain_of_links_is_refused(tmp_path: Path) -> None:
    """Seventeen links in a row are too many."""
    chain(tmp_path, 17)
    with pytest.raises(FileRefusedError, match=r"^too many links$") as caught:
        read_below(str(tmp_path), "17", 100, nothing)
    assert caught.value.kind == "refused"


@pytest.mark.usefixtures("walks")
@pytest.mark.parametrize("target", ["loop", "./other"])
def test_a_loop_of_links_is_refused(tmp_path: Path, target: str) -> None:
    """A link that leads to itself ends in a refusal, not in waiting."""
    (tmp_path / "loop").symlink_to(target)
    (tmp_path / "other").symlink_to("loop")
    with pytest.raises(FileRefusedError, match=f"^(too many links|{NOT_REGULAR})$") as caught:
        read_below(str(tmp_path), "loop", 100, nothing)
    assert caught.value.kind == "refused"


@pytest.mark.usefixtures("walks")
def test_every_path_on_the_way_is_asked_about(root: Path) -> None:
    """The question is put for the path asked for, each link on the way, and the path that is read."""
    asked: list[str] = []
    read_below(str(root), "two-folders/x.md", 100, asked.append)
    assert asked == ["two-folders/x.md", "two-folders", "folder", "docs/x.md"]


@pytest.mark.usefixtures("walks")
def test_the_root_itself_is_not_asked_about(tmp_path: Path) -> None:
    """A project in a folder whose name has `claude` in it is a project like any other."""
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude/AGENTS.md").write_bytes(b"a")
    assert read_below(str(tmp_path / "claude"), "AGENTS.md", 100, refuse_claude).data == b"a"


@pytest.mark.usefixtures("walks")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_descriptor_is_left_open(root: Path) -> None:
    """Whether a file is read or refused, everything that was opened is closed."""
    before = len(os.listdir("/proc/self/fd"))
    for path in [*(path for path, _ in READABLE.values()), *(path for path, _, _ in REFUSED.values())]:
        try:
            read_below(str(root), path, 100, refuse_claude)
        except FileRefusedError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


def swap_before_open(monkeypatch: pytest.MonkeyPatch, name: str, swap: Callable[[], None]) -> None:
    """Do something just before the file of that name is opened, as an attacker with good timing would."""
    real_open = os.open

    def swap_and_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if os.path.basename(path) == name:
            swap()
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_and_open)


# What the file or folder is swapped for, and what becomes of the reading, walking and portable.
REPLACED = "it was replaced while it was being opened"
LOOPS = f"cannot be read: {os.strerror(errno.ELOOP)}"
SWAPS: dict[str, tuple[Callable[[Path, Path], None], str, str]] = {
    "fifo": (lambda file, _: os.mkfifo(file), REPLACED, REPLACED),
    "link-out": (lambda file, outside: file.symlink_to(outside / "x.md"), LOOPS, LOOPS),
    "nothing": (lambda *_: None, MISSING, MISSING),
}


@pytest.mark.parametrize(("make", "walking", "portable"), SWAPS.values(), ids=SWAPS)
def test_what_is_swapped_in_before_the_open_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    walks: bool,
    make: Callable[[Path, Path], None],
    walking: str,
    portable: str,
) -> None:
    """A file that becomes something else between the look and the open is not read and not waited for."""
    file, outside = tmp_path / "root/x.md", tmp_path / "outside"
    for folder in (file.parent, outside):
        folder.mkdir()
        (folder / "x.md").write_bytes(b"bytes")

    def swap() -> None:
        file.rename(tmp_path / "parked")
        make(file, outside)

    with monkeypatch.context() as patch:
        swap_before_open(patch, "x.md", swap)
        with pytest.raises(FileRefusedError, match=f"^{re.escape(walking if walks else portable)}$"):
            read_below(str(file.parent), "x.md", 100, nothing)


def test_another_file_is_not_taken_for_the_one_that_was_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be walked, a file that is not the one looked at is refused."""
    (tmp_path / "x.md").write_bytes(b"old")
    (tmp_path / "new.md").write_bytes(b"new")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_WALKS", False)
        swap_before_open(patch, "x.md", lambda: os.replace(tmp_path / "new.md", tmp_path / "x.md"))
        with pytest.raises(FileRefusedError, match=f"^{REPLACED}$") as caught:
            read_below(str(tmp_path), "x.md", 100, nothing)
    assert caught.value.kind == "replaced"


@pytest.mark.skipif(not files._WALKS, reason="this system cannot open relative to a folder")
def test_a_folder_that_becomes_a_link_is_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that takes a folder's place between the look and the open leads nowhere."""
    for folder in ("root/docs", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.md").write_bytes(b"bytes")
    docs = tmp_path / "root/docs"

    def swap() -> None:
        docs.rename(tmp_path / "parked")
        docs.symlink_to(tmp_path / "outside")

    with monkeypatch.context() as patch:
        swap_before_open(patch, "docs", swap)
        with pytest.raises(FileRefusedError, match=f"^{MISSING}$"):
            read_below(str(tmp_path / "root"), "docs/x.md", 100, nothing)


def outcomes(root: Path, path: str, swap: Callable[[], None], times: int) -> set[bytes]:
    """Read a file again and again while another thread swaps; return what came back."""
    stop = threading.Event()

    def swapping() -> None:
        try:
            for _ in range(times):
                swap()
        finally:
            stop.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=swapping)
    thread.start()
    seen: set[bytes] = set()
    try:
        while not stop.is_set():
            try:
                seen.add(read_below(str(root), path, 100, nothing).data)
            except FileRefusedError as error:
                seen.add(f"({error.kind})".encode())
    finally:
        thread.join()
        sys.setswitchinterval(interval)
    seen.add(read_below(str(root), path, 100, nothing).data)
    return seen


@pytest.mark.slow
@pytest.mark.usefixtures("walks")
def test_a_file_swapped_with_a_link_never_gives_outside_bytes(tmp_path: Path) -> None:
    """However a file and a link to a secret change places, the secret is never read."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_bytes(b"outside")
    (root / "AGENTS.md").write_bytes(b"inside")

    def swap() -> None:
        (root / "link").symlink_to(tmp_path / "secret")
        os.replace(root / "link", root / "AGENTS.md")
        (root / "file").write_bytes(b"inside")
        os.replace(root / "file", root / "AGENTS.md")

    assert outcomes(root, "AGENTS.md", swap, 2000) <= {b"inside", *NOT_READ}


@pytest.mark.slow
@pytest.mark.skipif(not files._WALKS, reason="this system cannot open relative to a folder")
def test_a_folder_swapped_with_a_link_never_gives_outside_bytes(tmp_path: Path) -> None:
    """However a folder and a link to another change places, nothing outside the root is read."""
    root = tmp_path / "root"
    for folder, data in ((root / ".deepseek", b"inside"), (tmp_path / "outside", b"outside")):
        folder.mkdir(parents=True)
        (folder / "instructions.md").write_bytes(data)

    def swap() -> None:
        (root / ".deepseek").rename(root / "parked")
        (root / ".deepseek").symlink_to(tmp_path / "outside")
        (root / ".deepseek").unlink()
        (root / "parked").rename(root / ".deepseek")

    assert outcomes(root, ".deepseek/instructions.md", swap, 2000) <= {b"inside", *NOT_READ}


@pytest.mark.parametrize("path", CLAUDE_NAMES.values(), ids=CLAUDE_NAMES)
def test_claude_is_refused_in_every_disguise(path: str) -> None:
    """A path that spells `claude` in any case, width or disguise is refused with the reason."""
    assert refuse_claude(path) == CLAUDE


@pytest.mark.parametrize("path", OTHER_NAMES)
def test_other_names_are_not_refused(path: str) -> None:
    """A path that does not spell `claude` within one component may be read."""
    assert refuse_claude(path) is None


@pytest.mark.parametrize(("path", "clean"), CLEAN.items())
def test_clean_path_is_the_shortest_spelling(path: str, clean: str) -> None:
    """Paths are cleaned as Go cleans them, with one separator at the start."""
    assert clean_path(path) == clean


def test_shown_path_shows_what_is_hidden() -> None:
    """Bytes that are not UTF-8 and hidden characters of a path are made visible, and both are noted."""
    notes: list[Note] = []
    assert shown_path("/a\udcff/b\u202e/c", notes) == "/a\ufffd/b⟨U+202E⟩/c"
    assert [(note.kind, note.source, note.offset, note.count) for note in notes] == [
        ("replaced", "path", 2, 1),
        ("neutralised", "path", 5, 1),
    ]
    assert notes[1].detail == "hidden U+202E"


def test_shown_path_is_utf8_whatever_the_locale_is() -> None:
    """A name that Python could not decode by its locale is shown as what its bytes say, and is nothing to note."""
    notes: list[Note] = []
    assert shown_path("/caf\udcc3\udca9", notes) == "/café"
    assert notes == []


def test_shown_path_takes_surrogates_that_no_system_gives() -> None:
    """A lone surrogate that stands for no byte is replaced and noted like one in any argument."""
    notes: list[Note] = []
    assert shown_path("/a\ud800", notes) == "/a\ufffd"
    assert notes == [Note("replaced", "path", "lone surrogates, by U+FFFD", 2, 1)]


@pytest.mark.parametrize(("cwd", "home", "roots"), ROOTS.values(), ids=ROOTS)
def test_search_roots_are_cwd_then_home(cwd: str, home: str, roots: list[str]) -> None:
    """The project comes first, and home only if it is given and another folder."""
    assert search_roots(cwd, home) == roots
