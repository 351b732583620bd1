"""F: files that are links, pipes, devices, folders, huge, half, swapped, or named like something that they are not."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deepprompt import (
    Note,
    PromptAssembler,
    SystemPromptBuilder,
    from_folder,
    load_claude_md,
    load_instruction_files,
    load_skills,
)
from deepprompt.errors import AssetError, PathEscapeError, PromptAssemblyError, SkillError
from deepprompt.sources import skills as skills_module
from deepprompt.sources.instructions import FILE_LIMIT, WHITELIST
from deepprompt.text.hygiene import TRUNCATION_MARKER
from tests.support.hostile.doors import SECRET, gathered, reported, run, unprivileged, within
from tests.support.hostile.properties import SCRATCH, assert_neutral, assert_sound
from tests.support.layout import lay_out

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links, FIFOs and sockets")

CLAUDE = "CLAUDE files belong to another agent and are never loaded"
NOT_REGULAR = "not a regular file"
OUT = "leads out of its root"
SKILL = "skills/x/SKILL.md"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """Make a project beside a folder with secrets, of every name that is looked for."""
    secrets = dict.fromkeys(("secret", "CLAUDE.md", "x/SKILL.md", *WHITELIST), SECRET)
    lay_out(tmp_path / "outside", secrets)
    lay_out(tmp_path / "cwd", {"docs/x.md": "inside", "docs/SKILL.md": "# inside\n"})
    return tmp_path / "cwd"


def link(path: Path, target: str | Path) -> None:
    """Make a link, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def kinds(notes: tuple[Note, ...], path: Path | str) -> list[tuple[str, str]]:
    """Return kind and detail of the notes about a path."""
    return [(note.kind, note.detail) for note in notes if note.source == str(path)]


