"""What a host must provide for the texts of a preset to be true, and which of it a host did not declare.

A text only says what a runtime can do; it does not do it. A part, tool, agent or reminder that speaks of something
that the runtime has to do names it in `requires`. The words for it are those below, and those that a preset declares
in its own table `[requires]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.prompt import Note

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset

REQUIREMENTS: dict[str, str] = {
    "agent_runner": "starts agents of the listed kinds, resumes them, and returns the last message of each",
    "approval": "shows a call or a plan to the user and waits for the decision",
    "background": "runs commands and agents in the background, and adds a note when one ends",
    "budget": "counts the tokens and the cost of the session",
    "compaction": "replaces a conversation with its summary",
    "editor": "is connected to the user's editor",
    "files": "reads and writes files, with line numbers, images, PDF pages and notebooks as the tools describe them",
    "gh": "has GitHub's command-line tool, logged in",
    "hooks": "runs hooks, and can block or stop a turn because of one",
    "instruction_files": "loads instruction files, and watches them for changes",
    "language_server": "is connected to a language server",
    "living_documents": "finds documents by their marker, and starts an agent for each",
    "mcp": "is connected to MCP servers",
    "memory": "keeps files from session to session",
    "notes_file": "keeps a file of notes for the session, and passes its path and content",
    "patch": "applies unified diffs, each patch as a whole or not at all",
    "plan_mode": "has a plan mode, with a file for the plan",
    "questions": "shows questions with choices to the user and waits for the answers",
    "read_tracking": "remembers which files were read or shown in full, and whether they have changed since",
    "runtime_notes": "adds notes in the runtime's tags to user turns, never inside a tool result",
    "sandbox": "runs commands in a sandbox",
    "search": "finds files by name and searches their contents, as the tools describe it",
    "second_model": "calls a model besides the session's own",
    "settings": "has settings that a tool can list, read and change",
    "shell": "runs commands in a shell, with a time limit",
    "skill_reader": "loads a skill by its name, or lets the model read its file",
    "slash_commands": "replaces the name of a slash command with its text",
    "status_line": "runs a command for the terminal's status line, with a JSON object as its input",
    "task_list": "shows a task list to the user",
    "team": "delivers messages between agents",
    "transcripts": "keeps transcripts of earlier sessions",
    "web": "fetches web pages and searches the web",
}
"""The words, and what the host does that provides each."""


def unmet(preset: Preset, shown: Iterable[str], tools: Iterable[str], provided: Iterable[str]) -> list[Note]:
    """Return a note for each row and tool of a prompt that needs something which the host did not declare.

    `shown` are the names of the prompt's parts, `tools` the enabled tools by the names of their files.
    """
    names, declared, enabled = [*shown], {*provided}, {*tools}
    asked = [
        (f"part {row.name}", row.requires)
        for row in preset.rows
        if row.requires and any(name == row.name or name.startswith(f"{row.name} ") for name in names)
    ]
    asked += [(f"tool {tool.name}", tool.requires) for tool in preset.own_tools.values() if tool.name in enabled]
    known = words_of(preset)
    return [
        Note("requires", what, f"it needs a host that {known.get(word, word)} ({word}), which was not declared")
        for what, words in asked
        for word in words
        if word not in declared
    ]


def words_of(preset: Preset) -> Mapping[str, str]:
    """Return every word that a preset can require, and what each means."""
    return {**REQUIREMENTS, **preset.requires}
