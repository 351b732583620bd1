"""What one snapshot asks of the operating system: git and nothing else runs, no socket is opened, nothing is written.

Watched by strace where that is installed; with DEEPPROMPT_NEED_STRACE=1, as continuous integration has it, it is an
error where it is not. The portable form is a limit: git cannot write a single byte to any file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from deepprompt import read_git
from deepprompt.checks.perturb.moves import MOVES
from deepprompt.sources.git import snapshot as git_module
from tests.support.guarded import moving_only
from tests.support.hostile.commands import ONLY_LINE_ENDS
from tests.support.hostile.programs import promised, sign, with_a_part
from tests.support.hostile.scene import DIFF, Scene
from tests.support.repositories import ENVIRONMENT, make_repository, write

pytestmark = pytest.mark.slow

CALLS = (
    "execve,execveat,%network,openat2,open,openat,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,"
    "link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,lchown,fchown,fchownat,truncate,ftruncate,mknod,mknodat,"
    "utime,utimes,futimesat,utimensat,setxattr,lsetxattr,fsetxattr"
)
NETWORK = {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg"}
OPENING = {"open", "openat", "openat2", "creat"}
RUNNING = {"execve", "execveat"}

# One snapshot in a process of its own; with a second argument, that many.
READ = """
import sys
from deepprompt import read_git
for _ in range(int(sys.argv[2])):
    print(read_git(sys.argv[1]))
"""

_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+|\?)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FOLDER = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>, ")


@dataclass(frozen=True)
class Call:
    """A call of the operating system that succeeded."""

    process: int
    name: str
    arguments: str

    @property
    def strings(self) -> list[str]:
        """The texts among its arguments."""
        return [text.encode().decode("unicode_escape") for text in _STRING.findall(self.arguments)]

    @property
    def paths(self) -> list[str]:
        """The absolute paths that it names; a relative one belongs to the folder that stands before it."""
        folder = _FOLDER.search(self.arguments)
        texts = self.strings[-1:] if self.name.startswith("symlink") else self.strings  # not what a link leads to
        named = [os.path.join(folder[1] if folder else "/", text) for text in texts]
        return [os.path.normpath(path) for path in named or ([folder[1]] if folder else [])]

    @property
    def writes(self) -> bool:
        """Whether it writes to a file or folder, or could then."""
        if self.name in OPENING:
            return self.name == "creat" or re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", self.arguments) is not None
        return self.name not in RUNNING | NETWORK and self.name in CALLS.split(",")


@pytest.fixture(scope="module")
def strace() -> str:
    """The program that watches."""
    return find_strace()


def find_strace() -> str:
    """Return where strace is."""
    path = shutil.which("strace")
    if path is None and os.environ.get("DEEPPROMPT_NEED_STRACE") == "1":
        pytest.fail("strace is not installed, and DEEPPROMPT_NEED_STRACE=1 says that it must be")
    if path is None:
        pytest.skip("strace is not installed")
    return path


def watch(strace: str, log: Path, cwd: Path, *command: str | Path) -> list[Call]:
    """Run a command, and return the calls that it and all that it started made with success."""
    environment = {**ENVIRONMENT, "TMPDIR": os.environ["TMPDIR"], "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        [
            strace,
            "-f",
            "--seccomp-bpf",
            "-y",
            "-qq",
            "-s",
            "4096",
            "-e",
            f"trace={CALLS}",
            "-e",
            "signal=none",
            "-o",
            log,
            *command,
        ],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    calls = []
    pending: dict[str, str] = {}
    for line in log.read_text(errors="surrogateescape").split("\n"):
        resumed = re.match(r"(\d+) +<\.\.\. (\w+) resumed>(.*)", line)
        if resumed:  # another process came between the beginning and the end of the call
            begin = pending.pop(resumed[1])
            line = f"{resumed[1]} {begin}{resumed[3]}"
        elif line.endswith(" <unfinished ...>"):
            process, _, begin = line.removesuffix(" <unfinished ...>").partition(" ")
            pending[process] = begin.lstrip()
            continue
        match = _CALL.match(line)
        if match and not match[4].startswith("-"):
            calls.append(Call(int(match[1]), match[2], match[3]))
    return calls


def below(folder: Path, path: str) -> bool:
    """Whether a path lies in a folder."""
    return (path + "/").startswith(f"{folder}/")


def gits(calls: list[Call]) -> list[str]:
    """Return which of git's commands ran, and whatever else did by its path; the first is the one we watch."""
    found = []
    for call in [call for call in calls if call.name in RUNNING][1:]:
        program, *line = call.strings
        words = [word for word in line[1:] if word in ("ls-files", "status", "diff", "--cached", "log")]
        found.append(" ".join(words) if os.path.basename(program) == "git" and words else program)
    return sorted(found)


