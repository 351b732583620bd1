"""Presets of users: found, extended, changed, overridden, and refused with every problem at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt import PresetError, Prompt, bundled, from_folder, gather, load_preset
from deepprompt.errors import AssetError, UnknownPartError
from deepprompt.manifest import manifest_text
from deepprompt.prompt import Note, sha256_hex
from deepprompt.sources.claude_md import load_claude_md
from deepprompt.systems.presets import Preset
from tests.support.layout import lay_out

GLOB = load_preset("claude_code@2.1.37").tools(["Glob"])[0]
TOOLS = ["Glob", "Grep", "Edit"]


def pilot(root: Path, toml: str, **parts: str) -> Preset:
    """Load a preset with some parts."""
    files: dict[str, str | bytes] = {f"pilot/1.0.0/{name}.md": text for name, text in parts.items()}
    return load_preset("pilot", lay_out(root, {"pilot/1.0.0/preset.toml": f"format = 1\n{toml}\n", **files}))


def problems(root: Path, toml: str, **parts: str) -> list[str]:
    """Return the problems of a preset, without the file's name."""
    with pytest.raises(PresetError) as caught:
        pilot(root, toml, **parts)
    return [problem.removeprefix(f"{root}:pilot/1.0.0/preset.toml: ") for problem in caught.value.problems]


def names(prompt: Prompt) -> list[str]:
    """Return the names of the parts."""
    return [part.name for part in prompt.parts]


def test_the_profile_of_a_preset(tmp_path: Path) -> None:
    """`deepseek` loads files as the seed does, all others by the open convention unless they name a profile."""
    rows = "rows = [{ slot = 'append' }]\n"
    assert load_preset("deepseek").instructions == "deepseek"
    assert load_preset("claude_code").instructions == "agents"
    assert pilot(tmp_path / "a", rows).instructions == "agents"
    assert pilot(tmp_path / "b", "extends = 'deepseek@1.0.0'\n").instructions == "agents"
    own = lay_out(
        tmp_path / "c",
        {
            "one/1.0/preset.toml": f"format = 1\ninstructions = 'codex'\n{rows}",
            "two/1.0/preset.toml": "format = 1\nextends = 'one'\n",
        },
    )
    assert load_preset("two", own).instructions == "codex"
    assert problems(tmp_path / "d", f"instructions = 'codx'\n{rows}") == [
        "instructions: no profile 'codx'; did you mean codex?"
    ]


@pytest.mark.seed("004.31")
def test_004_b_claude_md_files_are_labelled(tmp_path: Path) -> None:
    """Each CLAUDE.md file stands under its path, the nearest first, so that a rule in one does not look like two."""
    lay_out(tmp_path, {"CLAUDE.md": "Use tabs.\n\n---\n\nStill the same file.\n", "sub/CLAUDE.md": "Use blanks.\n"})
    (tmp_path / ".git").mkdir()
    around = gather(tmp_path / "sub", git=False, claude_md=True)
    for version in bundled().versions("claude_code")[1:]:
        text = load_preset(f"claude_code@{version}").compose(around).static_prefix
        shown = ("sub/CLAUDE.md", "Use blanks.", "CLAUDE.md", "Use tabs.", "---\n\nStill")
        places = [text.rindex(each) for each in shown]
        assert places == sorted(places), version
        assert text.count("sub/CLAUDE.md") == 1
    seed = load_preset("claude_code@2.1.37").compose(around)
    assert "CLAUDE.md]" not in seed.text
    assert str(load_claude_md(tmp_path / "sub")) in seed.text