def bind(path: Path) -> None:
    """Make a socket; its address has room for a short path only."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def claude_notes(cwd: Path) -> tuple[str, list[Note]]:
    """Return the CLAUDE.md files of a folder, and the notes on them."""
    text = load_claude_md(cwd, cwd)
    return text, [*text.notes]


def refused_everywhere(cwd: Path, make: Callable[[Path], object], detail: str, *, skill: bool = True) -> None:
    """Put something in the place of each file that is looked for: each loader refuses it, says so, and goes on."""
    for name in (*WHITELIST, SKILL, "CLAUDE.md", "t.txt", "inc", "parts/f/1.0/one.md"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        make(cwd / name)
    with within(5):
        notes = gathered(cwd).notes
        for name in WHITELIST:
            assert kinds(notes, cwd / name) == [("refused", detail)]
        assert kinds(notes, SKILL) == [("refused", detail)] * skill
        assert claude_notes(cwd) == ("", [Note("refused", str(cwd / "CLAUDE.md"), detail)])
        with pytest.raises(PromptAssemblyError, match=detail):
            PromptAssembler(str(cwd)).assemble("t", {})
        (cwd / "u.txt").write_text("$$include inc\n")
        with pytest.raises(PromptAssemblyError, match=detail):
            PromptAssembler(str(cwd)).assemble("u", {})
        with pytest.raises(AssetError, match=rf"{detail}|has no f/1\.0/one\.md"):
            from_folder(cwd / "parts").text("f", "1.0", "one")


@pytest.mark.parametrize("target", ["../outside/secret", "{root}/outside/secret", "docs/../../outside/secret"])
def test_f01_link_to_a_secret(cwd: Path, target: str) -> None:
    """A link out of the project is refused by every loader, and reported."""
    place = target.format(root=cwd.parent)
    refused_everywhere(cwd, lambda path: path.symlink_to(os.path.join(cwd, place)), OUT)
    assert load_claude_md(cwd) == ""


def test_f01_link_to_a_link_to_a_secret(cwd: Path) -> None:
    """The second link may not leave the project either, nor a folder on the way."""
    link(cwd / "docs/hop", "../../outside")
    link(cwd / "AGENTS.md", "docs/hop/secret")
    link(cwd / "DEEPSEEK.md", "docs/y.md")
    link(cwd / "docs/y.md", cwd.parent / "outside/secret")
    notes = gathered(cwd).notes
    assert kinds(notes, cwd / "AGENTS.md") == kinds(notes, cwd / "DEEPSEEK.md") == [("refused", OUT)]


def test_f01_through_the_command(cwd: Path) -> None:
    """The command prints a prompt without the secret, and says which file was refused."""
    link(cwd / "AGENTS.md", cwd.parent / "outside/secret")
    (note,) = reported(cwd)["notes"]
    assert (note["kind"], note["source"], note["detail"]) == ("refused", str(cwd / "AGENTS.md"), OUT)


@pytest.mark.parametrize("name", [".deepseek", "skills", ".claude", ".agents", ".agents/skills"])
def test_f02_linked_folder_out_of_the_project(cwd: Path, name: str) -> None:
    """A folder that is a link to somewhere else is not entered."""
    lay_out(cwd.parent / "outside", {"skills/x/SKILL.md": f"# {SECRET}"})
    link(cwd / name, cwd.parent / "outside")
    prompt = gathered(cwd)
    assert prompt.notes
    assert claude_notes(cwd)[0] == ""


def test_f02_linked_to_a_folder_of_the_system(cwd: Path) -> None:
    """So is a link to /etc, whatever is there."""
    link(cwd / ".deepseek", "/etc")
    assert kinds(gathered(cwd).notes, cwd / ".deepseek/instructions.md") == [("refused", OUT)]


def test_f03_link_inside_the_project(cwd: Path) -> None:
    """A link that stays inside is followed to its file; a linked folder holds no skills."""
    link(cwd / "AGENTS.md", "docs/x.md")
    link(cwd / ".deepseek", "docs")
    (cwd / "docs/instructions.md").write_text("inside too")
    link(cwd / "skills/a/SKILL.md", "../../docs/SKILL.md")
    link(cwd / "skills/b", "../docs")
    prompt = gathered(cwd)
    assert [part.text.split("\n")[2] for part in prompt.parts if part.origin.startswith("file:")] == [
        "inside",
        "inside too",
    ]
    assert "inside |  | direct" in prompt.text
    assert kinds(prompt.notes, "skills/b") == [("skipped", "a link; linked folders are not searched")]


@pytest.mark.parametrize(
    "links",
    [
        {"AGENTS.md": "AGENTS.md"},
        {"AGENTS.md": "a", "a": "b", "b": "AGENTS.md"},
        {"AGENTS.md": "d/x", "d": "e", "e": "d"},
        {"AGENTS.md": "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/AGENTS.md", "d": "."},
    ],
    ids=["self", "three", "folders", "here"],
)
def test_f04_loop_of_links(cwd: Path, links: dict[str, str]) -> None:
    """A loop ends in a refusal, not in waiting."""
    for name, target in links.items():
        link(cwd / name, target)
    link(cwd / ".deepseek", ".deepseek")
    link(cwd / "skills/a/SKILL.md", "SKILL.md")
    with within(2):
        notes = gathered(cwd).notes
    assert kinds(notes, cwd / "AGENTS.md") == [("refused", "too many links")]
    assert kinds(notes, "skills/a/SKILL.md") == [("refused", "too many links")]


@pytest.mark.parametrize(
    "target", ["/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/environ", "/proc/self/fd/0", "/proc/kmsg"]
)
def test_f06_link_to_a_device(cwd: Path, target: str) -> None:
    """A link to a device or to what only looks like a file is refused without opening it."""
    refused_everywhere(cwd, lambda path: path.symlink_to(target), OUT)


def test_f06_root_of_devices() -> None:
    """Where the root itself is a folder of such things, they are no files, or give no more than they promise."""
    assert load_instruction_files("/dev") == []
    with pytest.raises(PromptAssemblyError, match="environ is empty"):
        PromptAssembler("/proc/self")._include("environ", "t.txt", 1)


def test_f07_hard_link(cwd: Path) -> None:
    """A file with a second name, maybe outside, is loaded with a warning: nobody can tell the two apart."""
    (cwd / "docs/twice").write_text("twice")
    os.link(cwd / "docs/twice", cwd / "AGENTS.md")
    os.link(cwd / "docs/twice", cwd / "CLAUDE.md")
    warning = ("kept", "a hard link: the same file has another name, maybe outside")
    assert kinds(gathered(cwd).notes, cwd / "AGENTS.md") == [warning]
    text, notes = claude_notes(cwd)
    assert (text, kinds(tuple(notes), cwd / "CLAUDE.md")) == ("twice", [warning])


# Swaps a file with a link to a secret, and a folder with a link to a folder of secrets, as fast as it can.
SWAPPER = """
import os, sys, time
root, outside, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
os.chdir(root)
end = time.monotonic() + seconds
swaps = 0
print("ready", flush=True)
while time.monotonic() < end:
    os.symlink(outside + "/secret", "new")
    os.replace("new", "AGENTS.md")
    with open("new", "w") as file:
        file.write("inside")
    os.replace("new", "AGENTS.md")
    os.rename(".deepseek", "parked")
    os.symlink(outside, ".deepseek")
    os.unlink(".deepseek")
    os.rename("parked", ".deepseek")
    os.symlink(outside + "/x/SKILL.md", "new")
    os.replace("new", "skills/x/SKILL.md")
    with open("new", "w") as file:
        file.write("# inside")
    os.replace("new", "skills/x/SKILL.md")
    swaps += 3
