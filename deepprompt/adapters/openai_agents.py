"""OpenAI Agents: news is the first piece of the user's input item, which the session of the run stores."""

from __future__ import annotations

from typing import Any

from agents import TResponseInputItem
from agents.run import CallModelData, ModelInputData
from agents.run_config import CallModelInputFilter

from deepprompt.adapters.shared import told
from deepprompt.prompt import Prompt
from deepprompt.providers.facts import Facts, bundled_facts
from deepprompt.providers.openai import put_mark
from deepprompt.session.tail import Tail

_MARKED = ("marked", "implicit")


def run_input(tail: Tail, question: str, prompt: Prompt | str) -> list[TResponseInputItem]:
    """Return the input for `Runner.run`: one message of the user with what changed, then the question.

    Give `tail.prefix.text` to `Agent(instructions=...)`. `prompt` is the prompt as you would build it now.
    """
    texts = told(tail, question, prompt)
    return [{"role": "user", "content": [{"type": "input_text", "text": text} for text in texts]}]


def marked_prefix(model: str, *, facts: Facts | None = None) -> CallModelInputFilter:
    """Return a filter for `RunConfig(call_model_input_filter=...)` that marks the end of the instructions.

    A text in `instructions` cannot be marked, so it is sent as the first message, which is the same text in the same
    place. For models that take no marks the filter changes nothing.
    """
    rules = (bundled_facts() if facts is None else facts).rules("openai-responses", model)

    def filtered(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        if rules.caching not in _MARKED or not given.instructions:
            return given
        content = [{"type": "input_text", "text": given.instructions}]
        put_mark(content, 0, "")
        first: Any = {"role": "developer", "content": content}
        return ModelInputData(input=[first, *given.input], instructions=None)

    return filtered
