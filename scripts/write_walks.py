"""Draw the walks of docs/layout.md: which modules a command or call visits, from a real trace.

Run it after you move code between modules: `python scripts/write_walks.py`. A test checks that the page is up to date.
Each module stands once, below the one that called it first, with the functions by which it was entered. Modules
that only answer questions about values, and so are called from everywhere, are listed below the drawing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "layout.md"
PACKAGE = f"{ROOT / 'deepprompt'}{os.sep}"

GROUND = ("errors", "arguments", "prompt", "tokens", "tools", "text/", "sources/files", "commands/options")
"""The rooms that everybody may ask."""

_MOST_NAMES = 3
_MODEL = "claude-sonnet-4-5"


def main() -> int:
    """Write the walks into the page."""
    text = PAGE.read_text("utf-8")
    for name, drawing in walks().items():
        start, end = f"<!-- walk: {name} -->\n", f"<!-- end of walk: {name} -->\n"
        before, _, rest = text.partition(start)
        text = before + start + f"```text\n{drawing}```\n" + end + rest.partition(end)[2]
    PAGE.write_text(text, encoding="utf-8", newline="\n")
    return 0


def walks() -> dict[str, str]:
    """Return the drawing of each walk. Each is traced in a process of its own, so that no cache is warm."""
    return {name: _run(name) for name in WALKS}


def _run(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, name]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": folder, "GIT_CONFIG_GLOBAL": os.devnull}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def _build() -> Callable[[], object]:
    """`deepprompt build` in a repository with an instruction file and a skill."""
    Path("AGENTS.md").write_text("Run make test.\n")
    Path(".deepseek/skills/release").mkdir(parents=True)
    Path(".deepseek/skills/release/SKILL.md").write_text(
        "---\nname: release\ndescription: make a release\n---\nSteps.\n"
    )
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run(["git", "add", "--all"], check=True)
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *author, "commit", "--quiet", "--message", "first"], check=True)
    from deepprompt.cli import main as command

    return lambda: command(["build", "--out", "prompt.txt", "--quiet"])


def _session() -> Callable[[], object]:
    """The second turn of a session: a user's message, then the request."""
    from deepprompt import ProjectContext, Session, SystemPromptBuilder

    session = Session(SystemPromptBuilder(project=ProjectContext(cwd="/project")).compose())
    session.user("Rename the button.")
    session.request(to="anthropic", model=_MODEL)
    session.append({"role": "assistant", "content": "Done."})

    def turn() -> None:
        session.user("Now the tests.")
        session.request(to="anthropic", model=_MODEL)

    return turn


def _blame() -> Callable[[], object]:
    """`deepprompt blame` for two requests with different system prompts."""
    for name, line in (("a", "Run make test."), ("b", "Run make check.")):
        body = {"model": _MODEL, "system": f"Rules:\n{line}", "messages": [{"role": "user", "content": "Hello."}]}
        Path(f"{name}.json").write_text(json.dumps(body))
    from deepprompt.cli import main as command

    return lambda: command(["blame", "a.json", "b.json"])


WALKS = {"deepprompt build": _build, "session.request": _session, "blame": _blame}


class _Trace:
    """The modules that calls visit: who called each first, and by which functions it was entered."""

    def __init__(self) -> None:
        self.callers: dict[str, str] = {}
        self.entered: dict[str, list[str]] = {}
        self._stack: list[tuple[FrameType, str]] = []
        self._importing = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code.co_name == "<module>":  # what runs when a module is imported is no step of the walk
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        if self._importing or not code.co_filename.startswith(PACKAGE):
            return
        module = code.co_filename.removeprefix(PACKAGE).removesuffix(".py").removesuffix("/__init__")
        if event == "call":
            if not self._stack or self._stack[-1][1] != module:
                self._enter(module, code.co_name)
            self._stack.append((frame, module))
        elif event == "return" and self._stack and self._stack[-1][0] is frame:  # a closed generator was never entered
            self._stack.pop()

    def _enter(self, module: str, function: str) -> None:
        self.callers.setdefault(module, self._stack[-1][1] if self._stack else "")
        names = self.entered.setdefault(module, [])
        if not function.startswith(("_", "<")) and function not in names:
            names.append(function)


def draw(trace: _Trace) -> str:
    """Return the walk as a tree, and a line with the modules that everybody asks."""
    ground = [module for module in trace.callers if _is_ground(module)]
    lines = list(_lines(trace, "", ""))
    width = max(len(tree) for tree, _ in lines) + 2
    drawn = [f"{tree:{width}}{names}".rstrip() for tree, names in lines]
    return "\n".join([*drawn, "", "asked by many: " + ", ".join(sorted(ground))]) + "\n"


def _is_ground(module: str) -> bool:
    return any(module == room or (room.endswith("/") and module.startswith(room)) for room in GROUND)


def _lines(trace: _Trace, caller: str, indent: str) -> Iterator[tuple[str, str]]:
    """Yield the modules below a caller, each with its functions."""
    called = [module for module in trace.callers if not _is_ground(module) and _drawn_below(trace, module) == caller]
    for number, module in enumerate(called, 1):
        last = number == len(called)
        names = trace.entered[module][:_MOST_NAMES]
        branch = "" if not caller else "└─ " if last else "├─ "
        yield f"{indent}{branch}{module}", ", ".join(names)
        yield from _lines(trace, module, indent + ("" if not caller else "   " if last else "│  "))


def _drawn_below(trace: _Trace, module: str) -> str:
    """Return the first caller of a module that is drawn."""
    caller = trace.callers[module]
    while caller and _is_ground(caller):
        caller = trace.callers[caller]
    return caller


def _print_walk(name: str) -> None:
    call = WALKS[name]()
    trace = _Trace()
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        sys.setprofile(trace)
        try:
            call()
        finally:
            sys.setprofile(None)
    sys.stdout.write(draw(trace))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _print_walk(sys.argv[1])
    else:
        sys.exit(main())
