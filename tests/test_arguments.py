"""Arguments of the wrong kind: one sentence says what is taken, what was given, and which call gives the right thing.

The calls are those of somebody without a type checker. What is taken in several kinds is here too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import deepprompt
from deepprompt.arguments import expect_each, wrong
from deepprompt.errors import (
    AssetError,
    AuditError,
    DeepPromptError,
    IncludeNotFoundError,
    MessageError,
    PaceError,
    SourceError,
    ToolError,
    UnknownPartError,
    VariableError,
)
from deepprompt.prompt import Note
from deepprompt.sources.skills import SkillStore
from tests.support.layout import lay_out

api: Any = deepprompt  # of which a type checker would say the same

NOW = datetime(2031, 3, 4, 15, 6, tzinfo=UTC)
FAST = api.Part("fast", "f", api.Pace.TURN, "test")
SLOW = api.Part("slow", "s", api.Pace.RELEASE, "test")
GIT = api.GitSnapshot(status=" M a.py\n")
FILES = [api.InstructionFile("AGENTS.md", "Be kind.")]
PROMPT = api.Prompt((SLOW,))
STORE: Any = SkillStore()
CONFIG = api.PromptAssemblyConfig()
AGENT = api.AgentDefinition("You review.")

Wrong = dict[str, tuple[Callable[[], object], str]]


def said(call: Callable[[], object], error: type[DeepPromptError]) -> str:
    """Make a call that is refused, and return what is said; the class is exactly the one that fits."""
    with pytest.raises(DeepPromptError) as caught:
        call()
    assert type(caught.value) is error
    return str(caught.value)


def assigned(project: object) -> Any:
    """A builder whose project was assigned after it was made."""
    builder = api.SystemPromptBuilder("Base.")
    builder.project = project
    return builder


PROJECT = (
    "SystemPromptBuilder: project takes a ProjectContext, such as discover_project_context(cwd).with_git(read_git(cwd))"
)
BASE = "SystemPromptBuilder: static_base takes text (files go to instructions=, parts to base_parts=)"
PARTS = "parts, such as Part('base', text, Pace.RELEASE, origin)"
TOOLS = "SystemPromptBuilder.compose: tools takes definitions, as tool_definitions(['Bash']) returns"
IN_PROMPT = "Prompt: parts takes parts, such as Part('base', text, Pace.RELEASE, origin)"
SNAPSHOT = f"not {GIT!r:.60}"
BUILDER: Wrong = {
    "base, number": (lambda: api.SystemPromptBuilder(3), f"{BASE}, not 3"),
    "base, bytes": (lambda: api.SystemPromptBuilder(b"x"), f"{BASE}, not b'x'"),
    "base, files": (
        lambda: api.SystemPromptBuilder(FILES),
        f"{BASE}, not [InstructionFile(path='AGENTS.md', content='Be kind.')]",
    ),
    "two bases": (
        lambda: api.SystemPromptBuilder("Base.", base_parts=[SLOW]),
        "SystemPromptBuilder: static_base and base_parts are two bases; give one of them",
    ),
    "base parts, what to ask for": (
        lambda: api.SystemPromptBuilder(base_parts="base~=1.0"),
        f"SystemPromptBuilder: base_parts takes {PARTS}, not 'base~=1.0'",
    ),
    "base parts, names": (
        lambda: api.SystemPromptBuilder(base_parts=["identity"]),
        f"SystemPromptBuilder: base_parts takes {PARTS}, not 'identity' in it",
    ),
    "skills, a store": (
        lambda: api.SystemPromptBuilder(skill_directory=STORE),
        "SystemPromptBuilder: skill_directory takes text, as load_skills(cwd).index_text() returns, not a SkillStore",
    ),
    "append, number": (
        lambda: api.SystemPromptBuilder(append=3), f"SystemPromptBuilder: append takes text, or {PARTS}, not 3",
    ),
    "append, texts": (
        lambda: api.SystemPromptBuilder(append=["a"]),
        f"SystemPromptBuilder: append takes text, or {PARTS}, not 'a' in it",
    ),
    "project, git": (lambda: api.SystemPromptBuilder(project=GIT), f"{PROJECT}, {SNAPSHOT}"),
    "project, git, text": (lambda: assigned(GIT).build(), f"{PROJECT}, {SNAPSHOT}"),
    "project, git, pair": (lambda: assigned(GIT).build_pair(), f"{PROJECT}, {SNAPSHOT}"),
    "project, git, bytes": (lambda: assigned(GIT).build_bytes(), f"{PROJECT}, {SNAPSHOT}"),
    "project, git, parts": (lambda: assigned(GIT).compose(), f"{PROJECT}, {SNAPSHOT}"),
    "project, text": (lambda: api.render_project_context("/srv"), f"{PROJECT}, not '/srv'"),
    "field of a project": (
        lambda: assigned(api.ProjectContext(cwd=7)).build(), "ProjectContext: cwd takes text, not 7",
    ),
    "with_git": (
        lambda: api.ProjectContext().with_git("M a.py"),
        "ProjectContext.with_git takes what read_git(cwd) returns, not 'M a.py'",
    ),
    "tools, one name": (lambda: assigned(None).compose("Bash"), f"{TOOLS}, not 'Bash'"),
    "tools, names": (lambda: assigned(None).compose(["Bash"]), f"{TOOLS}, not 'Bash' in it"),
    "tools, None": (lambda: assigned(None).compose(None), f"{TOOLS}, not None"),
    "recalled into a prompt": (
        lambda: api.inject_recalled(PROMPT, "m"),
        f"inject_recalled: system_prompt takes text, such as prompt.text, not {PROMPT!r:.60}",
    ),
    "recalled, None": (lambda: api.inject_recalled("s", None), "inject_recalled: recalled takes text, not None"),
    "prompt of texts": (lambda: api.Prompt(("a", "b")), f"{IN_PROMPT}, not 'a' in it"),
    "prompt of text": (lambda: api.Prompt("ab"), f"{IN_PROMPT}, not 'ab'"),
    "prompt of nothing": (lambda: api.Prompt(None), f"{IN_PROMPT}, not None"),
    "pace as text": (
        lambda: api.Prompt([api.Part("a", "x", "turn", "test")]),
        "Part 'a': pace takes a Pace, such as Pace.PROJECT, not 'turn'",
    ),
    "pace as a number": (
        lambda: api.Prompt([api.Part("a", "x", 3, "test")]),
        "Part 'a': pace takes a Pace, such as Pace.PROJECT, not 3",
    ),
    "text of a part": (
        lambda: api.SystemPromptBuilder(append=[api.Part("a", None, api.Pace.PROJECT, "test")]),
        "Part 'a': text takes text, not None",
    ),
}  # fmt: skip

FOLDER = "takes the path of a folder"
SOURCES: Wrong = {
    "git, None": (lambda: api.read_git(None), f"read_git: cwd {FOLDER}, not None"),
    "git, bytes": (lambda: api.read_git(b"/srv"), f"read_git: cwd {FOLDER}, not b'/srv'"),
    "git, time": (lambda: api.read_git(".", timeout="2"), "read_git: timeout takes seconds as a number, not '2'"),
    "instructions": (lambda: api.load_instruction_files(None), f"load_instruction_files: cwd {FOLDER}, not None"),
    "instructions, home": (
        lambda: api.load_instruction_files(".", 7), f"load_instruction_files: home {FOLDER}, not 7",
    ),
    "skills": (lambda: api.load_skills(None), f"load_skills: cwd {FOLDER}, not None"),
    "CLAUDE.md": (lambda: api.load_claude_md(None), f"load_claude_md: cwd {FOLDER}, not None"),
    "project": (lambda: api.discover_project_context(None), f"discover_project_context: cwd {FOLDER}, not None"),
    "skills, hash": (
        lambda: STORE.diff("4f2a"),
        "SkillStore.diff: old takes what load_skills(cwd) returned before, or None, not '4f2a'",
    ),
}  # fmt: skip

OWN_PROMPT = "system_prompt takes a SystemPromptConfig, such as SystemPromptConfig(preset='claude_code')"
WHOLE = (
    "compose_system_prompt: config takes a PromptAssemblyConfig, such as "
    "PromptAssemblyConfig(SystemPromptConfig(preset='claude_code'))"
)
SUBAGENT = "compose_subagent_prompt:"
AGENTS = "an AgentDefinition, such as AgentDefinition('You review.')"
SKILLS = "what load_skills(cwd) returns, or a mapping of names to texts"
OVERRIDES = "overrides takes a catalogue, as from_folder('own') returns, not 'own'"


def config(**fields: object) -> Callable[[], object]:
    """A configuration, when it is called."""
    return lambda: api.PromptAssemblyConfig(**fields)


PRESET: Wrong = {
    "preset as text": (config(system_prompt="claude_code"), f"PromptAssemblyConfig: {OWN_PROMPT}, not 'claude_code'"),
    "preset as dict": (
        config(system_prompt={"preset": "deepseek"}),
        f"PromptAssemblyConfig: {OWN_PROMPT}, not {{'preset': 'deepseek'}}",
    ),
    "preset, None": (config(system_prompt=None), f"PromptAssemblyConfig: {OWN_PROMPT}, not None"),
    "name of a preset": (lambda: api.compose_system_prompt("claude_code"), f"{WHOLE}, not 'claude_code'"),
    "what a preset is": (
        lambda: api.compose_system_prompt(api.SystemPromptConfig()),
        f"{WHOLE}, not SystemPromptConfig(custom='', preset='', append='')",
    ),
    "assembled of a dict": (lambda: api.assemble_system_prompt({"cwd": "/srv"}), f"{WHOLE}, not {{'cwd': '/srv'}}"),
    "no preset": (lambda: api.SystemPromptConfig(preset=None), "SystemPromptConfig: preset takes text, not None"),
    "cwd": (config(cwd=None), f"PromptAssemblyConfig: cwd {FOLDER}, not None"),
    "shell": (config(shell=None), "PromptAssemblyConfig: shell takes text, not None"),
    "tools, None": (config(enabled_tools=None), "PromptAssemblyConfig: enabled_tools takes names of tools, not None"),
    "tools, definitions": (
        config(enabled_tools=[{"name": "Bash"}]),
        "PromptAssemblyConfig: enabled_tools takes names of tools, not {'name': 'Bash'} in it",
    ),
    "definitions of None": (
        lambda: api.tool_definitions(None), "tool_definitions: enabled_tools takes names of tools, not None",
    ),
    "servers": (
        config(mcp_servers=["tickets"]),
        "PromptAssemblyConfig: mcp_servers takes McpServers, such as McpServer('tickets'), not 'tickets' in it",
    ),
    "one server": (
        config(mcp_servers=api.McpServer("tickets")),
        "PromptAssemblyConfig: mcp_servers takes McpServers, such as McpServer('tickets'), "
        "not McpServer(name='tickets', instructions='', tools=()); put it into a list",
    ),
    "one tool of a server": (
        lambda: api.McpServer("tickets", tools="search"),
        "McpServer: tools takes names, not 'search'; put it into a list",
    ),
    "commands": (
        config(slash_commands=["release"]),
        "PromptAssemblyConfig: slash_commands takes SlashCommands, such as SlashCommand('release'), "
        "not 'release' in it",
    ),
    "command": (lambda: api.SlashCommand("release", None), "SlashCommand: description takes text, not None"),
    "CLAUDE.md": (
        config(claude_md_content=None),
        "PromptAssemblyConfig: claude_md_content takes text, as load_claude_md(cwd) returns, not None",
    ),
    "variables": (
        config(vars={"version": "1.0.0"}),
        "PromptAssemblyConfig: vars takes PromptVars, such as PromptVars(version='1.0.0'), not {'version': '1.0.0'}",
    ),
    "variable": (lambda: api.PromptVars(version=1), "PromptVars: version takes text, not 1"),
    "budget": (
        config(max_system_prompt_tokens="10"),
        "PromptAssemblyConfig: max_system_prompt_tokens takes a number of tokens, or None, not '10'",
    ),
    "overrides": (lambda: api.compose_system_prompt(CONFIG, overrides="own"), OVERRIDES),
    "overrides of an agent": (lambda: api.agent_prompt("explore", "own"), OVERRIDES),
    "subagent": (lambda: api.compose_subagent_prompt("x", CONFIG), f"{SUBAGENT} agent takes {AGENTS}, not 'x'"),
    "subagent's parent": (
        lambda: api.compose_subagent_prompt(AGENT, "x"),
        f"{SUBAGENT} parent takes the parent's PromptAssemblyConfig, not 'x'",
    ),
    "subagent's parent, a prompt": (
        lambda: api.assemble_subagent_prompt(AGENT, PROMPT),
        f"{SUBAGENT} parent takes the parent's PromptAssemblyConfig, not {PROMPT!r:.60}",
    ),
    "subagent's skills": (
        lambda: api.compose_subagent_prompt(AGENT, CONFIG, skills=["layout"]),
        f"{SUBAGENT} skills takes {SKILLS}, not ['layout']",
    ),
    "one skill": (
        lambda: api.AgentDefinition("x", skills="layout"),
        "AgentDefinition: skills takes names of skills, not 'layout'; put it into a list",
    ),
    "agent's prompt": (lambda: api.AgentDefinition(None), "AgentDefinition: prompt takes text, not None"),
    "agent's name": (lambda: api.agent_prompt(None), "agent_prompt: name takes one of agent_names(), not None"),
    "reminder's name": (lambda: api.reminder(None), "reminder: name takes one of reminder_names(), not None"),
}  # fmt: skip


def tagged(**changed: object) -> Callable[[], Any]:
    """A tagged prompt with some arguments changed, when it is called."""
    usual = {"agent": api.AgentConfig("I"), "channel": "", "cwd": "", "directories": (), "now": NOW}
    return lambda: api.compose_tagged_prompt(**(usual | changed))


TAGGED_AGENT = "compose_tagged_prompt: agent takes an AgentConfig, such as AgentConfig('You keep the stock.')"
TIME = "now takes a datetime with its time zone, such as datetime.now(timezone.utc)"
NO_ZONE = "now needs a time zone: pass an aware datetime, such as datetime.now(timezone.utc)"
DUTIES = "AgentConfig: responsibilities takes Responsibilities, such as Responsibility('Stock', 'Count it on Mondays.')"
TASK = "compose_tagged_prompt: task takes a Task, such as Task(7, 'Count', 'All crates.', 'open'), or None"
TAGGED: Wrong = {
    "agent as text": (tagged(agent="I"), f"{TAGGED_AGENT}, not 'I'"),
    "agent as dict": (tagged(agent={"identity": "I"}), f"{TAGGED_AGENT}, not {{'identity': 'I'}}"),
    "identity": (lambda: api.AgentConfig(None), "AgentConfig: identity takes text, not None"),
    "channel": (tagged(channel=None), "compose_tagged_prompt: channel takes text, '' for none, not None"),
    "cwd": (tagged(cwd=7), f"compose_tagged_prompt: cwd {FOLDER}, not 7"),
    "one memory": (
        tagged(memories="Suppliers deliver"),
        "compose_tagged_prompt: memories takes texts, not 'Suppliers deliver'; put it into a list",
    ),
    "no memory": (tagged(memories=[None]), "compose_tagged_prompt: memories takes texts, not None in it"),
    "one folder": (
        tagged(directories="/srv/shared"),
        "compose_tagged_prompt: directories takes paths of folders, not '/srv/shared'; put it into a list",
    ),
    "time as text": (tagged(now="2031-03-04"), f"compose_tagged_prompt: {TIME}, not '2031-03-04'"),
    "no time": (tagged(now=None), f"compose_tagged_prompt: {TIME}, not None"),
    "a day": (tagged(now=date(2031, 3, 4)), f"compose_tagged_prompt: {TIME}, not datetime.date(2031, 3, 4)"),
    "time without a zone": (tagged(now=datetime(2031, 3, 4)), f"compose_tagged_prompt: {NO_ZONE}"),
    "titles": (lambda: api.AgentConfig("I", responsibilities=["Stock"]), f"{DUTIES}, not 'Stock' in it"),
    "duties by title": (
        lambda: api.AgentConfig("I", responsibilities={"Stock": "Count."}), f"{DUTIES}, not 'Stock' in it",
    ),
    "duty": (lambda: api.Responsibility("Stock", None), "Responsibility: content takes text, not None"),
    "task as dict": (tagged(task={"id": 7}), f"{TASK}, not {{'id': 7}}"),
    "steps": (
        lambda: api.Task(7, "Count", "All.", "open", ["a"]),
        "Task: steps takes TaskSteps, such as TaskStep('Count the crates'), not 'a' in it",
    ),
    "step": (lambda: api.TaskStep(None), "TaskStep: title takes text, not None"),
    "description": (lambda: api.Task(7, "Count", None, "open"), "Task: description takes text, not None"),
}  # fmt: skip

TIERED = "takes a TieredContext, such as TieredContext('You are ...', user_prompt=text)"
NAMED = "TieredContext: tiers takes a mapping of names to tiers, such as {'L0': Tier(files={'a.py': text})}"
TEXTS = "takes a mapping of paths to texts"
PAGES = "TieredContext: urls takes UrlContents, such as UrlContent('https://example.org', content=text)"
TIERS: Wrong = {
    "context as dict": (lambda: api.assemble_messages({}), f"assemble_messages: context {TIERED}, not {{}}"),
    "context of a prompt": (lambda: api.compose_messages("S"), f"compose_messages: context {TIERED}, not 'S'"),
    "tier as dict": (
        lambda: api.TieredContext("S", tiers={"L0": {"files": {}}}),
        "TieredContext: tiers['L0'] takes a Tier, such as Tier(files={'a.py': text}), not {'files': {}}",
    ),
    "tiers in a list": (lambda: api.TieredContext("S", tiers=[api.Tier()]),
                        f"{NAMED}, not [Tier(symbols={{}}, files={{}}, history=())]"),
    "no tiers": (lambda: api.TieredContext("S", tiers=None), f"{NAMED}, not None"),
    "paths": (lambda: api.Tier(files=["a.py"]), f"Tier: files {TEXTS}, not ['a.py']"),
    "working paths": (
        lambda: api.TieredContext("S", active_files=["a.py"]),
        f"TieredContext: active_files {TEXTS}, not ['a.py']",
    ),
    "symbols": (lambda: api.Tier(symbols="a"), "Tier: symbols takes a mapping of names to texts, not 'a'"),
    "addresses": (lambda: api.TieredContext("S", urls=["https://x"]), f"{PAGES}, not 'https://x' in it"),
}  # fmt: skip

ASK = "Catalog: ask takes FAMILY, FAMILY@VERSION or FAMILY~=VERSION, not None"
OTHERS: dict[str, tuple[Callable[[], object], type[DeepPromptError], str]] = {
    "fingerprint": (
        lambda: api.fingerprint(PROMPT, []),
        ToolError,
        f"fingerprint: system takes text, such as prompt.text, not {PROMPT!r:.60}",
    ),
    "ask": (lambda: api.bundled().resolve(None), UnknownPartError, ASK),
    "folder": (lambda: api.from_folder(None), AssetError, f"from_folder {FOLDER}, not None"),
    "package": (
        lambda: api.from_package(None), AssetError, "from_package takes the name of an installed package, not None",
    ),
    "reminder": (
        lambda: api.reminder("date_changed", date=None),
        VariableError,
        "reminder 'date_changed' needs a value for date, not None",
    ),
    "base out of order": (
        lambda: api.SystemPromptBuilder(base_parts=[FAST, SLOW]),
        PaceError,
        "part 'fast' (pace TURN) comes before part 'slow' (pace RELEASE); "
        "put slow parts first, or every change to 'fast' breaks the cache of 'slow'",
    ),
    "appended out of order": (
        lambda: api.SystemPromptBuilder("Base.", append=[FAST, SLOW]),
        PaceError,
        "part 'fast' (pace TURN) comes before part 'slow' (pace RELEASE); "
        "put slow parts first, or every change to 'fast' breaks the cache of 'slow'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [pytest.param(*case, id=f"{table}: {name}")
     for table, cases in {"builder": BUILDER, "sources": SOURCES, "preset": PRESET, "tagged": TAGGED}.items()
     for name, case in cases.items()],
)  # fmt: skip
def test_wrong(call: Callable[[], object], message: str) -> None:
    """An argument of the wrong kind is refused where it is given, with what it takes and what was given."""
    assert said(call, SourceError) == message


@pytest.mark.parametrize(("call", "message"), TIERS.values(), ids=TIERS)
def test_wrong_tiers(call: Callable[[], object], message: str) -> None:
    """What a tiered context is not made of is refused as no message."""
    assert said(call, MessageError) == message


@pytest.mark.parametrize(("call", "error", "message"), OTHERS.values(), ids=OTHERS)
def test_wrong_elsewhere(call: Callable[[], object], error: type[DeepPromptError], message: str) -> None:
    """A module that has an error of its own for what it is given raises that."""
    assert said(call, error) == message


class TestTemplates:
    """The template system, which needs files."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        """A template, and a file that it includes."""
        return lay_out(tmp_path, {"tasks/Ask v1.txt": "Ask.\n$$RULES\n", "parts/rules.txt": "Be kind.\n"})

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((None, {}), "task_ref takes the name of a template, without .txt, not None"),
            (("tasks/Ask v1", "parts/rules.txt"),
             "includes takes a mapping of names to paths, such as {'RULES': 'parts/rules.txt'}, not 'parts/rules.txt'"),
            (("tasks/Ask v1", ["parts/rules.txt"]),
             "includes takes a mapping of names to paths, such as {'RULES': 'parts/rules.txt'}, "
             "not ['parts/rules.txt']"),
        ],
    )  # fmt: skip
    def test_wrong(self, arguments: tuple[object, object], message: str, root: Path) -> None:
        """What names no template, and what maps no names, is refused."""
        assembler = api.PromptAssembler(root)
        assert said(lambda: assembler.assemble(*arguments), SourceError) == f"PromptAssembler.assemble: {message}"

    @pytest.mark.parametrize(
        ("now", "message"), [("2031-03-04", f"{TIME}, not '2031-03-04'"), (datetime(2031, 3, 4), NO_ZONE)], ids=str
    )
    def test_time(self, now: object, message: str, root: Path) -> None:
        """A time is refused as in any other system: without its zone it would be another on each machine."""
        assembler = api.PromptAssembler(root)
        call = lambda: assembler.assemble("tasks/Ask v1", {"RULES": "parts/rules.txt"}, now=now)  # noqa: E731
        assert said(call, SourceError) == f"PromptAssembler.assemble: {message}"

    def test_no_root(self) -> None:
        """What is no path is no root."""
        assert said(lambda: api.PromptAssembler(None), SourceError) == f"PromptAssembler: root {FOLDER}, not None"

    def test_root_that_is_no_folder(self, root: Path) -> None:
        """Where the root is no folder, that is what is said, not that all in it is missing."""
        assembler = api.PromptAssembler(root / "gone")
        message = f"tasks/Ask v1.txt: template is not there: the root {str(root / 'gone')!r} is no folder"
        assert said(lambda: assembler.assemble("tasks/Ask v1", {}), IncludeNotFoundError) == message

    @pytest.mark.parametrize(
        ("template_root", "task_ref", "hint"),
        [
            (".", "tasks/Ask v1.txt", ": tasks/Ask v1.txt is there, and a template is named without .txt"),
            ("tasks", "Ask v1.txt", ": tasks/Ask v1.txt is there, and a template is named without .txt"),
            ("tasks", "Ask v2.txt", ""),
        ],
    )
    def test_named_with_its_suffix(self, template_root: str, task_ref: str, hint: str, root: Path) -> None:
        """A template that is named as its file is not there, and the message says so where the file is."""
        assembler = api.PromptAssembler(root, template_root)
        path = task_ref if template_root == "." else f"{template_root}/{task_ref}"
        message = f"{path}.txt: template is not there{hint}"
        assert said(lambda: assembler.assemble(task_ref, {}), IncludeNotFoundError) == message

    def test_paths(self, root: Path) -> None:
        """Templates and includes may be given as paths; what is kept of them is text."""
        assembled = api.PromptAssembler(root).assemble(Path("tasks", "Ask v1"), {"RULES": Path("parts", "rules.txt")})
        assert assembled.content == "Ask.\nBe kind.\n"
        assert (assembled.task_ref, assembled.includes_resolved) == ("tasks/Ask v1", {"RULES": "parts/rules.txt"})

    def test_no_includes(self, root: Path) -> None:
        """None means no includes."""
        lay_out(root, {"plain.txt": "Plain."})
        assert api.PromptAssembler(root).assemble("plain", None).content == "Plain."

    def test_log(self, root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A log takes what was assembled, not the prompt that it gives, and writes nothing else."""
        lay_out(root, {"plain.txt": "Plain."})
        assembled = api.PromptAssembler(root).assemble("plain", {})
        log = api.AuditLog(tmp_path_factory.mktemp("log") / "log.jsonl")
        message = said(lambda: log.append(assembled.prompt), AuditError)
        assert message.startswith(
            "AuditLog.append: assembled takes the AssembledPrompt itself, as PromptAssembler.assemble() returns it, "
            "not Prompt(parts=(Part("
        )
        assert not Path(log.path).exists()


