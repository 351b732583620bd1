"""The command line as a process: how any command ends, and what a user sees when something is wrong."""

from __future__ import annotations

import argparse
import gc
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import deepprompt
from deepprompt.catalog import bundled
from deepprompt.cli import main
from deepprompt.commands import COMMANDS

COMMAND = [sys.executable, "-m", "deepprompt"]
BOUNDARY = deepprompt.DYNAMIC_CONTEXT_BOUNDARY.encode()
CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")

posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")


def run(
    *arguments: str | bytes, cwd: Path, shell: str = '"$@"', env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a fresh process, as `"$@"` of a shell line, and see that it shows no traceback."""
    ran = subprocess.run(
        ["sh", "-c", shell, "sh", *COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), **(env or {})},
        capture_output=True,
        timeout=20,
    )
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    assert b"Exception ignored" not in ran.stderr, ran.stderr.decode()
    return ran


def call(*arguments: str) -> int:
    """Run the command line in this process and return how it ended."""
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


def is_one_line(said: bytes) -> bool:
    """Whether something was said, in one line, with nothing in it that a terminal would obey."""
    return (
        said.startswith(b"deepprompt: ")
        and said.endswith(b"\n")
        and said.count(b"\n") == 1
        and not CONTROL.search(said)
    )


# Which there are, tests/test_catalog.py and tests/commands/test_versions.py say.
FAMILIES = ", ".join(bundled().families())
VERSIONS = "".join(f"{name} {' '.join(bundled().versions(name))}\n" for name in bundled().families())


class TestHelp:
    """What a stranger sees first."""

    @pytest.mark.parametrize(
        "arguments", [(), ("-h",), ("--help",), ("help",)], ids=lambda words: " ".join(words) or "bare"
    )
    def test_lists_the_commands(self, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
        """The bare command and every way to ask for help list the commands on standard output, and exit 0."""
        assert call(*arguments) == 0
        said = capsys.readouterr()
        assert said.err == ""
        for name, summary in COMMANDS.items():
            assert re.search(rf"^ +{name} +{summary}$", said.out, re.MULTILINE)
        assert "Run 'deepprompt help COMMAND' or 'deepprompt COMMAND --help' for the" in said.out

    @pytest.mark.parametrize("command", COMMANDS)
    def test_of_a_command(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Each command has a help that begins with its usage and says what it does."""
        assert call(command, "--help") == 0
        said = capsys.readouterr()
        assert said.out.startswith(f"usage: deepprompt {command} ")
        assert COMMANDS[command][:1].upper() + COMMANDS[command][1:] + "." in said.out
        assert said.err == ""

    def test_help_of_a_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`help COMMAND` prints exactly what `COMMAND --help` prints, for every command."""
        for command in COMMANDS:
            assert call(command, "--help") == 0
            asked = capsys.readouterr()
            assert call("help", command) == 0
            assert capsys.readouterr() == asked

    @pytest.mark.parametrize("flag", ["-V", "--version"])
    def test_version(self, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
        """`-V` and `--version` print the version of the package."""
        assert call(flag) == 0
        assert capsys.readouterr().out == f"deepprompt {deepprompt.__version__}\n"

    @pytest.mark.slow
    @posix
    @pytest.mark.parametrize("arguments", [(), ("help", "build"), ("--help",), ("build", "--help"), ("--version",)])
    def test_closed_pipe(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        """Help into a pipe that nobody reads ends quietly."""
        assert run(*arguments, cwd=tmp_path, shell='{ sleep 0.2; "$@"; } | true').stderr == b""


class TestUsage:
    """Wrong usage exits 2 and says what is wrong."""

    WRONG = (
        (("bild",), "deepprompt: error: no command 'bild'; did you mean build?"),
        (
            ("nonsense",),
            "deepprompt: error: no command 'nonsense'; there are: build, plan, skills, assemble, compile, ",
        ),
        (("",), "deepprompt: error: no command ''; there are: "),
        (("help", "bild"), "deepprompt help: error: argument COMMAND: no command 'bild'; did you mean build?"),
        (("help", "build", "lint"), "deepprompt help: error: unrecognized arguments: lint"),
        (("-v",), "deepprompt: error: unrecognized arguments: -v"),
        (("--bogus",), "deepprompt: error: "),
        (("build", "--bogus"), "error: unrecognized arguments: --bogus"),
        (("build", "extra"), "error: unrecognized arguments: extra"),
        (("build", "--no-g"), "error: unrecognized arguments: --no-g"),
        (("build", "--cwd"), "deepprompt build: error: argument --cwd: expected one argument"),
        (
            ("build", "--base", "1.0.0", "--base-file", "x"),
            "deepprompt build: error: argument --base-file: not allowed with argument --base",
        ),
        (
            ("build", "--custom-file", "x", "--base-file", "x"),
            "deepprompt build: error: argument --base-file: not allowed with argument --custom-file",
        ),
        (
            ("build", "--custom-file", "x", "--append", "y"),
            "deepprompt build: error: --custom-file is printed as it is: --append and --append-file cannot add to it",
        ),
        (
            ("build", "--custom-file", "x", "--append-file", "y"),
            "deepprompt build: error: --custom-file is printed as it is: --append and --append-file cannot add to it",
        ),
        (
            ("build", "--parts", "x"),
            "deepprompt build: error: --parts needs --preset NAME or --base FAMILY@VERSION, to say what to take",
        ),
        (("diff",), "deepprompt diff: error: the following arguments are required: OLD"),
        (
            ("diff", "base@1.0.0"),
            "deepprompt diff: error: a part alone is compared with its override: say where that is",
        ),
        (("versions", "--bogus"), "error: unrecognized arguments: --bogus"),
    )

    @pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(row[0]) or "nothing" for row in WRONG])
    def test_wrong(self, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Wrong usage exits 2, prints nothing, and says on standard error what is wrong and then where to read on."""
        assert call(*arguments) == 2
        said = capsys.readouterr()
        assert said.out == ""
        wrong, help_line = said.err.splitlines()
        assert message in wrong
        prog = wrong.partition(": error: ")[0]
        assert prog == " ".join(["deepprompt", *(name for name in arguments[:1] if name in COMMANDS)])
        assert help_line == f"Run '{prog} --help' for its {'options' if ' ' in prog else 'commands'}."

    @pytest.mark.parametrize(
        ("arguments", "meant"),
        [
            (("bild",), "build"),
            (("help", "perturbe"), "perturb"),
            (("--verson",), "--version"),
            (("build", "--portabel"), "--portable"),
            (("build", "extra", "--jsn=1"), "--json"),
            (("build", "--hlep"), "--help"),
            (("build", "--bogus"), ""),
            (("what's",), ""),
        ],
        ids=str,
    )
    def test_misspelt(self, arguments: tuple[str, ...], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A command or an option that is close to one that there is has that one at the end of the line."""
        assert call(*arguments) == 2
        wrong = capsys.readouterr().err.splitlines()[0]
        assert wrong.partition("; did you mean ")[2] == (f"{meant}?" if meant else "")

    def test_a_line_is_a_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What stands in an argument makes no further lines, and nothing in it is obeyed by a terminal."""
        assert call("build", "a\nb\x1b[2J") == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 2
        assert "\x1b" not in said

    @pytest.mark.parametrize(
        "option", ["--cwd", "--base", "--base-file", "--custom-file", "--parts", "--append-file", "--out"]
    )
    def test_empty_value(
        self, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An option whose value is empty, as from a variable that is not set, is wrong usage: it is never ignored."""
        monkeypatch.chdir(tmp_path)
        assert call("build", "--home", "", option, "") == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert option in said.err

    @pytest.mark.parametrize("command", [("versions",), ("diff", "base", "base")])
    def test_empty_parts(self, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
        """An empty `--parts` does not mean the bundled parts."""
        assert call(*command, "--parts", "") == 2
        assert capsys.readouterr().out == ""

    def test_returns_its_exit_code(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`main` takes the arguments of the process where none are given, and returns 0 when all is fine."""
        assert main(["versions"]) == 0
        assert capsys.readouterr().out == VERSIONS

    def test_process_arguments(self, tmp_path: Path) -> None:
        """The module is run with the arguments of the process."""
        assert run("versions", cwd=tmp_path).stdout == VERSIONS.encode()

    def test_console_script(self, tmp_path: Path) -> None:
        """The installed script is the same command line."""
        script = Path(sys.executable).with_name("deepprompt")
        if not script.exists():
            pytest.skip("the package is not installed here")
        ran = subprocess.run([script, "versions"], cwd=tmp_path, capture_output=True)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, VERSIONS.encode(), b"")

    @pytest.mark.parametrize("value", ["versions", "diff"])
    def test_value_that_is_a_command(self, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The name of another command is an ordinary value of an option."""
        assert call("build", "--home", "", "--cwd", str(tmp_path), "--no-project", "--append", value) == 0
        assert capsys.readouterr().out.endswith(f"\n\n{value}{BOUNDARY.decode()}")


class TestBadInput:
    """An error of the input exits 1 with one line."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("build", "--cwd", "nowhere"), "deepprompt: --cwd nowhere: not a folder"),
            (("build", "--cwd", "a-file"), "deepprompt: --cwd a-file: not a folder"),
            (("build", "--base-file", "nowhere"), "deepprompt: nowhere: No such file or directory"),
            (("build", "--base-file", "."), "deepprompt: .: Is a directory"),
            (("build", "--custom-file", "nowhere"), "deepprompt: nowhere: No such file or directory"),
            (("build", "--append-file", "nowhere"), "deepprompt: nowhere: No such file or directory"),
            (("build", "--base-file", "latin"), "deepprompt: latin: not UTF-8 at byte 3; save it as UTF-8"),
            (("build", "--base-file", "empty"), "deepprompt: empty: is empty"),
            (("build", "--custom-file", "only-bom"), "deepprompt: only-bom: is empty"),
            (("build", "--base", "9.9"), "deepprompt: no version of base is 9.9; there are: 1.0.0, 1.1.0"),
            (
                ("build", "--base", "nobody"),
                "deepprompt: no preset named 'nobody'; there are: claude_code, coder, deepseek; if it is your own, "
                "name the folder that it is in (--parts)",
            ),
            (("build", "--base", "base", "--parts", "nowhere"), "deepprompt: no folder of parts at 'nowhere'"),
            (("build", "--out", "nowhere/x"), "deepprompt: nowhere/x: No such file or directory"),
            (("build", "--out", "a-file/x"), "deepprompt: a-file/x: Not a directory"),
            (("build", "--out", "a-folder"), "deepprompt: a-folder: Is a directory"),
            (("versions", "--parts", "nowhere"), "deepprompt: no folder of parts at 'nowhere'"),
            (("diff", "base@1.0.0", "base@2"), "deepprompt: no version of base is 2; there are: 1.0.0, 1.1.0"),
            (
                ("diff", "base", "other"),
                f"deepprompt: deepprompt has no family 'other'; there are: {FAMILIES}",
            ),
        ],
    )
    def test_one_line(
        self,
        arguments: tuple[str, ...],
        message: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Bad input exits 1, prints nothing, and says in one line what is wrong and where."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "a-file").write_text("x")
        (tmp_path / "a-folder").mkdir()
        (tmp_path / "latin").write_bytes(b"caf\xe9")
        (tmp_path / "empty").write_bytes(b"")
        (tmp_path / "only-bom").write_bytes(b"\xef\xbb\xbf")
        before = sorted(os.listdir(tmp_path))
        assert call(*arguments) == 1
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", message + "\n")
        assert sorted(os.listdir(tmp_path)) == before

    @pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens but cannot be read")
    def test_read_error_names_the_file(self, tmp_path: Path) -> None:
        """A file that opens but cannot be read is named in the error."""
        ran = run("build", "--base-file", "/proc/self/mem", cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (1, b"")
        assert ran.stderr.startswith(b"deepprompt: /proc/self/mem: ")

    @pytest.mark.slow
    @posix
    @pytest.mark.parametrize(
        "name", [b"new\nline", b"esc\x1b[31mred", b"return\rover", b"caf\xe9", "é\u2028".encode(), b"bell\x07"]
    )
    def test_hostile_name(self, name: bytes, tmp_path: Path) -> None:
        """A name in an error message stays on one line and cannot steer the terminal."""
        for arguments in ([b"--cwd", name], [b"--base-file", name], [b"--parts", name, b"--base", b"x"]):
            ran = run("build", *arguments, cwd=tmp_path)
            assert (ran.returncode, ran.stdout) == (1, b"")
            assert is_one_line(ran.stderr)

    @posix
    @pytest.mark.parametrize("arguments", [("build",), ("build", "--cwd", "."), ("build", "--no-project")])
    def test_deleted_folder(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        """In a folder that was deleted meanwhile, `build` says so, and does not blame the output."""
        ran = run(*arguments, cwd=tmp_path, shell='mkdir gone && cd gone && rmdir ../gone && "$@"')
        assert (ran.returncode, ran.stdout) == (1, b"")
        assert is_one_line(ran.stderr)
        assert b"output" not in ran.stderr
        assert b"folder" in ran.stderr

    @posix
    @pytest.mark.parametrize("arguments", [("versions",), ("build", "--cwd", "/", "--no-project")])
    def test_deleted_folder_that_is_not_needed(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        """What does not need the current folder works where there is none."""
        ran = run(*arguments, cwd=tmp_path, shell='mkdir gone && cd gone && rmdir ../gone && "$@"')
        assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.slow
@posix
class TestPipes:
    """Standard streams that are closed, full, or read in part."""

    @pytest.fixture
    def large(self, tmp_path: Path) -> str:
        """Return the name of a base prompt that is larger than any pipe buffer."""
        (tmp_path / "large.md").write_text("first line\n" + "x" * 99 + "\n" * 2 + "another line\n" * 80_000)
        return "large.md"

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_closed_early(self, tmp_path: Path, large: str, unbuffered: str) -> None:
        """`build | head -1` shows the line and ends quietly, as a program that SIGPIPE ended."""
        shell = '{ "$@"; echo $? >code; } | head -1'
        env = {"PYTHONUNBUFFERED": unbuffered}
        ran = run("build", "--base-file", large, cwd=tmp_path, shell=shell, env=env)
        assert (ran.stdout, ran.stderr) == (b"first line\n", b"")
        assert (tmp_path / "code").read_text() == "141\n"

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_written_in_part(self, tmp_path: Path, large: str, unbuffered: str) -> None:
        """A prompt of which only a part could be written is a failure, never a prompt cut short and exit 0."""
        shell = 'ulimit -f 1000; "$@" >prompt'
        env = {"PYTHONUNBUFFERED": unbuffered}
        ran = run("build", "--base-file", large, cwd=tmp_path, shell=shell, env=env)
        assert (ran.returncode, ran.stderr) == (1, b"deepprompt: output: File too large\n")

    @pytest.mark.parametrize("arguments", [("build",), ("build", "--json"), ("versions",), ("diff", "base", "base")])
    def test_never_read(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        """A small result into a pipe that nobody reads ends quietly too."""
        assert run(*arguments, cwd=tmp_path, shell='{ sleep 0.2; "$@"; } | true').stderr == b""

    def test_read_whole(self, tmp_path: Path, large: str) -> None:
        """A large prompt goes through a pipe whole."""
        ran = run("build", "--base-file", large, "--no-project", cwd=tmp_path, shell='"$@" | cat')
        assert ran.stdout == (tmp_path / large).read_bytes() + BOUNDARY

    @pytest.mark.parametrize("arguments", [("build",), ("build", "--json"), ("versions",), ("diff", "base", "base")])
    def test_closed_output(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        """Without a standard output there is one line about it and exit 1."""
        ran = run(*arguments, cwd=tmp_path, shell='"$@" >&-')
        assert ran.returncode == 1
        assert is_one_line(ran.stderr)

    def test_closed_output_that_is_not_needed(self, tmp_path: Path) -> None:
        """With `--out` no standard output is needed."""
        ran = run(
            "build", "--no-project", "--preset", "deepseek@1.0.0", "--out", "prompt", cwd=tmp_path, shell='"$@" >&-'
        )
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert (tmp_path / "prompt").read_bytes() == deepprompt.SystemPromptBuilder().build().encode()

    def test_closed_errors(self, tmp_path: Path) -> None:
        """Without a standard error the notes are lost; they never get into the prompt."""
        (tmp_path / "AGENTS.md").write_bytes(b"caf\xe9")
        with_notes = run("build", "--no-project", cwd=tmp_path)
        assert with_notes.stderr.startswith(b"deepprompt: replaced: ")
        ran = run("build", "--no-project", cwd=tmp_path, shell='"$@" 2>&-')
        assert (ran.returncode, ran.stdout) == (0, with_notes.stdout)

    def test_closed_errors_of_a_failure(self, tmp_path: Path) -> None:
        """Without a standard error a failure prints nothing at all."""
        ran = run("build", "--cwd", "nowhere", cwd=tmp_path, shell='"$@" 2>&-')
        assert (ran.returncode, ran.stdout) == (1, b"")

    def test_closed_input(self, tmp_path: Path) -> None:
        """A standard input is not needed."""
        ran = run("build", cwd=tmp_path, shell='"$@" <&-')
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert BOUNDARY in ran.stdout

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
    @pytest.mark.parametrize("arguments", [("build",), ("versions",)])
    def test_full(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        """A result that cannot be written is a failure, said in one line."""
        ran = run(*arguments, cwd=tmp_path, shell='"$@" >/dev/full')
        assert (ran.returncode, ran.stderr) == (1, b"deepprompt: output: No space left on device\n")

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
    def test_full_errors(self, tmp_path: Path) -> None:
        """Notes that cannot be written do not cost the prompt."""
        (tmp_path / "AGENTS.md").write_bytes(b"caf\xe9")
        ran = run("build", "--no-project", cwd=tmp_path, shell='"$@" 2>/dev/full')
        assert ran.returncode == 0
        assert ran.stdout.endswith(BOUNDARY)

    def test_interrupted(self, tmp_path: Path) -> None:
        """An interrupt ends the command with 130 and no traceback."""
        process = subprocess.Popen(
            [*COMMAND, "build", "--base-file", "-"],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: it returns once the command reads
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        # A signal that came just before the read interrupts the process when the read ends, as the pipe is closed.
        output, said = process.communicate(timeout=10)
        assert (process.returncode, output, said) == (130, b"", b"")


@pytest.mark.slow
@posix
class TestSurroundings:
    """The same bytes wherever the command is run."""

    TEXT = "é漢🎉"
    LOCALES = (
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "LANG": "POSIX"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"PYTHONIOENCODING": "utf-16"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONUTF8": "1"},
        {"COLUMNS": "20"},
        {"TZ": "Pacific/Kiritimati"},
        {"PYTHONHASHSEED": "7"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        """Return a folder whose name and instructions are not ASCII."""
        folder = tmp_path / self.TEXT
        folder.mkdir()
        (folder / "AGENTS.md").write_text(f"Instructions {self.TEXT}\n", encoding="utf-8")
        return folder

    @pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
    @pytest.mark.parametrize("env", LOCALES, ids=lambda env: ",".join("=".join(pair) for pair in env.items()))
    def test_locale(self, env: dict[str, str], form: tuple[str, ...], project: Path) -> None:
        """The bytes do not depend on locale, stream encoding, terminal width, time zone or hash seed."""
        arguments = ("build", "--append", self.TEXT, *form)
        usual = run(*arguments, cwd=project, env={"LC_ALL": "C.UTF-8"})
        assert usual.stdout.decode().count(self.TEXT) >= 3
        ran = run(*arguments, cwd=project, env=env)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert ran.stdout == usual.stdout

    def test_error_in_ascii(self, tmp_path: Path) -> None:
        """An error about a name that the locale cannot show is still an error of one line."""
        env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"}
        ran = run("build", "--cwd", self.TEXT, cwd=tmp_path, env=env)
        assert ran.returncode == 1
        assert is_one_line(ran.stderr)

    def test_home_unset(self, tmp_path: Path) -> None:
        """Without HOME the prompt is built all the same."""
        ran = run("build", cwd=tmp_path, shell='unset HOME; "$@"')
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert BOUNDARY in ran.stdout

    def test_home_empty(self, tmp_path: Path) -> None:
        """An empty HOME means that there is no home, not that the root of the file system is it."""
        script = (
            "import sys\n"
            "seen = []\n"
            "sys.addaudithook(lambda event, values: seen.append(values[0]) if event == 'os.scandir' else None)\n"
            "from deepprompt.cli import main\n"
            "code = main(['build', '--no-project', '--out', 'prompt'])\n"
            "print(code, '/skills' in seen)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "HOME": ""}, capture_output=True
        )
        assert (ran.stdout, ran.stderr) == (b"0 False\n", b"")

    def test_bare_environment(self, tmp_path: Path) -> None:
        """No variable of the environment is needed."""
        ran = subprocess.run([*COMMAND, "build"], cwd=tmp_path, env={}, capture_output=True)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert b"\n- shell: unknown\n" in ran.stdout


def test_a_host_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Only a process that is nothing but the command collects less garbage and translates nothing.

    Who calls `main` with arguments is a host.
    """
    state = (gc.get_threshold(), gc.get_freeze_count(), vars(argparse)["_"])
    assert main(["build", "--no-git", "--no-project"]) == 0
    assert (gc.get_threshold(), gc.get_freeze_count(), vars(argparse)["_"]) == state
    assert capsys.readouterr().out
