"""Calling functions in processes of their own: how they are found, what they may return, and how they may fail."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Prompt
from deepprompt.errors import CallError, SourceError
from deepprompt.sources.function import _STAGE, Function, Scene, call_function, find_function, is_function
from tests.support.layout import lay_out
from tests.support.repositories import contents, processes_with

pytestmark = pytest.mark.slow

NOON = 1_700_000_000.0


@pytest.fixture
def project(tmp_path: Path, temporary: Path) -> Iterator[Path]:
    """A project that is left as it was, by functions of which no process and no temporary folder is left."""
    (tmp_path / "project").mkdir()
    yield tmp_path / "project"
    deadline = time.monotonic() + 10  # what is killed may take a moment to go
    while processes_with(str(temporary)) and time.monotonic() < deadline:
        time.sleep(0.01)


def call(project: Path, target: str, timeout: float = 60, **surroundings: Any) -> object:
    """Call a function of a project; nothing is written there."""
    before = contents(project)
    try:
        function = find_function(target, str(project))
        return call_function(function, Scene(str(project), NOON, **surroundings), timeout)
    finally:
        assert contents(project) == before


def made(project: Path, code: str, timeout: float = 60, **surroundings: Any) -> object:
    """Return what the function `make` of a module returns."""
    lay_out(project, {"prompts.py": code})
    return call(project, "prompts:make", timeout, **surroundings)


def refused(project: Path, target: str, timeout: float = 60) -> str:
    """Return why a function could not be called, with the project's path as PROJECT."""
    with pytest.raises(CallError) as error:
        call(project, target, timeout)
    return str(error.value).replace(str(project), "PROJECT")


def failure(project: Path, code: str, timeout: float = 60) -> str:
    """Return how the function `make` of a module failed."""
    lay_out(project, {"prompts.py": code})
    message = refused(project, "prompts:make", timeout)
    assert message.startswith("prompts:make: ")
    return message.removeprefix("prompts:make: ")


# How projects are laid out, and how their functions are named.
LAYOUTS = {
    "a module": ({"prompts.py": "def make(): return 'x'"}, "prompts:make"),
    "a file": ({"prompts.py": "def make(): return 'x'"}, "prompts.py:make"),
    "a file in a folder": ({"deep/my-prompts.py": "def make(): return 'x'"}, "deep/my-prompts.py:make"),
    "a neighbour": ({"deep/a.py": "from b import make", "deep/b.py": "def make(): return 'x'"}, "deep/a.py:make"),
    "src": ({"src/pkg/__init__.py": "", "src/pkg/p.py": "def make(): return 'x'"}, "pkg.p:make"),
    "relative imports": (
        {"pkg/__init__.py": "", "pkg/a.py": "from .b import X\ndef make(): return X", "pkg/b.py": "X = 'x'"},
        "pkg/a.py:make",
    ),
    "a file in src": (
        {"src/pkg/__init__.py": "", "src/pkg/a.py": "from . import b\nmake = b.X", "src/pkg/b.py": "X = 'x'"},
        "src/pkg/a.py:make",
    ),
    "a package itself": ({"pkg/__init__.py": "from .a import make", "pkg/a.py": "make = 'x'"}, "pkg/__init__.py:make"),
    "a package by name": ({"pkg/__init__.py": "from .a import make", "pkg/a.py": "make = 'x'"}, "pkg:make"),
    "a namespace": ({"space/p.py": "def make(): return 'x'"}, "space.p:make"),
    "a name of the library's": ({"json.py": "def make(): return 'x'"}, "json.py:make"),
    "a name that is taken": ({"traceback.py": "def make(): return 'x'"}, "./traceback.py:make"),
    "a package of the same name": ({"p.py": "make = 'x'", "p/__init__.py": "make = 'y'"}, "p.py:make"),
    "dataclasses": (
        {
            "p.py": "from __future__ import annotations\nfrom dataclasses import dataclass, field\n"
            "@dataclass(slots=True, kw_only=True)\nclass A:\n    x: list[str] = field(default_factory=list)\n"
            "def make(): return ''.join(A(x=['x']).x)"
        },
        "p.py:make",
    ),
    "a folder called deepprompt": ({"deepprompt/p.py": "", "p.py": "def make(): return 'x'"}, "p:make"),
    "in a class": (
        {"p.py": "class A:\n    class B:\n        @staticmethod\n        def make(): return 'x'"},
        "p:A.B.make",
    ),
    "a script": (
        {"p.py": "import sys\ndef make(): return 'x'\nif __name__ == '__main__': sys.exit('run')"},
        "p.py:make",
    ),
}


