"""Run a few programs side by side within one deadline, bounded in output, leaving no child behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

_CHUNK = 1 << 16


def run_side_by_side(
    commands: Sequence[Sequence[str]], *, cwd: str, env: Mapping[str, str], deadline: float, most: int
) -> list[bytes | None]:
    """Return each command's standard output, its first `most` bytes where there is more.

    None stands for a command that could not be started, failed, or was not done by the deadline, a value of
    `time.monotonic()`. Standard input is empty and standard error is dropped.
    """
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            processes.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=cwd,
                    env=env,
                    bufsize=0,
                    start_new_session=True,  # a process group of its own, so that one kill reaches all of it
                )
            )
        collect = _collect if os.name == "posix" else _collect_portably
        return collect(processes, deadline, most)
    except OSError:
        return [None] * len(commands)
    finally:
        for process in processes:
            _end(process)


def _collect(processes: list[subprocess.Popen[bytes]], deadline: float, most: int) -> list[bytes | None]:
    """Read all pipes as output comes. The end of output is never waited for past the deadline."""
    outputs = [bytearray() for _ in processes]
    full: set[int] = set()
    with selectors.DefaultSelector() as selector:
        for index, process in enumerate(processes):
            assert process.stdout is not None
            selector.register(process.stdout, selectors.EVENT_READ, index)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                index = key.data
                chunk = os.read(key.fd, _CHUNK)
                outputs[index] += chunk
                if not chunk or len(outputs[index]) > most:
                    if chunk:
                        full.add(index)
                    selector.unregister(key.fileobj)
    return [
        bytes(output[:most]) if index in full or _succeeded(processes[index], deadline) else None
        for index, output in enumerate(outputs)
    ]


def _collect_portably(processes: list[subprocess.Popen[bytes]], deadline: float, most: int) -> list[bytes | None]:
    """Do the same where pipes cannot be waited on together; they still run side by side."""
    outputs: list[bytes | None] = []
    for process in processes:
        try:
            output, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            outputs.append(None)
        else:
            outputs.append(output[:most] if process.returncode == 0 else None)
    return outputs


def _succeeded(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        return process.wait(max(0.0, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what still runs, with all that it started, before its number can be given to another process."""
    if process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


class _Terminated(BaseException):
    """SIGTERM arrived."""


@contextmanager
def finally_on_sigterm() -> Iterator[None]:
    """While it lasts, let SIGTERM run every `finally` on its way, then end the process as it would have.

    A handler that the host has set stays: it decides what SIGTERM means. So does the default in another
    thread than the main one, where Python offers no choice.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not ours:
        yield
        return

    def raise_terminated(_number: int, _frame: FrameType | None) -> None:
        raise _Terminated

    signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
