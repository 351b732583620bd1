"""The rules of lint, a module for each hundred of their codes, and the list of them all.

A module has `RULES`, the rules that it knows, and `find`, which yields what of a subject breaks one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deepprompt.checks.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.rules import forged, moving, order, requests, secret, size, turns

_MODULES = (moving, order, forged, size, secret, requests, turns)

RULES: dict[str, Rule] = {rule.code: rule for module in _MODULES for rule in module.RULES}
"""Every rule by its code."""

FINDERS: tuple[Callable[[Subject, Limits], Iterator[Finding]], ...] = tuple(module.find for module in _MODULES)
