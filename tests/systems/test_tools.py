"""The tools of the preset catalogue: names, aliases, definitions, and the sizes of all bundled files."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import estimate_tokens
from deepprompt.catalog import SUFFIX, bundled
from deepprompt.errors import PresetError
from deepprompt.prompt import Note
from deepprompt.systems.changes import files_of
from deepprompt.systems.presets import Preset, load_preset
from deepprompt.systems.tools import Toolset, tool_definitions
from tests.support.examples import examples
from tests.support.layout import lay_out

VERSION = ("claude_code", "2.1.37")
PRESET = load_preset("claude_code@2.1.37")

ALIASES = {"Read": "FileRead", "Write": "FileWrite", "Edit": "FileEdit", "Task": "Agent"}

# The seed's token figures, sections 3.1, 3.2 and 3.3.
MAIN_TOKENS = {
    "main": 269,
    "past_sessions": 352,
    "agent_memory": 337,
    "censoring": 98,
    "claude_md": 295,
    "conversational_style": 236,
    "slash_commands": 155,
    "no_litter": 81,
    "environment": 387,
    "file_read_limits": 34,
    "glob": 205,
    "grep": 235,
    "large_files": 187,
    "proactive": 179,
    "conventions": 98,
    "search_replace": 112,
    "todo": 247,
    "tool_formatting": 53,
    "verify": 85,
}
TOOL_TOKENS = {
    "Bash": 489,
    "FileRead": 374,
    "FileWrite": 277,
    "FileEdit": 536,
    "Glob": 179,
    "Grep": 548,
    "Agent": 294,
    "WebSearch": 138,
    "WebFetch": 196,
    "TodoWrite": 152,
    "NotebookEdit": 231,
    "AskUserQuestion": 186,
    "ListMcpResources": 72,
    "ReadMcpResource": 81,
    "Config": 94,
}
AGENT_TOKENS = {
    "explore": 516,
    "plan_mode": 633,
    "task": 294,
    "webfetch_summarizer": 185,
    "agent_creation": 1110,
    "claude_md_creation": 384,
    "status_line": 1460,
    "remember": 1048,
    "session_search": 439,
    "session_memory": 756,
    "session_title": 307,
    "magic_docs": 718,
    "sentiment": 205,
    "pr_comments": 402,
    "review_pr": 243,
    "security_review": 2610,
    "agent_summary": 184,
}
TOKENS = {
    **MAIN_TOKENS,
    **{f"tools/{name}": tokens for name, tokens in TOOL_TOKENS.items()},
    **{f"agents/{name}": tokens for name, tokens in AGENT_TOKENS.items()},
}

NAMES = st.sampled_from([*TOOL_TOKENS, *ALIASES, "mcp__db__query", "Deploy", "glob"])


def schemas_in(schema: Any) -> list[Any]:
    """Return a schema and all the object schemas inside it."""
    found = [schema] if schema.get("type") == "object" else []
    inner = [*schema.get("properties", {}).values()] + ([schema["items"]] if "items" in schema else [])
    return found + [object_schema for one in inner for object_schema in schemas_in(one)]


@pytest.mark.seed("004.6")
def test_size() -> None:
    """A bundled file is within a quarter of the seed's token figure."""
    found = {part: estimate_tokens(bundled().text(*VERSION, part)) for part in TOKENS}
    assert [
        f"{part} has {found[part]} tokens, the seed says {tokens}"
        for part, tokens in TOKENS.items()
        if not 0.75 * tokens <= found[part] <= 1.25 * tokens
    ] == []


def test_every_file_is_in_the_preset() -> None:
    """No file of the catalogue is unreferenced, and none that the preset names is missing."""
    parts = [name for name in files_of(PRESET) if not name.endswith(".json")]
    assert sorted(parts) == sorted(bundled().names(*VERSION))


@pytest.mark.seed("004.10")
def test_known_tools() -> None:
    """Every tool of the seed is known by its name, and four of them by a second one."""
    known = {name: tool.name for tool in PRESET.own_tools.values() for name in (tool.name, *tool.names)}
    assert known == {name: name for name in TOOL_TOKENS} | ALIASES


@pytest.mark.parametrize("tool", TOOL_TOKENS)
def test_definition(tool: str) -> None:
    """A definition has the tool's name, its description without the last newline, and its schema."""
    (definition,) = tool_definitions([tool])
    assert list(definition) == ["name", "description", "input_schema"]
    assert definition["name"] == tool
    assert definition["description"] + "\n" == bundled().text(*VERSION, f"tools/{tool}")
    assert definition["description"].strip() == definition["description"]
    assert definition["input_schema"] == json.loads(bundled().file(*VERSION, f"tools/{tool}.json"))


