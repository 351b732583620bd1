"""Skills: where they are found, what their files mean, what the index says, and how their bodies are read."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepprompt.errors import SkillError, SourceError
from deepprompt.prompt import Note
from deepprompt.sources import files, skills
from deepprompt.sources.skills import SCAN_FOLDERS, Skill, SkillChange, SkillStore, load_skills
from deepprompt.words import NoteKind
from tests.support.examples import examples

needs_links = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and FIFOs")

CLAUDE = "CLAUDE files belong to another agent and are never loaded"

# Front matter, and the columns but for the hash: name, description, run mode, tools.
FRONT_MATTER = {
    "folded-scalar": ("description: >\n  one\n  line\n\n  two", ("x", "one line", "direct", "")),
    "literal-scalar": ("description: |\n  one\n  two", ("x", "one", "direct", "")),
    "literal-scalar-after-a-blank-line": ("description: |\n\n\n  one\n  two", ("x", "one", "direct", "")),
    "stripped-scalar": ("description: >-\n  one", ("x", "one", "direct", "")),
    "double-quotes": ('name: "a: b"\ndescription: "tab\\tand \\u00e9"', ("a: b", "tab\tand é", "direct", "")),
    "single-quotes": ("name: 'it''s'", ("it's", "", "direct", "")),
    "comment": ("# first\nname: a # last", ("a", "", "direct", "")),
    "scalars-stay-strings": (
        "name: 010\ndescription: yes\nrun_mode: 2031-02-03\nallowed-tools: [1.0, null, ~]",
        ("010", "yes", "2031-02-03", "1.0,null,~"),
    ),
    "nothing-after-the-key": ("name:\ndescription:\nallowed-tools:", ("x", "", "direct", "")),
    "keys-in-any-case": ("NAME: a\nDescription: b\nRunAs: c\nAllowed-Tools: d", ("a", "b", "c", "d")),
    "block-list": ("allowed-tools:\n  - write\n  - bash\n  - read", ("x", "", "direct", "bash,read,write")),
    "flow-list": ("allowed-tools: [ write, 'bash' ]", ("x", "", "direct", "bash,write")),
    "comma-text": ("allowed-tools: ' write ,, bash, '", ("x", "", "direct", "bash,write")),
    "list-in-a-list": ("allowed-tools: [a, [b], {c: d}]", ("x", "", "direct", "a")),
    "underscore-keys": ("run_mode: subagent\nallowed_tools: a", ("x", "", "subagent", "a")),
    "other-keys": ("run-mode: subagent\nallowedtools: a", ("x", "", "subagent", "a")),
    "first-of-the-keys-wins": (
        "run-mode: c\nrun_mode: b\nrunas: a\nallowedtools: c\nallowed_tools: b\nallowed-tools: a",
        ("x", "", "a", "a"),
    ),
    "empty-key-does-not-win": ("runas: ''\nrun_mode: b", ("x", "", "b", "")),
    "nested-values-are-ignored": ("name: {a: b}\nmetadata:\n  name: c", ("x", "", "direct", "")),
    "key-that-is-no-text": ("? {a: b}\n: c\nname: d", ("d", "", "direct", "")),
    "unknown-keys": ("license: MIT\nname: a", ("a", "", "direct", "")),
    "alias": ("a: &a text\nname: *a", ("text", "", "direct", "")),
    "python-object-is-only-text": ("name: !!python/object/apply:os.getcwd a", ("a", "", "direct", "")),
    "blank-name": ("name: '  '", ("x", "", "direct", "")),
    "name-on-two-lines": ("name: |\n  a\n  b", ("a b", "", "direct", "")),
    "name-that-looks-like-a-path": ("name: ../../x", ("../../x", "", "direct", "")),
    "surrogate": ('name: "a\\uD800"', ("a\ufffd", "", "direct", "")),
    "hidden": ("name: a\u200bb\ndescription: c\u2060d", ("a⟨U+200B⟩b", "c⟨U+2060⟩d", "direct", "")),
    "tags": ("name: a\U000e0041", ("a⟨U+E0041⟩", "", "direct", "")),
    "long-name": (f"name: {'n' * 10_000}", ("n" * 256, "", "direct", "")),
    "long-description": (f"description: {'é' * 81}", ("x", "é" * 80, "direct", "")),
    "pipes": (
        "name: a | b\ndescription: '| c |'\nrunas: d | e\nallowed-tools: f | g, |",
        ("a \\| b", "\\| c \\|", "d \\| e", "\\|,f \\| g"),
    ),
    "pipe-in-a-word": ("name: a|b\ndescription: a ||b| c", ("a|b", "a ||b| c", "direct", "")),
    "pipe-between-tabs": ('name: "a\\t|\\tb"', ("a\t\\|\tb", "", "direct", "")),
    "end-inside-a-line": ("name: a --- b", ("a --- b", "", "direct", "")),
}

# What is not YAML, or not a mapping, is read line by line.
NOT_YAML = {
    "colon-in-a-value": ("name: a\ndescription: Use when: always", ("a", "Use when: always", "direct", "")),
    "stray-bracket": ("name: [a\nrunas: b", ("[a", "", "b", "")),
    "matching-quotes": ("name: \"a\"\ndescription: 'b'\nbad: : :", ("a", "b", "direct", "")),
    "quotes-that-do-not-match": ("name: \"a'\nbad: : :", ("\"a'", "", "direct", "")),
    "one-quote": ('name: "\nbad: : :', ('"', "", "direct", "")),
    "tab": ("\tname: a\n\tdescription: b", ("a", "b", "direct", "")),
    "line-without-a-colon": ("just words\nname : a: b: c", ("a: b: c", "", "direct", "")),
    "keys-in-any-case": ("NAME: a\nbad: : :", ("a", "", "direct", "")),
    "list": ("- name: a", ("x", "", "direct", "")),
    "two-documents": ("name: a\n--- # more\nname: b", ("b", "", "direct", "")),
    "unknown-alias": ("name: *gone", ("*gone", "", "direct", "")),
    "unhashable-key": ("? [a]\n: b\nname: c", ("c", "", "direct", "")),
    "recursive-alias": ("name: &a [*a]", ("&a [*a]", "", "direct", "")),
    "control-character": ("name: a\x1bb", ("a⟨U+001B⟩b", "", "direct", "")),
    "code-point-out-of-range": ('name: "\\U00110000"', ("\\U00110000", "", "direct", "")),
    "code-point-out-of-any-range": ('name: "\\UFFFFFFFF"', ("\\UFFFFFFFF", "", "direct", "")),
    "endless-version": (f"%YAML {'1' * 5000}.1\n--- \nname: a", ("a", "", "direct", "")),
    "deep-nesting": (f"name: a\nb: {'[' * 400}", ("a", "", "direct", "")),
    "long-for-yaml": (f"name: 'a'\nb:\n{'# x' * 6000}", ("a", "", "direct", "")),
}

# Files without front matter, and the name.
HEADINGS = {
    "first-of-two": ("# One\n# Two", "One"),
    "after-text": ("text\n\n# One\n", "One"),
    "trimmed": ("#  \t One  ", "One"),
    "in-a-fence": ("```sh\n# Not this\n```\n# One", "One"),
    "in-a-tilde-fence": ("~~~\n# Not\n```\n# Not\n~~~\n# One", "One"),
    "in-a-longer-fence": ("````\n```\n# Not\n`````\n# One", "One"),
    "fence-is-not-closed-by-text": ("```\n# Not\n``` x\n# Not\n```  \n# One", "One"),
    "fence-that-never-ends": ("```\n# Not", "x"),
    "indented-fence": ("   ```\n# Not\n  ```\n# One", "One"),
    "code-in-one-line-is-no-fence": ("```make``` first\n# One", "One"),
    "empty-heading": ("# \n#  \n# One", "One"),
    "no-blank": ("#One\n#!/bin/sh", "x"),
    "second-level": ("## Two", "x"),
    "no-heading": ("text", "x"),
    "front-matter-that-never-ends": ("---\nname: a\n# One", "One"),
    "front-matter-not-at-the-start": ("\n---\nname: a\n---\n# One", "One"),
    "hidden": ("# O\u200bne", "O⟨U+200B⟩ne"),
    "pipe": ("# a | b", "a \\| b"),
    "bom": ("\ufeff# One", "One"),
}

# The whole file, and its body.
BODIES = {
    "after-front-matter": ("---\nname: x\n---\n\n body \n\n", "body"),
    "without-front-matter": ("# x\nbody\n", "# x\nbody"),
    "bom-and-windows": ("\ufeff---\r\nname: x\r\n---\r\nbody\r\nmore\r\n", "body\nmore"),
    "front-matter-to-the-end": ("---\nname: x\n---", ""),
    "rule-in-the-body": ("---\nname: x\n---\na\n---\nb", "a\n---\nb"),
    "hidden": ("---\nname: x\n---\na\u200bb", "a⟨U+200B⟩b"),
}

NOT_COLUMNS = st.text(st.sampled_from("ab |\\,\n\r\t\x85\u2028\u200b\u200e:'\"-#é🐘"), max_size=100)


def write(root: Path, path: str, text: str | bytes = "# T\nbody\n") -> Path:
    """Write a file and the folders above it."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def columns(store: SkillStore) -> list[list[str]]:
    """Return the index as a reader takes it apart: lines, then columns."""
    return [line.split(" | ") for line in store.index_text().split("\n")[:-1]]


