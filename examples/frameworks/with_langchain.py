"""An agent of LangChain that keeps its cache: prefix, news, marks, tools in order, verdicts.

For deepagents, pass the same middleware to `create_deep_agent`, and no `memory=`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.langchain import TailMiddleware, WatchMiddleware


def lookup(word: str) -> str:
    """Look up a word."""
    return f"{word} is a word"


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address."""
    model = init_chat_model(f"anthropic:{watch.model}", base_url=url, api_key="x", max_retries=0)
    graph = create_agent(
        model,
        [lookup],
        system_prompt=tail.prefix.text,
        middleware=[TailMiddleware(tail, prompt), AnthropicPromptCachingMiddleware(), WatchMiddleware(watch)],
        checkpointer=InMemorySaver(),
    )
    thread: RunnableConfig = {"configurable": {"thread_id": "1"}}
    yield lambda question: graph.invoke({"messages": [HumanMessage(question)]}, thread)
