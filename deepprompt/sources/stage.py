"""The program that calls a user's function: it sets the surroundings, calls it, and writes down the result.

`sources.function` runs this file in a process of its own and writes an order to its standard input. Clock, host, user
and the order of folders are changed before any module of the user is imported, so that none has kept the real ones.
C code and other programs still see the real system; the documentation says so.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it, without the import, which every call would pay for
if TYPE_CHECKING:
    from typing import Any

IS_STAGE = True

# How far the clock may fall behind the real one. If a function takes less time, every call reads the same times.
_LAG = 5.0
# How many seconds after its timeout the process ends itself, in case its parent is gone.
_GRACE = 10.0


class MistakeError(Exception):
    """A mistake that its message explains completely, without type or position."""


def main() -> None:
    """Read an order from standard input, and carry it out."""
    order = json.load(sys.stdin)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    faulthandler.dump_traceback_later(order["timeout"] + _GRACE, exit=True)
    ballast = _shift_addresses()
    _set_surroundings(order["surroundings"])
    sys.path[:] = order["path"]
    sys.argv = [order["module"] or order["file"]]
    try:
        text = _written(_plain(_call(order)))
    except BaseException as error:
        text = json.dumps({"error": _described(error)})
    with open(order["result"] + ".part", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(file.name, order["result"])
    del ballast
    # Run the exit handlers of the function's modules, but do not wait for threads that it left behind.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)


def _shift_addresses() -> list[bytes]:
    """Allocate some memory of every small size, so that an order by address differs from process to process."""
    return [bytes(16 * size) for size, count in enumerate(os.urandom(32)) for _ in range(count % 32)]


def _set_surroundings(wanted: Mapping[str, Any]) -> None:
    os.umask(wanted["umask"])
    _move_clock(wanted["clock"], wanted["tick"])
    _order_folders(wanted["reversed"])
    if wanted["host"]:
        _name_host(wanted["host"])
    if wanted["user"]:
        _name_user(wanted["user"])
    size = os.terminal_size((wanted["columns"], 24))
    os.get_terminal_size = lambda *_: size


def _move_clock(start: float, tick: float) -> None:
    """Make every clock of Python that tells the time of day start at a given moment.

    A reading takes a tick of it: the same call makes the same readings in every process, and whoever waits for a time
    to come still sees it come.
    """
    import time
    from datetime import UTC, datetime

    passed = [0.0]
    real = {name: getattr(time, name) for name in dir(time)}
    monotonic, began = time.monotonic, time.monotonic()

    def now() -> float:
        passed[0] = max(passed[0] + tick, monotonic() - began - _LAG)
        return start + passed[0]

    def now_ns() -> int:
        return round(now() * 1_000) * 1_000_000

    def sleep(seconds: Any) -> None:
        real["sleep"](seconds)
        passed[0] += float(seconds)

    def of_moment(name: str) -> Any:  # the real function, of seconds
        return lambda seconds=None: real[name](now() if seconds is None else seconds)

    time.time, time.time_ns, time.sleep = now, now_ns, sleep
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, of_moment(name))
    time.asctime = lambda moment=None: real["asctime"](time.localtime() if moment is None else moment)
    time.strftime = lambda form, moment=None: real["strftime"](form, time.localtime() if moment is None else moment)
    for name, moved in (("clock_gettime", now), ("clock_gettime_ns", now_ns)):
        if name in real:  # not on Windows
            setattr(time, name, lambda clock, name=name, moved=moved: moved() if clock == 0 else real[name](clock))

    # `today` asks time.time; `now` asks the system.
    _change(datetime, "now", classmethod(lambda cls, tz=None: cls.fromtimestamp(now(), tz)))
    _change(datetime, "utcnow", classmethod(lambda cls: cls.fromtimestamp(now(), UTC).replace(tzinfo=None)))
    if abs(datetime.now(UTC).timestamp() - start) > _LAG:
        raise RuntimeError("the clock of this Python cannot be moved")


def _change(kind: type, name: str, value: object) -> None:
    """Change an attribute of a class, even of one written in C.

    A class of ours in its place would not do: types are compared by identity, and made by C code as well.
    """
    try:
        setattr(kind, name, value)
    except TypeError:
        import ctypes
        import gc

        gc.get_referents(kind.__dict__)[0][name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _order_folders(backwards: bool) -> None:
    """List folders in the order of their names, or in reverse."""
    real_list, real_scan = os.listdir, os.scandir

    class Listing:
        """What `os.scandir` returns, in an order."""

        def __init__(self, path: Any = ".") -> None:
            with real_scan(path) as entries:
                self.entries = iter(sorted(entries, key=lambda entry: entry.name, reverse=backwards))

        def __iter__(self) -> Iterator[Any]:
            return self.entries

        def __next__(self) -> Any:
            return next(self.entries)

        def __enter__(self) -> Listing:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            self.entries = iter(())

    def listed(path: Any = ".") -> list[Any]:
        return sorted(real_list(path), reverse=backwards)

    for name, real, moved in (("listdir", real_list, listed), ("scandir", real_scan, Listing)):
        setattr(os, name, moved)
        if real in os.supports_fd:
            os.supports_fd.add(moved)


def _name_host(host: str) -> None:
    """Give the machine another name, which resolves like its own."""
    import socket

    real_name = socket.gethostname()

    def found(name: str) -> Any:
        real = getattr(socket, name)

        def look_up(asked: Any, *rest: Any, **named: Any) -> Any:
            answer = real(real_name if asked == host else asked, *rest, **named)
            if asked == host and name in ("gethostbyaddr", "gethostbyname_ex"):
                return (answer[0].replace(real_name, host), *answer[1:])
            return answer

        return look_up

    for name in ("gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getaddrinfo"):
        setattr(socket, name, found(name))
    socket.gethostname = lambda: host
    if hasattr(os, "uname"):
        real_uname = os.uname
        os.uname = lambda: os.uname_result((real_uname()[0], host, *real_uname()[2:]))
    if "platform" in sys.modules:  # what is loaded at Python's start may have asked already
        platform: Any = sys.modules["platform"]
        platform._uname_cache = None
        platform._platform_cache.clear()


def _name_user(user: str) -> None:
    """Give the user another name, which can be looked up like their own."""
    os.getlogin = lambda: user
    try:
        import pwd
    except ImportError:  # Windows
        return
    by_number, by_name = pwd.getpwuid, pwd.getpwnam

    def entry(number: int) -> Any:
        real = by_number(number)
        return pwd.struct_passwd((user, *real[1:])) if number == os.getuid() else real

    pwd.getpwuid = entry
    pwd.getpwnam = lambda name: entry(os.getuid()) if name == user else by_name(name)


def _call(order: Mapping[str, Any]) -> object:
    """Return the result of the call that counts. A value that is not callable is the result itself."""
    module = order["module"]
    value: Any = _from_file(module, order["file"]) if order["file"] else _imported(module)
    for attribute in order["name"].split("."):
        try:
            value = getattr(value, attribute)
        except AttributeError:
            named = getattr(value, "__name__", module)
            raise MistakeError(f"{named} has no {attribute!r}{_instead(attribute, _public(value), 'names')}") from None
    if not callable(value):
        return _awaited(value)
    for _ in range(order["turn"] - 1):
        _awaited(_called(value, order["arguments"]))
    return _awaited(_called(value, order["arguments"]))


def _awaited(value: Any) -> object:
    """Return a value, awaited if necessary."""
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    async def wait() -> object:
        return await value

    return asyncio.run(wait())


def _called(function: Any, arguments: Sequence[object]) -> Any:
    try:
        return function(*arguments)
    except TypeError as error:
        at = error.__traceback__
        if arguments or at is None or at.tb_next is not None:
            raise
        # No line of the function ran: the call itself failed.
        raise MistakeError(
            f"it is called without arguments, and {error}; name a function without any that calls it with examples"
        ) from None


def _public(value: object) -> list[str]:
    """Return the names that a module or class defines, or else all of its names."""
    names = [name for name in dir(value) if not name.startswith("_")]
    home = getattr(value, "__name__", "")
    own = [name for name in names if getattr(getattr(value, name, None), "__module__", None) == home]
    return own or names


def _instead(wrong: str, names: list[str], called: str) -> str:
    # Not text.suggest: this program imports nothing of the package.
    from difflib import get_close_matches

    close = get_close_matches(wrong, names, 1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" ({called} there: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''})" if names else ""


def _imported(module: str) -> object:
    """Return a module by its name."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):  # one that the module imports
            raise
        parent, _, last = str(error.name).rpartition(".")
        own = [os.getcwd(), os.path.join(os.getcwd(), "src")]
        searched = getattr(sys.modules.get(parent), "__path__", ()) if parent else own
        places = [place for place in searched if os.path.isdir(place)]
        files = {name for place in places for name in os.listdir(place)}
        modules = sorted({os.path.splitext(name)[0] for name in files if name.endswith(".py") or "." not in name})
        raise MistakeError(
            f"no module {error.name!r} in {' or '.join(places)}{_instead(last, modules, 'modules')}"
            "; --cwd DIR (folder=) names another project, path/to/file.py:function needs no module"
        ) from None