def test_paths_are_text(tmp_path: Path) -> None:
    """A folder may be given as a path wherever it is shown, and the prompt is the same."""
    assert api.PromptAssemblyConfig(cwd=tmp_path) == api.PromptAssemblyConfig(cwd=str(tmp_path))
    as_paths = tagged(cwd=tmp_path, directories=[tmp_path / "a"])()
    assert as_paths == tagged(cwd=str(tmp_path), directories=[str(tmp_path / "a")])()


def test_none_is_nothing(tmp_path: Path) -> None:
    """None in place of a folder or of a list that may be empty means that there is none."""
    assert tagged(cwd=None, directories=None, memories=None)() == tagged()()
    assert api.load_instruction_files(tmp_path, home=None) == []
    assert api.load_skills(tmp_path, home=None).names() == []


def test_any_iterable_will_do() -> None:
    """Where several are taken, whatever yields them is taken, and kept as a tuple."""
    assert api.McpServer("tickets", tools=(name for name in ["a", "b"])).tools == ("a", "b")
    assert api.AgentDefinition("x", skills=["a"]).skills == ("a",)
    assert api.AgentConfig(responsibilities=[api.Responsibility("a", "b")]).responsibilities == (
        api.Responsibility("a", "b"),
    )
    assert api.PromptAssemblyConfig(enabled_tools={"Bash": print}).enabled_tools == ("Bash",)