class TestFinding:
    """Which preset is loaded."""

    def test_bundled(self) -> None:
        """A bundled preset is found by name, version and specifier, and loaded once."""
        assert load_preset("claude_code@2.1.37") is load_preset("claude_code@2.1.37")
        assert load_preset("deepseek~=1.0.0").name == "deepseek@1.0.0"

    def test_unknown(self, tmp_path: Path) -> None:
        """An unknown preset is an error that lists the known ones; so is a family that has parts only."""
        lay_out(tmp_path, {"mine/1.0/preset.toml": "format = 1\nrows = [{ slot = 'append' }]\n"})
        with pytest.raises(UnknownPartError, match=r"no preset named 'nope'; there are: .*claude_code.*deepseek.*mine"):
            load_preset("nope", tmp_path)
        with pytest.raises(UnknownPartError, match="no preset named 'tiers'"):
            load_preset("tiers")
        with pytest.raises(UnknownPartError, match=r"no version of mine is 2; there are: 1\.0"):
            load_preset("mine@2", tmp_path)
        with pytest.raises(UnknownPartError, match="load_preset: ask takes NAME"):
            load_preset(None, tmp_path)  # type: ignore[arg-type]

    def test_a_bundled_family_is_not_defined_twice(self, tmp_path: Path) -> None:
        """An own folder extends a bundled family under another name."""
        lay_out(tmp_path, {"deepseek/9.0/preset.toml": "format = 1\nrows = [{ slot = 'append' }]\n"})
        with pytest.raises(PresetError, match="deepseek is bundled; extend it under another name"):
            load_preset("deepseek", tmp_path)

    def test_no_toml(self, tmp_path: Path) -> None:
        """A file that is not TOML is an error with its place."""
        assert "not TOML" in problems(tmp_path, "rows = [")[0]


