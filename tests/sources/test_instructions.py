"""Instruction files: which are loaded, what is made of their text, and what the notes say of the rest."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.sources import files
from deepprompt.sources.instructions import (
    FILE_LIMIT,
    TOTAL_LIMIT,
    WHITELIST,
    InstructionFile,
    InstructionFiles,
    load_instruction_files,
)
from deepprompt.text.hygiene import TRUNCATION_MARKER
from deepprompt.words import NoteKind
from tests.support.examples import examples
from tests.support.layout import lay_out

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links, FIFOs and sockets")

CLAUDE = "CLAUDE files belong to another agent and are never loaded"
NOT_REGULAR = "not a regular file"
OUT = "leads out of its root"

# Names that are not on the whitelist, however close they come.
OTHER_NAMES = {
    "lower-case": "agents.md",
    "claude": "CLAUDE.md",
    "claude-mixed-case": "Claude.md",
    "cyrillic": "АGENTS.md",
    "full-width": "ＡＧＥＮＴＳ.md",
    "zwsp": "AGENTS\u200b.md",
    "bare-instructions": "instructions.md",
    "below": "docs/AGENTS.md",
    "override": "AGENTS.override.md",
}


def bind(path: Path) -> None:
    """Make a socket; its address has room for a short path only."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def only_a_bom(path: Path) -> None:
    """Make a file as some editors save an empty one."""
    path.write_bytes(b"\xef\xbb\xbf")


def link(target: str) -> Callable[[Path], None]:
    """Return what makes a link to a target."""
    return lambda path: path.symlink_to(target)


def sparse(path: Path) -> None:
    """Make a file of 50 GiB that takes no room."""
    path.touch()
    os.truncate(path, 50 << 30)


# What AGENTS.md may be instead of a file with text, and the note about it.
UNUSABLE: dict[str, tuple[Callable[[Path], None], NoteKind, str]] = {
    "empty": (lambda path: path.touch(), "skipped", "it is empty"),
    "only-a-bom": (only_a_bom, "skipped", "it is empty"),
    "folder": (lambda path: path.mkdir(), "refused", NOT_REGULAR),
    "fifo": (lambda path: os.mkfifo(path), "refused", NOT_REGULAR),
    "socket": (bind, "refused", NOT_REGULAR),
    "link-to-a-secret": (link("../home/secret"), "refused", OUT),
    "link-to-a-device": (link("/dev/zero"), "refused", OUT),
    "link-to-claude": (link("CLAUDE.md"), "refused", CLAUDE),
    "link-to-claude-in-a-folder": (link(".claude/AGENTS.md"), "refused", CLAUDE),
    "link-to-a-link-to-claude": (link("docs/y.md"), "refused", CLAUDE),
}

# The text of a file, and what is loaded of it.
LOADED = {
    "text": (b"Do it.\n", "Do it.\n"),
    "white-space": (b" \n\t", " \n\t"),
    "bom": (b"\xef\xbb\xbfa", "a"),
    "mixed-line-ends": (b"a\r\nb\rc\n", "a\nb\nc\n"),
    "utf-16": (b"\xff\xfeh\x00i\x00", "\ufffd\ufffdh⟨U+0000⟩i⟨U+0000⟩"),
    "hidden": ("a\u200bb".encode(), "a⟨U+200B⟩b"),
    "persian": ("می‌خواهم".encode(), "می‌خواهم"),
    "include-is-only-text": (b"$$include CLAUDE.md\n", "$$include CLAUDE.md\n"),
}

# The text of a file, the text that is loaded, without the marker it gets.
CUT = {
    "one-over": (b"a" * 4001, "a" * 4000),
    "a-character-in-two": (b"a" * 3998 + "🐘".encode(), "a" * 3998),
    "hidden-grows-over-the-limit": ("\u200b".encode() * 501, "⟨U+200B⟩" * 333 + "⟨U"),
    "far-over": (b"a" * 100_000, "a" * 4000),
    "windows-line-ends-beyond-what-is-read": (b"\r\n" * 5000, "\n" * 4000),
    "bom-and-windows-line-ends-beyond-what-is-read": (b"\xef\xbb\xbf" + b"\r\n" * 5000, "\n" * 3999),
    "a-character-in-two-where-reading-stops": (b"\r\n" * 3999 + b"\r" + "🐘".encode() * 9, "\n" * 4000),
}

