"""LangChain's `create_agent` and LangGraph: news goes into the user's message of the graph's state.

A hook such as `wrap_model_call` would change one request only: the news would be gone from the next, and the cache with
it. `before_agent` returns the message under its own id, so the graph stores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AnyMessage, HumanMessage

from deepprompt.prompt import Prompt
from deepprompt.session.tail import Tail


class TailMiddleware(AgentMiddleware[Any, Any, Any]):
    """Tells the model what changed, once for each message of the user.

    Give `tail.prefix.text` to `create_agent(system_prompt=...)`. `prompt` builds the prompt as it is now.
    """

    def __init__(self, tail: Tail, prompt: Callable[[], Prompt | str]) -> None:
        super().__init__()
        self._tail, self._prompt = tail, prompt

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Put the news before the text of the last message."""
        return self._told(state["messages"])

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Do the same in an asynchronous run."""
        return self._told(state["messages"])

    def _told(self, messages: list[AnyMessage]) -> dict[str, Any] | None:
        news = self._tail.news(self._prompt())
        if not news:
            return None
        last = messages[-1] if messages else None
        if not isinstance(last, HumanMessage):  # a run that goes on after a tool's result
            return {"messages": [HumanMessage(news)]}
        own = [{"type": "text", "text": last.content}] if isinstance(last.content, str) else last.content
        return {"messages": [last.model_copy(update={"content": [{"type": "text", "text": news}, *own]})]}