print(swaps)
"""


@pytest.mark.slow
def test_f08_swapped_while_it_is_read(cwd: Path) -> None:
    """However fast another process swaps files and links, and folders and links, no byte of outside is read."""
    lay_out(cwd, {"AGENTS.md": "inside", ".deepseek/instructions.md": "inside", SKILL: "# inside"})
    arguments = [sys.executable, "-c", SWAPPER, str(cwd), str(cwd.parent / "outside"), "1"]
    seen: set[str] = set()
    loads = 0
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == "ready\n"
        while swapper.poll() is None:
            files, store = load_instruction_files(cwd), load_skills(cwd)
            seen |= {file.content for file in files} | set(store.names())
            for name in store.names():
                try:
                    seen.add(store.body(name))
                except SkillError:
                    continue
            loads += 1
        swaps = int(swapper.stdout.read())
    assert seen <= {"inside", "# inside"}
    assert "inside" in seen
    assert loads > 20
    assert swaps > 200


@pytest.mark.parametrize("target", ["CLAUDE.md", "docs/../CLAUDE.md", ".claude/notes.md", "hop.md"])
def test_f09_link_to_claude_md(cwd: Path, target: str) -> None:
    """A link to another agent's file is blocked with the reason, however it leads there."""
    lay_out(cwd, {"CLAUDE.md": SECRET, ".claude/notes.md": SECRET})
    link(cwd / "hop.md", "CLAUDE.md")
    link(cwd / "AGENTS.md", target)
    link(cwd / SKILL, "../../CLAUDE.md")
    notes = gathered(cwd).notes
    assert kinds(notes, cwd / "AGENTS.md") == kinds(notes, SKILL) == [("refused", CLAUDE)]


@pytest.mark.parametrize(
    "name",
    [
        "claude.MD",
        "Claude.md",
        "CLAUDE.md.",
        "CLAUDE.local.md",
        "ＣＬＡＵＤＥ.md",
        "cla\u200bude.md",
        "claude.md::$DATA",
    ],
)
def test_f10_claude_md_in_another_spelling(cwd: Path, name: str) -> None:
    """No spelling of the name is loaded, and a link to any is blocked."""
    (cwd / name).write_text(SECRET)
    assert gathered(cwd).notes == ()
    link(cwd / "AGENTS.md", name)
    assert kinds(gathered(cwd).notes, cwd / "AGENTS.md") == [("refused", CLAUDE)]


def test_f11_hard_link_to_claude_md(cwd: Path) -> None:
    """A file that is both is loaded under the name that was asked for, with the warning about hard links."""
    (cwd / "CLAUDE.md").write_text("for both")
    os.link(cwd / "CLAUDE.md", cwd / "AGENTS.md")
    prompt = gathered(cwd)
    assert "for both" in prompt.text
    assert [kind for kind, _ in kinds(prompt.notes, cwd / "AGENTS.md")] == ["kept"]


def test_f12_claude_md_beside_a_skill(cwd: Path) -> None:
    """A CLAUDE.md in a skill's folder is not read, and a skill's folder of that name is refused."""
    lay_out(cwd, {SKILL: "# x\nbody", "skills/x/CLAUDE.md": SECRET, "CLAUDE.md": SECRET})
    lay_out(cwd, {".claude/skills/y/SKILL.md": "# y", "skills/claude/SKILL.md": SECRET})
    prompt = gathered(cwd)
    assert load_skills(cwd).names() == ["x", "y"]
    assert load_skills(cwd).body("x") == "# x\nbody"
    assert kinds(prompt.notes, "skills/claude/SKILL.md") == [("refused", CLAUDE)]