def skill(name: str, description: str = "", body_hash: str = "0" * 64, path: str = "skills/x/SKILL.md") -> Skill:
    """Make a skill by hand."""
    return Skill(name, description, "direct", body_hash, (), "/root", path)


def hash12(body: str) -> str:
    """Return the hash of a body as the index shows it."""
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def test_an_empty_cwd_is_an_error() -> None:
    """Without a folder there is nothing to look in, and the error says what to pass."""
    with pytest.raises(SourceError, match=r"^load_skills: empty cwd; pass the project's folder$"):
        load_skills("", "/home/me")


def test_no_skills_are_nothing_to_note(tmp_path: Path) -> None:
    """A project without skills gives an empty store without notes."""
    store = load_skills(tmp_path, tmp_path / "gone")
    assert (store.skills, store.notes, store.names(), store.index_text()) == ((), (), [], "")


def test_a_file_in_place_of_a_scan_folder_is_nothing(tmp_path: Path) -> None:
    """A file named like a scan folder holds no skills and is not noted."""
    write(tmp_path, "skills", "x")
    assert load_skills(tmp_path).notes == ()


@pytest.mark.parametrize("folder", SCAN_FOLDERS)
def test_each_scan_folder_is_searched_in_cwd_and_home(tmp_path: Path, folder: str) -> None:
    """Skills are found in five folders of the project and of home."""
    write(tmp_path, f"cwd/{folder}/a/SKILL.md")
    write(tmp_path, f"home/{folder}/b/SKILL.md", "# U")
    store = load_skills(tmp_path / "cwd", tmp_path / "home")
    assert store.names() == ["T", "U"]
    assert store.notes == ()


