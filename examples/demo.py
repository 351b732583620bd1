"""What the agents of these examples share: a project to ask about, tools to read it with, questions, and the report.

Nothing in here belongs to one provider, and nothing of it is needed in a runtime of your own but a report like ours.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from standin import Answer, StandIn

from deepprompt import ProjectContext, Session, Usage, read_git
from deepprompt.providers.facts import bundled_facts

HERE = Path(__file__).parent
PROMPT = (HERE / "prompt.md").read_text("utf-8")

TOOLS: tuple[dict[str, object], ...] = (
    {
        "name": "list_files",
        "description": "List the files of the project, one path on a line.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    {
        "name": "read_file",
        "description": "Read a file of the project, which has to be text.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "As list_files shows it."}},
            "required": ["path"],
            "additionalProperties": False,
        },
    },
)


def list_files() -> str:
    """List the files of the project, one path on a line."""
    files = (path for path in Path().rglob("*") if path.is_file() and ".git" not in path.parts)
    return "\n".join(sorted(path.as_posix() for path in files))


def read_file(path: str) -> str:
    """Read a file of the project, which has to be text."""
    try:
        inside = Path(path).resolve().relative_to(Path.cwd())
        return inside.read_text("utf-8") if ".git" not in inside.parts else f"error: {path} is git's own"
    except (OSError, ValueError) as error:
        return f"error: {path} cannot be read ({type(error).__name__})"


def run_tool(name: str, given: Mapping[str, object] | str) -> str:
    """Run a tool that the model called, with its arguments as an object or as JSON, and return what it gave."""
    text = given if isinstance(given, str) else json.dumps(given)
    parsed = _parsed(text)
    print(f"  {name} {text if parsed is None else json.dumps(parsed)}")
    match name, parsed:
        case "list_files", {}:
            return list_files()
        case "read_file", {"path": str(path)}:
            return read_file(path)
    return f"error: there is no tool {name} that takes {text}"


def _parsed(text: str) -> object:
    """Return what a model wrote as JSON, or None if it is not: a real one may write anything."""
    try:
        return json.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user changes in the project, what they ask then, and what the stand-in says to that."""

    edits: Mapping[str, tuple[str, str]]
    question: str
    script: tuple[Answer, ...]


TURNS = (
    Turn(
        edits={},
        question="How often is a message sent before it is given up?",
        script=(
            Answer(calls=(("list_files", {}),), reasoning="I do not know the files yet."),
            Answer(calls=(("read_file", {"path": "postbox/retry.py"}),), reasoning="It will be in retry.py."),
            Answer("MOST_TRIES times: `deliver` sends once, and again after each of MOST_TRIES - 1 pauses."),
        ),
    ),
    Turn(
        edits={"postbox/limits.py": ("MOST_TRIES = 3", "MOST_TRIES = 5")},
        question="I raised the limit. Does a test notice?",
        script=(
            Answer(
                calls=(
                    ("read_file", {"path": "postbox/limits.py"}),
                    ("read_file", {"path": "tests/test_retry.py"}),
                ),
                reasoning="limits.py is modified; the tests may have its old value.",
            ),
            Answer("Yes: `test_pauses_double` asserts two pauses, and MOST_TRIES = 5 makes four."),
        ),
    ),
    Turn(
        edits={"tests/test_retry.py": ("[2.0, 4.0]", "[2.0, 4.0, 8.0, 16.0]")},
        question="And now?",
        script=(
            Answer(calls=(("read_file", {"path": "tests/test_retry.py"}),), reasoning="test_retry.py has changed too."),
            Answer("It agrees: four pauses, each twice the one before."),
        ),
    ),
)


def questions(turns: Iterable[Turn] = TURNS) -> Iterator[str]:
    """Yield what the user asks, turn by turn, each time after they have worked on the project."""
    for turn in turns:
        for path, (old, new) in turn.edits.items():
            file = Path(path)
            file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
        yield turn.question


@contextmanager
def project() -> Iterator[None]:
    """Be in a new git repository with the files of `project/` in its one commit, and leave nothing of it behind."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    author = ["-c", "user.name=demo", "-c", "user.email=demo@example.org"]
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        with chdir(shutil.copytree(HERE / "project", Path(folder, "project"), ignore=ignored)):
            for command in (["init", "--initial-branch=main"], ["add", "."], [*author, "commit", "--message=postbox"]):
                subprocess.run(["git", *command], env=os.environ | nobody, check=True, capture_output=True)
            yield


def project_now() -> ProjectContext:
    """Return what the model is told of the project: here, only what is the same on every machine.

    A runtime starts with `discover_project_context(".")`, which knows the date, the system and the shell as well.
    """
    return ProjectContext(cwd=".").with_git(read_git("."))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. Without an address, to where the SDK sends them by itself."""

    api_key: str
    base_url: str | None


@contextmanager
def endpoint(key: str, *, real: str | None = None, path: str = "", turns: Iterable[Turn] = TURNS) -> Iterator[Endpoint]:
    """Yield the stand-in, or with `--real` the provider at `real`, whose key is in the variable `key`."""
    parser = argparse.ArgumentParser(description="Ask an agent about a small project, and see what its cache does.")
    parser.add_argument("--real", action="store_true", help=f"ask the provider, with the key in {key}, and pay for it")
    options = parser.parse_args()
    if options.real:
        if not os.environ.get(key):
            parser.error(f"--real needs your key in {key}")
        yield Endpoint(os.environ[key], real)
        return
    _say_once("A stand-in on loopback answers from a script; no model is asked. With --real, one is.\n")
    os.environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}  # a proxy does not lead to our loopback
    with StandIn(answer for turn in turns for answer in turn.script) as server:
        yield Endpoint("no key", server.url + path)


@cache
def _say_once(line: str) -> None:
    print(line)


def report(session: Session) -> None:
    """Print what became of the cache in each request of a session, and what all of them came to."""
    (sent,) = {(recorded.to, recorded.model) for recorded in session.recorded}
    rows = [(recorded.usage, recorded.kind, recorded.detail) for recorded in session.recorded]
    table(*sent, [(usage, kind if kind == "hit" else f"{kind}: {detail}") for usage, kind, detail in rows])


def table(to: str, model: str, rows: Iterable[tuple[Usage, str]]) -> None:
    """Print requests, each with what its answer said of the cache and a remark, and the bill by the known prices."""
    rules = bundled_facts().rules(to, model)
    total, paid = Usage(), 0.0
    print("\nrequest   input  from the cache")
    for number, (usage, remark) in enumerate(rows, 1):
        print(f"{number:7}{usage.input:8,}{usage.cached_read:16,}  {remark}")
        total += usage
        paid += rules.paid(usage.cached_read, usage.cached_write, usage.uncached)
    print(
        f"{100 * total.cached_read / total.input:.0f} % of the input was read from the cache; "
        f"bill {100 * paid / total.input:.0f} % of the same without a cache, at the prices of {model}"
    )
