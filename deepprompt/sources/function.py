"""Call a user's function that makes a prompt, in a fresh process and in given surroundings.

The function is given by name, as `module:function` or `file.py:function`, or as a callable. It is called without
arguments. The program of the process is `sources.stage`.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from inspect import ismethod
from typing import Any

from deepprompt.errors import CallError, SourceError
from deepprompt.prompt import Note, Prompt, read_part
from deepprompt.sources import stage
from deepprompt.sources.private import private_folder

# Python compiles the file of a program at each start. Importing the stage stores its bytecode, where that can be done,
# and each start takes it from there.
_STAGE = os.path.abspath(stage.__file__)
_START = """import sys
from importlib.machinery import SourceFileLoader
__file__ = sys.argv[1]
exec(SourceFileLoader(__name__, __file__).get_code(__name__))"""
_NAMED = re.compile(r"(?P<module>[\w.]+|.+\.py):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_TEXT = re.compile(r"\.(?:md|txt|jsonl?|toml|ya?ml|html?)$", re.IGNORECASE)
_WRITE = "write module:function or path/to/file.py:function"
_SHOWN_SAID, _MOST_SAID = 2_000, 1 << 27
_GLANCE = 0.02  # how often, at the least, a wait looks up


@dataclass(frozen=True, slots=True)
class Function:
    """A function that another process can import, by its module's name or from its file."""

    module: str
    file: str
    name: str
    path: tuple[str, ...]
    """The folders to import modules from."""
    arguments: tuple[object, ...] = ()
    """The arguments of the call, as JSON values."""
    called: str = ""
    """The label that users know it by, if it is not the name."""

    def __str__(self) -> str:
        return self.called or f"{self.module or self.file}:{self.name}"


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything about time and place that a function could observe."""

    folder: str
    clock: float
    """The time at the start, in seconds since 1970."""
    tick: float = 0.001
    """How many seconds the clock advances with each reading."""
    hash_seed: int = 0
    umask: int = 0o022
    columns: int = 80
    reversed: bool = False
    """Whether folders are listed backwards."""
    user: str = ""
    host: str = ""
    """Their names, "" for the real ones."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Changes to the environment; None removes a variable."""
    turn: int = 1
    """Which call in the process counts, from 1."""


def is_function(target: str) -> bool:
    """Whether a text is written as `module:function` or `file.py:function`."""
    return _NAMED.fullmatch(target) is not None


def find_function(target: str | Callable[[], object], folder: str) -> Function:
    """Return the function that a target names. Modules are searched in the folder and its `src` first."""
    if not isinstance(target, str):
        return _of_callable(target)
    match = _NAMED.fullmatch(target)
    if match is None:
        raise SourceError(f"{target!r} names no function; {_advice(target)}")
    own = [path for path in (folder, os.path.join(folder, "src")) if os.path.isdir(path)]
    path = tuple(dict.fromkeys([*own, *_search_path()]))
    module, name = match["module"], match["name"]
    if not module.endswith(".py"):
        return Function(module, "", name, path)
    file = os.path.abspath(os.path.join(folder, module))
    if not os.path.isfile(file):
        raise SourceError(f"{module}: no such file in {folder}")
    return Function("", file, name, path, called=target)


def _search_path() -> list[str]:
    """Return the import path of this process, with entries that mean the same in another folder."""
    return [os.path.abspath(entry) for entry in sys.path]


def _advice(target: str) -> str:
    """Return how to write a target that was written wrongly."""
    for wrong, right in (
        (target.replace("::", ":"), "as pytest writes it; with one colon it is {}"),
        (re.sub(r"\(.*\)$", "", target), "it is called without arguments, so omit the parentheses: {}"),
        (re.sub(r"^(.*[/\\][^:]*):", r"\1.py:", target), "a path needs the file's whole name: {}"),
        (re.sub(r"^([\w.]+)\.(\w+)$", r"\1:\2", target), "a colon stands before the function: {}"),
    ):
        if wrong != target and is_function(wrong) and not wrong.endswith(":py") and not _TEXT.search(target):
            return right.format(wrong)
    if _TEXT.search(target):
        return f"a file never changes by itself; {_WRITE}"
    if target.rstrip(":").endswith(".py"):
        return f"which function of the file? {target.rstrip(':')}:function"
    return _WRITE


def _of_callable(function: Callable[[], object]) -> Function:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    for attribute in name.split("."):
        found = getattr(found, attribute, None)
    if not isinstance(module, str) or (found is not function and not (ismethod(function) and found == function)):
        raise SourceError(f"{name or repr(function)}: another process cannot import {_why_not(function, name)}")
    file = getattr(sys.modules[module], "__file__", "") or ""
    if module == "__main__":
        if not os.path.isfile(file):
            raise SourceError(f"{name}: another process cannot import what was typed in; put it into a file")
        module = ""
    path = tuple(_search_path())
    return Function(module, os.path.abspath(file) if file else "", name, path, called=f"{module or file}:{name}")


