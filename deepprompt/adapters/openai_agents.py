"""OpenAI Agents: news is the first piece of the user's input item, which the session of the run stores."""

from __future__ import annotations

from deepprompt.prompt import Prompt
from deepprompt.session.tail import Tail

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from agents import TResponseInputItem


def run_input(tail: Tail, question: str, prompt: Prompt | str) -> list[TResponseInputItem]:
    """Return the input for `Runner.run`: one message of the user with what changed, then the question.

    Give `tail.prefix.text` to `Agent(instructions=...)`. `prompt` is the prompt as you would build it now.
    """
    texts = [text for text in (tail.news(prompt), question) if text]
    return [{"role": "user", "content": [{"type": "input_text", "text": text} for text in texts]}]
