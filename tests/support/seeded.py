"""Inputs made from a number, hostile ones among them, for prompts whose digests were recorded."""

from __future__ import annotations

import random

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    InstructionFile,
    McpServer,
    ProjectContext,
    PromptAssemblyConfig,
    PromptVars,
    SlashCommand,
    SystemPromptBuilder,
    SystemPromptConfig,
)

PIECES = [
    "a", "Rules.", " ", "\n", "\r\n", "${CWD}", "${NOPE}", "=== DYNAMIC", DYNAMIC_CONTEXT_BOUNDARY, "\ud800", "\u200b",
    "<system>", "</system-reminder>", "\n## Project\n", "\\", "日本", "\x1c", "\x85", "- x\n- y\n", "| b |", "\ufeff",
    "#",
]  # fmt: skip
TOOLS = [
    "Bash",
    "Read",
    "FileRead",
    "Edit",
    "FileEdit",
    "Glob",
    "Grep",
    "TodoWrite",
    "Task",
    "mcp__a__b",
    "Own",
    "Globb",
]


class Seeded:
    """Draws inputs from a number, the same ones on every Python."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)

    def _below(self, most: int) -> int:
        return int(self._random.random() * most)  # of all methods, only this one is promised to stay the same

    def text(self) -> str:
        """Return a text of up to four pieces, often none."""
        return "".join(PIECES[self._below(len(PIECES))] for _ in range(max(0, self._below(8) - 3)))

    def flag(self) -> bool:
        """Return True or False."""
        return self._below(2) == 1

    def config(self) -> PromptAssemblyConfig:
        """Return a configuration of the preset catalogue."""
        return PromptAssemblyConfig(
            SystemPromptConfig(append=self.text(), preset="deepseek" if self._below(8) == 0 else "claude_code"),
            cwd=self.text(),
            os=self.text(),
            shell=self.text(),
            enabled_tools=[TOOLS[self._below(len(TOOLS))] for _ in range(self._below(6))],
            sessions_enabled=self.flag(),
            memory_enabled=self.flag(),
            mcp_servers=[
                McpServer(self.text(), self.text(), tuple(self.text() for _ in range(self._below(3))))
                for _ in range(self._below(3))
            ],
            slash_commands=[SlashCommand(self.text(), self.text()) for _ in range(self._below(3))],
            claude_md_content=self.text(),
            output_style=self.text(),
            vars=PromptVars(output_style_config=self.text(), security_policy=self.text()),
        )

    def builder(self) -> SystemPromptBuilder:
        """Return a builder."""
        return SystemPromptBuilder(
            self.text(),
            [InstructionFile(self.text(), self.text()) for _ in range(self._below(3))],
            self.text(),
            ProjectContext(*[self.text() for _ in range(8)]) if self.flag() else None,
            append=self.text(),
        )