class TestExtending:
    """`extends`, and the changes to what is extended."""

    def test_no_change_is_the_parent(self, tmp_path: Path) -> None:
        """Law 5: an extension without changes composes to its parent's text."""
        own = pilot(tmp_path, "extends = 'claude_code@2.1.37'")
        parent = load_preset("claude_code@2.1.37")
        assert own.extends == "claude_code@2.1.37"
        assert own.compose(tools=TOOLS, flags=["memory"]) == parent.compose(tools=TOOLS, flags=["memory"])

    def test_changes_in_order(self, tmp_path: Path) -> None:
        """Rows are added, replaced, removed, moved and set, each at its place."""
        own = pilot(
            tmp_path,
            """extends = "claude_code==2.1.37"
changes = [
  { replace = "conventions" },
  { add = "house_rules", after = "conventions", when = "tool:Glob and not dry_run" },
  { add = { text = "Hello ${TEAM}.", name = "hello", before = "\\n---\\n" }, before = "output_style" },
  { remove = "proactive" },
  { move = "verify", before = "censoring" },
  { set = "glob", when = "not dry_run" },
  { add = "last" },
]
[flags]
dry_run = "nothing is written"
[variables]
TEAM = "everyone"
""",
            conventions="Ours.\n",
            house_rules="House.\n",
            last="Last.\n",
        )
        prompt = own.compose(append="x")
        parent = load_preset("claude_code@2.1.37").compose(append="x")
        expected = [name for name in names(parent) if name not in ("proactive", "verify")]
        expected.insert(expected.index("censoring"), "verify")
        expected.insert(expected.index("conversational_style"), "glob")
        expected[-1:] = ["hello", "last", "append"]
        assert names(prompt) == expected
        texts = {part.name: part.text for part in prompt.parts}
        assert texts["conventions"] == "\n\nOurs."
        assert texts["hello"] == "\n---\nHello everyone."
        assert "house_rules" in names(own.compose(tools=["Glob"]))
        assert "glob" not in names(own.compose(tools=["Glob"], flags=["dry_run"]))

    def test_remove_then_add_is_nothing(self, tmp_path: Path) -> None:
        """Law 5: what is removed and added at its place has not changed."""
        toml = """extends = "claude_code@2.1.37"
changes = [{ remove = "verify" }, { add = { part = "verify", from = "claude_code@2.1.37" }, before = "no_litter" }]"""
        assert pilot(tmp_path, toml).compose() == load_preset("claude_code@2.1.37").compose()

    def test_every_wrong_target_is_told(self, tmp_path: Path) -> None:
        """Changes that name rows that do not exist are all told, with the nearest name."""
        toml = """extends = "claude_code@2.1.37"
changes = [{ remove = "proactiv" }, { move = "verify", after = "censorin" }, { set = "nope", when = "always" },
  { replace = "conventionss" }, { add = "a", before = "x", after = "y" }, { addd = "b" },
  { remove = "verify", when = "a" }]"""
        found = problems(tmp_path, toml, a="A.")
        assert [problem.partition(":")[0] for problem in found] == [f"change {n}" for n in (1, 2, 3, 4, 5, 6, 7)]
        assert "did you mean proactive?" in found[0]

    def test_a_case_a_tool_an_agent_and_a_reminder_are_replaced(self, tmp_path: Path) -> None:
        """`replace` also takes the files that are no row: the part of a case, a tool's description, an agent."""
        files: dict[str, str | bytes] = {
            "pilot/1.0.0/preset.toml": 'format = 1\nextends = "claude_code@2.1.37"\nchanges = [\n'
            '{ replace = "security_policy" }, { replace = "tools/Glob" }, { replace = "agents/explore" }]\n',
            "pilot/1.0.0/security_policy.md": "Our policy.\n",
            "pilot/1.0.0/tools/Glob.md": "Our glob.\n",
            "pilot/1.0.0/agents/explore.md": "Look.\n",
        }
        own = load_preset("pilot", lay_out(tmp_path, files))
        assert "\n\nOur policy.\n\n" in own.compose().text
        assert own.tools(["Glob"])[0]["description"] == "Our glob."
        assert own.agents()["explore"].text == "Look."

    def test_a_moved_original_is_noted(self, tmp_path: Path) -> None:
        """A replaced part remembers what it replaced, and says so when that has changed."""
        catalog = load_preset("claude_code@2.1.37").rows[0].files[0][1].catalog
        toml = "extends = 'claude_code@2.1.37'\nchanges = [{ replace = 'verify' }]"
        for digest, noted in ((sha256_hex(catalog.text("claude_code", "2.1.37", "verify")), 0), ("0" * 64, 1)):
            lay_out(tmp_path, {"pilot/1.0.0/overrides.toml": f'verify = "{digest}"\n'})
            notes = [note for note in pilot(tmp_path, toml, verify="Ours.\n").compose().notes if note.kind == "kept"]
            assert len(notes) == noted

    def test_inherited_rows(self, tmp_path: Path) -> None:
        """Rows of one's own can take over the parent's, one or a stretch of them."""
        toml = """extends = "deepseek@1.0.0"
rows = [{ text = "Mine.", name = "own" }, { inherit = "style" }, { inherit = "append.." }]"""
        assert [row.name for row in pilot(tmp_path, toml).rows] == ["own", "style", "append", "boundary", "project"]
        wrong = toml.replace('"style"', '"styles"')
        assert "no row 'styles' to inherit" in problems(tmp_path, wrong)[0]

    def test_a_released_preset_extends_one_version(self, tmp_path: Path) -> None:
        """A folder with a manifest names the version that it extends: its bytes would change with ours otherwise."""
        text = 'format = 1\nextends = "claude_code~=2.1"\n'
        lay_out(tmp_path, {"p/1/preset.toml": text, "MANIFEST": manifest_text({"p/1/preset.toml": text.encode()})})
        with pytest.raises(PresetError, match=r"a released preset extends one version: write NAME@VERSION"):
            load_preset("p", tmp_path)

    def test_a_circle(self, tmp_path: Path) -> None:
        """Presets that extend each other are refused."""
        lay_out(tmp_path, {
            "a/1/preset.toml": "format = 1\nextends = 'b'\n", "b/1/preset.toml": "format = 1\nextends = 'a'\n",
        })  # fmt: skip
        with pytest.raises(PresetError, match="a@1 extends b@1 extends a@1: a circle"):
            load_preset("a", tmp_path)

    def test_two_levels(self, tmp_path: Path) -> None:
        """An extension of an extension has the changes of both."""
        lay_out(tmp_path, {
            "a/1/preset.toml": "format = 1\nextends = 'claude_code@2.1.37'\nchanges = [{ remove = 'verify' }]\n",
            "b/1/preset.toml": "format = 1\nextends = 'a~=1.0'\nchanges = [{ remove = 'todo' }]\n",
        })  # fmt: skip
        rows = [row.name for row in load_preset("b", tmp_path).rows]
        assert "verify" not in rows
        assert "todo" not in rows


