"""`deepprompt build`: what the prompt of a folder is made of, and where it goes."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from deepprompt import BASE_PROMPT_V1, DYNAMIC_CONTEXT_BOUNDARY, bundled, estimate_tokens, load_preset
from deepprompt.cli import main
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

PREFIX = load_preset("deepseek").compose().static_prefix
"""What stands before the boundary in an empty folder: the base prompt, then the security policy."""
SEED = 'format = 1\njoin = "\\n"\nfinal_newline = "keep"\n'
FILES = bundled().text("slots", "1.0.0", "instructions")


def instructions(*files: tuple[str, str]) -> str:
    """Return the section about instruction files, given paths and contents."""
    shown = [f"<instructions>\nFile: {path}\n\n{content}\n</instructions>" for path, content in files]
    return "\n\n" + "\n\n".join([FILES.removesuffix("\n"), *shown])


PROJECT = re.compile(
    r"\n## Project\n- cwd: (?P<cwd>.*)\n- date: \d{4}-\d\d-\d\d\n- os: \S+ .+\n- shell: .+\n"
    r"(?:- branch: (?P<branch>.*)\n)?(?:\n## Git status\n(?P<status>[^#]*)\n## Git diff\n(?P<diff>[^#]*))?"
)


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder with nobody's configuration."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty project the current folder, and an empty folder the user's home."""
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def repository(folder: Path) -> Path:
    """Make the current folder a repository on a branch, with a staged, an unstaged and an untracked change."""
    git(folder, "init", "--quiet", "--initial-branch", "topic/prompt")
    lay_out(folder, {"one.txt": "1\n", "two.txt": "2\n"})
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    lay_out(folder, {"one.txt": "1\n1\n", "two.txt": "2\n2\n", "new.txt": ""})
    git(folder, "add", "two.txt")
    return folder


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return a folder of parts with two families, one of them in two versions."""
    return lay_out(
        tmp_path / "parts",
        {
            "own/1.0.0/preset.toml": f'{SEED}rows = [{{ part = "who" }}, {{ part = "how" }}, {{ slot = "skills" }}]\n',
            "own/1.0.0/who.md": "Who 1.\n",
            "own/1.0.0/how.md": "How 1.\n",
            "own/1.1.0/preset.toml": 'format = 1\nrows = [{ part = "who" }, { text = "More.", name = "more" }]\n',
            "own/1.1.0/who.md": "Who 1.1.\n",
            "mine/1.0/preset.toml": 'format = 1\nrows = [{ part = "all" }]\n',
            "mine/1.0/all.md": "All mine.",
        },
    )


def built(capture: CaptureBytes, *options: str) -> str:
    """Run `build` without notes or failure, and return what it prints."""
    capture.readouterr()
    assert main(["build", *options]) == 0
    said = capture.readouterr()
    assert said.err == b""
    return said.out.decode()


def report(capture: CaptureBytes, *options: str) -> Any:
    """Run `build --json` and return the report."""
    return json.loads(built(capture, "--json", *options))


class TestPrompt:
    """With no options: the prompt of the current folder and the user's home."""

    def test_empty_folder(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """In an empty folder it is the newest `deepseek`, the boundary and the project, and nothing else."""
        text = built(capsysbinary)
        prefix, boundary, suffix = text.partition(DYNAMIC_CONTEXT_BOUNDARY)
        assert (prefix, boundary) == (PREFIX, DYNAMIC_CONTEXT_BOUNDARY)
        match = PROJECT.fullmatch(suffix)
        assert match is not None
        assert match.groupdict() == {
            "cwd": str(folder),
            "branch": None,
            "status": "(not a git repository)\n",
            "diff": "(not a git repository)\n",
        }

    def test_repository(self, repository: Path, capsysbinary: CaptureBytes) -> None:
        """In a repository it shows the branch, the status and the diff, unstaged before staged."""
        match = PROJECT.fullmatch(built(capsysbinary).partition(DYNAMIC_CONTEXT_BOUNDARY)[2])
        assert match is not None
        assert match.groupdict() == {
            "cwd": str(repository),
            "branch": "topic/prompt",
            "status": " M one.txt\nM  two.txt\n?? new.txt\n",
            "diff": (
                " one.txt | 1 +\n 1 file changed, 1 insertion(+)\n two.txt | 1 +\n 1 file changed, 1 insertion(+)\n"
            ),
        }

    def test_below_the_top(self, repository: Path, capsysbinary: CaptureBytes) -> None:
        """Below the top of a repository the paths are relative to the folder."""
        lay_out(repository, {"sub/three.txt": ""})
        text = built(capsysbinary, "--cwd", "sub")
        assert f"- cwd: {repository / 'sub'}\n" in text
        assert "- branch: topic/prompt\n" in text
        assert " M ../one.txt\n" in text

    def test_repository_is_left_alone(self, repository: Path, capsysbinary: CaptureBytes) -> None:
        """Building writes nothing into the repository."""
        before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
        built(capsysbinary)
        assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")} == before

    def test_no_git(self, repository: Path, capsysbinary: CaptureBytes) -> None:
        """`--no-git` leaves out branch, status and diff with their headings, and keeps the rest of the project."""
        match = PROJECT.fullmatch(built(capsysbinary, "--no-git").partition(DYNAMIC_CONTEXT_BOUNDARY)[2])
        assert match is not None
        assert match["cwd"] == str(repository)
        assert (match["branch"], match["status"], match["diff"]) == (None, None, None)

    def test_no_project(self, repository: Path, capsysbinary: CaptureBytes) -> None:
        """`--no-project` leaves out everything after the boundary."""
        assert built(capsysbinary, "--no-project") == PREFIX + DYNAMIC_CONTEXT_BOUNDARY
        assert repository.exists()

    @pytest.mark.usefixtures("repository")
    def test_prefix_only(self, capsysbinary: CaptureBytes) -> None:
        """`--prefix-only` prints exactly what stands before the boundary."""
        assert built(capsysbinary, "--prefix-only") == PREFIX

    def test_instructions_and_skills(self, folder: Path, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """Instruction files and skills come from the folder first and then from home."""
        lay_out(
            folder, {"AGENTS.md": "Ours.\n", "skills/a/SKILL.md": "---\nname: alpha\ndescription: First.\n---\nBody\n"}
        )
        home = lay_out(
            tmp_path / "home",
            {"DEEPSEEK.md": "Home.\n", ".deepseek/skills/b/SKILL.md": "---\nname: beta\ndescription: 2\n---\nBody\n"},
        )
        prefix = built(capsysbinary, "--prefix-only").removeprefix(PREFIX)
        help_line = bundled().text("base", "1.0.0", "skills_help")
        hash12 = sha256(b"Body").hexdigest()[:12]
        skills = f"alpha | First. | direct | {hash12} | \nbeta | 2 | direct | {hash12} | \n"
        files = instructions((f"{folder}/AGENTS.md", "Ours.\n"), (f"{home}/DEEPSEEK.md", "Home.\n"))
        assert prefix == f"\n\n## Skills\n{help_line}{skills}{files}"

    @pytest.mark.usefixtures("folder")
    def test_other_folders(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """`--cwd` and `--home` name other folders, relative ones too."""
        lay_out(tmp_path, {"a/AGENTS.md": "From a.", "b/DEEPSEEK.md": "From b.", "home/AGENTS.md": "Not me."})
        text = built(capsysbinary, "--cwd", "../a", "--home", "../b")
        assert f"File: {tmp_path}/a/AGENTS.md\n\nFrom a.\n" in text
        assert f"File: {tmp_path}/b/DEEPSEEK.md\n\nFrom b.\n" in text
        assert f"- cwd: {tmp_path}/a\n" in text
        assert "Not me." not in text

    @pytest.mark.usefixtures("folder")
    def test_no_home(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """An empty `--home` searches no home."""
        lay_out(tmp_path, {"home/AGENTS.md": "Not me."})
        assert "Not me." in built(capsysbinary)
        assert "Not me." not in built(capsysbinary, "--home", "")


class TestBase:
    """Which base prompt."""

    @pytest.mark.usefixtures("folder")
    @pytest.mark.parametrize("ask", ["1.0.0", "1", "~=1.0.0", "==1.0", "base@1.0.0", "base~=1.0.0"])
    def test_bundled(self, ask: str, capsysbinary: CaptureBytes) -> None:
        """`--base` takes a version, a specifier, or either of a family."""
        assert built(capsysbinary, "--base", ask, "--prefix-only") == BASE_PROMPT_V1

    @pytest.mark.usefixtures("folder")
    @pytest.mark.parametrize(
        ("ask", "prefix"),
        [
            ("own@1.0.0", "Who 1.\n\nHow 1.\n"),
            ("own", "Who 1.1.\n\nMore."),
            ("own~=1.0.0", "Who 1.\n\nHow 1.\n"),
            ("mine@1.0", "All mine."),
            ("1.0.0", BASE_PROMPT_V1),
        ],
    )
    def test_from_a_folder(self, ask: str, prefix: str, parts: Path, capsysbinary: CaptureBytes) -> None:
        """`--parts` takes the base from a folder: the parts and texts of a preset, in order, as it joins them."""
        assert built(capsysbinary, "--parts", str(parts), "--base", ask, "--prefix-only") == prefix

    def test_layout(self, folder: Path, parts: Path, capsysbinary: CaptureBytes) -> None:
        """A base stands in the seed's layout: instruction files, appended text, the boundary and the project follow."""
        lay_out(folder, {"AGENTS.md": "Ours."})
        text = built(capsysbinary, "--parts", str(parts), "--base", "mine", "--append", "More.", "--no-git")
        files = f"\n\n## Instruction Files (session-once)\n\n[{folder}/AGENTS.md]\nOurs.\n"
        assert text.startswith(f"All mine.{files}\n\nMore.{DYNAMIC_CONTEXT_BOUNDARY}\n## Project\n- cwd: {folder}\n")

    @pytest.mark.usefixtures("folder")
    def test_no_parts(self, parts: Path, capsysbinary: CaptureBytes) -> None:
        """A preset without wording is an error: another base never takes its place."""
        lay_out(parts, {"mine/1.1/preset.toml": 'format = 1\nrows = [{ slot = "skills" }]\n'})
        assert main(["build", "--parts", str(parts), "--base", "mine"]) == 1
        message = b"deepprompt: mine@1.1 has no wording: none of its rows is a part or a text\n"
        assert capsysbinary.readouterr() == (b"", message)

    @pytest.mark.usefixtures("folder")
    def test_part_named_like_the_boundary(self, parts: Path, capsysbinary: CaptureBytes) -> None:
        """A part of a folder may not be named `boundary`: it would be taken for the boundary."""
        rows = 'format = 1\nrows = [{ part = "boundary" }]\n'
        lay_out(parts, {"mine/1.1/preset.toml": rows, "mine/1.1/boundary.md": "Know your limits."})
        assert main(["build", "--parts", str(parts), "--base", "mine", "--prefix-only"]) == 1
        said = capsysbinary.readouterr()
        assert said.out == b""
        assert b"boundary" in said.err

    @pytest.mark.usefixtures("folder")
    def test_fast_part_in_the_base(self, parts: Path, capsysbinary: CaptureBytes) -> None:
        """A preset that puts a fast part before a slow one is an error that names both."""
        rows = 'format = 1\nrows = [{ part = "all", pace = "turn" }, { text = "x", name = "more" }]\n'
        lay_out(parts, {"mine/1.1/preset.toml": rows, "mine/1.1/all.md": "All."})
        assert main(["build", "--parts", str(parts), "--base", "mine"]) == 1
        said = b"part 'all' (pace TURN) comes before part 'more' (pace RELEASE); put slow parts first"
        assert said in capsysbinary.readouterr().err

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"Mine.", "Mine."),
            (b"Mine.\n\n", "Mine.\n\n"),
            (b" ", " "),
            (b"\xef\xbb\xbfMine.\r\nYours.\rOurs.\n", "Mine.\nYours.\nOurs.\n"),
            ("é漢🎉\u200b".encode(), "é漢🎉\u200b"),
        ],
    )
    def test_own_file(self, data: bytes, text: str, folder: Path, capsysbinary: CaptureBytes) -> None:
        """`--base-file` is the user's own base, taken as it is but for a BOM and line ends."""
        lay_out(folder, {"mine.md": data})
        whole = built(capsysbinary, "--base-file", "mine.md", "--no-project")
        assert whole == text + DYNAMIC_CONTEXT_BOUNDARY

    def test_own_file_with_a_boundary(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A boundary in an own base is neutralised, and said."""
        lay_out(folder, {"mine.md": f"a{DYNAMIC_CONTEXT_BOUNDARY}b"})
        assert main(["build", "--base-file", "mine.md", "--no-project"]) == 0
        said = capsysbinary.readouterr()
        assert said.out.decode() == f"a\n\\{DYNAMIC_CONTEXT_BOUNDARY[1:]}b{DYNAMIC_CONTEXT_BOUNDARY}"
        assert said.err == (b"deepprompt: neutralised: base at 2: look-alike of the dynamic context boundary\n")

    def test_own_file_too_large(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """An own base beyond all bounds is an error, not a prompt cut short."""
        (folder / "mine.md").touch()
        os.truncate(folder / "mine.md", (1 << 26) + 1)
        assert main(["build", "--base-file", "mine.md"]) == 1
        assert capsysbinary.readouterr() == (b"", b"deepprompt: mine.md: larger than 67108864 bytes\n")

    @pytest.mark.parametrize("options", [(), ("--prefix-only",), ("--no-project",), ("--no-git",)])
    def test_custom_file(self, options: tuple[str, ...], folder: Path, capsysbinary: CaptureBytes) -> None:
        """`--custom-file` is the whole prompt: nothing is added to it and nothing in it is changed."""
        text = f"Custom{DYNAMIC_CONTEXT_BOUNDARY}\u202e é\n\n"
        lay_out(folder, {"mine.md": text, "AGENTS.md": "Not me."})
        assert built(capsysbinary, "--custom-file", "mine.md", *options) == text


class TestAppend:
    """The user's own text at the end of the static prefix."""

    @pytest.mark.parametrize(
        ("options", "tail"),
        [
            (("--append", "One."), "\n\nOne."),
            (("--append", "One.", "--append", "Two."), "\n\nOne.\n\nTwo."),
            (("--append-file", "a.md"), "\n\nFile a.\n"),
            (
                ("--append-file", "a.md", "--append", "One.", "--append-file", "b.md"),
                "\n\nOne.\n\nFile a.\n\n\nFile b.",
            ),
            (("--append", ""), ""),
            (("--append=--no-git",), "\n\n--no-git"),
        ],
    )
    def test_after_everything_static(
        self, options: tuple[str, ...], tail: str, folder: Path, capsysbinary: CaptureBytes
    ) -> None:
        """It stands after instructions and skills, an empty line before each, files after the texts."""
        lay_out(folder, {"a.md": b"\xef\xbb\xbfFile a.\r\n", "b.md": "File b.", "AGENTS.md": "Ours."})
        prefix = built(capsysbinary, "--prefix-only", *options)
        assert prefix == PREFIX + instructions((f"{folder}/AGENTS.md", "Ours.")) + tail

    @pytest.mark.usefixtures("folder")
    def test_boundary(self, capsysbinary: CaptureBytes) -> None:
        """A boundary in it is neutralised, and said."""
        assert main(["build", "--append", DYNAMIC_CONTEXT_BOUNDARY, "--no-project"]) == 0
        said = capsysbinary.readouterr()
        assert said.out.count(DYNAMIC_CONTEXT_BOUNDARY.encode()) == 1
        assert said.err == b"deepprompt: neutralised: append at 1: look-alike of the dynamic context boundary\n"

    @pytest.mark.usefixtures("folder")
    def test_not_utf8(self, capsysbinary: CaptureBytes) -> None:
        """Bytes of an argument that are not UTF-8 become U+FFFD, and that is said."""
        assert main(["build", "--append", os.fsdecode(b"caf\xe9"), "--prefix-only"]) == 0
        said = capsysbinary.readouterr()
        assert said.out.endswith("\n\ncaf\ufffd".encode())
        assert said.err == b"deepprompt: replaced: append at 3: bytes that are not UTF-8, by U+FFFD\n"


CUT = (
    "longer than the 4000 bytes there is room for; load more of it with --instructions agents or "
    "--instructions-limit BYTES"
)


class TestNotes:
    """What was skipped, refused or cut is said on standard error."""

    @pytest.fixture
    def noted(self, folder: Path) -> Path:
        """Put an instruction file into the current folder that is too long."""
        return lay_out(folder, {"AGENTS.md": "x" * 5_000})

    def test_said(self, noted: Path, capsysbinary: CaptureBytes) -> None:
        """A cut is a line on standard error, and the prompt goes to standard output alone."""
        assert main(["build", "--prefix-only"]) == 0
        said = capsysbinary.readouterr()
        assert said.out.endswith(b"x\n... [truncated]\n</instructions>")
        assert said.err == f"deepprompt: cut: {noted}/AGENTS.md: {CUT}\n".encode()

    @pytest.mark.usefixtures("noted")
    def test_quiet(self, capsysbinary: CaptureBytes) -> None:
        """`--quiet` says nothing."""
        built(capsysbinary, "--quiet")

    def test_json(self, noted: Path, capsysbinary: CaptureBytes) -> None:
        """With `--json` they are in the report instead."""
        assert report(capsysbinary)["notes"] == [
            {
                "kind": "cut",
                "source": f"{noted}/AGENTS.md",
                "detail": CUT,
                "offset": None,
                "count": 1,
            }
        ]

    @pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are UTF-8 here")
    @pytest.mark.parametrize("name", [b"esc\x1b[2J", b"over\rwritten", b"caf\xe9", b"two\nlines"])
    def test_hostile_names(self, name: bytes, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A name in a repository can neither steer the terminal nor start a line of its own."""
        skill = os.path.join(os.fsencode(folder), b"skills", name)
        os.makedirs(skill)
        os.symlink("/etc/passwd", os.path.join(skill, b"SKILL.md"))
        assert main(["build"]) == 0
        said = capsysbinary.readouterr().err
        assert said.count(b"\n") == len(re.findall(rb"^deepprompt: ", said, re.MULTILINE)) >= 1
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", said)
        said.decode()

    @pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are UTF-8 here")
    def test_hostile_names_in_json(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A name in a repository that is not UTF-8 does not keep the report from being written."""
        skill = os.path.join(os.fsencode(folder), b"skills", b"caf\xe9")
        os.makedirs(skill)
        os.symlink("/etc/passwd", os.path.join(skill, b"SKILL.md"))
        assert [note["kind"] for note in report(capsysbinary)["notes"]][-1] == "refused"


class TestJson:
    """The report: text, parts, hashes, sizes and notes."""

    @pytest.mark.usefixtures("repository")
    def test_whole(self, capsysbinary: CaptureBytes) -> None:
        """Text, sizes and hashes are those of the prompt that `build` prints."""
        text = built(capsysbinary)
        found = report(capsysbinary)
        parts = found.pop("parts")
        assert [row["part"] for row in found.pop("conditions")][:5] == [
            "identity",
            "tools",
            "verify",
            "style",
            "security",
        ]
        assert found == {
            "text": text,
            "sha256": sha256(text.encode()).hexdigest(),
            "prefix_sha256": sha256(PREFIX.encode()).hexdigest(),
            "bytes": len(text.encode()),
            "prefix_bytes": len(PREFIX.encode()),
            "tokens": estimate_tokens(text),
            "prefix_tokens": estimate_tokens(PREFIX),
            "tools": [],
            "notes": [],
        }
        assert sum(part["bytes"] for part in parts) == found["bytes"]

    def test_parts(self, repository: Path, capsysbinary: CaptureBytes) -> None:
        """Each part has its name, pace, origin, bytes, tokens and hash, in the order of the text."""
        lay_out(repository, {"AGENTS.md": "Ours.", "skills/a/SKILL.md": "# Alpha\n"})
        parts = report(capsysbinary, "--append", "More.")["parts"]
        assert [(part["name"], part["pace"], part["origin"]) for part in parts] == [
            ("identity", "release", "deepprompt:base/1.1.0/identity.md"),
            ("tools", "release", "deepprompt:base/1.1.0/tools.md"),
            ("verify", "release", "deepprompt:base/1.1.0/verify.md"),
            ("style", "release", "deepprompt:base/1.1.0/style.md"),
            ("security", "release", "deepprompt:deepseek/1.2.0/security.md"),
            ("skills", "project", "skills"),
            ("instructions", "project", "deepprompt"),
            (f"instructions {repository}/AGENTS.md", "project", f"file:{repository}/AGENTS.md"),
            ("append", "project", "argument:append"),
            ("boundary", "turn", "deepprompt"),
            ("project", "turn", "project"),
            ("git status", "turn", "project"),
            ("git diff", "turn", "project"),
        ]
        data = b"\n\nMore."
        assert {key: parts[8][key] for key in ("bytes", "tokens", "sha256")} == {
            "bytes": len(data),
            "tokens": len(data) // 4,
            "sha256": sha256(data).hexdigest(),
        }

    @pytest.mark.usefixtures("repository")
    def test_prefix_only(self, capsysbinary: CaptureBytes) -> None:
        """With `--prefix-only` the text is the prefix, which has the prefix hash."""
        found = report(capsysbinary, "--prefix-only")
        assert found["text"] == PREFIX
        assert found["prefix_sha256"] == sha256(found["text"].encode()).hexdigest()

    def test_is_readable(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The report is indented, in UTF-8 and not in escapes, and ends with a newline."""
        lay_out(folder, {"AGENTS.md": "é漢🎉"})
        text = built(capsysbinary, "--json")
        assert text.startswith('{\n  "text": "')
        assert text.endswith("\n}\n")
        assert "é漢🎉" in text

    def test_custom_file(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A custom prompt is one part, whose origin is its file; all of it is prefix."""
        lay_out(folder, {"mine.md": "Custom."})
        found = report(capsysbinary, "--custom-file", "mine.md")
        assert [(part["name"], part["pace"], part["origin"]) for part in found["parts"]] == [
            ("custom", "release", "file:mine.md")
        ]
        assert found["sha256"] == found["prefix_sha256"] == sha256(b"Custom.").hexdigest()

    @pytest.mark.parametrize("option", ["--base-file", "--append-file"])
    def test_origin_of_own_files(self, option: str, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The origin of a part that came from the user's own file names the file."""
        lay_out(folder, {"mine.md": "Mine."})
        parts = report(capsysbinary, option, "mine.md")["parts"]
        name = option.removeprefix("--").removesuffix("-file")
        assert ["mine.md" in part["origin"] for part in parts if part["name"] == name] == [True]

    @pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are UTF-8 here")
    def test_custom_file_not_utf8_by_name(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A custom prompt in a file whose name is not UTF-8 is reported like any other."""
        name = os.fsdecode(b"caf\xe9.md")
        lay_out(folder, {name: "Custom."})
        assert report(capsysbinary, "--custom-file", name)["text"] == "Custom."

    @pytest.mark.usefixtures("folder")
    def test_out(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """With `--out` the report goes into the file."""
        assert built(capsysbinary, "--json", "--out", "report.json") == ""
        assert json.loads((folder / "report.json").read_bytes())["text"].startswith(PREFIX)


class TestOut:
    """`--out FILE`: all at once, and nothing left beside it."""

    def test_new_file(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The file gets exactly the bytes that would be printed, and nothing is printed."""
        text = built(capsysbinary, "--no-project")
        assert built(capsysbinary, "--no-project", "--out", "prompt.txt") == ""
        assert (folder / "prompt.txt").read_bytes() == text.encode()
        assert os.listdir(folder) == ["prompt.txt"]

    def test_replaces(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """An old file is replaced, not written into: whoever has it open still reads the old text."""
        lay_out(folder, {"prompt.txt": "old" * 100_000})
        with open(folder / "prompt.txt", "rb") as old:
            built(capsysbinary, "--no-project", "--out", "prompt.txt")
            assert old.read() == b"old" * 100_000
        assert (folder / "prompt.txt").read_text() == PREFIX + DYNAMIC_CONTEXT_BOUNDARY
        assert os.listdir(folder) == ["prompt.txt"]

    def test_failure_keeps_the_old(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """When the prompt cannot be built, the old file stays as it is."""
        lay_out(folder, {"prompt.txt": "old"})
        assert main(["build", "--base", "9.9", "--out", "prompt.txt"]) == 1
        assert capsysbinary.readouterr().out == b""
        assert {path.name: path.read_text() for path in folder.iterdir()} == {"prompt.txt": "old"}

    def test_folder(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A folder is not replaced, and nothing is left beside it."""
        lay_out(folder, {"target/file": ""})
        assert main(["build", "--out", "target"]) == 1
        assert capsysbinary.readouterr() == (b"", b"deepprompt: target: Is a directory\n")
        assert os.listdir(folder) == ["target"]

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
    def test_unwritable(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A folder that may not be written to is an error that names the file."""
        (folder / "locked").mkdir(mode=0o500)
        assert main(["build", "--out", "locked/prompt.txt"]) == 1
        assert capsysbinary.readouterr() == (b"", b"deepprompt: locked/prompt.txt: Permission denied\n")

    def test_long_name(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The longest name that a file can have is not too long."""
        name = "n" * 255
        built(capsysbinary, "--out", name)
        assert os.listdir(folder) == [name]

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
    def test_keeps_permissions(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """An old file that only its owner may read is still so when it is replaced."""
        lay_out(folder, {"prompt.txt": "old"})
        (folder / "prompt.txt").chmod(0o600)
        built(capsysbinary, "--out", "prompt.txt")
        assert stat.S_IMODE((folder / "prompt.txt").stat().st_mode) == 0o600

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
    def test_no_regular_file(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """What is no regular file, such as a FIFO or /dev/null, is written into or refused, never replaced."""
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        threading.Thread(target=fifo.read_bytes, daemon=True).start()
        main(["build", "--no-project", "--out", "fifo"])
        capsysbinary.readouterr()
        assert stat.S_ISFIFO(fifo.stat().st_mode)

    @pytest.mark.skipif(os.name != "posix", reason="needs links")
    def test_link(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A link is written through: it stays a link, and the file that it leads to gets the text."""
        lay_out(folder, {"real.txt": "old"})
        (folder / "link.txt").symlink_to("real.txt")
        built(capsysbinary, "--no-project", "--out", "link.txt")
        assert (folder / "link.txt").is_symlink()
        assert (folder / "real.txt").read_text() == PREFIX + DYNAMIC_CONTEXT_BOUNDARY

    def test_file_of_another(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A file of somebody else's that has the name of our temporary one is not deleted."""
        other = folder / f"prompt.txt.{os.getpid()}.tmp"
        other.write_text("precious")
        main(["build", "--no-project", "--out", "prompt.txt"])
        capsysbinary.readouterr()
        assert other.read_text() == "precious"