def test_the_first_of_a_name_wins(tmp_path: Path) -> None:
    """Earlier folders go before later ones and the project before home, and notes name what is left out."""
    for root in ("cwd", "home"):
        for folder in reversed(SCAN_FOLDERS):
            write(tmp_path, f"{root}/{folder}/a/SKILL.md", f"---\nname: a\ndescription: {root} {folder}\n---\n")
    store = load_skills(tmp_path / "cwd", tmp_path / "home")
    assert [found.description for found in store.skills] == ["cwd .deepseek/skills"]
    left_out = [f"{folder}/a/SKILL.md" for folder in SCAN_FOLDERS]
    detail = "a skill named 'a' is listed already"
    assert store.notes == tuple(Note("skipped", path, detail) for path in [*left_out[1:], *left_out])


def test_names_that_differ_in_case_are_two_skills(tmp_path: Path) -> None:
    """Names are compared as they are written, and sorted by code point."""
    for name in ("b", "B", "é", "a"):
        write(tmp_path, f"skills/folder-{ord(name)}/SKILL.md", f"# {name}")
    assert load_skills(tmp_path).names() == ["B", "a", "b", "é"]


def test_a_folder_within_eight_levels_is_searched(tmp_path: Path) -> None:
    """A skill in the eighth folder below a scan folder is found, one in the ninth is not."""
    write(tmp_path, "skills/1/2/3/4/5/6/7/8/SKILL.md", "# eighth")
    write(tmp_path, "skills/a/2/3/4/5/6/7/8/9/SKILL.md", "# ninth")
    assert load_skills(tmp_path).names() == ["eighth"]


