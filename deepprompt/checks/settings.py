"""The settings of a project's checks: its prompts, and how lint, lock and perturb guard them.

This is the value only. `deepprompt.commands.settings` reads it from `[tool.deepprompt]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.checks.lint.linter import Exemption
    from deepprompt.words import MoveKind

LOCK = "deepprompt.lock"

NOT_PLAIN = "has a character that a shell could run something by; use letters, digits, blanks and - _ . : / = , @ + ' *"
_PLAIN = frozenset(" -_.:/=,@+'*[]#%~^")


def is_plain_name(name: str) -> bool:
    """Whether the name of a prompt has nothing in it that a shell takes for more than text."""
    return bool(name) and all(character.isalnum() or character in _PLAIN for character in name)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one project; the defaults apply where the file does not set one."""

    source: str = ""
    """The file they come from; "" if there is none."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The targets, by the names the project gives them."""
    lock: str = LOCK
    models: tuple[tuple[str, str], ...] = ()
    """The providers and models the prompts are sent to. Requests are linted, and costs estimated, by their rules."""
    boundary: str = DYNAMIC_CONTEXT_BOUNDARY
    timeout: float = 60.0
    paths: tuple[str, ...] = ()
    """More files and folders to lint."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    part_tokens: int | None = None
    comments: bool = True
    """Whether comments in a text may make exceptions."""
    allow: tuple[Exemption, ...] = ()
    skip: tuple[MoveKind, ...] = ()
    """The moves that the perturbation test leaves out."""
    fixed: tuple[str, ...] = ()
    """The prompts that are not perturbed."""

    @property
    def lint_targets(self) -> list[tuple[str, str]]:
        """The name and the target of everything to lint."""
        return [*self.prompts.items(), *((path, path) for path in self.paths)]
