"""Composing presets: the seeds' functions byte for byte, and what a caller's text can and cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    InstructionFile,
    McpServer,
    Note,
    Pace,
    Part,
    PresetError,
    ProjectContext,
    PromptAssemblyConfig,
    SlashCommand,
    Surroundings,
    SystemPromptBuilder,
    SystemPromptConfig,
    compose_system_prompt,
    load_preset,
)
from deepprompt.errors import BudgetError
from deepprompt.sources.instructions import InstructionFiles
from deepprompt.sources.skills import Skill, SkillStore
from tests.support.examples import examples
from tests.support.layout import lay_out

# Text as bad as it gets: any code points, lone surrogates too, and pieces of our own structure.
texts = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=8),
        st.sampled_from(
            [
                DYNAMIC_CONTEXT_BOUNDARY,
                DYNAMIC_CONTEXT_BOUNDARY.strip(),
                "=== DYNAMIC",
                " CONTEXT (per-turn, do not cache) ===\n",
                "${CWD}",
                "${PATH}",
                "\\",
                "\r\n",
                "\n",
                "\ud800",
                "\u200b",
                "<system>",
                "\n## Project\n",
            ]
        ),
    ),
    max_size=4,
).map("".join)
columns = texts.map(lambda text: text.encode("utf-8", "replace").decode())  # a loader lets no surrogate past
skills = st.builds(Skill, *[columns] * 4, st.lists(columns, max_size=2).map(tuple), st.just("/p"), st.just("skills/a"))


@examples(300)
@given(
    files=st.lists(st.builds(InstructionFile, texts, texts), max_size=3),
    found=st.lists(skills, max_size=2),
    append=texts,
    base=texts,
    project=st.builds(ProjectContext, *[texts] * 8),
)
def test_deepseek_is_the_builder(
    files: list[InstructionFile], found: list[Skill], append: str, base: str, project: ProjectContext
) -> None:
    """Law 1: `deepseek@1.0.0` composed is what the builder builds, part by part, for any input."""
    builder = SystemPromptBuilder(base, files, SkillStore(found).index_text(), project, append=append)
    # Any text in a git field means that git is shown, as the builder always does.
    around = Surroundings(InstructionFiles(files), SkillStore(found), project)
    expected = builder.compose()
    shown = expected.parts if around.shows_git else expected.parts[:-2]
    prompt = load_preset("deepseek@1.0.0").compose(around, append=append, base=base)
    assert [(part.name, part.text, part.pace) for part in prompt.parts] == [
        (part.name, part.text, part.pace) for part in shown
    ]
    assert prompt.static_prefix == expected.static_prefix


@examples(300)
@given(
    config=st.builds(
        PromptAssemblyConfig,
        st.builds(SystemPromptConfig, append=texts),
        cwd=texts,
        os=texts,
        shell=texts,
        enabled_tools=st.lists(
            st.sampled_from(["Bash", "Edit", "FileEdit", "Glob", "Grep", "TodoWrite", "mcp__a", "Own"]), max_size=4
        ),
        sessions_enabled=st.booleans(),
        memory_enabled=st.booleans(),
        mcp_servers=st.lists(st.builds(McpServer, texts, texts, st.lists(texts, max_size=2).map(tuple)), max_size=2),
        slash_commands=st.lists(st.builds(SlashCommand, texts, texts), max_size=2),
        claude_md_content=texts,
        output_style=texts,
    ),
    order=st.sampled_from(["algorithm", "catalog"]),
)
def test_claude_code_is_the_assembler(config: PromptAssemblyConfig, order: str) -> None:
    """Law 2: `claude_code@2.1.37` in both orders is what the assembler assembles, for any configuration."""
    expected = compose_system_prompt(config, order)  # type: ignore[arg-type]
    flags = [name for name, on in (("sessions", config.sessions_enabled), ("memory", config.memory_enabled)) if on]
    machine = ProjectContext(cwd=str(config.cwd), os_name=config.os, shell=config.shell)
    prompt = (
        load_preset("claude_code@2.1.37")
        .ordered(order)
        .compose(
            Surroundings(project=machine, claude_md=config.claude_md_content),
            tools=config.enabled_tools,
            flags=flags,
            variables={"OS": config.os} if config.os else {},  # as it was given, blanks and all
            mcp=config.mcp_servers,
            commands=config.slash_commands,
            output_style=config.output_style,
            append=config.system_prompt.append,
        )
    )
    assert prompt.parts == expected.parts
    assert prompt.tools == expected.tools
    assert [note for note in prompt.notes if note.kind == "pace"] == [
        note for note in expected.notes if note.kind == "pace"
    ]


PILOT: dict[str, str | bytes] = {
    "pilot/1.0/preset.toml": """
