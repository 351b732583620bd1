"""An agent of the OpenHands SDK that keeps its cache and learns of edits. It needs Python 3.12.

`Agent(system_prompt=...)` is taken as it is and sent with every request; the news goes into the user's message, which
the conversation stores. Marks are OpenHands' own (`LLM(caching_prompt=True)`, its default).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from openhands.sdk import LLM, Action, Agent, Conversation, Message, Observation, TextContent, Tool, ToolDefinition
from openhands.sdk.tool import ToolExecutor, register_tool
from pydantic import SecretStr

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.shared import told


class LookupAction(Action):
    """What is looked up."""

    word: str


class LookupObservation(Observation):
    """What was found."""

    found: str = ""

    @property
    def to_llm_content(self) -> Sequence[TextContent]:
        """The result as the model reads it."""
        return [TextContent(text=self.found)]


class Lookup(ToolExecutor[LookupAction, LookupObservation]):
    """Looks up."""

    def __call__(self, action: LookupAction, conversation: Any = None) -> LookupObservation:  # noqa: ARG002
        """Look up a word."""
        return LookupObservation(found=f"{action.word} is a word")


class LookupTool(ToolDefinition[LookupAction, LookupObservation]):
    """The tool as the model sees it."""

    name = "lookup"

    @classmethod
    def create(cls, *given: Any, **named: Any) -> Sequence[LookupTool]:  # noqa: ARG003
        """Return the tool."""
        made = cls(
            description="Look up a word.",
            action_type=LookupAction,
            observation_type=LookupObservation,
            executor=Lookup(),
        )
        return [made]


register_tool("lookup", LookupTool)


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address. `llm.metrics.token_usages` has the usage of each request."""
    os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
    llm = LLM(model=f"anthropic/{watch.model}", api_key=SecretStr("x"), base_url=url, num_retries=0, usage_id="agent")
    asked = Agent(llm=llm, tools=[Tool(name="lookup")], system_prompt=tail.prefix.text)
    with tempfile.TemporaryDirectory() as folder:
        conversation = Conversation(asked, workspace=folder, visualizer=None)

        def ask(question: str) -> object:
            texts = told(tail, question, prompt())
            conversation.send_message(Message(role="user", content=[TextContent(text=text) for text in texts]))
            return conversation.run()

        yield ask
        conversation.close()
