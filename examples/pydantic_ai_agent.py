"""A pydantic-ai agent whose prompt is ours, and three ways to tell it what moved in the project.

    python examples/pydantic_ai_agent.py          against a stand-in on loopback
    python examples/pydantic_ai_agent.py --real   against Anthropic, with the key in ANTHROPIC_API_KEY

The static prefix is the agent's instructions, and pydantic-ai's own settings put the cache marks: behind the tools,
behind the instructions and at the newest message. Where the rest stands decides what the second turn can read:

- rewrite: as instructions of a function, pydantic-ai's default. They are part of every request's system prompt, so when
  git moves, all that was said so far is paid for again.
- append: the same with `on_change="append"`. What moved is said in a system message at the end, and the cache is read.
  Names of files and branches then have the standing of your own instructions.
- tail: in the user's message before the question, as a `Session` words it, and only what moved. The cache is read, and
  the project's words stay material. This is the way to take.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

import demo
from anthropic import AsyncAnthropic
from pydantic_ai import Agent, ModelMessage, ModelResponse
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider

from deepprompt import Prompt, Session, SystemPromptBuilder, Usage, load_instruction_files, read_usage

Way = Literal["rewrite", "append", "tail"]

MODEL = "claude-opus-5-5"
TURNS = demo.TURNS[:2]
SETTINGS = AnthropicModelSettings(
    max_tokens=4096,  # without a limit pydantic-ai asks for a stream
    anthropic_cache_tool_definitions="5m",
    anthropic_cache_instructions="5m",
    anthropic_cache="5m",  # at the newest message
)


def prompt_now(builder: SystemPromptBuilder) -> Prompt:
    """Return the prompt as it is at this moment: the same prefix, and what git says now."""
    builder.project = demo.project_now()
    return builder.compose()


def told(session: Session, question: str, prompt: Prompt) -> list[str]:
    """Return what the user's message says: what moved in the project since the last one, and the question."""
    before = len(session.messages)
    session.user(question, prompt)
    return [str(message["content"]) for message in session.messages[before:]]


def converse(client: AsyncAnthropic, way: Way) -> Iterator[tuple[Usage, str]]:
    """Ask the questions, and yield what each request cost and in which turn it was."""
    builder = SystemPromptBuilder(demo.PROMPT, load_instruction_files("."))
    prompt = prompt_now(builder)
    agent = Agent(
        AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client)),
        instructions=prompt.static_prefix,
        tools=[demo.list_files, demo.read_file],
        model_settings=SETTINGS,
    )
    if way != "tail":
        agent.instructions(name="project", on_change=way)(lambda: prompt_now(builder).dynamic_suffix)
    session = Session(prompt)
    history: list[ModelMessage] = []
    for turn, question in enumerate(demo.questions(TURNS), 1):
        said = told(session, question, prompt_now(builder)) if way == "tail" else question
        result = agent.run_sync(said, message_history=history)
        history = result.all_messages()
        for answer in result.new_messages():
            if isinstance(answer, ModelResponse):
                yield read_usage(answer.usage), f"turn {turn}"


def main() -> None:
    """Have the same conversation in each of the three ways."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # which it shows on a terminal, in the middle of our table
    way: Way
    for way in ("rewrite", "append", "tail"):
        with demo.project(), demo.endpoint("ANTHROPIC_API_KEY", turns=TURNS) as endpoint:
            client = AsyncAnthropic(api_key=endpoint.api_key, base_url=endpoint.base_url)
            print(way, end="")
            demo.table("anthropic", MODEL, converse(client, way))


if __name__ == "__main__":
    main()