WHOLE = {
    "at-the-limit": b"a" * 4000,
    "windows-line-ends-do-not-count": b"aaa\r\n" * 1000,
    "bom-does-not-count": b"\xef\xbb\xbf" + b"a" * 4000,
}


# Files that are no text, and how many bytes of what is read no text has.
BINARY = {
    "zeros": (bytes(600), 600),
    "every-byte": (bytes(range(256)) * 40, 4_767),
    "utf-16": (("\ufeff" + "Do it. " * 100).encode("utf-16-le"), 702),
    "sound": (bytes(range(128, 192)) * 20, 1_280),
}
TEXTS = {
    "latin-1": ("Prüfe zuerst die Änderung. " * 300).encode("latin-1"),
    "chinese": ("先检查更改。" * 300).encode(),
    "escapes": ("\x1b[1mBold\x1b[0m\ttab\x0c\n" * 100).encode(),
    "few-bytes": b"\xff\x00" * 255,
    "a-null-byte": b"Be brief. " * 200 + b"\0",
}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """Make a project with another agent's files, beside a home with a secret."""
    cwd = tmp_path / "cwd"
    for folder in ("cwd/.claude", "cwd/docs", "home"):
        (tmp_path / folder).mkdir(parents=True)
    for path in ("cwd/CLAUDE.md", "cwd/.claude/AGENTS.md", "home/secret"):
        (tmp_path / path).write_text("not for us")
    (cwd / "docs/x.md").write_text("inside")
    (cwd / "docs/y.md").symlink_to("../CLAUDE.md")
    return cwd


def test_an_empty_cwd_is_an_error() -> None:
    """Without a folder there is nothing to look in, and the error says what to pass."""
    with pytest.raises(SourceError, match=r"^load_instruction_files: empty cwd; pass the project's folder$"):
        load_instruction_files("", "/home/me")


@pytest.mark.seed("003.6")
def test_the_limits_and_the_whitelist_are_part_of_the_format() -> None:
    """Three names in a fixed order, 4,000 bytes a file and 12,000 in all."""
    assert WHITELIST == ("DEEPSEEK.md", "AGENTS.md", ".deepseek/instructions.md")
    assert (FILE_LIMIT, TOTAL_LIMIT) == (4_000, 12_000)


@pytest.mark.parametrize(
    ("name", "detail"),
    [("gone", "there is no such folder"), ("file", "it is a file; pass the folder that it lies in")],
)
def test_a_missing_project_is_noted(tmp_path: Path, name: str, detail: str) -> None:
    """Where the project's folder is none, its files are not just absent: a note says so, and the home's are loaded."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "AGENTS.md").write_text("Be kind.")
    loaded = load_instruction_files(tmp_path / name, tmp_path)
    assert [file.content for file in loaded] == ["Be kind."]
    assert loaded.notes[0] == Note("skipped", str(tmp_path / name), detail)


@pytest.mark.seed("003.11")
def test_missing_files_are_nothing_to_note(tmp_path: Path) -> None:
    """A project without instruction files gives an empty list without notes."""
    loaded = load_instruction_files(tmp_path, tmp_path / "gone")
    assert loaded == []
    assert loaded.notes == ()


@pytest.mark.seed("003.6")
@pytest.mark.parametrize("name", OTHER_NAMES.values(), ids=OTHER_NAMES)
def test_only_the_whitelist_is_loaded(tmp_path: Path, name: str) -> None:
    """A name that is not on the list is not even looked at."""
    (tmp_path / "docs").mkdir()
    (tmp_path / name).write_text("x")
    if name == "agents.md" and (tmp_path / "AGENTS.md").exists():
        pytest.skip("this file system does not tell upper from lower case")
    loaded = load_instruction_files(tmp_path)
    assert loaded == []
    assert loaded.notes == ()


def test_the_parent_folder_is_not_searched(tmp_path: Path) -> None:
    """A file above the project is not its instruction."""
    (tmp_path / "AGENTS.md").write_text("x")
    (tmp_path / "cwd").mkdir()
    assert load_instruction_files(tmp_path / "cwd") == []


@pytest.mark.parametrize(("data", "text"), LOADED.values(), ids=LOADED)
def test_text_is_loaded_as_it_will_appear(cwd: Path, data: bytes, text: str) -> None:
    """A file's text has Unix line ends, no BOM, and nothing hidden."""
    (cwd / "AGENTS.md").write_bytes(data)
    assert load_instruction_files(cwd) == [InstructionFile(str(cwd / "AGENTS.md"), text)]