@pytest.mark.seed("004.10")
@pytest.mark.parametrize("tool", TOOL_TOKENS)
def test_schema(tool: str) -> None:
    """A schema is a JSON object, closed, whose required keys are all properties, and so is each one inside it."""
    schema: Any = json.loads(bundled().file(*VERSION, f"tools/{tool}.json"))
    assert schema["type"] == "object"
    for inner in schemas_in(schema):
        assert isinstance(inner["properties"], dict)
        assert isinstance(inner["required"], list)
        assert set(inner["required"]) <= set(inner["properties"])
        assert len(set(inner["required"])) == len(inner["required"])
        assert inner["additionalProperties"] is False
        for name, value in inner["properties"].items():
            assert value.get("description"), f"{tool}: {name} has no description"


@pytest.mark.parametrize(("alias", "tool"), ALIASES.items())
def test_alias(alias: str, tool: str) -> None:
    """An alias enables the tool, and its definition has the name that the runtime gave."""
    assert tool in Toolset(PRESET, [alias])
    (definition,) = tool_definitions([alias])
    assert definition == {**tool_definitions([tool])[0], "name": alias}


@pytest.mark.parametrize(("alias", "tool"), ALIASES.items())
def test_two_names_of_one_tool(alias: str, tool: str) -> None:
    """A tool that is enabled by both its names appears once, by its own, in either order."""
    assert tool_definitions([alias, tool]) == tool_definitions([tool, alias]) == tool_definitions([tool])


def test_sorted_by_name() -> None:
    """Definitions are sorted by the name that they have, an alias by itself."""
    names = [definition["name"] for definition in tool_definitions([*TOOL_TOKENS, "Task"])]
    assert names == sorted(TOOL_TOKENS)
    assert [one["name"] for one in tool_definitions(["Write", "Task", "Glob", "Bash"])] == [
        "Bash",
        "Glob",
        "Task",
        "Write",
    ]


def test_none() -> None:
    """Without tools there are no definitions and no notes."""
    assert (tool_definitions([]), Toolset(PRESET, ()).notes(), "Glob" in Toolset(PRESET, ())) == ([], [], False)


def test_one_name_as_text() -> None:
    """A text where several names could be is one name, not its letters."""
    assert tool_definitions("Glob") == tool_definitions(["Glob"])


@pytest.mark.parametrize("name", ["mcp__db__query", "mcp__Glob__Glob", "Deploy", "Zebra", ""])
def test_own_tool(name: str) -> None:
    """A runtime's own tool is welcome: it has no definition here, and all but an MCP server's tool is noted."""
    toolset = Toolset(PRESET, [name])
    detail = "claude_code@2.1.37 has no such tool: your program has to define it"
    assert toolset.notes() == ([] if name.startswith("mcp__") else [Note("kept", f"tool {name}", detail)])
    assert (toolset.definitions(), name in toolset) == ([], True)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("glob", "Glob"), ("BASH", "Bash"), ("Greep", "Grep"), ("WebSerch", "WebSearch"), ("todowrite", "TodoWrite"),
     ("FileEditor", "FileEdit"), ("edit", "Edit")],
)  # fmt: skip
def test_near_miss(name: str, meant: str) -> None:
    """A near miss of a known name is taken for a tool of the runtime's own, and noted."""
    toolset = Toolset(PRESET, [name])
    detail = f"claude_code@2.1.37 has no such tool: your program has to define it; did you mean {meant!r}?"
    assert toolset.notes() == [Note("kept", f"tool {name}", detail)]
    assert toolset.definitions() == []
    assert meant not in toolset


def test_definitions_are_fresh() -> None:
    """Who changes a definition changes nobody else's."""
    (definition,) = tool_definitions(["Glob"])
    definition["input_schema"]["properties"].clear()
    definition["name"] = "other"
    assert tool_definitions(["Glob"])[0]["input_schema"]["properties"]


def test_a_near_miss_is_warned_of() -> None:
    """A misspelt tool is not left out in silence: the warning says what was meant, and stands where the call does."""
    detail = "claude_code@2.1.37 has no such tool: your program has to define it"
    said = f"tool Greb is left out: {detail}; did you mean 'Grep'?"
    with pytest.warns(UserWarning) as caught:
        definitions = tool_definitions(["Read", "Greb", "deploy_to_production"])
    assert [definition["name"] for definition in definitions] == ["Read"]
    assert [(str(warning.message), warning.filename) for warning in caught] == [(said, __file__)]