@pytest.mark.parametrize(
    "name",
    ["ＡＧＥＮＴＳ.md", "АGENTS.md", "AGENTS\u200b.md", "AGENTS.md\u200b", "AGENTS.md.", "AGENTS.md ", "DEEPSЕEK.md",
     ".deepsееk/instructions.md", "AGENTS.mԁ", "A\u0301GENTS.md"],
)  # fmt: skip
def test_f14_names_that_look_the_same(cwd: Path, name: str) -> None:
    """What looks like a whitelisted name and is another is not loaded."""
    lay_out(cwd, {name: SECRET})
    prompt = gathered(cwd)
    assert prompt.notes == ()
    assert "Instruction Files" not in prompt.text


def test_f15_composed_and_decomposed_names(cwd: Path) -> None:
    """Two spellings of one name are two skills, in one order, whichever was made first."""
    names = ["caf\u00e9", "cafe\u0301"]
    texts = set()
    for turn, order in enumerate((names, names[::-1])):
        root = cwd / str(turn)
        for name in order:
            lay_out(root, {f"skills/{name}/SKILL.md": "no heading"})
        if len(os.listdir(root / "skills")) == 1:
            pytest.skip("this file system takes both spellings for one name")
        assert load_skills(root).names() == sorted(names)
        texts.add(gathered(root).text)
    assert len(texts) == 1


def test_f16_two_cases_of_a_name(cwd: Path) -> None:
    """Of AGENTS.md and agents.md the first is loaded, whichever was made first."""
    for turn, order in enumerate((["AGENTS.md", "agents.md"], ["agents.md", "AGENTS.md"])):
        root = cwd / str(turn)
        for name in order:
            lay_out(root, {name: name})
        if len(os.listdir(root)) == 1:
            pytest.skip("this file system does not tell upper from lower case")
        assert [file.content for file in load_instruction_files(root)] == ["AGENTS.md"]


def test_f17_fifo(cwd: Path) -> None:
    """A FIFO in the place of any file is refused at once: nobody will ever write to it."""
    refused_everywhere(cwd, os.mkfifo, NOT_REGULAR)


def test_f17_fifo_in_place_of_a_folder(cwd: Path) -> None:
    """A FIFO where a folder should be is no folder."""
    for name in (".deepseek", "skills", ".claude"):
        os.mkfifo(cwd / name)
    with within(2):
        assert gathered(cwd).notes == ()
        assert load_claude_md(cwd) == ""


def test_f18_socket(cwd: Path) -> None:
    """A socket is no file."""
    refused_everywhere(cwd, bind, NOT_REGULAR)


def test_f19_folder(cwd: Path) -> None:
    """A folder with the name of a file is no file, whatever it holds; one called SKILL.md is a folder among others."""
    refused_everywhere(cwd, lambda path: lay_out(path, {"AGENTS.md": SECRET}), NOT_REGULAR, skill=False)
    lay_out(cwd, {f"{SKILL}/y/SKILL.md": "# y"})
    assert load_skills(cwd).names() == ["y"]


def test_f20_files_above_the_project(cwd: Path) -> None:
    """What lies above the project is not read, unless a caller says that its root is there."""
    lay_out(cwd.parent, {"AGENTS.md": SECRET, "skills/y/SKILL.md": SECRET, "CLAUDE.md": SECRET})
    below = cwd / "docs"
    assert gathered(below).notes == ()
    assert load_claude_md(below) == ""
    assert load_claude_md(below, cwd) == ""
    with pytest.raises(PathEscapeError):
        PromptAssembler(str(below)).assemble("../AGENTS", {})


def sparse(path: Path) -> None:
    """Make a file of 50 GiB that takes no room."""
    path.touch()
    os.truncate(path, 50 << 30)


