"""What running programs side by side promises: bounded time, bounded output, and nothing left alive."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deepprompt.sources.git.process import (
    Child,
    _collect,
    _collect_portably,
    _end,
    _start_portably,
    run_side_by_side,
    signals_wait,
)
from tests.support.repositories import processes_with

Collector = Callable[[list[Any], float, int, Callable[[], bool]], list[bytes | None]]

MOST = 1000
SOON = 0.2
LATE = 5.0
SLACK = 0.5  # how much later than the deadline a loaded machine may be

# Shell commands that run at the same time, the answer to each, and the seconds they have.
ANSWERS = {
    "nothing": ((":",), [b""], LATE),
    "some output": (("printf hello",), [b"hello"], LATE),
    "output and failure": (("printf hello; exit 3",), [None], LATE),
    "killed by a signal": (("printf hello; kill -9 $$",), [None], LATE),
    "standard error is dropped": (("printf oops >&2; printf fine",), [b"fine"], LATE),
    "standard input is empty": (("cat; printf end",), [b"end"], LATE),
    "exactly as much as is allowed": ((f"head -c {MOST} /dev/zero",), [bytes(MOST)], LATE),
    "one byte more than is allowed": ((f"head -c {MOST + 1} /dev/zero",), [bytes(MOST)], LATE),
    "endless output": (("exec cat /dev/zero",), [bytes(MOST)], LATE),
    "endless output on standard error": (("exec cat /dev/zero >&2",), [None], SOON),
    "too much output, then failure": ((f"head -c {MOST * 100} /dev/zero; exit 3",), [bytes(MOST)], LATE),
    "too slow": (("printf half; exec sleep 60",), [None], SOON),
    "output closed, still running": (("printf half; exec >&-; exec sleep 60",), [None], SOON),
    "in order": (("printf a; sleep 0.1", "printf b", "exit 1", "printf c"), [b"a", b"b", None, b"c"], LATE),
    "a slow one does not spoil the rest": (("exec sleep 60", "printf b"), [None, b"b"], SOON),
    "a grandchild holds the pipe": (("printf done; setsid sleep 2 &",), [b"done"], SOON),
}


@contextmanager
def started(scripts: tuple[str, ...], collect: Collector) -> Iterator[list[Any]]:
    """Start shell commands as `run_side_by_side` does for a collector, and end them with all that they started."""
    processes: list[Any] = []
    for script in scripts:
        if collect is _collect:
            processes.append(Child(shell(script), {"PATH": os.defpath}))
        else:  # in a session, as on the systems where it is used a kill reaches all
            processes.append(_start_portably(("setsid", *shell(script)), {"PATH": os.defpath}))
    try:
        yield processes
    finally:
        for process in processes:
            _end(process)


def run(*commands: tuple[str, ...], bound: float = LATE, env: dict[str, str] | None = None) -> list[bytes | None]:
    """Run commands side by side for as long as `bound`."""
    env = {"PATH": os.defpath} if env is None else env
    return run_side_by_side(commands, env=env, deadline=time.monotonic() + bound, most=MOST)


def shell(script: str) -> tuple[str, ...]:
    """A command that runs a shell script."""
    return ("/bin/sh", "-c", script)


@pytest.mark.slow
@pytest.mark.parametrize(("scripts", "answers", "bound"), ANSWERS.values(), ids=ANSWERS)
def test_answers(scripts: tuple[str, ...], answers: list[bytes | None], bound: float) -> None:
    """Each command gets its first bytes of output, or None if it failed or was not done, before the deadline."""
    begin = time.monotonic()

    assert run(*map(shell, scripts), bound=bound) == answers
    assert time.monotonic() - begin < SOON + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("collect", [_collect, _collect_portably])
@pytest.mark.parametrize(("scripts", "answers", "bound"), ANSWERS.values(), ids=ANSWERS)
def test_collectors_agree(
    collect: Collector, scripts: tuple[str, ...], answers: list[bytes | None], bound: float
) -> None:
    """Both ways to collect output give the same answers, in the same time."""
    with started(scripts, collect) as processes:
        begin = time.monotonic()

        assert (
            collect(processes, begin + (SOON if "/dev/zero" in scripts[0] else bound), MOST, lambda: False) == answers
        )
        assert time.monotonic() - begin < SOON + SLACK


@pytest.mark.parametrize("collect", [_collect, _collect_portably])
def test_collected_output_is_bounded_in_memory(collect: Collector) -> None:
    """A command that prints without end is not read without end."""
    with started(("exec cat /dev/zero",), collect) as processes:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        collect(processes, time.monotonic() + SOON, MOST, lambda: False)

        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024  # kilobytes


def test_commands_run_side_by_side() -> None:
    """Four commands of 0.3 seconds do not take 1.2."""
    begin = time.monotonic()

    assert run(*[shell("sleep 0.3; printf x")] * 4, bound=1.1) == [b"x"] * 4
    assert time.monotonic() - begin < 0.9


@pytest.mark.parametrize("bound", [0.0, -1.0])
def test_deadline_that_has_passed(bound: float) -> None:
    """A deadline that has passed is no error: nothing was done by then."""
    assert run(shell("sleep 60"), bound=bound) == [None]


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("name", ["missing", "folder", "not-executable"])
def test_command_that_cannot_start(tmp_path: Path, name: str, at: int) -> None:
    """A command that cannot be started is None, and takes nothing from the others."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "not-executable").write_text("#!/bin/sh\n")
    commands = [shell("printf fine")]
    commands.insert(at, (str(tmp_path / name),))
    answers: list[bytes | None] = [b"fine"]
    answers.insert(at, None)

    assert run(*commands) == answers


