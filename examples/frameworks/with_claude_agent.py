"""An agent of claude-agent-sdk that learns of edits: the prefix is a custom prompt, and news goes into each query."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.claude_agent import query_text, system_prompt


async def lookup(given: dict[str, Any]) -> dict[str, Any]:
    """Look up a word."""
    return {"content": [{"type": "text", "text": f"{given['word']} is a word"}]}


TOOL = tool("lookup", "Look up a word.", {"word": str})(lookup)


def options(url: str, system: Any, model: str, home: str) -> ClaudeAgentOptions:
    """Return options that leave everything of this machine out: settings, servers, tools, home."""
    return ClaudeAgentOptions(
        system_prompt=system,
        model=model,
        mcp_servers={"words": create_sdk_mcp_server("words", tools=[TOOL])},
        allowed_tools=["mcp__words__lookup"],
        tools=[],
        setting_sources=[],
        strict_mcp_config=True,
        cwd=home,
        env={
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "CLAUDE_CONFIG_DIR": home, "HOME": home,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        },
    )  # fmt: skip


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address. `watch` gives the model; the bodies are the CLI's own."""

    async def ask(question: str) -> object:
        await client.query(query_text(tail, question, prompt()))
        return [message async for message in client.receive_response()]

    with tempfile.TemporaryDirectory() as home, asyncio.Runner() as runner:
        client = ClaudeSDKClient(options(url, system_prompt(tail), watch.model, home))
        runner.run(client.connect())
        try:
            yield lambda question: runner.run(ask(question))
        finally:
            runner.run(client.disconnect())
