"""Outlines of source files from the worker: one child process, with a deadline for each file, ended with its reader."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec

from deepprompt.sources.symbols.languages import BY_SUFFIX

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from types import TracebackType

MOST_FILE = 256 << 10
SECONDS = 5.0
_MOST_FAILURES = 3
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")


def is_installed() -> bool:
    """Whether tree-sitter is installed, which the extra `map` asks for."""
    return find_spec("tree_sitter") is not None


def can_read(suffix: str) -> bool:
    """Whether the grammar of a language is installed."""
    return find_spec(BY_SUFFIX[suffix].module.partition(":")[0]) is not None


class OutlineReader:
    """Reads outlines in a child process, which is started for the first file and serves as long as the reader lives."""

    def __init__(self, seconds: float = SECONDS, program: tuple[str, ...] = ()) -> None:
        self.seconds = seconds
        self.failures = 0
        self._program = program or (sys.executable, "-P", _WORKER)
        self._process: subprocess.Popen[bytes] | None = None
        self._kill: weakref.finalize[..., OutlineReader] | None = None
        self._given = 0  # how many files the worker has and did not answer yet
        self._unsent = self._heard = b""

    def __enter__(self) -> OutlineReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def read(self, data: bytes, suffix: str) -> tuple[list[str], bool] | str:
        """Return the outline of a file and whether the file parsed, or why there is none."""
        (found,) = self.read_all([(data, suffix)])
        return found

    def read_all(self, files: Iterable[tuple[bytes, str]]) -> Iterator[tuple[list[str], bool] | str]:
        """Yield what `read` returns for each file. While one is parsed, the next one is on its way."""
        waiting: deque[tuple[bytes, str]] = deque()
        if self._given:  # by somebody who did not wait for the answer
            self.end()
        for file in files:
            waiting.append(file)
            if len(waiting) > 1:
                yield self._next(waiting)
        while waiting:
            yield self._next(waiting)

    def _next(self, waiting: deque[tuple[bytes, str]]) -> tuple[list[str], bool] | str:
        """Return what there is to say about the first of the files that wait, and give the worker all of them."""
        usable = [(data, suffix) for data, suffix in waiting if len(data) <= MOST_FILE]
        data, _ = waiting.popleft()
        if len(data) > MOST_FILE:
            return f"larger than {MOST_FILE} bytes"
        if self.failures >= _MOST_FAILURES:
            return "the parser failed too often"
        try:
            line = self._ask(usable)
        except (OSError, ValueError):
            line = b""
        if not line:
            self.failures += 1
            self.end()
            return f"the parser ended, or took more than {self.seconds:g} seconds"
        answer = json.loads(line)
        return f"the parser failed: {answer}" if isinstance(answer, str) else (answer[0], answer[1])

    def _ask(self, files: list[tuple[bytes, str]]) -> bytes:
        """Give the worker the files that it has not got. Return its line for the first, b"" if it ends or is late.

        A file that it has no room for is given to it piece by piece, while its answers are read.
        """
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        for data, suffix in files[self._given :]:
            self._unsent += f"{suffix} {len(data)}\n".encode() + data
            self._given += 1
        given, taken = process.stdin.fileno(), process.stdout.fileno()
        deadline = time.monotonic() + self.seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._unsent:
                with suppress(BlockingIOError):
                    self._unsent = self._unsent[os.write(given, self._unsent) :]
            line, end, rest = self._heard.partition(b"\n")
            if end:
                self._heard = rest
                self._given -= 1
                return line
            readable, _, _ = select.select([taken], [given] if self._unsent else [], [], left)
            if readable:
                chunk = os.read(taken, 1 << 16)
                self._heard += chunk
                if not chunk:
                    break
        return b""

    def _start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(entry for entry in map(os.path.abspath, filter(None, sys.path)))
        process = subprocess.Popen(
            self._program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(os.path.abspath(__file__)),  # not the project's folder, whose modules are a stranger's
            env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "SYSTEMROOT": os.environ.get("SYSTEMROOT", "")},
            bufsize=0,
            start_new_session=True,
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        self._unsent, self._heard, self._given = b"", b"", 0
        self._kill = weakref.finalize(self, _end, process)
        return process

    def end(self) -> None:
        """End the process, if there is one. It ends by itself with the reader, or with this process."""
        self._process, self._given = None, 0
        if self._kill is not None:
            self._kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
