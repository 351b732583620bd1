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


# Answers with the bytes of each file; ends at one that begins with an x, and hangs at one that begins with a z.
ECHO = (
    sys.executable,
    "-c",
    """
import json, sys, time
while head := sys.stdin.buffer.readline():
    data = sys.stdin.buffer.read(int(head.split()[1]))
    if data[:1] in b"xz" and data:
        time.sleep(60 * (data[:1] == b"z"))
        raise SystemExit(1)
    print(json.dumps([[data.decode()], True]), flush=True)
""",
)


def test_files_one_after_the_other() -> None:
    """Answers come in the order of the files. One that ends the worker, or is late, costs no other its outline."""
    texts = ["a", "b", "x", "c", "d" * MOST_FILE, "e" * (MOST_FILE + 1), "f", "z", "g"]
    with OutlineReader(1, ECHO) as reader:
        found = list(reader.read_all((text.encode(), ".py") for text in texts))
    late = "the parser ended, or took more than 1 seconds"
    reasons = {"x": late, "z": late, texts[5]: f"larger than {MOST_FILE} bytes"}
    assert found == [reasons.get(text, ([text], True)) for text in texts]


def test_an_answer_that_nobody_waited_for() -> None:
    """Who stops in the middle leaves nothing behind: the next file gets its own answer."""
    with OutlineReader(5, ECHO) as reader:
        for found in reader.read_all([(b"a", ".py"), (b"b", ".py"), (b"c", ".py")]):
            assert found == (["a"], True)
            break
        assert reader.read(b"d", ".py") == (["d"], True)