def test_a_skill_is_not_searched_for_more(tmp_path: Path) -> None:
    """A folder with a SKILL.md is one skill, hidden folders are none, and a scan folder may be one."""
    write(tmp_path, "skills/a/SKILL.md", "# a")
    write(tmp_path, "skills/a/b/SKILL.md", "# b")
    write(tmp_path, "skills/.c/SKILL.md", "# c")
    write(tmp_path, ".agents/skills/SKILL.md", "# d")
    store = load_skills(tmp_path)
    assert store.names() == ["a", "d"]
    assert store.notes == ()


def test_too_many_folders_are_cut_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search of a scan folder stops at a number of folders, in the order of their names."""
    monkeypatch.setattr(skills, "MOST_FOLDERS", 4)
    for number in (5, 3, 1, 4, 2):
        write(tmp_path, f"skills/{number}/SKILL.md", f"# {number}")
    store = load_skills(tmp_path)
    assert store.names() == ["1", "2", "3"]
    assert store.notes == (Note("cut", "skills", "more than 4 folders; the rest is not searched"),)


@needs_links
def test_linked_folders_are_skipped(tmp_path: Path) -> None:
    """A link to a folder is not followed, wherever it leads and whatever part of the way it is."""
    write(tmp_path, "cwd/elsewhere/skills/a/SKILL.md")
    (tmp_path / "cwd/.deepseek").symlink_to("elsewhere")
    (tmp_path / "cwd/skills").symlink_to("elsewhere/skills")
    (tmp_path / "cwd/.agents/skills").mkdir(parents=True)
    (tmp_path / "cwd/.agents/skills/cycle").symlink_to(".")
    store = load_skills(tmp_path / "cwd")
    assert store.names() == []
    assert store.notes == (
        Note("skipped", ".deepseek/skills", "a linked folder"),
        Note("skipped", "skills", "a linked folder"),
        Note("skipped", ".agents/skills/cycle", "a link; linked folders are not searched"),
    )


@needs_links
def test_notes_come_in_the_order_of_names(tmp_path: Path) -> None:
    """What the notes say does not depend on the order in which the system lists a folder."""
    folder = tmp_path / "skills"
    folder.mkdir()
    names = [f"{number:02}" for number in range(30)]
    for name in sorted(names, key=lambda name: name[::-1]):
        (folder / name).symlink_to("/")
    assert [note.source for note in load_skills(tmp_path).notes] == [f"skills/{name}" for name in names]


@needs_links
def test_a_link_to_a_skill_file_inside_the_root_is_followed(tmp_path: Path) -> None:
    """SKILL.md may be a link that stays in the project, also to the folder of another agent's skills."""
    write(tmp_path, "cwd/docs/skill.md", "# a\nbody")
    write(tmp_path, "cwd/.claude/skills/b/SKILL.md", "# b\nbody")
    for name, target in {"a": "../../docs/skill.md", "b": "../../.claude/skills/b/SKILL.md"}.items():
        (tmp_path / "cwd/skills" / name).mkdir(parents=True)
        (tmp_path / "cwd/skills" / name / "SKILL.md").symlink_to(target)
    store = load_skills(tmp_path / "cwd")
    assert store.names() == ["a", "b"]
    assert store.body("a") == "# a\nbody"
    assert store.notes == (Note("skipped", ".claude/skills/b/SKILL.md", "a skill named 'b' is listed already"),)


