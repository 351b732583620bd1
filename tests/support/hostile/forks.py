"""Commands in processes of their own, which are forked: starting Python for hundreds of them would take minutes.

They are forked not from the process that runs the tests, whose memory is large by then, but from a small one that has
imported our package and nothing else. It is this file as a program: it reads an order a line, and answers each with
the exit code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

import deepprompt

# Without the variables of the test that comes first, which looks for processes that have them.
_PLAIN = dict(os.environ)
# Adapters and the recorder need packages of others, and no command here runs them.
_NOT_IMPORTED = tuple(
    f"deepprompt.{name}" for name in ("testing", "__main__", "adapters.", "recorder.", "commands.record")
)


def forked(
    arguments: list[str], cwd: Path, env: Mapping[str, str], stdin: bytes = b"", *, deadline: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of ours with an environment, and see that it ends within so many seconds."""
    server = _server()
    assert server.stdin and server.stdout
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (given, out, err)]
        order = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "streams": streams, "deadline": deadline}
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        code = json.loads(server.stdout.readline())
        assert code is not None, f"{arguments} is not done after {deadline} seconds"
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


@cache
def _server() -> subprocess.Popen[str]:
    """The process that forks, which ends when its standard input does."""
    command = [sys.executable, "-m", __name__]
    root = Path(__file__).parents[3]
    server = subprocess.Popen(command, cwd=root, env=_PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Fork a process for each order."""
    for module in pkgutil.walk_packages(deepprompt.__path__, "deepprompt."):
        if not module.name.startswith(_NOT_IMPORTED):
            import_module(module.name)
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order)
        print(json.dumps(_ended(child, order["deadline"])), flush=True)


def _ended(child: int, deadline: float) -> int | None:
    """Return how a child ended; if it does not, it is killed."""
    descriptor = os.pidfd_open(child)
    done = select.select([descriptor], [], [], deadline)[0]
    os.close(descriptor)
    if not done:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if done else None


def _become(order: dict[str, Any]) -> NoReturn:
    """Run a command in a child that was just forked, as the script `deepprompt` does."""
    code: object = 70
    gc.disable()  # it would copy every page of the parent's memory
    try:
        for number, (path, mode) in enumerate(zip(order["streams"], "rww", strict=True)):
            os.dup2(os.open(path, os.O_RDONLY if mode == "r" else os.O_WRONLY), number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, closefd=False, encoding="utf-8", errors=errors)
            for number, (mode, errors) in enumerate([("r", "strict"), ("w", "strict"), ("w", "backslashreplace")])
        )
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.path[:] = [entry for entry in sys.path if entry]
        from deepprompt.cli import main

        try:
            code = main(order["arguments"])
        except SystemExit as done:
            code = done.code
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 70)


if __name__ == "__main__":
    _serve()