def hostile_repository(scene: Scene) -> Path:
    """Everything at once that makes plain git run a program, go to the network, or write."""
    scene.set({"core.fsmonitor": scene.evil, "diff.external": scene.evil, "core.pager": scene.evil})
    sign(scene.repository, "PGP SIGNATURE")
    scene.set({"log.showSignature": "true", "gpg.program": scene.evil, "core.hooksPath": scene.evil.folder})
    scene.evil.write(scene.evil.folder / "post-index-change")
    with_a_part(scene)
    promised(scene, "git://127.0.0.1:9/x", {})
    write(scene.repository, {".git/info/attributes": "* filter=evil diff=evil\n"})
    scene.set({"filter.evil.clean": scene.evil, "diff.evil.textconv": scene.evil})
    scene.reset()
    return scene.repository


@pytest.fixture
def scene(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """An empty scene."""
    assert temporary.is_dir()
    return Scene(tmp_path / "scene", make_repository(tmp_path / "template"), monkeypatch)


COLD = ["diff", "diff --cached", "log", "ls-files", "status"]
WARM = ["diff", "status"]


@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
@pytest.mark.parametrize(("turns", "commands"), [(1, COLD), (2, sorted(COLD + WARM))], ids=["first", "second"])
def test_one_snapshot(
    strace: str, scene: Scene, tmp_path: Path, temporary: Path, hostile: bool, turns: int, commands: list[str]
) -> None:
    """Five gits run for the first snapshot and two for the next; no socket; nothing is written but our own folder."""
    repository = hostile_repository(scene) if hostile else scene.repository
    if hostile:
        commands = sorted(commands + ["diff"] * turns)  # an object is missing, so git is asked twice for the diff

    calls = watch(strace, tmp_path / "log", repository, sys.executable, "-c", READ, repository, str(turns))

    assert gits(calls) == commands
    assert not scene.evil.ran()
    assert [call for call in calls if call.name in NETWORK] == []
    written = [(call, path) for call in calls if call.writes for path in call.paths if path != "/dev/null"]
    assert written, "not even our own folder is seen, so this test proves nothing"
    assert [call for call, path in written if not below(temporary, path)] == []


# Every command that looks at a folder: what it is asked to write, and whether it may start our own interpreter, which
# calls functions that were named; `build` is a function of ours. `perturb` also asks the system for its locales.
COMMANDS: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "lint": (("lint", "."), "", False),
    "lint file": (("lint", "AGENTS.md", "body.json", "-"), "", False),
    "lint settings": (("lint",), "", True),
    "lock": (("lock", "main=AGENTS.md"), "deepprompt.lock", False),
    "lock --check": (("lock", "--check", "main=AGENTS.md"), "", False),
    "check": (("check",), "", True),
    "perturb": (("perturb", "build", *ONLY_LINE_ENDS), "", True),  # with `check`, all moves but the hash seed are
    "explain": (("explain",), "", False),
    "explain file": (("explain", "AGENTS.md"), "", False),
    "inspect": (("inspect", "--out", "page.html"), "page.html", False),
    "cache": (("cache", "body.json", "--provider", "anthropic"), "", False),
    "blame": (("blame", "AGENTS.md", "body.json"), "", False),
    "build": (("build",), "", False),
    "build --instructions": (("build", "--instructions", "claude-code", "--home", ""), "", False),
    "build --mcp": (("build", "--preset", "claude_code", "--mcp", "s=server.json"), "", False),
    "build --formatting": (
        (
            "build",
            "--agent",
            "agent.json",
            "--channel",
            "x",
            "--formatting",
            "x=AGENTS.md",
            "--storage-file",
            "AGENTS.md",
        ),
        "",
        False,
    ),
    "build --out": (("build", "--out", "page.html"), "page.html", False),
    "edits": (("edits", "answer.md"), "", False),
    "edits --apply": (("edits", "answer.md", "--apply"), "new.txt", False),
    "plan": (("plan", "--compare", "all", "--touch", "AGENTS.md"), "", False),
    "skills": (("skills", "--check"), "", False),
    "skills --profile": (("skills", "--profile", "claude-code"), "", False),
}