@needs_links
@pytest.mark.parametrize("walks", [True, False], ids=["walking", "portable"])
@pytest.mark.parametrize(
    ("target", "kind", "detail"),
    [
        ("../../../secret.md", "refused", "leads out of its root"),
        ("/dev/zero", "refused", "leads out of its root"),
        ("../../CLAUDE.md", "refused", CLAUDE),
        ("../../.claude/skills/../x.md", "refused", CLAUDE),
        ("../../docs", "refused", "not a regular file"),
        ("gone.md", "skipped", "there is no such file"),
    ],
)
def test_a_link_to_what_is_no_skill_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, walks: bool, target: str, kind: NoteKind, detail: str
) -> None:
    """A SKILL.md that leads out of the project, to another agent's file or to no file is left out with a note."""
    monkeypatch.setattr(files, "_WALKS", walks and files._WALKS)
    write(tmp_path, "secret.md")
    for path in ("CLAUDE.md", ".claude/x.md", ".claude/skills/x.md", "docs/x.md"):
        write(tmp_path, f"cwd/{path}")
    (tmp_path / "cwd/skills/a").mkdir(parents=True)
    (tmp_path / "cwd/skills/a/SKILL.md").symlink_to(target)
    store = load_skills(tmp_path / "cwd")
    assert store.names() == []
    assert store.notes == (Note(kind, "skills/a/SKILL.md", detail),)


@needs_links
def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    """A SKILL.md that is no regular file is refused at once."""
    (tmp_path / "skills/a").mkdir(parents=True)
    os.mkfifo(tmp_path / "skills/a/SKILL.md")
    assert load_skills(tmp_path).notes == (Note("refused", "skills/a/SKILL.md", "not a regular file"),)


@pytest.mark.parametrize(
    "path", ["skills/claude/SKILL.md", ".agents/skills/My-ＣＬＡＵＤＥ/SKILL.md", ".claude/skills/claude-x/SKILL.md"]
)
def test_names_of_another_agent_are_refused(tmp_path: Path, path: str) -> None:
    """A folder that spells `claude` is refused; only `.claude/skills` itself is the exception."""
    write(tmp_path, path)
    write(tmp_path, ".claude/skills/a/SKILL.md", "# a")
    write(tmp_path, ".claude/skills/a/CLAUDE.md", "# not a skill")
    store = load_skills(tmp_path)
    assert store.names() == ["a"]
    assert store.notes == (Note("refused", path, CLAUDE),)


def test_a_folder_that_cannot_be_listed_is_noted() -> None:
    """A folder closed to us is skipped with the system's reason, and the others are searched."""
    if not hasattr(os, "geteuid"):
        pytest.skip("needs modes")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write(root, "skills/a/SKILL.md", "# a")
        write(root, "skills/b/SKILL.md", "# b")
        write(root, "skills/c/SKILL.md", "# c").chmod(0o000)
        (root / "skills/b").chmod(0o000)
        root.chmod(0o755)
        privileged = os.geteuid() == 0
        if privileged:
            os.seteuid(65534)
        try:
            if not os.access(root, os.R_OK, effective_ids=True):
                pytest.skip("the folder for temporary files is closed to others")
            store = load_skills(root)
        finally:
            if privileged:
                os.seteuid(0)
            (root / "skills/b").chmod(0o755)
    denied = os.strerror(errno.EACCES)
    assert store.names() == ["a"]
    assert store.notes == (
        Note("skipped", "skills/b", f"cannot be listed: {denied}"),
        Note("skipped", "skills/c/SKILL.md", f"cannot be read: {denied}"),
    )


