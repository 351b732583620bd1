"""Follows a page of the documentation as a reader would: block by block, in one new folder, by copy and paste.

What the blocks of a page mean:

- With a title (```` ```python title="app.py" ````) a block is a file, and is written.
- `python` without one is pasted into the prompt of one `python`, line by line, which lasts as long as the page: an
  empty line ends a body there, and the value of an expression is printed.
- `sh` is run by bash and has to end well, or with the code of `<!-- exit 1 -->` on the line before it.
- `text` right after one of these is what it printed: all of it, where a line `...` stands for any number of lines and
  `[...]` for any text in a line.
- `<!-- figures vary -->` on the line before a block: what it prints has other figures on another machine.
- `json`, `toml` and `yaml` without a title are examples of a form: they have to be well formed.
- `<!-- if NAME is installed -->` before a block passes it over if that package cannot be imported.
- `<!-- not run: WHY -->` before a block passes it over. Lines that make an environment or install are passed over, but
  what they install has to be an extra of ours.

`<!-- with examples -->` anywhere puts the folder `examples` there first; `<!-- needs NAME -->` says which package a
page needs beside ours.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.nested import ITS_PLUGINS
from tests.support.paths import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# To git a reader may be nobody: on a new machine it asks for a name before it commits.
STRANGER = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.useConfigOnly",
    "GIT_CONFIG_VALUE_0": "true",
}
SILENT = {"", "text", "markdown", "diff"}  # what is only looked at
_BLOCK = re.compile(
    r"(?:^<!-- (?P<said>[^\n]*) -->\n+)?"
    r"^```(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"\n]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SET_UP = re.compile(r"(python3? -m venv |(\S*/)?pip install |source \S+/activate)")

# Takes blocks on its input, one JSON string a line, and types them; after each a line says whether all went well.
_SESSION = """
import code, json, sys
class Prompt(code.InteractiveConsole):
    well = True
    def write(self, data):  # which only tells what is wrong
        self.well = False
        print(data, end="")
prompt = Prompt({"__name__": "__main__"})
for line in sys.stdin:
    prompt.well = True
    for typed in (*json.loads(line).splitlines(), ""):
        more = prompt.push(typed)
        if not prompt.well:
            break
    prompt.resetbuffer()
    print("\\n--- done" if prompt.well and not more else "\\n--- failed", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its line in the page, language, title, text, the comment before it, and what it is to print."""

    line: int
    language: str
    title: str
    text: str
    said: str
    output: str | None


def read_blocks(page: str) -> list[Block]:
    """Return the blocks of a page, each with the `text` that follows it as its output."""
    matches = list(_BLOCK.finditer(page))
    blocks = []
    for number, match in enumerate(matches):
        after = matches[number + 1] if number + 1 < len(matches) else None
        follows = (
            after
            and after["language"] == "text"
            and not after["title"]
            and not page[match.end() : after.start()].strip()
        )
        blocks.append(
            Block(
                line=page.count("\n", 0, match.start("language")) + 1,
                language=match["language"],
                title=match["title"] or "",
                text=match["text"],
                said=match["said"] or "",
                output=after["text"] if after and follows else None,
            )
        )
    return blocks


def needed(page: str) -> list[str]:
    """Return the packages that a page needs beside ours."""
    return [name for names in re.findall(r"^<!-- needs (.+) -->$", page, re.MULTILINE) for name in names.split()]


def follow(page: Path, folder: Path) -> None:
    """Do all that a page says in a folder, and compare what it prints."""
    text = page.read_text("utf-8")
    home = folder.parent / "home"
    home.mkdir()
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        **STRANGER,
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "120",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "",
        **ITS_PLUGINS,
    }
    with _Python(folder, environment) as python:
        for block in read_blocks(text):
            where = f"{page.name}:{block.line}"
            if block.said.startswith("not run: ") or _is_missing(block):
                continue
            if block.title:
                target = folder / block.title
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, "utf-8")
            elif block.language == "python":
                printed, well = python.run(block.text)
                assert well, f"{where} failed:\n{printed}"
                _compare(where, block, printed)
            elif block.language == "sh":
                _run(where, block, folder, environment)
            else:
                _well_formed(where, block)


def _is_missing(block: Block) -> bool:
    """Whether a block needs a package that is not installed."""
    package = re.fullmatch(r"if (\w+) is installed", block.said)
    return package is not None and importlib.util.find_spec(package[1]) is None


def _run(where: str, block: Block, folder: Path, environment: dict[str, str]) -> None:
    lines = [line for line in block.text.splitlines() if not _passed_over(where, line)]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    expected = int(block.said.removeprefix("exit ")) if block.said.startswith("exit ") else 0
    printed = done.stdout.decode()
    assert done.returncode == expected, f"{where} ended with {done.returncode}:\n{printed}"
    if lines:
        _compare(where, block, printed)


def _passed_over(where: str, line: str) -> bool:
    if not _SET_UP.match(line):
        return False
    for extras in re.findall(r"(?:deepprompt|\.)\[([\w,-]+)\]", line):
        for extra in extras.split(","):
            assert extra in PYPROJECT["project"]["optional-dependencies"], f"{where}: no extra {extra!r}"
    return True


def _compare(where: str, block: Block, printed: str) -> None:
    if block.output is None:
        return
    # Blanks at the end of lines and of all are as a page can show them.
    shown = re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE).rstrip("\n") + "\n"
    pattern = "".join(
        "(?:.*\n)*" if line == "...\n" else ".*".join(re.escape(piece) for piece in line.split("[...]"))
        for line in block.output.splitlines(keepends=True)
    )
    if block.said == "figures vary":
        pattern = re.sub(r"[0-9]+(,[0-9]+)*", "[0-9,]+", pattern)
    assert re.fullmatch(pattern, shown), f"{where} printed:\n{shown}\nand not, as the page says:\n{block.output}"


def _well_formed(where: str, block: Block) -> None:
    match block.language:
        case "json":
            json.loads(block.text)
        case "toml":
            tomllib.loads(block.text)
        case "yaml":
            yaml.safe_load(block.text)
        case language:
            assert language in SILENT, f"{where}: a block of {language!r} is neither run nor looked at; see pages.py"


class _Python:
    """One Python session in a folder."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SESSION],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> _Python:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def run(self, block: str) -> tuple[str, bool]:
        """Run a block; return what it printed, and whether it went well."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(block) + "\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            if line in ("--- done\n", "--- failed\n"):
                return printed.removesuffix("\n"), line == "--- done\n"
            printed += line
        return f"{printed}\nthe session has ended", False
