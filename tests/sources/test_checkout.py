"""A copy of a project as a checkout elsewhere would be."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from deepprompt.sources import checkout
from deepprompt.sources.checkout import copy_project, use_crlf
from tests.support.layout import lay_out
from tests.support.repositories import commit, make_repository


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project."""
    return lay_out(tmp_path / "project", {"a.md": "one\ntwo\n", "deep/b.md": "three\n", "bin/run": "#!/bin/sh\n"})


def copied(project: Path, *, private: str = "") -> Path:
    """Copy a project, and return the copy."""
    copy = project.parent / "copy"
    assert copy_project(str(project), str(copy), private) == ""
    return copy


def test_a_copy_is_as_new_as_a_checkout(project: Path) -> None:
    """Files have their bytes and permissions, but not their times."""
    os.utime(project / "a.md", (1, 1))
    (project / "bin/run").chmod(0o755)
    copy = copied(project)
    assert (copy / "a.md").read_bytes() == b"one\ntwo\n"
    assert (copy / "a.md").stat().st_mtime > 1
    assert stat.S_IMODE((copy / "bin/run").stat().st_mode) == 0o755


def test_what_cannot_be_copied_is_left_out(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe does not stop it, nor a socket, nor links in a circle, nor what nobody may read."""
    os.mkfifo(project / "pipe")
    (project / "deep/circle").symlink_to("../deep")
    (project / "nowhere").symlink_to("/nowhere/at/all")
    lay_out(project, {"secret.key": "x", "closed/c.md": "x"})
    real = os.access
    closed = ("secret.key", "closed")
    monkeypatch.setattr(os, "access", lambda path, mode: real(path, mode) and not path.endswith(closed))
    monkeypatch.chdir(project)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        copy = copied(project)
    assert sorted(os.listdir(copy)) == ["a.md", "bin", "deep", "nowhere"]
    assert os.readlink(copy / "deep/circle") == "../deep"
    use_crlf(str(copy), str(project))
    assert (copy / "deep/b.md").read_bytes() == b"three\r\n"


def test_what_tools_installed_is_linked(project: Path) -> None:
    """An environment may be needed and may be large: it is there, and not copied. Caches are not."""
    lay_out(
        project,
        {
            ".venv/lib/x.py": "",
            "web/node_modules/y.js": "y\n",
            "__pycache__/a.pyc": "",
            ".mypy_cache/x": "",
            ".hypothesis/x": "",
        },
    )
    copy = copied(project)
    assert sorted(os.listdir(copy)) == [".venv", "a.md", "bin", "deep", "web"]
    assert os.readlink(copy / ".venv") == str(project / ".venv")
    assert os.readlink(copy / "web/node_modules") == str(project / "web/node_modules")
    use_crlf(str(copy), str(project))
    assert (project / "web/node_modules/y.js").read_bytes() == b"y\n"


def test_a_copy_inside_the_project(project: Path) -> None:
    """The folder for temporary files may be in the project: the copy is not copied into itself."""
    private = project / "tmp/deepprompt-1"
    private.mkdir(parents=True)
    copy = private / "folder/project"
    assert copy_project(str(project), str(copy), str(private)) == ""
    assert sorted(path.name for path in copy.rglob("*")) == ["a.md", "b.md", "bin", "deep", "run", "tmp"]


TOO_LARGE = {"_MOST_FILES": 2, "MOST_BYTES": 10}


@pytest.mark.parametrize("limit", TOO_LARGE)
def test_too_large(limit: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project beyond a limit is not copied, and that is said."""
    monkeypatch.setattr(checkout, limit, TOO_LARGE[limit])
    why = copy_project(str(project), str(project.parent / "copy"), "")
    assert why.startswith("the folder is too large to be copied: more than ")
    assert not (project.parent / "copy").exists()


def test_no_room(project: Path) -> None:
    """Where a copy cannot be written, that is said, with the first file it is about."""
    (project.parent / "file").touch()
    why = copy_project(str(project), str(project.parent / "file/copy"), "")
    assert why.startswith("the folder cannot be copied: ")
    assert "Not a directory" in why


def test_a_file_that_goes_away(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is gone before it is copied is told by its name."""

    def gone(source: str, _: str) -> None:
        raise FileNotFoundError(2, "No such file or directory", source)

    monkeypatch.setattr("shutil.copy", gone)
    why = copy_project(str(project), str(project.parent / "copy"), "")
    assert why.startswith(f"the folder cannot be copied: {project}/")
    assert "No such file or directory" in why


def test_line_ends(project: Path) -> None:
    """Text gets CRLF once, whatever it had; what is no text stays, and so do the times."""
    lay_out(project, {"mixed.txt": "a\r\nb\n", "picture.png": b"\x89PNG\n\0\n", "none": "no end"})
    copy = copied(project)
    os.utime(copy / "a.md", (5, 5))
    use_crlf(str(copy), str(project))
    assert (copy / "a.md").read_bytes() == b"one\r\ntwo\r\n"
    assert (copy / "mixed.txt").read_bytes() == b"a\r\nb\r\n"
    assert (copy / "picture.png").read_bytes() == b"\x89PNG\n\0\n"
    assert (copy / "none").read_bytes() == b"no end"
    assert (copy / "a.md").stat().st_mtime == 5


def test_line_ends_in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what git would convert is converted: not what the attributes keep, and not what it ignores."""
    attributes = "*.md text eol=lf\n*.bin binary\n*.raw -text\n"
    files = dict.fromkeys(("a.md", "b.txt", "c.bin", "d.raw", "deep/e.txt", "out/f.txt"), "a\n")
    project = make_repository(tmp_path / "project", files | {".gitattributes": attributes, ".gitignore": "/out\n"})
    commit(project, "more")
    lay_out(project, {"new é.txt": "a\n"})
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as in a hook of another repository
    copy = copied(project)
    use_crlf(str(copy), str(project))
    converted = [
        path.relative_to(copy).as_posix() for path in copy.rglob("*.*") if path.is_file() and ".git/" not in str(path)
    ]
    assert sorted(name for name in converted if b"\r" in (copy / name).read_bytes()) == [
        ".gitattributes", ".gitignore", "b.txt", "deep/e.txt", "new é.txt",
    ]  # fmt: skip


def test_line_ends_without_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no git, every text is converted."""
    monkeypatch.setenv("PATH", "/nowhere")
    copy = copied(project)
    use_crlf(str(copy), str(project))
    assert (copy / "a.md").read_bytes() == b"one\r\ntwo\r\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_somebody_else() -> None:
    """A user who may not read a file has everything else in the copy."""
    code = (
        "import os, sys; from deepprompt.sources.checkout import copy_project; os.setgid(65534); os.setuid(65534);"
        "print(copy_project(sys.argv[1], sys.argv[2], '') or sorted(os.listdir(sys.argv[2])))"
    )
    with tempfile.TemporaryDirectory() as room:  # where others may go, unlike to pytest's own folders
        os.chmod(room, 0o777)
        project = lay_out(Path(room, "project"), {"a.md": "one\n", "closed/c.md": "x", "secret.key": "x"})
        for path in (project / "closed", project / "secret.key"):
            path.chmod(0)
        command = [sys.executable, "-c", code, str(project), f"{room}/copy"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "['a.md']\n"
