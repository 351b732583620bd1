"""Where folders lie that are gone a moment later."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from deepprompt.sources import private
from deepprompt.sources.private import NAMED, in_memory, private_folder


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place that counts as memory, where the user names none."""
    for name in NAMED:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(private, "_MEMORY", str(tmp_path / "memory"))
    return tmp_path / "memory"


def with_flags(monkeypatch: pytest.MonkeyPatch, flags: int) -> None:
    """Let every file system have a gigabyte free, and be mounted with these flags."""
    status = SimpleNamespace(f_bavail=1 << 18, f_frsize=1 << 12, f_flag=flags)
    monkeypatch.setattr(os, "statvfs", lambda _: status, raising=False)


def test_a_folder_lies_in_memory(memory: Path) -> None:
    """It is ours alone, and nothing of it is left."""
    with private_folder(1) as folder:
        assert Path(folder).parent == memory
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        Path(folder, "file").write_text("x")
    assert os.listdir(memory) == []


@pytest.mark.parametrize("name", NAMED)
def test_where_the_user_names_a_place_it_lies_there(
    memory: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is for those who named no place."""
    (tmp_path / "named").mkdir()
    monkeypatch.setenv(name, str(tmp_path / "named"))
    monkeypatch.setattr("tempfile.tempdir", None)
    with private_folder(1) as folder:
        assert Path(folder).parent == tmp_path / "named"
    assert os.listdir(memory) == []


def test_what_is_large_does_not_lie_in_memory(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There has to be room for it eight times over: memory is for programs first."""
    with_flags(monkeypatch, 0)
    assert in_memory(1 << 26) == str(memory)
    assert in_memory(1 << 27) == ""
    with private_folder(1 << 27) as folder:
        assert Path(folder).parent != memory


def test_programs_need_a_place_that_lets_them_start(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project may have scripts, which a copy in such a place could not start."""
    with_flags(monkeypatch, getattr(os, "ST_NOEXEC", 8))
    assert in_memory(1) == str(memory)
    assert in_memory(1, programs=True) == ""
    with_flags(monkeypatch, 0)
    assert in_memory(1, programs=True) == str(memory)


def test_a_machine_without_such_a_place(memory: Path) -> None:
    """Then it lies where temporary files lie."""
    memory.rmdir()
    assert in_memory(1) == ""
    with private_folder(1) as folder:
        assert os.path.isdir(folder)
