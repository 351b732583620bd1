"""The token budget of a prompt, as a report: how many tokens it has, how many it may have, and which parts are largest.

`BudgetError` says the same where a prompt is composed with a budget; here nothing is raised and the prompt is not lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from deepprompt.arguments import expect
from deepprompt.errors import BudgetError
from deepprompt.prompt import Prompt
from deepprompt.tokens import estimate_tokens

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.preset import PromptAssemblyConfig
    from deepprompt.words import Order

_LARGEST = 5


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """The size of a prompt beside its budget, by the estimate of `estimate_tokens`."""

    prompt: Prompt
    tokens: int
    budget: int | None
    """None if there is none."""
    parts: tuple[tuple[str, int], ...]
    """The name and the tokens of each part, largest first."""

    @property
    def over(self) -> int:
        """The number of tokens over the budget, 0 if the prompt fits."""
        return 0 if self.budget is None else max(0, self.tokens - self.budget)

    @property
    def fits(self) -> bool:
        """Whether the prompt is within its budget."""
        return not self.over

    def __str__(self) -> str:
        limit = "there is no budget" if self.budget is None else f"the budget is {self.budget}"
        largest = ", ".join(f"{name} {tokens}" for name, tokens in self.parts[:_LARGEST])
        return f"the system prompt has {self.tokens} tokens, {limit}; largest parts: {largest or 'none'}"


def validate_budget(
    prompt: Prompt | PromptAssemblyConfig, budget: int | None = None, *, order: Order = "algorithm"
) -> BudgetReport:
    """Return how a prompt compares with a budget. A configuration brings its own budget."""
    from deepprompt.systems.preset import PromptAssemblyConfig, compose_system_prompt

    takes = "a Prompt, or a PromptAssemblyConfig"
    expect(prompt, Prompt | PromptAssemblyConfig, "validate_budget: prompt", takes)
    expect(budget, int | float | None, "validate_budget: budget", "a number of tokens, or None")
    if isinstance(prompt, PromptAssemblyConfig):
        budget = prompt.max_system_prompt_tokens if budget is None else budget
        prompt = compose_system_prompt(replace(prompt, max_system_prompt_tokens=None), order)
    sizes = sorted(((estimate_tokens(part.text), part.name) for part in prompt.parts), reverse=True)
    return BudgetReport(prompt, estimate_tokens(prompt.text), budget, tuple((name, size) for size, name in sizes))


def check_budget(prompt: Prompt, budget: int | None) -> None:
    """Raise if a prompt has more tokens than its budget. None means no budget."""
    if budget is None or estimate_tokens(prompt.text) <= budget:
        return
    raise BudgetError(str(validate_budget(prompt, budget)))
