"""The reference of commands is what the parsers say, and no page or example names a command or option that is none."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepprompt.cli import every_parser
from deepprompt.commands import COMMANDS
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text("utf-8")
PARSERS = every_parser()
OPTIONS = {
    name: {option for action in parser._actions for option in action.option_strings} for name, parser in PARSERS.items()
}

PAGES = [
    path
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*")),
    )
    if path.is_file() and "__pycache__" not in path.parts
]
SHELL = {"sh", "bash", "console", "yaml", "yml"}  # blocks, and files, that hold commands
NOT_OURS = {
    "--snapshot-update": "pytest's, by the snapshot plugin",
    "--python": "of python -m benchmarks",
    "--real": "of the examples",
    "--stat": "git's",
    "--enable-cache-report": "SGLang's",
    "--enable-prompt-tokens-details": "vLLM's",
}
BEFORE_A_PROGRAM = re.compile(r"\$|-|!|[|&;()]+|\w+=.*|(?:run|entry):|if|then|do|else|exec|time|env|run|uvx|&?>+")


def test_it_is_what_the_script_writes() -> None:
    """The page is up to date."""
    page = runpy.run_path(str(ROOT / "scripts" / "write_commands.py"))["page"]
    assert page() == PAGE, "docs/commands.md is not up to date; run: python scripts/write_commands.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_there(command: str) -> None:
    """Each command has a section with what it does and all of its options."""
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    assert COMMANDS[command][1:] + ".\n" in section[1]
    rows = re.findall(r"^\| (`-.*?) \| ", section[1], re.MULTILINE)
    assert {name for row in rows for name in re.findall("`(-[^ `]+)", row)} | {"-h", "--help"} == OPTIONS[command]
    for action in PARSERS[command]._actions:
        if not action.option_strings:
            assert f"\n| `{action.metavar}` | " in section[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_a_newcomer_asks(command: str) -> None:
    """Help says of each option what it means, what holds without it, what it can be, and whether it may be repeated."""
    for action in PARSERS[command]._actions:
        told = action.help or ""
        assert told, action.dest
        assert told[:1].islower() or re.match(r"[A-Z]{2}|[A-Z][a-z]+(:|AI)|-", told), told
        assert re.search(r"(?<!\.)$|\.\.\.$", told), told
        if action.default not in (None, False, [], argparse.SUPPRESS) and action.nargs != 0:
            assert "(default: " in told, told
        if action.choices and action.metavar and action.metavar != "COMMAND":  # the overview lists those
            assert all(choice in told for choice in action.choices), told
        if isinstance(action, argparse._AppendAction):
            assert told.endswith("; may be repeated"), told


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The help of a command fits a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    assert [line for line in PARSERS[command].format_help().splitlines() if len(line) > 80] == []


def test_nothing_has_drifted() -> None:
    """Each command that a page or an example shows is one of ours, and each of its options one that it takes."""
    assert [f"{path.relative_to(ROOT)}: {found}" for path in PAGES for found in wrong(path)] == []


def test_there_is_something_to_read() -> None:
    """The pages are read as they are meant to be: one of them alone shows many commands with options."""
    shown = [command for command in commands_of(ROOT / "docs" / "presets.md") if len(command) > 2]
    assert len(shown) > 12


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.md", "Run `deepprompt bild`.", "deepprompt bild: no command 'bild'"),
        ("a.md", "Run `deepprompt build --jsn`.", "deepprompt build --jsn: no option --jsn"),
        ("a.md", "Run `build --jsn`.", "build --jsn: no option --jsn"),
        ("a.md", "Run `deepprompt build\n--jsn`.", "deepprompt build --jsn: no option --jsn"),
        ("a.md", "With `--jsn` it is JSON.", "--jsn: no option --jsn"),
        ("a.md", "```sh\npython -P -m deepprompt lint -P --cwd=x -\n```", "deepprompt lint -P --cwd=x -: no option -P"),
        ("a.md", "```sh\ncd x && deepprompt build --jsn | less # it\n```", "deepprompt build --jsn: no option --jsn"),
        ("a.md", "```sh\ndeepprompt build \\\n  --jsn\n```", "deepprompt build --jsn: no option --jsn"),
        ("a.md", "```text\n$ .venv/bin/deepprompt build -x\n```", "deepprompt build -x: no option -x"),
        ("a.md", "```sh\ndeepprompt perturb 'build --jsn'\n```", "build --jsn: no option --jsn"),
        ("a.md", '```toml\nmain = "build --jsn"\n```', "build --jsn: no option --jsn"),
        ("a.md", "```yaml\n- run: uv run deepprompt chek\n```", "deepprompt chek: no command 'chek'"),
        ("ci.yml", "steps:\n  - run: deepprompt check --all\n", "deepprompt check --all: no option --all"),
        ("ci.yml", "  - run: |\n      deepprompt chek\n", "deepprompt chek: no command 'chek'"),
        ("run.sh", 'exec "$bin/deepprompt" --verbose\n', "deepprompt --verbose: no option --verbose"),
        ("a.py", '"""See `deepprompt build --jsn`."""\n', "deepprompt build --jsn: no option --jsn"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(name: str, text: str, said: str, tmp_path: Path) -> None:
    """A command or an option that is not there is found, wherever it may stand."""
    (tmp_path / name).write_text(text)
    assert list(wrong(tmp_path / name)) == [said]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "The library `deepprompt` builds prompts, `deepprompt.lock` pins them, `git log --oneline` lists."),
        ("a.md", "```sh\npip install deepprompt pytest --quiet\npytest --snapshot-update\n```"),
        ("a.md", "Or `deepprompt COMMAND --help`; `deepprompt build --home '' -- --jsn`; `lint`; `--model NAME`; `-`."),
        ("ci.yml", "name: deepprompt guards\nsteps:\n  - run: pip install 'deepprompt[snapshot]' --quiet\n"),
        ("a.py", "# deepprompt builds this --somehow\n"),
    ],
)
def test_what_is_no_command_of_ours_is_left_alone(name: str, text: str, tmp_path: Path) -> None:
    """Prose, other programs, and the package's name are no commands."""
    (tmp_path / name).write_text(text)
    assert list(wrong(tmp_path / name)) == []