def test_no_commands() -> None:
    """Nothing to run is nothing to answer."""
    assert run() == []


def test_environment_is_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sees the environment that it was given, nothing of ours."""
    monkeypatch.setenv("OURS", "1")

    [output] = run(("/usr/bin/env",), env={"THEIRS": "2"})

    assert output == b"THEIRS=2\n"


@pytest.mark.parametrize("listed", [True, False], ids=["", "no list of them"])
def test_no_other_descriptor_is_inherited(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host lets its programs inherit is not for ours: they have their three streams."""
    ours, other = os.pipe()
    script = shell("for name in 0 1 2 3 4 5 6 7 8 9 $(ls /dev/fd); do readlink /dev/fd/$name; done; true")
    pipe = f"pipe:[{os.fstat(ours).st_ino}]".encode()
    try:
        os.set_inheritable(ours, True)
        os.set_inheritable(other, True)
        theirs = subprocess.run(script, close_fds=False, capture_output=True, check=True).stdout
        assert pipe in theirs, "it is inherited by no program, so this test proves nothing"
        if not listed:
            monkeypatch.setattr(os, "listdir", lambda path: os.open(path + "/missing", os.O_RDONLY))

        [output] = run(script)

        assert output and pipe not in output
    finally:
        os.close(ours)
        os.close(other)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="only Linux shows which signals a process ignores")
def test_signals_that_python_ignores() -> None:
    """A program ends when nobody reads what it writes, as it would in a shell."""
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN

    [output] = run(("/bin/grep", "SigIgn", "/proc/self/status"))

    assert output is not None
    ignored = int(output.split()[1], 16)
    assert not [number for number in (signal.SIGPIPE, signal.SIGXFSZ) if ignored & 1 << number - 1]


def test_a_session_of_its_own() -> None:
    """It has no terminal on which it could ask, and its group is its own."""
    [output] = run((sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))"))

    assert output == b"True\n"


def test_a_system_without_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of its own is enough to end all that a program started."""
    real = os.posix_spawn

    def spawn(*arguments: Any, **options: Any) -> int:
        if "setsid" in options:
            raise NotImplementedError
        return real(*arguments, **options)

    monkeypatch.setattr(os, "posix_spawn", spawn)
    environment = {"PATH": os.defpath, "MARK": str(tmp_path)}

    assert run(shell("sleep 61 & printf done"), shell("sleep 61"), bound=0.3, env=environment) == [b"done", None]
    assert left_alive(tmp_path) == []


@pytest.mark.parametrize("closed", ["0", "1", "2", "0, 1", "0, 1, 2"])
def test_a_host_without_standard_streams(closed: str) -> None:
    """Where the host has closed its own streams, a pipe gets their numbers."""
    script = (
        f"import os\nfor number in ({closed},): os.close(number)\n"
        "import time\nfrom deepprompt.sources.git.process import run_side_by_side\n"
        "command = ('/bin/sh', '-c', 'cat; echo oops >&2; printf fine')\n"
        "found = run_side_by_side([command] * 2, env={}, deadline=time.monotonic() + 5, most=9)\n"
        "os._exit(0 if found == [b'fine'] * 2 else 1)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


LEAVERS = {
    "too slow": "sleep 61",
    "its child too slow": "sleep 61 | cat",
    "prints without end": "cat /dev/zero | cat",
    "done, its child still runs": "sleep 61 & printf done",
    "done, its silent child still runs": "sleep 61 >/dev/null 2>&1 & printf done",
    "failed, its silent child still runs": "sleep 61 >/dev/null 2>&1 & exit 1",
}


@pytest.mark.slow
@pytest.mark.parametrize("script", LEAVERS.values(), ids=LEAVERS)
def test_nothing_is_left_alive(tmp_path: Path, script: str) -> None:
    """When the answer comes, no command nor any process of its group is alive."""
    run(shell(script), bound=0.3, env={"PATH": os.defpath, "MARK": str(tmp_path)})

    assert left_alive(tmp_path) == []


def test_nothing_is_left_alive_after_a_failed_start(tmp_path: Path) -> None:
    """A command that cannot be started does not leave the one before it alive."""
    run(shell("sleep 61"), ("/missing",), bound=0.3, env={"PATH": os.defpath, "MARK": str(tmp_path)})

    assert left_alive(tmp_path) == []


def test_nothing_is_left_open() -> None:
    """No file descriptor stays open, whatever the outcome."""
    before = set(os.listdir("/dev/fd"))
    for _ in range(5):
        run(shell("printf x"), shell("exit 1"), shell("exec cat /dev/zero"), ("/missing",))
    run(shell("exec sleep 60"), bound=0.1)

    assert set(os.listdir("/dev/fd")) <= before  # an earlier test's reader may have let go of its pipe meanwhile


def test_interrupt_leaves_nothing_alive(tmp_path: Path) -> None:
    """An exception in the middle of the wait ends the commands on its way."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(shell("sleep 61 | cat"), bound=10, env={"PATH": os.defpath, "MARK": str(tmp_path)})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    assert left_alive(tmp_path) == []


