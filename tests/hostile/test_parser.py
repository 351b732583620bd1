"""The process that parses source files: what its limits keep in, and that a file that breaks it ends in a note."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepprompt.sources.code import load_repository
from deepprompt.sources.symbols import worker
from deepprompt.sources.symbols.map import SymbolMap
from deepprompt.sources.symbols.reader import MOST_FILE, OutlineReader, is_installed
from deepprompt.sources.symbols.worker import MEMORY
from tests.support.repositories import make_repository

pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="the symbol map needs deepprompt[map]"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of memory is tried on Linux"),
]
SMALL = (
    sys.executable,
    "-P",
    "-c",
    "from deepprompt.sources.symbols import worker; worker.MEMORY = 60 << 20; raise SystemExit(worker.main())",
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of memory is tried on Linux")
def test_a_worker_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that needs more memory than the limit ends the worker, is a reason, and the next file is read."""
    ended: list[int] = []
    end = OutlineReader.end

    def noted(reader: OutlineReader) -> None:
        if reader._process is not None:
            reader._process.wait(10)  # it has ended by itself
            ended.append(reader._process.returncode)
        end(reader)

    with OutlineReader(20, SMALL) as reader:
        assert reader.read(b"def f(): pass\n", ".py") == (["  def f()"], True)
        monkeypatch.setattr(OutlineReader, "end", noted)
        assert reader.read(b"(" * MOST_FILE, ".ts") == "the parser ended, or took more than 20 seconds"
        monkeypatch.undo()
        assert reader.read(b"def f(): pass\n", ".py") == (["  def f()"], True)
    assert len(ended) == 1
    assert ended[0] != 0


def test_the_worker_limits_itself_and_not_its_parent() -> None:
    """It has the memory that its program says, writes no core, and gets no variable of the environment but a path."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with OutlineReader() as reader:
        reader.read(b"", ".py")
        assert reader._process is not None
        assert resource.prlimit(reader._process.pid, resource.RLIMIT_AS) == (MEMORY, MEMORY)
        assert resource.prlimit(reader._process.pid, resource.RLIMIT_CORE) == (0, 0)
        given = Path(f"/proc/{reader._process.pid}/environ").read_bytes().split(b"\0")
        assert {one.partition(b"=")[0] for one in given if one} <= {
            b"PYTHONPATH",
            b"PYTHONDONTWRITEBYTECODE",
            b"SYSTEMROOT",
            b"LC_CTYPE",
        }
        assert os.readlink(f"/proc/{reader._process.pid}/cwd") == str(Path(worker.__file__).parent)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_repository_that_breaks_the_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file that ends the worker is a note of the repository; the others are in the map."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(SymbolMap, "__init__", _with_little_memory(SymbolMap.__init__))
    folder = make_repository(tmp_path / "root", {
        "a.py": "def a(): pass\n", "deep.ts": "(" * MOST_FILE, "z.py": "def z(): pass\n",
    })  # fmt: skip
    repository = load_repository(folder, map_budget=1_000)
    assert repository.symbols == {"a.py": "a.py\n  def a()", "z.py": "z.py\n  def z()"}
    assert [(note.kind, note.source, note.detail) for note in repository.notes] == [
        ("skipped", "deep.ts", "not in the symbol map: the parser ended, or took more than 20 seconds")
    ]


def _with_little_memory(start: Callable[..., None]) -> Callable[..., None]:
    def begin(self: SymbolMap, *arguments: Any, **options: Any) -> None:
        start(self, *arguments, **{"reader": OutlineReader(20, SMALL), **options})

    return begin
