"""The budget of a prompt as a report: the same numbers as the exception, without losing the prompt."""

from __future__ import annotations

import pytest

from deepprompt import (
    Pace,
    Part,
    Prompt,
    PromptAssemblyConfig,
    SystemPromptConfig,
    compose_system_prompt,
    validate_budget,
)
from deepprompt.errors import BudgetError, SourceError

TWO = Prompt((Part("small", "x" * 8, Pace.RELEASE, ""), Part("large", "y" * 40, Pace.RELEASE, "")))


@pytest.mark.seed("004.25")
@pytest.mark.parametrize(("budget", "over"), [(None, 0), (13, 0), (12, 0), (11, 1), (0, 12)])
def test_004_e_validate_reports_without_raising(budget: int | None, over: int) -> None:
    """A report says whether a prompt fits, by how much it does not, and keeps the prompt."""
    report = validate_budget(TWO, budget)
    assert (report.prompt, report.tokens, report.budget) == (TWO, 12, budget)
    assert (report.over, report.fits) == (over, not over)
    assert report.parts == (("large", 10), ("small", 2))


@pytest.mark.parametrize("custom", ["", "Be brief."])
def test_004_e_validate_says_what_the_exception_says(custom: str) -> None:
    """For a configuration over its budget, the report is the exception's message, and has the prompt as well."""
    config = PromptAssemblyConfig(SystemPromptConfig(custom=custom), max_system_prompt_tokens=1)
    with pytest.raises(BudgetError) as caught:
        compose_system_prompt(config)
    report = validate_budget(config)
    assert not report.fits
    assert str(report) == str(caught.value)
    assert report.prompt.text == custom or report.prompt.text.startswith("You are")
    assert validate_budget(config, 10_000).fits


def test_004_e_validate_in_another_order() -> None:
    """The order of the parts can be chosen, as in the prompt itself."""
    report = validate_budget(PromptAssemblyConfig(), order="catalog")
    assert report.prompt == compose_system_prompt(PromptAssemblyConfig(), "catalog")
    assert str(report).startswith(f"the system prompt has {report.tokens} tokens, there is no budget; largest parts: ")


def test_004_e_validate_refuses_other_values() -> None:
    """Anything else is an error that says what is expected."""
    with pytest.raises(SourceError, match="validate_budget: prompt takes a Prompt, or a PromptAssemblyConfig, not 'x'"):
        validate_budget("x")  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="validate_budget: budget takes a number of tokens, or None, not '9'"):
        validate_budget(TWO, "9")  # type: ignore[arg-type]
    assert str(validate_budget(Prompt(()), 1)).endswith("has 0 tokens, the budget is 1; largest parts: none")
