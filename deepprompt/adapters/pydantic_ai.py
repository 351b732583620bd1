"""pydantic-ai: news is the first piece of the user prompt, which the message history stores.

A capability's `before_model_request` would change one request only: the news would be gone from the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprompt.prompt import Prompt
from deepprompt.session.tail import Tail

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from pydantic_ai.messages import UserContent


def user_prompt(tail: Tail, question: str | Sequence[UserContent], prompt: Prompt | str) -> list[UserContent]:
    """Return the user prompt for `agent.run`: what changed, then the question.

    Give `tail.prefix.text` to `Agent(instructions=...)`. `prompt` is the prompt as you would build it now.
    """
    news = tail.news(prompt)
    own: list[UserContent] = [question] if isinstance(question, str) else [*question]
    return [news, *own] if news else own
