"""`deepprompt completion`: what real shells offer once they have its scripts, installed as its help says.

bash and zsh are typed to in a terminal, fish is asked. With DEEPPROMPT_NEED_SHELLS=1 a missing shell is a failure.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deepprompt.cli import every_parser, main
from deepprompt.commands import COMMANDS
from deepprompt.commands.completion import SCRIPTS
from deepprompt.commands.parsers import PATHS, read_commands

PARSERS = every_parser()
OPTIONS = {
    name: {option for action in parser._actions for option in action.option_strings} for name, parser in PARSERS.items()
}
FILES = ("AGENTS.md", "my file.md", "$(touch ran).md")
FOLDERS = ("a folder", "build")
TARGETS = {"anthropic", "bedrock", "deepseek", "gemini", "litellm", "openai", "openai-responses"}
PROMPT = "ready> "

# What makes a terminal readable: one match a line, at the first TAB; and Ctrl-X d, which writes the line to a file.
SET_UP = {
    "bash": r"""
PS1='ready> '
bind 'set show-all-if-ambiguous on'
bind 'set completion-display-width 0'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
bind -x '"\C-xd": printf %s "$READLINE_LINE" >~/line.new; mv ~/line.new ~/line'
""",
    "zsh": r"""
PS1='ready> '
LISTMAX=10000
setopt no_beep no_list_ambiguous no_list_beep
unset zle_bracketed_paste
tell() { print -rn -- "$BUFFER" >~/line.new; mv ~/line.new ~/line }
zle -N tell
bindkey '^Xd' tell
""",
}
START = {"bash": ["bash", "--noprofile", "-i"], "zsh": ["zsh", "--no-globalrcs", "-i"]}


def need(shell: str) -> None:
    """Skip a test whose shell is not installed, or fail where it has to be."""
    if shutil.which(shell) is None:
        if os.environ.get("DEEPPROMPT_NEED_SHELLS") == "1":
            pytest.fail(f"DEEPPROMPT_NEED_SHELLS=1, and {shell} is not installed")
        pytest.skip(f"needs {shell}")


def script_of(shell: str) -> str:
    """The script for a shell."""
    return SCRIPTS[shell](read_commands(PARSERS))


class Home:
    """A user's home and a project, and what a shell is started with there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path, self.project, self.programs = folder / "home", folder / "project", folder / "bin"
        for path in (self.path, self.project, self.programs, *(self.project / name for name in FOLDERS)):
            path.mkdir()
        for name in FILES:
            (self.project / name).write_text("")
        self.environment = {
            "HOME": str(self.path),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }

    def program(self, name: str, text: str) -> None:
        """Write a program that shells find first."""
        (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / name).chmod(0o755)

    def install(self, shell: str) -> None:
        """Do what the help of the command says for a shell; from then on no Python may start."""
        self.program("deepprompt", f'exec {shlex.quote(sys.executable)} -m deepprompt "$@"')
        told = PARSERS["completion"].epilog or ""
        lines = re.findall(r"^  (.+)$", told.partition(f"for {shell}:\n")[2].partition("\n\n")[0], re.MULTILINE)
        assert len(lines) == 2
        for line in lines:
            self.run([shell, "-c", line])
        for name in ("deepprompt", "python", "python3", Path(sys.executable).name):
            self.program(name, "touch ~/ran")

    def ran(self) -> list[Path]:
        """Return what was left by what must not run."""
        return list(self.folder.rglob("ran"))

    def run(self, command: list[str]) -> str:
        """Run a command in the project and return what it prints."""
        return subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, text=True, check=True, timeout=60
        ).stdout


