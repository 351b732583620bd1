"""The process that reads source files: its limits, and what happens if it ends or hangs."""

from __future__ import annotations

import sys
import time

import pytest

from deepprompt.sources.symbols.reader import MOST_FILE, OutlineReader, can_read, is_installed

LATE = (sys.executable, "-c", "import time; time.sleep(60)")
DEAD = (sys.executable, "-c", "raise SystemExit(1)")


@pytest.mark.parametrize("program", [LATE, DEAD])
def test_a_worker_that_hangs_or_dies(program: tuple[str, ...]) -> None:
    """A worker that is late or gone is a reason, never a wait, and after three times nothing is started any more."""
    began = time.monotonic()
    with OutlineReader(0.3, program) as reader:
        reasons = [reader.read(b"x = 1\n", ".py") for _ in range(4)]
    assert reasons[:3] == ["the parser ended, or took more than 0.3 seconds"] * 3
    assert reasons[3] == "the parser failed too often"
    assert time.monotonic() - began < 10


def test_a_large_file() -> None:
    """A file over the limit is not read."""
    with OutlineReader() as reader:
        assert reader.read(b"x" * (MOST_FILE + 1), ".py") == f"larger than {MOST_FILE} bytes"
        assert reader._process is None


def test_the_real_worker() -> None:
    """Files are read one after the other, hostile ones too, by the same process."""
    if not is_installed():
        pytest.skip("the symbol map needs deepprompt[map]")
    assert can_read(".py")
    with OutlineReader() as reader:
        assert reader.read(b"def f(): pass\n", ".py") == (["  def f()"], True)
        first = reader._process
        for data in (b"(" * MOST_FILE, b"{[" * 60_000, b"\x00\xff" * 100_000):
            found = reader.read(data, ".ts")
            assert isinstance(found, tuple | str)
        assert reader.read(b"func F() {}\n", ".go") == (["  func F()"], True)
        assert first is not None
    assert first.poll() is not None


def test_a_killed_worker_is_started_again() -> None:
    """After a kill the file is a reason, and the next one is read."""
    if not is_installed():
        pytest.skip("the symbol map needs deepprompt[map]")
    with OutlineReader() as reader:
        reader.read(b"", ".py")
        assert reader._process is not None
        reader._process.kill()
        reader._process.wait()
        assert isinstance(reader.read(b"x", ".py"), str)
        assert reader.read(b"def f(): pass\n", ".py") == (["  def f()"], True)
