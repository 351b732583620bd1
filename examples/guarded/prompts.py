"""The prompts of a help desk: an agent's, built with deepprompt, and one that is plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deepprompt import Prompt, SystemPromptBuilder, build_request, load_instruction_files

HERE = Path(__file__).parent

QUEUES = {
    "billing": "invoices, refunds, payment methods",
    "access": "passwords, sign-in, permissions",
    "defects": "anything that worked before and does not now",
}


def agent() -> Prompt:
    """The prompt of the agent that mends things: the bundled base, then AGENTS.md."""
    return SystemPromptBuilder(instructions=load_instruction_files(HERE, portable=True)).compose()


def first_request() -> dict[str, Any]:
    """The body of the request that starts a conversation with it."""
    hello = {"role": "user", "content": "Ticket 4711: the export button does nothing."}
    return build_request(agent(), [hello], to="anthropic", model="claude-opus-5-5").body


def triage() -> str:
    """The prompt that sorts tickets; deepprompt has no part in it."""
    queues = "".join(f"- {name}: {content}\n" for name, content in QUEUES.items())
    return f"You sort the tickets of a help desk.\nAnswer with the name of one queue and nothing else.\n\n{queues}"