@pytest.mark.parametrize("files, target", LAYOUTS.values(), ids=LAYOUTS)
def test_where_it_is(files: dict[str, str], target: str, project: Path) -> None:
    """A function is found wherever projects have theirs."""
    assert call(lay_out(project, files), target) == "x"


# What functions return, as code, and what that is here.
VALUES: dict[str, tuple[str, object]] = {
    "text": ("'é\\r\\n\\0'", "é\r\n\0"),
    "lone surrogates": ("'a\\udc80\\ud83d'", "a\udc80\ud83d"),
    "bytes": ("'é'.encode()", "é"),
    "messages": ("[{'role': 'user', 'content': 'é'}]", [{"role": "user", "content": "é"}]),
    "a tuple of them": ("({'role': 'user'},)", [{"role": "user"}]),
    "body": ("{'messages': ({'role': 'user'},)}", {"messages": [{"role": "user"}]}),
    "mappings of any kind": (
        "__import__('types').MappingProxyType({'a': __import__('types').MappingProxyType({'b': range(2)})})",
        {"a": {"b": [0, 1]}},
    ),
    "a model": ("Model()", {"messages": []}),
    "models in it": ("{'messages': [Model()]}", {"messages": [{"messages": []}]}),
    "what is waited for": ("wait()", "waited"),
    "a request": ("Request()", {"messages": []}),
    "a prompt's text": ("Builder()", "built"),
}
HELPERS = """
class Model:
    def model_dump(self, mode, exclude_unset): return {"messages": []}
class Request:
    body = {"messages": []}
class Builder:
    def compose(self): return "built"
async def wait(): return "waited"
"""


@pytest.mark.parametrize("code, value", VALUES.values(), ids=VALUES)
def test_what_it_returns(code: str, value: object, project: Path) -> None:
    """Every kind of prompt comes back as it was."""
    assert made(project, f"{HELPERS}\ndef make(): return {code}") == value


def test_a_prompt(project: Path) -> None:
    """A `Prompt` comes back with its parts, tools and messages."""
    code = """
from deepprompt import Pace, Part, Prompt
def make():
    parts = Part("a", "b", Pace.TURN, "c"), Part("d", "e", Pace.RELEASE, "f")
    return Prompt(parts, ({"name": "Bash"},), (), True, ({"role": "user", "content": "Hi"},))
"""
    space: dict[str, Any] = {}
    exec(code, space)
    value = made(project, code)
    assert isinstance(value, Prompt)
    assert value == space["make"]()