@pytest.mark.parametrize(("size", "names"), [(1 << 20, ["x"]), ((1 << 20) + 1, [])])
def test_an_oversize_file_is_refused(tmp_path: Path, size: int, names: list[str]) -> None:
    """A file of more than a mebibyte is no skill, and a note says so."""
    write(tmp_path, "skills/x/SKILL.md", b"a" * size)
    store = load_skills(tmp_path)
    assert store.names() == names
    assert store.notes == (() if names else (Note("refused", "skills/x/SKILL.md", "larger than 1048576 bytes"),))


@pytest.mark.parametrize(
    ("front", "expected"),
    [*FRONT_MATTER.values(), *NOT_YAML.values()],
    ids=[*FRONT_MATTER, *(f"not-yaml-{name}" for name in NOT_YAML)],
)
def test_front_matter_gives_the_columns(tmp_path: Path, front: str, expected: tuple[str, str, str, str]) -> None:
    """YAML is read as YAML with every scalar a string; what is not YAML is read as lines of `key: value`."""
    write(tmp_path, "skills/x/SKILL.md", f"---\n{front}\n---\nbody")
    store = load_skills(tmp_path)
    name, description, run_mode, tools = expected
    assert columns(store) == [[name, description, run_mode, hash12("body"), tools]]
    assert store.index_text().encode()


@pytest.mark.parametrize(("text", "name"), HEADINGS.values(), ids=HEADINGS)
def test_without_front_matter_the_first_heading_is_the_name(tmp_path: Path, text: str, name: str) -> None:
    """The first `# Heading` outside a code fence names the skill, or else its folder does."""
    write(tmp_path, "skills/x/SKILL.md", text)
    assert [line[0] for line in columns(load_skills(tmp_path))] == [name]


def test_a_name_from_a_folder_is_made_visible_too(tmp_path: Path) -> None:
    """A folder's name is shown like any other text: on one line, nothing hidden, all of it UTF-8."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/skills/a\n\xff\xe2\x80\x8b | b")
    os.makedirs(folder)
    write(Path(folder), "SKILL.md", "body")
    assert load_skills(tmp_path).names() == ["a \ufffd⟨U+200B⟩ \\| b"]


@pytest.mark.parametrize(
    "data",
    [b"\xff", b"---\nname: a\xe2\x80\x8b\n---\n", b"a" * ((1 << 20) + 1)],
    ids=["not-utf8", "hidden", "oversize"],
)
def test_every_note_encodes(tmp_path: Path, data: bytes) -> None:
    """A note about a folder whose name is not UTF-8 can be printed, and shows nothing hidden."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/skills/\xff\xe2\x80\xae")
    os.makedirs(folder)
    write(Path(folder), "SKILL.md", data)
    notes = load_skills(tmp_path).notes
    assert notes
    for note in notes:
        str(note).encode()
        assert "\u202e" not in str(note)


def test_what_was_changed_in_a_skill_is_noted(tmp_path: Path) -> None:
    """Notes name the file, and say what was replaced, revealed or joined."""
    write(tmp_path, "skills/x/SKILL.md", b'---\nname: "a\\u200b\\nb"\n---\n\xff')
    path = "skills/x/SKILL.md"
    assert load_skills(tmp_path).notes == (
        Note("replaced", path, "bytes that are not UTF-8, by U+FFFD", 27, 1),
        Note("neutralised", path, "hidden U+200B", 1, 1),
        Note("neutralised", path, "line breaks in a one-line field", 9, 1),
    )


@pytest.mark.parametrize(("key", "limit"), [("name", 256), ("description", 80)])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_cut_value_does_not_end_in_a_separator(tmp_path: Path, key: str, limit: int, before: int) -> None:
    """A pipe that the cut leaves at the end of a value is not taken for the end of a column."""
    write(tmp_path, "skills/x/SKILL.md", f"---\n{key}: {'v' * (limit - before)} |more\n---\n")
    store = load_skills(tmp_path)
    (found,) = store.skills
    assert columns(store) == [[found.name, found.description, "direct", found.body_hash[:12], ""]]
    assert len(found.description) <= 80


