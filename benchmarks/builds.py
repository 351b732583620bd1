"""Building a prompt of 27.7 KB, beside the bare join of its texts: 20 parts, three instruction files, 3 KB that change.

The limit is `"".join` of ready strings, the same bytes. Rivals render the same text from a compiled template.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import cycle

from benchmarks.measure import Row, Settings, compare, row
from benchmarks.rivals import renderers
from deepprompt import (
    InstructionFile,
    McpServer,
    Part,
    ProjectContext,
    PromptAssemblyConfig,
    SlashCommand,
    SystemPromptBuilder,
    SystemPromptConfig,
    assemble_system_prompt,
    compose_system_prompt,
    render_project_context,
)
from deepprompt.prompt import Pace
from deepprompt.sources.instructions import InstructionFiles
from deepprompt.sources.skills import SkillStore
from deepprompt.sources.surroundings import Surroundings
from deepprompt.systems.context import forget
from deepprompt.systems.presets import load_preset

PARTS = 20
CONTEXTS = 32
ROUNDS = 300
SENTENCE = "The retry budget is read before the lock is taken, and never after it was given back. "


def example_builder() -> SystemPromptBuilder:
    """The builder of the prompt that is measured."""
    parts = [Part(f"part {n}", f"# Part {n}\n{SENTENCE * 11}\n", Pace.RELEASE, "benchmark") for n in range(PARTS)]
    files = [InstructionFile(f"/project/{n}/AGENTS.md", f"# Rules {n}\n{SENTENCE * 22}\n") for n in range(3)]
    return SystemPromptBuilder(base_parts=parts, instructions=files)


def example_project(number: int, mark: str = "") -> ProjectContext:
    """A project context of 3 KB, as git has it in a turn: its status and diff differ from those of other turns."""
    status = "".join(f" M source/package_{n}/module_{number}_{n}.py\n" for n in range(32))
    diff = "".join(f" source/package_{n}/module_{number}_{n}.py | {n + 3:3} +++++---\n" for n in range(27))
    return ProjectContext(
        cwd="/home/user/project",
        current_date="2026-01-31",
        git_status=status + mark,
        git_diff=f"{diff} 27 files changed, {number} insertions(+)\n",
        active_branch="main",
        os_name="linux",
        os_version="6.1.0",
        shell="/bin/bash",
    )


def rows(settings: Settings) -> Iterator[Row]:
    """Measure building, and the preset catalogue's assembly."""
    rounds = settings.rounds(ROUNDS)
    builder = example_builder()
    fixed = [part.text for part in builder.compose().parts]
    contexts = [example_project(number) for number in range(CONTEXTS)]
    suffixes = [render_project_context(context) for context in contexts]  # from here on their sections are cached
    lists = cycle([[*fixed, suffix] for suffix in suffixes])
    projects = cycle(contexts)

    def join() -> str:
        return "".join(next(lists))

    def build() -> str:
        builder.project = next(projects)
        return builder.build()

    def build_unread() -> str:
        forget()
        return build()

    def build_pair() -> tuple[str, str]:
        builder.project = next(projects)
        return builder.build_pair()

    def build_hashed() -> tuple[str, str]:
        return build(), builder.sha256()

    size = f"{len(join()) / 1000:.1f} KB"
    rivals = {
        name: _in_turn(render, [{"suffix": suffix} for suffix in suffixes])
        for name, render in renderers("".join(fixed), ["suffix"]).items()
    }
    new = compare({"join": join, "deepprompt": build, **rivals}, rounds)
    yield row(f"build(), {size}, another context, its sections cached", new, target=2)
    yield row(
        "build(), a new context of new texts",
        compare({"join": join, "deepprompt": build_unread}, rounds),
        target=12,
        note="looks for keys, tags and boundaries in 3 KB",
    )
    builder.project = contexts[0]
    yield row("build() again, nothing changed", compare({"join": join, "ours": builder.build}, rounds), target=1.25)
    yield row(
        "prefix and suffix as a pair, again", compare({"join": join, "ours": builder.build_pair}, rounds), target=0.6
    )
    yield row("prefix and suffix as a pair, a new context", compare({"join": join, "ours": build_pair}, rounds))
    yield row("build() and SHA-256, a new context", compare({"join": join, "ours": build_hashed}, rounds), target=6)
    yield from _composed(fixed, lists, contexts, rounds)
    yield from _beyond_latin(builder, join, rounds)
    yield from _preset(rounds)