class Fish:
    """A fish, which says by itself what it would offer."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def told(self, line: str) -> dict[str, str]:
        """What it offers for the last word of a line, with what it says of it."""
        said = self.home.run(["fish", "-c", "complete -C $argv[1]", line])
        equals = line.rpartition(" ")[2].rpartition("=")
        rows = [row.partition("\t") for row in said.splitlines()]
        return {word.removeprefix(equals[0] + equals[1]): description for word, _, description in rows}

    def close(self) -> None:
        """Nothing: each question is a process of its own."""


class Terminal:
    """A bash or zsh in a terminal of its own, which is typed to."""

    def __init__(self, shell: str, home: Home) -> None:
        self.name, self.home = shell, home
        with open(home.path / f".{shell}rc", "a") as settings:
            settings.write(SET_UP[shell])
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 400, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *START[shell]],
            cwd=home.project,
            env=home.environment,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        self._screen = ""
        self._read_until(lambda: self._screen.endswith(PROMPT))

    def told(self, line: str) -> dict[str, str]:
        """What it offers for the last word of a line, with what it says of it."""
        screen, after = self._press(f"{line}\t")
        self._press("\x15")
        lines = re.split(r"[\r\n]+", screen.partition(line)[2])[1:]
        listed = lines[: next((number for number, text in enumerate(lines) if text.startswith(PROMPT)), 0)]
        rows = [text.partition(" -- ") for text in listed]
        if not rows and after.rstrip() != line.rstrip():  # the only one, or so much of all
            rows = [(re.split(r"(?<!\\)[ =]", after.rstrip(" ="))[-1], "", "")]
        return {
            word.replace("\\", ""): description.rstrip()
            for words, _, description in rows
            for word in re.split(r"(?<!\\)  +", words.strip())
        }

    def _press(self, keys: str) -> tuple[str, str]:
        """Press keys; return what the screen showed meanwhile, and what the line is then."""
        line = self.home.path / "line"
        line.unlink(missing_ok=True)
        self._screen = ""
        os.write(self._controller, f"{keys}\x18d".encode())
        self._read_until(line.exists)
        return self._screen, line.read_text()

    def _read_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not done():
            assert time.monotonic() < end, self._screen
            if select.select([self._controller], [], [], 0.01)[0]:
                self._screen += os.read(self._controller, 1 << 16).decode()
        while select.select([self._controller], [], [], 0)[0]:
            self._screen += os.read(self._controller, 1 << 16).decode()

    def close(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.wait()
        os.close(self._controller)


# A child that makes its input the terminal it is controlled by, and becomes the shell.
TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY); os.execvp(sys.argv[1], sys.argv[1:])"
)


def started(shell: str, home: Home) -> Fish | Terminal:
    """A shell in a home."""
    return Fish(home) if shell == "fish" else Terminal(shell, home)


@pytest.fixture(scope="module", params=SCRIPTS)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fish | Terminal]:
    """Each shell, with its script installed."""
    need(request.param)
    home = Home(tmp_path_factory.mktemp(request.param))
    home.install(request.param)
    running = started(request.param, home)
    yield running
    running.close()
    assert home.ran() == [], "completing started Python, or ran the name of a file"


OFFERED = {
    "deepprompt bu": {"build"},
    "deepprompt ": set(COMMANDS),
    "deepprompt nobody ": set(),
    "deepprompt build --to ": TARGETS,
    "deepprompt build --to=": TARGETS,
    "deepprompt build --no-git --to=open": {"openai", "openai-responses"},
    "deepprompt check --only ": {"lint", "lock", "perturb"},
    "deepprompt completion ": {"bash", "zsh", "fish"},
    "deepprompt build --model ": set(),
    "deepprompt build --model m": set(),
    "deepprompt build --no-git m": set(),
    "deepprompt diff m": set(),
    "deepprompt lint ": {*FILES, *(f"{name}/" for name in FOLDERS)},
    "deepprompt lint m": {"my file.md"},
    "deepprompt lint --no-comments m": {"my file.md"},
    "deepprompt lint build --sel": {"--select"},
    "deepprompt build --base-file m": {"my file.md"},
    "deepprompt build --out=m": {"my file.md"},
    "deepprompt inspect -o m": {"my file.md"},
    "deepprompt build --cwd ": {f"{name}/" for name in FOLDERS},
    "deepprompt build --home=a": {"a folder/"},
    "deepprompt lock main=m": {"my file.md"},
    "deepprompt lock --check main=m": {"my file.md"},
    "deepprompt assemble task --include name=m": {"my file.md"},
    "deepprompt build > m": {"my file.md"},
}


@pytest.mark.slow
@pytest.mark.parametrize("line", OFFERED)
def test_offers(shell: Fish | Terminal, line: str) -> None:
    """A shell offers commands, choices, files or folders: what can stand there; nothing where only the user knows."""
    option = line.rpartition(" ")[2].startswith("-")
    offered = {word for word in shell.told(line) if option or not word.startswith("-")}
    assert offered == OFFERED[line]


@pytest.mark.slow
def test_offers_every_option(shell: Fish | Terminal) -> None:
    """A shell offers every option of a command, and no other: those that its parser has."""
    offered = {command: set(shell.told(f"deepprompt {command} -".replace("  ", " "))) for command in ["", *COMMANDS]}
    assert offered == {command: OPTIONS[command] for command in offered}


@pytest.mark.slow
def test_says_what_it_offers(shell: Fish | Terminal) -> None:
    """In zsh and fish each command and option is shown with what it does; bash has no place for that."""
    commands, options = shell.told("deepprompt "), shell.told("deepprompt explain -")
    if isinstance(shell, Terminal) and shell.name == "bash":
        assert not any({*commands.values(), *options.values()})
    else:
        assert {name: commands[name] for name in COMMANDS} == COMMANDS
        told = {name: action.help for action in PARSERS["explain"]._actions for name in action.option_strings}
        assert options == told


@pytest.mark.parametrize("shell", ["zsh"], indirect=True)
def test_zsh_offers_no_option_that_does_not_go_with_another(shell: Terminal) -> None:
    """What was given already is left out, unless it may be repeated, and so is what the parser excludes."""
    offered = shell.told("deepprompt build --base-file x --tool y --no-git -")
    assert OPTIONS["build"] - set(offered) == {"--base", "--base-file", "--custom-file", "--no-git"}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["bu"], ["build"]),
        (["build", "--to", "a"], ["anthropic"]),
        (["build", "--to", "=", "a"], ["anthropic"]),
        (["lint", "--for"], ["--format"]),
        (["lint", "m"], []),
        (["build", "--model", ""], []),
    ],
)
def test_bash_alone(words: list[str], offered: list[str]) -> None:
    """The function for bash works by itself, also where a variable that is not set is an error."""
    need("bash")
    call = (
        'eval "$1"; shift; COMP_WORDS=(deepprompt "$@"); COMP_CWORD=$#; _deepprompt; '
        "printf '%s\\n' ${COMPREPLY[@]+\"${COMPREPLY[@]}\"}"
    )
    done = subprocess.run(
        ["bash", "--norc", "-uc", call, "bash", script_of("bash"), *words], capture_output=True, text=True, check=True
    )
    assert (done.stdout.split(), done.stderr) == (offered, "")


@pytest.mark.parametrize("shell", SCRIPTS)
class TestScript:
    """The text of a script."""

    def test_is_printed(self, shell: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The command prints the script and nothing else."""
        assert main(["completion", shell]) == 0
        assert capsys.readouterr() == (script_of(shell), "")

    def test_names_everything(self, shell: str) -> None:
        """It names every command and every option of every parser, also where no shell is there to try it."""
        script, quoted = script_of(shell), r"\\'\\'"
        for command, options in OPTIONS.items():
            here = {
                "bash": rf"^    '?{command} '?\*\)\n(.*?);;$",
                "zsh": rf"^    {command}\)\n(.*?);;$" if command else r"CURRENT == 2(.*?)return",
                "fish": rf"__deepprompt_in {command or quoted}'(.*?)$",
            }[shell]
            found = " ".join(re.findall(here, script, re.MULTILINE | re.DOTALL))
            for option in options:
                long = "long" if option.startswith("--") else "short"
                named = f"--{long}-option {option.lstrip('-')}" if shell == "fish" else option
                assert re.search(rf"(?<![\w-]){re.escape(named)}(?![\w-])", found), (command, option)
            assert not command or command in script

    def test_has_no_error(self, shell: str, tmp_path: Path) -> None:
        """The shell itself finds it well formed."""
        need(shell)
        (tmp_path / "script").write_text(script_of(shell))
        done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.slow
    def test_runs_nothing_of_a_help_text(self, shell: str, tmp_path: Path) -> None:
        """Whatever stands in help, choices or the name of a value is shown, and never run."""
        need(shell)
        home = Home(tmp_path)
        home.install(shell)
        hostile = (
            'it\'s "$(touch ran)" `touch ran` ${x:-$(touch ran)} [a]:b:(c) \\ ]:{touch ran}:  ; touch ran # %d ~ *'
        )
        choices = ["$(touch ran)", "`touch ran`", "it's", "a:b", "x]y", "plain"]
        program = argparse.ArgumentParser(prog="deepprompt")
        command = program.add_subparsers().add_parser("first", help=hostile.replace("%", "%%"))
        command.add_argument("--flag", action="store_true", help=hostile.replace("%", "%%"))
        command.add_argument("--value", metavar=hostile, help="a value")
        command.add_argument("--choice", choices=choices, help="a choice")
        script = SCRIPTS[shell](read_commands({"": program, "first": command}))
        (written,) = [path for path in home.path.rglob("*deepprompt*") if path.is_file()]
        written.write_text(script)

        running = started(shell, home)
        try:
            first, options = running.told("deepprompt f"), running.told("deepprompt first --")
            assert set(first) == {"first"}
            assert set(options) == {"--help", "--flag", "--value", "--choice"}
            shown = " ".join(hostile.split())
            assert shell == "bash" or options["--flag"] == shown
            assert shell != "fish" or first["first"] == hostile
            assert running.told("deepprompt first --value ") == {}
            assert set(running.told("deepprompt first --choice ")) == set(choices)
            assert set(running.told("deepprompt first --choice pl")) == {"plain"}
        finally:
            running.close()
        assert home.ran() == []


