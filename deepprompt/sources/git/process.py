"""Run a few programs side by side within one deadline, bounded in output, leaving no child behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from types import FrameType
    from typing import IO

_CHUNK = 1 << 16
_GLANCE = 0.05  # how often, at the least, a wait looks up to see whether it should be given up


def run_side_by_side(
    commands: Sequence[Sequence[str]],
    *,
    cwd: str,
    env: Mapping[str, str],
    deadline: float,
    most: int,
    give_up: Callable[[], bool] = lambda: False,
) -> list[bytes | None]:
    """Return each command's standard output, at most its first `most` bytes.

    None stands for a command that could not be started, failed, or was not done by the deadline (a value of
    `time.monotonic()`) or when `give_up` became true. Standard input is empty and standard error is dropped.
    """
    processes: list[subprocess.Popen[bytes] | None] = []
    if time.monotonic() >= deadline:
        return [None] * len(commands)
    try:
        for command in commands:
            processes.append(_start(command, cwd, env))
        started = [process for process in processes if process is not None]
        collect = _collect if os.name == "posix" else _collect_portably
        outputs = iter(collect(started, deadline, most, give_up))
        return [None if process is None else next(outputs) for process in processes]
    finally:
        started = [process for process in processes if process is not None]
        for process in started:  # all of them before any is waited for: one with much memory takes a while to go
            _kill(process)
        for process in started:
            _end(process)


def _start(command: Sequence[str], cwd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=env,
            bufsize=0,
            start_new_session=True,  # a process group of its own, so that one kill reaches all of it
        )
    except OSError:
        return None


def _collect(
    processes: list[subprocess.Popen[bytes]], deadline: float, most: int, give_up: Callable[[], bool]
) -> list[bytes | None]:
    """Read all pipes as output arrives. Never wait for the end of output past the deadline."""
    outputs = [bytearray() for _ in processes]
    full: set[int] = set()
    with selectors.DefaultSelector() as selector:
        for index, process in enumerate(processes):
            assert process.stdout is not None
            selector.register(process.stdout, selectors.EVENT_READ, index)
        while selector.get_map() and not give_up() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(min(left, _GLANCE)):
                index = key.data
                chunk = os.read(key.fd, _CHUNK)
                outputs[index] += chunk
                if not chunk or len(outputs[index]) > most:
                    if chunk:
                        full.add(index)
                    selector.unregister(key.fileobj)
        unread = {key.data: key.fd for key in selector.get_map().values()}
    results: list[bytes | None] = []
    for index, output in enumerate(outputs):
        if index in full:
            results.append(bytes(output[:most]))
        elif _succeeded(processes[index], deadline, give_up):
            # It ended in time, but its pipe was not read to the end, or another process still holds it.
            results.append(bytes((output + _at_hand(unread[index], most))[:most] if index in unread else output))
        else:
            results.append(None)
    return results


def _at_hand(descriptor: int, most: int) -> bytes:
    """Return what a pipe holds right now."""
    os.set_blocking(descriptor, False)
    data = b""
    with suppress(BlockingIOError):
        while len(data) < most and (chunk := os.read(descriptor, _CHUNK)):
            data += chunk
    return data


def _succeeded(process: subprocess.Popen[bytes], deadline: float, give_up: Callable[[], bool]) -> bool:
    """Wait for the end of a process without reaping it, so that its group can still be killed."""
    pause = 0.00001
    while (end := os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)) is None:
        if give_up() or time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _GLANCE)
    return end.si_code == os.CLD_EXITED and end.si_status == 0


def _collect_portably(
    processes: list[subprocess.Popen[bytes]], deadline: float, most: int, give_up: Callable[[], bool]
) -> list[bytes | None]:
    """Do the same on systems that cannot wait for several pipes: a thread reads each of them.

    The thread owns its pipe and closes it: closed by another, its number could be given to a new pipe while the
    thread is about to read.
    """
    outputs = [bytearray() for _ in processes]
    threads = []

    def read(pipe: IO[bytes], output: bytearray) -> None:
        with pipe:
            while len(output) <= most and (chunk := pipe.read(_CHUNK)):
                output += chunk

    for process, output in zip(processes, outputs, strict=True):
        assert process.stdout is not None
        threads.append(threading.Thread(target=read, args=(process.stdout, output), daemon=True))
        process.stdout = None
        threads[-1].start()
    results: list[bytes | None] = []
    for process, output, thread in zip(processes, outputs, threads, strict=True):
        while thread.is_alive() and not give_up() and (left := deadline - time.monotonic()) > 0:
            thread.join(min(left, _GLANCE))
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.0 if len(output) > most or give_up() else max(0.0, deadline - time.monotonic()))
        succeeded = len(output) > most or process.poll() == 0
        results.append(bytes(output[:most]) if succeeded else None)
    return results


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything that it started, unless it is reaped and its number may be reused."""
    if process.returncode is None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything that it started, and reap it."""
    _kill(process)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def signals_wait() -> Iterator[Callable[[], bool]]:
    """Delay SIGINT and SIGTERM. Yield a function that tells whether one arrived; they take effect at the end.

    A handler that the host has set stays: it decides what the signal means. So does everything in another
    thread than the main one, where Python offers no choice.
    """
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    is_main = threading.current_thread() is threading.main_thread()
    ours = {number: usual[number] for number in usual if is_main and signal.getsignal(number) is usual[number]}
    try:
        for number in ours:
            signal.signal(number, note)
        yield lambda: bool(arrived)
    finally:
        _restore(list(ours.items()))
        if arrived:
            signal.raise_signal(arrived[0])


def _restore(handlers: list[tuple[signal.Signals, object]]) -> None:
    """Restore all handlers, even if a signal arrives between two of them."""
    if handlers:
        (number, handler), *rest = handlers
        try:
            signal.signal(number, handler)  # type: ignore[arg-type]
        finally:
            _restore(rest)