def test_instructions_without_an_identity_are_noted() -> None:
    """Instructions are shown only beside an identity; where they are left out, a note says why."""
    prompt = tagged(agent=api.AgentConfig(instructions="Count.", role="Clerk"))()
    assert "Count." not in prompt.text
    assert prompt.notes == (Note("skipped", "instructions", "they are shown only beside an identity: give one"),)
    assert tagged(agent=api.AgentConfig(instructions=" \n", role="Clerk"))().notes == ()


def test_servers_of_one_name_are_noted() -> None:
    """Two MCP servers of one name are both shown, and a note says that they look like one."""
    servers = [api.McpServer("a\nb", "x"), api.McpServer("c"), api.McpServer("a\nb", "y")]
    notes = api.compose_system_prompt(api.PromptAssemblyConfig(mcp_servers=servers)).notes
    detail = "2 servers are called 'a b', and a model cannot tell them apart"
    assert [note for note in notes if note.kind == "kept"] == [Note("kept", "mcp", detail)]


class Plain:
    """A class that does not say how its values are shown."""


@pytest.mark.parametrize(
    ("given", "shown"),
    [("x" * 80, f"'{'x' * 59}"), ("a\nb", r"'a\nb'"), (Plain(), "a Plain"), (Plain, repr(Plain)[:60])],
    ids=["long", "lines", "no repr", "class"],
)
def test_what_was_given_is_shown_on_one_short_line(given: object, shown: str) -> None:
    """A message shows the start of what was given; of what has no spelling, its kind and no address."""
    assert str(wrong("f: a", "text", given)) == f"f: a takes text, not {shown}"


def test_bytes_are_no_list() -> None:
    """Bytes in place of a list are refused as a whole, not number by number."""
    assert said(lambda: expect_each(b"ab", str, "f: a", "texts"), SourceError) == "f: a takes texts, not b'ab'"