def hostile_folder(scene: Scene) -> Path:
    """A hostile repository whose settings give files to functions, with pipes and links where files should be."""
    folder = hostile_repository(scene)
    module = f"import os\nos.system({str(scene.evil)!r})\ndef f():\n    return 'x'\n"
    body = '{"model": "claude-sonnet-4-5", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}'
    settings = '[tool.deepprompt.prompts]\nmain = "build"\n"AGENTS.md" = "AGENTS.md"\n"body.json" = "body.json"\n'
    settings += moving_only(*(move for move in MOVES if move != "hash seed"))  # which are eight, and variables
    files = {"AGENTS.md": "Be careful.\n", "body.json": body, "evil.py": module, "pyproject.toml": settings}
    write(folder, {**files, "contextlib.py": module, "yaml.py": module, "sitecustomize.py": module})
    skill = "---\nname: x\ndescription: !!python/object/apply:os.system [touch x]\n---\n"
    write(
        folder, {"agent.json": '{"identity": "x"}', "server.json": '{"name": "s"}', ".claude/skills/x/SKILL.md": skill}
    )
    write(folder, {"CLAUDE.md": "@out.md @pipe.md @../x @~/x @evil.py\n", "skills/x/SKILL.md": skill})
    blocks = "".join(
        f"{path}\n=@= EDIT =@=\n=@= REPLACE =@=\nx\n=@= END =@=\n"
        for path in ("../x.txt", "/tmp/deepprompt-x.txt", ".git/config", ".git/hooks/x", "out.md", "pipe.md", "new.txt")
    )
    write(folder, {"answer.md": blocks})
    os.mkfifo(folder / "skills/pipe")
    (folder / "evil:f").symlink_to("nowhere")
    (folder / "out.md").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.md")
    scene.evil.write(folder / "bin/git", "exit 1")
    scene.reset()
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_one_command(strace: str, scene: Scene, tmp_path: Path, temporary: Path, command: str) -> None:
    """A command in a hostile folder starts git and nothing else, opens no socket, and writes what it was asked to."""
    folder = hostile_folder(scene)
    arguments, asked, interpreter = COMMANDS[command]
    arguments = tuple(str(folder / word) if word == "page.html" else word for word in arguments)

    calls = watch(strace, tmp_path / "log", folder, sys.executable, "-P", "-m", "deepprompt", *arguments)

    started = [call.strings[0] for call in calls if call.name in RUNNING][1:]
    allowed = {"git", "locale", os.path.basename(sys.executable)} if interpreter else {"git"}
    assert {os.path.basename(program) for program in started} <= allowed
    assert not [program for program in started if below(folder, program)]
    assert not scene.evil.ran()
    assert [call for call in calls if call.name in NETWORK] == []
    written = {path for call in calls if call.writes for path in call.paths if path != "/dev/null"}
    outside = {path for path in written if not below(temporary, path)}
    ours = {path for path in outside if Path(path).parent == folder and Path(path).name.startswith(".deepprompt-")}
    assert outside - ours <= ({str(folder / asked)} if asked else set())
    assert bool(ours) <= bool(asked)
    assert not asked or (folder / asked).is_file()


def test_gate_sees_functions(strace: str, scene: Scene, tmp_path: Path) -> None:
    """The control: the planted module, named as code, runs its program, and the gate sees it."""
    folder = hostile_folder(scene)
    (folder / "evil:f").unlink()

    calls = watch(strace, tmp_path / "log", folder, sys.executable, "-P", "-m", "deepprompt", "lint", "evil:f")

    assert str(scene.evil.program) in [text for call in calls if call.name in RUNNING for text in call.strings[:1]]
    assert scene.evil.ran()


def test_gate_sees_programs_and_writes(strace: str, scene: Scene, tmp_path: Path) -> None:
    """Plain git in the same repository: the gate sees the programs that it runs and the index that it writes."""
    repository = hostile_repository(scene)

    calls = watch(strace, tmp_path / "log", repository, "git", "status")

    assert str(scene.evil.program) in gits(calls)
    assert any(below(repository / ".git", path) for call in calls if call.writes for path in call.paths)


def test_gate_sees_sockets(strace: str, scene: Scene, tmp_path: Path) -> None:
    """Plain git in a repository with a missing object: the gate sees that it goes to the network."""
    promised(scene, "git://127.0.0.1:9/x", {})

    calls = watch(strace, tmp_path / "log", scene.repository, "git", "diff", "--stat")

    assert {call.name for call in calls} & NETWORK


@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
def test_no_byte_may_be_written(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: bool) -> None:
    """With a limit of no bytes for any file, every git says the same: it would be killed if it tried to write one.

    The one thing that git wants to write is the refreshed copy of the index, in our own folder; a lock keeps it.
    """
    repository = hostile_repository(scene) if hostile else scene.repository
    before = fresh(repository)
    real = shutil.which("git")
    (tmp_path / "bin").mkdir()
    lock = '[ -z "$GIT_DIR" ] || : > "$GIT_DIR/index.lock"'
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\n{lock}\nulimit -f 0\nexec {real} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    write(repository, {"new": "x\n"})
    limited = subprocess.run([tmp_path / "bin/git", "add", "new"], cwd=repository, env=ENVIRONMENT, capture_output=True)
    assert limited.returncode != 0, "the limit is none, so this test proves nothing"
    (repository / "new").unlink()
    (repository / ".git/index.lock").unlink(missing_ok=True)
    scene.reset()

    after = fresh(repository)

    assert (after, after.notes) == (before, before.notes)
    assert after.status == " M a.txt\n"
    assert hostile or after.diff == DIFF
    assert not scene.evil.ran()


def fresh(cwd: Path) -> git_module.GitSnapshot:
    """What git says when nothing is remembered."""
    git_module._known.cache_clear()
    return read_git(cwd)


def test_strace_is_needed_where_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without strace the watching tests are skipped, and with DEEPPROMPT_NEED_STRACE=1 they fail."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("DEEPPROMPT_NEED_STRACE", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"^strace is not installed$"):
        find_strace()

    monkeypatch.setenv("DEEPPROMPT_NEED_STRACE", "1")
    with pytest.raises(pytest.fail.Exception, match=r"^strace is not installed, and"):
        find_strace()