@pytest.mark.seed("003.17")
@examples(100)
@given(name=NOT_COLUMNS, description=NOT_COLUMNS, run_mode=NOT_COLUMNS, tools=NOT_COLUMNS)
@example(name="|", description="|", run_mode="|", tools="|,|")
def test_an_index_line_always_has_five_columns(
    tmp_path_factory: pytest.TempPathFactory, name: str, description: str, run_mode: str, tools: str
) -> None:
    """Whatever the front matter says, a line is one line and comes apart into the values that went in."""
    root = tmp_path_factory.mktemp("any")
    front = f"name: {name}\ndescription: {description}\nrunas: {run_mode}\nallowed-tools: {tools}"
    write(root, "skills/x/SKILL.md", f"---\n{front}\n---\nbody")
    store = load_skills(root)
    (found,) = store.skills
    values = [found.name, found.description, found.run_mode, found.body_hash[:12], ",".join(found.tools)]
    assert columns(store) == [values]
    assert store.index_text().splitlines(keepends=True) == [store.index_text()]


@examples(100)
@given(front=st.text(max_size=60) | st.text(st.sampled_from('ab:-[]{}"\\UuFx0&*!%|>?#\n \t'), max_size=60))
def test_any_front_matter_loads(tmp_path_factory: pytest.TempPathFactory, front: str) -> None:
    """No front matter makes the loading of skills fail, and what it gives encodes."""
    root = tmp_path_factory.mktemp("any")
    write(root, "skills/x/SKILL.md", f"---\n{front}\n---\nbody")
    store = load_skills(root)
    assert len(store.skills) == 1
    assert store.version_hash() == hashlib.sha256(store.index_text().encode()).hexdigest()


def test_one_hostile_skill_does_not_hide_the_others(tmp_path: Path) -> None:
    """Whatever a parser makes of one file, the other skills are listed."""
    write(tmp_path, "skills/bad/SKILL.md", '---\nname: "\\UFFFFFFFF"\n---\n')
    write(tmp_path, "skills/good/SKILL.md", "# good")
    assert "good" in load_skills(tmp_path).names()


@pytest.mark.seed("003.19")
def test_the_prefix_holds_no_body_and_no_path(tmp_path: Path) -> None:
    """The index has neither the text of a skill nor the place of its file."""
    write(tmp_path, "skills/x/SKILL.md", "---\nname: a\ndescription: b\n---\nsecret body")
    assert load_skills(tmp_path).index_text() == f"a | b | direct | {hash12('secret body')} | \n"


@pytest.mark.seed("003.19")
def test_21_no_path_of_ours_enters_the_index_and_a_description_stays_as_written(tmp_path: Path) -> None:
    """An author's own path is their text, on every machine the same; where the file was found is not in the prefix.

    A description that names this very folder has the same line in any other folder: rewriting it would make the
    prefix depend on the machine.
    """
    here, there = tmp_path / "here", tmp_path / "there"
    text = f"---\ndescription: see {here}/run.sh\n---\nbody"
    lines = []
    for root in (here, there):
        write(root, "skills/plain/SKILL.md", "body")
        write(root, "skills/x/SKILL.md", text)
        lines.append(load_skills(root, root).index_text())
    assert lines[0] == lines[1]
    own = f"see {here}/run.sh"[:80]
    assert lines[0] == f"plain |  | direct | {hash12('body')} | \nx | {own} | direct | {hash12('body')} | \n"
    assert str(tmp_path) not in lines[0].replace(own, "")


@pytest.mark.parametrize(("text", "body"), BODIES.values(), ids=BODIES)
def test_a_body_is_read_on_demand(tmp_path: Path, text: str, body: str) -> None:
    """The body is what follows the front matter, trimmed, with nothing hidden."""
    file = write(tmp_path, "skills/x/SKILL.md", text)
    store = load_skills(tmp_path)
    assert store.body("x") == body
    file.write_text("---\nname: x\n---\nnew")
    assert store.body("x") == "new"