def _from_file(module: str, file: str) -> object:
    """Return the module of a file: imported by name if that leads to the file, or else loaded from the file."""
    from importlib import util

    root, name = os.path.split(os.path.splitext(file)[0])
    if name == "__init__":
        root, name = os.path.split(root)
    while os.path.isfile(os.path.join(root, "__init__.py")):  # in a package, so that it may import from it
        root, package = os.path.split(root)
        name = f"{package}.{name}"
    sys.path.insert(len(sys.path) if module else 0, root)
    for known in dict.fromkeys((module or name, name)):
        if known in sys.modules:  # somebody else's
            continue
        try:
            loaded = import_module(known)
        except ModuleNotFoundError as error:
            if not f"{known}.".startswith(f"{error.name}."):
                raise
            continue
        if os.path.realpath(getattr(loaded, "__file__", None) or "") == os.path.realpath(file):
            return loaded
    known = f"{name}_" if name in sys.modules else name
    spec = util.spec_from_file_location(known, file)
    if spec is None or spec.loader is None:
        raise MistakeError(f"{file}: not a Python file")
    loaded = util.module_from_spec(spec)
    sys.modules[known] = loaded  # dataclasses look for their module there
    spec.loader.exec_module(loaded)
    return loaded


def _plain(value: Any) -> object:
    """Return a prompt of any kind as a JSON value."""
    # A function that returns a Prompt has imported it. Others do not pay for the import.
    prompts: Any = sys.modules.get("deepprompt.prompt")
    prompt_type = prompts.Prompt if prompts else ()
    for attribute in ("compose", "prompt", "body"):  # a builder, an assembled prompt, a request
        if not isinstance(value, str | Mapping) and not isinstance(value, prompt_type) and hasattr(value, attribute):
            inner = getattr(value, attribute)
            value = inner() if callable(inner) else inner
    if isinstance(value, prompt_type):
        prompt: Any = value
        parts = [prompts.write_part(part) for part in prompt.parts]
        notes = [[note.kind, note.source, note.detail, note.offset, note.count] for note in prompt.notes]
        whole = {"parts": parts, "tools": list(prompt.tools), "notes": notes, "messages": list(prompt.messages)}
        return {"prompt": whole | {"fixed_order": prompt.fixed_order}}
    if isinstance(value, bytes):
        try:
            return {"text": value.decode()}
        except UnicodeDecodeError as error:
            raise MistakeError(f"it returned bytes that are not UTF-8 at byte {error.start}") from None
    if isinstance(value, str):
        return {"text": value}
    if callable(getattr(value, "model_dump", None)):  # a request as SDKs have it
        value = _as_plain(value)
    if isinstance(value, Mapping):
        return {"body": dict(value)}
    if isinstance(value, Sequence):
        return {"messages": list(value)}
    missing = "; is a return missing?" if value is None else ""
    kinds = "a text, a Prompt, a list of messages or a request's body"
    what = "None" if value is None else type(value).__name__
    raise MistakeError(f"it returned {what} where a prompt is {kinds}{missing}")


