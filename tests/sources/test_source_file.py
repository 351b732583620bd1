"""One file of a project for editing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepprompt.errors import FileRefusedError
from deepprompt.sources.source_file import SourceFile, read_source, write_source


def test_everything_is_kept(tmp_path: Path) -> None:
    """Line ends, hidden characters, byte order mark and mode survive reading and writing."""
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx\r\n\xe2\x80\x8by\n")
    path.chmod(0o750)
    file = read_source(str(tmp_path), "a.py")
    assert file == SourceFile("x\r\n\u200by\n", True, 0o750)
    write_source(str(tmp_path), "a.py", "z\r\n", file)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\xef\xbb\xbfz\r\n", 0o750)


def test_a_new_file(tmp_path: Path) -> None:
    """A missing file is None, and is created with its folders."""
    assert read_source(str(tmp_path), "a/b/c.txt") is None
    write_source(str(tmp_path), "a/b/c.txt", "x\n", None)
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"x\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"\xff\xfe", "not UTF-8 at byte 0"), (b"\x89PNG\r\n\x1a\n", "not a text file: it is a PNG image")],
)
def test_no_text(data: bytes, reason: str, tmp_path: Path) -> None:
    """A file that is no text is refused."""
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(FileRefusedError) as caught:
        read_source(str(tmp_path), "a")
    assert str(caught.value) == reason


@pytest.mark.parametrize("target", ["real", "missing", "/etc/hostname", "../outside"])
def test_links(target: str, tmp_path: Path) -> None:
    """A link is neither read nor written, wherever it leads and wherever it stands."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "real").write_text("x\n")
    (tmp_path / "outside").write_text("x\n")
    os.symlink(target, root / "link")
    os.symlink(".", root / "folder")
    for path in ("link", "folder/real"):
        with pytest.raises(FileRefusedError):
            read_source(str(root), path)
        with pytest.raises(FileRefusedError, match="is a link now, and nothing is written through it"):
            write_source(str(root), path, "y\n", None)
    assert ((root / "real").read_text(), (tmp_path / "outside").read_text()) == ("x\n", "x\n")