def test_a_windows_checkout_has_the_same_index(tmp_path: Path) -> None:
    """Line ends and a BOM change nothing in the index."""
    text = "---\nname: a\ndescription: |\n  b\n  c\nallowed-tools:\n  - d\n---\nbody\nmore\n"
    write(tmp_path, "unix/skills/x/SKILL.md", text)
    write(tmp_path, "windows/skills/x/SKILL.md", "\ufeff" + text.replace("\n", "\r\n"))
    assert load_skills(tmp_path / "unix").index_text() == load_skills(tmp_path / "windows").index_text()


@pytest.mark.parametrize(("names", "listed"), [(["b", "a"], "a, b"), ([], "none")])
def test_the_body_of_an_unknown_skill_is_an_error_that_lists_the_names(names: list[str], listed: str) -> None:
    """The error names what was asked for and what there is."""
    with pytest.raises(SkillError, match=f"^no skill named 'gone'; there are: {listed}$"):
        SkillStore([skill(name) for name in names]).body("gone")


def test_a_body_whose_file_is_gone_is_an_error(tmp_path: Path) -> None:
    """The error names the skill, the file and the reason."""
    file = write(tmp_path, "skills/x/SKILL.md")
    store = load_skills(tmp_path)
    file.unlink()
    message = "^the body of skill 'T' is gone: skills/x/SKILL.md: there is no such file$"
    with pytest.raises(SkillError, match=message):
        store.body("T")


@needs_links
def test_a_body_whose_file_became_a_link_out_is_an_error(tmp_path: Path) -> None:
    """A listed skill is checked again when it is read."""
    file = write(tmp_path, "cwd/skills/x/SKILL.md")
    store = load_skills(tmp_path / "cwd")
    file.unlink()
    file.symlink_to(write(tmp_path, "secret.md"))
    with pytest.raises(SkillError, match=r"leads out of its root$"):
        store.body("T")


def test_a_body_that_outgrew_the_limit_is_an_error(tmp_path: Path) -> None:
    """A file that would not be listed any more gives no part of a body in place of the whole."""
    file = write(tmp_path, "skills/x/SKILL.md")
    store = load_skills(tmp_path)
    file.write_bytes(b"a" * ((1 << 20) + 1))
    with pytest.raises(SkillError, match="larger than 1048576 bytes"):
        store.body("T")


def test_a_store_is_sorted_by_name_then_path() -> None:
    """The order in which skills are given does not matter."""
    given_skills = [skill("b"), skill("a", path="skills/2/SKILL.md"), skill("a", path="skills/1/SKILL.md")]
    store = SkillStore(given_skills, [Note("skipped", "x", "y")])
    assert [(found.name, found.path) for found in store.skills] == [
        ("a", "skills/1/SKILL.md"),
        ("a", "skills/2/SKILL.md"),
        ("b", "skills/x/SKILL.md"),
    ]
    assert store.notes == (Note("skipped", "x", "y"),)


@pytest.mark.seed("003.18")
def test_a_diff_names_every_kind_of_change() -> None:
    """Skills of the new store come by name, those that are gone last; a body goes before its metadata."""
    old = SkillStore([skill("same"), skill("gone"), skill("body"), skill("both"), skill("metadata")])
    new = SkillStore(
        [
            skill("same", path="elsewhere/SKILL.md"),
            skill("new"),
            skill("metadata", "changed"),
            skill("both", "changed", "1" * 64),
            skill("body", body_hash="1" * 64),
        ]
    )
    assert new.diff(old) == [
        SkillChange("body_changed", "body"),
        SkillChange("body_changed", "both"),
        SkillChange("metadata_changed", "metadata"),
        SkillChange("added", "new"),
        SkillChange("removed", "gone"),
    ]
    assert new.diff(new) == []


def test_against_nothing_every_skill_is_added() -> None:
    """The first store of a session is all new."""
    assert SkillStore([skill("a")]).diff(None) == [SkillChange("added", "a")]
    assert SkillStore().diff(SkillStore([skill("a")])) == [SkillChange("removed", "a")]
