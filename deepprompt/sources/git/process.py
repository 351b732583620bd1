"""Run a few programs side by side within one deadline, bounded in output, leaving no child behind.

On POSIX this does without `subprocess`, which takes longer to import than git takes to answer.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from subprocess import Popen
    from types import FrameType
    from typing import IO, Any

_CHUNK = 1 << 16
_MOST_OPEN = 1 << 10  # by default a process may have no more descriptors
_GLANCE = 0.05  # how often, at the least, a wait looks up to see whether it should be given up


class Child:
    """A program that was started in a session of its own, so that one kill reaches all that it starts.

    Its standard input is empty, its standard error is dropped, and it inherits no other descriptor.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        read, write = os.pipe()
        self.stdout = os.fdopen(read, "rb", buffering=0)
        try:
            actions = [  # the pipe first: in a host without standard streams, it may have the number of any of them
                (os.POSIX_SPAWN_DUP2, write, 1),
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                *((os.POSIX_SPAWN_CLOSE, number) for number in _inherited()),
            ]
            ignored = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python, and so by what it starts
            start = partial(os.posix_spawn, command[0], [*command], env, file_actions=actions, setsigdef=ignored)
            try:
                self.pid = start(setsid=True)
            except NotImplementedError:  # a system that offers a group only, which is enough for the kill
                self.pid = start(setpgroup=0)
        except BaseException:
            self.stdout.close()
            raise
        finally:
            with suppress(OSError):  # which must not lose the program that runs
                os.close(write)

    def wait(self) -> None:
        """Wait for its end, and reap it."""
        if self.returncode is None:
            with suppress(ChildProcessError):  # the host has reaped it
                self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _inherited() -> list[int]:
    """Return the descriptors after the first three that a program would inherit: a host may have made some so."""
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:  # a host in a folder of its own (chroot) may not have it
        numbers = list(range(_MOST_OPEN))
    found = []
    for number in numbers:
        with suppress(OSError):  # it is not open; the listing's own is closed by now
            if number > 2 and os.get_inheritable(number):
                found.append(number)
    return found


def run_side_by_side(
    commands: Sequence[Sequence[str]],
    *,
    env: Mapping[str, str],
    deadline: float,
    most: int,
    give_up: Callable[[], bool] = lambda: False,
) -> list[bytes | None]:
    """Return each command's standard output, at most its first `most` bytes.

    A command starts with the path of a program. None stands for one that could not be started, failed, or was not done
    by the deadline (a value of `time.monotonic()`) or when `give_up` became true.
    """
    processes: list[Any] = []  # of `Child`, `Popen` or None
    if time.monotonic() >= deadline:
        return [None] * len(commands)
    start, collect = (Child, _collect) if os.name == "posix" else (_start_portably, _collect_portably)
    try:
        for command in commands:
            try:
                processes.append(start(command, env))
            except OSError:
                processes.append(None)
        started = [process for process in processes if process is not None]
        outputs = iter(collect(started, deadline, most, give_up))
        return [None if process is None else next(outputs) for process in processes]
    finally:
        started = [process for process in processes if process is not None]
        for process in started:  # all of them before any is waited for: one with much memory takes a while to go
            _kill(process)
        for process in started:
            _end(process)


def _collect(processes: list[Child], deadline: float, most: int, give_up: Callable[[], bool]) -> list[bytes | None]:
    """Read all pipes as output arrives. Never wait for the end of output past the deadline."""
    import select

    outputs = [bytearray() for _ in processes]
    full: set[int] = set()
    unread = {process.stdout.fileno(): index for index, process in enumerate(processes)}
    ready = select.poll()
    for pipe in unread:
        ready.register(pipe, select.POLLIN)
    while unread and not give_up() and (left := deadline - time.monotonic()) > 0:
        for pipe, _ in ready.poll(1_000 * min(left, _GLANCE)):
            index = unread[pipe]
            chunk = os.read(pipe, _CHUNK)
            outputs[index] += chunk
            if not chunk or len(outputs[index]) > most:
                if chunk:
                    full.add(index)
                ready.unregister(pipe)
                del unread[pipe]
    held = {index: pipe for pipe, index in unread.items()}
    results: list[bytes | None] = []
    for index, output in enumerate(outputs):
        if index in full:
            results.append(bytes(output[:most]))
        elif _succeeded(processes[index], deadline, give_up):
            # It ended in time, but its pipe was not read to the end, or another process still holds it.
            results.append(bytes((output + _at_hand(held[index], most))[:most] if index in held else output))
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


def _succeeded(process: Child, deadline: float, give_up: Callable[[], bool]) -> bool:
    """Wait for the end of a process without reaping it, so that its group can still be killed."""
    pause = 0.00001
    while (end := os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)) is None:
        if give_up() or time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _GLANCE)
    return end.si_code == os.CLD_EXITED and end.si_status == 0


def _start_portably(command: Sequence[str], env: Mapping[str, str]) -> Popen[bytes]:
    from subprocess import DEVNULL, PIPE, Popen

    return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=env, bufsize=0)


def _collect_portably(
    processes: list[Popen[bytes]], deadline: float, most: int, give_up: Callable[[], bool]
) -> list[bytes | None]:
    """Do the same on systems that cannot wait for several pipes: a thread reads each of them.

    The thread owns its pipe and closes it: closed by another, its number could be given to a new pipe while the
    thread is about to read.
    """
    import threading
    from subprocess import TimeoutExpired

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
        with suppress(TimeoutExpired):
            process.wait(0.0 if len(output) > most or give_up() else max(0.0, deadline - time.monotonic()))
        succeeded = len(output) > most or process.poll() == 0
        results.append(bytes(output[:most]) if succeeded else None)
    return results


def _kill(process: Child | Popen[bytes]) -> None:
    """Kill a process and everything that it started, unless it is reaped and its number may be reused."""
    if process.returncode is None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()  # type: ignore[union-attr]


def _end(process: Child | Popen[bytes]) -> None:
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
    ours = {number: usual[number] for number in usual if signal.getsignal(number) is usual[number]}
    try:
        try:
            for number in ours:
                signal.signal(number, note)
        except ValueError:  # another thread
            ours.clear()
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