def wrong(path: Path) -> Iterator[str]:
    """What a file says of commands and options that is not so."""
    for words in commands_of(path):
        shown = " ".join(words)
        if words[0] == "deepprompt":
            words = words[1:]
        if not words or words[0].startswith("-"):  # an option alone may be of any command
            known = OPTIONS[""] if shown.startswith("deepprompt") else set.union(*OPTIONS.values())
        elif words[0] in COMMANDS:
            known = OPTIONS[words[0]]
        elif words[0] == "COMMAND":
            known = set.union(*OPTIONS.values())
        else:
            yield f"{shown}: no command {words[0]!r}"
            continue
        for word in words[: words.index("--")] if "--" in words else words:
            option = word.partition("=")[0]
            if re.match(r"--?[a-zA-Z]", option) and option not in known and option not in NOT_OURS:
                yield f"{shown}: no option {option}"


def commands_of(path: Path) -> Iterator[list[str]]:
    """The commands of ours that a file shows, as words; in a page's inline code also options by themselves."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return
    if path.suffix.removeprefix(".") in SHELL:
        yield from commands_in(text)
        return
    fence = re.compile(r"^ *(`{3,})(\w*).*?\n(.*?)^ *\1$", re.MULTILINE | re.DOTALL)
    for _, language, block in fence.findall(text) if path.suffix == ".md" else ():
        if language in SHELL:
            yield from commands_in(block)
        yield from commands_in("\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE)))
        if language == "toml":
            yield from map(split, re.findall(r'"(build [^"\n]*)"', block))
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", fence.sub("", text)):
        words = split(code.replace("\n", " "))
        if path.suffix == ".md" and re.match("--[a-z]|({}) ".format("|".join(COMMANDS)), code):
            yield words
        else:
            yield from commands_in(code.replace("\n", " "))


def commands_in(text: str) -> Iterator[list[str]]:
    """The commands of ours in lines of a shell, or of a file that has such lines."""
    for line in text.replace("\\\n", " ").splitlines():
        words = split(line)
        for at, word in enumerate(words):
            before = words[at - 1] if at else "$"
            program = word == "deepprompt" and (before == "-m" or BEFORE_A_PROGRAM.fullmatch(before))
            if program or word.endswith("/deepprompt"):
                ours = words[at + 1 :]
                end = next((place for place, word in enumerate(ours) if re.fullmatch(r"[|&;()<>]+", word)), len(ours))
                yield ["deepprompt", *ours[:end]]
                yield from (split(word) for word in ours[:end] if word.startswith("build "))


def split(line: str) -> list[str]:
    """A line's words, as a shell sees them, or as they are where it would want more of it."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return list(words)
    except ValueError:
        return line.split()
