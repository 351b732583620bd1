"""Lint: run every rule over a prompt, a request or a conversation, and apply the exceptions.

An exception is a comment in the text itself, on the line or on the one before it,

    <!-- deepprompt: allow DP101 the example shows what a log line looks like -->

or an `Exemption` in the configuration. Both need a reason, and both are reported. A comment cannot excuse what an
attacker might want to hide; each rule says whether it allows comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from deepprompt.checks.lint import (
    dp1_moving,
    dp2_order,
    dp3_forged,
    dp4_size,
    dp5_secrets,
    dp6_requests,
    dp7_turns,
    dp8_presets,
)
from deepprompt.checks.lint.findings import AGENTS_READ, Finding, Limits, Rule, Subject
from deepprompt.checks.lint.subjects import subject_of
from deepprompt.errors import SourceError
from deepprompt.providers.recognise import model_of, provider_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.checks.settings import Settings

_MODULES = (dp1_moving, dp2_order, dp3_forged, dp4_size, dp5_secrets, dp6_requests, dp7_turns, dp8_presets)

RULES: dict[str, Rule] = {rule.code: rule for module in _MODULES for rule in module.RULES}
"""Every rule by its code, in the order of the codes."""

ALL = "ALL"
"""Selects every rule, also those that do not run by default."""

_COMMENT = re.compile(r"(?:<!--|#|//) ?deepprompt: allow (DP\d{3}(?:, ?DP\d{3})*)(?: |\b)(.*?)(?:-->|$)", re.MULTILINE)
_CODE = re.compile(r"DP\d{0,3}")


@dataclass(frozen=True, slots=True)
class Exemption:
    """An exception in the configuration: the rule, where it applies, and why."""

    code: str
    reason: str
    subject: str = "*"
    """The targets, or files in them, that it applies to; `*` matches anything."""
    text: str = ""
    """A text that the finding's message must contain; "" for any message."""

    def covers(self, finding: Finding) -> bool:
        """Whether it excuses a finding."""
        where = any(fnmatchcase(name, self.subject) for name in (finding.subject, finding.place))
        return where and finding.code == self.code and self.text in finding.message


def lint(
    value: object,
    limits: Limits | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    exemptions: Iterable[Exemption] = (),
    comments: bool = True,
) -> list[Finding]:
    """Return the findings of a prompt in the order of their places; an excused one carries its reason.

    `value` is whatever `read_request` takes, such as a text, a `Prompt` or the body of a request, or a `Subject`.
    `select` and `ignore` are codes or the start of codes, such as `DP1`, or `ALL`; the longest match decides. Raises
    `SourceError` for a code that no rule has, and `MessageError` for a value that cannot be read.
    """
    for code in (*select, *ignore):
        known_code(code)
    subject = value if isinstance(value, Subject) else subject_of(value, "prompt")
    found = [finding for module in _MODULES for finding in module.find(subject, limits or Limits())]
    found = [finding for finding in found if _wanted(finding.code, select, ignore)]
    allowed = _allowed(subject) if comments else {}
    exemptions = list(exemptions)
    places = {segment.place: number for number, segment in enumerate(subject.segments)}
    excused = [_excused(finding, allowed, exemptions) for finding in dict.fromkeys(found)]
    return sorted(excused, key=lambda f: (places.get(f.place, -1), f.line, f.column, f.code))


def known_code(code: str) -> str:
    """Return a code, or the start of one; raise if no rule has it."""
    if code == ALL:
        return code
    if not _CODE.fullmatch(code) or not any(known.startswith(code) for known in RULES):
        raise SourceError(f"no rule {code!r}; 'deepprompt lint --rules' lists them")
    return code


def _wanted(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    if not select:
        select = (ALL,) if RULES[code].default else ()
    chosen = max(
        (len(start) if start != ALL else 0 for start in select if start == ALL or code.startswith(start)), default=-1
    )
    left_out = max((len(start) for start in ignore if code.startswith(start)), default=-1)
    return chosen > left_out


def _allowed(subject: Subject) -> dict[tuple[str, str, int], str]:
    """Return the reasons of the comments in a subject, by code, place and line."""
    allowed: dict[tuple[str, str, int], str] = {}
    for segment in subject.segments:
        for match in _COMMENT.finditer(segment.text) if "deepprompt: allow" in segment.text else ():
            line = segment.text.count("\n", 0, match.start()) + 1
            reason = match.group(2).strip()
            for code in re.findall(r"DP\d{3}", match.group(1)) if reason else ():
                if code in RULES and RULES[code].excusable:
                    allowed |= {(code, segment.place, line): reason, (code, segment.place, line + 1): reason}
    return allowed


def _excused(finding: Finding, allowed: dict[tuple[str, str, int], str], exemptions: list[Exemption]) -> Finding:
    reason = allowed.get((finding.code, finding.place, finding.line), "")
    reason = reason or next((exemption.reason for exemption in exemptions if exemption.covers(finding)), "")
    return replace(finding, excused=reason) if reason else finding


def lint_all(subjects: Sequence[Subject], settings: Settings, model: str = "") -> list[Finding]:
    """Return the findings of all subjects. `model` overrides the model that a request names."""
    found = []
    for subject in subjects:
        found += lint(
            subject,
            limits_of(subject, settings, model),
            select=settings.select,
            ignore=settings.ignore,
            exemptions=settings.allow,
            comments=settings.comments,
        )
    return found


def unknown_models(subjects: Sequence[Subject], settings: Settings, model: str) -> list[str]:
    """Return a warning for each model that the facts do not know: fewer rules apply to its requests."""
    from deepprompt.providers.rules import unknown_model

    rules = [limits_of(subject, settings, model).rules for subject in subjects]
    said = dict.fromkeys(unknown_model(one) for one in rules if one is not None and one.model)
    return [line for line in said if line]


def limits_of(subject: Subject, settings: Settings, wanted: str = "") -> Limits:
    """Return the limits for a subject: the rules of its provider, if that is known.

    `wanted` is a model that counts whatever a request names.
    """
    limits = Limits() if settings.part_tokens is None else Limits(part_tokens=settings.part_tokens)
    if not any(target.split()[:1] == ["build"] for target in settings.prompts.values()):
        limits = replace(limits, instruction_bytes=AGENTS_READ)  # it is not our builder that reads the files
    if subject.body is None:
        return limits
    provider: str = provider_of(subject.body)
    model = model_of(subject.segments)
    if settings.models:
        named = dict(reversed(settings.models))
        provider = provider if provider in named else settings.models[0][0]
        model = wanted or model or named[provider]
    if not provider:
        return limits
    from deepprompt.providers.facts import bundled_facts

    facts = bundled_facts()
    return replace(limits, rules=facts.rules(facts.behind(provider, model), model))
