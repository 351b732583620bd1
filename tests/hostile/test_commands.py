"""N: commands that are run in a hostile project, or pointed at one: nothing runs, nothing waits, nothing leaves."""

from __future__ import annotations

import json
import os
import pty
import select
import stat
import subprocess
import time
from pathlib import Path

import pytest

from deepprompt import Session, SystemPromptBuilder
from deepprompt.errors import SessionError
from deepprompt.session.saved import read_file, unpack
from tests.support.hostile.commands import DEADLINE, ONLY_LINE_ENDS, READERS, Project, make_project, reading
from tests.support.hostile.doors import COMMAND, SECRET, unprivileged
from tests.support.hostile.programs import promised
from tests.support.hostile.scene import Scene
from tests.support.layout import lay_out
from tests.support.repositories import git, make_repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links, FIFOs and modes"),
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a planted module, beside a folder with a secret."""
    return make_project(tmp_path / "project")


@pytest.fixture
def scene(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A repository, and a program that nobody should run."""
    assert temporary.is_dir()
    return Scene(tmp_path / "scene", make_repository(tmp_path / "template"), monkeypatch)


# N01: a project's settings give names of files to functions.
FILES = ("AGENTS.md", "p.md", "missing.md", "-", ".")
ON_FILES = [
    ("lint", "AGENTS.md"),
    ("lint", "./AGENTS.md"),
    ("lint", "."),
    ("lint", "-"),
    ("lint", "evil"),
    ("lint", "missing.md"),
    ("lint",),
    ("lint", "--cwd", ".", "AGENTS.md"),
    ("lint", "AGENTS.md", "p.md", "body.json"),
    ("perturb", "p.md"),
    ("perturb", "./p.md"),
    ("perturb", "missing.md"),
    ("explain", "AGENTS.md"),
    ("explain", "missing.md"),
    ("explain",),
    ("inspect", "AGENTS.md", "--out", "../page.html"),
    ("blame", "AGENTS.md", "p.md"),
    ("blame", "AGENTS.md", "missing.md"),
    ("cache", "body.json", "--provider", "anthropic"),
    ("lock", "AGENTS.md"),
    ("lock", "x=p.md"),
    ("build",),
]


@pytest.mark.parametrize("arguments", ON_FILES, ids=" ".join)
def test_n01_settings_that_give_a_file_to_a_function(project: Project, arguments: tuple[str, ...]) -> None:
    """A file that is named is read: no command calls a function that the settings have under its name."""
    project.configure("\n".join(["[tool.deepprompt.prompts]", *(f'"{name}" = "evil:f"' for name in FILES)]))
    project.run(*arguments, stdin=b"Be careful.\n")
    assert not project.ran()
    project.run("lock", "missing.md")
    assert project.ran(), "the settings are not used, so this test proves nothing"


def test_n01_from_another_folder(project: Project) -> None:
    """Nor with --cwd, from a folder beside it."""
    project.configure('[tool.deepprompt.prompts]\n"AGENTS.md" = "evil:f"\n')
    for command in ("lint", "explain", "lock"):
        assert project.run(command, "AGENTS.md", "--cwd", "project", cwd=project.folder.parent).returncode == 0
        assert not project.ran()


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "evil:f"),
        ("lint", "--prompt", "main"),
        ("explain", "evil:f"),
        ("blame", "evil:f", "AGENTS.md"),
        ("lock", "x=evil:f"),
        ("lock",),
        ("lock", "main"),
        ("check", "--only", "lint"),
        ("perturb", "evil:f", *ONLY_LINE_ENDS),
        ("perturb", "--prompt", "main", *ONLY_LINE_ENDS),
    ],
    ids=" ".join,
)
def test_n01_functions_that_are_named_run(project: Project, arguments: tuple[str, ...]) -> None:
    """The control: written as module:function, or configured and used by check, lock or --prompt, it does run."""
    project.configure('[tool.deepprompt.prompts]\nmain = "evil:f"\n')
    project.run(*arguments)
    assert project.ran()