def _why_not(function: object, name: str) -> str:
    if name.endswith("<lambda>"):
        return "a lambda; give it a name with def, at the top of a module"
    if "<locals>" in name:
        return "what is defined inside a function; move it to the top of a module, with what it needs set inside it"
    if ismethod(function):
        return "an object; write a function at the top of a module that makes the object and calls its method"
    if not name:
        return "an object; write a function at the top of a module that calls it"
    return "it under that name; is it hidden by another one of the same name, or by a decorator without wraps?"


def call_function(
    function: Function, surroundings: Scene, timeout: float, *, give_up: Callable[[], bool] = lambda: False
) -> object:
    """Return the prompt that a function makes: a text, a `Prompt`, a list of messages, or a request's body.

    When `give_up` becomes true, its process is ended as it is when the time is over.
    """
    if hasattr(sys.modules.get("__main__"), "IS_STAGE"):  # each of its processes would start as many again
        raise CallError("its own module perturbs it when imported; do that under if __name__ == '__main__'", function)
    with private_folder(_MOST_SAID) as private:
        result = os.path.join(private, "result")
        names = ("clock", "tick", "umask", "columns", "reversed", "user", "host")
        order = {
            "surroundings": {name: getattr(surroundings, name) for name in names}, "path": function.path,
            "module": function.module, "file": function.file, "name": function.name,
            "arguments": function.arguments, "result": result, "timeout": timeout, "turn": surroundings.turn,
        }  # fmt: skip
        how = _run(json.dumps(order).encode(), surroundings, timeout, give_up, private)
        try:
            with open(result, encoding="ascii") as file:
                made = json.load(file)
        except (OSError, ValueError):
            raise CallError(how, function) from None
    if "error" in made:
        raise CallError(made["error"], function)
    return _value(made["value"])


def _run(order: bytes, surroundings: Scene, timeout: float, give_up: Callable[[], bool], private: str) -> str:
    """Run the stage to its end, and return how it ended, for a message if it left no result."""
    environment = os.environ | {"PYTHONHASHSEED": str(surroundings.hash_seed), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["COLUMNS"] = str(surroundings.columns)
    for name, value in surroundings.environment.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    # Files, not pipes: a program that the function started may hold a pipe open, and we do not wait for it.
    with open(os.path.join(private, "order"), "w+b") as stdin, open(os.path.join(private, "said"), "w+b") as stderr:
        stdin.write(order)
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, _STAGE],
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=surroundings.folder,
                env=environment,
                start_new_session=True,  # a process group of its own, so that one kill reaches all of it
            )
        except OSError as error:
            raise CallError(f"{error.filename or sys.executable}: {error.strerror}") from None
        try:
            stopped = _wait(process, timeout, give_up, stderr.fileno())
        finally:
            _end(process)
        stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - _SHOWN_SAID))
        lines = stderr.read().decode(errors="replace").strip().splitlines()
    said = f"; the last it said was: {lines[-1]}" if lines else ""
    return stopped or f"its process ended{_code(process.returncode)} before the function returned{said}"


def _wait(process: subprocess.Popen[bytes], timeout: float, give_up: Callable[[], bool], said: int) -> str:
    """Wait for the end of a process. Return "" if it ended, or else why it has to be killed."""
    deadline = time.monotonic() + timeout
    with _pause_until_end(process) as pause:
        while not _has_ended(process):
            if time.monotonic() > deadline:
                return f"not done after {timeout:g} seconds; a longer timeout (--timeout SECONDS) gives it more"
            if give_up():
                return "given up"
            if os.fstat(said).st_size > _MOST_SAID:
                return f"it wrote more than {_MOST_SAID >> 20} MiB to standard error"
            pause(_GLANCE)
    return ""


@contextmanager
def _pause_until_end(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], object]]:
    """Yield a function that waits some seconds, and on Linux no longer than until the process ends."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # another system
        yield time.sleep
        return
    try:
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        yield lambda seconds: end.poll(1_000 * seconds)
    finally:
        os.close(descriptor)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended. Where possible it is not reaped, so that its group can still be killed."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    return process.poll() is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything that it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _code(code: int) -> str:
    if code >= 0:
        return f" with exit code {code}"
    with suppress(ValueError):
        return f" by {signal.Signals(-code).name}"
    return f" by signal {-code}"


def _value(made: Mapping[str, Any]) -> object:
    kind, value = next(iter(made.items()))
    if kind != "prompt":
        return value
    parts = tuple(read_part(row) for row in value["parts"])
    notes = tuple(Note(*row) for row in value["notes"])
    return Prompt(parts, tuple(value["tools"]), notes, value["fixed_order"], tuple(value["messages"]))