format = 1
about = "Pilot maintains web shops"
rows = [
  { part = "identity" },
  { part = "dry", when = "dry_run" },
  { text = "Write in ${TONE}.", name = "tone" },
  { each = "servers", frame = "servers", item = "server" },
  { slot = "append" },
  { boundary = true },
  { slot = "project" },
  { text = "\\n- team: ${TEAM} ${DATE}\\n", name = "facts", pace = "turn" },
]
[flags]
dry_run = "nothing is written"
channel = ["slack", "email"]
[variables]
TEAM = { about = "who decides" }
NOTE = { cases = [{ when = "item:production", text = "careful with ${NAME}" }] }
[variables.TONE]
cases = [{ when = "channel:slack", text = "short lines" }, { when = "channel:email", text = "letters" },
  { text = "prose" }]
[lists]
servers = { fields = ["NAME", "NOTES"], flags = ["production"], sort = "NAME" }
""",
    "pilot/1.0/identity.md": "You are Pilot.\n",
    "pilot/1.0/dry.md": "Write nothing.\n",
    "pilot/1.0/servers.md": "# Servers\n",
    "pilot/1.0/server.md": "- ${NAME}\n${NOTES}\n${NOTE}\n",
}


@pytest.fixture(name="pilot")
def _pilot(tmp_path: Path) -> Path:
    return lay_out(tmp_path, PILOT)


def test_flags_cases_and_lists(pilot: Path) -> None:
    """Rows and cases follow flags; a list is sorted, framed and shown item by item; a silent case takes its line."""
    prompt = load_preset("pilot", pilot).compose(
        flags=["dry_run", "channel:slack"],
        variables={"TEAM": "the shop\nteam"},
        lists={"servers": [{"NAME": "web", "NOTES": "a\nb", "production": True}, {"NAME": "db", "NOTES": ""}]},
    )
    assert prompt.static_prefix == (
        "You are Pilot.\n\nWrite nothing.\n\nWrite in short lines.\n\n# Servers\n- db\n\n- web\na\nb\ncareful with web"
    )
    assert prompt.dynamic_suffix == "\n- team: the shop team unknown\n"
    assert [part.name for part in prompt.parts] == [
        "identity", "dry", "tone", "servers", "servers db", "servers web", "boundary", "facts",
    ]  # fmt: skip


def test_a_value_keeps_its_last_newline_in_a_case(tmp_path: Path) -> None:
    """In a block, a case drops its own last newline, not one of a value; a newline alone is an empty line."""
    toml = """format = 1
rows = [{ text = "a\\n${HOW}\\nb", name = "x" }]
[flags]
quiet = "says nothing"
gap = "an empty line"
[variables]
HOW = { cases = [{ when = "quiet", text = "" }, { when = "gap", text = "\\n" }, { text = "${V}" }] }
V = "v"
"""
    preset = load_preset("p", lay_out(tmp_path, {"p/1/preset.toml": toml}))
    assert preset.compose(variables={"V": "1\n"}).text == "a\n1\n\nb"
    assert preset.compose().text == "a\nv\nb"
    assert preset.compose(flags=["quiet"]).text == "a\nb"
    assert preset.compose(flags=["gap"]).text == "a\n\nb"


def test_everything_wrong_is_one_error(pilot: Path) -> None:
    """Unknown flags, variables and lists, wrong items and missing values are told together, with suggestions."""
    with pytest.raises(PresetError) as caught:
        load_preset("pilot", pilot).compose(
            flags=["dryrun", "channel:slack", "channel:email"],
            variables={"TEEM": "x", "TONE": 3},  # type: ignore[dict-item]
            lists={"server": [], "servers": [{"NAME": "a", "NOTE": "b"}]},
        )
    assert [problem.removeprefix("preset pilot@1.0: ") for problem in caught.value.problems] == [
        "no flag 'dryrun'; there are: dry_run, channel:slack, channel:email",
        "flags channel:slack and channel:email exclude each other",
        "no variable 'TEEM'; did you mean TEAM?",
        "variable TONE takes text, not 3",
        "no list 'server'; there are: servers",
        "list servers[0]: no field 'NOTE'; there are: NAME, NOTES, production",
        "list servers[0]: no NOTES",
        "part 'facts' needs a value for TEAM",
    ]


@examples(100)
@given(value=texts)
def test_a_value_never_expands_and_never_forges(value: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Law 7: a value stands once, tamed, where its variable stands, and the rest of the prompt does not move."""
    pilot = load_preset("pilot", _once(tmp_path_factory))
    plain = pilot.compose(variables={"TEAM": "TEAM-VALUE"})
    prompt = pilot.compose(variables={"TEAM": value})
    before, _, after = plain.text.partition("TEAM-VALUE")
    assert prompt.text.startswith(before)
    assert prompt.text.endswith(after)
    inserted = prompt.text[len(before) : len(prompt.text) - len(after)]
    assert "\n" not in inserted
    assert prompt.text.count(DYNAMIC_CONTEXT_BOUNDARY) == 1
    assert [part.name for part in prompt.parts] == [part.name for part in plain.parts]