@pytest.mark.parametrize("command", ["lint", "lock", "check", "perturb"])
def test_n01_isolated(project: Project, command: str) -> None:
    """With --isolated a command knows no settings of the project, so no name leads to a function."""
    project.configure('[tool.deepprompt.prompts]\nmain = "evil:f"\n')
    named = {"lint": ("--prompt", "main"), "perturb": ("--prompt", "main")}.get(command, ())
    assert project.run(command, "--isolated", *named).returncode == 2
    assert not project.ran()


# N02: the program that a repository configures, when perturb asks git about line ends.
@pytest.mark.parametrize("how", ["monitor", "remote", "path"])
def test_n02_perturb_in_a_repository(scene: Scene, how: str) -> None:
    """`perturb 'build …'` runs nothing of the repository; plain git, started there, does."""
    folder = scene.repository
    path = os.environ["PATH"]
    lay_out(folder, {"AGENTS.md": "Be careful.\n"})
    plain: tuple[str, ...] = ("status",)
    entries = [""]
    if how == "monitor":
        scene.set({"core.fsmonitor": scene.evil})
    elif how == "remote":
        promised(scene, "ssh://nowhere.invalid/x", {"core.sshCommand": str(scene.evil.failing)})
        plain = ("diff", "--stat")
    else:
        entries = [".", "bin", "node_modules/.bin"]
        for entry in entries:
            scene.evil.write(folder / entry / "git", "exit 1")
    for entry in entries:
        environment = {**os.environ, **scene.variables, "PATH": os.pathsep.join(filter(None, (entry, path)))}
        subprocess.run(["git", *plain], cwd=folder, env=environment, capture_output=True, check=False, timeout=DEADLINE)
        assert scene.evil.ran(), "the trap does not work"
    path = os.pathsep.join(filter(None, (*entries, path)))
    for target in ("build --no-git", "build"):
        Project(folder, scene.evil.marker).run(
            "perturb", target, *ONLY_LINE_ENDS, env={**scene.variables, "PATH": path}
        )
        assert not scene.evil.ran(), target


# N03: names of files that look like code or like options.
ODD = ("evil:f", "evil.py:f", "src.evil2:f", "src/evil2.py:f", "evil2:f", "build --cwd ..", "build --base-file x")


@pytest.mark.parametrize("kind", ["dangling", "link", "file", "folder", "pipe"])
@pytest.mark.parametrize("name", ODD)
def test_n03_files_that_are_named_like_code(project: Project, name: str, kind: str) -> None:
    """Whatever exists under a name is a file, be it a link that leads nowhere: `lint *` imports nothing."""
    path = project.folder / name
    path.parent.mkdir(exist_ok=True)
    if kind in ("dangling", "link"):
        path.symlink_to("nowhere" if kind == "dangling" else "AGENTS.md")
    elif kind == "file":
        path.write_text("Be careful.\n")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    for command in ("lint", "lock", "explain", "perturb"):
        project.run(command, *(sorted(os.listdir(project.folder)) if command in ("lint", "lock") else [name]))
        project.run(command, name)
        assert not project.ran(), command


def test_n03_the_same_names_run_without_the_file(project: Project) -> None:
    """The control: with no such file, the name is a function."""
    for name in ("evil:f", "evil.py:f", "evil2:f", "src/evil2.py:f"):
        project.run("lint", name)
        assert project.ran(), name


