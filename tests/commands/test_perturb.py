"""`deepprompt perturb`: what it prints, how it ends, and that its page in docs/ tells the truth."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deepprompt.checks.perturb.moves import MOVES
from deepprompt.cli import main
from tests.support.guarded import failure, run, wrong
from tests.support.layout import lay_out
from tests.support.paths import ROOT
from tests.support.repositories import make_repository, processes_with

pytestmark = pytest.mark.slow

DOCS = (ROOT / "docs" / "perturb.md").read_text("utf-8")
CaptureText = pytest.CaptureFixture[str]

PROMPTS = """
import os, time

def steady():
    return "Be kind."

def wide():
    return f"Be kind.\\nWrap at {os.environ['COLUMNS']}."

def cut():
    return f"Be kind.\\n--\\nWrap at {os.environ['COLUMNS']}."

def failing():
    raise ValueError("no")

def slow():
    time.sleep(300)

def slower():
    if os.environ["COLUMNS"] == "213":
        time.sleep(300)
    return "x"
"""
SKIP = [word for kind in MOVES if kind not in ("again", "terminal") for word in ("--skip", kind)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to be in."""
    monkeypatch.chdir(tmp_path)
    return lay_out(tmp_path, {"prompts.py": PROMPTS})


@pytest.mark.usefixtures("project")
def test_stable(capsys: CaptureText) -> None:
    """A function whose prefix stays: one line, exit 0."""
    printed = run(capsys, "perturb", "prompts:steady", *SKIP)
    assert printed == "prompts:steady: the static prefix (8 bytes) is the same in all 2 surroundings\n"


@pytest.mark.usefixtures("project")
def test_unstable(capsys: CaptureText) -> None:
    """A function whose prefix moves: what was moved, where, and the first difference; exit 1."""
    assert run(capsys, "perturb", "prompts.py:wide", *SKIP, code=1) == (
        "prompts.py:wide: the static prefix (20 bytes) changed in 1 of 2 surroundings\n"
        "  terminal, to 213 columns: a number changed\n"
        "    where  text, line 2, byte 17\n"
        '    was    "Wrap at 80."\n'
        '    is     "Wrap at 213."\n'
        "  all of the text counts, as it has no boundary; --boundary TEXT (boundary=) says what ends the prefix\n"
    )


@pytest.mark.usefixtures("project")
def test_a_boundary_of_ones_own(capsys: CaptureText) -> None:
    """What moves behind the boundary is told and no failure."""
    printed = run(capsys, "perturb", "prompts:cut", "--boundary", "\n--\n", *SKIP)
    assert printed.splitlines()[1:] == ["  text may change, and changed with: terminal"]
    assert failure(capsys, "perturb", "prompts:cut", "--boundary", "====", *SKIP) == (
        "prompts:cut: the boundary '====' does not stand in what it returned"
    )


