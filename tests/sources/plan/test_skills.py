"""Skills by profile: the recorded lists of nine agents, pointer stubs, the specification, the guard."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deepprompt import load_skills
from deepprompt.errors import SourceError
from deepprompt.sources.plan.profile_file import profile_names
from deepprompt.sources.plan.skills import load_profile_skills
from tests.support.layout import lay_out
from tests.support.recorded import cases, lay_out_case

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and FIFOs")

# Words that the recording took for names: of headings and descriptions, and names in brackets after a folder's.
NO_NAMES = {
    "claude-code": {"skills", "hidden", "name-differs", "n" * 70, "zzz-dup"},
    "openhands": {"skills", "below"},
}


@pytest.mark.parametrize("profile", sorted({profile for profile, case in cases() if "skills_listed" in case}))
def test_a_profile_lists_what_its_program_listed(profile: str, tmp_path: Path) -> None:
    """With a root that covers the whole tree, each recorded case lists the same skills."""
    offenders = {}
    for number, (_, case) in enumerate(each for each in cases() if each[0] == profile and "skills_listed" in each[1]):
        root = tmp_path / str(number)
        cwd = lay_out_case(root, case)
        found = {skill.name for skill in load_profile_skills(cwd, root / "home", profile, root).skills}
        wanted = {*case["skills_listed"]} - NO_NAMES.get(profile, set())
        if case["id"] == "skill-budget":  # some recordings keep only the ends of a long list
            wanted |= {f"s{number:03}" for number in range(120)}
        if found != wanted:
            offenders[case["id"]] = (sorted(found - wanted), sorted(wanted - found))
    assert offenders == {}


USUAL = {"plain", "xml", "multi", "literal", "long", "tools", "nouser", "when", "crlf", "zzz-dup", "name-differs"}
ODD = {
    "codex": {"Upper_Case Name", "no-name", "colon", "nomodel", "inner", "deeper"},
    "copilot-cli": {"Upper_Case-Name", "no-name", "no-desc", "bom", "bad", "inner", "deeper"},
    "goose": {"Upper_Case Name", "n" * 70, "no-desc", "nomodel", "inner", "deeper", "bom", "hidden"},
    "kimi-cli": {
        "Upper_Case Name", "n" * 70, "no-name", "no-desc", "no-front", "empty", "nomodel", "bom", "bad", "hidden",
        "flat",
    },
    "agents": {"Upper_Case Name", "n" * 70, "no-name", "colon", "nomodel", "inner", "deeper", "bom", "bad"},
}  # fmt: skip


@pytest.mark.parametrize("profile", ODD)
def test_odd_skills(profile: str, tmp_path: Path) -> None:
    """Of one folder with every odd skill, each profile lists its own; links out of the root are refused."""
    (case,) = (case for name, case in cases() if (name, case["id"]) == ("opencode", "skill-fields"))
    cwd = lay_out_case(tmp_path, case)
    store = load_skills(cwd, profile=profile)
    missing = {"long"} if profile == "copilot-cli" else set[str]()
    assert {*store.names()} == (USUAL - missing) | ODD[profile]
    if profile != "codex":  # which lists no SKILL.md that is a link
        assert any(note.kind == "refused" and "file-linked" in note.source for note in store.notes)
    assert any("/linked" in note.source and "leads out of its root" in note.detail for note in store.notes)


def test_a_linked_folder_is_followed_inside_the_root(tmp_path: Path) -> None:
    """A folder of skills, or one skill, may be a link inside the root, and no link makes a search go in circles."""
    text = "---\nname: {0}\ndescription: {0}\n---\nBODY\n"
    root = lay_out(
        tmp_path,
        {".git/HEAD": "", ".agents/skills/one/SKILL.md": text.format("one"), "docs/two/SKILL.md": text.format("two")},
    )
    (root / ".agents/skills/two").symlink_to("../../docs/two")
    (root / ".agents/skills/loop").symlink_to("..")
    (root / ".claude").mkdir()
    (root / ".claude/skills").symlink_to("../.agents/skills")
    for profile in ("agents", "claude-code", "codex", "opencode"):
        store = load_skills(root, profile=profile)
        assert store.names() == ["one", "two"], profile
        assert store.body("two") == "BODY"


def test_a_pointer_stub_stands_for_the_real_skill(tmp_path: Path) -> None:
    """In profile `agents`, a file of nothing but @path is followed inside the root, and refused outside of it."""
    root = lay_out(
        tmp_path / "p",
        {
            ".git/HEAD": "",
            ".claude/skills/lint/SKILL.md": "@../../../docs/lint.md\n",
            ".claude/skills/bad/SKILL.md": "@../../../../secret.md\n",
            "docs/lint.md": "---\nname: lint\ndescription: Lints.\n---\nBODY\n",
            "../secret.md": "---\nname: bad\ndescription: no\n---\n",
        },
    )
    store = load_skills(root, profile="agents")
    assert [(skill.name, skill.description, skill.path) for skill in store.skills] == [
        ("lint", "Lints.", "docs/lint.md")
    ]
    assert store.body("lint") == "BODY"
    assert [note.detail for note in store.notes if note.kind == "refused"] == ["leads out of its root"]


def test_fields_of_the_specification(tmp_path: Path) -> None:
    """Tools are separated by spaces, long descriptions stay whole, and the other fields are there."""
    front = (
        f"name: x\ndescription: {'word ' * 100}\nallowed-tools: Bash(git add:*) Read Grep\n"
        "license: MIT\ncompatibility: any\nmetadata:\n  a: b\n"
    )
    lay_out(tmp_path, {".agents/skills/x/SKILL.md": f"---\n{front}---\nBODY\n"})
    store = load_skills(tmp_path, profile="agents")
    (skill,) = store.skills
    assert skill.tools == ("Bash(git add:*)", "Grep", "Read")
    assert skill.description == ("word " * 100).strip()
    assert (skill.license, skill.compatibility, skill.metadata) == ("MIT", "any", (("a", "b"),))
    assert store.faults(skill) == ()


def test_the_nearest_skill_counts(tmp_path: Path) -> None:
    """Along the walk, a skill of cwd hides one of the same name at the root, and a note says so."""
    text = "---\nname: x\ndescription: {}\n---\n"
    root = lay_out(
        tmp_path,
        {
            ".git/HEAD": "",
            ".agents/skills/x/SKILL.md": text.format("far"),
            "a/.agents/skills/x/SKILL.md": text.format("near"),
        },
    )
    store = load_skills(root / "a", profile="agents")
    assert [skill.description for skill in store.skills] == ["near"]
    assert "a skill named 'x' is listed already" in [note.detail for note in store.notes]


def test_the_guard_holds_for_skills(tmp_path: Path) -> None:
    """A FIFO, a device and a CLAUDE file behind a link are refused in each profile, and nothing waits."""
    root = lay_out(tmp_path, {".git/HEAD": "", "CLAUDE.md": "---\nname: c\ndescription: d\n---\n"})
    makers: dict[str, Callable[[Path], None]] = {
        "fifo": os.mkfifo,
        "device": lambda path: path.symlink_to("/dev/zero"),
        "claude": lambda path: path.symlink_to("../../../CLAUDE.md"),
    }
    for name, make in makers.items():
        (root / ".agents/skills" / name).mkdir(parents=True)
        make(root / ".agents/skills" / name / "SKILL.md")
    for profile in profile_names():
        if profile != "deepseek":
            listed = load_skills(root, profile=profile).names()
            assert {*listed} <= {"c", "claude"}, profile
    assert load_skills(root, profile="codex").names() == []


def test_a_profile_without_skills_is_an_error(tmp_path: Path) -> None:
    """A profile of one's own that says nothing about skills cannot list any."""
    (tmp_path / "own.toml").write_text("groups = []\n")
    with pytest.raises(SourceError, match=r"own\.toml has no skills; add a table \[skills\] with folders"):
        load_skills(tmp_path, profile=tmp_path / "own.toml")
