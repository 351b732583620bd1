"""The other ways to a prompt: the preset catalogue, tagged sections, templates, tiers, and a catalogue of one's own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_type

from deepprompt import (
    AgentConfig,
    AgentDefinition,
    AuditLog,
    McpServer,
    Prompt,
    PromptAssembler,
    PromptAssemblyConfig,
    PromptVars,
    Responsibility,
    SlashCommand,
    SystemPromptConfig,
    Task,
    TaskStep,
    Tier,
    TieredContext,
    UrlContent,
    assemble_messages,
    assemble_subagent_prompt,
    assemble_system_prompt,
    build_system_prompt,
    bundled,
    compose_messages,
    compose_system_prompt,
    compose_tagged_prompt,
    estimate_tokens,
    from_folder,
    reminder,
    tiered_system_prompt,
    tool_definitions,
)
from deepprompt.catalog import Catalog
from deepprompt.errors import BudgetError, PromptAssemblyError
from deepprompt.systems.agents import agent_names
from deepprompt.systems.template import AssembledPrompt


def preset(tools: tuple[str, ...] = ("Read", "Glob")) -> Prompt:
    """A whole coding agent's prompt, within a budget."""
    config = PromptAssemblyConfig(
        system_prompt=SystemPromptConfig(preset="claude_code", append="Answer in French."),
        cwd="/project",
        os="Linux",
        shell="bash",
        enabled_tools=tools,
        mcp_servers=[McpServer("files", "Serves files.", ("list",))],
        slash_commands=(SlashCommand("review", "Reviews a change."),),
        max_system_prompt_tokens=50_000,
        vars=PromptVars(version="1"),
    )
    try:
        prompt = compose_system_prompt(config, environment_last=True)
    except BudgetError:
        return Prompt(())
    assert_type(assemble_system_prompt(config), str)
    assert_type(tool_definitions(tools), list[dict[str, Any]])
    child = AgentDefinition("You explore.", critical_system_reminder=reminder("todo_list_empty"))
    assert estimate_tokens(assemble_subagent_prompt(child, config)) > 0
    assert_type(agent_names(), list[str])
    return prompt


def tagged(now: datetime) -> Prompt:
    """An agent's run as tagged sections."""
    agent = AgentConfig(identity="You are Ada.", responsibilities=[Responsibility("Tests", "Keep them green.")])
    task = Task("1", "Build", "Fix the build.", "open", steps=(TaskStep("Look", done=True), TaskStep("Mend")))
    text = build_system_prompt(agent, "telegram", "/project", ["docs"], now=now, task=task, memories=("Likes tea.",))
    prompt = compose_tagged_prompt(agent, "telegram", "/project", ["docs"], now=now, task=task, memories=["Likes tea."])
    assert prompt.text == text
    return prompt


def template(root: Path, log: Path) -> AssembledPrompt | None:
    """A template with an include, logged."""
    try:
        assembled = PromptAssembler(str(root), minify_json=True).assemble("task", {"CONTEXT": "context.txt"})
    except PromptAssemblyError as error:
        print(error)
        return None
    assert_type(assembled.prompt, Prompt)
    assert_type(assembled.spans[0].start, int)
    AuditLog(str(log), workspace=str(root)).append(assembled)
    return assembled


def tiers() -> list[dict[str, Any]]:
    """What an agent knows of a repository, most stable first."""
    context = TieredContext(
        system_prompt=tiered_system_prompt("Use tabs."),
        tiers={"L0": Tier(symbols={"a.py": "f()"}), "L1": Tier(files={"b.py": "x = 1\n"})},
        file_tree=["a.py", "b.py"],
        urls=[UrlContent("https://example.org/", title="Example")],
        history=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}],
        user_prompt="Which file?",
    )
    assert_type(compose_messages(context), Prompt)
    return assemble_messages(context)


def wording(catalog: Catalog) -> str:
    """The newest wording of a family."""
    family, version = catalog.resolve("base~=1.0")
    return f"{family} {version}: {', '.join(catalog.names(family, version))}"


if __name__ == "__main__":
    root = Path("templates")
    root.mkdir()
    (root / "task.txt").write_text("Read this.\n$$CONTEXT\n")
    (root / "context.txt").write_text("The context.\n")
    assembled = template(root, Path("log.jsonl"))
    print(len(preset().tools), tagged(datetime(2026, 11, 16, tzinfo=UTC)).parts[0].name, len(tiers()))
    print(assembled.content if assembled is not None else "nothing", end="")
    print(wording(bundled()), from_folder(root).families())
