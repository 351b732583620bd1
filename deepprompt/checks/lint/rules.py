"""The rules of lint, a module for each hundred of their codes, and the list of them all.

A module has `RULES`, the rules that it knows, and `find`, which yields what of a subject breaks one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deepprompt.checks.lint import (
    dp1_moving,
    dp2_order,
    dp3_forged,
    dp4_size,
    dp5_secrets,
    dp6_requests,
    dp7_turns,
)
from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject

_MODULES = (dp1_moving, dp2_order, dp3_forged, dp4_size, dp5_secrets, dp6_requests, dp7_turns)

RULES: dict[str, Rule] = {rule.code: rule for module in _MODULES for rule in module.RULES}
"""Every rule by its code."""

FINDERS: tuple[Callable[[Subject, Limits], Iterator[Finding]], ...] = tuple(module.find for module in _MODULES)
