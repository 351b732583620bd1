"""An agent of smolagents that keeps its cache.

Its templates are Jinja's: a text that is put into `prompt_templates` is evaluated, and an AGENTS.md with `{{ }}` in it
would run. `instructions` is a variable of the template, whose value is taken as it is. The news goes into the task,
which the agent's memory stores if a run does not reset it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
from smolagents import OpenAIServerModel, ToolCallingAgent, tool
from smolagents.agents import EMPTY_PROMPT_TEMPLATES

from deepprompt import Prompt, Tail, Watch
from deepprompt.adapters.shared import told
from deepprompt.adapters.watching import watched

ONLY_THE_PREFIX = "{{ custom_instructions }}"


def lookup(word: str) -> str:
    """Look up a word.

    Args:
        word: What to look up.
    """
    return f"{word} is a word"


@contextmanager
def agent(url: str, tail: Tail, prompt: Callable[[], Prompt], watch: Watch) -> Iterator[Callable[[str], object]]:
    """Yield a function that asks an agent at an address."""
    client = httpx.Client(transport=watched(httpx.HTTPTransport(), watch))
    named = {"max_retries": 0, "http_client": client}
    model = OpenAIServerModel(watch.model, api_base=f"{url}/v1", api_key="x", client_kwargs=named)
    templates = {**EMPTY_PROMPT_TEMPLATES, "system_prompt": ONLY_THE_PREFIX}
    asked = ToolCallingAgent(
        [tool(lookup)], model, instructions=tail.prefix.text, prompt_templates=templates, verbosity_level=0
    )
    yield lambda question: asked.run("\n\n".join(told(tail, question, prompt())), reset=False)
    client.close()