def test_what_was_changed_in_a_text_is_noted_by_its_path(cwd: Path) -> None:
    """Notes about bytes and characters name the file that they are in."""
    path = cwd / "AGENTS.md"
    path.write_bytes(b"a\xff" + "\u200b".encode())
    assert load_instruction_files(cwd).notes == (
        Note("replaced", str(path), "bytes that are not UTF-8, by U+FFFD", 1, 1),
        Note("neutralised", str(path), "hidden U+200B", 2, 1),
    )


@pytest.mark.seed("003.10")
@pytest.mark.parametrize("walks", [True, False], ids=["walking", "portable"])
@pytest.mark.parametrize(("make", "kind", "detail"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used_is_noted_and_does_not_hide_the_home_copy(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], kind: NoteKind, detail: str, walks: bool
) -> None:
    """A file that is empty or may not be read is passed over with a note, and home's is loaded."""
    monkeypatch.setattr(files, "_WALKS", walks and files._WALKS)
    make(cwd / "AGENTS.md")
    home = cwd.parent / "home"
    (home / "AGENTS.md").write_text("home")
    loaded = load_instruction_files(cwd, home)
    assert loaded == [InstructionFile(str(home / "AGENTS.md"), "home")]
    assert loaded.notes == (Note(kind, str(cwd / "AGENTS.md"), detail),)


def test_a_dangling_link_is_a_missing_file(cwd: Path) -> None:
    """A link to nothing inside the project is passed over like a file that is not there."""
    (cwd / "AGENTS.md").symlink_to("gone.md")
    loaded = load_instruction_files(cwd)
    assert loaded == []
    assert loaded.notes == ()


def test_a_linked_folder_out_of_the_project_is_refused(cwd: Path) -> None:
    """The folder of the third name may not be a link to somewhere else."""
    (cwd.parent / "home/instructions.md").write_text("outside")
    (cwd / ".deepseek").symlink_to("../home")
    loaded = load_instruction_files(cwd)
    assert loaded == []
    assert loaded.notes == (Note("refused", str(cwd / ".deepseek/instructions.md"), OUT),)


@pytest.mark.seed("003.11")
def test_a_file_that_cannot_be_read_is_skipped_with_the_reason(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system refuses is a note, and the other files are loaded."""
    (cwd / "DEEPSEEK.md").write_text("x")
    (cwd / "AGENTS.md").write_text("y")
    real_open = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if os.path.basename(path) == "DEEPSEEK.md":
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        loaded = load_instruction_files(cwd)
    assert [file.content for file in loaded] == ["y"]
    assert loaded.notes == (Note("skipped", str(cwd / "DEEPSEEK.md"), "cannot be read: Permission denied"),)


def test_a_link_inside_the_project_is_followed(cwd: Path) -> None:
    """A link is shown by its own name and gives the text of the file that it leads to."""
    (cwd / "AGENTS.md").symlink_to("docs/x.md")
    assert load_instruction_files(cwd) == [InstructionFile(str(cwd / "AGENTS.md"), "inside")]


def test_a_hard_link_is_loaded_with_a_warning(cwd: Path) -> None:
    """A file with a second name may be another folder's, which nobody can tell, so a note says so."""
    os.link(cwd.parent / "home/secret", cwd / "AGENTS.md")
    loaded = load_instruction_files(cwd)
    assert [file.content for file in loaded] == ["not for us"]
    assert any("hard link" in note.detail for note in loaded.notes)


@pytest.mark.seed("003.7")
def test_a_base_name_is_loaded_once(cwd: Path) -> None:
    """The project's file wins over home's of the same name, and a note names the one left out."""
    home = cwd.parent / "home"
    for root in (cwd, home):
        (root / "AGENTS.md").write_text(root.name)
    loaded = load_instruction_files(cwd, home)
    assert loaded == [InstructionFile(str(cwd / "AGENTS.md"), "cwd")]
    assert loaded.notes == (Note("skipped", str(home / "AGENTS.md"), "AGENTS.md is loaded already"),)


def test_home_is_not_searched_twice(cwd: Path) -> None:
    """A home that is the project itself gives no second copy and no note."""
    (cwd / "AGENTS.md").write_text("x")
    loaded = load_instruction_files(cwd, f"{cwd}/.")
    assert len(loaded) == 1
    assert loaded.notes == ()


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_a_file_within_the_limit_is_whole(cwd: Path, data: bytes) -> None:
    """The limit counts the bytes of the text as it will appear."""
    (cwd / "AGENTS.md").write_bytes(data)
    loaded = load_instruction_files(cwd)
    assert len(loaded[0].content.encode()) == 4000
    assert loaded.notes == ()


@pytest.mark.seed("003.8")
@pytest.mark.parametrize(("data", "text"), CUT.values(), ids=CUT)
def test_a_file_over_the_limit_is_cut_and_marked_once(cwd: Path, data: bytes, text: str) -> None:
    """What does not fit is left out at a whole character, with one marker and a note."""
    (cwd / "AGENTS.md").write_bytes(data)
    loaded = load_instruction_files(cwd)
    assert loaded == [InstructionFile(str(cwd / "AGENTS.md"), text + TRUNCATION_MARKER)]
    assert loaded.notes[-1] == Note("cut", str(cwd / "AGENTS.md"), "longer than the 4000 bytes there is room for")
    assert not [note for note in loaded.notes if note.kind == "replaced"]


def test_a_huge_file_is_cut_like_any_other(cwd: Path) -> None:
    """Of 50 GiB the first bytes are loaded if they are text, and refused otherwise."""
    try:
        sparse(cwd / "AGENTS.md")
    except OSError as error:
        pytest.skip(f"this file system has no sparse files: {error}")
    assert load_instruction_files(cwd) == []
    with (cwd / "AGENTS.md").open("r+b") as file:
        file.write(b"a" * 8_000)
    assert [found.content for found in load_instruction_files(cwd)] == ["a" * 4_000 + TRUNCATION_MARKER]


@pytest.mark.seed("003.12")
@pytest.mark.parametrize("name", BINARY)
def test_003_a_binary_file_is_refused(cwd: Path, name: str) -> None:
    """A file that is no text is refused with a note, instead of filling the prompt with replacement characters."""
    data, wrong = BINARY[name]
    path, home = cwd / "AGENTS.md", cwd.parent / "home"
    path.write_bytes(data)
    (home / "AGENTS.md").write_text("home")
    loaded = load_instruction_files(cwd, home)
    assert loaded == [InstructionFile(str(home / "AGENTS.md"), "home")]
    what = f"{wrong} of {min(len(data), 8_000)} bytes are control characters or not UTF-8"
    detail = f"not a text file: {what}; save it as UTF-8 if it is text"
    assert loaded.notes == (Note("refused", str(path), detail),)


SIGNED = {
    "png": (b"\x89PNG\r\n\x1a\n" + b"abc" * 9, "a PNG image"),
    "pdf": (b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n" * 40, "a PDF"),
    "zip": (b"PK\x03\x04" + b"name" * 5, "a zip archive"),
    "gzip": (gzip.compress(b"a" * 100), "gzip data"),
    "program": (b"\x7fELF" + b"text" * 200, "a program"),
}


@pytest.mark.parametrize("name", SIGNED)
def test_003_a_binary_file_is_known_by_its_start(cwd: Path, name: str) -> None:
    """A small file, or one that is mostly ASCII, is refused if it begins as no text does."""
    data, kind = SIGNED[name]
    (cwd / "AGENTS.md").write_bytes(data)
    loaded = load_instruction_files(cwd)
    assert loaded == []
    assert loaded.notes == (Note("refused", str(cwd / "AGENTS.md"), f"not a text file: it is {kind}"),)


@pytest.mark.parametrize("name", TEXTS)
def test_003_other_encodings_are_still_texts(cwd: Path, name: str) -> None:
    """A text with some bytes that are not UTF-8, with escapes, or in any script, is loaded as before."""
    (cwd / "AGENTS.md").write_bytes(TEXTS[name])
    assert len(load_instruction_files(cwd)) == 1


@pytest.mark.seed("003.9")
def test_the_last_file_is_cut_at_what_the_others_leave(cwd: Path) -> None:
    """Markers count: when less is left than a file needs, it is cut there and marked."""
    for name, size in zip(WHITELIST, (5000, 5000, 5000), strict=True):
        (cwd / name).parent.mkdir(exist_ok=True)
        (cwd / name).write_text("a" * size)
    loaded = load_instruction_files(cwd)
    assert [len(file.content) for file in loaded] == [4016, 4016, 3968 + 16]
    assert [note.detail for note in loaded.notes] == [
        "longer than the 4000 bytes there is room for",
        "longer than the 4000 bytes there is room for",
        "longer than the 3968 bytes there is room for",
    ]


@pytest.mark.seed("003.9")
@pytest.mark.parametrize("there", [True, False])
def test_no_room_is_a_reason_of_its_own(cwd: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    """A file for which the others left nothing is named in a note with the limit."""
    monkeypatch.setattr("deepprompt.sources.instructions.TOTAL_LIMIT", 3)
    (cwd / "DEEPSEEK.md").write_text("abc")
    if there:
        (cwd / "AGENTS.md").write_text("x")
    loaded = load_instruction_files(cwd)
    assert [file.content for file in loaded] == ["abc"]
    note = Note("skipped", str(cwd / "AGENTS.md"), "the files before it fill the limit of 3 bytes")
    assert loaded.notes == ((note,) if there else ())


def test_the_path_is_shown_clean_and_nothing_in_it_hidden(tmp_path: Path) -> None:
    """The prompt shows the shortest path, with hidden characters and bytes that are not UTF-8 made visible."""
    cwd = Path(os.fsdecode(bytes(tmp_path) + b"/\xff\xe2\x80\xae"))
    cwd.mkdir()
    (cwd / "AGENTS.md").write_text("x")
    loaded = load_instruction_files(f"{cwd}//.")
    assert loaded == [InstructionFile(f"{tmp_path}/\ufffd⟨U+202E⟩/AGENTS.md", "x")]
    assert [(note.source, note.kind) for note in loaded.notes] == [("path", "replaced"), ("path", "neutralised")]


@pytest.mark.parametrize("data", [b"", b"\xff", b"a" * 5000], ids=["empty", "not-utf8", "cut"])
def test_every_note_encodes(tmp_path: Path, data: bytes) -> None:
    """A note about a file whose path is not UTF-8 can be printed, and shows nothing hidden."""
    cwd = Path(os.fsdecode(bytes(tmp_path) + b"/\xff\xe2\x80\xae"))
    cwd.mkdir()
    (cwd / "AGENTS.md").write_bytes(data)
    notes = load_instruction_files(cwd).notes
    assert notes
    for note in notes:
        str(note).encode()
        assert "\u202e" not in str(note)


def test_a_list_of_files_can_be_made_by_hand() -> None:
    """A runtime that finds its files itself makes the same list, with or without notes."""
    file = InstructionFile("/a", "b")
    assert InstructionFiles() == []
    assert InstructionFiles([file], [Note("cut", "/a", "long")]).notes == (Note("cut", "/a", "long"),)
    assert InstructionFiles([file]) == [file]


@examples(60)
@given(data=st.binary(max_size=60), times=st.sampled_from([1, 50, 400]))
@example(data=b"\r\n", times=4001)
@example(data="🐘".encode(), times=2500)
def test_any_bytes_load_within_the_limit(tmp_path_factory: pytest.TempPathFactory, data: bytes, times: int) -> None:
    """Whatever is in a file, its text encodes and is within the limit and one marker."""
    cwd = tmp_path_factory.mktemp("any")
    (cwd / "AGENTS.md").write_bytes(data * times)
    for file in load_instruction_files(cwd):
        assert len(file.content.encode()) <= FILE_LIMIT + len(TRUNCATION_MARKER)
        assert "\r" not in file.content


def test_portable_paths(tmp_path: Path) -> None:
    """With `portable` a file is shown by its path in the project, or after `~/`: alike on every machine."""
    lay_out(tmp_path, {"here/AGENTS.md": "a", "home/.deepseek/instructions.md": "b", "home/DEEPSEEK.md": "c"})
    lay_out(tmp_path, {"there/AGENTS.md": "a", "there/CLAUDE.md": "x"})
    found = load_instruction_files(tmp_path / "here", tmp_path / "home", portable=True)
    assert [(file.path, file.content) for file in found] == [
        ("AGENTS.md", "a"),
        ("~/DEEPSEEK.md", "c"),
        ("~/.deepseek/instructions.md", "b"),
    ]
    assert load_instruction_files(tmp_path / "there", tmp_path / "home", portable=True) == found
    assert str(tmp_path) not in str(found.notes)
