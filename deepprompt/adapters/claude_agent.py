"""claude-agent-sdk: the prefix as a system prompt that the CLI does not change, news in the text of a query.

The CLI stores the first system prompt of a session and sends it again, also after `resume`: a rebuilt one is ignored
without a word. A `UserPromptSubmit` hook can add context too, but the CLI sends that as a system message, so the words
of a repository would have the standing of yours. So news goes through `query`, as the user's.
"""

from __future__ import annotations

from claude_agent_sdk.types import SystemPromptCustom, SystemPromptPreset

from deepprompt.adapters.shared import told
from deepprompt.prompt import Prompt
from deepprompt.session.tail import Tail


def system_prompt(tail: Tail, *, preset: bool = False) -> SystemPromptPreset | SystemPromptCustom:
    """Return the value for `ClaudeAgentOptions(system_prompt=...)`.

    The prefix alone, or, with `preset`, Claude Code's own prompt with the prefix behind it. Its parts that depend on
    the machine and the day are moved into the first message, so that sessions can share the cache. Pass
    `setting_sources=[]` as well if the prefix has the instruction files: the CLI would load its own a second time.
    """
    if preset:
        return {"type": "preset", "preset": "claude_code", "append": tail.prefix.text, "exclude_dynamic_sections": True}
    return {"type": "custom", "prompt": tail.prefix.text}


def query_text(tail: Tail, question: str, prompt: Prompt | str) -> str:
    """Return the text for `client.query`: what changed, then the question."""
    return "\n\n".join(told(tail, question, prompt))