KINDS = "where a prompt is a text, a Prompt, a list of messages or a request's body"
JSON = "what it returned cannot be written as JSON: "
# How functions fail, as their code, and what is said of it.
FAILURES = {
    "None": ("def make(): pass", f"it returned None {KINDS}; is a return missing?"),
    "a number": ("def make(): return 7", f"it returned int {KINDS}"),
    "not a number": ("def make(): return float('nan')", f"it returned float {KINDS}"),
    "a set": ("def make(): return {'a'}", f"it returned set {KINDS}"),
    "a generator": ("def make(): yield 'a'", f"it returned generator {KINDS}"),
    "bytes": ("def make(): return b'ab\\xff'", "it returned bytes that are not UTF-8 at byte 2"),
    "a set in it": ("def make(): return {'tools': {'a'}}", f"{JSON}there is a value of type set in it"),
    "bytes in it": ("def make(): return [b'a']", f"{JSON}there is a value of type bytes in it"),
    "NaN in it": ("def make(): return [float('nan')]", f"{JSON}Out of range float values are not JSON compliant"),
    "a circle": ("def make(): a = []; a.append(a); return a", f"{JSON}Circular reference detected"),
    "arguments": (
        "def make(name, /, *, mood): return name",
        "it is called without arguments, and make() missing 1 required positional argument: 'name'; "
        "name a function without any that calls it with examples",
    ),
    "its own type error": (
        "def make():\n    return len(7)",
        "TypeError: object of type 'int' has no len() (PROJECT/prompts.py:2)",
    ),
    "an error": ("def make():\n    raise ValueError('no\\nyes')", "ValueError: no (PROJECT/prompts.py:2)"),
    "an error in a library": (
        "import json\ndef make():\n    return json.loads('{')",
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1) "
        "(PROJECT/prompts.py:3)",
    ),
    "an error in a coroutine": (
        "async def make():\n    raise OSError(5, 'no')",
        "OSError: [Errno 5] no (PROJECT/prompts.py:2)",
    ),
    "an error without words": ("def make():\n    raise KeyboardInterrupt", "KeyboardInterrupt (PROJECT/prompts.py:2)"),
    "an exit": ("import sys\ndef make(): sys.exit(3)", "SystemExit: 3 (PROJECT/prompts.py:2)"),
    "an error that cannot be told": (
        "class E(Exception):\n    def __str__(self): return 1/0\ndef make(): raise E",
        "prompts.E: <exception str() failed> (PROJECT/prompts.py:3)",
    ),
    "input": ("def make(): return input('?')", "EOFError: EOF when reading a line (PROJECT/prompts.py:1)"),
    "a wrong module": ("1/0\ndef make(): pass", "ZeroDivisionError: division by zero (PROJECT/prompts.py:1)"),
    "no Python": ("def make(:", "SyntaxError: invalid syntax (PROJECT/prompts.py:1)"),
    "not installed": (
        "\nimport no_such_thing\ndef make(): pass",
        f"ModuleNotFoundError: No module named 'no_such_thing', which {sys.executable} does not have "
        "(PROJECT/prompts.py:2)",
    ),
    "a gone name": (
        "from os import nothing_of_it",
        f"ImportError: cannot import name 'nothing_of_it' from 'os' ({os.__file__}) (PROJECT/prompts.py:1)",
    ),
    "misspelt": ("def maek(): return 'x'", "prompts has no 'make' (did you mean 'maek'?)"),
    "another name": ("import os\ndef build(): return 'x'", "prompts has no 'make' (names there: build)"),
    "nothing there": ("", "prompts has no 'make'"),
    "a hard exit": (
        "import os, sys\ndef make(): print('x\\nbye', file=sys.stderr, flush=True); os._exit(3)",
        "its process ended with exit code 3 before the function returned; the last it said was: bye",
    ),
    "an abort": ("import os\ndef make(): os.abort()", "its process ended by SIGABRT before the function returned"),
    "a quiet end": (
        "import os\ndef make(): os._exit(0)",
        "its process ended with exit code 0 before the function returned",
    ),
    "perturbed on import": (
        "from deepprompt.checks.perturb.perturb import perturb\ndef make(): return 'x'\nperturb('prompts:make')",
        "deepprompt.errors.CallError: prompts:make: its own module perturbs it when imported; "
        "do that under if __name__ == '__main__' (PROJECT/prompts.py:3)",
    ),
}


@pytest.mark.parametrize("code, message", FAILURES.values(), ids=FAILURES)
def test_how_it_fails(code: str, message: str, project: Path) -> None:
    """What went wrong is one line that says what, where in the user's code, and what to do."""
    assert failure(project, code).partition(": nan")[0] == message


MODULES = {
    "misspelt": ("promts:make", "no module 'promts' in PROJECT or PROJECT/src (did you mean 'prompts'?)"),
    "unknown": ("nothing:make", "no module 'nothing' in PROJECT or PROJECT/src (modules there: pkg, prompts, src)"),
    "in a package": ("pkg.promts:make", "no module 'pkg.promts' in PROJECT/src/pkg (did you mean 'prompts'?)"),
    "not a package": ("prompts.deep:make", "no module 'prompts.deep' in "),
}