class TestOverrides:
    """A folder of a bundled family without `preset.toml`: each file replaces one of ours."""

    def test_files(self, tmp_path: Path) -> None:
        """Parts, descriptions and schemas are replaced one by one, and a note says what is not recorded."""
        lay_out(tmp_path, {
            "claude_code/2.1.37/verify.md": "Mine.\r\n",
            "claude_code/2.1.37/tools/Glob.json": '{"type": "object"}',
        })  # fmt: skip
        own = load_preset("claude_code@2.1.37", tmp_path)
        prompt = own.compose(tools=["Glob"])
        assert "\n\nMine.\n\n" in prompt.text
        assert prompt.tools[0]["input_schema"] == {"type": "object"}
        assert prompt.tools[0]["description"] == GLOB["description"]
        detail = "an override; overrides.toml does not say what it was written against"
        assert [note for note in prompt.notes if note.kind == "kept"] == [
            Note("kept", f"{tmp_path}:claude_code/2.1.37/{path}", detail) for path in ("verify.md", "tools/Glob.json")
        ]

    def test_misspelt_files(self, tmp_path: Path) -> None:
        """A file that replaces nothing is an error, and so are all of them together."""
        lay_out(tmp_path, {f"claude_code/2.1.37/{path}": "x" for path in ("verfy.md", "agents/explor.md", "a.txt")})
        with pytest.raises(PresetError) as caught:
            load_preset("claude_code@2.1.37", tmp_path)
        assert len(caught.value.problems) == 3
        assert "did you mean explore" in str(caught.value).replace("agents/", "")

    def test_not_utf8(self, tmp_path: Path) -> None:
        """A file that is not UTF-8 is refused when it is used."""
        lay_out(tmp_path, {"claude_code/2.1.37/verify.md": b"\xff"})
        with pytest.raises(AssetError, match=r"verify\.md: not UTF-8 at byte 0"):
            load_preset("claude_code@2.1.37", from_folder(tmp_path)).compose()


GOOD = """
rows = [
  { part = "one" },
  { part = "two", when = "dry_run" },
  { each = "servers", item = "item" },
  { boundary = true },
  { slot = "project" },
]
[flags]
dry_run = "nothing is written"
[variables]
TEAM = "everyone"
WORD = { cases = [{ when = "dry_run", text = "dry" }] }
[lists]
servers = { fields = ["NAME"], sort = "NAME" }
[tools]
Deploy = {}
"""
PARTS: dict[str, str | bytes] = {
    "one.md": "${TEAM} ${WORD}\n",
    "two.md": "Two.\n",
    "item.md": "- ${NAME}\n",
    "tools/Deploy.md": "Deploys.\n",
    "tools/Deploy.json": '{"type": "object", "properties": {}}',
}


def good(root: Path, *changes: tuple[str, str], files: dict[str, str | bytes | None] | None = None) -> Preset:
    """Load the good preset with some faults planted."""
    toml = GOOD
    for old, new in changes:
        assert old in toml, old
        toml = toml.replace(old, new)
    laid = {name: text for name, text in {**PARTS, **(files or {})}.items() if text is not None}
    lay_out(root, {"p/1/preset.toml": f"format = 1\n{toml}", **{f"p/1/{name}": text for name, text in laid.items()}})
    return load_preset("p", root)