def left_alive(mark: Path) -> list[int]:
    """Return the marked processes that still live, and end them; the dying get a moment."""
    until = time.monotonic() + 0.5
    while (left := processes_with(str(mark))) and time.monotonic() < until:
        time.sleep(0.02)
    for number in left:
        os.kill(number, signal.SIGKILL)
    return left


def test_sigterm_means_the_default_again_afterwards() -> None:
    """SIGTERM is ours only for as long as the context lasts, also when an exception ends it."""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    with signals_wait():
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    with pytest.raises(ZeroDivisionError), signals_wait():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda _number, _frame: None], ids=["ignored", "a function"])
def test_handler_of_the_host_stays(handler: Callable[[int, object], None] | signal.Handlers) -> None:
    """A handler that the host has set, or its wish to ignore the signal, is not touched."""
    signal.signal(signal.SIGTERM, handler)
    try:
        with signals_wait():
            assert signal.getsignal(signal.SIGTERM) is handler
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_other_threads_leave_sigterm_alone() -> None:
    """In another thread than the main one the context does nothing, and is no error."""
    seen = []

    def enter() -> None:
        with signals_wait():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()

    assert seen == [signal.SIG_DFL]


TERMINATED = {
    "in the context": (
        "with signals_wait() as came:\n"
        " say('ready')\n while not came(): time.sleep(0.01)\n say('cleanup')\nsay('after')",
        "ready\ncleanup\n",
    ),
    "after the context": (
        "with signals_wait():\n pass\ntry: say('ready'); time.sleep(60)\nfinally: say('finally')",
        "ready\n",
    ),
    "a second time, during the cleanup": (
        "with signals_wait() as came:\n"
        " say('ready')\n while not came(): time.sleep(0.01)\n"
        " os.kill(os.getpid(), signal.SIGTERM); say('cleanup')",
        "ready\ncleanup\n",
    ),
}


@pytest.mark.parametrize(("script", "output"), TERMINATED.values(), ids=TERMINATED)
def test_sigterm_ends_the_process(script: str, output: str) -> None:
    """SIGTERM waits for the end of the context, and the process then ends as one that SIGTERM ended."""
    start = (
        "import os, signal, time\n"
        "from deepprompt.sources.git.process import signals_wait\n"
        "def say(word): print(word, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", start + script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        shown += process.stdout.read()

        assert (process.wait(10), shown) == (-signal.SIGTERM, output)


def test_sigint_waits_and_then_interrupts() -> None:
    """SIGINT does nothing in the context but to be told about, and interrupts after it."""
    with pytest.raises(KeyboardInterrupt), signals_wait() as came:
        assert not came()
        os.kill(os.getpid(), signal.SIGINT)
        assert came()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
@pytest.mark.parametrize("script", ["sleep 60", "exec >&-; sleep 60"], ids=["with output open", "with output closed"])
@pytest.mark.parametrize("collect", [_collect, _collect_portably])
def test_giving_up(collect: Collector, script: str) -> None:
    """A wait that is given up ends long before its deadline."""
    with started((script,), collect) as processes:
        begin = time.monotonic()
        assert collect(processes, begin + 1.0, MOST, lambda: time.monotonic() > begin + 0.1) == [None]


def test_output_that_was_not_read_in_time_is_not_lost() -> None:
    """A command that ended before the deadline gives all its output, even if we were too slow to read it."""
    with started(("printf fine",), _collect) as processes:
        time.sleep(0.3)
        assert _collect(processes, time.monotonic() - 1, MOST, lambda: False) == [b"fine"]