def test_f21_huge_file(cwd: Path) -> None:
    """Of 50 GiB the first bytes are taken where a file may be cut, and none where it may not."""
    lay_out(cwd, {"AGENTS.md": "a\0" * 4_000, SKILL: "", "CLAUDE.md": "", "t.txt": "", "parts/f/1.0/one.md": ""})
    lay_out(cwd, {"DEEPSEEK.md": "aaa\0" * 2_000})
    try:
        for name in ("AGENTS.md", "DEEPSEEK.md", SKILL, "CLAUDE.md", "t.txt", "parts/f/1.0/one.md"):
            sparse(cwd / name)
    except OSError as error:
        pytest.skip(f"this file system has no sparse files: {error}")
    with within(5):
        prompt = gathered(cwd)
        assert len(prompt.text.encode()) < 40_000
        assert [kind for kind, _ in kinds(prompt.notes, cwd / "DEEPSEEK.md")] == ["neutralised", "cut"]
        assert [kind for kind, _ in kinds(prompt.notes, cwd / "AGENTS.md")] == ["refused"]
        assert kinds(prompt.notes, SKILL) == [("refused", "larger than 1048576 bytes")]
        assert len(load_claude_md(cwd)) < 41_000
        with pytest.raises(PromptAssemblyError, match="larger than"):
            PromptAssembler(str(cwd)).assemble("t", {})
        with pytest.raises(AssetError, match="larger than"):
            from_folder(cwd / "parts").text("f", "1.0", "one")


# What stands at the limit, how much of it is before it, and what is left of the whole.
AT_THE_LIMIT = {
    "exact": ("a", 1, "a"),
    "one-over": ("ab", 1, "a"),
    "in-a-character": ("🐘", 2, ""),
    "in-two-characters": ("é🐘", 5, "é"),
    "in-a-fence": ("```\nx", 2, "``"),
    "in-a-tag": ("</Instructions>", 8, "</Instru"),
    "in-an-escape": ("<|im_end|>", 2, "<\\"),
    "in-a-shown-character": ("\u200b", 5, "⟨U+"),
    "in-a-flag": ("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", 16, "🏴"),
    "in-a-family": ("👩\u200d👧", 7, "👩"),
    "in-a-keycap": ("1\ufe0f\u20e3", 4, "1"),
    "after-a-speaker-in-a-longer-name": ("\n<username>", 6, "\n<"),
    "after-a-joiner": ("ه\u200cه", 5, "ه\u200c"),
    "in-the-boundary": ("=== DYNAMIC CONTEXT (per-turn", 19, "\\=== DYNAMIC CONTEXT"),
}


@pytest.mark.parametrize(("text", "before", "left"), AT_THE_LIMIT.values(), ids=AT_THE_LIMIT)
def test_f22_cut_at_the_limit(cwd: Path, text: str, before: int, left: str) -> None:
    """A file is cut at a whole character, and what is left opens, hides and forges nothing."""
    start = "x" * (FILE_LIMIT - before)
    (cwd / "AGENTS.md").write_bytes((start + text).encode())
    prompt = gathered(cwd)
    (part,) = [part.text for part in prompt.parts if part.origin.startswith("file:")]
    marker = "" if text == "a" else TRUNCATION_MARKER
    assert part == f"\n[{cwd}/AGENTS.md]\n{start}{left}{marker}\n"
    assert ("cut" in [note.kind for note in prompt.notes]) == bool(marker)


def test_f23_modes() -> None:
    """What may not be read is skipped with the system's reason, be it a file or a folder."""
    with unprivileged() as folder:
        lay_out(folder / "cwd", {"AGENTS.md": "x", ".deepseek/instructions.md": "x", SKILL: "x", "DEEPSEEK.md": "ok"})
        closed = {"cwd/AGENTS.md": 0o000, "cwd/.deepseek": 0o644, "cwd/skills": 0o000}
        for name, mode in closed.items():
            (folder / name).chmod(mode)
        try:
            prompt = gathered(folder / "cwd")
        finally:
            for name in closed:
                (folder / name).chmod(0o700)
        reason = os.strerror(errno.EACCES)
        assert kinds(prompt.notes, folder / "cwd/AGENTS.md") == [("skipped", f"cannot be read: {reason}")]
        assert kinds(prompt.notes, folder / "cwd/.deepseek/instructions.md") == [
            ("skipped", f"cannot be read: {reason}")
        ]
        assert kinds(prompt.notes, "skills") == [("skipped", f"cannot be listed: {reason}")]
        assert "\nok\n" in prompt.text