def test_several(project: Path, capsys: CaptureText, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each target is looked at, even if one before it fails; from another folder too."""
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    targets = ["prompts:steady", "prompts:failing", "prompts:wide"]
    assert main(["perturb", "--cwd", str(project), *targets, *SKIP]) == 1
    printed = capsys.readouterr()
    assert re.findall(r"^(\S+): the static prefix \(\d+ bytes\) (\w+)", printed.out, re.MULTILINE) == [
        ("prompts:steady", "is"),
        ("prompts:wide", "changed"),
    ]
    assert printed.err == f"deepprompt: prompts:failing: ValueError: no ({project}/prompts.py:14)\n"
    assert run(capsys, "perturb", "--cwd", project, "prompts:steady", "prompts:steady", *SKIP).count("is the same") == 2


def test_json(project: Path, capsys: CaptureText) -> None:
    """Every outcome as JSON, of every target; what failed is there too."""
    assert main(["perturb", "--json", "prompts:wide", "prompts:failing", "prompts:steady", *SKIP]) == 1
    printed = capsys.readouterr()
    wide, failing, steady = json.loads(printed.out)
    again, terminal = wide.pop("outcomes")
    advice = "all of the text counts, as it has no boundary; --boundary TEXT (boundary=) says what ends the prefix"
    assert wide == {"target": "prompts:wide", "stable": False, "prefix_bytes": 20, "advice": advice}
    assert again == {"stable": True, "kind": "again", "said": "nothing, in another process"}
    moved = terminal.pop("moved")
    assert terminal == {"stable": False, "kind": "terminal", "said": "to 213 columns"}
    assert (moved["kind"], moved["place"], moved["line"], moved["old"]) == ("number", "text", 2, "Wrap at 80.")
    message = f"prompts:failing: ValueError: no ({project}/prompts.py:14)"
    assert failing == {"target": "prompts:failing", "stable": False, "failed": message}
    assert printed.err == f"deepprompt: {message}\n"
    assert (steady["target"], steady["stable"], "advice" in steady) == ("prompts:steady", True, False)


WRONG = {
    "nothing": ([], "nothing to perturb: name module:function, file.py:function or 'build', or --prompt NAME"),
    "empty": ([""], "argument TARGET: is empty"),
    "no function": (["prompts"], "'prompts' names no function; write module:function or path/to/file.py:function"),
    "pytest's way": (["prompts.py::wide"], "with one colon it is prompts.py:wide"),
    "no move": (
        ["prompts:wide", "--skip", "clocks"],
        "argument --skip: no move 'clocks'; there are: turn, clock, time zone,",
    ),
    "the one move": (
        ["prompts:wide", "--skip", "again"],
        "argument --skip: no move 'again'; there are: turn, clock, time zone,",
    ),
    "no time": (["prompts:wide", "--timeout", "0"], "argument --timeout: '0' is not a number of seconds above 0"),
    "no number": (["prompts:wide", "--timeout", "1m"], "argument --timeout: '1m' is not a number of seconds above 0"),
    "forever": (["prompts:wide", "--timeout", "inf"], "argument --timeout: 'inf' is not a number of seconds above 0"),
    "no boundary": (["prompts:wide", "--boundary", ""], "argument --boundary: is empty"),
    "no option": (["prompts:wide", "--fast"], "unrecognized arguments: --fast"),
}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("arguments, message", WRONG.values(), ids=WRONG)
def test_wrong_usage(arguments: list[str], message: str, capsys: CaptureText) -> None:
    """Wrong usage says what is wrong, and exits with 2 before anything is called."""
    assert message in wrong(capsys, "perturb", *arguments)


FAILURES = {
    "no folder": (["prompts:wide", "--cwd", "nowhere"], "--cwd nowhere: not a folder"),
    "no file": (["nowhere.py:f"], "nowhere.py: no such file in {project}"),
    "no module": (
        ["promts:wide"],
        "promts:wide: no module 'promts' in {project} (did you mean 'prompts'?); --cwd DIR (folder=) names another "
        "project, path/to/file.py:function needs no module",
    ),
    "no such function": (["prompts:wied"], "prompts:wied: prompts has no 'wied' (did you mean 'wide'?)"),
    "too slow": (
        ["prompts:slow", "--timeout", "0.5"],
        "prompts:slow: not done after 0.5 seconds; a longer timeout (--timeout SECONDS) gives it more",
    ),
    "no option of build": (["build --portible"], "build --portible: unrecognized arguments: --portible"),
    "an option of the command": (
        ["build --json"],
        "build --json: --json is only for the command itself; here only the prompt matters",
    ),
    "no quotation": (["build 'x"], "build 'x: No closing quotation"),
}


@pytest.mark.parametrize("arguments, message", FAILURES.values(), ids=FAILURES)
def test_failures(arguments: list[str], message: str, project: Path, capsys: CaptureText) -> None:
    """What cannot be called is one line that says what to do, and exit 1."""
    assert failure(capsys, "perturb", *arguments) == message.format(project=project)


@pytest.mark.usefixtures("project")
def test_too_slow_with_a_move(capsys: CaptureText) -> None:
    """A function that only a move makes slow is told by that move."""
    printed = run(capsys, "perturb", "prompts:slower", "--timeout", "4", *SKIP, code=1)
    assert printed.splitlines()[1].startswith("  terminal, to 213 columns: it fails: not done after 4 seconds; ")


def test_our_own_prompt(tmp_path: Path, capsys: CaptureText, monkeypatch: pytest.MonkeyPatch) -> None:
    """`build` with its options is a target: with --portable its prefix stays, without the folder's path is in it."""
    project = make_repository(tmp_path / "project", {"AGENTS.md": "Test.\n", "skills/x/SKILL.md": "# X\n\nDoes x.\n"})
    monkeypatch.setenv("HOME", str(lay_out(tmp_path / "home", {"AGENTS.md": "Be brief.\n", "DEEPSEEK.md": "Hm.\n"})))
    monkeypatch.chdir(project)
    moved = ("again", "home", "listing", "folder", "line ends")
    skip = [word for kind in MOVES if kind not in moved for word in ("--skip", kind)]
    printed = run(capsys, "perturb", "build --portable", *skip)
    assert re.match(
        r"build --portable: the static prefix \([\d,]+ bytes\) is the same in all 5 surroundings\n", printed
    )
    assert "\n  project may change, and changed with: folder\n" in printed
    printed = run(capsys, "perturb", "build", *skip, "--skip", "listing", "--skip", "line ends", code=1)
    assert re.findall(r"^  ([a-z ]+), .*: a path changed$", printed, re.MULTILINE) == ["home", "folder"]
    assert len(re.findall(r"^    where  instructions /.*\.md, file:", printed, re.MULTILINE)) == 2


WAITING = """
import os, time
def wait():
    if os.umask(0) == 0o077:
        open(os.environ["MARK"], "w").close()
        time.sleep(300)
    return "x"
"""


def test_interrupted(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Ctrl-C ends it at once, with everything that it started."""
    lay_out(project, {"prompts.py": WAITING})
    temporary = tmp_path_factory.mktemp("temporary")
    environment = os.environ | {"TMPDIR": str(temporary), "MARK": str(project / "mark")}
    command = [sys.executable, "-m", "deepprompt", "perturb", "prompts:wait", "--skip", "hash seed"]
    process = subprocess.Popen(command, env=environment, cwd=project)
    try:
        while process.poll() is None and not (project / "mark").exists():
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 10  # what is killed may take a moment to go
    while processes_with(str(temporary)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes_with(str(temporary)) == []
    assert os.listdir(temporary) == []


def test_help(capsys: CaptureText) -> None:
    """The help lists everything that is moved."""
    with pytest.raises(SystemExit):
        main(["perturb", "--help"])
    printed = capsys.readouterr().out
    for kind, what in MOVES.items():
        assert f"  {kind:<10} {what}\n" in printed


def blocks(language: str) -> list[str]:
    """The code blocks of the page, by their language."""
    return re.findall(rf"^```{language}(?: title=.*?)?\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)


def test_the_page_tells_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureText) -> None:
    """Its examples give what it says, whatever day it is, and its table has every move."""
    monkeypatch.chdir(lay_out(tmp_path, {"prompts.py": blocks("python")[0]}))
    monkeypatch.setattr(
        "deepprompt.checks.perturb.moves._other_locales", lambda _folder: ["C"]
    )  # elsewhere there may be more
    days = "(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
    shown = [re.sub(days, "DAY", text) for text in blocks("text")]
    for command, text in zip(blocks("sh"), shown, strict=True):
        program, *arguments = shlex.split(command)
        assert program == "deepprompt"
        main(arguments)
        printed = re.sub(r"(prefix \(|byte )\d+", r"\1N", re.sub(days, "DAY", capsys.readouterr().out))
        assert printed == re.sub(r"(prefix \(|byte )\d+", r"\1N", text)
    assert re.findall(r"^\| `(.*?)` \|", DOCS, re.MULTILINE) == list(MOVES)