def _composed(
    fixed: list[str], lists: Iterator[list[str]], contexts: list[ProjectContext], rounds: int
) -> Iterator[Row]:
    """Measure a turn of the same prompt, composed from a preset: another context, nothing else has changed."""
    base = [Part(f"part {number}", text, Pace.RELEASE, "benchmark") for number, text in enumerate(fixed[:PARTS])]
    files = InstructionFiles(
        [InstructionFile(f"/project/{n}/AGENTS.md", f"# Rules {n}\n{SENTENCE * 22}\n") for n in range(3)]
    )
    skills = SkillStore()
    arounds = cycle([Surroundings(files, skills, context) for context in contexts])
    preset = load_preset("deepseek@1.0.0")

    def compose() -> str:
        return preset.compose(next(arounds), base=base).text

    samples = compare({"join": lambda: "".join(next(lists)), "ours": compose}, rounds)
    yield row("Preset.compose(), another context, nothing else changed", samples, target=40)


def _beyond_latin(builder: SystemPromptBuilder, join: Callable[[], str], rounds: int) -> Iterator[Row]:
    contexts = [example_project(number, " M 設計.md\n") for number in range(CONTEXTS)]
    for context in contexts:
        render_project_context(context)
    projects = cycle(contexts)

    def build() -> str:
        builder.project = next(projects)
        return builder.build()

    def build_bytes() -> bytes:
        builder.project = next(projects)
        return builder.build_bytes()

    yield row("build(), one name beyond Latin, a new context", compare({"join": join, "ours": build}, rounds), target=4)
    yield row("build_bytes(), the same", compare({"join": join, "ours": build_bytes}, rounds), target=4)
    builder.project = contexts[0]
    render_project_context(contexts[0])
    builder.build_bytes()
    builder.project = contexts[1]
    tracemalloc.start()
    data = builder.build_bytes()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield Row("build_bytes(), the same: memory", f"{peak} B", f"{len(data)} B", peak / len(data), 1.2)


def full_config() -> PromptAssemblyConfig:
    """A configuration with every part of the preset that can be in one prompt."""
    return PromptAssemblyConfig(
        SystemPromptConfig(append="Be brief.\n"),
        cwd="/home/user/project",
        os="linux",
        shell="bash",
        enabled_tools=sorted(load_preset("claude_code@2.1.37").own_tools),
        sessions_enabled=True,
        memory_enabled=True,
        mcp_servers=[McpServer("search", "Ask it.", ("find", "read"))],
        slash_commands=[SlashCommand("review", "Review the diff")],
        claude_md_content="# Rules\n" + SENTENCE * 20,
        output_style="Explain what you do.",
    )


def _preset(rounds: int) -> Iterator[Row]:
    config = full_config()
    texts = [part.text for part in compose_system_prompt(config).parts]
    size = len("".join(texts))
    samples = compare({"join": lambda: "".join(texts), "ours": lambda: assemble_system_prompt(config)}, rounds)
    yield row(f"claude_code preset, whole, {size / 1000:.1f} KB, warm", samples, target=6)
    samples = compare({"join": lambda: "".join(texts), "ours": lambda: compose_system_prompt(config)}, rounds // 3)
    yield row("the same with its parts and tools", samples)


def _in_turn(render: Callable[[dict[str, str]], str], values: list[dict[str, str]]) -> Callable[[], str]:
    endless = cycle(values)
    return lambda: render(next(endless))