def test_f23_project_that_may_not_be_entered() -> None:
    """A project whose folder is closed gives a prompt without its files, and a note for each that may be there."""
    with unprivileged() as folder:
        lay_out(folder / "cwd", {"AGENTS.md": "x"})
        (folder / "cwd").chmod(0o644)
        try:
            prompt = gathered(folder / "cwd")
            text, notes = claude_notes(folder / "cwd")
        finally:
            (folder / "cwd").chmod(0o700)
    assert len(prompt.notes) == len(WHITELIST) + 5
    assert {note.kind for note in (*prompt.notes, *notes)} == {"skipped"}
    assert text == ""


@pytest.mark.slow
def test_f24_file_that_grows_while_it_is_read(cwd: Path) -> None:
    """What is loaded of a file that somebody is writing is a beginning of it, within the limit."""
    path = cwd / "AGENTS.md"
    path.write_bytes(b"\xf0\x9f\x90\x98")
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            for number in itertools.count():
                file.write("🐘\r\n".encode()[: 1 + number % 6])
                if number % 100 == 0:
                    file.truncate(4)
                if stop.is_set():
                    return

    writer = threading.Thread(target=grow)
    writer.start()
    end = time.monotonic() + 0.5
    try:
        while time.monotonic() < end:
            (file,) = load_instruction_files(cwd)
            assert file.content.startswith("🐘")
            assert len(file.content.encode()) <= FILE_LIMIT + len(TRUNCATION_MARKER)
            assert_neutral(file.content)
    finally:
        stop.set()
        writer.join()


@pytest.fixture
def many(cwd: Path) -> Iterator[Path]:
    """A folder where thousands of others cost little: on a disk in memory, or in the project if there is none."""
    if SCRATCH is None or os.statvfs(SCRATCH).f_ffree < 50_000:
        yield cwd
        return
    folder = Path(SCRATCH) / f"deepprompt-{os.getpid()}"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.mark.slow