@examples(60)
@given(names=st.lists(NAMES, max_size=10), data=st.data())
def test_order_given_does_not_matter(names: list[str], data: st.DataObject) -> None:
    """However the enabled tools are ordered or repeated, definitions and notes are the same bytes."""
    other = data.draw(st.permutations(names + names[:2]))
    with warnings.catch_warnings(action="ignore"):
        assert json.dumps(tool_definitions(names)) == json.dumps(tool_definitions(iter(other)))
    assert Toolset(PRESET, names).notes() == Toolset(PRESET, other).notes()


def test_every_tool_has_both_files() -> None:
    """Each tool has a description and a schema."""
    for tool in TOOL_TOKENS:
        assert bundled().has(*VERSION, f"tools/{tool}{SUFFIX}")
        assert bundled().has(*VERSION, f"tools/{tool}.json")


NAMING = """\
format = 1
rows = [{ part = "main" }]
[tools]
FileRead = { names = ["Read"], variable = "READ" }
Grep = { variable = "GREP" }
[agents]
helper = {}
[reminders]
ping = { trigger = "ping" }
"""
NAMING_FILES = {
    "preset.toml": NAMING,
    "main.md": "Use ${READ}, then ${GREP}.\n",
    "tools/FileRead.md": "Reads. Find places with ${GREP}; ${HOME} stays.\n",
    "tools/FileRead.json": '{"type": "object"}\n',
    "tools/Grep.md": "Searches. Open hits with ${READ}.\n",
    "tools/Grep.json": '{"type": "object"}\n',
    "agents/helper.md": "You have ${READ}.\n",
    "reminders/ping.md": "Call ${READ} on `${PATH}`.\n",
}


class TestNames:
    """Texts name tools by variables, so that prose and definitions agree."""

    @pytest.fixture
    def naming(self, tmp_path: Path) -> Preset:
        """A preset whose texts name its tools."""
        return load_preset("own", lay_out(tmp_path, {f"own/1.0.0/{name}": text for name, text in NAMING_FILES.items()}))

    @pytest.mark.parametrize(
        ("tools", "variables", "read", "grep"),
        [
            (["FileRead", "Grep"], {}, "FileRead", "Grep"),
            (["Read", "Grep"], {}, "Read", "Grep"),
            (["Read", "Grep"], {"READ": "read_file", "GREP": "search-text"}, "read_file", "search-text"),
            (["FileRead"], {}, "FileRead", "Grep"),
        ],
    )
    def test_prose_and_definitions_agree(
        self, naming: Preset, tools: list[str], variables: dict[str, str], read: str, grep: str
    ) -> None:
        """The name that was enabled, or that the caller gave, stands in the prompt and in every description."""
        prompt = naming.compose(tools=tools, variables=variables)
        described = {str(tool["name"]): str(tool["description"]) for tool in prompt.tools}
        assert prompt.text == f"Use {read}, then {grep}."
        assert described[read] == f"Reads. Find places with {grep}; ${{HOME}} stays."
        assert described.get(grep, f"Searches. Open hits with {read}.") == f"Searches. Open hits with {read}."
        assert prompt.notes == ()

    def test_agents_and_reminders(self, naming: Preset) -> None:
        """They call a tool by the name that the runtime enabled."""
        assert naming.agent("helper", tools=["Read"]).text == "You have Read."
        assert naming.agent("helper").text == "You have FileRead."
        assert "Call Read on `a.py`." in naming.reminder("ping", tools=["Read"], path="a.py")

    @pytest.mark.parametrize("name", ["", "read file", "x" * 65, "läse", "read.file"])
    def test_a_name_that_no_provider_takes(self, naming: Preset, name: str) -> None:
        """A name is letters, digits, _ and -, up to 64 of them."""
        with pytest.raises(PresetError, match="variable READ is the name of a tool"):
            naming.compose(tools=["Read"], variables={"READ": name})

    def test_declared_twice(self, tmp_path: Path) -> None:
        """A variable of a tool is not declared again."""
        twice = NAMING + '[variables]\nREAD = "x"\n'
        files = {f"own/1.0.0/{name}": text for name, text in {**NAMING_FILES, "preset.toml": twice}.items()}
        with pytest.raises(PresetError, match="variable READ is declared in"):
            load_preset("own", lay_out(tmp_path, files))