@pytest.mark.parametrize(
    "name", ["--prompt=main", "--config=x.toml", "--out=new", "--cwd=..", "--cwd=a b", "-h", "-h x", "--json"]
)
@pytest.mark.parametrize("command", ["lint", "lock", "explain"])
def test_n03_files_that_are_named_like_options(project: Project, command: str, name: str) -> None:
    """A pattern such as * makes no option of a file's name: the command says so and does nothing."""
    project.configure('[tool.deepprompt.prompts]\nmain = "evil:f"\n')
    lay_out(project.folder, {name: "x", "x.toml": '[tool.deepprompt.prompts]\nmain = "evil:f"\n'})
    before = sorted(os.listdir(project.folder))
    done = project.run(command, *before)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{name} is an option and also a file here; write ./* for all files, or rename it".encode() in done.stderr
    assert sorted(os.listdir(project.folder)) == before
    assert not project.ran()
    assert project.run("lint", "--isolated", "--", "AGENTS.md").returncode == 0


def test_n03_values_that_are_named_like_files(project: Project) -> None:
    """The honest case: a number below 0, or a text or file that begins with a dash and a blank, is no option."""
    lay_out(project.folder, {"- notes.md": "Be \u202ecareful.\n", "-5": "x", "- Be kind.": "x"})
    done = project.run("lint", "- notes.md")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"- notes.md:1:4: DP302" in done.stdout
    for text in ("-5", "- Be kind."):
        done = project.run("build", "--no-git", "--quiet", "--append", text)
        assert (done.returncode, done.stderr) == (0, b"")
        assert f"\n{text}\n".encode() in done.stdout


# N04: where the lock is written, and what is in it.
@pytest.mark.parametrize("lock", ["/tmp/deepprompt-n04", "../x.lock", "a/../../x.lock", "sub/../../x.lock"])
def test_n04_lock_outside(project: Project, lock: str) -> None:
    """Settings cannot put the lock outside the project."""
    project.configure(f'[tool.deepprompt]\nlock = "{lock}"\n[tool.deepprompt.prompts]\nmain = "AGENTS.md"\n')
    done = project.run("lock")
    assert done.returncode == 1
    assert b"leads out of the project" in done.stderr
    assert not Path("/tmp/deepprompt-n04").exists()
    assert not (project.folder.parent / "x.lock").exists()


@pytest.mark.parametrize("target", ["../outside/new", "../outside/empty", "../outside/secret.md", "p.md"])
@pytest.mark.parametrize("place", ["deepprompt.lock", "sub"])
def test_n04_lock_through_a_link(project: Project, target: str, place: str) -> None:
    """A link in place of the lock, or of a folder on the way to it, is not written through."""
    lock = "deepprompt.lock"
    if place == "sub":
        (project.folder / "sub").symlink_to("../outside")
        lock = "sub/new.lock"
    else:
        (project.folder / place).symlink_to(target)
    outside = {path.name: path.read_bytes() for path in (project.folder.parent / "outside").iterdir()}
    for arguments in (
        ("lock", "main=AGENTS.md", "--lock", lock),
        ("lock", "--check", "main=AGENTS.md", "--lock", lock),
    ):
        done = project.run(*arguments)
        assert done.returncode == 1
        assert b"is a link, and nothing is written through it" in done.stderr
    assert {path.name: path.read_bytes() for path in (project.folder.parent / "outside").iterdir()} == outside
    assert (project.folder / "p.md").read_text() == "Be brief.\n"


@pytest.mark.parametrize("name", ["a$(touch x)", "`touch x`", "a;touch x", "a|x", "a\\nb", "a b&", "\\u001b[2J"])
def test_n04_names_that_a_shell_could_run(project: Project, name: str) -> None:
    """A name in the lock that a shell could run is refused, in the settings and on the command line."""
    project.configure(f'[tool.deepprompt.prompts]\n"{name}" = "AGENTS.md"\n')
    assert project.run("lock").returncode == 1
    raw = json.loads(f'"{name}"')
    lay_out(project.folder, {raw: "Be careful.\n"})
    project.run("lock", raw, "--isolated")
    assert not (project.folder / "deepprompt.lock").exists()
    assert not (project.folder / "x").exists()


# N05: a git that lies in a work tree around us.
@pytest.mark.parametrize("layout", ["linked", "nested"])
def test_n05_git_of_another_work_tree(scene: Scene, layout: str) -> None:
    """Neither the main work tree's git runs from a linked one, nor the outer repository's from a nested one."""
    outer = scene.repository
    scene.evil.write(outer / "node_modules/.bin/git", "exit 1")
    if layout == "linked":
        git(outer, "worktree", "add", "--quiet", "-b", "side", str(scene.folder / "linked"))
        inner = scene.folder / "linked"
    else:
        inner = make_repository(outer / "inner")
    path = f"{outer}/node_modules/.bin{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["git", "status"], cwd=inner, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    assert scene.evil.ran(), "the trap does not work"
    for arguments in (
        ("build",),
        ("build", "--root", str(inner)),
        ("explain",),
        ("perturb", "build", *ONLY_LINE_ENDS),
        ("inspect", "--out", "../page.html"),
    ):
        Project(inner, scene.evil.marker).run(*arguments, env={"PATH": path})
        assert not scene.evil.ran(), arguments


# N06: NUL where git has a path.
@pytest.mark.parametrize("where", ["file", "worktree", "gitdir", "commondir"])
def test_n06_nul_in_a_path(scene: Scene, where: str) -> None:
    """A NUL in a path of the repository's is a note, never a traceback."""
    folder = scene.repository
    if where == "file":
        folder = scene.folder / "other"
        lay_out(folder, {".git": "gitdir: /tmp/\0x\n"})
    elif where == "worktree":
        (folder / ".git/config").write_bytes((folder / ".git/config").read_bytes() + b"[core]\n\tworktree = /x\0y\n")
    else:
        git(folder, "worktree", "add", "--quiet", "-b", "side", str(scene.folder / "linked"))
        (folder / f".git/worktrees/linked/{where}").write_bytes(b"/tmp/\0x\n")
        folder = scene.folder / "linked"
    for arguments in (
        ("build",),
        ("explain",),
        ("inspect", "--out", "../page.html"),
        ("perturb", "build", *ONLY_LINE_ENDS),
    ):
        done = Project(folder, scene.evil.marker).run(*arguments)
        assert done.returncode in ((0, 1) if arguments[0] == "perturb" else (0,)), done.stderr


# N07: settings that silence findings, or read elsewhere.
PROFILE = 'extends = "agents"\ngroups = [{at = "home", files = [{names = [".ssh/config"]}]}]\n'
KEY = "AKIA" + "Q7RZ2MXN4KP9" + "TVWB"


@pytest.mark.parametrize(
    "settings",
    [
        'ignore = ["DP5", "DP4", "DP3", "DP2", "DP1"]',
        'select = ["DP601"]',
        '[[tool.deepprompt.lint.allow]]\ncode = "DP501"\nreason = "x"\n[[tool.deepprompt.lint.allow]]\n'
        'code = "DP502"\nreason = "x"\n[[tool.deepprompt.lint.allow]]\ncode = "DP503"\nreason = "x"',
    ],
)
def test_n07_isolated_lint(project: Project, settings: str) -> None:
    """--isolated finds a key that the project's settings silence."""
    lay_out(project.folder, {"AGENTS.md": f"Use {KEY} for all calls.\n"})
    plain = project.run("lint", "AGENTS.md")
    assert plain.returncode == 1
    project.configure(f"[tool.deepprompt.lint]\n{settings}\n")
    assert project.run("lint", "AGENTS.md", "--isolated").stdout == plain.stdout


@pytest.mark.parametrize(
    "settings",
    [
        '[tool.deepprompt.lint]\npaths = ["../outside"]',
        '[tool.deepprompt.lint]\npaths = ["link"]',
        '[tool.deepprompt.lint]\npaths = ["link/secret.md"]',
        '[tool.deepprompt.lint]\npaths = ["one.md"]',
        '[tool.deepprompt.prompts]\nmain = "../outside/secret.md"',
        '[tool.deepprompt.prompts]\nmain = "one.md"',
        '[tool.deepprompt.prompts]\nmain = "link"',
        '[tool.deepprompt]\nlock = "one.md"\n[tool.deepprompt.prompts]\nmain = "AGENTS.md"',
        '[tool.deepprompt.prompts]\nmain = "../outside/x.py:f"',
        '[tool.deepprompt.prompts]\nmain = "x.py:f"',
        *(
            f"[tool.deepprompt.prompts]\nmain = \"build --no-git --home '' {options}\""
            for options in (
                "--base-file ../outside/secret.md",
                "--base-file=../outside/secret.md",
                "--append x --append-file AGENTS.md --append-file one.md",
                "--custom-file link/secret.md",
                "--cwd ../outside",
                "--cwd link",
                "--home ../outside",
                "--parts ../outside --base base@1",
                "--preset claude_code --output-style-file one.md",
                "--base-file 'a\\u0000b'",
                "--agent agent.json --channel x --formatting x=../outside/secret.md",
                "--agent agent.json --channel x --formatting x=link/secret.md",
                "--agent agent.json --storage-file ../outside/secret.md",
                "--preset claude_code --mcp s=../outside/server.json",
                "--preset claude_code --mcp ../outside/server.json",
                "--preset claude_code --mcp link/server.json",
                "--instructions qwen-code --root ..",
                "--instructions ../outside/profile.toml",
                "--instructions profile.toml",
                "--help",
            )
        ),
    ],
)
@pytest.mark.parametrize(
    "command", ["lint", "check", "lock", "lint --prompt main", "lock main", "perturb --prompt main"]
)
def test_n07_settings_that_read_outside(project: Project, command: str, settings: str) -> None:
    """Settings cannot have a file outside the project read and quoted, by a path or through a link."""
    (project.folder / "link").symlink_to("../outside")
    (project.folder / "one.md").symlink_to("../outside/secret.md")
    (project.folder / "x.py").symlink_to("../outside/x.py")
    (project.folder.parent / "outside/x.py").write_bytes((project.folder / "evil.py").read_bytes())
    server = json.dumps({"name": "s", "instructions": f"{SECRET}\u202e"})
    lay_out(project.folder.parent / "outside", {"server.json": server, "profile.toml": PROFILE})
    lay_out(project.folder, {"profile.toml": PROFILE, "QWEN.md": "@one.md\n"})
    project.configure(settings)
    done = project.run(*command.split())
    assert b"U+202E" not in done.stdout + done.stderr
    assert not project.ran()
    if 'main = "AGENTS.md"' not in settings:
        assert done.returncode != 0


def test_n07_settings_that_read_inside(project: Project) -> None:
    """The control: the same options with files of the project are read, and a function in its file is called."""
    lay_out(project.folder, {"sub/AGENTS.md": "Be kind.\n", "base.md": "Base.\n", "home/AGENTS.md": "At home.\n"})
    lay_out(project.folder, {"server.json": '{"name": "s", "instructions": "Ask it."}'})
    inside = project.folder / "base.md"
    for target in (
        "build --no-git --home home --cwd sub --base-file base.md --append-file p.md --root ..",
        f"build --no-git --home '' --custom-file {inside}",
        "build --no-git --home '' --instructions qwen-code --root sub --cwd sub",
        "build --no-git --home '' --agent agent.json --channel x --formatting x=base.md --storage-file base.md",
        "build --no-git --home '' --preset claude_code --mcp s=server.json --mcp server.json --mcp other",
        "src/evil2.py:f",
        f"{project.folder}/evil.py:f",
        str(inside),
    ):
        project.configure(f'[tool.deepprompt.prompts]\nmain = "{target}"\n')
        assert project.run("lock", "main").returncode == 0, target
        assert project.ran() == target.endswith(":f")


# N08: objects of another repository are tested beside `sources/git/objects.py`; here, through the commands.
@pytest.mark.parametrize("how", ["alternates", "linked objects"])
def test_n08_objects_of_another_repository(scene: Scene, how: str) -> None:
    """A ref with the hash of another repository's commit shows nothing of it, and a note says so."""
    other = make_repository(scene.folder / "other")
    git(other, "commit", "--quiet", "--allow-empty", "-m", "the secret plan")
    digest = git(other, "rev-parse", "HEAD")
    folder = scene.repository
    if how == "alternates":
        lay_out(folder, {".git/objects/info/alternates": f"{other}/.git/objects\n"})
    else:
        for path in (other / ".git/objects").iterdir():
            if len(path.name) == 2 and not (folder / ".git/objects" / path.name).exists():
                (folder / ".git/objects" / path.name).symlink_to(path)
    branch = git(folder, "symbolic-ref", "HEAD")
    (folder / ".git" / branch).write_text(f"{digest}\n")
    assert "the secret plan" in git(folder, "log", "-1"), "the trap does not work"
    for arguments in (("build",), ("explain",), ("build", "--json")):
        done = Project(folder, scene.evil.marker).run(*arguments)
        assert b"the secret plan" not in done.stdout + done.stderr
        if arguments == ("build",):
            assert b"objects" in done.stderr


# N09: pipes, devices and sockets in place of files.
@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "/dev/zero"])
def test_n09_pipe_in_place_of_a_named_file(project: Project, command: str, kind: str) -> None:
    """No command waits for a pipe or reads a device that was named as a file: it says what is wrong and ends."""
    for end in ("", ".toml"):
        os.mkfifo(project.folder / f"pipe.md{end}")
        (project.folder / f"named.md{end}").symlink_to(f"pipe.md{end}" if kind == "link to a pipe" else kind)
    done = project.run(*reading(command, "pipe.md" if kind == "pipe" else "named.md"))
    assert done.returncode in (1, 2)
    assert done.stderr


@pytest.mark.parametrize("name", ["pyproject.toml", "deepprompt.lock", "AGENTS.md", "skills/x/SKILL.md", ".git"])
@pytest.mark.parametrize(
    "arguments", [("lint", "."), ("lint",), ("lock", "p.md"), ("lock", "--check", "p.md"), ("check",), ("build",),
                  ("explain",), ("inspect", "--out", "../page.html"), ("blame", "p.md", "p.md"),
                  ("plan", "--compare", "all"), ("skills",), ("skills", "--profile", "agents", "--check"),
                  ("build", "--instructions", "claude-code")],
    ids=lambda arguments: " ".join(arguments[:3]),
)  # fmt: skip
def test_n09_pipe_in_place_of_a_found_file(project: Project, name: str, arguments: tuple[str, ...]) -> None:
    """Nor for a pipe in place of a file that a command looks for itself."""
    if name != "pyproject.toml":
        project.configure('[tool.deepprompt.prompts]\nmain = "p.md"\n')
    path = project.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    done = project.run(*arguments)
    assert done.returncode in (0, 1, 2)


def test_n09_standard_input_in_a_linted_folder(project: Project) -> None:
    """A link to standard input in a folder is refused, so `lint .` does not wait for a person to type."""
    (project.folder / "x.md").symlink_to("/dev/stdin")
    done = project.run("lint", ".", stdin=b"typed\n")
    assert done.returncode == 1
    assert b"not linted: x.md: leads out of its root" in done.stderr


def test_n09_saved_session(project: Project) -> None:
    """A pipe in place of a saved session is an error; a real one, the control, loads."""
    session = Session(SystemPromptBuilder().compose())
    session.save(project.folder / "session.json")
    assert unpack(read_file(str(project.folder / "session.json")), "it")
    os.mkfifo(project.folder / "pipe.json")
    with pytest.raises(SessionError, match="not a regular file"):
        read_file(str(project.folder / "pipe.json"))


# N10: what `lint FOLDER` visits.
def test_n10_what_build_would_load(project: Project) -> None:
    """Hidden text in every folder that build loads from is found, whatever a skill's folder is called."""
    places = [
        "AGENTS.md",
        "DEEPSEEK.md",
        ".deepseek/instructions.md",
        *(f"{folder}/{name}/SKILL.md" for folder in
          (".deepseek/skills", "skills", ".opencode/skills", ".claude/skills", ".agents/skills")
          for name in ("one", "build", "dist", "node_modules", "venv", "deep/er")),
        ".github/copilot-instructions.md",
        ".cursor/rules/x.mdc",
    ]  # fmt: skip
    lay_out(project.folder, dict.fromkeys(places, "# x\nBe \u202ecareful.\n"))
    done = project.run("lint", ".", "--json")
    assert done.returncode == 1
    assert {finding["place"] for finding in json.loads(done.stdout)["findings"]} >= set(places)


def test_n10_links_out_of_the_folder(project: Project) -> None:
    """Links that lead out are not followed, neither files nor folders, and are reported; exit 1."""
    (project.folder / "a.md").symlink_to("../outside/secret.md")
    (project.folder / "docs").symlink_to("../outside")
    (project.folder / "inside.md").symlink_to("AGENTS.md")
    done = project.run("lint", ".")
    assert done.returncode == 1
    assert b"U+202E" not in done.stdout
    for name in ("a.md", "docs"):
        assert f"not linted: {name}: leads out of its root".encode() in done.stderr
    assert b"inside.md" not in done.stderr


def test_n10_unreadable_folder() -> None:
    """A folder that may not be listed is reported, and the rest is linted; exit 1."""
    with unprivileged() as folder:
        lay_out(folder, {"AGENTS.md": "Be \u202ecareful.\n", "closed/x.md": "x\n", "closed.md": "x\n"})
        (folder / "closed").chmod(0)
        (folder / "closed.md").chmod(0)
        from deepprompt.commands.targets import load_subject

        subject = load_subject(".", ".", str(folder), 1)
        (folder / "closed").chmod(0o700)
    assert [segment.place for segment in subject.segments] == ["AGENTS.md"]
    assert sorted(subject.unread) == ["closed.md: cannot be read: Permission denied", "closed: Permission denied"]


def test_n10_one_bad_file(project: Project) -> None:
    """A file over the limit, a pipe and bytes that are not text stop nothing: the others are linted."""
    with (project.folder / "huge.md").open("wb") as file:
        file.truncate(1 << 26)
    os.mkfifo(project.folder / "pipe.md")
    lay_out(project.folder, {"z.md": "Be \u202ecareful.\n", "bytes.md": b"\xff\xfe\0"})
    for arguments in (("lint", "."), ("lint", "AGENTS.md", "pipe.md", "missing.md", "z.md")):
        done = project.run(*arguments)
        assert done.returncode == 1
        assert b"z.md:1" in done.stdout
        assert b"not linted: pipe.md: not a regular file" in done.stderr
    report = json.loads(project.run("lint", ".", "--json").stdout)
    assert [line.partition(":")[0] for line in report["unread"]] == ["huge.md", "pipe.md"]


def on_a_terminal(*arguments: str, cwd: Path) -> bytes:
    """Return what a command says on standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([*COMMAND, *arguments], cwd=cwd, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    said = b""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and select.select([ours], [], [], end - time.monotonic())[0]:
        try:
            said += os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    child.wait(DEADLINE)
    return said


def test_n10_progress(project: Project) -> None:
    """`lint FOLDER` shows on a terminal how far it is, and clears the line; elsewhere it shows nothing."""
    said = on_a_terminal("lint", ".", cwd=project.folder)
    assert b"2 of 2 files linted" in said
    assert said.rstrip().endswith(b"\x1b[K")
    assert b"read" not in project.run("lint", ".").stderr


# N11: escape sequences in names, every kind of them in one name.
CONTROLS = "\x1b\x07\x9b\x7f\u202e\r\x08"


def test_n11_escape_sequences_in_names(project: Project) -> None:
    """A name of a file, a tool, a prompt or an option reaches a terminal only with its controls made visible."""
    escape = "\x1b]0;x\x07\x1b[2J\x9b2J\x7f\u202e\r\x08"
    name = f"a{escape}b.md"
    lay_out(project.folder, {name: f"Be \u202ecareful. {KEY}\n", f"skills/{escape}x/SKILL.md": "# x\n"})
    skill = f'---\nname: x{escape}\ndescription: "{escape}"\n---\n'.replace("\r", "").encode()
    lay_out(project.folder, {f".agents/skills/{escape}/SKILL.md": skill, ".agents/skills/x/SKILL.md": skill})
    lay_out(project.folder, {"CLAUDE.md": f"@a{escape}b @../{escape}\n", f".claude/rules/{escape}.md": "x\n"})
    tools = [{"name": f"t{escape}", "description": f"Today is 2026-01-01. {escape}", "input_schema": {}}] * 2
    lay_out(
        project.folder,
        {"tools.json": json.dumps(json.loads((project.folder / "body.json").read_text()) | {"tools": tools})},
    )
    quoted = json.dumps(name).replace("\x7f", "\\u007f")
    project.configure(f"[tool.deepprompt.prompts]\nmain = {quoted}\n")
    os.mkfifo(project.folder / f"p{escape}.md")
    commands = [
        ("lint", "."),
        ("lint", name),
        ("lint", ".", "--json"),
        ("lint", ".", "--format", "sarif"),
        ("lint", "tools.json"),
        ("lint", f"missing{escape}"),
        ("lint", f"--{escape}"),
        ("lint", "--prompt", escape),
        ("lint", "--cwd", escape, "x"),
        ("check",),
        ("check", "--json"),
        ("lock", name),
        ("lock",),
        ("explain", name),
        ("explain", "tools.json"),
        ("explain", "tools.json", "--json"),
        ("blame", "tools.json", "body.json"),
        ("blame", name, "body.json"),
        ("blame", "tools.json", "body.json", "--json"),
        ("cache", "tools.json", "--provider", "anthropic"),
        ("inspect", f"p{escape}.md", "--out", "../page.html"),
        ("inspect", name, "--out", f"../page{escape}.html"),
        ("perturb", name),
        ("build", "--base-file", f"p{escape}.md"),
        ("build", "--mcp", f"s{escape}=tools.json", "--preset", "claude_code"),
        ("build", "--mcp", f"p{escape}.json", "--preset", "claude_code"),
        ("plan", "--profile", f"p{escape}.toml"),
        ("plan", "--compare", "all", "--touch", name),
        ("plan", "--json", "--all"),
        ("skills", "--profile", f"{escape}"),
        ("skills",),
        ("skills", "--profile", "agents"),
        ("skills", "--profile", "agents", "--json"),
        ("skills", "--profile", "agents", "--index"),
        (f"x{escape}",),
    ]  # fmt: skip
    for arguments in commands:
        done = project.run(*arguments)
        said = (done.stdout + done.stderr).decode()
        assert not set(CONTROLS) & set(said), arguments


# N12: settings that take long to read.
@pytest.mark.parametrize(
    "text",
    [
        "a." * 20_000 + "b = 1\n",
        "".join(f"{'a.' * 30}k{number} = 1\n" for number in range(2_000)),
        "[" + "a." * 20_000 + "b]\n",
        "x = " + "[" * 40_000,
        "x = " + "{a=" * 20_000,
        "".join(f"[[a{'.b' * (number % 40)}]]\n" for number in range(3_000)),
        "x = 1\n" * 400_000,
    ],
    ids=["dotted key", "dotted keys", "dotted table", "brackets", "braces", "tables", "long"],
)
def test_n12_settings_that_take_long(project: Project, text: str) -> None:
    """Settings of any shape are read or refused within seconds."""
    project.configure(text)
    start = time.monotonic()
    for arguments in (("lint", "AGENTS.md"), ("check",), ("lint", "AGENTS.md", "--config", "pyproject.toml")):
        assert project.run(*arguments).returncode in (0, 1, 2)
    assert time.monotonic() - start < 3 * 3
    assert project.run("lint", "AGENTS.md", "--isolated").returncode == 0


def test_pages_are_their_owners(project: Project) -> None:
    """The page that inspect writes is its owner's alone, so a hostile folder beside it reads nothing."""
    assert project.run("inspect", "AGENTS.md", "--out", "../page.html").returncode == 0
    assert stat.S_IMODE((project.folder.parent / "page.html").stat().st_mode) == 0o600
    assert SECRET not in (project.folder.parent / "page.html").read_text()