def test_f26_folders_without_end(many: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search ends after so many folders, says so, and finds the same skills every time."""
    if many == cwd:
        monkeypatch.setattr(skills_module, "MOST_FOLDERS", 200)
    lay_out(many, {"skills/a/SKILL.md": "# first"})
    os.mkdir(many / "skills/many")
    for number in range(skills_module.MOST_FOLDERS + 1):
        os.mkdir(f"{many}/skills/many/{number}")
    with within(20):
        first, second = load_skills(many), load_skills(many)
    assert first.names() == second.names() == ["first"]
    assert [note.kind for note in first.notes] == ["cut"]


def test_f26_many_skills(cwd: Path) -> None:
    """Hundreds of skills of one name are one skill, and a note for each that is left out."""
    for number in range(300):
        lay_out(cwd, {f"skills/s{number:03}/SKILL.md": f"---\nname: same\ndescription: {number}\n---\n"})
    prompt = gathered(cwd)
    assert prompt.text.count("\nsame | 0 | direct | ") == 1
    assert len(prompt.notes) == 299


def test_f27_deep_folders(cwd: Path) -> None:
    """A skill fifty levels down is not looked for; one eight levels down is found."""
    deep = "/".join(["d"] * 50)
    lay_out(cwd, {f"skills/{deep}/SKILL.md": "# deep", "skills/1/2/3/4/5/6/7/8/SKILL.md": "# eight"})
    lay_out(cwd, {"skills/1/2/3/4/5/6/7/x/9/SKILL.md": "# nine"})
    with within(2):
        assert load_skills(cwd).names() == ["eight"]


def test_f27_cycle_of_links(cwd: Path) -> None:
    """Folders that link to each other are passed over with a note, and looked at once."""
    lay_out(cwd, {"skills/a/b/SKILL.md": "# b"})
    link(cwd / "skills/a/up", "..")
    link(cwd / "skills/self", ".")
    link(cwd / "skills/around", "../.agents/skills")
    link(cwd / ".agents/skills", "../skills")
    with within(2):
        prompt = gathered(cwd)
    assert prompt.text.count("b |  | direct") == 1
    assert {note.detail for note in prompt.notes} == {"a link; linked folders are not searched", "a linked folder"}


_LAUGHS = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))])
BOMBS = {
    "aliases": f"name: x\n{_LAUGHS}\nallowed-tools: *a11\n",
    "alias-of-itself": "name: x\nallowed-tools: &a [*a, *a, b]\n",
    "merge-keys": "name: x\n<<: &a {<<: *a}\n",
    "brackets": f"name: x\nb: {'[' * 16_000}",
    "brackets-in-rows": f"name: x\nb: {'[[a],' * 3_000}",
    "braces": f"name: x\nb: {'{a: ' * 4_000}",
    "dashes": f"name: x\nb:\n{'- ' * 8_000}",
    "questions": f"name: x\n{'? ' * 8_000}",
    "deep-keys": "name: x\n" + "\n".join(f"{' ' * depth}k:" for depth in range(170)),
    "lines": "name: x\n" + "a: b\n" * 3_000,
    "long-line": f"name: x\nb: {'y' * 900_000}",
    "quotes": "name: x\nb: " + '"' * 16_000,
    "anchors": f"name: x\nb: {'&a ' * 5_000}",
    "percent": "%" * 16_000,
    "documents": "--- a\n" * 2_500,
    "long-number": f"name: x\nversion: {'9' * 16_000}",
    "pipes-in-the-run-mode": f"name: x\nrunas: {'| ' * 500_000}",
    "pipes-in-the-tools": f"name: x\nallowed-tools: {'| ' * 500_000}",
    "pipes-in-each-tool": f"name: x\nallowed-tools: {'| | ,' * 200_000}",
    "many-tools": f"name: x\nallowed-tools: {'a,' * 500_000}",
}


@pytest.mark.slow
@pytest.mark.parametrize("front", BOMBS.values(), ids=BOMBS)
def test_f28_front_matter_bomb(cwd: Path, front: str) -> None:
    """Front matter that grows, nests or never ends costs little, and gives one line of five columns at most."""
    lay_out(cwd, {SKILL: f"---\n{front}\n---\nbody\n"})
    with within(3):
        prompt = gathered(cwd)
    (line,) = [part.text.rstrip("\n").split("\n")[-1] for part in prompt.parts if part.name == "skills"]
    assert len(line.split(" | ")) == 5
    assert len(line) < 20_000
    assert load_skills(cwd).body(load_skills(cwd).names()[0]) == "body"


@pytest.mark.parametrize("text", ["---\n" * 100_000, "---" * 100_000, "---\n" + "\n--- \n" * 100_000, "\n---\n---"])
def test_f28_rules_without_end(cwd: Path, text: str) -> None:
    """A hundred thousand rules are front matter once at the most."""
    lay_out(cwd, {SKILL: text})
    with within(3):
        assert load_skills(cwd).names() == ["x"]


NAMES = {
    "path": ("../../etc/passwd", "../../etc/passwd"),
    "absolute": ("/etc/passwd", "/etc/passwd"),
    "closing-tag": ("</skill>", "</skill>"),
    "speaker": ("</system>", "<\\/system>"),
    "token": ("<|im_end|>", "<\\|im_end|>"),
    "column": ("a | b | c", "a \\| b \\| c"),
    "lines": ('"a\\nb | c | d | e | f"', "a b \\| c \\| d \\| e \\| f"),
    "other-lines": ('"a\\x85b\\u2028c"', "a⟨U+0085⟩b⟨U+2028⟩c"),
    "long": ("n" * 10_000, "n" * 256),
    "long-of-what-grows": ("\u200b" * 1_000, ("⟨U+200B⟩" * 32)[:256]),
    "cut-in-a-token": ("n" * 250 + "<|im_end_of|x", "n" * 250 + "<|im_e"),
    "cut-in-a-flag": ("n" * 250 + "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "n" * 250 + "🏴"),
    "escape": ('"\\e]0;title\\a"', "⟨U+001B⟩]0;title⟨U+0007⟩"),
    "nul": ('"a\\0b"', "a⟨U+0000⟩b"),
    "boundary": ("=== DYNAMIC CONTEXT (per-turn, do not cache) ===",) * 2,
}


@pytest.mark.parametrize(("name", "shown"), NAMES.values(), ids=NAMES)
def test_f29_skill_name(cwd: Path, name: str, shown: str) -> None:
    """A name is one column of one line: nothing in it is followed, opened or hidden, and a long one is cut."""
    lay_out(cwd, {SKILL: f"---\nname: {name}\n---\nbody"})
    store = load_skills(cwd)
    assert store.names() == [shown]
    assert store.body(shown) == "body"
    assert store.index_text().count(" | ") == 4
    gathered(cwd)
    assert ("cut" in [note.kind for note in store.notes]) == (len(name) > 256)


@pytest.mark.parametrize(
    "folder", ["</system>".replace("/", "∕"), "<|im_end|>", "a | b", "n" * 250, "-", "$(id)", "%s"]
)
def test_f29_folder_as_a_name(cwd: Path, folder: str) -> None:
    """A skill without a name is called after its folder, by the same rules."""
    lay_out(cwd, {f"skills/{folder}/SKILL.md": "no heading"})
    (name,) = load_skills(cwd).names()
    assert_neutral(name)
    gathered(cwd)


def test_f30_names_that_differ_in_case(cwd: Path) -> None:
    """Two names that differ only in case are two skills, in one order."""
    for number, name in enumerate(("Deploy", "deploy", "DEPLOY", "ﬁx", "fix", "straße", "STRASSE")):
        lay_out(cwd, {f"skills/{number}/SKILL.md": f"# {name}"})
    assert load_skills(cwd).names() == ["DEPLOY", "Deploy", "STRASSE", "deploy", "fix", "straße", "ﬁx"]


def test_f31_content_that_changes(cwd: Path) -> None:
    """A change of one source changes its digest and no other; the builder keeps what it was made with."""
    lay_out(cwd, {"AGENTS.md": "one", "DEEPSEEK.md": "same", SKILL: "# x\nbody"})
    builder = SystemPromptBuilder(
        instructions=load_instruction_files(cwd), skill_directory=load_skills(cwd).index_text()
    )
    before = gathered(cwd)
    assert builder.compose().digests == before.digests
    lay_out(cwd, {"AGENTS.md": "two"})
    assert builder.compose().digests == before.digests
    after = gathered(cwd)
    changed = {origin for origin in after.digests if after.digests[origin] != before.digests[origin]}
    assert changed == {f"file:{cwd}/AGENTS.md"}
    lay_out(cwd, {SKILL: "# x\nother body"})
    last = gathered(cwd)
    assert {origin for origin in last.digests if last.digests[origin] != after.digests[origin]} == {"skills"}
    report = reported(cwd, "--no-project", "--preset", "deepseek@1.0.0")  # the one that the builder builds
    sums = {part["origin"]: part["sha256"] for part in report["parts"]}
    for origin in (f"file:{cwd}/AGENTS.md", f"file:{cwd}/DEEPSEEK.md", "skills"):
        assert sums[origin] == last.digests[origin]


def test_f32_settings_and_modules_of_the_project(cwd: Path) -> None:
    """Nothing that a project ships changes how it is loaded, and none of its modules is imported."""
    plain = reported(cwd, fresh=True)
    mark = cwd.parent / "ran"
    module = f"open({str(mark)!r}, 'w').close()\n"
    names = ("sitecustomize", "usercustomize", "unicodedata", "json", "yaml", "re", "git", "deepprompt/__init__")
    settings = "file_limit = 1\nhome = '/'\nDEEPPROMPT_HOME=/\nlog = 'here'\n"
    lay_out(cwd, {f"{name}.py": module for name in names})
    lay_out(cwd, {".env": "HOME=/\nPATH=.\nSHELL=evil\n", "deepprompt.toml": settings, ".deepprompt": settings})
    lay_out(cwd, {"pyproject.toml": f"[tool.deepprompt]\n{settings}", ".deepseek/settings.json": '{"limit": 1}'})
    lay_out(cwd, {"setup.cfg": f"[deepprompt]\n{settings}", ".pth": f"import os; {module}"})
    assert reported(cwd, fresh=True)["text"] == plain["text"]
    assert not mark.exists()
    assert run("versions", cwd=cwd, fresh=True).returncode == 0
    assert not mark.exists()


def test_f32_environment_of_the_project(cwd: Path) -> None:
    """Variables that a shell may have taken from a project's .env move no path and no limit."""
    lay_out(cwd, {"AGENTS.md": "x" * 5_000})
    hostile = {"DEEPPROMPT_HOME": "/", "DEEPPROMPT_LIMIT": "9", "CODEX_HOME": "/", "COLUMNS": "1", "LANG": "xx_YY"}
    plain = run("build", "--home", "", "--no-project", cwd=cwd, fresh=True)
    assert run("build", "--home", "", "--no-project", cwd=cwd, env=hostile, fresh=True).stdout == plain.stdout


def test_sound_without_any_source(tmp_path: Path) -> None:
    """The laws hold for the prompt of an empty folder, so what breaks them is the input."""
    assert_sound(gathered(tmp_path))
