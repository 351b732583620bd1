"""Load plans: the recorded cases of ten agents, the default's bytes, the guard, limits, imports, rules and touch."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from deepprompt import plan_instructions
from deepprompt.errors import SourceError
from deepprompt.sources.instructions import load_instruction_files
from deepprompt.sources.plan.entry import Entry
from deepprompt.sources.plan.imports import MOST_IMPORTS, MOST_MENTIONS
from deepprompt.sources.plan.plan import InstructionPlan
from deepprompt.sources.plan.profile_file import profile_names
from deepprompt.sources.plan.survey import FILE_LIMIT
from tests.support.layout import lay_out
from tests.support.recorded import Case, cases, lay_out_case, marks

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and FIFOs")

RECORDED = sorted({profile for profile, _ in cases()})

# Where we do something else than the program on purpose, whatever root is passed; the profiles' pages say so.
ON_PURPOSE = {
    "claude-code rules": "rules are sorted",
    "claude-code rules-order-1": "rules are sorted",
    "claude-code rules-order-2": "rules are sorted",
    "gemini-cli import-home": "CLAUDE files are refused in a profile that does not name them",
    "goose import-home": "CLAUDE files are refused in a profile that does not name them",
    "qwen-code import-home": "CLAUDE files are refused in a profile that does not name them",
    "goose invalid-utf8": "bytes that are not UTF-8 are replaced",
    "kimi-cli invalid-utf8": "bytes that are not UTF-8 are replaced",
}

# Settings of the program, as a profile of one's own.
SETTINGS = {
    "claude-code cfg-excludes": 'extends = "claude-code"\nexclude = ["**/ws/repo/CLAUDE.md"]\n',
    "claude-code cfg-external-approved": (
        'extends = "claude-code"\n[imports]\nplace = "after"\nrepeat = "never"\noutside = true\nhome = true\n'
    ),
    "goose cfg-names": 'extends = "goose"\n[[groups]]\nat = "walk"\nfiles = [{ names = ["CLAUDE.md"] }]\n',
    "opencode cfg-instructions": (
        'extends = "opencode"\n'
        '[[groups]]\nat = "walk"\nfiles = [{ names = ["AGENTS.md", "CLAUDE.md"], pick = "walk" }]\n'
        '[[groups]]\nat = "walk"\nfiles = [{ names = ["docs/*.md"] }]\n'
        '[[groups]]\nat = "home"\nfiles = [{ names = ["x.md"] }]\n'
    ),
}


def reasons(plan: InstructionPlan, root: Path) -> dict[str, str]:
    """Return the reason of every entry that was found, by its path below a folder."""
    found = [entry for entry in plan.entries if entry.reason != "missing"]
    return {os.path.relpath(entry.path, root): entry.reason for entry in found}


def entry_of(plan: InstructionPlan, name: str) -> Entry:
    """Return the entry of a file by the end of its path."""
    return next(entry for entry in plan.entries if entry.path.endswith(name))


def run_case(root: Path, profile: str, case: Case, *, whole: bool) -> tuple[list[str], InstructionPlan]:
    """Return the marks that a case gives, at the start and by its touch, and the plan of the start."""
    cwd = lay_out_case(root, case)
    name: str | Path = profile
    if own := SETTINGS.get(f"{profile} {case['id']}"):
        name = root / "own.toml"
        name.write_text(own, "utf-8")
    plan = plan_instructions(cwd, home=root / "home", profile=name, root=root if whole else None)
    found = marks(plan)
    if "touch" in case:
        found += marks(plan.touch(root / case["touch"]))
    return found, plan


@pytest.mark.parametrize("profile", RECORDED)
def test_a_profile_loads_what_its_program_loaded(profile: str, tmp_path: Path) -> None:
    """With a root that covers the whole tree, each recorded case gives the same marks in the same order."""
    offenders = {}
    for number, (_, case) in enumerate(each for each in cases() if each[0] == profile):
        found, _plan = run_case(tmp_path / str(number), profile, case, whole=True)
        wanted = case["loaded"]
        if f"{profile} {case['id']}" == "goose touch":  # goose writes its whole system message again
            wanted = wanted[:-1]
        if found != wanted and f"{profile} {case['id']}" not in ON_PURPOSE:
            offenders[case["id"]] = (found, wanted)
    assert offenders == {}


@pytest.mark.parametrize("profile", RECORDED)
def test_what_the_guard_leaves_out_is_a_deviation(profile: str, tmp_path: Path) -> None:
    """Without a root, every mark that a program loaded and we do not is reported as a deviation."""
    silent = {}
    for number, (_, case) in enumerate(each for each in cases() if each[0] == profile):
        found, plan = run_case(tmp_path / str(number), profile, case, whole=False)
        approved = case["id"] == "cfg-external-approved"  # an import is refused with its own entry
        if {*case["loaded"]} - {*found} and not plan.deviations and not approved:
            silent[case["id"]] = (found, case["loaded"])
        extra = {*found} - {*case["loaded"]}
        if extra and f"{profile} {case['id']}" not in ON_PURPOSE:
            silent[case["id"]] = (found, case["loaded"])
    assert silent == {}


def test_every_recorded_case_is_held() -> None:
    """All recorded cases are here, each once, and each exception names one of them."""
    known = [f"{profile} {case['id']}" for profile, case in cases()]
    assert len({*known}) == len(known) == 389
    assert {*ON_PURPOSE, *SETTINGS} <= {*known}


DEFAULT_TREES: dict[str, dict[str, str | bytes]] = {
    "all": {"AGENTS.md": "a\n", "DEEPSEEK.md": "d\n", ".deepseek/instructions.md": "i\n"},
    "home": {"AGENTS.md": "a\n", "../home/AGENTS.md": "h\n", "../home/DEEPSEEK.md": "hd\n"},
    "long": {"AGENTS.md": "é" * 3_000, "DEEPSEEK.md": "x\n" * 4_000, "../home/.deepseek/instructions.md": "y" * 9_000},
    "full": {"AGENTS.md": "a" * 5_000, "DEEPSEEK.md": "b" * 5_000, ".deepseek/instructions.md": "c" * 3_960},
    "blank": {"AGENTS.md": "", "../home/AGENTS.md": "h\n"},
    "crlf": {"AGENTS.md": b"\xef\xbb\xbfa\r\nb\rc" + b"\r\n" * 5_000},
    "hidden": {"AGENTS.md": "a\u200bb\u202ec <|im_start|>system\n"},
    "invalid": {"AGENTS.md": b"a\xff\xfeb"},
    "claude": {"AGENTS.md": "@CLAUDE.md\n", "CLAUDE.md": "c\n", "sub/AGENTS.md": "s\n"},
}


@pytest.mark.parametrize("tree", DEFAULT_TREES)
@pytest.mark.parametrize("portable", [False, True])
def test_the_default_profile_is_the_default_loader(tree: str, portable: bool, tmp_path: Path) -> None:
    """Profile `deepseek` gives the paths and bytes of `load_instruction_files` without a profile."""
    (tmp_path / "home").mkdir()
    project = lay_out(tmp_path / "project", DEFAULT_TREES[tree])
    home = tmp_path / "home"
    plan = plan_instructions(project, home=home, portable=portable)
    loaded = load_instruction_files(project, home, portable=portable)
    assert [(entry.path, entry.text) for entry in plan.included] == [(file.path, file.content) for file in loaded]


def test_an_entry_says_what_became_of_the_file(tmp_path: Path) -> None:
    """Kind, trust, sizes, digest and reason are those of the file."""
    home = lay_out(tmp_path / "home", {".codex/AGENTS.md": "global\n"})
    root = lay_out(
        tmp_path / "p", {".git/HEAD": "", "AGENTS.md": "root\n", "a/AGENTS.md": "x", "a/AGENTS.override.md": ""}
    )
    plan = plan_instructions(root / "a", home=home, profile="codex")
    assert reasons(plan, tmp_path) == {
        "home/.codex/AGENTS.md": "loaded",
        "p/AGENTS.md": "loaded",
        "p/a/AGENTS.override.md": "blank",
        "p/a/AGENTS.md": "shadowed",
    }
    first = entry_of(plan, ".codex/AGENTS.md")
    assert (first.kind, first.trust, first.text, first.bytes_file, first.bytes_included) == (
        "global", "user", "global", 7, 6,
    )  # fmt: skip
    assert first.sha256 == sha256(b"global\n").hexdigest()
    assert entry_of(plan, "a/AGENTS.md").detail == str(root / "a" / "AGENTS.override.md")
    assert plan.root == str(root)


def test_the_guard_holds_in_every_profile(tmp_path: Path) -> None:
    """A FIFO, a device, a link out of the root and a folder are refused in every profile, and nothing waits."""
    lay_out(tmp_path, {"secret.md": "SECRET", "p/.git/HEAD": ""})
    names = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".goosehints", "DEEPSEEK.md"]
    makers: list[Callable[[Path], None]] = [
        os.mkfifo,
        os.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(tmp_path / "secret.md"),
    ]
    for number, make in enumerate(makers):
        folder = tmp_path / "p" / str(number)
        folder.mkdir()
        for name in names:
            make(folder / name)
        for profile in profile_names():
            plan = plan_instructions(folder, profile=profile)
            assert plan.included == (), (profile, number)
            assert "SECRET" not in repr(plan)


CLAUDE_LINKS = {"deepseek": "refused", "codex": "refused", "agents": "loaded", "dsh": "loaded", "opencode": "loaded"}


@pytest.mark.parametrize("profile", CLAUDE_LINKS)
def test_a_link_to_a_claude_file_needs_a_profile_that_names_it(profile: str, tmp_path: Path) -> None:
    """AGENTS.md that links to CLAUDE.md is refused, or loaded once in a profile that names CLAUDE files."""
    root = lay_out(tmp_path, {".git/HEAD": "", "CLAUDE.md": "rules\n"})
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    plan = plan_instructions(root, profile=profile)
    assert entry_of(plan, "AGENTS.md").reason == CLAUDE_LINKS[profile]
    assert [entry.text for entry in plan.included] == (["rules\n"] if CLAUDE_LINKS[profile] == "loaded" else [])


def test_a_folder_of_the_walk_may_be_called_claude(tmp_path: Path) -> None:
    """The name of a folder on the way to cwd is no reason to refuse its files; the same name behind a link is."""
    root = lay_out(tmp_path, {".git/HEAD": "", "my-claude/AGENTS.md": "one\n", "claude-notes/x.md": "two\n"})
    (root / "AGENTS.md").symlink_to("claude-notes/x.md")
    plan = plan_instructions(root / "my-claude", profile="codex")
    assert [entry.text for entry in plan.included] == ["one\n"]
    assert entry_of(plan, f"{root}/AGENTS.md").reason == "refused"


def test_a_pointer_is_followed_by_the_convention(tmp_path: Path) -> None:
    """In profile `agents`, AGENTS.md that holds only @CLAUDE.md is the text of that file; other mentions stay text."""
    root = lay_out(
        tmp_path, {".git/HEAD": "", "AGENTS.md": "@CLAUDE.md\n", "CLAUDE.md": "see @other.md\n", "other.md": "o"}
    )
    plan = plan_instructions(root, profile="agents")
    assert [entry.text for entry in plan.included] == ["see @other.md\n"]


def test_the_nearest_file_stays_whole(tmp_path: Path) -> None:
    """Profile `agents` spends its limit from the nearest file to the farthest, and cuts that at a line."""
    lines = "".join(f"rule {number}\n" for number in range(9_000))
    root = lay_out(tmp_path, {".git/HEAD": "", "AGENTS.md": lines, "a/AGENTS.md": "nearest\n" * 1_000})
    plan = plan_instructions(root / "a", profile="agents")
    far, near = plan.included
    assert (far.reason, near.reason) == ("cut", "loaded")
    assert plan.bytes <= 65_536
    kept, notice = far.text.rsplit("\n", 1)
    assert lines.startswith(kept + "\n")
    assert (
        notice == f"... [truncated: {len(lines) - len(kept):,} of {len(lines):,} bytes of AGENTS.md are missing here]"
    )
    assert far.bytes_included == len(kept)


def test_a_file_without_room_is_left_out(tmp_path: Path) -> None:
    """A file for which next to nothing is left is over the limit, and dsh drops whole files from the front."""
    root = lay_out(tmp_path, {".git/HEAD": "", "AGENTS.md": "far\n" * 10_000, "a/AGENTS.md": "near\n" * 6_540})
    assert reasons(plan_instructions(root / "a", profile="kimi-cli"), root) == {
        "AGENTS.md": "over limit",
        "a/AGENTS.md": "loaded",
    }
    lay_out(root, {"AGENTS.md": "far\n" * 10_000, "a/AGENTS.md": "near\n" * 8_000})
    assert reasons(plan_instructions(root / "a", profile="dsh"), root) == {
        "AGENTS.md": "over limit",
        "a/AGENTS.md": "loaded",
    }


def test_limits_are_arguments(tmp_path: Path) -> None:
    """`file_limit` and `total_limit` replace those of the default and of any profile."""
    root = lay_out(tmp_path, {".git/HEAD": "", "AGENTS.md": "line\n" * 2_000})
    assert load_instruction_files(root, file_limit=20_000, total_limit=20_000)[0].content == "line\n" * 2_000
    (short,) = load_instruction_files(root, profile="agents", file_limit=1_000)
    assert len(short.content) <= 1_000 and "are missing here]" in short.content
    with pytest.raises(SourceError, match="file_limit takes a number of bytes above 0, not 0"):
        load_instruction_files(root, file_limit=0)


def test_a_profile_gives_the_builder_its_files(tmp_path: Path) -> None:
    """`load_instruction_files(profile=…)` returns the included texts, with notes on what is missing."""
    root = lay_out(tmp_path, {".git/HEAD": "", "AGENTS.md": "root\n", "a/AGENTS.md": "a\n", "a/b/x": ""})
    (root / "a" / "b" / "AGENTS.md").symlink_to("/etc/passwd")
    files = load_instruction_files(root / "a" / "b", profile="agents", portable=True)
    assert [(file.path, file.content) for file in files] == [("AGENTS.md", "root\n"), ("a/AGENTS.md", "a\n")]
    assert [(note.kind, note.source) for note in files.notes] == [("refused", "a/b/AGENTS.md")]


def test_a_large_file_is_read_within_bounds(tmp_path: Path) -> None:
    """A file of 50 GiB that takes no room is read up to a limit, and the entry says how much is missing."""
    root = lay_out(tmp_path, {".git/HEAD": "", "CLAUDE.md": "first\n" * FILE_LIMIT})
    os.truncate(root / "CLAUDE.md", 50 << 30)
    entry = entry_of(plan_instructions(root, profile="copilot-cli"), "CLAUDE.md")
    assert (entry.reason, entry.bytes_file, entry.bytes_read) == ("cut", 50 << 30, FILE_LIMIT)
    assert "bytes are missing" in entry.detail


def test_003_a_binary_file_is_refused(tmp_path: Path) -> None:
    """A file that is no text is an entry with its reason, in every profile."""
    root = lay_out(tmp_path, {".git/HEAD": "", "AGENTS.md": bytes(1_000)})
    for profile in ("agents", "codex", "deepseek"):
        entry = entry_of(plan_instructions(root, profile=profile), "AGENTS.md")
        assert (entry.reason, entry.text) == ("refused", "")
        assert entry.detail.startswith("not a text file: 1000 of 1000 bytes")


def test_imports_are_bounded(tmp_path: Path) -> None:
    """A file that imports itself and 200 others ends, and the entries say which were left out."""
    files: dict[str, str | bytes] = {f"n{number}.md": "@GEMINI.md @n0.md @n1.md\n" for number in range(200)}
    files["GEMINI.md"] = "".join(f"@n{number}.md\n" for number in range(200))
    root = lay_out(tmp_path, {".git/HEAD": "", **files})
    plan = plan_instructions(root, profile="gemini-cli")
    kinds = [entry.reason for entry in plan.entries if entry.kind == "import"]
    assert kinds.count("loaded") == MOST_IMPORTS
    assert {"over limit", "cycle"} <= {*kinds}


def test_mentions_are_bounded(tmp_path: Path) -> None:
    """Files that mention each other by the thousand are looked up so many times, and a note says so."""
    root = lay_out(tmp_path, {".git/HEAD": "", **dict.fromkeys(("GEMINI.md", "AGENTS.md"), "@AGENTS.md\n" * 3_000)})
    plan = plan_instructions(root, profile="gemini-cli")
    assert len([entry for entry in plan.entries if entry.kind == "import"]) <= MOST_MENTIONS
    assert sum("imports are mentioned" in note.detail for note in plan.notes) == 1


def test_an_import_says_why_it_is_not_followed(tmp_path: Path) -> None:
    """Outside, missing, a folder and a repeated file each have their own reason."""
    text = "@../out.md\n@/etc/passwd\n@~/x.md\n@gone.md\n@sub/\n@one.md\n@one.md\n@word\n"
    root = lay_out(tmp_path / "p", {".git/HEAD": "", "CLAUDE.md": text, "one.md": "1", "sub/x": "", "../out.md": "no"})
    plan = plan_instructions(root, profile="claude-code")
    found = [(entry.path.removeprefix(f"{root}/"), entry.reason) for entry in plan.entries if entry.kind == "import"]
    assert found == [
        ("../out.md", "refused"),
        ("/etc/passwd", "refused"),
        ("~/x.md", "refused"),
        ("gone.md", "missing"),
        ("sub", "missing"),
        ("one.md", "loaded"),
        ("one.md", "duplicate"),
    ]


def test_a_touch_gives_only_what_is_new(tmp_path: Path) -> None:
    """Each touch loads files of the folders below cwd and matching rules once; the returned plan remembers."""
    root = lay_out(
        tmp_path,
        {
            ".git/HEAD": "",
            "CLAUDE.md": "root\n",
            ".claude/rules/py.md": '---\npaths: ["src/**/*.{py,pyi}"]\n---\nrule\n',
            "src/CLAUDE.md": "src\n",
            "src/x.py": "",
            "src/deep/CLAUDE.md": "deep\n",
            "src/deep/y.txt": "",
        },
    )
    plan = plan_instructions(root, profile="claude-code")
    assert [entry.text for entry in plan.included] == ["root"]
    assert entry_of(plan, "py.md").reason == "conditional"
    assert entry_of(plan, "py.md").globs == ("src/**/*.{py,pyi}",)
    first = plan.touch("src/x.py")
    assert [entry.text for entry in first.included] == ["src", "rule"]
    second = first.touch(root / "src" / "deep" / "y.txt")
    assert [entry.text for entry in second.included] == ["deep"]
    assert second.touch("src/x.py").included == ()
    assert plan.touch("/etc/passwd").included == ()


def test_a_profile_without_touch_loads_nothing_by_it(tmp_path: Path) -> None:
    """Codex has no files below cwd."""
    root = lay_out(tmp_path, {".git/HEAD": "", "a/AGENTS.md": "a\n", "a/x": ""})
    assert plan_instructions(root, profile="codex").touch("a/x").entries == ()


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "empty": ({"cwd": ""}, "plan_instructions: empty cwd; pass the project's folder"),
    "no path": ({"cwd": 3}, "plan_instructions: cwd takes the path of a folder, not 3"),
    "root": ({"cwd": "/usr", "root": "/etc"}, "plan_instructions: cwd '/usr' is not below root '/etc'"),
    "empty root": ({"cwd": "/usr", "root": ""}, "plan_instructions: empty root"),
    "profile": ({"cwd": "/usr", "profile": "codx"}, "no profile 'codx'; did you mean codex?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_argument_is_named(case: str) -> None:
    """The message says which argument is wrong, and what would be right."""
    given, message = WRONG[case]
    with pytest.raises(SourceError) as caught:
        plan_instructions(**given)  # type: ignore[arg-type]
    assert message in str(caught.value)