def _once(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp() / "pilot-law-7"
    return folder if folder.exists() else lay_out(folder, PILOT)


@pytest.mark.parametrize("ask", ["deepseek@1.0.0", "claude_code@2.1.37"])
class TestOwnText:
    """`custom`, `base` and `append`, for every preset."""

    @pytest.mark.parametrize("custom", ["Mine.", " ", "${CWD}\r\n", DYNAMIC_CONTEXT_BOUNDARY])
    def test_custom_is_verbatim_and_keeps_the_tools(self, ask: str, custom: str) -> None:
        """Law 10: custom text is the whole prompt, byte for byte, with the tools."""
        preset = load_preset(ask)
        own = {"name": "Own", "description": "x", "input_schema": {"type": "object"}}
        prompt = preset.compose(tools=["Bash", own], custom=custom)
        assert prompt.text == custom
        assert "Own" in [tool["name"] for tool in prompt.tools]
        assert [tool for tool in prompt.tools if tool["name"] == "Bash"] == preset.tools(["Bash"])

    def test_append_adds_one_part(self, ask: str) -> None:
        """Law 10: appended text adds one part, and moves nothing before it."""
        preset = load_preset(ask)
        around = Surroundings(project=ProjectContext(cwd="/p"))
        plain, added = preset.compose(around), preset.compose(around, append="Mine ${CWD}.")
        assert [part for part in added.parts if part.name != "append"] == list(plain.parts)
        assert [part.text for part in added.parts if part.name == "append"] == ["\n\nMine ${CWD}."]
        assert added.static_parts[-1].name == "append"

    def test_base_leaves_all_slots(self, ask: str) -> None:
        """Law 10: a base replaces the wording before the boundary, and nothing else."""
        preset = load_preset(ask)
        files = InstructionFiles([InstructionFile("AGENTS.md", "Be kind.")])
        around = Surroundings(files, project=ProjectContext(cwd="/p"))
        wording = {row.name for row in preset.rows if row.kind in ("part", "text")}
        plain, own = preset.compose(around, append="x"), preset.compose(around, append="x", base="Mine.")
        assert own.parts[0] == Part("base", "Mine.", Pace.RELEASE, "argument:base")
        assert list(own.parts[1:]) == [part for part in plain.parts if part.name not in wording]

    def test_a_budget(self, ask: str) -> None:
        """A budget covers what is returned."""
        with pytest.raises(BudgetError, match="the budget is 1; largest parts: custom 2"):
            load_preset(ask).compose(custom="12345678", budget=1)


def test_what_was_given_and_is_not_shown_is_noted() -> None:
    """Nothing that a caller gave is dropped without a note."""
    around = Surroundings(InstructionFiles([InstructionFile("AGENTS.md", "x")]), claude_md="y")
    prompt = load_preset("claude_code@2.1.37").compose(around, tools=["Nonsense", "Globb"], variables={"VERSION": "1"})
    unknown = "claude_code@2.1.37 has no such tool: your program has to define it"
    assert [note for note in prompt.notes if note.kind != "pace"] == [
        Note("kept", "tool Globb", f"{unknown}; did you mean 'Glob'?"),
        Note("kept", "tool Nonsense", unknown),
        Note("skipped", "variable VERSION", "no row of claude_code@2.1.37 shows this"),
        Note("skipped", "instruction files", "no row of claude_code@2.1.37 shows this"),
    ]
    prompt = load_preset("deepseek@1.0.0").compose(around, output_style="Rhyme.", mcp=[McpServer("a")])
    assert [note.source for note in prompt.notes] == ["MCP servers", "output style", "CLAUDE.md"]


def test_the_wording_is_written_for_a_model() -> None:
    """A model that the wording was not written for is noted."""
    deepseek = load_preset("deepseek@1.0.0")
    assert deepseek.compose(model="deepseek-chat").notes == ()
    assert deepseek.compose(model="openrouter/DeepSeek-V3").notes == ()
    assert [note.kind for note in deepseek.compose(model="gpt-5").notes] == ["model"]


def test_notes_of_the_surroundings_are_there_once() -> None:
    """Law 11: the notes of what was gathered come first, once each."""
    note = Note("cut", "AGENTS.md", "too long")
    around = Surroundings(InstructionFiles([InstructionFile("AGENTS.md", "x")], [note]))
    assert load_preset("deepseek@1.0.0").compose(around).notes == (note,)


def test_a_turn_writes_only_what_changed() -> None:
    """The parts before the boundary are the same objects while nothing that they show has changed."""
    preset = load_preset("deepseek@1.0.0")
    files = InstructionFiles([InstructionFile("AGENTS.md", "x")])
    skills = SkillStore()
    first, second = (
        preset.compose(Surroundings(files, skills, ProjectContext(cwd="/p", active_branch=branch)), append="y")
        for branch in ("one", "two")
    )
    assert all(one is two for one, two in zip(first.static_parts, second.static_parts, strict=True))
    assert "- branch: two\n" in second.dynamic_suffix
    files[0] = InstructionFile("AGENTS.md", "changed")
    assert "changed" in preset.compose(Surroundings(files), append="y").static_prefix


def test_a_row_that_shows_the_folder_is_written_again(tmp_path: Path) -> None:
    """Text before the boundary that depends on the project follows the project."""
    toml = "format = 1\nrows = [{ text = 'In ${CWD}.', name = 'place' }, { boundary = true }, { slot = 'project' }]\n"
    preset = load_preset("p", lay_out(tmp_path, {"p/1/preset.toml": toml}))
    for cwd in ("/a", "/b", "/a"):
        prompt = preset.compose(Surroundings(project=ProjectContext(cwd=cwd)))
        assert prompt.static_prefix == f"In {cwd}."
        assert prompt.parts[0].pace is Pace.SESSION


def test_choices_say_why() -> None:
    """Every row is listed, in or out, with the state of each word of its condition."""
    listed = {choice.row.name: choice for choice in load_preset("claude_code@2.1.37").choices(tools=["Glob"])}
    assert (listed["glob"].chosen, listed["glob"].why) == (True, "tool:Glob is on")
    assert (listed["grep"].chosen, listed["grep"].why) == (False, "tool:Grep is off")
    assert (listed["main"].chosen, listed["main"].why) == (True, "always")


def test_items_beyond_a_limit(tmp_path: Path) -> None:
    """A list that is longer than its limit ends with a line that says how many are not shown, and a note."""
    files: Mapping[str, str | bytes] = {
        "p/1/preset.toml": "format = 1\nrows = [{ each = 'a', item = 'one', more = 'more', end = 'end', limit = 6 }]\n"
        "[lists]\na = { fields = ['NAME'] }\n",
        "p/1/one.md": "- ${NAME}\n",
        "p/1/more.md": "and ${COUNT} more\n",
        "p/1/end.md": "That is all.\n",
    }
    preset = load_preset("p", lay_out(tmp_path, dict(files)))
    prompt = preset.compose(lists={"a": [{"NAME": name} for name in "abcd"]})
    assert prompt.text == "- a\n- b\nand 2 more\nThat is all."
    assert prompt.notes == (Note("cut", "a", "2 of 4 are not shown: the limit is 6"),)
    assert preset.compose().text == ""
