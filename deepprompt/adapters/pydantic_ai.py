"""pydantic-ai: news is the first piece of the user prompt, in the message that the history stores.

What a capability's `before_model_request` puts into the request alone is gone from the next one, and the cache with it.
So `TailCapability` changes the message of the history itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, UserContent, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition

from deepprompt.adapters.shared import Tails, by_name, tail_of
from deepprompt.prompt import Prompt
from deepprompt.session.tail import Tail


def user_prompt(tail: Tail, question: str | Sequence[UserContent], prompt: Prompt | str) -> list[UserContent]:
    """Return the user prompt for `agent.run`: what changed, then the question.

    Give `tail.prefix.text` to `Agent(instructions=...)`. `prompt` is the prompt as you would build it now.
    """
    news = tail.news(prompt)
    own: list[UserContent] = [question] if isinstance(question, str) else [*question]
    return [news, *own] if news else own


class TailCapability(AbstractCapability[Any]):
    """Everything in one: the prefix as instructions, the news in each user prompt, marks, and tools by name.

    Pass it as `Agent(capabilities=[TailCapability(tail, prompt)])`, without instructions of your own that change.
    `prompt` builds the prompt as it is now. If an agent has several conversations, `tail` is a function from a
    conversation's id to its `Tail`, and `prefix` is what all of them begin with.
    """

    def __init__(self, tail: Tails, prompt: Callable[[], Prompt | str], *, prefix: Prompt | None = None) -> None:
        super().__init__()
        self._tail, self._prompt = tail, prompt
        self._prefix = tail_of(tail, "").prefix if prefix is None else prefix

    def get_instructions(self) -> str:
        """Return the prefix, which is taken as it is: pydantic-ai makes no template of a text."""
        return self._prefix.text

    def get_model_settings(self) -> ModelSettings:
        """Ask for marks, with the provider's default lifetime, where the provider has some."""
        return ModelSettings(cache=True)

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:  # noqa: ARG002
        """Order the tools."""
        return by_name(tool_defs)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the news into the message of the user, in the history and so in this request."""
        last = ctx.messages[-1] if ctx.messages else None
        if not isinstance(last, ModelRequest):
            return request_context
        asked = [part for part in last.parts if isinstance(part, UserPromptPart)]
        if not asked:  # the results of tools
            return request_context
        tail = tail_of(self._tail, ctx.conversation_id)
        told = replace(asked[0], content=user_prompt(tail, asked[0].content, self._prompt()))
        _put(ctx.messages, asked[0], told)
        _put(request_context.messages, asked[0], told)
        return request_context


def _put(messages: list[ModelMessage], asked: UserPromptPart, told: UserPromptPart) -> None:
    """Replace a part of the last request, in a message of its own: others may hold the one that was there."""
    last = messages[-1]
    if isinstance(last, ModelRequest):
        messages[-1] = replace(last, parts=[told if part is asked else part for part in last.parts])