def _written(value: object) -> str:
    try:
        return json.dumps({"value": value}, default=_as_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise MistakeError(f"what it returned cannot be written as JSON: {error}") from None


def _as_plain(value: Any) -> object:
    """Return a value that json does not know as one that it does: mappings, sequences, and values of SDKs."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return list(value)
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json", exclude_unset=True)
    raise TypeError(f"there is a value of type {type(value).__name__} in it")


def _described(error: BaseException) -> str:
    """Return what went wrong and where in the user's code, in one line."""
    if isinstance(error, MistakeError):
        return str(error)
    import traceback

    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    if isinstance(error, SyntaxError):  # whose own place is not among the frames
        return f"{lines[-1]} ({error.filename}:{error.lineno})"
    what = lines[0]
    if isinstance(error, ModuleNotFoundError):
        what += f", which {sys.executable} does not have"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    theirs = [frame for frame in frames if os.path.abspath(frame.filename) != os.path.abspath(__file__)]
    # Point to the user's own code, not to the library that raised.
    libraries = (os.path.dirname(os.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)
    own = [f for f in theirs if not f.filename.startswith(libraries) and "-packages" + os.sep not in f.filename]
    if not own and isinstance(error, getattr(sys.modules.get("deepprompt.errors"), "DeepPromptError", ())):
        return str(error)
    return what + "".join(f" ({frame.filename}:{frame.lineno})" for frame in (own or theirs)[-1:])


if __name__ == "__main__":
    main()