@pytest.mark.parametrize("target, message", MODULES.values(), ids=MODULES)
def test_no_such_module(target: str, message: str, project: Path) -> None:
    """Where a module was looked for, what there is, and how to do without one."""
    lay_out(project, {"prompts.py": "", "src/pkg/__init__.py": "", "src/pkg/prompts.py": "", "README.md": ""})
    hint = "; --cwd DIR (folder=) names another project, path/to/file.py:function needs no module"
    assert refused(project, target) == f"{target}: {message}{hint}"


WRITE = "write module:function or path/to/file.py:function"
TARGETS = {
    "prompts.make": "a colon stands before the function: prompts:make",
    "rules.md": "a file never changes by itself; write module:function or path/to/file.py:function",
    "prompts::make": "as pytest writes it; with one colon it is prompts:make",
    "tests/prompts.py::make": "as pytest writes it; with one colon it is tests/prompts.py:make",
    "prompts:make()": "it is called without arguments, so omit the parentheses: prompts:make",
    "prompts:make('x')": "it is called without arguments, so omit the parentheses: prompts:make",
    "src/prompts:make": "a path needs the file's whole name: src/prompts.py:make",
    "prompts.py": "which function of the file? prompts.py:function",
    "prompts.py:": "which function of the file? prompts.py:function",
    "prompts": WRITE,
    "prompts:": WRITE,
    ":make": WRITE,
    "prompts:7": WRITE,
    "a b:c": WRITE,
    "": WRITE,
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_spelled_wrongly(target: str) -> None:
    """Who writes a target as other tools do is told how it is written here."""
    assert not is_function(target)
    with pytest.raises(SourceError) as error:
        find_function(target, ".")
    assert str(error.value) == f"{target!r} names no function; {TARGETS[target]}"


def test_no_such_file(tmp_path: Path) -> None:
    """A file that is not there is told with the folder it was looked for in."""
    with pytest.raises(SourceError, match=rf"^deep/p\.py: no such file in {tmp_path}$"):
        find_function("deep/p.py:make", str(tmp_path))


def at_the_top() -> str:
    """A function that can be given as itself."""
    return "x"


@functools.lru_cache
def remembered() -> str:
    """One that is wrapped as it should be."""
    return "x"


class Maker:
    """A class with functions of every sort."""

    def bound(self) -> str:
        """One that needs an object."""
        return "x"

    @classmethod
    def of_class(cls) -> str:
        """One that needs only the class."""
        return "x"

    @staticmethod
    def static() -> str:
        """One that needs nothing."""
        return "x"

    def __call__(self) -> str:
        """Called as the object itself."""
        return "x"


def hidden() -> str:
    """A function whose name is somebody else's in the end."""
    return "x"


_kept, hidden = hidden, at_the_top

no_name = lambda: "x"  # noqa: E731

GIVEN = {"a function": at_the_top, "wrapped": remembered, "of a class": Maker.of_class, "static": Maker.static}


@pytest.mark.parametrize("function", GIVEN.values(), ids=GIVEN)
def test_a_function_itself(function: Callable[[], str], tmp_path: Path) -> None:
    """What another process can import may be given as itself."""
    found = find_function(function, str(tmp_path))
    assert str(found).startswith(f"{__name__}:")
    assert call_function(found, Scene(str(tmp_path), NOON), 60) == "x"


def local() -> Callable[[], str]:
    """Return a function inside a function."""

    def inner() -> str:
        return "x"

    return inner


NOT_GIVEN: dict[str, tuple[Callable[[], str], str]] = {
    "lambda": (no_name, r"<lambda>: another process cannot import a lambda; give it a name with def, at the top"),
    "local": (
        local(),
        r"local\.<locals>\.inner: another process cannot import what is defined inside a function; move it to the top",
    ),
    "bound": (
        Maker().bound,
        r"Maker\.bound: another process cannot import an object; write a function at the top of a module that makes",
    ),
    "partial": (
        functools.partial(at_the_top),
        r"functools\.partial.*: another process cannot import an object; write a function at the top of a module that",
    ),
    "object": (Maker(), r"<.*Maker object.*>: another process cannot import an object; write a function at the top"),
    "hidden": (_kept, "hidden: another process cannot import it under that name; is it hidden by another one"),
}


@pytest.mark.parametrize("function, message", NOT_GIVEN.values(), ids=NOT_GIVEN)
def test_no_function_itself(function: Callable[[], str], message: str) -> None:
    """What another process cannot import is told with what to do instead."""
    with pytest.raises(SourceError, match=f"^{message}"):
        find_function(function, ".")


def test_typed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function without a file cannot be imported anywhere else."""
    monkeypatch.setattr(sys.modules["__main__"], "typed", at_the_top, raising=False)
    monkeypatch.setattr(at_the_top, "__module__", "__main__")
    monkeypatch.setattr(at_the_top, "__qualname__", "typed")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    with pytest.raises(
        SourceError, match=r"^typed: another process cannot import what was typed in; put it into a file$"
    ):
        find_function(at_the_top, ".")


def test_never_done(project: Path) -> None:
    """A function that never ends is ended at its time, with all that it started."""
    code = """
import subprocess, threading
def make():
    subprocess.Popen(["sleep", "301"])
    threading.Thread(target=subprocess.run, args=(["sleep", "302"],)).start()
    while True: pass
"""
    begin = time.monotonic()
    message = failure(project, code, 1.5)
    assert message == "not done after 1.5 seconds; a longer timeout (--timeout SECONDS) gives it more"
    assert time.monotonic() - begin < 20


def test_what_it_leaves_behind(project: Path) -> None:
    """Threads and programs that go on are not waited for: they end with the call."""
    code = """
import os, subprocess, sys, threading, time
def make():
    threading.Thread(target=time.sleep, args=(303,)).start()
    subprocess.Popen(["sleep", "304"])
    if os.fork() == 0:
        time.sleep(305)
        os._exit(0)
    return "x"
"""
    begin = time.monotonic()
    assert made(project, code) == "x"
    assert time.monotonic() - begin < 20


def test_a_daemon(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes leave of the process on purpose is not waited for either; it goes on, as with any other program."""
    code = """
import os, time
def make():
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3)
        os._exit(0)
    os.waitpid(child, 0)  # or it could be ended with this process, before it took leave
    return "x"
"""
    monkeypatch.setenv("A_DAEMON", word := f"daemon-{os.getpid()}")
    begin = time.monotonic()
    assert made(project, code) == "x"
    assert processes_with(f"A_DAEMON={word}") or time.monotonic() - begin > 3
    while processes_with(f"A_DAEMON={word}"):
        time.sleep(0.05)


def test_given_up(project: Path) -> None:
    """A call that is given up ends at once, and so does its process."""
    lay_out(project, {"prompts.py": "import time\ndef make(): time.sleep(306)"})
    begin = time.monotonic()
    with pytest.raises(CallError, match=r"given up$"):
        call_function(
            find_function("prompts:make", str(project)),
            Scene(str(project), NOON),
            60,
            give_up=lambda: time.monotonic() > begin + 0.3,
        )
    assert time.monotonic() - begin < 20


def test_a_system_that_cannot_wait_for_a_process(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no descriptor tells the end of a process, it is looked for again and again."""
    monkeypatch.delattr("os.pidfd_open", raising=False)
    assert made(project, "import time\ndef make():\n    time.sleep(0.1)\n    return 'x'") == "x"


def test_much_is_said(project: Path) -> None:
    """What a function prints is nobody's business, even if it is much; of errors the last line is kept."""
    code = """
import os, sys
def make():
    for stream in (sys.stdout, sys.stderr):
        stream.write("x" * 10_000_000 + "\\n")
    sys.stderr.write("done\\n")
    sys.stderr.flush()
    os._exit(1)
"""
    assert failure(project, code).endswith("the last it said was: done")


def test_too_much_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who never stops complaining is stopped before the disk is full."""
    monkeypatch.setattr("deepprompt.sources.function._MOST_SAID", 1 << 20)
    code = "import sys\ndef make():\n    while True: sys.stderr.write('x' * 10000)"
    assert failure(project, code) == "it wrote more than 1 MiB to standard error"


def test_much_is_returned(project: Path) -> None:
    """A prompt may be large."""
    value = made(project, "def make(): return 'é' * 10_000_000")
    assert isinstance(value, str)
    assert len(value) == 10_000_000


def test_what_is_to_be_done_in_the_end(project: Path) -> None:
    """What is registered for the end is done: temporary folders of the function's own are gone."""
    code = "import tempfile\nkept = tempfile.TemporaryDirectory()\ndef make(): return 'x'"
    assert made(project, code) == "x"


def test_no_such_folder(project: Path) -> None:
    """A folder that is gone is told as such."""
    lay_out(project, {"prompts.py": "def make(): return 'x'"})
    function = find_function("prompts:make", str(project))
    with pytest.raises(CallError, match=r"/gone: No such file or directory$"):
        call_function(function, Scene(f"{project}/gone", NOON), 60)


def test_the_environment(project: Path) -> None:
    """What is changed in the environment is changed; None takes a variable out."""
    code = 'import os\ndef make(): return f\'{os.environ.get("HOME")} {os.environ.get("USER")}\''
    assert made(project, code, environment={"HOME": "/h", "USER": None}) == "/h None"


CLOCKS = """
import datetime, time
from datetime import date, datetime as D, timezone
def make():
    moments = [
        time.time(), time.time_ns() / 1e9, time.mktime(time.localtime()), time.mktime(time.strptime(time.ctime())),
        time.clock_gettime(time.CLOCK_REALTIME), D.now().timestamp(), D.now(timezone.utc).timestamp(),
        D.now(tz=timezone.utc).timestamp(), D.utcnow().replace(tzinfo=timezone.utc).timestamp(), D.today().timestamp(),
        time.mktime(time.strptime(time.asctime())), time.mktime(time.strptime(time.strftime("%c"), "%c")),
        time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
    ]
    assert date.today() == D.now().date() == date.fromtimestamp(time.time())
    assert time.gmtime()[:5] == D.utcnow().timetuple()[:5]
    assert time.gmtime(0)[0] == 1970 and time.localtime(0.0) and time.ctime(0) and time.strftime("%Y", time.gmtime(0))
    assert abs(time.clock_gettime(time.CLOCK_MONOTONIC) - time.monotonic()) < 1
    return "\\n".join(str(round(moment - NOON)) for moment in moments)
"""


def test_every_clock_is_moved(project: Path) -> None:
    """Whatever of Python's is asked for the time of day says the same."""
    assert set(str(made(project, CLOCKS.replace("NOON", str(NOON)))).split("\n")) == {"0"}


def test_the_clock_goes_on(project: Path) -> None:
    """Each reading takes a tick, sleep takes its time, and who waits long enough without a look finds it late."""
    code = """
import time
def make():
    first, second = time.time(), time.time()
    time.sleep(0.25)
    return [{"steps": [second - first, time.time() - second]}]
"""
    assert made(project, code, tick=0.5) == [{"steps": [0.5, 0.75]}]


def test_the_clock_does_not_stand_still(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits by other means for a time to come still sees it come."""
    stage = Path(_STAGE).read_text("utf-8")
    copy = project.parent / "stage.py"
    copy.write_text(stage.replace("_LAG = 5.0", "_LAG = 0.1"), "utf-8")
    monkeypatch.setattr("deepprompt.sources.function._STAGE", str(copy))
    code = """
import threading, time
def make():
    deadline = time.time() + 1
    while time.time() < deadline: threading.Event().wait(0.2)
    return "x"
"""
    assert made(project, code, 30) == "x"


def test_it_ends_itself(project: Path) -> None:
    """Should nobody be left to end it, a process does so itself, some time after its time is over."""
    lay_out(project, {"prompts.py": "def make():\n    while True: pass"})
    surroundings = {"clock": NOON, "tick": 1, "umask": 0, "columns": 80, "reversed": False, "user": "", "host": ""}
    order = {
        "surroundings": surroundings, "path": [str(project)], "module": "prompts", "file": "", "name": "make",
        "arguments": [], "result": str(project / "result"), "timeout": -9.5, "turn": 1,
    }  # fmt: skip
    command = [sys.executable, "-P", _STAGE]
    done = subprocess.run(command, input=json.dumps(order).encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"prompts.py" in done.stderr


def test_folders_are_listed_in_order(project: Path) -> None:
    """By name, or backwards, whoever asks; what belongs to listing goes on to work."""
    lay_out(project, {f"parts/{name}": "" for name in "badc"})
    code = """
import glob, os, pathlib, shutil, tempfile
def make():
    with os.scandir(b"parts") as entries: first = next(entries).name.decode()
    with os.scandir() as entries: entries.close()
    descriptor = os.open("parts", os.O_RDONLY)
    assert os.listdir in os.supports_fd and os.scandir in os.supports_fd and os.listdir() and os.listdir(b".")
    shutil.copytree("parts", os.path.join(tempfile.mkdtemp(), "x"))
    shutil.rmtree(tempfile.gettempdir() + "/" + os.listdir(tempfile.gettempdir())[0])
    found = [os.listdir("parts"), os.listdir(descriptor), [e.name for e in os.scandir("parts")],
             [p[6:] for p in glob.glob("parts/*")], [p.name for p in pathlib.Path("parts").glob("*")],
             next(os.walk("parts"))[2]]
    return first + "".join(found[0]) if all(f == found[0] for f in found) else str(found)
"""
    empty = project.parent / "empty"
    empty.mkdir()
    for backwards, order in ((False, "aabcd"), (True, "ddcba")):
        assert made(project, code, reversed=backwards, environment={"TMPDIR": str(empty)}) == order


def test_the_real_ones_without_a_move(project: Path) -> None:
    """User and host are the real ones unless they are moved."""
    code = "import os, socket, getpass\ndef make(): return f'{socket.gethostname()} {os.uname().nodename}'"
    assert made(project, code) == f"{socket.gethostname()} {os.uname().nodename}"
    assert made(project, code, host="mars") == "mars mars"


def test_str() -> None:
    """A function is called what the user calls it."""
    function = Function("m", "", "f", ())
    assert str(function) == "m:f"
    assert str(replace(function, module="", file="/p.py")) == "/p.py:f"
    assert str(replace(function, called="build --portable")) == "build --portable"
    assert str(find_function("m:f", ".")) == "m:f"


# How pytest imports, and whether the tests are a package.
IMPORT_MODES = {"folder": ("prepend", False), "package": ("importlib", True), "no package": ("importlib", False)}
OF_A_TEST = """
import datetime
from {helper} import RULES

def steady():
    return RULES

def dated():
    return f"{{RULES}}\\nToday is {{datetime.date.today()}}."

def test_steady(assert_prefix_stable):
    skip = ["locale", "hash seed", "home", "user", "host", "terminal", "listing", "umask", "temp", "line ends"]
    assert assert_prefix_stable(steady, skip=skip).prefix_bytes == 8

def test_dated(assert_prefix_stable):
    skip = ["locale", "hash seed", "home", "user", "host", "terminal", "listing", "umask", "temp", "line ends"]
    assert_prefix_stable(dated, skip=skip)
"""


@pytest.mark.parametrize("mode, package", IMPORT_MODES.values(), ids=IMPORT_MODES)
def test_functions_of_a_test(
    mode: str, package: bool, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function may stand in the test itself, however pytest imports that; a failure is only the report."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    files = {"tests/test_it.py": OF_A_TEST.format(helper=".rules" if package else "rules")}
    files |= {"tests/rules.py" if package or mode == "prepend" else "rules.py": 'RULES = "Be kind."'}
    lay_out(pytester.path, files | ({"tests/__init__.py": ""} if package else {}))
    path = () if package or mode == "prepend" else ("-o", "pythonpath=.")
    result = pytester.runpytest_subprocess("-p", "deepprompt", f"--import-mode={mode}", *path, "tests")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_it:dated: the static prefix (29 bytes) changed in 3 of 7 surroundings"])
    result.stdout.fnmatch_lines(["  clock, a day later: a date or a time changed", '    was    "Today is *."'])
    result.stdout.no_fnmatch_line("*Traceback*")
