"""LangChain's `create_agent`, LangGraph and deepagents: news goes into the user's message of the graph's state.

A hook such as `wrap_model_call` would change one request only: the news would be gone from the next, and the cache with
it. `before_agent` returns the message under its own id, so the graph stores it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepprompt.adapters.shared import Tails, Watches, by_name, judge, tail_of, watch_of
from deepprompt.prompt import Prompt

_Answer: TypeAlias = "ModelResponse[Any]"


class TailMiddleware(AgentMiddleware[Any, Any, Any]):
    """Tells the model what changed, once for each message of the user, and sends the tools in the order of their names.

    Give `tail.prefix.text` to `create_agent(system_prompt=...)`. `prompt` builds the prompt as it is now. If an agent
    has several threads, `tail` is a function from a thread's id to its `Tail`.
    """

    def __init__(self, tail: Tails, prompt: Callable[[], Prompt | str]) -> None:
        super().__init__()
        self._tail, self._prompt = tail, prompt

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Put the news before the text of the last message."""
        return self._told(state["messages"], _thread(runtime))

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do the same in an asynchronous run."""
        return self._told(state["messages"], _thread(runtime))

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], _Answer]) -> _Answer:
        """Order the tools."""
        return handler(request.override(tools=by_name(request.tools)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[_Answer]]
    ) -> _Answer:
        """Do the same in an asynchronous run."""
        return await handler(request.override(tools=by_name(request.tools)))

    def _told(self, messages: list[AnyMessage], thread: str) -> dict[str, Any] | None:
        news = tail_of(self._tail, thread).news(self._prompt())
        if not news:
            return None
        last = messages[-1] if messages else None
        if not isinstance(last, HumanMessage):  # a run that goes on after a tool's result
            return {"messages": [HumanMessage(news)]}
        own = [{"type": "text", "text": last.content}] if isinstance(last.content, str) else last.content
        return {"messages": [last.model_copy(update={"content": [{"type": "text", "text": news}, *own]})]}


class WatchMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives each request to a `Watch`, with the usage of its response.

    It stands last in the list of middleware, to see what is sent. The request is judged as LangChain gives it to the
    chat model, in the form of Chat Completions: marks count, and so does every text.
    """

    def __init__(self, watch: Watches) -> None:
        super().__init__()
        self._watch = watch

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], _Answer]) -> _Answer:
        """Judge a request once it is answered."""
        at = time.time()
        answer = handler(request)
        self._judge(request, answer, at)
        return answer

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[_Answer]]
    ) -> _Answer:
        """Do the same in an asynchronous run."""
        at = time.time()
        answer = await handler(request)
        self._judge(request, answer, at)
        return answer

    def _judge(self, request: ModelRequest[Any], answer: _Answer, at: float) -> None:
        usage = getattr(answer.result[-1], "usage_metadata", None) if answer.result else None
        if usage:
            judge(watch_of(self._watch, _thread(request.runtime)), _body(request), usage, at)


def _body(request: ModelRequest[Any]) -> dict[str, Any]:
    """Return a request as JSON, with the marks that middleware has set."""
    system = request.system_message.content if request.system_message is not None else ""
    return {
        "tools": [_tool(tool) for tool in request.tools],
        "system": [{"type": "text", "text": system}] if isinstance(system, str) else system,
        "messages": convert_to_openai_messages(request.messages),
        **{key: value for key, value in request.model_settings.items() if key == "cache_control"},
    }


def _tool(tool: Any) -> dict[str, Any]:
    marked = (getattr(tool, "extras", None) or {}).get("cache_control")
    plain: dict[str, Any] = convert_to_openai_tool(tool)
    return plain | ({"cache_control": marked} if marked else {})


def _thread(runtime: Any) -> str:
    """Return the id of a thread, "" without a checkpointer."""
    return str(getattr(getattr(runtime, "execution_info", None), "thread_id", None) or "")