def test_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    """Another shell is wrong usage, and the message names those there are."""
    with pytest.raises(SystemExit) as ended:
        main(["completion", "csh"])
    assert ended.value.code == 2
    assert re.search("invalid choice: 'csh' .*bash.*zsh.*fish", capsys.readouterr().err)


NO_PATHS = {
    "BYTES", "CAUSE", "CHECK", "CODES", "COLUMN", "COMMAND", "DAYS", "FAMILY[@VERSION]", "HASH", "ISO", "KEY", "MOVE",
    "N", "NAME", "NAME=VALUE", "NAMES", "NAME[=TEXT]", "NAME[@VERSION]", "NEW", "OLD", "PART[@VERSION]", "PRESET",
    "PROFILE", "PROVIDER", "SECONDS", "SERVICE", "SHARE", "SHELL", "TASK_REF", "TEXT", "TIME", "URL", "VERSION",
}  # fmt: skip


def test_it_is_known_what_is_a_path() -> None:
    """Each name that help gives to a value is one of a path, or one that is known to be none."""
    commands = read_commands(PARSERS)
    arguments = [argument for command in commands for argument in (*command.options, *command.positionals)]
    others = {argument.value for argument in arguments if not argument.path and not argument.choices} - {""}
    assert others <= NO_PATHS
    assert {argument.value.rpartition("=")[2].strip("[]") for argument in arguments if argument.path} == set(PATHS)


@pytest.mark.slow
def test_a_shell_that_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a shell its tests are skipped, and with DEEPPROMPT_NEED_SHELLS=1 they fail."""
    monkeypatch.delenv("DEEPPROMPT_NEED_SHELLS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs no-such-shell"):
        need("no-such-shell")
    monkeypatch.setenv("DEEPPROMPT_NEED_SHELLS", "1")
    with pytest.raises(pytest.fail.Exception, match="no-such-shell is not installed"):
        need("no-such-shell")