CASES: list[tuple[str, tuple[str, str] | None, dict[str, str | bytes | None], str]] = [
    ("unknown key of the file", ("rows = [", "colour = 1\nrows = ["), {}, "no key 'colour' here"),
    ("unknown key of a row", ('{ part = "one" }', '{ part = "one", wen = "a" }'), {}, "row one: no key 'wen' here"),
    ("no kind", ('{ part = "one" }', '{ name = "one" }'), {}, "this row has none; a row has exactly one"),
    ("two kinds", ('{ part = "one" }', '{ part = "one", slot = "append" }'), {}, "row 1: this row has part and slot"),
    ("duplicate name", ('{ part = "two", ', '{ part = "two", name = "one", '), {}, "row one: 2 rows have this name"),
    ("unreadable condition", ('"dry_run" }', '"dry_run and" }'), {}, "'dry_run and': a word is missing"),
    ("unknown flag", ('when = "dry_run" }', 'when = "dryrun" }'), {}, "no flag 'dryrun'"),
    ("unknown list word", ('when = "dry_run" }', 'when = "dry_run or list:server" }'), {}, "no list 'server'"),
    ("unknown variable word", ('when = "dry_run" }', 'when = "dry_run or set:TEEM" }'), {}, "no variable 'TEEM'"),
    ("misspelt tool", ('when = "dry_run" }', 'when = "dry_run or tool:Deplo" }'), {}, "did you mean Deploy?"),
    ("missing file", None, {"two.md": None}, "there is no file p/1/two.md"),
    ("undeclared variable", None, {"two.md": "${TEEM}"}, "row two: two.md: ${TEEM} is not declared; did you mean TEAM"),
    ("unused variable", ("[variables]", "[variables]\nTONE = 'x'"), {}, "variable TONE: no part uses it"),
    ("misspelt name", ("[variables]", "[variables]\ntone = 'x'"), {}, "variable tone: a name is capital letters"),
    ("cyclic variable", ('text = "dry"', 'text = "${WORD}"'), {}, "variable WORD: its text leads back to itself"),
    ("built-in name", ("[variables]", "[variables]\nCWD = 'x'"), {}, "variable CWD: every preset has this variable"),
    ("bad pace", ('{ part = "one" }', '{ part = "one", pace = "slow" }'), {}, "row one: pace is one of"),
    ("fast before slow", ('{ part = "one" }', '{ part = "one", pace = "turn" }'), {}, "comes before part"),
    ("fast variable", None, {"one.md": "${TEAM} ${WORD} ${BRANCH}\n"}, "part 'one' (pace TURN) comes before"),
    ("file nobody refers to", None, {"twoo.md": "x"}, "twoo.md: nothing refers to this file; did you mean two.md?"),
    ("agent nobody refers to", None, {"agents/explor.md": "x"}, "agents/explor.md: nothing refers to this file"),
    ("no schema", None, {"tools/Deploy.json": "{"}, "tools/Deploy.json:1: not JSON"),
    ("no object", None, {"tools/Deploy.json": '{"type": "string"}'}, "tools/Deploy.json is no JSON Schema"),
    ("unused flag", ("[flags]", "[flags]\nsmall = 'x'"), {}, "flag small: no condition asks for small"),
    ("unknown list", ('each = "servers"', 'each = "server"'), {}, "row server: no list 'server'"),
    ("unknown slot", ('slot = "project"', 'slot = "projects"'), {}, "row projects: no slot 'projects'"),
    ("bad sort", ('sort = "NAME"', 'sort = "AGE"'), {}, "list servers: sort = 'AGE' is none of its fields"),
    ("no format", ("rows = [", "format = 2\nrows = ["), {}, "Cannot overwrite a value"),
    ("changes of nothing", ("rows = [", "changes = [{ remove = 'one' }]\nrows = ["), {}, "there is nothing to change"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "files", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_planted_fault_is_told(
    change: tuple[str, str] | None, files: dict[str, str | bytes | None], said: str, tmp_path: Path
) -> None:
    """Each fault is told with its place, and the preset without it is good."""
    assert good(tmp_path / "good").compose().text
    with pytest.raises(PresetError) as caught:
        good(tmp_path / "bad", *([change] if change else []), files=files)
    assert any(said in problem for problem in caught.value.problems), caught.value.problems
    assert all("p/1/" in problem for problem in caught.value.problems)


def test_all_planted_faults_are_told_at_once(tmp_path: Path) -> None:
    """Law 8: k faults are at least k problems in one error."""
    taken = (
        "unknown key of a row", "unknown variable word", "unused variable", "cyclic variable", "unused flag",
        "bad sort", "file nobody refers to", "agent nobody refers to", "no schema", "undeclared variable",
    )  # fmt: skip
    cases = [case for case in CASES if case[0] in taken]
    assert len(cases) == len(taken)
    changes = [change for _, change, _, _ in cases if change]
    files = {name: text for _, _, planted, _ in cases for name, text in planted.items()}
    with pytest.raises(PresetError) as caught:
        good(tmp_path, *changes, files=files)
    assert len(caught.value.problems) >= len(cases)
    for name, _, _, said in cases:
        assert any(said in problem for problem in caught.value.problems), name
